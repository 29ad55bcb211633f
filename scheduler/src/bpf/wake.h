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

/* From select_cpu: @p goes straight to the CPU that select_cpu returns. */
static __always_inline void wake_direct(struct task_struct *p)
{
	struct ballast_cpu *waker = cpu_state(bpf_get_smp_processor_id());

	if (waker)
		count(waker, direct);
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
 * Ahead of the running task, or, pinned and with nothing queued, right behind it. Returns true if
 * @p was put in the CPU's local queue.
 *
 * 1. Nothing of ours runs here: no.
 * 2. Its vtime is earlier than the running task's at its start by preempt_ns or more, no other
 *    preempting wakee waits, and, after a sync wake-up, the running task has had sync_ns: the
 *    waker is about to sleep, and preempting it would only cost a switch.
 * 3. Pinned, its queues empty, and not further ahead than a slice: the running task's end picks it
 *    up without ops.dispatch(). Not with anything queued, which would wait for two such tasks that
 *    wake each other for ever.
 */
static __always_inline bool wake_preempts(struct task_struct *p, struct ballast_cpu *c, u64 vtime)
{
	const struct ballast_tunables *t = &ballast.tunables;
	struct ballast_cpu *waker = cpu_state(bpf_get_smp_processor_id());
	u32 cpu = scx_bpf_task_cpu(p);
	u64 running = shared_read(&c->running_vtime);

	if (!shared_read(&c->running))
		return false;
	if (vtime_before(vtime_after(vtime, shared_read(&t->preempt_ns)), running)) {
		if (shared_read(&c->preempting))
			return false;
		if (waker && waker->sync_wakee == (u32)p->pid &&
		    scx_bpf_now() - shared_read(&c->running_since) < shared_read(&t->sync_ns))
			return false;
		shared_write(&c->preempting, 1);
		count(c, preempts);
		task_insert(p, SCX_DSQ_LOCAL, slice_ns(), SCX_ENQ_PREEMPT);
		return true;
	}
	if (!task_is_pinned(p) || vtime_before(vtime_after(running, slice_ns()), vtime))
		return false;
	if (scx_bpf_dsq_nr_queued(pinned_dsq(cpu)) || scx_bpf_dsq_nr_queued(stealable_dsq(cpu)))
		return false;
	count(c, pinned);
	task_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
	return true;
}

#endif
