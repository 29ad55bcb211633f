/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole policy. base.h says what to define before this is included.
 *
 *   base.h        what the includer supplies, sizes, features
 *   topology.h    positions: CPU <-> element, spans
 *   sparsemask.h  the mask and its circular visit
 *   state.h       struct policy: all state, tunables and features
 *   steal.h       a CPU goes idle: take a task
 *   idle.h        a task wakes: find an idle CPU
 */
#ifndef POLICY_H
#define POLICY_H

#include "steal.h"
#include "idle.h"

#endif /* POLICY_H */
