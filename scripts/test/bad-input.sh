#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What bad input gets: one line on standard error that names the thing and what would be right,
# and the documented exit status (1 a run failed, 2 usage or input, 3 this machine cannot do it).
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")

work=$(mktemp -d "${TMPDIR:-/tmp}/ballast-bad-input.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

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
lab 'an unknown flag of our kernel' 2 'STAEL.*nearest is .STEAL.' --sched eevdf+STAEL
lab 'a flag of ours on the running kernel' 2 'kernel host.*eevdf\+STEAL.*ballast kernel build' --sched eevdf,eevdf+STEAL --kernel host
lab 'a series that no column runs on' 2 'kernel 6.18.*no column' --sched eevdf+STEAL --kernel 6.18
lab 'flags without the patches' 2 'eevdf-unpatched\+STEAL' --sched eevdf-unpatched+STEAL
refuses 'a kernel of ours that was not built' 3 'no unpatched kernel is built.*kernel build --unpatched' \
	env XDG_CACHE_HOME="$work/empty" "$ballast" lab run --sched eevdf-unpatched
lab 'churn under a sched_ext scheduler' 2 'churn.*null' --sched null --bench churn
lab 'invariants under a sched_ext scheduler' 2 'invariants.*null' --sched null --bench invariants
lab 'a seed among the words to append' 2 'append.*seed=3' --append seed=3
lab 'a scheduler that is not there' 2 './no-such' --sched ./no-such
lab 'more CPUs than the limit' 2 '100000' --cpus 100000
lab 'no CPU at all' 2 'at least 1 CPU' --cpus 0
lab 'CPUs that do not fill the cores' 2 '3' --cpus 3 --smt 2
lab 'no boots' 2 'runs' --runs 0
lab 'a seed that is no number' 2 'seed' --seed one
lab 'an unknown option' 2 'krenel.*kernel' --krenel auto
lab 'a command that is not there' 2 'no-such-program' -- no-such-program
lab 'a --with that is not there' 2 "$work/nothing" --with "$work/nothing" -- true
lab 'results into a folder that is not there' 2 "$work/nothing/x.json" --json "$work/nothing/x.json"
refuses 'an unknown command' 2 'demno.*demo' "$ballast" demno
refuses 'an unknown word of ./ballast test' 2 'quik.*--quick' "$root/ballast" test --quik
if [[ $("$root/ballast" test --help) == *'Usage: ballast test [--quick]'*'1.2 GB of the disk'* ]]; then
	echo 'ok bad input: ./ballast test --help'
else
	echo 'FAILED bad input: ./ballast test --help does not say what it takes'
fi

# The scheduler on this machine: only where it cannot load.
if [[ -e /sys/kernel/sched_ext ]]; then
	echo 'skipped bad input: a kernel without sched_ext: this machine has it'
else
	refuses 'a kernel without sched_ext' 3 'no sched_ext.*6\.18' "$ballast" scx
fi

# Kernels.
lab 'a kernel that is not there' 2 "$work/nothing" --kernel "$work/nothing"
lab 'a kernel that is a text' 2 "$work/text" --kernel "$work/text"
lab 'a kernel that is noise' 2 "$work/noise" --kernel "$work/noise"
lab 'a kernel that is a folder' 2 "$work/empty" --kernel "$work/empty"
lab 'a series before sched_ext' 2 '6\.12.*6\.18' --kernel 6.12
lab 'a series that nobody has' 3 '99\.9' --kernel 99.9

# The machine.
refuses 'no emulator' 3 'qemu-system-x86' env PATH="$work/empty" "$ballast" lab run
kernel=$(find "${XDG_CACHE_HOME:-$HOME/.cache}/ballast/kernels" -name kernel -print -quit 2>/dev/null)
mkdir "$work/full"
if [[ -z $kernel ]]; then
	echo 'skipped bad input: no disk space, broken guests: apt offers no kernel to boot (above)'
	exit
fi
if ((EUID == 0)) && mount -t tmpfs -o size=256k ballast-test "$work/full" 2>/dev/null; then
	trap 'umount "$work/full"; rm -rf -- "$work"' EXIT
	refuses 'no disk space' 3 'No space left|no room|no space left' \
		env XDG_CACHE_HOME="$work/full" "$ballast" lab run --parallel --kernel "$kernel" --runs 1
else
	echo 'skipped bad input: no disk space: mounting a small file system takes root'
fi

# Kills the first emulator that process $1 starts.
kill_guest_of() {
	local i child
	for ((i = 0; i < 600; i++)); do
		# shellcheck disable=SC2013 # numbers on one line: words are what is wanted
		for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
			# The one with a kernel: another only tells its version.
			tr '\0' '\n' <"/proc/$child/cmdline" 2>/dev/null | grep -qx -e -kernel &&
				kill -KILL "$child" && return
		done
		sleep 0.1
	done
}

# Guests that end badly: the column says how in one line, the status is 1, nothing is a number.
# ends NAME PATTERN [--kill] WORDS…: `lab run` with WORDS in a one-CPU guest.
ends() {
	local name=$1 pattern=$2 status=0 line pid kill=
	shift 2
	[[ $1 != --kill ]] || { kill=1 && shift; }
	set -- --parallel --cpus 1 --kernel "$kernel" --runs 1 --check --json "$work/json" "$@"
	"$ballast" lab run "$@" >"$work/stdout" 2>"$work/stderr" </dev/null &
	pid=$!
	[[ -z $kill ]] || kill_guest_of $pid
	wait $pid || status=$?
	line=$(grep '^MISSED ' "$work/stdout")
	if ((status != 1)); then
		echo "FAILED bad input: $name: status $status, not 1: $(tail -n 3 "$work/stderr" | tr '\n' '|')"
	elif [[ ! $line =~ $pattern || $line == *$'\n'* ]]; then
		echo "FAILED bad input: $name: no one line that says \`$pattern\`: $line"
	elif ! tr -d ' \n' <"$work/json" | grep -q '"samples":\[\]'; then
		echo "FAILED bad input: $name: it left a sample"
	else
		echo "ok bad input: $name"
		return
	fi
	echo "replay ./ballast lab run ${*@Q}"
}
ends 'a guest that panics' 'panicked.*sysrq' --sched ballast -- sh -c 'echo c >/proc/sysrq-trigger'
ends 'a scheduler that is ejected' 'ejected in step 1.*sysrq-S' \
	--sched ballast -- sh -c 'echo S >/proc/sysrq-trigger; sleep 1'
ends 'a command that fails' 'status 4' --sched eevdf -- sh -c 'exit 4'
ends 'a guest that is killed' 'killed|signal' --kill --sched eevdf -- sleep 60
