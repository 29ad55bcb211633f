#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What `ballast kernel build` says where it cannot build, with an apt and tools of the test's own:
# the last line names the thing, the exit status is the documented one, nothing is half-written.
set -uo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/../..
ballast=$(readlink -f -- "$root/target/x86_64-unknown-linux-gnu/release/ballast")

work=$(mktemp -d "${TMPDIR:-/tmp}/ballast-bad-kernel.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/empty" "$work/fake"
export XDG_CACHE_HOME=$work/cache

# fake NAME: a program of this name whose script is on standard input.
fake() {
	{ echo '#!/bin/sh' && cat; } >"$work/fake/$1"
	chmod +x "$work/fake/$1"
}
for tool in gcc ld make flex bison bc xz; do
	fake $tool <<<"echo $tool of the test"
done
fake apt-get <<'END'
case $* in
*indextargets*)
	. /etc/os-release
	origin=Ubuntu
	[ "$ID" = ubuntu ] || [ -n "${UBUNTU_CODENAME-}" ] || origin=Debian
	printf '%s\n' 'Created-By: Packages' 'Component: main' "Origin: $origin" \
		"Release: ${UBUNTU_CODENAME:-$VERSION_CODENAME}" 'Repo-URI: http://mirror.example/'
	;;
*update*) ;;
*download*)
	if [ -e "$BALLAST_TEST/slow" ]; then
		head -c 1000 /dev/zero >half.deb
		touch "$BALLAST_TEST/begun"
		exec sleep 600
	fi
	[ -e "$BALLAST_TEST/source.tar" ] || { echo 'E: Failed to fetch http://mirror.example/x  404  Not Found' >&2 && exit 100; }
	cp "$BALLAST_TEST/source.tar" package.deb
	;;
esac
END
fake apt-cache <<'END'
case $* in
*linux-source*) cat "$BALLAST_TEST/offered" ;;
esac
END
fake dpkg-deb <<'END'
mkdir -p "$3/usr/src" && cp "$2" "$3/usr/src/linux-source-7.2.tar.xz"
END
export BALLAST_TEST=$work
export PATH=$work/fake:$PATH

# What apt-cache says of one source: offer VERSION SIZE.
offer() {
	printf '%s\n' 'Package: linux-source-7.2' "Version: $1" "Size: $2" 'Installed-Size: 1' \
		"SHA256: $(sha256sum <<<"$1" | cut -c -64)" ''
}
: >"$work/offered"

# builds_not NAME STATUS PATTERN WORDS…: $search is where the program finds its tools.
builds_not() {
	local name=$1 wanted=$2 pattern=$3 status=0
	shift 3
	timeout 60 env PATH="$search" "$ballast" kernel build "$@" \
		>"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
	judge "$name" "$wanted" "$pattern" "$status"
	rm -rf "$work/cache"
}
search=$PATH

# judge NAME WANTED PATTERN STATUS: of what standard output and standard error hold.
judge() {
	local left
	left=$(cd "$work/cache/ballast" 2>/dev/null && find built linux -mindepth 1 \
		! -name .lock ! -path 'built/refused*' ! -path 'linux/.new*' 2>/dev/null)
	if (($4 != $2)); then
		echo "FAILED bad kernel: $1: status $4, not $2: $(tail -n 3 "$work/stderr" | tr '\n' '|')"
	elif ! tail -n 1 "$work/stderr" | grep -qE -- "$3"; then
		echo "FAILED bad kernel: $1: its last line does not say \`$3\`: $(tail -n 1 "$work/stderr")"
	elif [[ -s $work/stdout ]]; then
		echo "FAILED bad kernel: $1: printed on standard output: $(head -c 200 "$work/stdout")"
	elif [[ -n $left ]]; then
		echo "FAILED bad kernel: $1: left ${left//$'\n'/ }"
	else
		echo "ok bad kernel: $1"
		return
	fi
	echo "replay $0"
}

