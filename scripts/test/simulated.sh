#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The simulator as a whole: simulated.sh table|builds
# `table` reproduces the stealing table at the command's own size; its bounds are the tests.
# `builds` takes a run whose digest is pinned through other builds of the simulator.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")")
ballast=$root/target/x86_64-unknown-linux-gnu/release/ballast

# What --check says of each bound, in one line each: the command breaks them at 100 columns.
bounds() {
	awk '/^(ok|MISSED) / { if (line != "") print line; line = $0; next }
		line != "" && /^ / { sub(/^ +/, " "); line = line $0; next }
		line != "" { print line; line = "" }
		END { if (line != "") print line }'
}

table() {
	local output status=0 line
	local replay='replay ./ballast reproduce steal-hackbench --check'
	output=$("$ballast" reproduce steal-hackbench --check 2>&1) || status=$?
	bounds <<<"$output" | sed -E 's/^(ok|MISSED) /\1 simulated table: /' | while IFS= read -r line; do
		echo "$line"
		[[ $line != MISSED* ]] || echo "$replay"
	done
	if ((status != 0)) && ! grep -q '^MISSED ' <<<"$output"; then
		echo "FAILED simulated table: reproduce ended with status $status: $(tail -n 1 <<<"$output")"
		echo "$replay"
	fi
}

# build NAME 'COMPILER FLAGS…' [SETTING…]: the settings are of the simulator's Rust. They differ from
# those of the programs, so that what cargo keeps of these is not built anew.
build() {
	local name=$1 cc=$2 output words=() setting
	shift 2
	for setting in debug-assertions=true overflow-checks=true "$@"; do
		words+=(--config "profile.release.package.ballast_sim.$setting")
	done
	output=$(BALLAST_POLICY_CC=$cc cargo_run "${words[@]}" test --release --locked --offline -p ballast_sim --lib \
		-- --exact os::tests::every_build_gives_the_same_digest 2>&1)
	if grep -q '^test result: ok. 1 passed' <<<"$output"; then
		echo "ok same run: $name"
	else
		echo "FAILED same run: $name: $(grep -m 1 -E '^error|left:|not found' <<<"$output" || tail -n 1 <<<"$output")"
		echo "replay BALLAST_POLICY_CC='$cc' cargo ${words[*]@Q} test --release -p ballast_sim --lib every_build"
	fi
}

builds() {
	# shellcheck source=scripts/toolchain.sh
	source "$root/scripts/toolchain.sh"
	cd "$root" && find_rust && find_clang || exit
	build 'Rust as in a debug build' '' opt-level=0
	for level in -O0 -O2; do
		build "C by gcc $level" "gcc $level"
		build "C by $CLANG $level" "$CLANG $level"
	done
}

case ${1-} in
table | builds) "$1" ;;
*)
	echo 'simulated.sh: one of table, builds' >&2
	exit 2
	;;
esac
