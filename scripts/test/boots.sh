#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots real kernels and applies the documented bounds: boots.sh loads|numbers|parallel|delays|quick
# The bounds are judged by `ballast lab run --check`; here they run with few seeds. The full ones
# are in docs/lab.md.
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")

# lab NAME WORDS…: one `lab run --fresh --check`; its bounds are the tests, each named.
lab() {
	local name=$1 output status=0
	shift
	local begin=$SECONDS
	printf '%s: ./ballast lab run --fresh --check %s\n' "$name" "$*"
	output=$("$ballast" lab run --fresh --check "$@" 2>&1) || status=$?
	grep -vE '^(ok|MISSED) ' <<<"$output"
	# a machine too busy for delays on real time lacks what the test needs
	sed -nE "s/^MISSED (.*not measured:.*this machine is too busy)\$/skipped $name: \1/p
		s/^(ok|MISSED) /\1 $name: /p" <<<"$output" | while IFS= read -r line; do
		echo "$line"
		[[ $line != MISSED* ]] || echo "replay ./ballast lab run --fresh --check $*"
	done
	if ((status != 0)) && ! grep -q '^MISSED ' <<<"$output"; then
		echo "FAILED $name: lab run ended with status $status (above)"
		echo "replay ./ballast lab run --fresh --check $*"
	fi
	echo "($name: $((SECONDS - begin)) s)"
}

few='the documented Numbers take 10 seeds (sleepers 4, delays 5), 20 loads and 20 boots; here'
pipes=hackbench,hackbench+groups=4
case ${1-} in
loads)
	echo "$few: 3 loads."
	lab loads --parallel --sched ballast --bench loads+times=3 --runs 1
	;;
numbers)
	echo "$few: 2 seeds."
	lab numbers --instructions --runs 2 --sched eevdf,eevdf+taskset=1,null,ballast \
		--bench "pipe+pinned=1,$pipes,hackbench+transport=socket"
	lab numbers-6.18 --instructions --kernel 6.18 --runs 2 \
		--bench "pipe+pinned=1,$pipes,hackbench+transport=socket"
	lab sleepers --instructions --kernel auto,6.18 --cpus 1 --runs 2 --sched eevdf,ballast \
		--bench sleeper+hogs=1,sleeper+hogs=2,sleeper+hogs=8,sleeper+hogs=2+fifo=1+fifo_us=300
	lab shares --instructions --cpus 1 --runs 1 --sched ballast --bench shares
	;;
parallel)
	echo "$few: 3 boots."
	lab boots --parallel --sched ballast --bench boots --runs 3
	lab 64-cpus --parallel --cpus 64 --nodes 4 --sched ballast --bench hackbench --runs 1
	lab stealing --parallel --trace --sched eevdf,ballast,ballast+NO_STEAL --bench hackbench --runs 1
	;;
delays)
	if (($(nproc) < 4)); then
		echo "skipped delays: $(nproc) cores; delays on 3 guest CPUs need a machine with 4"
		exit
	fi
	echo "$few: 2 boots."
	# On real time others' work on this machine is told from a delay only as far as the control tells it:
	# a miss counts when other seeds miss too. A bound of `sleepers` guards the same path in counted time.
	for seed in 1 3 5; do
		said=$(lab delays --parallel --cpus 3 --sched eevdf,ballast --bench sleeper+hogs=8+fifo=1 \
			--runs 2 --seed "$seed")
		grep -qE '^(MISSED|FAILED) ' <<<"$said" || break
		((seed == 5)) || echo "  ${said//$'\n'/$'\n'  }"
	done
	echo "$said"
	;;
quick)
	echo "$few: 2 seeds, 3 loads; one kernel, two benches, nothing else (--quick)."
	lab numbers --instructions --bench hackbench,pipe+pinned=1 --runs 2
	lab loads --parallel --sched ballast --bench loads+times=3 --runs 1
	;;
*)
	echo "boots.sh: one of loads, numbers, parallel, delays, quick" >&2
	exit 2
	;;
esac
