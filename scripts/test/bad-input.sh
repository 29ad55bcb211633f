#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What bad input gets: one line on standard error that names the thing and what would be right,
# and the documented exit status (1 a run failed, 2 usage or input, 3 this machine cannot do it).
set -uo pipefail

work=$(mktemp -d "${TMPDIR:-/tmp}/ballast-bad-input.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
ballast=$BALLAST_PROGRAMS/ballast

# refuses NAME STATUS PATTERN COMMAND…: ends with STATUS, nothing on standard output, and one line
# on standard error that matches PATTERN.
refuses() {
	local name=$1 wanted=$2 pattern=$3 status=0 lines
	shift 3
	timeout 300 "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
	lines=$(wc -l <"$work/stderr")
	if ((status != wanted)); then
		echo "FAILED bad input: $name: status $status, not $wanted: $(head -c 300 "$work/stderr" | tr '\n' '|')"
	elif ((lines != 1)); then
		echo "FAILED bad input: $name: $lines lines, not one: $(head -c 300 "$work/stderr" | tr '\n' '|')"
	elif ! grep -qE -- "$pattern" "$work/stderr"; then
		echo "FAILED bad input: $name: does not say \`$pattern\`: $(<"$work/stderr")"
	elif [[ -s $work/stdout ]]; then
		echo "FAILED bad input: $name: printed on standard output: $(head -c 200 "$work/stdout")"
	else
		echo "ok bad input: $name"
		return
	fi
	echo "replay ${*@Q}"
}
lab() { local name=$1 status=$2 pattern=$3; shift 3; refuses "$name" "$status" "$pattern" "$ballast" lab run "$@"; }

echo 'not a kernel' >"$work/text"
head -c 100000 /dev/urandom >"$work/noise"
mkdir "$work/empty"

# Words.
lab 'an unknown bench' 2 'hackbnech.*hackbench' --bench hackbnech
lab 'an unknown setting of a bench' 2 'gruops.*groups' --bench hackbench+gruops=4
lab 'a setting that is no number' 2 'groups.*many' --bench hackbench+groups=many
lab 'an unknown scheduler' 2 'balast.*ballast' --sched balast
lab 'an unknown feature' 2 'NO_STAEL.*STEAL' --sched ballast+NO_STAEL
lab 'an unknown tunable' 2 'slice_su.*slice_us' --sched ballast+slice_su=3000
lab 'a scheduler that is not there' 2 './no-such' --sched ./no-such
lab 'more CPUs than the limit' 2 '100000' --cpus 100000
lab 'no CPU at all' 2 '0' --cpus 0
lab 'CPUs that do not fill the cores' 2 '3' --cpus 3 --smt 2
lab 'no boots' 2 'runs' --runs 0
lab 'a seed that is no number' 2 'seed' --seed one
lab 'an unknown option' 2 'krenel.*kernel' --krenel auto
lab 'a command that is not there' 2 'no-such-program' -- no-such-program
lab 'a --with that is not there' 2 "$work/nothing" --with "$work/nothing" -- true
lab 'results into a folder that is not there' 2 "$work/nothing/x.json" --json "$work/nothing/x.json"
refuses 'an unknown command' 2 'demno.*demo' "$ballast" demno
refuses 'an unknown word of ./ballast test' 2 'quik.*--quick' ./ballast test --quik

# Kernels.
lab 'a kernel that is not there' 2 "$work/nothing" --kernel "$work/nothing"
lab 'a kernel that is a text' 2 "$work/text" --kernel "$work/text"
lab 'a kernel that is noise' 2 "$work/noise" --kernel "$work/noise"
lab 'a kernel that is a folder' 2 "$work/empty" --kernel "$work/empty"
lab 'a series before sched_ext' 2 '6\.12.*6\.18' --kernel 6.12
lab 'a series that nobody has' 3 '99\.9' --kernel 99.9

# The machine.
refuses 'no emulator' 3 'qemu-system-x86' env PATH="$work/empty" "$ballast" lab run
