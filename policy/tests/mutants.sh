#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Defects planted in a copy of policy/, one at a time; each must be caught by the test that it
# names. A mutant is a sed script in mutants/ that begins with three comments:
#
#   # breaks: what goes wrong
#   # in: HEADER
#   # caught by: PROGRAM TEST
#
# Usage: mutants.sh BUILD_FOLDER [NAME]; prints "ok NAME" or "FAILED NAME: why" for each.

tests=$(cd "$(dirname "$0")" && pwd)
build=$1
only=${2:-*}

# Compile one test program over the changed policy; the accessors need their own instrumentation.
compile() {
	set -- -std=gnu11 -O1 -w "-I$copy" "-I$tests" "-DTESTS=\"$tests\""
	case $program in
	accessors)
		gcc "$@" -fsanitize=thread -c "$tests/accessors.c" -o "$copy/accessors.o" &&
			gcc "$@" "$copy/accessors.o" "$tests/accessor_hooks.c" -o "$copy/program"
		;;
	*)
		gcc "$@" "$tests/$program.c" -o "$copy/program"
		;;
	esac
}

plant() {
	mutant=$1
	name=mutant_$(basename "$mutant" .sed)
	header=$(sed -n 's/^# in: //p' "$mutant")
	program=$(sed -n 's/^# caught by: \([a-z]*\) .*/\1/p' "$mutant")
	test=$(sed -n 's/^# caught by: [a-z]* //p' "$mutant")
	copy=$build/mutants/$name
	mkdir -p "$copy"
	cp "$tests"/../*.h "$copy"
	sed -f "$mutant" "$tests/../$header" >"$copy/$header"

	if cmp -s "$tests/../$header" "$copy/$header"; then
		why="changes nothing in $header: policy/ has moved on"
	elif ! compile 2>"$copy/log"; then
		why="does not compile: $(head -n 1 "$copy/log")"
	elif "$copy/program" "$test" >"$copy/log" 2>&1; then
		why="$test did not notice"
	elif ! grep -q "^FAILED $test: " "$copy/log"; then
		why="$test ended without saying why: $(head -n 1 "$copy/log")"
	else
		echo "ok $name"
		return
	fi
	echo "FAILED $name: $why"
	echo "replay sh $tests/mutants.sh $build $(basename "$mutant" .sed)"
}

for mutant in "$tests"/mutants/$only.sed; do
	plant "$mutant"
done
