// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's virtual time: what a task's vtime is after it moved, and what run time costs.
 * What is right is computed here in whole nanoseconds modulo 2^52, from the words of vtime.h's
 * first comment.
 */
#include "test.h"

typedef int64_t s64;

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

#include "vtime.h"

#define HOMES		(1U << VTIME_HOME_BITS)
#define NS_BITS		52
#define NS_MASK		((1ULL << NS_BITS) - 1)

/* Nanoseconds: far less than the shortest slice, 100 us; two roundings to a whole nanosecond. */
#define EXACT		2

#define SHOW(n)		((long long)(n))

/* The distance from b to a on a circle of 2^52 nanoseconds, -2^51 .. 2^51 - 1. */
static s64 ns_between(u64 a, u64 b)
{
	u64 d = (a - b) & NS_MASK;

	return d >> (NS_BITS - 1) ? -(s64)(NS_MASK + 1 - d) : (s64)d;
}

static s64 ns_lag(u64 word, u64 clock)
{
	return ns_between(word >> VTIME_HOME_BITS, clock >> VTIME_HOME_BITS);
}

/* A clock has no home; half of them lie within 2^20 ns of where 52 bits wrap. */
static u64 any_clock(void)
{
	u64 ns = test_random();

	if (ns >> 63)
		ns = (u64)test_below(1U << 21) - (1U << 20);
	return ns << VTIME_HOME_BITS;
}

/* Nanoseconds: none, what the tunable allows, or as long as a lag may be. */
static u64 any_credit(void)
{
	static const u64 most[] = { 1, 100000000, VTIME_LAG_MAX };

	return test_random() % most[test_below(LENGTH(most))];
}

/* A word of this home: any at all, or one whose lag is of the size of slices. */
static u64 any_word(u64 clock, u32 home)
{
	u64 ns = test_random();

	if (ns & 1)
		return vtime_with_home(ns, home);
	ns = clock + (test_random() >> 20) - (1ULL << 43);
	return vtime_with_home(ns, home);
}

/* What the lag must be on arrival: the one that it left with, as bounded there. */
static s64 lag_to_keep(u64 word, u64 old_clock, u64 credit)
{
	s64 lag = ns_lag(word, old_clock);

	return lag < -(s64)credit || lag > (s64)VTIME_LAG_MAX ? -(s64)credit : lag;
}

static void check_move(u64 word, u64 old_clock, u64 new_clock, u64 credit, u32 cpu)
{
	u64 arrived = vtime_arrive(word, old_clock, new_clock, credit, cpu);
	s64 keep = lag_to_keep(word, old_clock, credit);
	s64 change = ns_lag(arrived, new_clock) - keep;

	CHECK(vtime_home(arrived) == cpu, "CPU %u, not %u", vtime_home(arrived), cpu);
	CHECK(change >= -EXACT && change <= EXACT,
	      "from CPU %u to %u: a lag of %lld ns changes by %lld ns (credit %lld ns)",
	      vtime_home(word), cpu, SHOW(keep), SHOW(change), SHOW(credit));
}

/* From each of the 4096 homes, each also as the CPU of arrival, whatever the clocks. */
static void vtime_move_keeps_the_lag_within_a_slice(void)
{
	u32 home, round;
	u64 clock;

	for (home = 0; home < HOMES; home++) {
		for (round = 0; round < 64; round++) {
			clock = any_clock();
			check_move(any_word(clock, home), clock, any_clock(), any_credit(),
				   test_below(HOMES));
			clock = any_clock();
			check_move(any_word(clock, test_below(HOMES)), clock, any_clock(),
				   any_credit(), home);
		}
	}
}

/* A task that is handed from CPU to CPU a hundred times is where it was to begin with. */
static void vtime_many_moves_add_up_to_nothing(void)
{
	u32 round, move;
	u64 old_clock, new_clock, word, credit;
	s64 keep, lag;

	for (round = 0; round < 2000; round++) {
		old_clock = any_clock();
		word = any_word(old_clock, test_below(HOMES));
		credit = any_credit();
		keep = lag_to_keep(word, old_clock, credit);
		for (move = 0; move < 100; move++) {
			new_clock = any_clock();
			word = vtime_arrive(word, old_clock, new_clock, credit,
					    test_below(HOMES));
			old_clock = new_clock;
		}
		lag = ns_lag(word, old_clock);
		CHECK(lag >= keep - EXACT && lag <= keep + EXACT, "%lld ns became %lld ns",
		      SHOW(keep), SHOW(lag));
	}
}

