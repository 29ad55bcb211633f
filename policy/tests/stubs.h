/* SPDX-License-Identifier: GPL-2.0-only */
/* Host calls for a program that only looks at masks. */
#ifndef STUBS_H
#define STUBS_H

#include "host.h"

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	(void)ctx;
	return dst_cpu == src_cpu;
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	(void)ctx;
	return cpu == POLICY_NONE;
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

#endif /* STUBS_H */
