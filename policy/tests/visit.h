/* SPDX-License-Identifier: GPL-2.0-only */
/* One whole visit of a mask, noted down, beside what it must be. */
#ifndef VISIT_H
#define VISIT_H

#include "host.h"

#define VISIT_MAX	256

struct visit {
	u32 element[VISIT_MAX];
	u32 nr;
	u32 turns;
};

/* Ours, as policy_visit_begin()'s comment says to use it. */
static void visit_run(struct visit *out, struct policy_mask *m, u32 density, u32 first, u32 end,
		      u32 origin)
{
	struct policy_visit v;
	u32 i, j, e;

	out->nr = 0;
	policy_visit_begin(&v, m, density, first, end, origin);
	out->turns = v.turns;
	policy_for(i, 0, v.turns) {
		policy_visit_line(&v, m, i);
		policy_for(j, 0, 1U << density) {
			if (!v.word)
				break;
			e = policy_visit_next(&v, m);
			if (e == POLICY_NONE)
				continue;
			CHECK(out->nr < VISIT_MAX, "endless");
			out->element[out->nr++] = e;
		}
		CHECK(!v.word, "turn %u left bits", i);
	}
}

/* The definition: every set bit of first .. end - 1 once, circularly from origin. */
static void visit_expect(struct visit *out, const bool *set, u32 first, u32 end, u32 origin)
{
	u32 i;

	out->nr = 0;
	for (i = 0; i < end - first; i++) {
		u32 e = first + (origin - first + i) % (end - first);

		if (set[e])
			out->element[out->nr++] = e;
	}
}

static bool visit_same(const struct visit *a, const struct visit *b)
{
	return a->nr == b->nr && !memcmp(a->element, b->element, a->nr * sizeof(u32));
}

/* Write n elements into a mask, by hand and not by policy_mask_set(). */
static void visit_fill(struct policy_mask *m, u32 density, const bool *set, u32 n)
{
	u32 e;

	memset(m, 0, ((n - 1) / (1U << density) + 1) * sizeof(m->line[0]));
	for (e = 0; e < n; e++) {
		if (set[e])
			m->line[e / (1U << density)].word |= 1ULL << e % (1U << density);
	}
}

#endif /* VISIT_H */
