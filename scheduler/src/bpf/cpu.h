/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU and its running task do to the clocks, and what a CPU does when it goes idle.
 */
#ifndef BALLAST_CPU_H
#define BALLAST_CPU_H

static __always_inline struct ballast_cpu *cpu_state(u32 cpu)
{
	if (cpu >= POLICY_MAX_CPUS)
		return NULL;
	POLICY_IN_RANGE(cpu);
	return &ballast.cpu[cpu];
}

static __always_inline u32 features(void)
{
	return shared_read(&ballast.policy.features);
}

/* Counts one on the CPU that decides; counters are never shared. */
#define count(c, what) ((void)((c)->n.what++))

static __always_inline u32 task_weight(const struct task_struct *p)
{
	if (p->policy == SCHED_IDLE)
		return VTIME_WEIGHT_IDLE;
	return p->static_prio - 100;
}

/*
 * Pinned: thieves have no use for it. One whose migration is disabled is pinned for now; this
 * program itself disables migration of the current task, hence the 1.
 */
static __always_inline bool task_is_pinned(const struct task_struct *p)
{
	if (p->nr_cpus_allowed == 1)
		return true;
	if (!p->migration_disabled)
		return false;
	return p->migration_disabled > 1 ||
	       (u64)p != (u64)bpf_get_current_task();
}

/* The vtime of @p now, whether it runs, waits or sleeps. */
static __always_inline u64 time_of(const struct task_struct *p)
{
	return vtime_load(p->scx.dsq_vtime, p->se.sum_exec_runtime);
}

/* Makes @vtime that of @p from now on, at its present weight. */
static __always_inline void time_store(struct task_struct *p, u64 vtime)
{
	task_set_vtime(p, vtime_base(vtime, p->se.sum_exec_runtime, task_weight(p)));
}

/* @p, at @vtime, is charged at its present weight from now on. What is stored of most says so. */
static __always_inline void time_keep(struct task_struct *p, u64 vtime)
{
	u64 stored = p->scx.dsq_vtime;

	if (!(stored & VTIME_BASE) || vtime_weight(stored) != task_weight(p))
		time_store(p, vtime);
}

/*
 * @p is on @cpu now: returns its vtime there, and stores it if it had to change.
 *
 * 1. At home: bounded below by the sleeper's credit, no more; and not for a sixteenth of it, or a
 *    task that runs a little less than another would be stored at each wake-up.
 * 2. From another CPU: the lag that it had against that CPU's clock, bounded the same way, against
 *    this CPU's clock. The other clock may move on meanwhile; that is the other CPU's time.
 * 3. Count an arrival whose lag differs from the one it left with by more than a slice.
 */
static __always_inline u64 time_arrive(struct task_struct *p, struct ballast_cpu *c, u32 cpu)
{
	u64 word = time_of(p);
	u64 credit = shared_read(&ballast.tunables.credit_ns);
	u32 home = vtime_home(word);
	u64 clock = shared_read(&c->clock);
	struct ballast_cpu *h;
	u64 old_clock, arrived;
	s64 change;

	if (home == cpu) {
		if (vtime_fits(word, clock, credit)) {
			time_keep(p, word);
			return word;
		}
		arrived = vtime_arrive(word, clock, clock, credit, cpu);
		time_store(p, arrived);
		return arrived;
	}

	h = cpu_state(home);
	old_clock = h ? shared_read(&h->clock) : clock;
	arrived = vtime_arrive(word, old_clock, clock, credit, cpu);
	if (!(features() & BALLAST_REBASE))
		arrived = vtime_with_home(word, cpu);
	time_store(p, arrived);
	count(c, moves);
	change = (s64)(arrived - clock) - vtime_lag(word, old_clock, credit);
	if (change < 0)
		change = -change;
	if ((u64)change >> VTIME_HOME_BITS > shared_read(&ballast.tunables.slice_ns))
		count(c, rebase_violations);
	return arrived;
}

/* A task begins a turn with this vtime: the clock follows, and wakees measure themselves against it. */
static __always_inline void time_turn(struct ballast_cpu *c, u64 vtime)
{
	if (vtime_before(shared_read(&c->clock), vtime))
		shared_write(&c->clock, vtime & ~VTIME_HOME_MASK);
	shared_write(&c->running_vtime, vtime);
	shared_write(&c->sync_since, 0);
}

/*
 * A task of this @vtime starts where a wakee was overdue: if that one is earlier, the turn ends at once,
 * and ops.dispatch() finds it in its queue, unless a thief was faster. Pairs with wake_overdue(); both
 * sides hold the run-queue lock.
 */
static __always_inline void time_overdue(struct ballast_cpu *c, u32 cpu, u64 vtime)
{
	u64 overdue = shared_read(&c->overdue);

	if (!overdue)
		return;
	shared_write(&c->overdue, 0);
	if (vtime_before(overdue, vtime))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * @p starts to run on @cpu. One that is at home was bounded when it was queued; one from another
 * CPU was stolen, and arrives now.
 */
static __always_inline void time_start(struct task_struct *p, struct ballast_cpu *c, u32 cpu)
{
	u64 vtime = time_of(p);

	if (vtime_home(vtime) != cpu)
		vtime = time_arrive(p, c, cpu);
	else
		time_keep(p, vtime);
	time_turn(c, vtime);
	time_overdue(c, cpu, vtime);
	shared_write(&c->running, BALLAST_RUNNING);
}

#endif
