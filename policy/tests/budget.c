// SPDX-License-Identifier: GPL-2.0-only
/* The budget of the idle search. */
#include "stubs.h"

/* The reference table, line by line. */
static void idle_budget_reproduces_the_reference(void)
{
	FILE *f = fopen(TESTS "/idle-search-budget.csv", "r");
	u32 span, siblings, baseline, published, lines = 0;
	char line[256];
	double r;

	CHECK(f, "cannot read " TESTS "/idle-search-budget.csv");
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || line[0] == 's')
			continue;
		CHECK(sscanf(line, "%u,%u,%lf,%u,%u", &span, &siblings, &r, &baseline,
			     &published) == 5, "line: %s", line);
		/* r = (avg_idle / 512) / (scan_cost + 1), with a scan of 1000 ns. */
		CHECK(policy_idle_budget(POLICY_SIS_PROP, span, siblings,
					 (u64)(r * 1000 + 0.5) * 512, 999) == baseline,
		      "baseline: %s", line);
		CHECK(policy_idle_budget(POLICY_SIS_PROP | POLICY_SIS_LIMIT, span, siblings,
					 (u64)(r * 1000 + 0.5) * 512, 999) == published,
		      "published: %s", line);
		lines++;
	}
	fclose(f);
	CHECK(lines == 32, "%u lines", lines);
}

/* The published text of the formula, for any input at all that does not overflow. */
static void idle_budget_is_the_published_formula(void)
{
	u32 round, span, siblings, floor, nr, ours;
	u64 avail, cost, idle;

	for (round = 0; round < 200000; round++) {
		span = 1 + test_below(512);
		siblings = 1 + test_below(8);
		idle = test_random() >> (24 + test_below(40));
		cost = (test_random() >> (30 + test_below(34))) + 1;
		floor = siblings < 2 ? 2 : siblings;
		avail = span * (idle / 512);
		nr = floor;
		if (avail > floor * cost)
			nr = avail / cost < 2 * floor ? (u32)(avail / cost) : 2 * floor;
		ours = policy_idle_budget(POLICY_SIS_PROP | POLICY_SIS_LIMIT, span, siblings,
					  idle, cost - 1);
		CHECK(ours == nr, "span %u, siblings %u, idle %llu, cost %llu: %u, not %u", span,
		      siblings, (unsigned long long)idle, (unsigned long long)cost, ours, nr);
	}
}

/* Without SIS_PROP: two cores, or no limit at all. */
static void idle_budget_without_prop_needs_no_clock(void)
{
	CHECK(policy_idle_budget(POLICY_SIS_LIMIT, 88, 1, 0, 0) == 4, "SMT-1");
	CHECK(policy_idle_budget(POLICY_SIS_LIMIT, 88, 2, 0, 0) == 4, "SMT-2");
	CHECK(policy_idle_budget(POLICY_SIS_LIMIT, 88, 8, ~0ULL, 0) == 16, "SMT-8");
	CHECK(policy_idle_budget(0, 88, 8, 0, ~0ULL) == POLICY_IDLE_WHOLE, "neither");
}

/* The largest values: a caller without avg_idle passes ~0ULL. */
static void idle_budget_survives_extremes(void)
{
	const u32 both = POLICY_SIS_PROP | POLICY_SIS_LIMIT;

	CHECK(policy_idle_budget(both, 4096, 2, ~0ULL, 0) == 4, "much time, no cost");
	CHECK(policy_idle_budget(both, 4096, 2, ~0ULL, 1ULL << 40) == 4, "much of both");
	CHECK(policy_idle_budget(both, 4096, 2, ~0ULL, ~0ULL) == 2, "endless cost");
	CHECK(policy_idle_budget(both, 4096, 2, 0, ~0ULL) == 2, "no time");
	CHECK(policy_idle_budget(POLICY_SIS_PROP, 4096, 2, ~0ULL, 0) == POLICY_IDLE_WHOLE,
	      "baseline, much time");
	CHECK(policy_idle_budget(POLICY_SIS_PROP, 4096, 2, 0, 0) == 4, "baseline, no time");
}

static const struct test tests[] = {
	TEST(idle_budget_reproduces_the_reference),
	TEST(idle_budget_is_the_published_formula),
	TEST(idle_budget_without_prop_needs_no_clock),
	TEST(idle_budget_survives_extremes),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
