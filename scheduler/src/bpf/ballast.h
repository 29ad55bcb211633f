/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that the BPF side keeps, in one struct: settings, what a CPU knows of itself, counters, the
 * policy's own state, and how it ended. The loader writes settings and topology before it attaches
 * and reads counters while it runs.
 */
#ifndef BALLAST_H
#define BALLAST_H

#define BALLAST_LINE 64

/* Bytes kept of the kernel's dump; the kernel's own default. */
#define BALLAST_DUMP_BYTES 32768

/* Features of the scheduler itself, beside the POLICY_* bits of struct policy's features. */
#define BALLAST_REBASE (1U << 16)	/* a moving task keeps its lag; off only to show the check */

struct ballast_tunables {
	u64 slice_ns;	/* a task's turn; 4 ms: one tick at HZ=250, what the kernel can enforce */
	u64 credit_ns;	/* how far behind the clock a sleeper may wake; 6 ms: a slice, which is how
			 * far behind the running task may be, what preempts it, 1 ms for late ticks */
	u64 preempt_ns;	/* a wakee this much earlier than the running task preempts it; 1 ms */
	u64 sync_ns;	/* after a sync wake-up only if that task has run so long; 1 ms */
};

/* Each is a decision of this CPU, counted once. */
struct ballast_counters {
	u64 direct;		/* wake-ups put straight on a CPU that was claimed idle */
	u64 preempts;		/* wake-ups that preempt the running task */
	u64 pinned;		/* pinned wakees put behind the running task, no queue needed */
	u64 queued;		/* tasks put in a queue */
	u64 own;		/* tasks dispatched from a queue of the own CPU */
	u64 kept;		/* turns ended with the running task still the earliest */
	u64 steals;		/* tasks taken from another CPU's queue */
	u64 misses;		/* visits to another CPU's queue that took nothing */
	u64 kicks;		/* idle CPUs woken for a queued task */
	u64 rekicks;		/* times that going idle met a task on its way into a queue */
	u64 moves;		/* arrivals with a vtime of another CPU's clock */
	u64 rebase_violations;	/* of these, lag changed by over a slice: must stay 0 */
};

#define BALLAST_RUNNING 1	/* a task of ours was the last to run here, and the CPU does not idle */
#define BALLAST_PREEMPTING 2	/* and a wakee that preempts it waits to start */

struct ballast_cpu {
	/* Read by others. Written by this CPU, or under its run-queue lock. */
	u64 clock;		/* vtime word: the highest that this CPU has started */
	u64 generation;		/* tasks ever queued where thieves may look */
	u32 idle;		/* the kernel runs its idle task here */
	u32 running;		/* 0, or BALLAST_RUNNING with or without BALLAST_PREEMPTING */
	u64 running_vtime;	/* the running task's vtime word when its turn began */
	u64 sync_since;		/* scx_bpf_now() at the first sync wake-up of its turn; 0: none yet */
	u64 overdue;		/* vtime word of the earliest wakee that a real-time task kept from
				 * preempting; 0: none */
	u32 queued;		/* 0: both queues are empty; see queue.h */
	/* Only this CPU. */
	u32 sync_wakee;		/* pid that this CPU woke last, if that was a sync wake-up */
	u64 scanned __attribute__((aligned(BALLAST_LINE)));	/* sum of the generations that the
								 * last steal scan met */
	struct ballast_counters n;
} __attribute__((aligned(BALLAST_LINE)));

struct ballast_exit {
	u32 kind;		/* SCX_EXIT_*; 0 while running */
	s64 code;
	char reason[128];
	char message[1024];
	char dump[BALLAST_DUMP_BYTES];	/* what the kernel wrote with dump.h's help */
};

struct ballast {
	struct ballast_tunables tunables;
	struct policy policy;
	struct ballast_cpu cpu[POLICY_MAX_CPUS];
	struct ballast_exit exit;
};

#endif
