/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that policy/ keeps for one machine, in one struct: many can live in one process. What is read
 * all the time and what is written all the time lie on separate cache lines. A home with
 * POLICY_IDENTITY keeps its own.
 */
#ifndef POLICY_STATE_H
#define POLICY_STATE_H

#include "sparsemask.h"

#ifndef POLICY_IDENTITY

/* Written with every search for this target; its own line (spec/idle-search.md 2.1, step 2). */
struct policy_cpu_state {
	/*
	 * Shared, racy by design: the CPU where the next search for this target begins, POLICY_NONE
	 * before the first. Any value is safe (zeroed memory too): see policy_span_turn().
	 */
	u32 next_cpu;
} POLICY_LINE;

/* Written when a core goes idle and when none was found; its own line. */
struct policy_llc_state {
	u32 idle_cores;	/* shared: 1 if some core of this LLC may be wholly idle */
} POLICY_LINE;

struct policy {
	/* Read-mostly: changed by the user while others read them, hence through accessors. */
	u32 features;		/* shared: POLICY_STEAL ... */
	u32 steal_node_limit;	/* shared: nodes; more than this and nobody steals; 0: no limit */

	struct policy_topology topology;			/* constant */
	struct policy_mask overloaded;				/* shared: by position */
	struct policy_cpu_state cpu_state[POLICY_MAX_CPUS];	/* shared: by CPU number */
	struct policy_llc_state llc_state[POLICY_MAX_LLCS];	/* shared */
} POLICY_LINE;

POLICY_FN struct policy_cpu_state *policy_cpu_state(struct policy *p, u32 cpu)
{
	if (cpu >= POLICY_MAX_CPUS)
		return POLICY_NULL;
	POLICY_IN_RANGE(cpu);
	return &p->cpu_state[cpu];
}

POLICY_FN struct policy_llc_state *policy_llc_state(struct policy *p, u32 llc)
{
	if (llc >= POLICY_MAX_LLCS)
		return POLICY_NULL;
	POLICY_IN_RANGE(llc);
	return &p->llc_state[llc];
}

#endif /* POLICY_IDENTITY */

#endif /* POLICY_STATE_H */
