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
	POLICY_IN_RANGE(line);
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
 *	policy_for(i, 0, v.turns) {
 *		policy_visit_line(&v, mask, i);
 *		policy_for(j, 0, 1U << density) {
 *			if (!v.word)
 *				break;
 *			e = policy_visit_next(&v, mask);
 *			if (e == POLICY_NONE)
 *				continue;
 *			...
 *		}
 *	}
 *
 * Every bit that stays set is delivered exactly once, whether or not origin's is set. Each line is
 * read once, that of origin too: its bits below origin are kept aside until the last turn. A bit
 * that is not delivered straight after its line was read is tested again, because the caller may
 * have spent microseconds on the one before it.
 *
 * The line is computed from the turn, not carried along: the BPF verifier then sees the same state
 * in every turn, and follows one.
 */
struct policy_visit {
	u64 word;	/* bits of the present line still to be delivered */
	u64 low;	/* bits of origin's line below origin, kept for the last turn */
	u32 density;	/* bits */
	u32 first;	/* line */
	u32 lines;	/* lines of the range */
	u32 origin;	/* line */
	u32 turns;	/* lines, and one more if bits of origin's line were kept; 0: nothing */
	u32 base;	/* element of bit 0 of the present line */
	u64 head;	/* the bits of the first line that belong to the range */
	u64 tail;	/* those of the last line */
	bool fresh;	/* nothing was delivered since the present line was read */
};

/* Read one line: the bits of it that are set and belong to the range. */
POLICY_FN u64 policy_visit_read(struct policy_visit *v, struct policy_mask *m, u32 line)
{
	struct policy_mask_line *l = policy_mask_line(m, line);
	u64 word = l ? shared_read(&l->word) : 0;

	if (line == v->first)
		word &= v->head;
	if (line == v->first + v->lines - 1)
		word &= v->tail;
	v->base = line << v->density;
	v->fresh = true;
	return word;
}

/* Begin a visit; an empty range, or an origin outside of it, gives no turns. */
POLICY_FN void policy_visit_begin(struct policy_visit *v, struct policy_mask *m, u32 density,
				  u32 first, u32 end, u32 origin)
{
	u64 below = policy_mask_bit(density, origin) - 1;
	u64 word;

	v->turns = 0;
	if (origin < first || origin >= end)
		return;

	v->density = density;
	v->first = first >> density;
	v->lines = ((end - 1) >> density) - v->first + 1;
	v->origin = origin >> density;
	v->head = ~(policy_mask_bit(density, first) - 1);
	v->tail = policy_mask_bit(density, end - 1);
	v->tail |= v->tail - 1;

	word = policy_visit_read(v, m, v->origin);
	v->low = word & below;
	v->word = word & ~below;
	if (word || v->lines > 1)
		v->turns = v->lines + (v->low != 0);
}

/*
 * Turn i:
 *
 * 0. The origin's line, which policy_visit_begin() has read.
 * 1. The lines after it, wrapping to the first: read.
 * 2. In the last turn what was kept of the origin's line.
 */
POLICY_FN void policy_visit_line(struct policy_visit *v, struct policy_mask *m, u32 i)
{
	u32 line = v->origin + i;

	if (!i)
		return;
	if (i == v->lines) {
		v->word = v->low;
		v->base = v->origin << v->density;
		v->fresh = false;
		return;
	}
	if (line >= v->first + v->lines)
		line -= v->lines;
	v->word = policy_visit_read(v, m, line);
}

/*
 * Deliver the lowest bit left of the present line, of which there is one: its element, or
 * POLICY_NONE if it has been cleared since the line was read.
 */
POLICY_FN u32 policy_visit_next(struct policy_visit *v, struct policy_mask *m)
{
	u32 e = v->base + (u32)__builtin_ctzll(v->word);
	bool fresh = v->fresh;

	v->word &= v->word - 1;
	v->fresh = false;
	return fresh || policy_mask_test(m, v->density, e) ? e : POLICY_NONE;
}

#endif /* POLICY_SPARSEMASK_H */
