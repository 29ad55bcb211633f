#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The scheduler among hotplug, changing masks and real-time tasks, and when it has to refuse: the
# topics of in-guest.sh, one after another in one boot. Last, that the counter of rebase violations
# can rise.
set -uo pipefail

here=$(dirname -- "$(readlink -f -- "$0")")
programs=$(readlink -f -- "$here/../../target/x86_64-unknown-linux-gnu/release")

with=(--with "$here/in-guest.sh" --with "$programs/scx_ballast")
for tool in sh sleep cat tail tr grep wc mount taskset chrt renice setpriv; do
	with+=(--with "$(command -v "$tool")")
done

topics=(hotplug refusals churn realtime)
replay=("$programs/ballast" lab run --fresh --parallel --cpus 2 --runs 1 --sched eevdf "${with[@]}"
	-- "$(command -v sh)" "$here/in-guest.sh" "$programs/scx_ballast" "${topics[@]}")
if output=$("${replay[@]}" 2>&1); then
	printf 'ok guest: %s\n' "${topics[@]}"
else
	echo "FAILED guest: $(grep -m 1 'seed 1' <<<"$output" || tail -n 1 <<<"$output")"
	echo "replay ${replay[*]@Q}"
fi

# Without the rebase, tasks that move gain or lose by it, and the counter shows it. (With it the
# counter stays 0: each bound of a ballast column asks for that.)
replay=("$programs/ballast" lab run --fresh --instructions --check --runs 1
	--sched "ballast+NO_REBASE" --bench hackbench)
output=$("${replay[@]}" 2>&1)
if grep -q '^MISSED hackbench ballast+NO_REBASE [^:]*: [1-9][0-9]* rebase violations' <<<"$output"; then
	echo 'ok guest: rebase violations are counted'
else
	echo "FAILED guest: rebase violations are counted: $(grep -E '^(ok|MISSED) ' <<<"$output" | tr '\n' '|')"
	echo "replay ${replay[*]@Q}"
fi
