/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accessors that lie outside of the instrumented program, and what they and the compiler's
 * thread-sanitizer hooks saw (accessor_hooks.c).
 */
#ifndef ACCESSORS_H
#define ACCESSORS_H

#include "types.h"

u64 access_read(const volatile void *p, size_t size);
void access_write(volatile void *p, size_t size, u64 value);
u64 access_or(volatile void *p, size_t size, u64 value);
u64 access_and(volatile void *p, size_t size, u64 value);

#define shared_read(p)		((__typeof__(*(p)))access_read(p, sizeof(*(p))))
#define shared_write(p, v)	access_write(p, sizeof(*(p)), v)
#define shared_or(p, v)		((__typeof__(*(p)))access_or(p, sizeof(*(p)), v))
#define shared_and(p, v)	((__typeof__(*(p)))access_and(p, sizeof(*(p)), v))

/* From now on, accesses to these bytes that go round the accessors are counted. */
void guard_begin(const void *from, size_t size);
void guard_add(const void *from, size_t size);
void guard_end(void);

struct guard_seen {
	u64 escapes;		/* accesses that went round the accessors */
	const void *first;	/* the first of them */
	u64 accesses;		/* accesses through them */
	u64 hooks;		/* accesses of any kind that the compiler reported */
};

extern struct guard_seen guard_seen;

#endif /* ACCESSORS_H */
