/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the fuzz target and what drives it. */
#ifndef FUZZ_H
#define FUZZ_H

#include "types.h"

#define FUZZ_NAME	"policy_holds_under_coverage_guided_fuzzing"

/* The command that runs the last input again. */
extern char fuzz_replay[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
