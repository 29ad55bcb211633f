/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two queues a CPU, both in vtime order: one that thieves may look into, which alone makes the CPU
 * overloaded, and one for pinned tasks. (The kernel walks a queue under its lock past tasks that
 * the caller may not run: 10,000 pinned ones in a queue with thieves would be a soft lock-up.)
 *
 * The lost wake-up, and how it is closed. ops.enqueue() only announces an insert; the kernel commits
 * it after the callback returns, still under the run-queue lock. A CPU that goes idle in between has
 * looked too early:
 *
 *	queue_stealable(), on CPU A			cpu_went_idle(), on CPU B
 *	[1] A's bit set, A's generation + 1		[1] the kernel marks B idle
 *	    full barrier				    full barrier
 *	[2] an idle CPU marked? kick it			[2] has any generation moved since B's scan?
 *	[3] the kernel commits, unlocks A's queue	[3] then kick A if idle, and B itself
 *
 * Either A's [2] sees B marked, or B's [2] sees A's generation. A's kick is carried out once
 * interrupts are on again, after [3]. B's kick of A waits for A's run-queue lock, so after A's [3],
 * and only then B looks again.
 */
#ifndef BALLAST_QUEUE_H
#define BALLAST_QUEUE_H

static __always_inline u64 stealable_dsq(u32 cpu)
{
	return 2ULL * cpu;
}

static __always_inline u64 pinned_dsq(u32 cpu)
{
	return 2ULL * cpu + 1;
}

static __always_inline u64 slice_ns(void)
{
	return shared_read(&ballast.tunables.slice_ns);
}

/*
 * c->queued is set with every insert, and cleared by the owner when it takes the last task or finds
 * none: both under the run-queue lock. Thieves only take away, so 0 is the truth and 1 may be out
 * of date. (A count that thieves decrement would be wrong in the other direction and lose tasks.)
 */
static __always_inline void queue_pinned(struct task_struct *p, struct ballast_cpu *c, u32 cpu,
					 u64 vtime)
{
	count(c, queued);
	shared_write(&c->queued, 1);
	task_insert_vtime(p, pinned_dsq(cpu), slice_ns(), vtime_queued(vtime), 0);
}

/* Pairs with cpu_went_idle(): see above. */
static __always_inline void queue_stealable(struct task_struct *p, struct ballast_cpu *c, u32 cpu,
					    u64 vtime)
{
	s32 idle;

	count(c, queued);
	shared_write(&c->queued, 1);
	if (features() & POLICY_STEAL) {
		policy_overload_set(&ballast.policy, &ballast.policy.overloaded, cpu);
		shared_add(&c->generation, 1);
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (idle >= 0) {
			count(c, kicks);
			scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
		}
	}
	task_insert_vtime(p, stealable_dsq(cpu), slice_ns(), vtime_queued(vtime), 0);
}

/* The vtime of the first task of a queue; false if there is none. */
static __always_inline bool queue_head(u64 dsq, u64 *vtime)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, dsq, 0);
	p = bpf_iter_scx_dsq_next(&it);
	if (p)
		*vtime = p->scx.dsq_vtime;
	bpf_iter_scx_dsq_destroy(&it);
	return p != NULL;
}

/*
 * The sum of the generations of all CPUs that the mask shows: differs from an earlier sum if
 * anything was queued, or any bit changed, since. With @kick, wake those that are idle: the kernel
 * takes each one's run-queue lock for it, which is what the caller wants.
 */
static __always_inline u64 queue_generations(u32 self, bool kick)
{
	struct policy *policy = &ballast.policy;
	const struct policy_topology *t = &policy->topology;
	u32 bits = 1U << t->density;
	struct policy_visit v;
	u64 sum = 0;
	u32 i, j;

	policy_visit_begin(&v, &policy->overloaded, t->density, 0, t->nr_pos, 0);
	policy_for(i, 0, v.turns) {
		policy_visit_line(&v, &policy->overloaded, i);
		policy_for(j, 0, bits) {
			struct ballast_cpu *c;
			u32 cpu;

			if (!v.word)
				break;
			cpu = policy_cpu_at(t, policy_visit_next(&v, &policy->overloaded));
			c = cpu_state(cpu);
			if (!c || cpu == self)
				continue;
			sum += shared_read(&c->generation);
			if (kick)
				scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		}
	}
	return sum;
}

/*
 * The idle flag, the hint that a core is idle, and B's side of the protocol above. The fetching
 * operation on the flag is the full barrier of B's [1].
 */
static __always_inline void cpu_went_idle(struct ballast_cpu *c, u32 cpu, bool idle)
{
	if (!idle) {
		shared_write(&c->idle, 0);
		return;
	}
	shared_or(&c->idle, 1);
	shared_write(&c->running, 0);
	if (policy_core_idle(NULL, cpu))
		policy_idle_core_set(&ballast.policy, cpu);
	if (!(features() & POLICY_STEAL))
		return;
	if (queue_generations(cpu, false) == c->scanned)
		return;
	count(c, rekicks);
	queue_generations(cpu, true);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

#endif
