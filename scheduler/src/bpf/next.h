/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs next on a CPU: the earliest of its own, else a task of another CPU, else what ran.
 */
#ifndef BALLAST_NEXT_H
#define BALLAST_NEXT_H

#define SCX_TASK_QUEUED 1

/* Host call of policy/steal.h. The generation is read before the queue: see queue.h. */
static bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	struct ballast_cpu *dst = cpu_state(dst_cpu), *src = cpu_state(src_cpu);

	if (!dst || !src)
		return false;
	if (scx_bpf_dsq_nr_queued(stealable_dsq(src_cpu)) &&
	    queue_move_to_local(stealable_dsq(src_cpu))) {
		count(dst, steals);
		return true;
	}
	count(dst, misses);
	return false;
}

/* The running task gets another turn, at its vtime now. */
static __always_inline bool next_keep(struct ballast_cpu *c, struct task_struct *prev, u64 vtime)
{
	count(c, kept);
	time_keep(prev, vtime);
	time_turn(c, vtime);
	task_set_slice(prev, slice_ns());
	return true;
}

/*
 * The earlier head of the two queues: its vtime, and whether it is a pinned task's. Heads are only
 * looked at where there is something to compare; with both queues empty nothing is said.
 */
static __always_inline void next_head(u32 cpu, bool stealable, bool pinned, bool *is_pinned,
				      u64 *vtime)
{
	u64 other;

	stealable = stealable && queue_head(stealable_dsq(cpu), vtime);
	*is_pinned = pinned && queue_head(pinned_dsq(cpu), &other);
	if (!*is_pinned)
		return;
	if (stealable && !vtime_before(other, *vtime))
		*is_pinned = false;
	else
		*vtime = other;
}

/*
 * The earliest of the CPU's own: the heads of its two queues, and @prev if it wants to go on.
 * Returns true if something of its own will run.
 *
 * 1. Nothing queued: @prev, if it wants.
 * 2. Several candidates: the earliest; @prev itself gets another turn.
 * 3. Take it. The last one taken: nothing is queued any more.
 *
 * Only the owner clears the CPU's overload bit, under its run-queue lock, as the sets are.
 */
static __always_inline bool next_own(struct ballast_cpu *c, u32 cpu, struct task_struct *prev)
{
	bool runnable = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	u64 now = runnable ? time_of(prev) : 0;
	s32 stealable = 0, pinned = 0;
	bool is_pinned;
	u64 vtime = 0;

	if (shared_read(&c->queued)) {
		stealable = scx_bpf_dsq_nr_queued(stealable_dsq(cpu));
		pinned = scx_bpf_dsq_nr_queued(pinned_dsq(cpu));
	}
	is_pinned = !stealable;
	if ((stealable && pinned) || (runnable && (stealable || pinned))) {
		next_head(cpu, stealable, pinned, &is_pinned, &vtime);
		if (runnable && vtime_before(now, vtime))
			return next_keep(c, prev, now);
	}

	if (is_pinned)
		pinned--;
	else
		stealable--;
	if (stealable <= 0)
		policy_overload_clear(&ballast.policy, &ballast.policy.overloaded, cpu);
	if (stealable <= 0 && pinned <= 0)
		shared_write(&c->queued, 0);
	if (stealable + pinned < 0)
		return runnable && next_keep(c, prev, now);
	if (!queue_move_to_local(is_pinned ? pinned_dsq(cpu) : stealable_dsq(cpu)))
		return false;
	count(c, own);
	return true;
}

/* Nothing of its own: takes one task from a CPU that has too many. */
static __always_inline bool next_steal(struct ballast_cpu *c, u32 cpu)
{
	if (!(features() & POLICY_STEAL))
		return false;
	c->scanned = queue_generations(cpu, false);
	return policy_steal(&ballast.policy, &ballast.policy.overloaded, cpu, ~0ULL, NULL) !=
	       POLICY_NONE;
}

#endif
