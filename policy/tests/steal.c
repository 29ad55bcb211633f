// SPDX-License-Identifier: GPL-2.0-only
/* Stealing on positions. Names with a number: invariants of the stealing specification. */
#include "machine.h"

#define STEAL_ALL	(POLICY_STEAL | POLICY_STEAL_LLC | POLICY_STEAL_NUMA)
#define LONG_IDLE	(~0ULL)

/* A machine whose queues are numbers: how many tasks each CPU has that others may take. */
static struct model {
	struct policy p;
	u32 tasks[POLICY_MAX_CPUS];
	bool movable[POLICY_MAX_CPUS];	/* some task of that CPU may run on the thief */
	u32 tried[2 * MACHINE_CPUS];
	u32 nr_tried;
	u32 moved;
} model;

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	struct model *m = ctx;

	CHECK(m->nr_tried < LENGTH(m->tried), "tries without end");
	m->tried[m->nr_tried++] = src_cpu;
	if (!m->tasks[src_cpu] || !m->movable[src_cpu])
		return false;
	m->tasks[src_cpu]--;
	m->tasks[dst_cpu]++;
	m->moved++;
	return true;
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	return ctx && cpu == POLICY_NONE;
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

/* Give each CPU tasks with this chance, movable with that one, and its bit as it should be. */
static void model_fill(u32 percent_tasks, u32 percent_movable)
{
	const struct policy_topology *t = &model.p.topology;
	u32 pos, cpu;

	memset(model.tasks, 0, sizeof(model.tasks));
	memset(&model.p.overloaded, 0, sizeof(model.p.overloaded));
	for (pos = 0; pos < t->nr_pos; pos++) {
		cpu = t->cpu_at[pos];
		if (cpu == POLICY_NONE)
			continue;
		model.tasks[cpu] = test_below(100) < percent_tasks ? 1 + test_below(3) : 0;
		model.movable[cpu] = test_below(100) < percent_movable;
		if (model.tasks[cpu])
			policy_mask_set(&model.p.overloaded, t->density, pos);
	}
}

static void model_machine(u32 features)
{
	struct shape s = machine_random_shape();

	machine_boot(&model.p, &s, test_below(POLICY_DENSITY_MAX + 1), features);
}

static u32 model_steal(u32 dst_cpu)
{
	model.nr_tried = 0;
	model.moved = 0;
	return policy_steal(&model.p, &model.p.overloaded, dst_cpu, LONG_IDLE, &model);
}

static u32 model_total(void)
{
	u32 cpu, sum = 0;

	for (cpu = 0; cpu < POLICY_MAX_CPUS; cpu++)
		sum += model.tasks[cpu];
	return sum;
}

/* Features that say STEAL, and any of the other two. */
static u32 any_steal(void)
{
	return POLICY_STEAL | (test_below(2) ? POLICY_STEAL_LLC : 0) |
	       (test_below(2) ? POLICY_STEAL_NUMA : 0);
}

/* No task is lost or doubled: source one less, thief one more, or nothing happened at all. */
static void stealing_invariant_1_conservation(void)
{
	u32 round, dst, src, total, before[POLICY_MAX_CPUS];

	for (round = 0; round < 2000; round++) {
		model_machine(any_steal());
		model_fill(30, 70);
		dst = machine_any_cpu(&model.p.topology);
		total = model_total();
		memcpy(before, model.tasks, sizeof(before));
		src = model_steal(dst);
		CHECK(model_total() == total, "round %u", round);
		CHECK(model.moved == (src != POLICY_NONE), "%u tasks moved", model.moved);
		if (src == POLICY_NONE)
			continue;
		CHECK(src < POLICY_MAX_CPUS && src != dst, "source %u", src);
		CHECK(model.tasks[src] == before[src] - 1, "source %u", src);
		CHECK(model.tasks[dst] == before[dst] + 1, "thief %u", dst);
	}
}

