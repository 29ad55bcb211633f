#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same sources, built in another folder, give the same bytes and the same figures.
# `folders.sh build` makes that folder, `folders.sh compare` compares the two.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")")
copy=$root/target/elsewhere/a-folder-with-another-and-longer-name
programs=target/x86_64-unknown-linux-gnu/release

# The libraries' sources lie in one place for both, so their builds are taken over the first time;
# what is ours is built there.
build() {
	local said
	mkdir -p "$copy" &&
		find "$copy" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf -- {} + &&
		tar -C "$root" --exclude=./target --exclude=./.git -cf - . | tar -C "$copy" -xf - || return 1
	[[ -d $copy/target ]] ||
		tar -C "$root" -cf - target/release target/x86_64-unknown-linux-gnu | tar -C "$copy" -xmf - || return 1
	echo 'ballast: building once more in another folder' >&2
	said=$("$copy/ballast" --yes --version 2>&1) || { echo "$said" >&2 && return 1; }
}

# The results of one boot as JSON; the rest of the document names builds and folders.
figures() {
	"$1/ballast" lab run --fresh --instructions --seed 3 --runs 1 --cpus 1 --sched ballast \
		--bench boots --json - 2>/dev/null | tr -d ' \n' | grep -o '"samples":.*'
}

compare() {
	local program difference here there
	for program in ballast-guest scx_ballast scx_null; do
		if difference=$(cmp "$root/$programs/$program" "$copy/$programs/$program" 2>&1); then
			echo "ok same bytes in two folders: $program"
		else
			echo "FAILED same bytes in two folders: $program: $difference"
			echo "replay $0 build && $0 compare"
		fi
	done
	here=$(figures "$root")
	there=$(figures "$copy")
	if [[ -n $here && $here == "$there" ]]; then
		echo 'ok same figures in two folders'
	else
		echo "FAILED same figures in two folders: \`${here:0:200}\` and \`${there:0:200}\`"
		echo "replay $0 build && $0 compare"
	fi
}

case ${1-} in
build) build ;;
compare) compare ;;
*)
	echo 'folders.sh: one of build, compare' >&2
	exit 2
	;;
esac
