// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzz target: an input is a machine, features, and a program of calls; what must hold after
 * each is checked here. fuzz_engine.c drives it through the entry that libFuzzer would use.
 */
/* Small, because every input begins with a fresh struct policy. */
#define POLICY_MAX_CPUS	160

#include "machine.h"

#include "fuzz.h"

#define STEAL_ALL	(POLICY_STEAL | POLICY_STEAL_LLC | POLICY_STEAL_NUMA)

static struct {
	struct policy p;
	bool bit[POLICY_MAX_CPUS];	/* what the mask must say */
	u64 movable;			/* by CPU number modulo 64 */
	u64 idle;
	u64 allowed;
	u32 asked;
	u32 dst;
} model;

static struct {
	const uint8_t *at;
	size_t left;
} input;

static u32 byte(void)
{
	if (!input.left)
		return 0;
	input.left--;
	return *input.at++;
}

static u32 word(void)
{
	return byte() | byte() << 8 | byte() << 16 | byte() << 24;
}

static void ask(u32 cpu)
{
	CHECK(cpu < POLICY_MAX_CPUS && model.p.topology.cpu[cpu].pos != POLICY_NONE, "cpu %u", cpu);
	CHECK(model.asked++ <= 2 * MACHINE_CPUS, "without end");
}

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	(void)ctx;
	ask(src_cpu);
	CHECK(dst_cpu == model.dst && src_cpu != dst_cpu && model.bit[src_cpu], "cpu %u", src_cpu);
	return model.movable >> src_cpu % 64 & 1;
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	(void)ctx;
	ask(cpu);
	return model.allowed >> cpu % 64 & 1;
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	(void)ctx;
	CHECK(model.allowed >> cpu % 64 & 1, "cpu %u", cpu);
	return model.idle >> cpu % 64 & 1;
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	return policy_claim_idle(ctx, cpu) && (cpu & 1);
}

/* Whether a CPU that dst may reach has its bit set and gives a task. */
static bool reachable(const struct policy_topology *t, u32 dst, u32 features)
{
	const struct policy_cpu *d = &t->cpu[dst];
	u32 pos, cpu;

	for (pos = 0; pos < t->nr_pos; pos++) {
		cpu = t->cpu_at[pos];
		if (cpu == POLICY_NONE || cpu == dst || !model.bit[cpu])
			continue;
		if (!(model.movable >> cpu % 64 & 1))
			continue;
		if (t->cpu[cpu].llc == d->llc ||
		    (t->cpu[cpu].node == d->node && features & POLICY_STEAL_LLC) ||
		    (t->cpu[cpu].node != d->node && features & POLICY_STEAL_NUMA))
			return true;
	}
	return false;
}

static void steal(u32 cpu, u32 features, bool on, u64 avg_idle)
{
	const struct policy_topology *t = &model.p.topology;
	bool known = cpu < POLICY_MAX_CPUS && t->cpu[cpu].pos != POLICY_NONE;
	u32 src;

	model.dst = cpu;
	model.movable = test_random() & test_random();
	src = policy_steal(&model.p, &model.p.overloaded, cpu, avg_idle, NULL);
	CHECK((src != POLICY_NONE) == (known && on && avg_idle >= POLICY_STEAL_COST &&
	      reachable(t, cpu, features)), "dst %u: %u", cpu, src);
}

static void search(u32 target, u32 features, u64 avg_idle, u64 cost)
{
	const struct policy_topology *t = &model.p.topology;
	u32 cpu;

	model.idle = test_random() & test_random() & test_random();
	model.allowed = test_random() | test_random();
	cpu = policy_search_idle(&model.p, target, avg_idle, cost, NULL);
	if (features & POLICY_SIS_LIMIT && !(features & POLICY_SIS_CORE))
		CHECK(model.asked <= 15, "%u examined", model.asked);
	if (cpu == POLICY_NONE)
		return;
	CHECK(model.idle & model.allowed & 1ULL << cpu % 64, "cpu %u", cpu);
	CHECK(t->cpu[cpu].llc == t->cpu[target].llc, "cpu %u", cpu);
}

/* One call; a CPU of the machine mostly, any number at all otherwise. */
static void step(void)
{
	u32 op = byte(), features = model.p.features, nodes = model.p.topology.nr_nodes;
	u32 limit = model.p.steal_node_limit;
	bool on = features & POLICY_STEAL && (!limit || nodes <= limit), known;
	u32 cpu = op & 0x80 ? word() : model.p.topology.cpu_at[byte() % model.p.topology.nr_pos];

	known = cpu < POLICY_MAX_CPUS && model.p.topology.cpu[cpu].pos != POLICY_NONE;
	model.asked = 0;
	switch (op % 8) {
	case 0:
	case 1:
		policy_overload_set(&model.p, &model.p.overloaded, cpu);
		if (known && on)
			model.bit[cpu] = true;
		break;
	case 2:
		policy_overload_clear(&model.p, &model.p.overloaded, cpu);
		if (known && on)
			model.bit[cpu] = false;
		break;
	case 3:
		steal(cpu, features, on, op & 0x40 ? word() : ~0ULL);
		break;
	case 4:
		search(cpu, features, word(), word());
		break;
	case 5:
		policy_idle_core_set(&model.p, cpu);
		break;
	case 6:
		if (known)
			model.p.cpu_state[cpu].next_cpu = word();
		break;
	case 7:
		model.p.features = byte();
		model.p.steal_node_limit = byte() % 8;
		break;
	}
}

static void fuzz_one(void)
{
	struct shape s = { .uneven = true };
	u32 density = byte() % (POLICY_DENSITY_MAX + 1);
	u32 pos, cpu;

	s.nodes = 1 + byte() % 4;
	s.llcs = 1 + byte() % 3;
	s.threads = 1 + byte() % 4;
	s.cores = 1 + byte() % (MACHINE_CPUS / (s.nodes * s.llcs * s.threads));
	test_now.random = word() | 1ULL << 40;
	memset(&model, 0, sizeof(model));
	machine_boot(&model.p, &s, density, byte());
	while (input.left)
		step();
	for (pos = 0; pos < model.p.topology.nr_pos; pos++) {
		cpu = model.p.topology.cpu_at[pos];
		CHECK(policy_mask_test(&model.p.overloaded, density, pos) ==
		      (cpu != POLICY_NONE && model.bit[cpu]), "position %u", pos);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	test_now.name = FUZZ_NAME;
	test_now.program = fuzz_replay;
	if (setjmp(test_now.end))
		abort();
	input.at = data;
	input.left = size;
	fuzz_one();
	return 0;
}
