#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots real kernels and applies the documented bounds: boots.sh [--quick]
# The bounds are judged by `ballast lab run --check`; here they run with few seeds. The full ones
# are in docs/lab.md.
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")

quick=
[[ ${1-} != --quick ]] || quick=1
cores=$(nproc)

# lab NAME WORDS…: one `lab run --fresh --check`; its bounds are the tests, each named.
lab() {
	local name=$1 output status=0
	shift
	local begin=$SECONDS
	printf '%s: ./ballast lab run --fresh --check %s\n' "$name" "$*"
	output=$("$ballast" lab run --fresh --check "$@" 2>&1) || status=$?
	grep -vE '^(ok|MISSED) ' <<<"$output"
	sed -nE "s/^(ok|MISSED) /\1 $name: /p" <<<"$output" | while IFS= read -r line; do
		echo "$line"
		[[ $line == ok* ]] || echo "replay ./ballast lab run --fresh --check $*"
	done
	if ((status != 0)) && ! grep -q '^MISSED ' <<<"$output"; then
		echo "FAILED $name: lab run ended with status $status (above)"
		echo "replay ./ballast lab run --fresh --check $*"
	fi
	echo "($name: $((SECONDS - begin)) s)"
}

echo "The documented Numbers take 10 seeds, 20 loads and 20 boots; here: 2 seeds, 3 loads, 3 boots."
if [[ $quick ]]; then
	echo "--quick: one kernel, one bench; no sleepers, shares, trace, 64 CPUs or repeated boots."
	lab numbers --instructions --bench hackbench,pipe+pinned=1 --runs 2
	lab loads --parallel --sched ballast --bench loads+times=3 --runs 1
	exit
fi

pipes=hackbench,hackbench+groups=4
lab numbers --instructions --runs 2 --sched eevdf,eevdf+taskset=1,null,ballast \
	--bench pipe+pinned=1,$pipes,hackbench+transport=socket
lab numbers-6.18 --instructions --kernel 6.18 --runs 2 --bench pipe+pinned=1,$pipes,hackbench+transport=socket
lab sleepers --instructions --kernel auto,6.18 --cpus 1 --runs 2 --sched eevdf,ballast \
	--bench sleeper+hogs=1,sleeper+hogs=2,sleeper+hogs=8
lab shares --instructions --kernel auto,6.18 --cpus 1 --runs 1 --sched ballast --bench shares
lab loads --parallel --kernel auto,6.18 --sched ballast --bench loads+times=3 --runs 1
lab boots --parallel --sched ballast --bench boots --runs 3
lab 64-cpus --parallel --cpus 64 --nodes 4 --sched ballast --bench hackbench --runs 1
lab stealing --parallel --trace --sched eevdf,ballast,ballast+NO_STEAL --bench hackbench --runs 1
if ((cores >= 4)); then
	lab delays --parallel --cpus 3 --sched eevdf,ballast --bench sleeper+hogs=8+fifo=1 --runs 2
else
	echo "skipped delays: $cores cores; delays on 3 guest CPUs need a machine with 4"
fi
