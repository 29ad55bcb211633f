#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The patched kernel: its debug build lives through a minute of everything at once; the same build with
# each planted defect of kernel/mutants/ does not, and says what its file expects.
#     kernel.sh builds    makes the debug build; ends with status 3 where this machine cannot
#     kernel.sh mutants   makes the others
#     kernel.sh boots     boots them all, and waits for one that is being made
#     kernel.sh           all three
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
defects=("$root"/kernel/mutants/*.sed)
# Defects are races: each gets so many boots of half a minute to show itself.
tries=3

# build WORDS…: makes a debug build; $image is what it printed.
build() {
	local status=0
	"$ballast" kernel build --debug "$@" >"$scratch/said" 2>&1 || status=$?
	image=$(sed -n 's/^ *image  *//p' "$scratch/said")
	return "$status"
}

# churn SECONDS SEED WORDS…: one boot; what it said and its JSON are in $scratch.
churn() {
	local seconds=$1 seed=$2
	shift 2
	"$ballast" lab run --fresh --parallel --runs 1 --seed "$seed" --sched eevdf+STEAL \
		--bench "churn+seconds=$seconds" --json "$scratch/churn.json" "$@" >"$scratch/said" 2>&1
}

# Boots that the emulator broke and the lab repeated are told.
repeated() { grep 'boots that QEMU broke were repeated' "$scratch/said" || true; }

# What building lacks on this machine, or that apt offers no source that the patches fit, is no failure.
cannot_build() {
	local why
	why=$(tail -n 1 "$scratch/said")
	(($1 == 3)) || [[ $why == *'do not fit the source that apt offers'* ]] || return 1
	echo "skipped kernel: its debug build, the minute of churn and the planted defects: ${why#ballast: }"
}

builds() {
	local begin=$SECONDS status=0
	build || status=$?
	if ((status != 0)); then
		cannot_build "$status" && return 3
		tail -n 5 "$scratch/said"
		echo "FAILED kernel: the debug build: $(tail -n 1 "$scratch/said")"
		echo 'replay ./ballast kernel build --debug'
		return 1
	fi
	echo "ok kernel: the debug build is made ($((SECONDS - begin)) s)"
	interrupted
}

mutants() {
	local file name begin status=0
	for file in "${defects[@]}"; do
		begin=$SECONDS
		if ! build --mutant "$file"; then
			name=$(basename "$file")
			tail -n 5 "$scratch/said"
			echo "FAILED kernel mutant ${name%.sed}: it does not build (above)"
			echo "replay ./ballast kernel build --debug --mutant kernel/mutants/$name"
			status=1
		fi
		echo "($(basename "$file"): $((SECONDS - begin)) s)"
	done
	return "$status"
}

# A build that is really interrupted, together with all that it runs, as a terminal does it: of a change
# that was never built before. What is built after it in the same tree has to be right.
interrupted() {
	local built=${XDG_CACHE_HOME:-$HOME/.cache}/ballast/built before begun='' i status=0
	printf '%s\n' '# in: kernel/sched/fair.c' "\$a /* $BASHPID.$RANDOM */" >"$scratch/new.sed"
	before=$(find "$built" | sort)
	setsid "$ballast" kernel build --debug --mutant "$scratch/new.sed" >"$scratch/said" 2>&1 </dev/null &
	for ((i = 0; i < 6000; i++)); do # last in line for a core
		grep -q 'building with' "$scratch/said" && begun=1 && break
		sleep 0.1
	done
	sleep 3
	kill -TERM -- -$!
	wait $! 2>/dev/null || status=$?
	if [[ $begun ]] && ((status == 143)) && [[ $(find "$built" | sort) == "$before" ]]; then
		echo 'ok kernel: an interrupted build leaves no result'
	else
		tail -n 5 "$scratch/said"
		comm -13 <(echo "$before") <(find "$built" | sort)
		echo "FAILED kernel: an interrupted build: it did not begin, ended with $status, or left a result (above)"
		echo 'replay scripts/test/kernel.sh'
	fi
}

minute() {
	if churn 60 1 --kernel debug; then
		echo 'ok kernel: the debug build lives through 60 s of churn'
		repeated
		return
	fi
	cat "$scratch/said"
	echo 'FAILED kernel: the debug build does not live through 60 s of churn (above)'
	echo 'replay ./ballast lab run --fresh --parallel --runs 1 --kernel debug --sched eevdf+STEAL --bench churn+seconds=60'
}

# mutant FILE: booted until it is caught.
mutant() {
	local name text seed
	name=$(basename "$1" .sed)
	text=$(sed -n 's/^# caught by: //p' "$1")
	build --mutant "$1" || return # `mutants` has told
	for ((seed = 1; seed <= tries; seed++)); do
		if ! churn 30 "$seed" --kernel "$image" && grep -qF -- "$text" "$scratch/churn.json"; then
			echo "ok kernel mutant $name: caught by \"$text\" (boot $seed)"
			repeated
			return
		fi
	done
	cat "$scratch/said"
	echo "FAILED kernel mutant $name: $tries boots, and none said \"$text\""
	echo "replay ./ballast kernel build --debug --mutant kernel/mutants/$name.sed # then lab run --kernel IMAGE"
}

# The rules of stealing and of the search for an idle CPU, a scene each; the machines boot side by side.
invariants() {
	local -a machines=(
		'invariants+only=steal- --cpus 16 --nodes 2 --smt 2'
		'invariants+only=search- --cpus 16 --nodes 2 --smt 2'
		'invariants --cpus 8 --nodes 4'
		'invariants --cpus 8 --nodes 4 --append sched_steal_node_limit=4'
	)
	local run='lab run --fresh --instructions --runs 1 --kernel debug --sched eevdf+STEAL --bench'
	local i words status
	local -a jobs=()
	for i in "${!machines[@]}"; do
		read -ra words <<<"$run ${machines[i]}"
		"$ballast" "${words[@]}" --json "$scratch/scenes.$i.json" >"$scratch/scenes.$i.said" 2>&1 &
		jobs+=($!)
	done
	for i in "${!machines[@]}"; do
		status=0
		wait "${jobs[i]}" || status=$?
		# lines of the bench's details, or of the console of a boot that did not end well
		sed 's/\\n/\n/g' "$scratch/scenes.$i.json" |
			sed -nE 's/^ *"?((ok|FAILED) )((steal|search)-[^"]*)("?,?)$/\1kernel: \3/p' >"$scratch/scenes"
		cat "$scratch/scenes"
		# a scene that fails has its own line; a guest that ends or hangs in the midst of one has not
		if ((status != 0)) && ! grep -q '^FAILED ' "$scratch/scenes" || [[ ! -s $scratch/scenes ]]; then
			cat "$scratch/scenes.$i.said"
			echo "FAILED kernel: ${machines[i]%% *}: scenes were not played to their end (above)"
			status=1
		fi
		if ((status != 0)); then echo "replay ./ballast $run ${machines[i]}"; fi
	done
}

boots() {
	local file
	minute
	invariants
	for file in "${defects[@]}"; do mutant "$(readlink -f -- "$file")"; done
}

case ${1-} in
builds | mutants | boots) "$1" ;;
'') builds && mutants && boots ;;
*)
	echo "kernel.sh: one of builds, mutants, boots" >&2
	exit 2
	;;
esac
