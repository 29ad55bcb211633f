// SPDX-License-Identifier: GPL-2.0-only
/* policy/ as BPF: only compiled here; the loader of scx_ballast has it verified by a kernel. */
typedef _Bool bool;
typedef unsigned int u32;
typedef unsigned long long u64;

#define true	1
#define false	0

struct bpf_iter_num {
	u64 opaque;
};

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
extern int *bpf_iter_num_next(struct bpf_iter_num *it);
extern void bpf_iter_num_destroy(struct bpf_iter_num *it);

#define POLICY_FN	static inline __attribute__((always_inline))
#define policy_for(i, a, b)								\
	for (struct bpf_iter_num it_ __attribute__((cleanup(bpf_iter_num_destroy))),	\
	     *begun_ = (bpf_iter_num_new(&it_, (a), (b)), &it_);			\
	     ({ int *at_ = bpf_iter_num_next(begun_); at_ && ((i) = *at_, (i) < (b)); });)

#define used(old)								\
	({									\
		__typeof__(old) old_ = (old);					\
		asm volatile("" : "+r"(old_) : : "memory");			\
		old_;								\
	})
#define shared_read(p)		(*(const volatile __typeof__(*(p)) *)(p))
#define shared_write(p, v)	(*(volatile __typeof__(*(p)) *)(p) = (v))
#define shared_or(p, v)		used(__sync_fetch_and_or(p, v))
#define shared_and(p, v)	used(__sync_fetch_and_and(p, v))

#define POLICY_MAX_CPUS	4096
#include "policy.h"

struct policy policy_state;

POLICY_FN bool policy_take(void *ctx, u32 dst_cpu, u32 src_cpu)
{
	u32 *calls = ctx;

	(*calls)++;
	return dst_cpu == src_cpu;
}

POLICY_FN bool policy_allowed(void *ctx, u32 cpu)
{
	u32 *calls = ctx;

	return cpu != ++*calls;
}

POLICY_FN bool policy_claim_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

POLICY_FN bool policy_core_idle(void *ctx, u32 cpu)
{
	return policy_allowed(ctx, cpu);
}

__attribute__((section("syscall"), used)) int steal(u32 *ctx)
{
	policy_overload_set(&policy_state, &policy_state.overloaded, *ctx);
	policy_overload_clear(&policy_state, &policy_state.overloaded, *ctx + 1);
	return (int)policy_steal(&policy_state, &policy_state.overloaded, *ctx, ~0ULL, ctx);
}

__attribute__((section("syscall"), used)) int search(u32 *ctx)
{
	policy_idle_core_set(&policy_state, *ctx + 1);
	return (int)policy_search_idle(&policy_state, *ctx, ~0ULL, 0, ctx);
}
