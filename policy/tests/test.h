/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The least that a test program needs: named tests, a line each, a command that replays a failure.
 *
 *   PROGRAM              run all tests: "ok NAME", or "FAILED NAME: why" and a line
 *                        "replay PROGRAM NAME SEED"
 *   PROGRAM NAME [SEED]  run one
 */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(name)	{ #name, name }
#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

static struct {
	const char *program;
	const char *name;
	u64 seed;
	u64 random;
	jmp_buf end;
} test_now;

__attribute__((noreturn, format(printf, 4, 5)))
static inline void test_failed(const char *file, int line, const char *what,
			       const char *format, ...)
{
	va_list args;

	printf("FAILED %s: %s:%d: not true: %s: ", test_now.name, file, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nreplay %s %s %llu\n", test_now.program, test_now.name,
	       (unsigned long long)test_now.seed);
	longjmp(test_now.end, 1);
}

/* The message says what was looked at; it is only formatted on failure. */
#define CHECK(condition, ...)							\
	do {									\
		if (!(condition))						\
			test_failed(__FILE__, __LINE__, #condition, __VA_ARGS__); \
	} while (0)

/* Our own generator (xorshift64*): the same on every machine. */
static inline u64 test_random(void)
{
	u64 x = test_now.random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	test_now.random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* A number below n. */
static inline u32 test_below(u32 n)
{
	return (u32)((test_random() >> 32) * n >> 32);
}

static inline bool test_run(const struct test *t)
{
	test_now.name = t->name;
	test_now.random = test_now.seed * 0x9e3779b97f4a7c15ULL | 1;
	if (setjmp(test_now.end))
		return false;
	t->run();
	printf("ok %s\n", t->name);
	return true;
}

static inline int test_main(int argc, char **argv, const struct test *tests, size_t n)
{
	bool found = argc < 2, passed = true;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_now.program = argv[0];
	test_now.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	for (i = 0; i < n; i++) {
		if (argc > 1 && strcmp(argv[1], tests[i].name))
			continue;
		found = true;
		passed &= test_run(&tests[i]);
	}
	if (!found) {
		fprintf(stderr, "%s: no test is named %s\n", argv[0], argv[1]);
		return 2;
	}
	return passed ? 0 : 1;
}

#endif /* TEST_H */
