/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Idle search: where a waking task may run at once. Bounded and rotating (Mazumdar;
 * spec/idle-search.md): each search looks at a few CPUs and the next one goes on where it ended, so
 * that all are reached without anybody looking at all.
 *
 * The caller has already tried the target itself and the task's previous CPU.
 */
#ifndef POLICY_IDLE_H
#define POLICY_IDLE_H

#include "state.h"

/* Threads; the least that a budget counts for a core, so that SMT-1 has one (2.1). */
#define POLICY_IDLE_FLOOR	2

/* Loop turns; the baseline's least budget: 3 CPUs (idle-search.md 2.2). */
#define POLICY_IDLE_BASE_FLOOR	4

/* log2 of the baseline's 512, a "large fuzz factor": the share of avg_idle to spend (2.2). */
#define POLICY_IDLE_FUZZ_SHIFT	9

/* Nanoseconds / 512; what avg_idle / 512 is cut to, 6 days: times 2^16 CPUs it still fits a u64. */
#define POLICY_IDLE_AVG_MAX	((1ULL << 40) - 1)

/* A budget without a limit. */
#define POLICY_IDLE_WHOLE	0xffffffffU

/* Host call: may the task run on cpu? */
static bool policy_allowed(void *ctx, u32 cpu);

/*
 * Host call: is cpu idle, and if so, is it ours now? The fair class only reads, and several wakers
 * may pick one CPU, as published; sched_ext tests and clears the CPU's idle bit.
 */
static bool policy_claim_idle(void *ctx, u32 cpu);

/*
 * Host call: are all threads of the core of cpu idle? Claims nothing. Asked in circular order of
 * the allowed CPUs of the span until a core is found; with positions once a core. A home with
 * POLICY_IDENTITY is asked for each CPU and may answer false for a core it has seen.
 */
static bool policy_core_idle(void *ctx, u32 cpu);

/*
 * The budget nr of one search: nr - 1 CPUs are looked at.
 *
 * 1. SIS_LIMIT and SIS_PROP: as published, avail / cost held between one core and two.
 * 2. SIS_PROP alone: the baseline's, at least 4, no upper limit.
 * 3. SIS_LIMIT alone: two cores; no clock is needed.
 * 4. Neither: the whole span.
 *
 * span is in CPUs, siblings in threads of target's core, avg_idle and scan_cost in ns. (The mail
 * writes "avail > floor * cost ? min(avail / cost, limit) : floor": the same number.)
 */
POLICY_FN u32 policy_idle_budget(u32 features, u32 span, u32 siblings, u64 avg_idle, u64 scan_cost)
{
	u32 floor = siblings > POLICY_IDLE_FLOOR ? siblings : POLICY_IDLE_FLOOR;
	u32 limit = 2 * floor;
	u64 idle = avg_idle >> POLICY_IDLE_FUZZ_SHIFT;
	u64 cost = scan_cost + 1;
	u64 nr;

	if (!(features & POLICY_SIS_PROP))
		return features & POLICY_SIS_LIMIT ? limit : POLICY_IDLE_WHOLE;
	if (!(features & POLICY_SIS_LIMIT)) {
		floor = POLICY_IDLE_BASE_FLOOR;
		limit = POLICY_IDLE_WHOLE;
	}
	if (idle > POLICY_IDLE_AVG_MAX)
		idle = POLICY_IDLE_AVG_MAX;
	nr = cost ? span * idle / cost : 0;	/* ~0ULL + 1 is 0 */
	if (nr < floor)
		return floor;
	return nr < limit ? (u32)nr : limit;
}

/*
 * Look for an idle CPU in the span from element start on, with a budget. Return it or POLICY_NONE.
 *
 * Each CPU that is come to:
 * 1. With next_cpu (SIS_ROTATE): is stored there, so that the next search for this target begins
 *    with it: the first one not looked at after a failure, the one handed out after a success.
 * 2. Costs one of the budget, allowed or not; the last one is not looked at any more.
 * 3. Is taken if the task may run there and it can be claimed.
 *
 * next_cpu is written by all who search for this target, without a lock: pairs with the read in
 * policy_search_idle(). The number of turns depends on neither.
 */