/* Only CPUs of the machine are asked, never the thief, and none past what the features allow. */
static void stealing_invariant_2_never_outside_what_is_allowed(void)
{
	u32 round, i, dst, features;
	const struct policy_cpu *d, *s;

	for (round = 0; round < 3000; round++) {
		features = any_steal();
		model_machine(features);
		model_fill(60, 0);
		dst = machine_any_cpu(&model.p.topology);
		policy_mask_set(&model.p.overloaded, model.p.topology.density,
				model.p.topology.cpu[dst].pos);
		CHECK(model_steal(dst) == POLICY_NONE, "nothing was movable");
		d = &model.p.topology.cpu[dst];
		for (i = 0; i < model.nr_tried; i++) {
			CHECK(model.tried[i] < POLICY_MAX_CPUS, "cpu %u", model.tried[i]);
			s = &model.p.topology.cpu[model.tried[i]];
			CHECK(s->pos != POLICY_NONE && s != d, "cpu %u", model.tried[i]);
			CHECK(model.tasks[model.tried[i]], "cpu %u: its bit is clear",
			      model.tried[i]);
			if (!(features & POLICY_STEAL_LLC))
				CHECK(s->llc == d->llc || s->node != d->node, "left its LLC");
			if (!(features & POLICY_STEAL_NUMA))
				CHECK(s->node == d->node, "left its node");
		}
	}
}

/* The bit is set if and only if the last transition with stealing on said overloaded. */
static void stealing_invariant_5_bit_follows_the_last_transition(void)
{
	u32 round, step, cpu, pos, features;
	bool bit[POLICY_MAX_CPUS];

	for (round = 0; round < 50; round++) {
		model_machine(POLICY_STEAL);
		memset(bit, 0, sizeof(bit));
		for (step = 0; step < 1000; step++) {
			cpu = machine_any_cpu(&model.p.topology);
			if (!test_below(50))
				model.p.features ^= POLICY_STEAL;
			features = model.p.features;
			if (test_below(2)) {
				CHECK(policy_overload_set(&model.p, &model.p.overloaded, cpu) ==
				      (features && !bit[cpu]), "set %u", cpu);
				bit[cpu] |= !!features;
			} else {
				CHECK(policy_overload_clear(&model.p, &model.p.overloaded, cpu) ==
				      (features && bit[cpu]), "clear %u", cpu);
				bit[cpu] &= !features;
			}
		}
		for (pos = 0; pos < model.p.topology.nr_pos; pos++) {
			cpu = model.p.topology.cpu_at[pos];
			CHECK(policy_mask_test(&model.p.overloaded, model.p.topology.density,
					       pos) == (cpu != POLICY_NONE && bit[cpu]),
			      "position %u", pos);
		}
	}
}

/* A bit that stayed set for an empty queue does no harm: the thief goes on to the next. */
static void stealing_invariant_5_stale_bit_is_harmless(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 8, .threads = 1 };

	machine_boot(&model.p, &s, POLICY_DENSITY, POLICY_STEAL);
	model_fill(0, 100);
	model.tasks[6] = 1;
	policy_mask_set(&model.p.overloaded, POLICY_DENSITY, 3);
	policy_mask_set(&model.p.overloaded, POLICY_DENSITY, 6);
	CHECK(model_steal(1) == 6, "6 has a task");
	CHECK(model.nr_tried == 2, "%u tries", model.nr_tried);
	CHECK(model_steal(1) == POLICY_NONE, "nobody has a task");
}

/* With the gate open, a CPU finds a task whenever some CPU within its reach has one it may take. */
static void stealing_invariant_6_work_conservation(void)
{
	u32 round, dst, cpu, pos, features;
	const struct policy_cpu *d, *s;
	bool within;

	for (round = 0; round < 3000; round++) {
		features = any_steal();
		model_machine(features);
		model_fill(1 + test_below(30), 40);
		dst = machine_any_cpu(&model.p.topology);
		d = &model.p.topology.cpu[dst];
		within = false;
		for (pos = 0; pos < model.p.topology.nr_pos; pos++) {
			cpu = model.p.topology.cpu_at[pos];
			if (cpu == POLICY_NONE || cpu == dst)
				continue;
			s = &model.p.topology.cpu[cpu];
			if (!model.tasks[cpu] || !model.movable[cpu])
				continue;
			if (s->node != d->node)
				within |= !!(features & POLICY_STEAL_NUMA);
			else
				within |= s->llc == d->llc || (features & POLICY_STEAL_LLC);
		}
		CHECK((model_steal(dst) != POLICY_NONE) == within, "cpu %u idles: %s", dst,
		      within ? "there was work" : "there was none");
	}
}

