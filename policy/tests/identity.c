// SPDX-License-Identifier: GPL-2.0-only
/*
 * The identity map, as fair.c and cfs-4.20 use it: elements are CPU numbers, a mask an LLC domain,
 * spans with holes because Linux numbers SMT siblings last.
 */
#define POLICY_IDENTITY
#include "host.h"

#define CPUS	130	/* CPU numbers of the largest machine */

static struct model {
	struct policy_mask mask;	/* of this LLC; indexed by CPU number all the same */
	bool in_span[CPUS];
	u32 sibling[CPUS];		/* the other thread, or POLICY_NONE */
	struct policy_span span;
	bool idle[CPUS];
	bool allowed[CPUS];
	bool movable[CPUS];
	u32 seen[2 * CPUS];
	u32 nr_seen;
} model;

static void see(struct model *m, u32 cpu)
{
	CHECK(cpu < CPUS && m->in_span[cpu], "cpu %u is not in the span", cpu);
	CHECK(m->nr_seen < LENGTH(m->seen), "without end");
	m->seen[m->nr_seen++] = cpu;
}

static u32 policy_span_at(void *ctx, u32 cpu)
{
	struct model *m = ctx;
	u32 at = cpu < CPUS ? cpu : 0;
	u32 i;

	for (i = 0; i < CPUS; i++, at = (at + 1) % CPUS) {
		if (m->in_span[at])
			return at;
	}
	return POLICY_NONE;
}

static u32 policy_sibling_at(void *ctx, u32 cpu, u32 i)
{
	struct model *m = ctx;

	if (!i)
		return cpu;
	return i == 1 ? m->sibling[cpu] : POLICY_NONE;
}

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	struct model *m = ctx;

	CHECK(dst_cpu != src_cpu, "cpu %u steals from itself", dst_cpu);
	see(m, src_cpu);
	return m->movable[src_cpu];
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	struct model *m = ctx;

	see(m, cpu);
	return m->allowed[cpu];
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	struct model *m = ctx;

	return m->idle[cpu];
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	struct model *m = ctx;

	return m->idle[cpu] && (m->sibling[cpu] == POLICY_NONE || m->idle[m->sibling[cpu]]);
}

/* LLC number llc of two, each of this many cores of two threads, siblings last. */
static void model_intel(u32 llc, u32 cores)
{
	u32 i, cpu;

	memset(&model, 0, sizeof(model));
	for (i = 0; i < CPUS; i++)
		model.sibling[i] = POLICY_NONE;
	for (i = 0; i < cores; i++) {
		cpu = llc * cores + i;
		model.in_span[cpu] = true;
		model.in_span[cpu + 2 * cores] = true;
		model.sibling[cpu] = cpu + 2 * cores;
		model.sibling[cpu + 2 * cores] = cpu;
	}
	model.span.first = llc * cores;
	model.span.end = (llc + 3) * cores;
	model.span.nr = 2 * cores;
}

static void model_draw(u32 percent)
{
	u32 cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		model.idle[cpu] = test_below(100) < percent;
		model.allowed[cpu] = test_below(100) < 70;
		model.movable[cpu] = test_below(100) < percent;
	}
	model.nr_seen = 0;
}

/* The CPUs of the span at or after start, circularly: what any search must see. */
static u32 expect_circle(u32 *out, u32 start)
{
	u32 i, n = 0;

	for (i = 0; i < CPUS; i++) {
		u32 cpu = ((start < CPUS ? start : 0) + i) % CPUS;

		if (model.in_span[cpu])
			out[n++] = cpu;
	}
	return n;
}

/* All CPUs of a span with holes, in order of number, from any start, within the budget. */
static void identity_search_visits_a_span_with_holes(void)
{
	u32 round, start, budget, next, nr, want[CPUS];

	for (round = 0; round < 3000; round++) {
		model_intel(test_below(2), 1 + test_below(32));
		model_draw(0);
		start = test_below(2 * CPUS);
		budget = test_below(2) ? POLICY_IDLE_WHOLE : 2 + test_below(20);
		next = POLICY_NONE;
		nr = expect_circle(want, start);
		CHECK(policy_scan_cpus(POLICY_NULL, &model.span, &next, start, budget, &model) ==
		      POLICY_NONE, "nobody is idle");
		if (budget - 1 < nr)
			nr = budget - 1;
		CHECK(model.nr_seen == nr, "%u seen, not %u", model.nr_seen, nr);
		CHECK(!memcmp(model.seen, want, nr * sizeof(u32)), "another order from %u", start);
		CHECK(next < CPUS && model.in_span[next], "next_cpu %u", next);
	}
}

