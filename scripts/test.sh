#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ./ballast test [--quick]: runs every test.
set -uo pipefail

usage() {
	cat <<'END'
Runs every test. The last line is `N passed, N failed, N skipped`; each failure comes with the one
command that runs it again, each skipped test with the reason.

Usage: ballast test [--quick]

  --quick  leaves out most of the boots, and the kernel with its build
  --yes    installs what is missing without a question

It installs what building and testing need, through apt, and boots virtual machines; this machine's
own scheduler is not touched. Beside the other stages it builds the debug build of the kernel with
Ballast's patches, and once more with each of its five planted defects: that takes a network the
first time (0.2 GB through apt) and 1.2 GB of the disk, and is left out, and said, where apt offers
no such source or the disk has no room. Then that kernel has to live through a minute of everything
at once, to keep the rules of stealing and idle search in a scene each, and to find each defect.

Exit status: 0, 1 if a test failed, 2 wrong usage, 3 if a tool is missing and cannot be installed.
END
}

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
here=$root/scripts/test
quick=
case ${1-} in
'') ;;
--quick) quick=1 ;;
-h | --help)
	usage
	exit
	;;
*)
	echo "ballast: test: unknown word \`$1\`: the only one is --quick" >&2
	exit 2
	;;
esac

"$root/scripts/setup.sh" test || exit
cd "$root" || exit
# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh
# shellcheck source=scripts/test/count.sh
source scripts/test/count.sh
find_rust && find_clang || exit 3
export PATH
[[ $quick ]] || "$here/folders.sh" build || exit 1

# One test a script.
shell_lint() {
	local file
	if ! command -v shellcheck >/dev/null; then
		echo 'skipped shellcheck: no shellcheck (package shellcheck)'
		return
	fi
	for file in ballast .ci/run scripts/*.sh scripts/test/*.sh; do
		if shellcheck -x "$file"; then echo "ok shellcheck $file"; else echo "FAILED shellcheck $file: see above"; fi
	done
}
rust_format() {
	if ! cargo fmt --version >/dev/null 2>&1; then
		echo 'skipped rustfmt: no rustfmt (rustup, or package rustfmt)'
		return
	fi
	cargo fmt --all --check && echo 'ok rustfmt'
}
rust_lint() {
	if ! cargo clippy --version >/dev/null 2>&1; then
		echo 'skipped clippy: no clippy (rustup, or package rust-clippy)'
		return
	fi
	cargo_run clippy --release --locked --offline --workspace --all-targets -q -- -D warnings && echo 'ok clippy'
}
rust_tests() {
	cargo_run test --release --locked --offline --workspace --no-fail-fast -- --show-output 2>&1 |
		awk -f "$here/cargo.awk"
}
policy_tests() { make -s -C policy/tests test | grep -vE '^[0-9]+ passed, '; }
loads() { "$here/boots.sh" loads; } # with a kernel, which what follows needs
bad_input() { "$here/bad-input.sh" && "$here/bad-kernel.sh"; }
in_a_guest() { "$here/guest.sh"; }
other_folder() { "$here/folders.sh" compare; }
simulated_table() { "$here/simulated.sh" table; }
simulated_builds() { "$here/simulated.sh" builds; }
parallel_boots() { "$here/boots.sh" parallel; }
# A quarter of an hour of work, that what is timed does not notice.
kernel_builds() { nice -n 19 "$here/kernel.sh" builds; }
kernel_mutants() { [[ $(<"$aside_folder/kernel_builds.status") != 0 ]] || nice -n 19 "$here/kernel.sh" mutants; }
the_kernel() {
	local status=0
	aside_end kernel_builds || status=$?
	case $status in
	0)
		"$here/kernel.sh" boots
		aside_end kernel_mutants
		;;
	3) ;; # skipped, and said
	*) return "$status" ;;
	esac
}
no_kernel() { echo 'skipped kernel: its debug build, the minute of churn and the planted defects (--quick)'; }

begin=$SECONDS
stage 'The counter of tests' "$here/counter.sh"
stage 'Shell scripts' shell_lint
stage 'Rust format' rust_format
if [[ $quick ]]; then
	stage 'Rust lints' rust_lint
	stage 'policy/ in C' policy_tests
	stage 'Boots' "$here/boots.sh" quick
	stage 'Rust' rust_tests
	stage 'The simulated table' simulated_table
	stage 'Bad input' bad_input
	stage 'The kernel' no_kernel
else
	# Counted instructions do not depend on what else runs, so the rest runs beside them.
	aside rust_lint policy_tests loads rust_tests simulated_table simulated_builds bad_input in_a_guest \
		other_folder parallel_boots
	aside kernel_builds kernel_mutants
	stage 'Numbers' "$here/boots.sh" numbers
	stage 'Rust lints' aside_end rust_lint
	stage 'policy/ in C' aside_end policy_tests
	stage 'Loads' aside_end loads
	stage 'Rust' aside_end rust_tests
	stage 'The simulated table' aside_end simulated_table
	stage 'Builds of the simulator' aside_end simulated_builds
	stage 'Bad input' aside_end bad_input
	stage 'In a guest' aside_end in_a_guest
	stage 'Another folder' aside_end other_folder
	stage 'Boots in parallel mode' aside_end parallel_boots
	stage 'The kernel' the_kernel
	stage 'Delays' "$here/boots.sh" delays # on real time: nothing beside it
fi
printf '\n%d s%s' $((SECONDS - begin)) "${quick:+ (--quick: most boots were left out)}"
totals