POLICY_FN u32 policy_scan_cpus(const struct policy_topology *t, const struct policy_span *span,
			       u32 *next_cpu, u32 start, u32 budget, void *ctx)
{
	u32 nr = span->nr;
	u32 i, cpu, e = start;

	policy_for(i, 0, nr) {
		e = policy_span_turn(span, ctx, start, e, i);
		cpu = policy_cpu_at(t, e);
		if (cpu == POLICY_NONE)
			break;
		if (next_cpu)
			shared_write(next_cpu, cpu);
		if (i + 1 >= budget)
			break;
		if (policy_allowed(ctx, cpu) && policy_claim_idle(ctx, cpu))
			return cpu;
	}
	return POLICY_NONE;
}

/*
 * Look for a wholly idle core in the span, from element start on; any number of CPUs may be looked
 * at. Return a CPU of it, claimed, or POLICY_NONE.
 */
POLICY_FN u32 policy_scan_cores(const struct policy_topology *t, const struct policy_span *span,
				u32 start, void *ctx)
{
	u32 seen = POLICY_NONE;
	u32 nr = span->nr;
	u32 i, cpu, core, e = start;

	policy_for(i, 0, nr) {
		e = policy_span_turn(span, ctx, start, e, i);
		cpu = policy_cpu_at(t, e);
		if (cpu == POLICY_NONE)
			break;
		core = policy_core(t, cpu);
		if (core == seen || !policy_allowed(ctx, cpu))
			continue;
		seen = core;
		if (policy_core_idle(ctx, cpu) && policy_claim_idle(ctx, cpu))
			return cpu;
	}
	return POLICY_NONE;
}

#ifndef POLICY_IDENTITY

/*
 * The last thread of the core of cpu has gone idle. Pairs with policy_search_idle(), which clears
 * the hint after it found no idle core: a core that goes idle between the two is missed until
 * the next one does.
 */
POLICY_FN void policy_idle_core_set(struct policy *p, u32 cpu)
{
	const struct policy_cpu *c = policy_cpu(&p->topology, cpu);
	struct policy_llc_state *s = c ? policy_llc_state(p, c->llc) : POLICY_NULL;

	if (s && !shared_read(&s->idle_cores))
		shared_write(&s->idle_cores, 1);
}

/*
 * A CPU of target's LLC where a waking task may run at once: claimed, or POLICY_NONE.
 * avg_idle: the waker's mean idle time, scan_cost: the mean time of this search in its LLC, both in
 * ns and only used with SIS_PROP.
 *
 * 1. SIS_CORE, SMT, and the LLC's hint says that there may be one: a wholly idle core. Found none:
 *    clear the hint. Without SIS_CORE the hint is neither read nor cleared.
 * 2. At most budget - 1 CPUs of the LLC, with SIS_ROTATE from where the last search for this target
 *    ended, otherwise from target.
 */
POLICY_FN u32 policy_search_idle(struct policy *p, u32 target, u64 avg_idle, u64 scan_cost,
				 void *ctx)
{
	const struct policy_topology *t = &p->topology;
	const struct policy_cpu *c = policy_cpu(t, target);
	const struct policy_llc *llc = c ? policy_llc(t, c->llc) : POLICY_NULL;
	struct policy_cpu_state *s = policy_cpu_state(p, target);
	struct policy_llc_state *ls;
	u32 features = shared_read(&p->features);
	struct policy_span span;
	u32 *next_cpu = POLICY_NULL;
	u32 start, cpu, budget;

	if (!llc || !s)
		return POLICY_NONE;
	span.first = llc->first;
	span.end = llc->first + llc->nr;
	span.nr = llc->nr;

	ls = features & POLICY_SIS_CORE && c->siblings > 1 ? policy_llc_state(p, c->llc)
							   : POLICY_NULL;
	if (ls && shared_read(&ls->idle_cores)) {
		cpu = policy_scan_cores(t, &span, c->core, ctx);
		if (cpu != POLICY_NONE)
			return cpu;
		shared_write(&ls->idle_cores, 0);
	}

	start = c->pos;
	if (features & POLICY_SIS_ROTATE) {
		next_cpu = &s->next_cpu;
		cpu = shared_read(next_cpu);
		if (cpu != POLICY_NONE)
			start = policy_element(t, cpu);
	}
	budget = policy_idle_budget(features, span.nr, c->siblings, avg_idle, scan_cost);
	return policy_scan_cpus(t, &span, next_cpu, start, budget, ctx);
}

#endif /* POLICY_IDENTITY */

#endif /* POLICY_IDLE_H */
