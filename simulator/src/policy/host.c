// SPDX-License-Identifier: GPL-2.0-only
/*
 * policy/ in the simulator, with the identity map as fair.c uses it. Every accessor charges its
 * cache line in the simulator's ledger; every host call goes back to Rust.
 */
#include "host.h"

static inline const struct host_chunk *host_chunk(const volatile void *p)
{
	return (const struct host_chunk *)((uintptr_t)p & ~(HOST_CHUNK_BYTES - 1));
}

static inline u32 host_line(const volatile void *p)
{
	u32 offset = (u32)((uintptr_t)p & (HOST_CHUNK_BYTES - 1));

	return host_chunk(p)->first_line + offset / 64;
}

static inline void host_load(const volatile void *p)
{
	const struct host *h = host_chunk(p)->host;

	h->ops->load(h->sim, host_line(p));
}

static inline void host_store(const volatile void *p)
{
	const struct host *h = host_chunk(p)->host;

	h->ops->store(h->sim, host_line(p));
}

#define POLICY_FN		static inline
#define POLICY_IDENTITY
#define POLICY_MAX_CPUS		4096
#define policy_for(i, a, b)	for ((i) = (a); (i) < (b); (i)++)

#define shared_read(p)								\
	({									\
		host_load(p);							\
		*(const volatile __typeof__(*(p)) *)(p);			\
	})
#define shared_write(p, v)							\
	({									\
		host_store(p);							\
		*(volatile __typeof__(*(p)) *)(p) = (v);			\
	})
#define shared_or(p, v)								\
	({									\
		host_store(p);							\
		__sync_fetch_and_or(p, v);					\
	})
#define shared_and(p, v)							\
	({									\
		host_store(p);							\
		__sync_fetch_and_and(p, v);					\
	})

#include "policy.h"

static u32 policy_span_at(void *ctx, u32 cpu)
{
	const struct host_call *c = ctx;

	return c->at_or_after[cpu < c->nr_at_or_after ? cpu : 0];
}

static u32 policy_sibling_at(void *ctx, u32 cpu, u32 i)
{
	const struct host_call *c = ctx;

	(void)cpu;
	return i < c->nr_threads ? c->threads[i] : POLICY_NONE;
}

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	const struct host_call *c = ctx;

	return c->host->ops->take(c->host->sim, dst_cpu, src_cpu);
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	const struct host_call *c = ctx;

	return c->host->ops->allowed(c->host->sim, cpu);
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	const struct host_call *c = ctx;

	return c->host->ops->claim_idle(c->host->sim, cpu);
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	const struct host_call *c = ctx;

	return c->host->ops->core_idle(c->host->sim, cpu);
}

static struct policy_span host_span(const struct host_call *c)
{
	return (struct policy_span){ .first = c->first, .end = c->end, .nr = c->nr };
}

u32 ballast_idle_budget(u32 features, u32 span, u32 siblings, u64 avg_idle, u64 scan_cost)
{
	return policy_idle_budget(features, span, siblings, avg_idle, scan_cost);
}

u32 ballast_scan_cpus(struct host_call *c, u32 *next_cpu, u32 start, u32 budget)
{
	struct policy_span span = host_span(c);

	return policy_scan_cpus(POLICY_NULL, &span, next_cpu, start, budget, c);
}

u32 ballast_scan_cores(struct host_call *c, u32 start)
{
	struct policy_span span = host_span(c);

	return policy_scan_cores(POLICY_NULL, &span, start, c);
}

u32 ballast_next_cpu(u32 *next_cpu)
{
	return shared_read(next_cpu);
}

bool ballast_mask_set(void *mask, u32 cpu)
{
	return policy_mask_set(mask, POLICY_DENSITY, cpu);
}

bool ballast_mask_clear(void *mask, u32 cpu)
{
	return policy_mask_clear(mask, POLICY_DENSITY, cpu);
}

u64 ballast_steal_cost(void)
{
	return POLICY_STEAL_COST;
}

u32 ballast_steal_span(struct host_call *c, void *mask, u32 dst_cpu)
{
	struct policy_span span = host_span(c);

	return policy_steal_span(POLICY_NULL, mask, POLICY_DENSITY, &span, c->nr_threads, dst_cpu,
				 c);
}
