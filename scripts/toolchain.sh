# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced: finds the compilers and calls cargo the one way that all of Ballast's builds share.
# Needs $root.
: "${root:?}"

# The oldest Rust that builds the workspace: Cargo.toml says it once.
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")

# True if version $1 is at least $2.
at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# True if PROGRAM says that it is new enough.
new_enough() {
	local version
	version=$("$1" --version 2>/dev/null | awk '{ print $2; exit }') || return 1
	[[ -n $version ]] && at_least "$version" "$rust_wanted"
}

# Puts a Rust that is new enough in front of PATH: the one on PATH, rustup's, the system's own
# packages (Debian), or versioned packages (Ubuntu: /usr/lib/rust-1.xx), the newest first.
find_rust() {
	local folder versioned
	mapfile -t versioned < <(printf '%s\n' /usr/lib/rust-[0-9]*/bin | sort -rV)
	for folder in '' "${CARGO_HOME:-${HOME:-/}/.cargo}/bin" /usr/bin "${versioned[@]}"; do
		if new_enough "${folder:+$folder/}cargo" && new_enough "${folder:+$folder/}rustc"; then
			PATH=${folder:+$folder:}$PATH
			return
		fi
	done
	return 1
}

# Names of the compilers for BPF that are known to work, the best first.
bpf_compilers=(clang-19 clang-20 clang-21 clang-18 clang-17)

# Sets CLANG, which scheduler/build.rs reads, unless the user did.
find_clang() {
	local name
	[[ -n ${CLANG-} ]] || for name in "${bpf_compilers[@]}"; do
		command -v "$name" >/dev/null && CLANG=$name && break
	done
	[[ -n ${CLANG-} ]] && export CLANG
}

# cargo, so that one commit gives the same bytes wherever it lies: no path of this machine
# reaches a program. The user's own RUSTFLAGS would replace those of .cargo/config.toml.
cargo_run() {
	local home=${CARGO_HOME:-${HOME:-/}/.cargo}
	env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET \
		CARGO_TARGET_DIR="$root/target" \
		cargo --config "target.x86_64-unknown-linux-gnu.rustflags = [
			'--remap-path-prefix=$root=/ballast', '--remap-path-prefix=$home=/cargo']" "$@"
}
