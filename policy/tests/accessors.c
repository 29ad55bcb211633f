// SPDX-License-Identifier: GPL-2.0-only
/*
 * No shared word escapes the accessors: this file is built with -fsanitize=thread, whose hooks are
 * ours, and every entry of policy/ runs on random machines.
 */
#include "accessors.h"
#include "machine.h"

#define EVERYTHING	0x7fU	/* all features */

static struct policy p;

static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	(void)ctx;
	return (dst_cpu ^ src_cpu) % 16 == 3;
}

static bool policy_allowed(void *ctx, u32 cpu)
{
	(void)ctx;
	return cpu % 8 != 5;
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	(void)ctx;
	return cpu % 16 == 11;
}

static bool policy_core_idle(void *ctx, u32 cpu)
{
	(void)ctx;
	return cpu % 16 == 7;
}

/* All of struct policy is shared but the topology. */
static void guard_policy(void)
{
	guard_begin(&p, offsetof(struct policy, topology));
	guard_add(&p.overloaded, sizeof(p) - offsetof(struct policy, overloaded));
}

static void run_everything(u32 steps)
{
	u32 step, cpu;

	for (step = 0; step < steps; step++) {
		cpu = machine_any_cpu(&p.topology);
		policy_overload_set(&p, &p.overloaded, cpu);
		policy_idle_core_set(&p, machine_any_cpu(&p.topology));
		policy_search_idle(&p, cpu, 100000, 100, NULL);
		policy_steal(&p, &p.overloaded, cpu, ~0ULL, NULL);
		policy_overload_clear(&p, &p.overloaded, machine_any_cpu(&p.topology));
	}
}

static void no_shared_word_escapes_the_accessors(void)
{
	u32 round, features;
	struct shape s;

	for (round = 0; round < 300; round++) {
		features = round & 1 ? EVERYTHING : (u32)test_random() & EVERYTHING;
		s = machine_random_shape();
		machine_boot(&p, &s, test_below(POLICY_DENSITY_MAX + 1), features);
		guard_policy();
		run_everything(100);
		guard_end();
		CHECK(!guard_seen.escapes, "%llu accesses, the first at byte %td of struct policy",
		      (unsigned long long)guard_seen.escapes,
		      (const char *)guard_seen.first - (const char *)&p);
		CHECK(guard_seen.accesses > 400, "%llu accesses",
		      (unsigned long long)guard_seen.accesses);
		CHECK(guard_seen.hooks > 400, "the compiler did not instrument this");
	}
}

/* The guard sees what it is there for: a plain load and a plain store. */
static void accessor_guard_sees_a_plain_access(void)
{
	guard_policy();
	p.overloaded.line[3].word = p.features;
	guard_end();
	CHECK(guard_seen.escapes == 2, "%llu seen", (unsigned long long)guard_seen.escapes);
	CHECK(guard_seen.first == &p.features, "another address");
}

static const struct test tests[] = {
	TEST(no_shared_word_escapes_the_accessors),
	TEST(accessor_guard_sees_a_plain_access),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
