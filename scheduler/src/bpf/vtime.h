/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weighted virtual time, one clock a CPU, and what happens to a task's vtime when it changes CPU.
 *
 * A vtime is one word:
 *
 *	bits 63..12	virtual nanoseconds: run time x 1024 / weight, modulo 2^52
 *	bits 11..0	home: the CPU whose clock the vtime is relative to
 *
 * Words are compared as signed differences, so the home bits are noise far below a nanosecond.
 * 2^51 ns are 26 days at nice 0; VTIME_LAG_MAX catches a task that slept through more than that.
 *
 * It is kept where the kernel keeps it (p->scx.dsq_vtime), so a task needs no storage of its own.
 * In a queue it stands there as it is, but for bit 12, which is clear. Otherwise its *base* does,
 * which does not change while the task runs, so that nothing need be done when it stops:
 *
 *	bits 63..19	vtime less the cost of all that the task ever ran, in 128 ns
 *	bits 18..13	the weight of that cost: index into the table below
 *	bit 12		set
 *	bits 11..0	home
 *
 * A CPU's clock is the highest vtime that it has started; a task's lag is its vtime minus the
 * clock of its home. A task that arrives on another CPU keeps its lag, bounded below by the
 * sleeper's credit: it neither gains nor loses by moving.
 */
#ifndef BALLAST_VTIME_H
#define BALLAST_VTIME_H

#define VTIME_HOME_BITS 12
#define VTIME_HOME_MASK ((1ULL << VTIME_HOME_BITS) - 1)
#define VTIME_BASE (1ULL << VTIME_HOME_BITS)
#define VTIME_WEIGHT_SHIFT 13
#define VTIME_WEIGHT_MASK 63
#define VTIME_BASE_BITS 19
#define VTIME_BASE_MASK ((1ULL << VTIME_BASE_BITS) - 1)

/*
 * Nanoseconds, 18 minutes. An honest lag is at most one overrun slice of the lightest task,
 * 20 ms x 1024 / 3 = 7 s; beyond this the 52 bits have gone round while the task slept.
 */
#define VTIME_LAG_MAX (1ULL << 40)

/* Index of a SCHED_IDLE task in the table below; 0..39 are nice -20..19. */
#define VTIME_WEIGHT_IDLE 40
#define VTIME_NR_WEIGHTS 41

/*
 * 1024 / weight of the kernel's nice levels (sched_prio_to_weight) in 1/65536, rounded; last the
 * weight 3 of SCHED_IDLE. p->scx.weight is no use here: it is rounded to 1/100, 32 % off at nice 19.
 */
static const u32 vtime_inverse_weight[VTIME_NR_WEIGHTS] = {
	756, 935, 1188, 1450, 1849, 2302, 2886, 3588, 4489, 5632,
	7029, 8807, 11001, 13685, 17181, 21502, 26833, 33706, 42313, 52552,
	65536, 81840, 102456, 127583, 158650, 200325, 246724, 312134, 390168, 489846,
	610081, 771366, 958698, 1198373, 1491308, 1864135, 2314099, 2917777, 3728270, 4473924,
	22369621,
};

/* The vtime word @ns virtual nanoseconds after @word; home unchanged. */
static __always_inline u64 vtime_after(u64 word, u64 ns)
{
	return word + (ns << VTIME_HOME_BITS);
}

/*
 * Virtual nanoseconds, modulo 2^64, that @ran nanoseconds of a task of weight index @weight cost.
 * In two parts, for the product of years with the largest factor does not fit.
 */
static __always_inline u64 vtime_cost(u64 ran, u32 weight)
{
	u64 inverse;

	if (weight >= VTIME_NR_WEIGHTS)
		weight = VTIME_NR_WEIGHTS - 1;
	inverse = vtime_inverse_weight[weight];
	return (ran >> 16) * inverse + ((ran & 0xffff) * inverse >> 16);
}

/* Whether @a is earlier than @b. */
static __always_inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static __always_inline u32 vtime_home(u64 word)
{
	return word & VTIME_HOME_MASK;
}

static __always_inline u64 vtime_with_home(u64 word, u32 cpu)
{
	return (word & ~VTIME_HOME_MASK) | cpu;
}

/* The weight index that a base is charged at. */
static __always_inline u32 vtime_weight(u64 base)
{
	return base >> VTIME_WEIGHT_SHIFT & VTIME_WEIGHT_MASK;
}

/*
 * What to store for a task that has run @ran ns in all, so that its vtime is @word now and goes on
 * at @weight. To the nearest 128 ns: what is lost and won adds up to nothing.
 */
static __always_inline u64 vtime_base(u64 word, u64 ran, u32 weight)
{
	u64 base = word - (vtime_cost(ran, weight) << VTIME_HOME_BITS);

	base += (VTIME_BASE_MASK + 1) / 2;
	return (base & ~VTIME_BASE_MASK) | (u64)weight << VTIME_WEIGHT_SHIFT | VTIME_BASE |
	       vtime_home(word);
}

/* What to store for a task that is queued with vtime @word. */
static __always_inline u64 vtime_queued(u64 word)
{
	return word & ~VTIME_BASE;
}

/* The vtime of a task that has run @ran ns in all, from what is stored. */
static __always_inline u64 vtime_load(u64 stored, u64 ran)
{
	u64 cost;

	if (!(stored & VTIME_BASE))
		return stored;
	cost = vtime_cost(ran, vtime_weight(stored)) << VTIME_HOME_BITS;
	return vtime_with_home((stored & ~VTIME_BASE_MASK) + cost, vtime_home(stored));
}

/*
 * The lag of @word against @clock, both words: virtual nanoseconds << VTIME_HOME_BITS, bounded
 * below by the sleeper's @credit (ns). A lag that no task can have is that of one that slept
 * while the word went round: it gets what any long sleeper gets.
 */
static __always_inline s64 vtime_lag(u64 word, u64 clock, u64 credit)
{
	s64 lag = (s64)(word - clock);
	s64 floor = -(s64)(credit << VTIME_HOME_BITS);

	if (lag < floor || lag > (s64)(VTIME_LAG_MAX << VTIME_HOME_BITS))
		return floor;
	return lag;
}

/*
 * Whether @word may stay as it is at home: no further behind @clock than the @credit and a
 * sixteenth of it, and not ahead of it by a lag that no task can have.
 */
static __always_inline bool vtime_fits(u64 word, u64 clock, u64 credit)
{
	u64 behind = (credit + credit / 16) << VTIME_HOME_BITS;

	return word - clock + behind <= behind + (VTIME_LAG_MAX << VTIME_HOME_BITS);
}

/*
 * @word on @cpu: the bounded lag that it had against the clock of its home, @old_clock, against
 * @new_clock. At home the two clocks are one, and a word whose lag needs no bound stays as it is.
 */
static __always_inline u64 vtime_arrive(u64 word, u64 old_clock, u64 new_clock, u64 credit, u32 cpu)
{
	return vtime_with_home(new_clock + vtime_lag(word, old_clock, credit), cpu);
}

#endif
