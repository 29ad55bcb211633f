/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * policy/ on the host: what base.h asks of an includer. The accessors count what they touch inside
 * one watched range, so that a test can say "this word was not touched". A program that defines
 * accessors of its own before it includes this keeps them.
 */
#ifndef HOST_H
#define HOST_H

#include "test.h"

#define POLICY_FN		static inline
#define policy_for(i, a, b)	for ((i) = (a); (i) < (b); (i)++)

#ifndef shared_read

static struct {
	const char *from;
	const char *to;
	u64 reads;
	u64 writes;
	void (*after_read)(void);	/* what another CPU does just then; may be NULL */
} watch;

/* Count accesses to bytes from .. from + size - 1 from now on. */
static inline void watch_begin(const void *from, size_t size)
{
	watch.from = from;
	watch.to = watch.from + size;
	watch.reads = 0;
	watch.writes = 0;
	watch.after_read = NULL;
}

static inline bool watched(const volatile void *p)
{
	return (const volatile char *)p >= watch.from && (const volatile char *)p < watch.to;
}

static inline void watch_read(const volatile void *p)
{
	if (!watched(p))
		return;
	watch.reads++;
	if (watch.after_read)
		watch.after_read();
}

#define shared_read(p)								\
	({									\
		__typeof__(*(p)) value_ = *(const volatile __typeof__(*(p)) *)(p);	\
		watch_read(p);							\
		value_;								\
	})
#define shared_write(p, v)							\
	({									\
		watch.writes += watched(p);					\
		*(volatile __typeof__(*(p)) *)(p) = (v);			\
	})
#define shared_or(p, v)								\
	({									\
		watch.writes += watched(p);					\
		__sync_fetch_and_or(p, v);					\
	})
#define shared_and(p, v)							\
	({									\
		watch.writes += watched(p);					\
		__sync_fetch_and_and(p, v);					\
	})

#endif /* shared_read */

#include "policy.h"

#endif /* HOST_H */
