// SPDX-License-Identifier: GPL-2.0-only
/* Idle search on positions. Names with a number: invariants of the idle-search specification. */
#include "machine.h"

#define SIS_BOUNDED	(POLICY_SIS_LIMIT | POLICY_SIS_ROTATE)
#define SIS_ALL		(SIS_BOUNDED | POLICY_SIS_CORE | POLICY_SIS_PROP)

static struct model {
	struct policy p;
	bool idle[POLICY_MAX_CPUS];
	bool allowed[POLICY_MAX_CPUS];
	bool scribble;		/* others overwrite next_cpu all the time */
	u32 target;
	u32 examined[POLICY_MAX_CPUS];	/* CPUs that policy_allowed() was asked for, in order */
	u32 nr_examined;
	u32 cores_asked;
} model;

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	return ctx && dst_cpu == src_cpu;
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	struct model *m = ctx;

	CHECK(cpu < POLICY_MAX_CPUS, "cpu %u", cpu);
	CHECK(m->nr_examined < LENGTH(m->examined), "examines without end");
	m->examined[m->nr_examined++] = cpu;
	if (m->scribble)
		m->p.cpu_state[m->target].next_cpu = (u32)test_random();
	return m->allowed[cpu];
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	struct model *m = ctx;
	bool was = m->idle[cpu];

	m->idle[cpu] = false;
	return was;
}

static bool core_is_idle(u32 cpu)
{
	const struct policy_topology *t = &model.p.topology;
	u32 pos, end = t->cpu[cpu].core + t->cpu[cpu].siblings;

	for (pos = t->cpu[cpu].core; pos < end; pos++) {
		if (!model.idle[t->cpu_at[pos]])
			return false;
	}
	return true;
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	struct model *m = ctx;

	m->cores_asked++;
	return core_is_idle(cpu);
}

static void model_boot(const struct shape *s, u32 density, u32 features)
{
	memset(&model, 0, sizeof(model));
	machine_boot(&model.p, s, density, features);
}

static void model_machine(u32 features)
{
	struct shape s = machine_random_shape();

	model_boot(&s, test_below(POLICY_DENSITY_MAX + 1), features);
}

static void model_fill(u32 percent_idle, u32 percent_allowed)
{
	u32 cpu;

	for (cpu = 0; cpu < POLICY_MAX_CPUS; cpu++) {
		model.idle[cpu] = test_below(100) < percent_idle;
		model.allowed[cpu] = test_below(100) < percent_allowed;
	}
}

/* A mean idle time and a scan cost that give any budget. */
static u32 model_search_with(u32 target, u64 avg_idle, u64 scan_cost)
{
	model.target = target;
	model.nr_examined = 0;
	model.cores_asked = 0;
	return policy_search_idle(&model.p, target, avg_idle, scan_cost, &model);
}

static u32 model_search(u32 target)
{
	return model_search_with(target, 1ULL << test_below(30), test_below(20000));
}

static u32 any_features(void)
{
	return (u32)test_random() & SIS_ALL;
}

static u32 span_of(u32 cpu)
{
	return model.p.topology.llc[model.p.topology.cpu[cpu].llc].nr;
}

/* Found means: in target's LLC, allowed, was idle, is claimed. */
static void idle_search_invariant_1_found_cpu_is_in_span_and_allowed(void)
{
	u32 round, target, cpu, i;
	bool idle[POLICY_MAX_CPUS];

	for (round = 0; round < 5000; round++) {
		model_machine(any_features());
		model_fill(test_below(100), test_below(101));
		target = machine_any_cpu(&model.p.topology);
		model.p.llc_state[model.p.topology.cpu[target].llc].idle_cores = test_below(2);
		memcpy(idle, model.idle, sizeof(idle));
		cpu = model_search(target);
		for (i = 0; i < model.nr_examined; i++)
			CHECK(model.p.topology.cpu[model.examined[i]].llc ==
			      model.p.topology.cpu[target].llc, "cpu %u", model.examined[i]);
		if (cpu == POLICY_NONE)
			continue;
		CHECK(cpu < POLICY_MAX_CPUS && model.allowed[cpu] && idle[cpu], "cpu %u", cpu);
		CHECK(!model.idle[cpu], "cpu %u is not claimed", cpu);
		CHECK(model.p.topology.cpu[cpu].llc == model.p.topology.cpu[target].llc,
		      "cpu %u is in another LLC", cpu);
	}
}