/* However long it slept, 26 days and more included, it is ahead of the clock by its credit only. */
static void vtime_sleeper_gets_no_more_than_its_credit(void)
{
	u32 round, shift, cpu;
	u64 slept, credit, old_clock, new_clock, arrived;
	s64 lag;

	for (shift = 0; shift < 64; shift++) {
		for (round = 0; round < 1000; round++) {
			old_clock = any_clock();
			new_clock = any_clock();
			credit = any_credit();
			slept = test_random() >> shift;
			cpu = test_below(HOMES);
			arrived = vtime_arrive(vtime_with_home(old_clock -
							       (slept << VTIME_HOME_BITS), cpu),
					       old_clock, new_clock, credit, cpu);
			lag = ns_lag(arrived, new_clock);
			CHECK(lag >= -(s64)credit - EXACT && lag <= (s64)VTIME_LAG_MAX,
			      "slept %lld ns, credit %lld ns: %lld ns", SHOW(slept),
			      SHOW(credit), SHOW(lag));
			CHECK(slept > (NS_MASK >> 1) || slept <= credit || lag < EXACT - (s64)credit,
			      "slept %lld ns, lost some of its credit of %lld ns: %lld ns",
			      SHOW(slept), SHOW(credit), SHOW(lag));
		}
	}
}

/* One that has not moved and needs no bound keeps its word to the last bit: nothing is stored. */
static void vtime_at_home_within_bounds_stays_as_it_is(void)
{
	u32 round, home;
	u64 clock, word, credit;

	for (round = 0; round < 200000; round++) {
		home = test_below(HOMES);
		clock = any_clock();
		credit = any_credit();
		word = any_word(clock, home);
		CHECK((vtime_arrive(word, clock, clock, credit, home) == word) ==
		      (lag_to_keep(word, clock, credit) == ns_lag(word, clock)),
		      "CPU %u, lag %lld ns, credit %lld ns", home, SHOW(ns_lag(word, clock)),
		      SHOW(credit));
	}
}

/* At home a word stays as it is as long as its lag is a task's; others are bounded as on arrival. */
static void vtime_at_home_is_kept_or_bounded(void)
{
	u32 round;
	u64 clock, credit, word;
	s64 lag, most;

	for (round = 0; round < 400000; round++) {
		clock = any_clock();
		credit = any_credit();
		word = any_word(clock, test_below(HOMES));
		if (test_below(4) == 0) /* near a bound, or a sleep of 26 days and more */
			word = clock + ((test_random() >> test_below(30)) << VTIME_HOME_BITS);
		if (test_below(4) == 0)
			word = clock - ((credit + test_below(2 * EXACT)) << VTIME_HOME_BITS);
		lag = ns_lag(word, clock);
		most = (s64)credit + (s64)(credit / 16);
		CHECK(vtime_fits(word, clock, credit) ==
			      (lag >= -most && lag <= (s64)VTIME_LAG_MAX) ||
			      lag == -most - 1 || lag == (s64)VTIME_LAG_MAX,
		      "lag %lld ns, credit %lld ns", SHOW(lag), SHOW(credit));
	}
}

/* The order of two words is that of their nanoseconds, across the wrap and for any homes. */
static void vtime_order_survives_the_wrap(void)
{
	u32 round;
	u64 early, late, ns;

	for (round = 0; round < 200000; round++) {
		early = vtime_with_home(any_clock(), test_below(HOMES));
		ns = 1 + (test_random() >> (13 + test_below(50)));
		late = vtime_after(early, ns);
		CHECK(vtime_home(late) == vtime_home(early), "CPU %u", vtime_home(late));
		late = vtime_with_home(late, test_below(HOMES));
		CHECK(ns_lag(late, early) == (s64)ns, "%lld ns", SHOW(ns));
		CHECK(vtime_before(early, late) && !vtime_before(late, early), "%lld ns",
		      SHOW(ns));
	}
}

/* The kernel's weights of nice -20 .. 19, and of SCHED_IDLE. */
static const u32 weight[VTIME_NR_WEIGHTS] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
	3,
};

/* 1024 x 65536 / weight to the nearest whole number. */
static void vtime_weight_table_is_the_kernels(void)
{
	u32 i, want;

	for (i = 0; i < VTIME_NR_WEIGHTS; i++) {
		want = (u32)((1024ULL * 65536 + weight[i] / 2) / weight[i]);
		CHECK(vtime_inverse_weight[i] == want, "nice %d: %u, not %u", (int)i - 20,
		      vtime_inverse_weight[i], want);
	}
}

