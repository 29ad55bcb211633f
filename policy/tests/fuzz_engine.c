// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small coverage-guided engine, so that the fuzz target runs wherever gcc does: an input that
 * reaches a pair of blocks that none before it reached, or reaches one more often than any before
 * by a power of two, is kept and mutated further. A fixed number of runs from a fixed seed: the
 * same inputs every time.
 *
 *   PROGRAM [RUNS]     report; an input that fails is left in PROGRAM-input
 *   PROGRAM FILE       run the one input in FILE
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define EDGES		(1U << 14)	/* hashed pairs of blocks */
#define KEPT		512		/* inputs */
#define INPUT_BYTES	512
#define RUNS		30000		/* a second or two */

struct input {
	uint8_t data[INPUT_BYTES];
	size_t size;
};

static struct input kept[KEPT];
static u32 nr_kept;
static struct input now;
static char input_path[PATH_MAX];
char fuzz_replay[2 * PATH_MAX];

static u32 count[EDGES];	/* in this run */
static uint8_t best[EDGES];	/* 1 + log2 of the largest count so far; 0: never reached */
static uintptr_t previous;
static u64 state = 0x9e3779b97f4a7c15ULL;

/* Called by the compiler's instrumentation (-fsanitize-coverage=trace-pc) in every block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	/* Relative to the program, which is loaded anywhere. */
	uintptr_t here = (uintptr_t)__builtin_return_address(0) -
			 (uintptr_t)&LLVMFuzzerTestOneInput;

	here *= 0x9e3779b1U;
	here ^= here >> 15;
	count[(here ^ previous) % EDGES]++;
	previous = here >> 1;
}

static u32 below(u32 n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (u32)((state * 0x2545f4914f6cdd1dULL >> 32) * n >> 32);
}

/* Leave the input that failed, for a replay. */
static void save_input(void)
{
	FILE *f = fopen(input_path, "wb");

	if (!f)
		return;
	fwrite(now.data, 1, now.size, f);
	fclose(f);
}

/* A check failed, and said so. */
static void on_abort(int signal_number)
{
	(void)signal_number;
	save_input();
	fflush(stdout);
	_Exit(1);
}

/* A sanitizer ends the program. */
static void on_death(void)
{
	save_input();
	printf("FAILED %s: a sanitizer stopped it, as it says above\nreplay %s\n", FUZZ_NAME,
	       fuzz_replay);
	fflush(stdout);
}

/* Return true if this run reached something new. */
static bool is_new(void)
{
	bool any = false;
	u32 i, level;

	for (i = 0; i < EDGES; i++) {
		level = count[i] ? 32 - (u32)__builtin_clz(count[i]) : 0;
		if (level > best[i]) {
			best[i] = (uint8_t)level;
			any = true;
		}
	}
	return any;
}

static void run_now(void)
{
	memset(count, 0, sizeof(count));
	previous = 0;
	LLVMFuzzerTestOneInput(now.data, now.size);
	if (is_new() && nr_kept < KEPT)
		kept[nr_kept++] = now;
}

/* One to eight small changes: a byte, a bit, a few more bytes, a few less, another one's tail. */
static void mutate(void)
{
	u32 changes = 1 + below(8), at;
	const struct input *other;

	while (changes--) {
		at = below((u32)now.size);
		switch (below(5)) {
		case 0:
			now.data[at] = (uint8_t)below(256);
			break;
		case 1:
			now.data[at] ^= (uint8_t)(1U << below(8));
			break;
		case 2:
			while (now.size < INPUT_BYTES && below(16))
				now.data[now.size++] = (uint8_t)below(256);
			break;
		case 3:
			now.size -= below((u32)now.size / 4 + 1);
			break;
		case 4:
			other = &kept[below(nr_kept)];
			if (at < other->size) {
				memcpy(now.data + at, other->data + at, other->size - at);
				now.size = other->size;
			}
			break;
		}
	}
}

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f) {
		fprintf(stderr, "fuzz: cannot read %s\n", path);
		return 2;
	}
	now.size = fread(now.data, 1, INPUT_BYTES, f);
	fclose(f);
	LLVMFuzzerTestOneInput(now.data, now.size);
	printf("ok %s\n", FUZZ_NAME);
	return 0;
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

int main(int argc, char **argv)
{
	u32 runs = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : RUNS;
	u32 i, reached = 0;

	snprintf(input_path, sizeof(input_path), "%s-input", argv[0]);
	snprintf(fuzz_replay, sizeof(fuzz_replay), "%s %s", argv[0], input_path);
	if (!runs)
		return replay(argv[1]);
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_death);
	now.size = 64;
	for (i = 0; i < runs; i++) {
		run_now();
		now = kept[below(nr_kept)];
		mutate();
	}
	for (i = 0; i < EDGES; i++)
		reached += best[i] != 0;
	printf("# %u runs, %u pairs of blocks reached, %u inputs kept\n", runs, reached, nr_kept);
	printf("ok %s\n", FUZZ_NAME);
	return 0;
}