/* At most two cores' worth less one, at least one core's worth less one; disallowed ones count. */
static void idle_search_invariant_2_examined_within_budget(void)
{
	u32 round, target, cpu, floor, least;

	for (round = 0; round < 5000; round++) {
		model_machine(POLICY_SIS_PROP | POLICY_SIS_LIMIT |
			      (test_below(2) ? POLICY_SIS_ROTATE : 0));
		model_fill(test_below(20), test_below(101));
		target = machine_any_cpu(&model.p.topology);
		cpu = model_search(target);
		floor = model.p.topology.cpu[target].siblings;
		if (floor < 2)
			floor = 2;
		CHECK(model.nr_examined <= 2 * floor - 1, "%u examined", model.nr_examined);
		least = floor - 1 < span_of(target) ? floor - 1 : span_of(target);
		CHECK(cpu != POLICY_NONE || model.nr_examined >= least, "%u examined",
		      model.nr_examined);
	}
}

/* next_cpu is "none" or a CPU that was visited; any start at all gives a complete round. */
static void idle_search_invariant_3_foreign_start_wraps(void)
{
	u32 round, target, start, next, i, j;

	for (round = 0; round < 3000; round++) {
		model_machine(POLICY_SIS_ROTATE);
		model_fill(0, 100);
		target = machine_any_cpu(&model.p.topology);
		start = test_below(3) ? test_below(2 * POLICY_MAX_CPUS) : (u32)test_random();
		model.p.cpu_state[target].next_cpu = start;
		CHECK(model_search(target) == POLICY_NONE, "nobody is idle");
		CHECK(model.nr_examined == span_of(target), "start %u: %u of %u examined", start,
		      model.nr_examined, span_of(target));
		for (i = 0; i < model.nr_examined; i++) {
			for (j = 0; j < i; j++)
				CHECK(model.examined[i] != model.examined[j], "twice %u",
				      model.examined[i]);
		}
		next = model.p.cpu_state[target].next_cpu;
		CHECK(next == model.examined[model.nr_examined - 1], "next_cpu %u", next);
		if (start < POLICY_MAX_CPUS && model.p.topology.cpu[start].llc ==
		    model.p.topology.cpu[target].llc)
			CHECK(model.examined[0] == start, "began at %u", model.examined[0]);
	}
}

/* One idle CPU anywhere in the span is found within ceil(span / (nr - 1)) searches. */
static void idle_search_invariant_4_windows_cover_the_span(void)
{
	u32 round, target, cpu, span, nr, searches, i;

	for (round = 0; round < 3000; round++) {
		model_machine(SIS_BOUNDED);
		model_fill(0, 100);
		target = machine_any_cpu(&model.p.topology);
		span = span_of(target);
		for (i = test_below(5); i; i--)
			model_search(target);
		cpu = model.p.topology.cpu_at[model.p.topology.llc[
			model.p.topology.cpu[target].llc].first + test_below(span)];
		model.idle[cpu] = true;
		nr = policy_idle_budget(SIS_BOUNDED, span,
					model.p.topology.cpu[target].siblings, ~0ULL, 0);
		searches = (span + nr - 2) / (nr - 1);
		for (i = 0; i < searches && model.idle[cpu]; i++)
			model_search(target);
		CHECK(!model.idle[cpu], "cpu %u of a span of %u was not found in %u searches of %u",
		      cpu, span, searches, nr - 1);
	}
}

/* Failed windows follow each other without gap or overlap. */
static void idle_search_invariant_4_windows_tile_the_span(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 44, .threads = 2 };
	u32 search, i;

	model_boot(&s, POLICY_DENSITY, SIS_BOUNDED);
	model_fill(0, 100);
	for (search = 0; search < 100; search++) {
		model_search(7);
		CHECK(model.nr_examined == 3, "%u examined", model.nr_examined);
		for (i = 0; i < 3; i++)
			CHECK(model.examined[i] == (7 + 3 * search + i) % 88, "search %u: %u",
			      search, model.examined[i]);
	}
}