/* More nodes than the limit: no steal, and the mask is neither read nor written by anyone. */
static void stealing_invariant_9_node_limit_means_no_mask_traffic(void)
{
	const struct shape s = { .nodes = 3, .llcs = 1, .cores = 4, .threads = 2 };
	u32 limit, cpu, stolen;

	for (limit = 0; limit <= 4; limit++) {
		bool on = !limit || limit >= 3;

		machine_boot(&model.p, &s, POLICY_DENSITY, STEAL_ALL);
		model_fill(100, 100);
		model.p.steal_node_limit = limit;
		watch_begin(&model.p.overloaded, sizeof(model.p.overloaded));
		stolen = 0;
		for (cpu = 0; cpu < 24; cpu++) {
			policy_overload_set(&model.p, &model.p.overloaded, cpu);
			stolen += model_steal(cpu) != POLICY_NONE;
			policy_overload_clear(&model.p, &model.p.overloaded, cpu);
		}
		CHECK((stolen != 0) == on, "limit %u: %u stolen", limit, stolen);
		CHECK((watch.reads + watch.writes != 0) == on, "limit %u: %llu accesses", limit,
		      (unsigned long long)(watch.reads + watch.writes));
	}
}

/* Without STEAL nothing is stolen and nothing is noted, whatever else is on. */
static void steal_off_means_no_mask_traffic(void)
{
	const struct shape s = { .nodes = 1, .llcs = 2, .cores = 4, .threads = 1 };

	machine_boot(&model.p, &s, POLICY_DENSITY, STEAL_ALL & ~POLICY_STEAL);
	model_fill(100, 100);
	watch_begin(&model.p.overloaded, sizeof(model.p.overloaded));
	CHECK(!policy_overload_set(&model.p, &model.p.overloaded, 2), "set");
	CHECK(!policy_overload_clear(&model.p, &model.p.overloaded, 2), "clear");
	CHECK(model_steal(1) == POLICY_NONE, "stolen");
	CHECK(!watch.reads && !watch.writes, "touched");
}

/* 9,999 ns of mean idle time: no; 10,000: yes. */
static void steal_gate_opens_at_the_cost_of_a_steal(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 4, .threads = 1 };

	machine_boot(&model.p, &s, POLICY_DENSITY, POLICY_STEAL);
	model_fill(100, 100);
	model.nr_tried = 0;
	CHECK(policy_steal(&model.p, &model.p.overloaded, 0, 9999, &model) == POLICY_NONE &&
	      !model.nr_tried, "9,999 ns");
	CHECK(policy_steal(&model.p, &model.p.overloaded, 0, 10000, &model) == 1, "10,000 ns");
}

/* A CPU number that the machine lacks, or that no machine has, does nothing. */
static void steal_refuses_unknown_cpus(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 4, .threads = 1 };
	static const u32 odd[] = { 4, POLICY_MAX_CPUS - 1, POLICY_MAX_CPUS, POLICY_NONE };
	u32 i;

	machine_boot(&model.p, &s, POLICY_DENSITY, STEAL_ALL);
	model_fill(100, 100);
	watch_begin(&model.p.overloaded, sizeof(model.p.overloaded));
	for (i = 0; i < LENGTH(odd); i++) {
		CHECK(model_steal(odd[i]) == POLICY_NONE, "cpu %u", odd[i]);
		CHECK(!policy_overload_set(&model.p, &model.p.overloaded, odd[i]), "%u", odd[i]);
		CHECK(!policy_overload_clear(&model.p, &model.p.overloaded, odd[i]), "%u", odd[i]);
	}
	CHECK(!watch.writes && !model.nr_tried, "touched");
}

/* What the tries must be when all fail, from the plain text of the policy. */
struct order {
	u32 cpu[2 * MACHINE_CPUS];
	u32 nr;
};

static void order_try(struct order *o, u32 pos, u32 dst)
{
	const struct policy_topology *t = &model.p.topology;
	u32 cpu = t->cpu_at[pos];

	if (cpu != POLICY_NONE && cpu != dst && model.tasks[cpu])
		o->cpu[o->nr++] = cpu;
}

static void order_circle(struct order *o, u32 first, u32 end, u32 offset, u32 dst)
{
	u32 i;

	if (end <= first)
		return;
	if (offset >= end - first)
		offset = 0;
	for (i = 0; i < end - first; i++)
		order_try(o, first + (offset + i) % (end - first), dst);
}

