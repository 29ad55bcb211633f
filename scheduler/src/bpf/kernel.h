/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What scx_ballast uses of the kernel, and nothing else: base types, partial structs (CO-RE finds
 * the rest at load), the ops table, kfuncs, and the few places where kernels 6.18 to 7.2 differ.
 * Source of the facts: the kernels' own type information (BTF) of 6.18.15 and 7.2.13.
 */
#ifndef BALLAST_KERNEL_H
#define BALLAST_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2 };

/* bpf_helper_defs.h names it for bpf_for(). */
struct bpf_iter_num {
	u64 __opaque[1];
} __attribute__((aligned(8)));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

enum scx_exit_kind { SCX_EXIT_NONE = 0 };

struct cpumask {
	unsigned long bits[1];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	u64 sum_exec_runtime;
};

struct sched_ext_entity {
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
};

struct thread_info {
	u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	int prio;
	int static_prio;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	unsigned int policy;
	unsigned int flags;
	s32 pid;
	char comm[16];
	struct sched_entity se;
	struct sched_ext_entity scx;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_dump_ctx {
	u64 at_ns;
};

/* The packed arguments of the newer insert (6.19). */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

#pragma clang attribute pop

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

/* libbpf matches members by name; only those that are used are declared. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*update_idle)(s32 cpu, bool idle);
	void (*enable)(struct task_struct *p);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*dump_cpu)(struct scx_dump_ctx *ctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	u32 exit_dump_len;
	u64 hotplug_seq;
	char name[128];
};

/* These did not move between 6.18 and 7.2. */
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xC000000000000000ULL
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_PREEMPT 0x100000000ULL
#define SCX_WAKE_SYNC 16ULL
#define SCX_OPS_KEEP_BUILTIN_IDLE 1ULL
#define SCX_OPS_ENQ_EXITING 4ULL
#define SCX_OPS_ENQ_MIGRATION_DISABLED 16ULL
#define SCX_OPS_ALLOW_QUEUED_WAKEUP 32ULL

#define PF_KTHREAD 0x00200000
#define SCHED_IDLE 5
#define MAX_RT_PRIO 100

/* kfuncs that every kernel from 6.18 to 7.2 offers under one prototype. */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				      u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags) __ksym __weak;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq_id, u64 enq_flags) __ksym __weak;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
s32 scx_bpf_cpu_node(s32 cpu) __ksym;
u64 scx_bpf_now(void) __ksym;
void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data__sz) __ksym;
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;
bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) __ksym __weak;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;

/* Per CPU on x86-64; elsewhere a word of the task, and the symbol is absent. */
extern const int __preempt_count __ksym __weak;

/* Whether a task called us, not an interrupt; bit 8: in a softirq, 16 and up: hardirq, NMI. */
static __always_inline bool in_task(void)
{
	const int *count;

	if (!bpf_ksym_exists(&__preempt_count))
		return false;
	count = bpf_this_cpu_ptr(&__preempt_count);
	return !((u32)*count & 0x00ff0100);
}

/*
 * Where kernels differ. Each pair: the newer name first (the older one is announced for removal),
 * in branches of their own, because the verifier drops the one whose symbol is absent.
 */
static __always_inline void task_insert(struct task_struct *p, u64 dsq, u64 slice, u64 flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___compat))
		scx_bpf_dsq_insert___v2___compat(p, dsq, slice, flags);
	else
		scx_bpf_dsq_insert(p, dsq, slice, flags);
}

static __always_inline void task_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime,
					      u64 flags)
{
	if (bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq, .slice = slice, .vtime = vtime, .enq_flags = flags,
		};

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else {
		scx_bpf_dsq_insert_vtime(p, dsq, slice, vtime, flags);
	}
}

/* A load where the task carries its thread_info, as on x86-64 and arm64; a call elsewhere. */
static __always_inline u32 task_cpu(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return scx_bpf_task_cpu(p);
}

static __always_inline bool queue_move_to_local(u64 dsq)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___compat))
		return scx_bpf_dsq_move_to_local___v2___compat(dsq, 0);
	return scx_bpf_dsq_move_to_local(dsq);
}

static __always_inline void task_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

static __always_inline void task_set_vtime(struct task_struct *p, u64 vtime)
{
	if (bpf_ksym_exists(scx_bpf_task_set_dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

#endif
