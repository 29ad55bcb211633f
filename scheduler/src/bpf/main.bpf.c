/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_ballast: the ops table. Each callback is a table of contents; what it calls lies in
 * vtime.h (time), queue.h (queues), wake.h (where a wakee goes), next.h (what runs next).
 */
#include "kernel.h"
#include "shared.h"
#include "policy.h"
#include "vtime.h"
#include "ballast.h"

char LICENSE[] SEC("license") = "GPL";

#define BPF_STRUCT_OPS(name, args...) SEC("struct_ops/" #name) BPF_PROG(name, ##args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) SEC("struct_ops.s/" #name) BPF_PROG(name, ##args)

struct ballast ballast;

#include "cpu.h"
#include "queue.h"
#include "wake.h"
#include "next.h"
#include "dump.h"

/* Runs on the waker, without a run-queue lock; not called for tasks that may run on one CPU only. */
s32 BPF_STRUCT_OPS(ballast_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 cpu;

	wake_note_sync(p, wake_flags);
	cpu = wake_claim_idle(p, prev_cpu);
	if (cpu == POLICY_NONE)
		return prev_cpu;
	wake_direct(p, cpu);
	return cpu;
}

/* Runs under the run-queue lock of the task's CPU. */
void BPF_STRUCT_OPS(ballast_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = task_cpu(p);
	struct ballast_cpu *c = cpu_state(cpu);
	bool waking;
	u64 vtime;

	if (!c)
		return;
	vtime = time_arrive(p, c, cpu);
	if (wake_idle(p, c, cpu))
		return;
	waking = enq_flags & SCX_ENQ_WAKEUP;
	if (waking && wake_ahead(p, c, cpu, vtime))
		return;
	if (!task_is_pinned(p)) {
		queue_stealable(p, c, cpu, vtime);
		return;
	}
	if (waking && wake_behind(p, c, vtime))
		return;
	queue_pinned(p, c, cpu, vtime);
}

/* The CPU's local queue is empty and @prev, if any, has used its slice. */
void BPF_STRUCT_OPS(ballast_dispatch, s32 cpu, struct task_struct *prev)
{
	struct ballast_cpu *c = cpu_state(cpu);

	if (c && !next_own(c, cpu, prev))
		next_steal(c, cpu);
}

void BPF_STRUCT_OPS(ballast_running, struct task_struct *p)
{
	u32 cpu = task_cpu(p);
	struct ballast_cpu *c = cpu_state(cpu);

	if (c)
		time_start(p, c, cpu);
}

void BPF_STRUCT_OPS(ballast_update_idle, s32 cpu, bool idle)
{
	struct ballast_cpu *c = cpu_state(cpu);

	if (c)
		cpu_went_idle(c, cpu, idle);
}

/* A task becomes ours: it starts at its CPU's clock, with neither credit nor debt. */
void BPF_STRUCT_OPS(ballast_enable, struct task_struct *p)
{
	u32 cpu = task_cpu(p);
	struct ballast_cpu *c = cpu_state(cpu);

	if (c)
		time_store(p, vtime_with_home(shared_read(&c->clock), cpu));
}

void BPF_STRUCT_OPS(ballast_dump, struct scx_dump_ctx *dump)
{
	dump_settings();
}

void BPF_STRUCT_OPS(ballast_dump_cpu, struct scx_dump_ctx *dump, s32 cpu, bool idle)
{
	struct ballast_cpu *c = cpu_state(cpu);

	if (c && !idle)
		dump_cpu(c, cpu);
}

void BPF_STRUCT_OPS(ballast_dump_task, struct scx_dump_ctx *dump, struct task_struct *p)
{
	dump_task(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(ballast_init)
{
	const struct policy_topology *t = &ballast.policy.topology;
	u32 pos;

	policy_for(pos, 0, t->nr_pos) {
		u32 cpu = policy_cpu_at(t, pos);
		s32 node, err;

		if (cpu == POLICY_NONE)
			continue;
		node = scx_bpf_cpu_node(cpu);
		err = scx_bpf_create_dsq(stealable_dsq(cpu), node);
		if (err)
			return err;
		err = scx_bpf_create_dsq(pinned_dsq(cpu), node);
		if (err)
			return err;
	}
	return 0;
}

void BPF_STRUCT_OPS(ballast_exit, struct scx_exit_info *info)
{
	struct ballast_exit *e = &ballast.exit;

	bpf_probe_read_kernel_str(e->reason, sizeof(e->reason), info->reason);
	bpf_probe_read_kernel_str(e->message, sizeof(e->message), info->msg);
	bpf_probe_read_kernel_str(e->dump, sizeof(e->dump), info->dump);
	e->code = info->exit_code;
	/* Last: the loader reads the rest once this is set. */
	shared_write(&e->kind, info->kind);
}

SEC(".struct_ops.link")
struct sched_ext_ops ballast_ops = {
	.select_cpu = (void *)ballast_select_cpu,
	.enqueue = (void *)ballast_enqueue,
	.dispatch = (void *)ballast_dispatch,
	.running = (void *)ballast_running,
	.update_idle = (void *)ballast_update_idle,
	.enable = (void *)ballast_enable,
	.dump = (void *)ballast_dump,
	.dump_cpu = (void *)ballast_dump_cpu,
	.dump_task = (void *)ballast_dump_task,
	.init = (void *)ballast_init,
	.exit = (void *)ballast_exit,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
	.timeout_ms = 30000,
	.exit_dump_len = BALLAST_DUMP_BYTES,
	.name = "ballast",
};
