/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_null: a sched_ext scheduler without a single callback: the kernel's defaults, one global
 * first-in-first-out queue, 20 ms slices. The floor that figures are read against, nothing to use.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

SEC(".struct_ops.link")
struct sched_ext_ops null_ops = {
	.timeout_ms = 30000,
	.name = "null",
};
