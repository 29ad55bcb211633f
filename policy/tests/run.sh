#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Run what make has built, the compile checks and the planted mutants; count; exit 1 on a failure.
# Usage: run.sh BUILD_FOLDER [unsanitized]

tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
# Nothing is allocated for long, and the leak check fails where ptrace is forbidden.
export ASAN_OPTIONS=detect_leaks=0

# A program that ends badly without having said why is one failure.
program() {
	"$build/$1" >"$build/$1.log" 2>&1
	status=$?
	cat "$build/$1.log"
	if [ $status -ne 0 ] && ! grep -q '^FAILED ' "$build/$1.log"; then
		echo "FAILED $1: ended with status $status (above)"
		echo "replay $build/$1"
	fi
}

# Every mutant stands in the list that people read.
listed() {
	for mutant in "$tests"/mutants/*.sed; do
		name=$(basename "$mutant" .sed)
		test=$(sed -n 's/^# caught by: [a-z]* //p' "$mutant")
		if ! grep -q "^| \`$name\` .* \`$test\` |\$" "$tests/../../docs/policy-mutants.md"; then
			echo "FAILED mutants_are_listed: docs/policy-mutants.md lacks $name and $test"
			return
		fi
	done
	echo "ok mutants_are_listed"
}

all() {
	for p in mask steal idle budget identity accessors fuzz; do
		program $p
	done
	if [ "$1" = unsanitized ]; then
		echo "skipped sanitizers: this compiler has no runtime for ASan and UBSan"
	fi
	sh "$tests/compile.sh" "$tests/.." "$build"
	sh "$tests/mutants.sh" "$build"
	listed
}

all "$2" | tee "$build/log"
awk '/^ok / { ok++ } /^FAILED / { bad++ } /^skipped / { skipped++ }
     END { printf "%d passed, %d failed, %d skipped\n", ok, bad, skipped; exit bad > 0 || !ok }' "$build/log"
