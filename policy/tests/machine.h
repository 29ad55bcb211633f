/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines for the tests: regular ones, and random ones with uneven LLCs and cores, CPU numbers in
 * any order and with gaps, nodes at any distance.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "host.h"

/* CPUs of the largest machine; at density 0 that is also the lines of its mask. */
#define MACHINE_CPUS	130

struct shape {
	u32 nodes;
	u32 llcs;	/* a node */
	u32 cores;	/* an LLC; an upper bound if uneven */
	u32 threads;	/* a core; an upper bound if uneven */
	bool uneven;	/* random sizes, CPU numbers and distances */
};

static void machine_clear(struct policy_topology *t, u32 density)
{
	memset(t, 0xff, sizeof(*t));
	t->density = density;
	t->nr_pos = 0;
	t->nr_llcs = 0;
	t->nr_nodes = 0;
}

/* Swap entries about so that any order is possible. */
static void machine_shuffle(u32 *a, u32 n)
{
	u32 i, j, swap;

	for (i = 0; i + 1 < n; i++) {
		j = i + test_below(n - i);
		swap = a[i];
		a[i] = a[j];
		a[j] = swap;
	}
}

static void machine_core(struct policy_topology *t, u32 node, u32 threads, const u32 *numbers,
			 u32 *cpus)
{
	u32 core = t->nr_pos, i;

	for (i = 0; i < threads; i++) {
		struct policy_cpu *c = &t->cpu[numbers[*cpus]];

		c->pos = t->nr_pos;
		c->llc = t->nr_llcs;
		c->node = node;
		c->core = core;
		c->siblings = threads;
		t->cpu_at[t->nr_pos++] = numbers[(*cpus)++];
	}
}

static void machine_llc(struct policy_topology *t, const struct shape *s, const u32 *numbers,
			u32 *cpus)
{
	u32 cores = s->uneven ? 1 + test_below(s->cores) : s->cores;
	u32 top = (1U << t->density) - 1;
	u32 i;

	t->nr_pos = (t->nr_pos + top) & ~top;
	t->llc[t->nr_llcs].first = t->nr_pos;
	for (i = 0; i < cores; i++)
		machine_core(t, t->nr_nodes, s->uneven ? 1 + test_below(s->threads) : s->threads,
			     numbers, cpus);
	t->llc[t->nr_llcs].nr = t->nr_pos - t->llc[t->nr_llcs].first;
	t->nr_llcs++;
}

static void machine_distances(struct policy_topology *t, bool uneven)
{
	u32 n, k;

	for (n = 0; n < t->nr_nodes; n++) {
		for (k = 0; k + 1 < t->nr_nodes; k++)
			t->node[n].near[k] = (n + 1 + k) % t->nr_nodes;
		if (uneven)
			machine_shuffle(t->node[n].near, t->nr_nodes - 1);
	}
}

/* Build the topology of a shape, which has at most MACHINE_CPUS CPUs. */
static void machine_build(struct policy_topology *t, const struct shape *s, u32 density)
{
	u32 numbers[POLICY_MAX_CPUS];
	u32 cpus = 0, i, j;

	machine_clear(t, density);
	for (i = 0; i < POLICY_MAX_CPUS; i++)
		numbers[i] = i;
	if (s->uneven)
		machine_shuffle(numbers, POLICY_MAX_CPUS);
	for (i = 0; i < s->nodes; i++) {
		u32 first_llc = t->nr_llcs;

		for (j = 0; j < s->llcs; j++)
			machine_llc(t, s, numbers, &cpus);
		t->node[i].first = t->llc[first_llc].first;
		t->node[i].end = t->nr_pos;
		t->nr_nodes++;
	}
	machine_distances(t, s->uneven);
	CHECK(cpus <= MACHINE_CPUS, "%u CPUs", cpus);
}

/* A shape that any draw of its sizes keeps within MACHINE_CPUS. */
static inline struct shape machine_random_shape(void)
{
	struct shape s = { .uneven = true };

	s.nodes = 1 + test_below(4);
	s.llcs = 1 + test_below(3);
	s.threads = 1 + test_below(4);
	s.cores = 1 + test_below(MACHINE_CPUS / (s.nodes * s.llcs * s.threads));
	return s;
}

/* What topology.h promises; also says that the generator makes what the tests are about. */
static void machine_check(const struct policy_topology *t)
{
	u32 top = (1U << t->density) - 1;
	u32 pos, cpu, l, n;

	for (cpu = 0; cpu < POLICY_MAX_CPUS; cpu++) {
		const struct policy_cpu *c = &t->cpu[cpu];

		if (c->pos == POLICY_NONE)
			continue;
		CHECK(t->cpu_at[c->pos] == cpu, "cpu %u", cpu);
		CHECK(c->pos - c->core < c->siblings, "cpu %u", cpu);
		CHECK(c->pos - t->llc[c->llc].first < t->llc[c->llc].nr, "cpu %u", cpu);
		n = c->node;
		CHECK(c->pos >= t->node[n].first && c->pos < t->node[n].end, "cpu %u", cpu);
	}
	for (l = 0, pos = 0; l < t->nr_llcs; l++) {
		CHECK(!(t->llc[l].first & top) && t->llc[l].first >= pos, "llc %u", l);
		for (; pos < t->llc[l].first; pos++)
			CHECK(t->cpu_at[pos] == POLICY_NONE, "position %u", pos);
		for (; pos < t->llc[l].first + t->llc[l].nr; pos++)
			CHECK(t->cpu_at[pos] < POLICY_MAX_CPUS, "position %u", pos);
	}
	CHECK(pos == t->nr_pos, "%u", pos);
	CHECK(((pos + top) >> t->density) <= POLICY_MASK_LINES, "%u", pos);
}

/* One struct policy, cleared as a loader clears it, on a machine of this shape. */
static void machine_boot(struct policy *p, const struct shape *s, u32 density, u32 features)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	p->features = features;
	for (i = 0; i < POLICY_MAX_CPUS; i++)
		p->cpu_state[i].next_cpu = POLICY_NONE;
	machine_build(&p->topology, s, density);
	machine_check(&p->topology);
}

/* Some CPU of the machine, each with the same chance. */
static inline u32 machine_any_cpu(const struct policy_topology *t)
{
	u32 pos;

	do {
		pos = test_below(t->nr_pos);
	} while (t->cpu_at[pos] == POLICY_NONE);
	return t->cpu_at[pos];
}

#endif /* MACHINE_H */