# skips NAME PATTERN: what ./ballast test says then is one counted line, and no failure.
skips() {
	local said status=0
	said=$("$root/scripts/test/kernel.sh" builds 2>&1) || status=$?
	if ((status == 3)) && [[ $said != *$'\n'* ]] && grep -qE "^skipped kernel: .*$2" <<<"$said"; then
		echo "ok bad kernel: the test's stage: $1"
	else
		echo "FAILED bad kernel: the test's stage: $1: status $status: ${said//$'\n'/|}"
		echo "replay $0"
	fi
	rm -rf "$work/cache"
}

builds_not 'debug without patches' 2 'debug.*unpatched' --debug --unpatched
builds_not 'no jobs' 2 'jobs' --jobs 0
builds_not 'an unknown option' 2 'debgu.*debug' --debgu
builds_not 'a document into a folder that is not there' 2 "$work/nothing/x.json" --json "$work/nothing/x.json"
offer 7.2.13-1 1000 >"$work/offered"
builds_not 'a mutant that is not there' 2 "$work/nothing" --mutant "$work/nothing"
search=$work/empty builds_not 'no compiler' 3 'install the packages gcc binutils make flex bison bc'
builds_not 'an unknown source' 2 'source 7\.2\.14: .* it has 7\.2\.13-1$' --source 7.2.14
offer 7.2.13-1 4000000000000000000 >"$work/offered"
builds_not 'too little disk' 3 'no room for building linux-source-7\.2 7\.2\.13-1 .* MB needed'
skips 'too little disk' 'no room for building linux-source-7\.2 7\.2\.13-1 .* MB needed'
: >"$work/offered"
builds_not 'no source package' 3 'apt offers no package linux-source'
skips 'no source package' 'apt offers no package linux-source'
offer 7.2.13-1 1000 >"$work/offered"
builds_not 'a source that the mirror lacks' 1 'linux-source-7\.2.*404.*try again'
head -c 5000 /dev/urandom >"$work/source.tar"
if said=$("$root/scripts/test/kernel.sh" builds 2>&1); then said+=' (status 0)'; fi
if [[ $said == *$'\nFAILED kernel: the debug build: '*corrupt* ]]; then
	echo "ok bad kernel: the test's stage: noise is a failure"
else
	echo "FAILED bad kernel: the test's stage: noise is a failure: ${said//$'\n'/|}"
fi
rm -rf "$work/cache"
builds_not 'a source that is noise' 1 'linux-source-7\.2 7\.2\.13-1 is corrupt: .*; nothing was kept'

# A tree in which nothing is as the patches expect it.
mkdir -p "$work/linux-source-7.2/kernel/sched"
touch "$work/linux-source-7.2/Makefile"
for name in fair.c core.c features.h sched.h topology.c debug.c; do
	echo '/* another kernel */' >"$work/linux-source-7.2/kernel/sched/$name"
done
tar -C "$work" -cf "$work/source.tar" linux-source-7.2
builds_not 'a source that does not fit' 1 'do not fit the source .*7\.2\.13-1: 0001-.*\.patch: '
skips 'a source that does not fit' 'do not fit the source that apt offers'
builds_not 'a named source that does not fit' 1 'do not fit the source linux-source-7\.2 7\.2\.13-1: 0001-' \
	--source 7.2.13

# Interrupted while it downloads, as a terminal does it: everything that runs gets the signal.
touch "$work/slow"
setsid "$ballast" kernel build >"$work/stdout" 2>"$work/stderr" </dev/null &
for ((i = 0; i < 300; i++)); do
	[[ -e $work/begun ]] && break
	sleep 0.1
done
kill -TERM -- -$!
wait $! 2>/dev/null
judge 'an interrupted download' 143 'fetching linux-source-7\.2 7\.2\.13-1' $?
rm "$work/slow"
builds_not 'the same again after it' 1 'do not fit the source'
