/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stealing: a CPU that goes idle takes one task from a CPU that has too many, which it finds in a
 * sparse mask of overloaded CPUs (Sistare; spec/stealing.md).
 *
 * What "overloaded" means is the caller's: at least 2 runnable tasks, the running one included, in
 * the fair class; at least 1 stealable task in the CPU's queue under sched_ext.
 */
#ifndef POLICY_STEAL_H
#define POLICY_STEAL_H

#include "state.h"

/*
 * Nanoseconds; a CPU that is idle for less on average does not try: a conservative bound of a
 * steal, which takes 1 to 2 us (spec/stealing.md 1.1, SCHED_STEAL_COST).
 */
#define POLICY_STEAL_COST	10000

/*
 * Threads of a core at most; bounds the first round. 8 is the widest in today's machines (SPARC,
 * POWER).
 */
#define POLICY_MAX_SIBLINGS	8

/*
 * Host call: try to move one task that may run on dst_cpu from src_cpu to it; true if one moved.
 * It peeks at src_cpu's queue before it takes the lock: a set bit may be out of date.
 */
static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu);

/* Try the CPU at one element; return it if a task came, otherwise POLICY_NONE. */
POLICY_FN u32 policy_steal_from(const struct policy_topology *t, u32 e, u32 dst_cpu, void *ctx)
{
	u32 src_cpu = policy_cpu_at(t, e);

	if (src_cpu == POLICY_NONE || src_cpu == dst_cpu)
		return POLICY_NONE;
	return policy_take(ctx, dst_cpu, src_cpu) ? src_cpu : POLICY_NONE;
}

/*
 * First fit over the set bits of a span, circularly from origin, without dst_cpu; one task.
 * Return the source CPU or POLICY_NONE.
 */
POLICY_FN u32 policy_steal_circle(const struct policy_topology *t, struct policy_mask *m,
				  u32 density, const struct policy_span *span, u32 origin,
				  u32 dst_cpu, void *ctx)
{
	u32 bits = 1U << density;
	struct policy_visit v;
	u32 i, j, e, src_cpu;

	policy_visit_begin(&v, m, density, span->first, span->end, origin);
	if (!v.turns)
		return POLICY_NONE;
	policy_for(i, 0, v.turns) {
		policy_visit_line(&v, m, i);
		if (!v.word)
			continue;
		policy_for(j, 0, bits) {
			if (!v.word)
				break;
			e = policy_visit_next(&v, m);
			if (e == POLICY_NONE)
				continue;
			src_cpu = policy_steal_from(t, e, dst_cpu, ctx);
			if (src_cpu != POLICY_NONE)
				return src_cpu;
		}
	}
	return POLICY_NONE;
}

/*
 * The published algorithm on one mask and one span that holds dst_cpu (spec/stealing.md 1.1).
 * Return the source CPU or POLICY_NONE.
 *
 * 1. With SMT: the threads of dst's own core. They share its caches, and the core gains most from
 *    a thread that has work.
 * 2. The span, circularly from dst: CPUs that go idle together begin at different victims.
 *
 * No test for cache warmth, load or capacity, and not the busiest queue: first fit.
 */
POLICY_FN u32 policy_steal_span(const struct policy_topology *t, struct policy_mask *m, u32 density,
				const struct policy_span *span, u32 siblings, u32 dst_cpu,
				void *ctx)
{
	u32 i, e, src_cpu;

	if (siblings > 1) {
		policy_for(i, 0, POLICY_MAX_SIBLINGS) {
			e = policy_sibling(t, ctx, dst_cpu, i);
			if (e == POLICY_NONE)
				break;
			if (!policy_mask_test(m, density, e))
				continue;
			src_cpu = policy_steal_from(t, e, dst_cpu, ctx);
			if (src_cpu != POLICY_NONE)
				return src_cpu;
		}
	}
	return policy_steal_circle(t, m, density, span, policy_element(t, dst_cpu), dst_cpu, ctx);
}

#ifndef POLICY_IDENTITY

/*
 * Return true if stealing is on for this machine. When it is not, no mask word is touched at all:
 * with many nodes, stealing lost on the author's machines (spec/stealing.md 1.4).
 */
POLICY_FN bool policy_steal_on(struct policy *p, u32 features)
{
	u32 limit = shared_read(&p->steal_node_limit);

	return (features & POLICY_STEAL) && (!limit || p->topology.nr_nodes <= limit);
}

/*
 * cpu has become overloaded. Return true if its bit was clear.
 * Pairs with policy_overload_clear(), as policy_mask_set() says.
 */