/* The first allowed and idle CPU in that order. */
static void identity_search_takes_the_first_idle_cpu(void)
{
	u32 round, start, cpu, i, nr, want[CPUS];

	for (round = 0; round < 3000; round++) {
		model_intel(test_below(2), 1 + test_below(32));
		model_draw(5);
		start = test_below(CPUS);
		nr = expect_circle(want, start);
		for (i = 0; i < nr && !(model.allowed[want[i]] && model.idle[want[i]]); i++)
			;
		cpu = policy_scan_cpus(POLICY_NULL, &model.span, POLICY_NULL, start,
				       POLICY_IDLE_WHOLE, &model);
		CHECK(cpu == (i < nr ? want[i] : POLICY_NONE), "cpu %u", cpu);
	}
}

/* The first allowed CPU whose core is idle. */
static void identity_search_takes_the_first_idle_core(void)
{
	u32 round, start, cpu, i, nr, want[CPUS];

	for (round = 0; round < 3000; round++) {
		model_intel(test_below(2), 1 + test_below(32));
		model_draw(30);
		start = test_below(CPUS);
		nr = expect_circle(want, start);
		for (i = 0; i < nr; i++) {
			if (model.allowed[want[i]] && policy_core_idle(&model, want[i]))
				break;
		}
		cpu = policy_scan_cores(POLICY_NULL, &model.span, start, &model);
		CHECK(cpu == (i < nr ? want[i] : POLICY_NONE), "cpu %u", cpu);
	}
}

/* The published order: dst's sibling, then by CPU number from dst; the LLC's mask only. */
static void identity_steal_tries_the_sibling_then_the_circle(void)
{
	u32 round, dst, cpu, i, n, nr, circle[CPUS], want[2 * CPUS];

	for (round = 0; round < 3000; round++) {
		model_intel(test_below(2), 1 + test_below(32));
		model_draw(0);
		dst = policy_span_at(&model, test_below(CPUS));
		nr = expect_circle(circle, dst);
		for (i = 0; i < nr; i++) {
			if (test_below(100) < 40)
				policy_mask_set(&model.mask, POLICY_DENSITY, circle[i]);
		}
		n = 0;
		if (policy_mask_test(&model.mask, POLICY_DENSITY, model.sibling[dst]))
			want[n++] = model.sibling[dst];
		for (i = 1; i < nr; i++) {
			if (policy_mask_test(&model.mask, POLICY_DENSITY, circle[i]))
				want[n++] = circle[i];
		}
		cpu = policy_steal_span(POLICY_NULL, &model.mask, POLICY_DENSITY, &model.span, 2,
					dst, &model);
		CHECK(cpu == POLICY_NONE, "nothing is movable: %u", cpu);
		CHECK(model.nr_seen == n && !memcmp(model.seen, want, n * sizeof(u32)),
		      "dst %u: %u tries, not %u, or another order", dst, model.nr_seen, n);
	}
}

/* A caller that says 1 sibling gets the circle alone, and the first fit ends it. */
static void identity_steal_without_smt_is_the_circle_alone(void)
{
	model_intel(1, 4);
	policy_mask_set(&model.mask, POLICY_DENSITY, 5);
	policy_mask_set(&model.mask, POLICY_DENSITY, 7);
	policy_mask_set(&model.mask, POLICY_DENSITY, 14);
	model.movable[7] = true;
	CHECK(policy_steal_span(POLICY_NULL, &model.mask, POLICY_DENSITY, &model.span, 1, 6,
				&model) == 7, "7 comes first");
	CHECK(model.nr_seen == 1, "%u tries", model.nr_seen);
}

/* A mask allocated with only the lines that its elements need: ASan sees any access past them. */
static void identity_mask_may_be_allocated_short(void)
{
	size_t lines = (8 * 2 + 7) / 8;
	struct policy_mask *m = aligned_alloc(POLICY_LINE_BYTES, lines * sizeof(m->line[0]));
	u32 dst;

	CHECK(m, "no memory");
	memset(m, 0, lines * sizeof(m->line[0]));
	model_intel(1, 4);
	policy_mask_set(m, POLICY_DENSITY, 15);
	for (dst = 4; dst < 8; dst++)
		CHECK(policy_steal_span(POLICY_NULL, m, POLICY_DENSITY, &model.span, 2, dst,
					&model) == POLICY_NONE, "dst %u", dst);
	free(m);
}

static const struct test tests[] = {
	TEST(identity_search_visits_a_span_with_holes),
	TEST(identity_search_takes_the_first_idle_cpu),
	TEST(identity_search_takes_the_first_idle_core),
	TEST(identity_steal_tries_the_sibling_then_the_circle),
	TEST(identity_steal_without_smt_is_the_circle_alone),
	TEST(identity_mask_may_be_allocated_short),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
