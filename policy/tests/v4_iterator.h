/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A re-creation of the iterator of the published v4 series, made from the description of its two
 * defects (stealing invariants, 1.1.1), not its text:
 *
 * 1. After one hit it takes any further hit at or above the origin for a full round, and stops.
 * 2. On wrapping it takes the elements that the last line lacks from its budget of bits, where it
 *    should give them back, and it tests the budget before it wraps.
 */
#ifndef V4_ITERATOR_H
#define V4_ITERATOR_H

#include "host.h"

/* The element after prev in a visit of n elements from origin; prev -1: the first; n: no more. */
static int v4_next(struct policy_mask *m, int density, int n, int origin, int prev)
{
	int width = 1 << density;
	int at = prev < 0 ? origin : prev + 1;
	int budget = prev < 0 ? n : prev < origin ? origin - prev : n - prev + origin - 1;
	u64 word;

	if (at >= n)
		return n;
	word = m->line[at >> density].word & ~0ULL << (at & (width - 1));
	budget += at & (width - 1);
	at &= ~(width - 1);
	while (!word) {
		at += width;
		budget -= width;
		if (budget <= 0)
			return n;
		if (at >= n) {
			budget -= at - n;
			at = 0;
		}
		word = m->line[at >> density].word;
	}
	at += __builtin_ctzll(word);
	return prev >= 0 && at >= origin ? n : at;
}

#endif /* V4_ITERATOR_H */