/* Without SIS_CORE no core is asked for, and the hint is neither read nor written. */
static void idle_search_invariant_5_no_core_scan_when_off(void)
{
	const struct shape s = { .nodes = 1, .llcs = 2, .cores = 4, .threads = 2 };
	u32 features;

	for (features = 0; features <= SIS_ALL; features++) {
		if (features & POLICY_SIS_CORE)
			continue;
		model_boot(&s, POLICY_DENSITY, features);
		model_fill(0, 100);
		model.p.llc_state[0].idle_cores = 1;
		watch_begin(model.p.llc_state, sizeof(model.p.llc_state));
		model_search(1);
		CHECK(!model.cores_asked, "features %x", features);
		CHECK(!watch.reads && !watch.writes, "features %x", features);
		CHECK(model.p.llc_state[0].idle_cores == 1, "cleared");
	}
}

/* The same state gives the same answer, and a search leaves other targets' state alone. */
static void idle_search_invariant_6_determinism(void)
{
	static struct model before, after;
	u32 round, target, cpu, other;

	for (round = 0; round < 500; round++) {
		model_machine(any_features());
		model_fill(10, 80);
		target = machine_any_cpu(&model.p.topology);
		before = model;
		cpu = model_search_with(target, 1000000, 1000);
		after = model;
		model = before;
		CHECK(model_search_with(target, 1000000, 1000) == cpu, "another answer");
		CHECK(!memcmp(&model, &after, sizeof(model)), "another state");
		other = machine_any_cpu(&model.p.topology);
		CHECK(other == target || model.p.cpu_state[other].next_cpu ==
		      before.p.cpu_state[other].next_cpu, "cpu %u", other);
	}
}

/* Whatever others write into next_cpu meanwhile: a bounded search of valid CPUs. */
static void idle_search_invariant_7_concurrent_next_cpu(void)
{
	u32 round, target;

	for (round = 0; round < 5000; round++) {
		model_machine(POLICY_SIS_ROTATE | any_features());
		model_fill(test_below(10), test_below(101));
		model.scribble = true;
		target = machine_any_cpu(&model.p.topology);
		model.p.cpu_state[target].next_cpu = (u32)test_random();
		model_search(target);
		CHECK(model.nr_examined <= 2 * span_of(target), "%u examined",
		      model.nr_examined);
	}
}

/* Stored before it is looked at, so that a search at the same time begins further on. */
static void idle_rotation_ends_on_the_cpu_handed_out(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 8, .threads = 1 };

	model_boot(&s, POLICY_DENSITY, SIS_BOUNDED);
	model_fill(0, 100);
	model.idle[4] = true;
	CHECK(model_search(3) == 4, "4 is idle");
	CHECK(model.p.cpu_state[3].next_cpu == 4, "%u", model.p.cpu_state[3].next_cpu);
	CHECK(model_search(3) == POLICY_NONE, "4 is taken");
	CHECK(model.examined[0] == 4 && model.nr_examined == 3, "%u examined", model.nr_examined);
	CHECK(model.p.cpu_state[3].next_cpu == 7, "%u", model.p.cpu_state[3].next_cpu);
}

/* Without SIS_ROTATE every search begins at target, and next_cpu is not touched. */
static void idle_search_without_rotation_begins_at_target(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 8, .threads = 1 };
	u32 i;

	model_boot(&s, POLICY_DENSITY, POLICY_SIS_LIMIT);
	model_fill(0, 100);
	watch_begin(model.p.cpu_state, sizeof(model.p.cpu_state));
	for (i = 0; i < 3; i++) {
		CHECK(model_search(5) == POLICY_NONE, "nobody is idle");
		CHECK(model.nr_examined == 3 && model.examined[0] == 5, "%u", model.examined[0]);
	}
	CHECK(!watch.reads && !watch.writes, "next_cpu was touched");
}

