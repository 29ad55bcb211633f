/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What policy/ asks of its includer: the loop, function qualifiers and the accessors of shared
 * words. A shared word is one that several CPUs may touch at once; nothing else reaches it.
 *
 * The atomics fetch, and the fetched value is consumed, because clang emits the form that orders
 * nothing (on arm64) when the result is unused; consumed, each is a full barrier.
 */
#ifndef BALLAST_SHARED_H
#define BALLAST_SHARED_H

#define POLICY_MAX_CPUS 4096
#define POLICY_MAX_LLCS 1024
#define policy_for(i, a, b) bpf_for(i, a, b)
#define POLICY_FN static __always_inline

#define shared_read(p) (*(volatile __typeof__(*(p)) *)(p))
#define shared_write(p, v) ((void)(*(volatile __typeof__(*(p)) *)(p) = (v)))
#define shared_consume(old) \
	({ __typeof__(old) __old = (old); asm volatile("" : "+r"(__old) : : "memory"); __old; })
#define shared_or(p, v) shared_consume(__sync_fetch_and_or(p, v))
#define shared_and(p, v) shared_consume(__sync_fetch_and_and(p, v))
#define shared_add(p, v) shared_consume(__sync_fetch_and_add(p, v))
#define shared_cas(p, old, new) shared_consume(__sync_val_compare_and_swap(p, old, new))

#endif
