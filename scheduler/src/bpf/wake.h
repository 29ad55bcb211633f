/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a waking task goes: an idle CPU, ahead of the running task, behind it, or into a queue.
 */
#ifndef BALLAST_WAKE_H
#define BALLAST_WAKE_H

/* Host calls of policy/idle.h; ctx is the task. */
static bool policy_allowed(void *ctx, u32 cpu)
{
	struct task_struct *p = ctx;

	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static bool policy_claim_idle(void *ctx, u32 cpu)
{
	return scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* Whether all threads of the core of @cpu are idle, by the flags of cpu_went_idle(). */
static bool policy_core_idle(void *ctx, u32 cpu)
{
	const struct policy_topology *t = &ballast.policy.topology;
	u32 i, e;

	policy_for(i, 0, POLICY_MAX_SIBLINGS) {
		struct ballast_cpu *c;

		e = policy_sibling(t, ctx, cpu, i);
		if (e == POLICY_NONE)
			break;
		c = cpu_state(policy_cpu_at(t, e));
		if (c && !shared_read(&c->idle))
			return false;
	}
	return true;
}

/* Remembers whether this CPU's latest wake-up is a synchronous one: its waker is about to sleep. */
static __always_inline void wake_note_sync(const struct task_struct *p, u64 wake_flags)
{
	struct ballast_cpu *waker = cpu_state(bpf_get_smp_processor_id());

	if (waker)
		waker->sync_wakee = wake_flags & SCX_WAKE_SYNC ? p->pid : 0;
}

/*
 * Claims an idle CPU for @p, or POLICY_NONE.
 *
 * 1. The CPU it ran on last: its caches are there.
 * 2. A bounded, rotating look at that CPU's LLC.
 */
static __always_inline u32 wake_claim_idle(struct task_struct *p, u32 prev_cpu)
{
	if (policy_allowed(p, prev_cpu) && policy_claim_idle(p, prev_cpu))
		return prev_cpu;
	return policy_search_idle(&ballast.policy, prev_cpu, ~0ULL, 0, p);
}

/* From select_cpu: @p goes straight to @cpu, claimed idle, which select_cpu returns. */
static __always_inline void wake_direct(struct task_struct *p, u32 cpu)
{
	struct ballast_cpu *waker = cpu_state(bpf_get_smp_processor_id());
	struct ballast_cpu *c = cpu_state(cpu);

	if (!c || !waker)
		return;
	count(waker, direct);
	time_arrive(p, c, cpu);
	task_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
}

/* @p's own CPU idles, and select_cpu was not asked (one CPU allowed) or lost the race for it. */
static __always_inline bool wake_idle(struct task_struct *p, struct ballast_cpu *c, u32 cpu)
{
	if (!shared_read(&c->idle) || !scx_bpf_test_and_clear_cpu_idle(cpu))
		return false;
	count(c, direct);
	task_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
	return true;
}

/*
 * Whether @p was woken by a task that is about to sleep, as far as can be told: the waker said so
 * (WF_SYNC), or it is the very task that runs on @p's CPU. An interrupt, such as a timer's, is not
 * about to sleep.
 */
static __always_inline bool wake_is_sync(const struct task_struct *p, const struct ballast_cpu *c)
{
	const struct ballast_cpu *waker = cpu_state(bpf_get_smp_processor_id());

	if (!waker)
		return false;
	return waker->sync_wakee == (u32)p->pid || (waker == c && in_task());
}

/*
 * Whether a sync wakee may preempt all the same: sync_ns have gone by since the first one in the
 * running task's turn, which has not slept then, as it should have.
 */
static __always_inline bool wake_sync_over(struct ballast_cpu *c)
{
	u64 since = shared_read(&c->sync_since), now = scx_bpf_now();

	if (!since)
		shared_write(&c->sync_since, now);
	return since && now - since >= shared_read(&ballast.tunables.sync_ns);
}

/* Whether what runs on @cpu is of our class, not a real-time task or one above. */
static __always_inline bool cpu_runs_ours(u32 cpu)
{
	const struct task_struct *curr = scx_bpf_cpu_curr(cpu);

	return curr && curr->prio >= MAX_RT_PRIO;
}

/* A wakee of this @vtime should run before what a real-time task preempted on its CPU. */
static __always_inline void wake_overdue(struct ballast_cpu *c, u64 vtime)
{
	u64 overdue = shared_read(&c->overdue);

	if (!overdue || vtime_before(vtime, overdue))
		shared_write(&c->overdue, vtime);
}

/*
 * Ahead of the running task. Returns true if @p was put at the head of the CPU's local queue.
 *
 * 1. The CPU idles, or another preempting wakee waits to start: no.
 * 2. Not earlier than the running task was at its start by preempt_ns: no. (No clock is read.)
 * 3. The waker is about to sleep: no; it would cost a switch and win nothing.
 * 4. A real-time task runs: no; here @p would wait behind it, where no thief looks. But the kernel gives
 *    our task that the real-time one preempted the rest of its slice, and asks nobody: remember that
 *    @p is due. Pairs with time_overdue().
 */
static __always_inline bool wake_ahead(struct task_struct *p, struct ballast_cpu *c, u32 cpu,
				       u64 vtime)
{
	if (shared_read(&c->running) != BALLAST_RUNNING)
		return false;
	if (!vtime_before(vtime_after(vtime, shared_read(&ballast.tunables.preempt_ns)),
			  shared_read(&c->running_vtime)))
		return false;
	if (wake_is_sync(p, c) && !wake_sync_over(c))
		return false;
	if (!cpu_runs_ours(cpu)) {
		wake_overdue(c, vtime);
		return false;
	}
	shared_write(&c->running, BALLAST_RUNNING | BALLAST_PREEMPTING);
	count(c, preempts);
	task_insert(p, SCX_DSQ_LOCAL, slice_ns(), SCX_ENQ_PREEMPT);
	return true;
}

/*
 * Behind the running task, for a pinned one: that task's end picks it up without ops.dispatch().
 * Not further ahead of the clock than a slice, and not with anything queued, which would wait for two such
 * tasks that wake each other for ever. Returns true if @p was put in the CPU's local queue.
 */
static __always_inline bool wake_behind(struct task_struct *p, struct ballast_cpu *c, u64 vtime)
{
	u64 slice = slice_ns();

	if (!shared_read(&c->running))
		return false;
	if (vtime_before(vtime_after(shared_read(&c->clock), slice), vtime))
		return false;
	if (shared_read(&c->queued))
		return false;
	count(c, pinned);
	task_insert(p, SCX_DSQ_LOCAL, slice, 0);
	return true;
}

#endif