/* A search for a target that the machine lacks finds nothing and touches nothing. */
static void idle_search_refuses_unknown_targets(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 4, .threads = 1 };
	static const u32 odd[] = { 4, POLICY_MAX_CPUS - 1, POLICY_MAX_CPUS, POLICY_NONE };
	u32 i;

	model_boot(&s, POLICY_DENSITY, SIS_ALL);
	model_fill(100, 100);
	watch_begin(model.p.cpu_state, sizeof(model.p.cpu_state));
	for (i = 0; i < LENGTH(odd); i++) {
		CHECK(model_search(odd[i]) == POLICY_NONE, "target %u", odd[i]);
		policy_idle_core_set(&model.p, odd[i]);
	}
	CHECK(!model.nr_examined && !watch.reads && !watch.writes, "touched");
}

/* With the hint set: a wholly idle core that the task may use is found wherever it is. */
static void idle_core_is_found_wherever_it_is(void)
{
	u32 round, target, cpu, llc, pos;
	bool exists;

	for (round = 0; round < 3000; round++) {
		model_machine(SIS_ALL);
		model_fill(50 + test_below(50), 50);
		target = machine_any_cpu(&model.p.topology);
		llc = model.p.topology.cpu[target].llc;
		model.p.llc_state[llc].idle_cores = 1;
		exists = false;
		for (pos = 0; pos < span_of(target); pos++) {
			cpu = model.p.topology.cpu_at[model.p.topology.llc[llc].first + pos];
			exists |= model.allowed[cpu] && core_is_idle(cpu);
		}
		if (model.p.topology.cpu[target].siblings < 2)
			continue;
		cpu = model_search(target);
		CHECK((model.p.llc_state[llc].idle_cores == 1) == exists, "hint");
		if (!exists)
			continue;
		CHECK(cpu != POLICY_NONE && model.allowed[cpu], "a core is idle");
		model.idle[cpu] = true;
		CHECK(core_is_idle(cpu), "cpu %u: its core is busy", cpu);
	}
}

/* Each core of the span is asked for once at most, and none at all without the hint or SMT. */
static void idle_core_scan_asks_each_core_once(void)
{
	struct shape s = { .nodes = 1, .llcs = 1, .cores = 6, .threads = 4 };
	u32 target;

	for (target = 0; target < 24; target++) {
		model_boot(&s, POLICY_DENSITY, SIS_ALL);
		model_fill(0, 100);
		model_search(target);
		CHECK(!model.cores_asked, "without the hint");
		policy_idle_core_set(&model.p, target);
		model_search(target);
		CHECK(model.cores_asked == 6, "%u cores asked", model.cores_asked);
		model_search(target);
		CHECK(!model.cores_asked, "the hint was not cleared");
	}
	s.threads = 1;
	model_boot(&s, POLICY_DENSITY, SIS_ALL);
	model.p.llc_state[0].idle_cores = 1;
	model_search(0);
	CHECK(!model.cores_asked, "without SMT");
}

/* The hint is written only when it changes. */
static void idle_core_hint_writes_only_changes(void)
{
	const struct shape s = { .nodes = 1, .llcs = 2, .cores = 2, .threads = 2 };

	model_boot(&s, POLICY_DENSITY, SIS_ALL);
	watch_begin(model.p.llc_state, sizeof(model.p.llc_state));
	policy_idle_core_set(&model.p, 5);
	CHECK(watch.writes == 1 && model.p.llc_state[1].idle_cores == 1, "first");
	CHECK(!model.p.llc_state[0].idle_cores, "another LLC's");
	policy_idle_core_set(&model.p, 7);
	CHECK(watch.writes == 1, "written again");
}

static const struct test tests[] = {
	TEST(idle_search_invariant_1_found_cpu_is_in_span_and_allowed),
	TEST(idle_search_invariant_2_examined_within_budget),
	TEST(idle_search_invariant_3_foreign_start_wraps),
	TEST(idle_search_invariant_4_windows_cover_the_span),
	TEST(idle_search_invariant_4_windows_tile_the_span),
	TEST(idle_search_invariant_5_no_core_scan_when_off),
	TEST(idle_search_invariant_6_determinism),
	TEST(idle_search_invariant_7_concurrent_next_cpu),
	TEST(idle_rotation_ends_on_the_cpu_handed_out),
	TEST(idle_search_without_rotation_begins_at_target),
	TEST(idle_search_refuses_unknown_targets),
	TEST(idle_core_is_found_wherever_it_is),
	TEST(idle_core_scan_asks_each_core_once),
	TEST(idle_core_hint_writes_only_changes),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
