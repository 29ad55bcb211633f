// SPDX-License-Identifier: GPL-2.0-only
/*
 * policy/ as the kernel compiles it: no libc, no headers at all, every function plain static, so
 * that one which no entry reaches is an unused static and an error. Built with positions and with
 * POLICY_IDENTITY. Names of this file that stand for the kernel's own begin with kernel_.
 */
typedef _Bool bool;
typedef unsigned int u32;
typedef unsigned long long u64;

#define true	1
#define false	0

#define POLICY_FN		static
#define policy_for(i, a, b)	for ((i) = (a); (i) < (b); (i)++)
#define shared_read(p)		(*(const volatile __typeof__(*(p)) *)(p))
#define shared_write(p, v)	(*(volatile __typeof__(*(p)) *)(p) = (v))
#define shared_or(p, v)		__sync_fetch_and_or(p, v)
#define shared_and(p, v)	__sync_fetch_and_and(p, v)

#include "policy.h"

struct kernel_task {
	bool allowed[POLICY_MAX_CPUS];
	bool idle[POLICY_MAX_CPUS];
};

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	struct kernel_task *k = ctx;

	return k->allowed[dst_cpu] && !k->idle[src_cpu];
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	struct kernel_task *k = ctx;

	return k->allowed[cpu];
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	struct kernel_task *k = ctx;

	return k->idle[cpu];
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	return policy_claim_idle(ctx, cpu);
}

#ifdef POLICY_IDENTITY

static u32 policy_span_at(void *ctx, u32 cpu)
{
	(void)ctx;
	return cpu % 8;
}

static u32 policy_sibling_at(void *ctx, u32 cpu, u32 i)
{
	(void)ctx;
	return i < 2 ? cpu ^ i : POLICY_NONE;
}

struct kernel_domain {
	struct policy_mask mask;
	struct policy_span span;
};

u32 kernel_idle(struct kernel_domain *d, u32 dst_cpu, void *ctx);
u32 kernel_idle(struct kernel_domain *d, u32 dst_cpu, void *ctx)
{
	policy_mask_clear(&d->mask, POLICY_DENSITY, dst_cpu);
	return policy_steal_span(POLICY_NULL, &d->mask, POLICY_DENSITY, &d->span, 2, dst_cpu, ctx);
}

u32 kernel_wake(struct kernel_domain *d, u32 *next_cpu, u32 target, u64 avg_idle, void *ctx);
u32 kernel_wake(struct kernel_domain *d, u32 *next_cpu, u32 target, u64 avg_idle, void *ctx)
{
	u32 nr = policy_idle_budget(POLICY_SIS_LIMIT, d->span.nr, 2, avg_idle, 0);
	u32 cpu = policy_scan_cores(POLICY_NULL, &d->span, target, ctx);

	policy_mask_set(&d->mask, POLICY_DENSITY, target);
	if (cpu != POLICY_NONE)
		return cpu;
	return policy_scan_cpus(POLICY_NULL, &d->span, next_cpu, target, nr, ctx);
}

#else

u32 kernel_idle(struct policy *p, u32 dst_cpu, u64 avg_idle, void *ctx);
u32 kernel_idle(struct policy *p, u32 dst_cpu, u64 avg_idle, void *ctx)
{
	policy_overload_clear(p, &p->overloaded, dst_cpu);
	policy_idle_core_set(p, dst_cpu);
	return policy_steal(p, &p->overloaded, dst_cpu, avg_idle, ctx);
}

u32 kernel_wake(struct policy *p, u32 target, u64 avg_idle, u64 scan_cost, void *ctx);
u32 kernel_wake(struct policy *p, u32 target, u64 avg_idle, u64 scan_cost, void *ctx)
{
	policy_overload_set(p, &p->overloaded, target);
	return policy_search_idle(p, target, avg_idle, scan_cost, ctx);
}

#endif