/* Never less for a longer run, nor for a lighter task; nice 0 pays what it ran. */
static void vtime_cost_is_monotonic(void)
{
	u32 round, i;
	u64 ran, more;

	for (round = 0; round < 20000; round++) {
		/* Up to 2^39 ns, 9 minutes: the watchdog ends a task's turn long before. */
		ran = test_random() >> (25 + test_below(39));
		more = ran + test_random() % ((1ULL << 39) - ran + 1);
		CHECK(vtime_cost(ran, 20) == ran, "%lld ns", SHOW(ran));
		for (i = 0; i < VTIME_NR_WEIGHTS; i++) {
			CHECK(vtime_cost(ran, i) <= vtime_cost(more, i), "nice %d: %lld, %lld ns",
			      (int)i - 20, SHOW(ran), SHOW(more));
			CHECK(!i || vtime_cost(ran, i - 1) <= vtime_cost(ran, i),
			      "nice %d: %lld ns", (int)i - 20, SHOW(ran));
		}
	}
}

/* Costs add up, over years of run time and across every wrap: a base may be charged in pieces. */
static void vtime_cost_adds_up(void)
{
	u32 round, i;
	u64 ran, more, whole, parts;

	for (round = 0; round < 20000; round++) {
		ran = test_random() >> test_below(40);
		more = test_random() >> (24 + test_below(40));
		for (i = 0; i < VTIME_NR_WEIGHTS; i++) {
			whole = vtime_cost(ran + more, i);
			parts = vtime_cost(ran, i) + vtime_cost(more, i);
			CHECK(whole - parts <= 1, "nice %d: %lld and %lld ns: %lld, not %lld ns",
			      (int)i - 20, SHOW(ran), SHOW(more), SHOW(whole), SHOW(parts));
		}
	}
}

/* What is stored of a task, at rest and in a queue, says its home, its weight and its vtime. */
static void vtime_base_follows_the_run_time(void)
{
	u32 round, home, w;
	u64 word, ran, more, stored, now;
	s64 error;

	for (round = 0; round < 400000; round++) {
		home = test_below(HOMES);
		w = test_below(VTIME_NR_WEIGHTS);
		word = any_word(any_clock(), home);
		ran = test_random() >> test_below(40);
		more = test_random() >> (24 + test_below(40));
		stored = vtime_base(word, ran, w);
		CHECK(vtime_weight(stored) == w && vtime_home(stored) == home, "nice %d, CPU %u",
		      (int)vtime_weight(stored) - 20, vtime_home(stored));
		now = vtime_load(stored, ran + more);
		error = ns_lag(now, word) - ns_lag(vtime_cost(more, w) << VTIME_HOME_BITS, 0);
		CHECK(error >= -65 && error <= 65 && vtime_home(now) == home,
		      "nice %d, CPU %u, ran %lld and %lld ns: off by %lld ns", (int)w - 20,
		      vtime_home(now), SHOW(ran), SHOW(more), SHOW(error));

		error = ns_lag(vtime_load(vtime_queued(word), ran), word);
		CHECK(error >= -1 && error <= 0 && vtime_home(vtime_queued(word)) == home,
		      "queued: off by %lld ns", SHOW(error));
	}
}

/* A heavy task that is queued after each short turn pays for what it ran, within 1 in 100. */
static void vtime_rounding_adds_up_to_nothing(void)
{
	static const u32 turns = 200000;
	u64 word = 0, stored, ran = 0, cost;
	u32 i;

	for (i = 0; i < turns; i++) {
		stored = vtime_base(word, ran, 0);
		ran += 10000 + test_below(20000);
		word = vtime_load(vtime_queued(vtime_load(stored, ran)), ran);
	}
	cost = vtime_cost(ran, 0);
	word >>= VTIME_HOME_BITS;
	CHECK(word > cost - cost / 100 && word < cost + cost / 100, "%lld ns, not %lld", SHOW(word),
	      SHOW(cost));
}

/* A weight that no task has is taken for the lightest. */
static void vtime_cost_refuses_unknown_weights(void)
{
	static const u32 odd[] = { VTIME_NR_WEIGHTS, 100, ~0U };
	u32 i;

	for (i = 0; i < LENGTH(odd); i++)
		CHECK(vtime_cost(1 << 16, odd[i]) == 22369621, "%u: %lld ns", odd[i],
		      SHOW(vtime_cost(1 << 16, odd[i])));
}

static const struct test tests[] = {
	TEST(vtime_move_keeps_the_lag_within_a_slice),
	TEST(vtime_many_moves_add_up_to_nothing),
	TEST(vtime_sleeper_gets_no_more_than_its_credit),
	TEST(vtime_at_home_is_kept_or_bounded),
	TEST(vtime_at_home_within_bounds_stays_as_it_is),
	TEST(vtime_order_survives_the_wrap),
	TEST(vtime_weight_table_is_the_kernels),
	TEST(vtime_cost_is_monotonic),
	TEST(vtime_cost_adds_up),
	TEST(vtime_base_follows_the_run_time),
	TEST(vtime_rounding_adds_up_to_nothing),
	TEST(vtime_cost_refuses_unknown_weights),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, LENGTH(tests));
}
