#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Whether policy/ compiles as its homes compile it, and whether its names are its own.
# Usage: compile.sh POLICY_FOLDER BUILD_FOLDER; prints "ok NAME", "FAILED NAME: why" or
# "skipped NAME: what is missing".

policy=$1
build=$2
tests=$(dirname "$0")

# Run a command; the first error in its output, or its first line, is why it failed.
step() {
	name=$1
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
	else
		why=$(echo "$out" | grep -m 1 'error:' || echo "$out" | head -n 1)
		echo "FAILED $name: $why"
		echo "replay sh $0 $policy $build"
	fi
}

kernel() {
	test=$1
	shift
	step "$test" gcc -std=gnu11 -O2 -ffreestanding -nostdinc -mgeneral-regs-only -Wall -Wextra -Werror \
		-Wframe-larger-than=1024 "$@" -I"$policy" -c "$tests/kernel.c" -o "$build/$test.o"
}

# Functions: every symbol of an object file without inlining is policy_* or the includer's kernel_*.
function_names() {
	for map in POLICY_POSITIONS POLICY_IDENTITY; do
		gcc -std=gnu11 -O0 -D$map -I"$policy" -c "$tests/kernel.c" -o "$build/names.o" || return 1
		nm "$build/names.o" || return 1
	done | awk '$NF ~ /^policy_/ { good++ }
		    $NF !~ /^(policy|kernel)_/ { print "not prefixed: " $NF; bad = 1 }
		    END { exit bad || good < 40 }'
}

# Macros: whatever a header of policy/ defines begins with POLICY_.
macro_names() {
	awk '$1 == "#define" && $2 !~ /^POLICY_/ { print FILENAME ": not prefixed: " $2; bad = 1 }
	     END { exit bad }' "$policy"/*.h
}

# Types: every struct, union, enum or typedef that begins a line begins with policy_.
type_names() {
	awk '/^(struct|union|enum) [a-z_]+ \{/ && $2 !~ /^policy(_|$)/ { print FILENAME ": not prefixed: " $2; bad = 1 }
	     /^typedef/ { print FILENAME ": a typedef"; bad = 1 }
	     END { exit bad }' "$policy"/*.h
}

# Words that only libc or the kernel would give: policy/ includes nothing but itself.
includes() {
	awk '$1 == "#include" && $2 !~ /^"(base|topology|sparsemask|state|steal|idle)\.h"$/ {
		print FILENAME ": includes " $2; bad = 1 } END { exit bad }' "$policy"/*.h
}

kernel policy_compiles_as_the_kernel_does
kernel policy_compiles_as_the_kernel_does_with_identity -DPOLICY_IDENTITY
step policy_functions_are_prefixed function_names
step policy_macros_are_prefixed macro_names
step policy_types_are_prefixed type_names
step policy_includes_only_itself includes

clang=$(command -v clang-19 || command -v clang)
if [ -z "$clang" ]; then
	echo "skipped policy_compiles_for_bpf: no clang-19 and no clang"
else
	for cpu in v3 v4; do
		step "policy_compiles_for_bpf_$cpu" "$clang" -O2 -g -mcpu=$cpu --target=bpf -Wall -Wextra -Werror \
			-I"$policy" -c "$tests/bpf.c" -o "$build/bpf_$cpu.o"
	done
fi
