/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bitmap that uses only the low 2^density bits of the first word of each cache line, so that
 * CPUs that set and clear their bits disturb few others (spec/stealing.md 1.1).
 *
 * Element e is bit e % 2^density of line e / 2^density. Every word is shared: any CPU may read it,
 * and bits are set and cleared atomically, without a lock. A bit is only a hint: a set one may be
 * out of date, a clear one loses an opportunity and nothing else.
 */
#ifndef POLICY_SPARSEMASK_H
#define POLICY_SPARSEMASK_H

#include "topology.h"

struct policy_mask_line {
	u64 word;	/* shared; bits 0 .. 2^density - 1 */
} POLICY_LINE;

/*
 * Begins zeroed. A mask of elements below n may be allocated with only the lines that n needs: no
 * line past the last element of a span is ever touched.
 */
struct policy_mask {
	struct policy_mask_line line[POLICY_MASK_LINES];
};

POLICY_FN struct policy_mask_line *policy_mask_line(struct policy_mask *m, u32 line)
{
	if (line >= POLICY_MASK_LINES)
		return POLICY_NULL;
	return &m->line[line];
}

/* The bit of an element inside its line's word. */
POLICY_FN u64 policy_mask_bit(u32 density, u32 e)
{
	return 1ULL << (e & ((1U << density) - 1));
}

/* Return true if the bit of e is set. */
POLICY_FN bool policy_mask_test(struct policy_mask *m, u32 density, u32 e)
{
	struct policy_mask_line *l = policy_mask_line(m, e >> density);

	return l && (shared_read(&l->word) & policy_mask_bit(density, e));
}

/*
 * Set the bit of e; return true if it was clear.
 *
 * Tested before it is written: a queue that stays long would otherwise pull the line to its waker
 * with every wake-up. Pairs with policy_mask_clear(): a set that finds the bit of a clear that is
 * under way is lost, which costs an opportunity until the next set.
 */
POLICY_FN bool policy_mask_set(struct policy_mask *m, u32 density, u32 e)
{
	struct policy_mask_line *l = policy_mask_line(m, e >> density);
	u64 bit = policy_mask_bit(density, e);

	if (!l || (shared_read(&l->word) & bit))
		return false;
	return !(shared_or(&l->word, bit) & bit);
}

/*
 * Clear the bit of e; return true if it was set.
 *
 * Pairs with policy_mask_set(): a caller that must not lose a set looks at its queue once more
 * after this returned true (the clear is a full barrier), and sets the bit again if it finds work.
 */
POLICY_FN bool policy_mask_clear(struct policy_mask *m, u32 density, u32 e)
{
	struct policy_mask_line *l = policy_mask_line(m, e >> density);
	u64 bit = policy_mask_bit(density, e);

	if (!l || !(shared_read(&l->word) & bit))
		return false;
	return shared_and(&l->word, ~bit) & bit;
}

/*
 * A circular visit of the set bits of elements first .. end - 1, from origin upwards, wrapping to
 * first and ending below origin:
 *
 *	policy_visit_begin(&v, mask, density, first, end, origin);
 *	policy_for(i, 0, policy_visit_steps(first, end)) {
 *		if (policy_visit_done(&v))
 *			break;
 *		e = policy_visit_step(&v, mask);
 *		if (e == POLICY_NONE)
 *			continue;
 *		...
 *	}
 *
 * Every bit that stays set is delivered exactly once, whether or not origin's is set. Each line is
 * read once, that of origin too: its bits below origin are kept aside until the end. A bit that is
 * not delivered straight after its line was read is tested again, because the caller may have spent
 * microseconds on the one before it.
 */
struct policy_visit {
	u64 word;	/* bits of the present line still to be delivered */
	u64 low;	/* bits of origin's line below origin, kept for the end */
	u32 density;	/* bits */
	u32 first;
	u32 end;
	u32 origin;
	u32 line;	/* the present line */
	u32 lines_left;	/* lines still to be read */
	bool fresh;	/* nothing was delivered since the present line was read */
};

/* The bits of one line that belong to the visit's range. */
POLICY_FN u64 policy_visit_range(const struct policy_visit *v, u32 line)
{
	u32 top = (1U << v->density) - 1;
	u32 lo = line == v->first >> v->density ? v->first & top : 0;
	u32 hi = line == (v->end - 1) >> v->density ? (v->end - 1) & top : top;

	return (~0ULL << lo) & (~0ULL >> (63 - hi));
}

POLICY_FN void policy_visit_read(struct policy_visit *v, struct policy_mask *m)
{
	struct policy_mask_line *l = policy_mask_line(m, v->line);

	v->word = l ? shared_read(&l->word) & policy_visit_range(v, v->line) : 0;
	v->fresh = true;
}

/* Begin a visit; an empty range or an origin outside of it gives an empty visit. */
POLICY_FN void policy_visit_begin(struct policy_visit *v, struct policy_mask *m, u32 density,
				  u32 first, u32 end, u32 origin)
{
	u64 below = policy_mask_bit(density, origin) - 1;

	v->word = 0;
	v->low = 0;
	v->density = density;
	v->first = first;
	v->end = end;
	v->origin = origin;
	v->line = origin >> density;
	v->lines_left = 0;
	v->fresh = false;
	if (origin < first || origin >= end)
		return;

	v->lines_left = ((end - 1) >> density) - (first >> density);
	policy_visit_read(v, m);
	v->low = v->word & below;
	v->word &= ~below;
}

/* Steps that the longest visit takes: each consumes a bit or a line without one; one for low. */
POLICY_FN u32 policy_visit_steps(u32 first, u32 end)
{
	return end - first + 1;
}

/* Return true if nothing is left to deliver. */
POLICY_FN bool policy_visit_done(const struct policy_visit *v)
{
	return !v->word && !v->lines_left && !v->low;
}

/*
 * One step: the next element whose bit is set, or POLICY_NONE if this step found none.
 *
 * 1. Nothing left of the present line: read the next one, wrapping to the first.
 * 2. No line left: what lies below origin in its own line, and that is the end.
 * 3. Deliver the lowest bit, unless it has been cleared since its line was read.
 */
POLICY_FN u32 policy_visit_step(struct policy_visit *v, struct policy_mask *m)
{
	bool fresh;
	u32 e;

	if (!v->word && v->lines_left) {
		v->lines_left--;
		v->line = v->line == (v->end - 1) >> v->density ? v->first >> v->density
								: v->line + 1;
		policy_visit_read(v, m);
	} else if (!v->word) {
		v->line = v->origin >> v->density;
		v->word = v->low;
		v->low = 0;
		v->fresh = false;
	}
	if (!v->word)
		return POLICY_NONE;

	e = (v->line << v->density) + (u32)__builtin_ctzll(v->word);
	v->word &= v->word - 1;
	fresh = v->fresh;
	v->fresh = false;
	return fresh || policy_mask_test(m, v->density, e) ? e : POLICY_NONE;
}

#endif /* POLICY_SPARSEMASK_H */