static void order_expect(struct order *o, u32 dst, u32 features)
{
	const struct policy_topology *t = &model.p.topology;
	const struct policy_cpu *d = &t->cpu[dst];
	const struct policy_llc *l = &t->llc[d->llc];
	u32 offset = d->pos - l->first, k, pos;

	o->nr = 0;
	for (pos = d->core; d->siblings > 1 && pos < d->core + d->siblings; pos++)
		order_try(o, pos, dst);
	order_circle(o, l->first, l->first + l->nr, offset, dst);
	if (features & POLICY_STEAL_LLC) {
		for (pos = l->first + l->nr; pos % (1U << t->density); pos++)
			;
		order_circle(o, pos, t->node[d->node].end, offset, dst);
		order_circle(o, t->node[d->node].first, l->first, offset, dst);
	}
	for (k = 0; features & POLICY_STEAL_NUMA && k + 1 < t->nr_nodes; k++)
		order_circle(o, t->node[t->node[d->node].near[k]].first,
			     t->node[t->node[d->node].near[k]].end, offset, dst);
}

/* Siblings, own LLC, rest of the node, nodes nearest first, each circle from the right place. */
static void steal_tries_siblings_then_llc_then_node_then_nearest(void)
{
	u32 round, dst, features;
	struct order o;

	for (round = 0; round < 3000; round++) {
		features = any_steal();
		model_machine(features);
		model_fill(1 + test_below(100), 0);
		dst = machine_any_cpu(&model.p.topology);
		model_steal(dst);
		order_expect(&o, dst, features);
		CHECK(o.nr == model.nr_tried &&
		      !memcmp(o.cpu, model.tried, o.nr * sizeof(u32)),
		      "cpu %u: %u tries, not %u, or another order", dst, model.nr_tried, o.nr);
	}
}

/* The first CPU in that order that gives a task ends the search. */
static void steal_stops_at_the_first_fit(void)
{
	u32 round, dst, src, i;
	struct order o;

	for (round = 0; round < 2000; round++) {
		model_machine(STEAL_ALL);
		model_fill(50, 20);
		dst = machine_any_cpu(&model.p.topology);
		order_expect(&o, dst, STEAL_ALL);
		for (i = 0; i < o.nr && !model.movable[o.cpu[i]]; i++)
			;
		src = model_steal(dst);
		CHECK(src == (i < o.nr ? o.cpu[i] : POLICY_NONE), "cpu %u", src);
		CHECK(model.nr_tried == i + (i < o.nr), "%u tries", model.nr_tried);
	}
}

/* CPUs of one LLC that go idle together do not all fall on one victim, near or far. */
static void steal_spreads_thieves_over_victims(void)
{
	const struct shape s = { .nodes = 2, .llcs = 1, .cores = 8, .threads = 1 };
	u32 dst, cpu;

	machine_boot(&model.p, &s, POLICY_DENSITY, STEAL_ALL);
	model_fill(0, 100);
	for (cpu = 8; cpu < 16; cpu++) {
		model.tasks[cpu] = 1;
		policy_overload_set(&model.p, &model.p.overloaded, cpu);
	}
	for (dst = 0; dst < 8; dst++)
		CHECK(model_steal(dst) == dst + 8 && model.nr_tried == 1, "cpu %u", dst);
}

/* One LLC that is one line: an idle CPU that finds nothing reads one word of the mask, or none. */
static void steal_that_finds_nothing_reads_one_word(void)
{
	const struct shape s = { .nodes = 1, .llcs = 1, .cores = 4, .threads = 1 };

	machine_boot(&model.p, &s, POLICY_DENSITY, STEAL_ALL);
	watch_begin(&model.p.overloaded, sizeof(model.p.overloaded));
	CHECK(model_steal(2) == POLICY_NONE, "stolen");
	CHECK(watch.reads == 1 && !watch.writes, "%llu reads", (unsigned long long)watch.reads);
}

static const struct test tests[] = {
	TEST(stealing_invariant_1_conservation),
	TEST(stealing_invariant_2_never_outside_what_is_allowed),
	TEST(stealing_invariant_5_bit_follows_the_last_transition),
	TEST(stealing_invariant_5_stale_bit_is_harmless),
	TEST(stealing_invariant_6_work_conservation),
	TEST(stealing_invariant_9_node_limit_means_no_mask_traffic),
	TEST(steal_off_means_no_mask_traffic),
	TEST(steal_gate_opens_at_the_cost_of_a_steal),
	TEST(steal_refuses_unknown_cpus),
	TEST(steal_tries_siblings_then_llc_then_node_then_nearest),
	TEST(steal_stops_at_the_first_fit),
	TEST(steal_spreads_thieves_over_victims),
	TEST(steal_that_finds_nothing_reads_one_word),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
