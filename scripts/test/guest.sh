#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The scheduler among hotplug, changing masks and real-time tasks, and when it has to refuse: each
# topic of in-guest.sh in a boot of its own. Last, that the counter of rebase violations can rise.
set -uo pipefail

here=$(dirname -- "$(readlink -f -- "$0")")
programs=$(readlink -f -- "$here/../../target/x86_64-unknown-linux-gnu/release")

with=(--with "$here/in-guest.sh" --with "$programs/scx_ballast")
for tool in sh sleep cat tail tr grep wc taskset chrt renice setpriv timeout; do
	with+=(--with "$(command -v "$tool")")
done

for topic in hotplug refusals churn realtime; do
	replay=("$programs/ballast" lab run --fresh --parallel --cpus 2 --runs 1 --sched eevdf
		"${with[@]}" -- "$(command -v sh)" "$here/in-guest.sh" "$topic" "$programs/scx_ballast")
	if output=$("${replay[@]}" 2>&1); then
		echo "ok guest: $topic"
	else
		echo "FAILED guest: $topic: $(grep -m 1 'seed 1' <<<"$output" || tail -n 1 <<<"$output")"
		echo "replay ${replay[*]@Q}"
	fi
done

# Without the rebase, tasks that move gain or lose by it, and the counter shows it.
replay=("$programs/ballast" lab run --fresh --parallel --check --runs 1
	--sched "ballast,ballast+NO_REBASE" --bench hackbench)
output=$("${replay[@]}" 2>&1)
if grep -q '^ok hackbench ballast [^:]*: 0 rebase violations' <<<"$output" &&
	grep -q '^MISSED hackbench ballast+NO_REBASE [^:]*: [1-9][0-9]* rebase violations' <<<"$output"; then
	echo 'ok guest: rebase violations are counted'
else
	echo "FAILED guest: rebase violations are counted: $(grep -m 1 -i violations <<<"$output")"
	echo "replay ${replay[*]@Q}"
fi
