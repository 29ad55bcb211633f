#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests the counter itself and the reading of cargo's output with stages that are made up.
set -uo pipefail
here=$(dirname -- "$(readlink -f -- "$0")")

# check NAME WANTED TEXT COMMAND…: the last line is WANTED and the output holds TEXT.
check() {
	local name=$1 wanted=$2 text=$3 output
	shift 3
	# shellcheck source=scripts/test/count.sh
	output=$(source "$here/count.sh" && "$@" && totals)
	if [[ ${output##*$'\n'} == "$wanted" && $output == *"$text"* ]]; then
		echo "ok counter: $name"
	else
		echo "FAILED counter: $name: wanted \`$wanted\` and \`$text\`, got \`${output//$'\n'/ | }\`"
	fi
}

fake() {
	printf '%b' "$1"
	return "${2:-0}"
}
cargo_says() { fake "$@" | awk -f "$here/cargo.awk"; }

check 'every word counts once' '2 passed, 2 failed, 1 skipped' 'skipped c: no disk' \
	stage fake fake 'ok a\nnoise ok\nFAILED b: x\nMISSED d: y\nskipped c: no disk\nok e: text\nokay\n' 1
check 'a line without an end counts' '1 passed, 0 failed, 0 skipped' '' stage fake fake 'ok a'
check 'a silent end is a failure' '1 passed, 1 failed, 0 skipped' 'ended with status 7' \
	stage fake fake 'ok a\n' 7
check 'nothing counted is a failure' '0 passed, 1 failed, 0 skipped' 'not one test' \
	stage fake fake 'all fine\n'
check 'the replay is the one given' '0 passed, 1 failed, 0 skipped' 'again: run b' \
	stage fake fake 'FAILED b: x\nreplay run b\n' 1
check 'without one it is the stage' '0 passed, 1 failed, 0 skipped' 'again: fake' \
	stage fake fake 'FAILED b: x\n' 1
check 'a skipped stage counts' '0 passed, 0 failed, 1 skipped' 'skipped boots: no emulator' \
	stage boots fake 'skipped boots: no emulator\n'

one() { fake 'ok a\n'; }
two() { fake 'FAILED b: x\n' 1; }
three() { fake 'ok c\n' 5; }
four() { kill -9 "$BASHPID"; }
six() { # ends only if seven runs beside it
	local i
	for ((i = 0; i < 100; i++)); do
		# shellcheck disable=SC2031 # both run in the subshell that made it
		[[ -e $aside_folder/seven.status ]] && fake 'ok f\n' && return
		sleep 0.1
	done
}
seven() { fake 'ok g\n'; }
besides() {
	aside one two three four five
	stage third aside_end three
	stage first aside_end one
	stage second aside_end two
	stage dead aside_end four
	stage missing aside_end five
}
lanes() {
	aside six
	aside seven
	stage sixth aside_end six
	stage seventh aside_end seven
}
check 'stages beside others count' '2 passed, 4 failed, 0 skipped' 'third: ended with status 5' besides
check 'two calls run beside each other' '2 passed, 0 failed, 0 skipped' '' lanes

run='     Running unittests src/lib.rs (target/t/release/deps/some_lib-0123456789abcdef)\n'
check 'cargo: passes, failures, ignored' '2 passed, 1 failed, 1 skipped' \
	'again: cargo test --release --locked -- --exact m::c' stage cargo cargo_says \
	"${run}running 4 tests\ntest m::a ... ok\ntest m::b - should panic ... ok\ntest m::c ... FAILED\ntest m::d ... ignored, no root\ntest result: FAILED. 1 passed\n" 101
check 'cargo: a test that says skipped' '1 passed, 0 failed, 1 skipped' \
	'skipped some_lib m::b: no gcc' stage cargo cargo_says \
	"${run}test m::a ... ok\ntest m::b ... ok\n\nsuccesses:\n\n---- m::b stdout ----\nskipped: no gcc\n\n\nsuccesses:\n    m::a\n    m::b\n\ntest result: ok. 2 passed\n"
check 'cargo: what a test found is shown, not counted' '1 passed, 0 failed, 0 skipped' \
	$'ok some_lib m::a\n      MISSED speedup: 2' stage cargo cargo_says \
	"${run}test m::a has been running for over 60 seconds\ntest m::a ... ok\n\nsuccesses:\n\n---- m::a stdout ----\nresult: MISSED speedup: 2\n\n\nsuccesses:\n    m::a\n\ntest result: ok. 1 passed\n"
check 'cargo: a program that dies' '1 passed, 1 failed, 0 skipped' 'some_lib: ended without' \
	stage cargo cargo_says "${run}test m::a ... ok\nerror: test failed, to rerun pass \`--lib\`\n" 101
check 'cargo: what does not compile' '0 passed, 1 failed, 0 skipped' 'ended with status 101' \
	stage cargo cargo_says 'error[E0308]: mismatched types\n' 101
