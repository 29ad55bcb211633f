// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions that a program built with -fsanitize=thread calls before every access to memory, in
 * place of the sanitizer's own library. This file is built without it.
 */
#include <stdlib.h>
#include <string.h>

#include "accessors.h"

#define RANGES	4

struct guard_seen guard_seen;

static struct {
	const char *from;
	const char *to;
} range[RANGES];
static u32 nr_ranges;

void guard_add(const void *from, size_t size)
{
	if (nr_ranges == RANGES)
		abort();
	range[nr_ranges].from = from;
	range[nr_ranges++].to = (const char *)from + size;
}

void guard_begin(const void *from, size_t size)
{
	memset(&guard_seen, 0, sizeof(guard_seen));
	nr_ranges = 0;
	guard_add(from, size);
}

void guard_end(void)
{
	nr_ranges = 0;
}

static bool guarded(const volatile void *p, size_t size)
{
	const char *from = (const char *)p;
	u32 i;

	for (i = 0; i < nr_ranges; i++) {
		if (from < range[i].to && from + size > range[i].from)
			return true;
	}
	return false;
}

static void hook(const volatile void *p, size_t size)
{
	guard_seen.hooks++;
	if (!guarded(p, size))
		return;
	if (!guard_seen.escapes++)
		guard_seen.first = (const void *)p;
}

static void access_count(const volatile void *p, size_t size)
{
	guard_seen.accesses += guarded(p, size);
	if (size != 4 && size != 8)
		abort();
}

u64 access_read(const volatile void *p, size_t size)
{
	access_count(p, size);
	return size == 8 ? *(const volatile u64 *)p : *(const volatile u32 *)p;
}

void access_write(volatile void *p, size_t size, u64 value)
{
	access_count(p, size);
	if (size == 8)
		*(volatile u64 *)p = value;
	else
		*(volatile u32 *)p = (u32)value;
}

u64 access_or(volatile void *p, size_t size, u64 value)
{
	u64 old = access_read(p, size);

	access_write(p, size, old | value);
	return old;
}

u64 access_and(volatile void *p, size_t size, u64 value)
{
	u64 old = access_read(p, size);

	access_write(p, size, old & value);
	return old;
}

#define HOOK(name, size)							\
	void __tsan_##name(void *p);						\
	void __tsan_##name(void *p) { hook(p, size); }

#define HOOKS(kind)								\
	HOOK(kind##1, 1) HOOK(kind##2, 2) HOOK(kind##4, 4) HOOK(kind##8, 8)	\
	HOOK(kind##16, 16)

HOOKS(read)
HOOKS(write)
HOOKS(volatile_read)
HOOKS(volatile_write)
HOOKS(unaligned_read)
HOOKS(unaligned_write)

#define HOOK_RANGE(name)							\
	void __tsan_##name(void *p, size_t size);				\
	void __tsan_##name(void *p, size_t size) { hook(p, size); }

HOOK_RANGE(read_range)
HOOK_RANGE(write_range)

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void *pc);
void __tsan_func_exit(void *pc)
{
	(void)pc;
}

/* clang sends these through its library too. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	hook(to, size);
	hook(from, size);
	return memcpy(to, from, size);
}

void *__tsan_memset(void *to, int value, size_t size);
void *__tsan_memset(void *to, int value, size_t size)
{
	hook(to, size);
	return memset(to, value, size);
}
