/* SPDX-License-Identifier: GPL-2.0-only */
/* The types that policy/ asks its includer for. */
#ifndef TYPES_H
#define TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

#endif /* TYPES_H */
