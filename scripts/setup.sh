#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Takes a machine from nothing to a build: packages through apt, crates through cargo, programs.
# Called by ./ballast when something is missing or has changed; `setup.sh kernel` adds what builds
# kernels, `setup.sh test` that and what only the tests use. BALLAST_YES=1 skips the question.
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/toolchain.sh
source "$root/scripts/toolchain.sh"
stamp=$root/target/ballast.stamp
purpose=${1-}

say() { printf 'ballast: %s\n' "$*" >&2; }
cannot() {
	say "$*"
	exit 3
}
have() { command -v "$1" >/dev/null; }

# True if apt could install every package. `apt-cache show` is no test: it is content with any of
# several names, and with one that other packages only mention (Ubuntu's linux-perf).
apt_knows() {
	local name
	for name in "$@"; do
		[[ $(LC_ALL=C apt-cache policy "$name" 2>/dev/null) == *'Candidate: '[!\(]* ]] || return
	done
}

# The first of the packages that apt can install; the first of all where it knows none.
first_known() {
	local name
	for name in "$@"; do
		apt_knows "$name" && echo "$name" && return
	done
	echo "$1"
}

# True if the C compiler finds the static library $1.
have_library() { have gcc && [[ $(gcc -print-file-name="$1") == /* ]]; }

# Rust packages, newest first: Debian 13's plain ones are new enough, Debian 12 has them under
# another name, Ubuntu under versioned names.
rust_packages() {
	local version name
	version=$(apt-cache policy rustc 2>/dev/null | awk '/Candidate:/ { print $2 }')
	if [[ $version =~ ^[0-9] ]] && at_least "$version" "$rust_wanted"; then
		printf '%s\n' rustc cargo
	elif apt_knows rustc-web; then
		printf '%s\n' rustc-web cargo-web
	else
		name=$(apt-cache pkgnames rustc-1. 2>/dev/null | grep -E '^rustc-1\.[0-9]+$' | sort -rV | head -n 1)
		if [[ -n $name ]] && at_least "${name#rustc-}" "$rust_wanted"; then
			printf '%s\n' "$name" "cargo-${name#rustc-}"
		else
			printf '%s\n' "rustc-$rust_wanted" "cargo-$rust_wanted" # unknown here: apt says so
		fi
	fi
}

# One package a line: all that is missing here.
missing() {
	have gcc || echo gcc
	have make || echo make
	have pkg-config || echo pkg-config
	have_library libc.a || echo libc6-dev
	have_library libelf.a || echo libelf-dev
	have_library libz.a || echo zlib1g-dev
	have_library libzstd.a || echo libzstd-dev
	[[ -n ${CLANG-} ]] || first_known "${bpf_compilers[@]}"
	[[ -n $rust ]] || rust_packages
	[[ -e /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
	have qemu-system-x86_64 || echo qemu-system-x86
	have hackbench || echo rt-tests
	have perf || first_known linux-perf linux-tools-generic
	[[ $purpose != test ]] || have shellcheck || echo shellcheck
	[[ -n $purpose ]] || return 0
	have flex || echo flex
	have bison || echo bison
	have bc || echo bc
	have xz || echo xz-utils
}

# apt-get as root, from sudo where this is not root; never asks anything itself.
apt_get() {
	local sudo=()
	((EUID == 0)) || sudo=(sudo)
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# What apt would do with the packages, as it says it itself; changes nothing.
apt_plan() { LC_ALL=C apt-get -q --assume-no -o Debug::NoLocking=1 --no-install-recommends install "$@"; }

# True if a person is there to be asked.
person() { [[ -t 0 && -t 2 && -z ${BALLAST_YES-} ]]; }

install_packages() {
	local plan size removed answer
	grep -qsE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release ||
		cannot "this is neither Debian nor Ubuntu: install what these packages hold by hand: $*"
	((EUID == 0)) || have sudo ||
		cannot "not root, and there is no sudo: have these packages installed: $*"
	if ! apt_knows "$@"; then
		say "reading apt's package lists"
		apt_get update >&2 || cannot 'apt-get update failed (above)'
		# Names that depend on what apt knows may have changed with the lists.
		mapfile -t packages < <(missing)
		set -- "${packages[@]}"
	fi
	plan=$(apt_plan "$@" 2>&1) || true
	size=$(sed -nE 's/^Need to get (.*) of archives\./\1 to download/p; s/^After this operation, (.*) of additional.*/\1 on disk/p' <<<"$plan" | paste -sd, | sed 's/,/, /')
	[[ -n $size ]] || cannot "apt cannot install $*: $(grep -E '^(E:|.*not going to be|.*not installable)' <<<"$plan" | head -n 1)"
	removed=$(sed -n '/^The following packages will be REMOVED:/,/^[^ ]/{/^ /p}' <<<"$plan" | xargs)
	say "to be installed through apt ($size): $*"
	[[ -z $removed ]] || say "apt would REMOVE for that: $removed"
	say "then built here, in target/ (about 1 GB). This machine's own scheduler is not touched."
	if person; then
		read -rp 'ballast: go on? [Y/n] ' answer
		[[ $answer =~ ^([Yy].*)?$ ]] || cannot 'nothing was installed'
	elif [[ -n $removed ]]; then
		cannot "nothing was installed: removing packages is for a person to allow: apt-get install --no-install-recommends $*"
	fi
	apt_get install -y --no-install-recommends "$@" >&2 ||
		{ apt_get update >&2 && apt_get install -y --no-install-recommends "$@" >&2; } ||
		cannot "apt could not install $* (above)"
}

[[ $(uname -sm) == 'Linux x86_64' ]] || cannot "Ballast runs on x86-64 Linux; this is $(uname -sm)"
find_clang || true
rust=
find_rust && rust=1
mapfile -t packages < <(missing)
if ((${#packages[@]})); then
	install_packages "${packages[@]}"
	find_clang || cannot "no clang for BPF: install one of: ${bpf_compilers[*]}"
	find_rust || cannot "no Rust from $rust_wanted on: install one (rustup.rs, or: $(rust_packages | xargs))"
fi
# The stamp's time is that of the start: what is edited while it builds is built next time.
# That of its end tells our programs from those of a plain `cargo build`, whose bytes differ.
mkdir -p "$root/target"
touch "$stamp.new"
cd "$root"
if ! cargo_run fetch --locked --target x86_64-unknown-linux-gnu --offline -q 2>/dev/null; then
	say 'fetching the sources of the libraries that Cargo.lock names'
	cargo_run fetch --locked --target x86_64-unknown-linux-gnu || cannot 'the libraries could not be fetched (above); try again with a network'
fi
say 'building (the first time takes minutes, later ones seconds)'
cargo_run build --release --locked --offline --workspace >&2 || exit 1
[[ $purpose != test ]] ||
	cargo_run test --release --locked --offline --workspace --no-run -q >&2 || exit 1
touch "$stamp.end"
mv "$stamp.new" "$stamp"
