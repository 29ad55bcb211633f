/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every part of policy/ stands on, and what its includer must supply.
 *
 * The includer defines, before it includes any header of policy/:
 *
 *   u32 u64 bool              types
 *   POLICY_FN                 how functions are qualified: "static __always_inline" in BPF,
 *                             "static inline" elsewhere
 *   policy_for(i, a, b)       for i in a..b-1; i is a u32, b is evaluated anew each time and must
 *                             not change: bpf_for in BPF, a plain for elsewhere
 *   shared_read(p)            the only ways to a word that several CPUs write; *p is u32 or u64.
 *   shared_write(p, v)        Read and write are single untorn accesses without ordering; the
 *   shared_or(p, v)           others return the old value and are full barriers
 *   shared_and(p, v)
 *
 * and, before or after, the host calls that the headers it includes declare as static functions.
 * Each takes the void *ctx that the includer passed in.
 *
 * The map. A mask and a span speak of *elements*. By default an element is a CPU's position
 * (topology.h). With POLICY_IDENTITY defined it is the CPU number, for a home whose domains are
 * sets of CPU numbers that change at run time: masks and spans are then the caller's, every
 * "struct policy_topology *" is NULL, and only the functions that take a span are there.
 */
#ifndef POLICY_BASE_H
#define POLICY_BASE_H

/* No CPU, no element: above every valid index, so that a range check refuses it. */
#define POLICY_NONE		0xffffffffU

#define POLICY_NULL		((void *)0)

/*
 * Bytes; the distance that keeps two written words from sharing a cache line on x86-64 and on most
 * arm64, and the line of the published sparsemask (spec/stealing.md 1.1).
 */
#define POLICY_LINE_BYTES	64
#define POLICY_LINE		__attribute__((aligned(POLICY_LINE_BYTES)))

/* Sizes of the arrays; the includer may define others. CPU numbers are below POLICY_MAX_CPUS. */
#ifndef POLICY_MAX_CPUS
#define POLICY_MAX_CPUS		512
#endif
#ifndef POLICY_MAX_LLCS
#define POLICY_MAX_LLCS		128
#endif
#ifndef POLICY_MAX_NODES
#define POLICY_MAX_NODES	64
#endif

/*
 * Said of an index that was just found in range. Without it clang computes the address before the
 * test, and the BPF verifier, which follows registers, refuses the access.
 */
#ifdef __bpf__
#define POLICY_IN_RANGE(i)	asm volatile("" : "+r"(i))
#else
#define POLICY_IN_RANGE(i)	((void)0)
#endif

/*
 * Features: bits of struct policy's features. Bits 16 to 31 are the includer's own.
 * STEAL*: steal.h. SIS_*: idle.h.
 */
#define POLICY_STEAL		(1U << 0)	/* an idle CPU takes a task from its LLC */
#define POLICY_STEAL_LLC	(1U << 1)	/* then from the other LLCs of its node */
#define POLICY_STEAL_NUMA	(1U << 2)	/* then from the other nodes, nearest first */
#define POLICY_SIS_LIMIT	(1U << 3)	/* at most two cores' worth of CPUs are looked at */
#define POLICY_SIS_ROTATE	(1U << 4)	/* a search begins where the last one ended */
#define POLICY_SIS_CORE		(1U << 5)	/* a wholly idle core is looked for first */
#define POLICY_SIS_PROP		(1U << 6)	/* the budget follows avg_idle / avg_scan_cost */

#endif /* POLICY_BASE_H */
