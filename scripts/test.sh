#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ./ballast test [--quick]: runs every test. The last line is `N passed, N failed, N skipped`;
# the exit status is 1 if any failed. --quick leaves out most of the boots.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
here=$root/scripts/test
quick=
case ${1-} in
'') ;;
--quick) quick=1 ;;
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

# One test a script.
shell_lint() {
	local file
	for file in ballast .ci/run scripts/*.sh scripts/test/*.sh; do
		if shellcheck -x "$file"; then echo "ok shellcheck $file"; else echo "FAILED shellcheck $file: see above"; fi
	done
}
rust_format() { cargo fmt --all --check && echo 'ok rustfmt'; }
rust_lint() {
	cargo_run clippy --release --locked --offline --workspace --all-targets -q -- -D warnings && echo 'ok clippy'
}
rust_tests() {
	cargo_run test --release --locked --offline --workspace --no-fail-fast -- --show-output 2>&1 |
		awk -f "$here/cargo.awk"
}
policy_tests() { make -s -C policy/tests test | grep -vE '^[0-9]+ passed, '; }

begin=$SECONDS
stage 'The counter of tests' "$here/counter.sh"
if command -v shellcheck >/dev/null; then stage 'Shell scripts' shell_lint; else skip shellcheck 'no shellcheck (package shellcheck)'; fi
if cargo fmt --version >/dev/null 2>&1; then stage 'Rust format' rust_format; else skip rustfmt 'no rustfmt (rustup, or package rustfmt)'; fi
if cargo clippy --version >/dev/null 2>&1; then stage 'Rust lints' rust_lint; else skip clippy 'no clippy (rustup, or package rust-clippy)'; fi
stage 'policy/ in C' policy_tests
stage 'Boots' "$here/boots.sh" ${quick:+--quick} # they fetch the kernels that the rest boots too
stage 'Rust' rust_tests
stage 'Bad input' "$here/bad-input.sh"
[[ $quick ]] || stage 'In a guest' "$here/guest.sh"
[[ $quick ]] || stage 'Another folder' "$here/folders.sh"
printf '\n%d s%s' $((SECONDS - begin)) "${quick:+ (--quick: most boots were left out)}"
totals
