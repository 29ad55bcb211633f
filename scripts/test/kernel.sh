#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# By hand. The patched kernel: its debug build is made and lives through a minute of everything at once; the
# same build with each planted defect of kernel/mutants/ does not, and says what its file expects.
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
# Defects are races: each gets so many boots of half a minute to show itself.
tries=3

# build WORDS…: makes a debug build; $image is what it printed.
build() {
	local begin=$SECONDS
	"$ballast" kernel build --debug "$@" >"$scratch/said" 2>&1 || {
		tail -n 5 "$scratch/said"
		return 1
	}
	image=$(sed -n 's/^ *image  *//p' "$scratch/said")
	echo "(kernel build --debug $*: $((SECONDS - begin)) s)"
}

# churn SECONDS SEED WORDS…: one boot; its JSON is in $scratch/churn.json.
churn() {
	local seconds=$1 seed=$2
	shift 2
	"$ballast" lab run --fresh --parallel --runs 1 --seed "$seed" --sched eevdf+STEAL \
		--bench "churn+seconds=$seconds" --json "$scratch/churn.json" "$@" >"$scratch/said" 2>&1
}

minute() {
	local replay='./ballast kernel build --debug && ./ballast lab run --fresh --parallel --runs 1'
	replay+=' --seed 1 --kernel debug --sched eevdf+STEAL --bench churn+seconds=60'
	if build && churn 60 1 --kernel debug; then
		echo 'ok kernel: the debug build lives through 60 s of churn'
	else
		cat "$scratch/said"
		echo 'FAILED kernel: the debug build does not live through 60 s of churn (above)'
		echo "replay $replay"
		return 1
	fi
}

# mutant FILE: built, booted until it is caught.
mutant() {
	local name text seed
	name=$(basename "$1" .sed)
	text=$(sed -n 's/^# caught by: //p' "$1")
	if ! build --mutant "$1"; then
		echo "FAILED kernel mutant $name: it does not build (above)"
		return
	fi
	for ((seed = 1; seed <= tries; seed++)); do
		if ! churn 30 "$seed" --kernel "$image" && grep -qF -- "$text" "$scratch/churn.json"; then
			echo "ok kernel mutant $name: caught by \"$text\" (boot $seed)"
			return
		fi
	done
	cat "$scratch/said"
	echo "FAILED kernel mutant $name: $tries boots, and none said \"$text\""
	echo "replay ./ballast kernel build --debug --mutant kernel/mutants/$name.sed # then lab run --kernel IMAGE"
}

minute || exit 0
for file in "$root"/kernel/mutants/*.sed; do
	mutant "$(readlink -f -- "$file")"
done
