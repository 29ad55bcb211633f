/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the simulator's Rust and policy/ say to each other.
 *
 * Shared words lie in chunks of HOST_CHUNK_BYTES, aligned at that size, whose first line says whose
 * they are. So an accessor, which is given nothing but an address, finds its simulation without a
 * global variable, and many simulations can run in one process.
 */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

#define HOST_CHUNK_BYTES	65536UL	/* a power of two; a mask of 8,000 CPUs fits */

/* Host calls; sim is struct host's. */
struct host_ops {
	void (*load)(void *sim, u32 line);
	void (*store)(void *sim, u32 line);
	bool (*take)(void *sim, u32 dst_cpu, u32 src_cpu);
	bool (*allowed)(void *sim, u32 cpu);
	bool (*claim_idle)(void *sim, u32 cpu);
	bool (*core_idle)(void *sim, u32 cpu);
};

struct host {
	const struct host_ops *ops;
	void *sim;
};

/* The first bytes of a chunk. */
struct host_chunk {
	const struct host *host;
	u32 first_line;		/* of the ledger: that of this header */
};

/* One call of the policy: what it works on. */
struct host_call {
	const struct host *host;
	const u32 *at_or_after;	/* by CPU number: the first CPU of the span at or after it */
	u32 nr_at_or_after;
	const u32 *threads;	/* of the core at hand */
	u32 nr_threads;
	u32 first;		/* the span: lowest CPU, one past the highest, CPUs in it */
	u32 end;
	u32 nr;
};

#endif /* HOST_H */
