/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine as policy/ sees it: every CPU has a position.
 *
 *   positions  0 1 2 3 4 5 - -  8 9 ...         density 3: 8 positions a mask line
 *   thread     0 1 0 1 0 1      0 1
 *   core       0 0 1 1 2 2      3 3
 *   LLC        [ LLC 0   ]      [ LLC 1 ...     begins at a multiple of 2^density
 *   node       [ node 0                         LLCs of a node follow each other
 *
 * Positions are ordered by (node, LLC, core, thread) and dense inside an LLC. So a core, an LLC and
 * a node are ranges of positions, and an LLC and a node are whole lines of a mask.
 *
 * Written by the loader before the first call, and constant from then on: plain reads.
 */
#ifndef POLICY_TOPOLOGY_H
#define POLICY_TOPOLOGY_H

#include "base.h"

/* Bits; 8 CPUs a line, as published (spec/stealing.md 1.1). 0 to POLICY_DENSITY_MAX. */
#define POLICY_DENSITY		3
#define POLICY_DENSITY_MAX	6

/*
 * Lines of a mask: full ones, and one more for each LLC that leaves its last line part empty.
 * Enough for POLICY_DENSITY; a home that uses a lower density defines more.
 */
#ifndef POLICY_MASK_LINES
#define POLICY_MASK_LINES	((POLICY_MAX_CPUS >> POLICY_DENSITY) + POLICY_MAX_LLCS)
#endif
#ifndef POLICY_MAX_POS
#define POLICY_MAX_POS		(POLICY_MASK_LINES << POLICY_DENSITY)
#endif

/* One CPU's place; all fields POLICY_NONE for a number without a CPU. */
struct policy_cpu {
	u32 pos;
	u32 llc;
	u32 node;
	u32 core;	/* position of the first thread of its core */
	u32 siblings;	/* threads of its core, itself among them: 1 without SMT */
};

struct policy_llc {
	u32 first;	/* position, a multiple of 2^density */
	u32 nr;		/* CPUs, which are positions first .. first + nr - 1 */
};

struct policy_node {
	u32 first;	/* position where its first LLC begins */
	u32 end;	/* one past the last position of its last LLC */
	u32 near[POLICY_MAX_NODES];	/* the nr_nodes - 1 other nodes, nearest first */
};

struct policy_topology {
	u32 density;	/* bits */
	u32 nr_pos;	/* one past the last position */
	u32 nr_llcs;
	u32 nr_nodes;
	struct policy_cpu cpu[POLICY_MAX_CPUS];	/* by CPU number */
	u32 cpu_at[POLICY_MAX_POS];		/* CPU number at a position; padding: POLICY_NONE */
	struct policy_llc llc[POLICY_MAX_LLCS];
	struct policy_node node[POLICY_MAX_NODES];
} POLICY_LINE;

/* A set of elements that a search may look at. */
struct policy_span {
	u32 first;	/* the lowest element */
	u32 end;	/* one past the highest */
	u32 nr;		/* elements in it: end - first unless the set has holes (POLICY_IDENTITY) */
};

#ifdef POLICY_IDENTITY

/* Host call: the first CPU of the caller's span at or after cpu, any u32, wrapping round. */
static u32 policy_span_at(void *ctx, u32 cpu);

/* Host call: the i-th thread of the core of cpu, itself among them; POLICY_NONE past the last. */
static u32 policy_sibling_at(void *ctx, u32 cpu, u32 i);

/* The CPU at an element. */
POLICY_FN u32 policy_cpu_at(const struct policy_topology *t, u32 e)
{
	(void)t;
	return e;
}

/* The element of a CPU. */
POLICY_FN u32 policy_element(const struct policy_topology *t, u32 cpu)
{
	(void)t;
	return cpu;
}

/* What tells cores apart; without positions every CPU stands for itself. */
POLICY_FN u32 policy_core(const struct policy_topology *t, u32 cpu)
{
	(void)t;
	return cpu;
}

/* The i-th thread, as an element, of the core of cpu. */
POLICY_FN u32 policy_sibling(const struct policy_topology *t, void *ctx, u32 cpu, u32 i)
{
	(void)t;
	return policy_sibling_at(ctx, cpu, i);
}

/* The span's element of turn i, circularly from the first at or after start; e: the last one. */
POLICY_FN u32 policy_span_turn(const struct policy_span *span, void *ctx, u32 start, u32 e, u32 i)
{
	(void)span;
	return policy_span_at(ctx, i ? e + 1 : start);
}

#else /* positions */

/* One accessor an array: a u32 index checked against the array, which is what the verifier asks. */
POLICY_FN const struct policy_cpu *policy_cpu(const struct policy_topology *t, u32 cpu)
{
	if (cpu >= POLICY_MAX_CPUS)
		return POLICY_NULL;
	POLICY_IN_RANGE(cpu);
	return &t->cpu[cpu];
}

POLICY_FN const struct policy_llc *policy_llc(const struct policy_topology *t, u32 llc)
{
	if (llc >= POLICY_MAX_LLCS)
		return POLICY_NULL;
	POLICY_IN_RANGE(llc);
	return &t->llc[llc];
}

POLICY_FN const struct policy_node *policy_node(const struct policy_topology *t, u32 node)
{
	if (node >= POLICY_MAX_NODES)
		return POLICY_NULL;
	POLICY_IN_RANGE(node);
	return &t->node[node];
}

/* The k-th nearest other node. */
POLICY_FN u32 policy_near(const struct policy_node *n, u32 k)
{
	if (!n || k >= POLICY_MAX_NODES)
		return POLICY_NONE;
	POLICY_IN_RANGE(k);
	return n->near[k];
}

/* The CPU at an element; POLICY_NONE at padding. */
POLICY_FN u32 policy_cpu_at(const struct policy_topology *t, u32 e)
{
	if (e >= POLICY_MAX_POS)
		return POLICY_NONE;
	POLICY_IN_RANGE(e);
	return t->cpu_at[e];
}

/* The element of a CPU; POLICY_NONE for a number without a CPU. */
POLICY_FN u32 policy_element(const struct policy_topology *t, u32 cpu)
{
	const struct policy_cpu *c = policy_cpu(t, cpu);

	return c ? c->pos : POLICY_NONE;
}

/* What tells cores apart: the element of the core's first thread. */
POLICY_FN u32 policy_core(const struct policy_topology *t, u32 cpu)
{
	const struct policy_cpu *c = policy_cpu(t, cpu);

	return c ? c->core : POLICY_NONE;
}

/* The i-th thread, as an element, of the core of cpu, cpu itself among them. */
POLICY_FN u32 policy_sibling(const struct policy_topology *t, void *ctx, u32 cpu, u32 i)
{
	const struct policy_cpu *c = policy_cpu(t, cpu);

	(void)ctx;
	if (!c || i >= c->siblings)
		return POLICY_NONE;
	return c->core + i;
}

/*
 * The span's element of turn i, circularly from the first one at or after start. Any start, stale
 * or foreign, will do: outside of the span it wraps to the first. Computed from the turn and not
 * from the last element e, for the verifier's sake: see struct policy_visit.
 */
POLICY_FN u32 policy_span_turn(const struct policy_span *span, void *ctx, u32 start, u32 e, u32 i)
{
	u32 at = (start >= span->first && start < span->end ? start : span->first) + i;

	(void)ctx;
	(void)e;
	return at < span->end ? at : at - span->nr;
}

#endif

#endif /* POLICY_TOPOLOGY_H */