POLICY_FN bool policy_overload_set(struct policy *p, struct policy_mask *m, u32 cpu)
{
	if (!policy_steal_on(p, shared_read(&p->features)))
		return false;
	return policy_mask_set(m, p->topology.density, policy_element(&p->topology, cpu));
}

/*
 * cpu is not overloaded any more. Return true if its bit was set: the caller then looks at its
 * queue again. Pairs with policy_overload_set(), as policy_mask_clear() says.
 */
POLICY_FN bool policy_overload_clear(struct policy *p, struct policy_mask *m, u32 cpu)
{
	if (!policy_steal_on(p, shared_read(&p->features)))
		return false;
	return policy_mask_clear(m, p->topology.density, policy_element(&p->topology, cpu));
}

/*
 * The k-th range past dst's own LLC, in the order of policy_steal(): 0 and 1 are the rest of the
 * node above and below the LLC, 2 and up the other nodes. An empty one has end <= first.
 */
POLICY_FN void policy_steal_range(const struct policy_topology *t, const struct policy_cpu *dst,
				  const struct policy_llc *own, u32 k, struct policy_span *range)
{
	const struct policy_node *n = policy_node(t, dst->node);
	u32 top = (1U << t->density) - 1;

	range->first = 0;
	range->end = 0;
	if (k >= 2) {
		n = policy_node(t, policy_near(n, k - 2));
		if (n) {
			range->first = n->first;
			range->end = n->end;
		}
	} else if (n) {
		range->first = k ? n->first : (own->first + own->nr + top) & ~top;
		range->end = k ? own->first : n->end;
	}
}

/*
 * Past dst's own LLC. Every range begins at dst's offset in its own LLC: CPUs of one LLC that go
 * idle together would otherwise all fall on the same first victim.
 */
POLICY_FN u32 policy_steal_far(const struct policy_topology *t, struct policy_mask *m, u32 features,
			       const struct policy_cpu *dst, const struct policy_llc *own,
			       u32 dst_cpu, void *ctx)
{
	u32 end = features & POLICY_STEAL_NUMA ? t->nr_nodes + 1 : 2;
	u32 offset = dst->pos - own->first;
	struct policy_span range;
	u32 k, src_cpu, origin;

	policy_for(k, 0, end) {
		if (k < 2 && !(features & POLICY_STEAL_LLC))
			continue;
		policy_steal_range(t, dst, own, k, &range);
		if (range.end <= range.first)
			continue;
		origin = offset < range.end - range.first ? range.first + offset : range.first;
		src_cpu = policy_steal_circle(t, m, t->density, &range, origin, dst_cpu, ctx);
		if (src_cpu != POLICY_NONE)
			return src_cpu;
	}
	return POLICY_NONE;
}

/*
 * dst_cpu goes idle: take one task from somewhere. Return the CPU it came from or POLICY_NONE.
 * avg_idle is dst's mean idle time in ns; a caller that keeps none passes ~0ULL.
 *
 * 1. STEAL is off, or the machine has more than steal_node_limit nodes: nothing.
 * 2. dst is idle for less than a steal costs: nothing.
 * 3. Its own LLC, siblings first.
 * 4. STEAL_LLC: the other LLCs of its node.
 * 5. STEAL_NUMA: the other nodes, nearest first.
 */
POLICY_FN u32 policy_steal(struct policy *p, struct policy_mask *m, u32 dst_cpu, u64 avg_idle,
			   void *ctx)
{
	const struct policy_topology *t = &p->topology;
	u32 features = shared_read(&p->features);
	const struct policy_cpu *dst;
	const struct policy_llc *own;
	struct policy_span span;
	u32 src_cpu;

	if (!policy_steal_on(p, features))
		return POLICY_NONE;
	if (avg_idle < POLICY_STEAL_COST)
		return POLICY_NONE;

	dst = policy_cpu(t, dst_cpu);
	own = dst ? policy_llc(t, dst->llc) : POLICY_NULL;
	if (!own)
		return POLICY_NONE;
	span.first = own->first;
	span.end = own->first + own->nr;
	span.nr = own->nr;
	src_cpu = policy_steal_span(t, m, t->density, &span, dst->siblings, dst_cpu, ctx);
	if (src_cpu != POLICY_NONE || t->nr_llcs == 1)
		return src_cpu;
	return policy_steal_far(t, m, features, dst, own, dst_cpu, ctx);
}

#endif /* POLICY_IDENTITY */

#endif /* POLICY_STEAL_H */
