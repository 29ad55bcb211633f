#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same sources, built in another folder, give the same bytes and the same figures.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")")
work=$(mktemp -d "${TMPDIR:-/tmp}/ballast-folders.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
copy="$work/a-folder-with-another-and-longer-name"
programs=target/x86_64-unknown-linux-gnu/release

mkdir "$copy"
tar -C "$root" --exclude=./target --exclude=./.git -cf - . | tar -C "$copy" -xf - || exit 1
# The libraries' sources lie in one place for both; what is ours is built anew.
tar -C "$root" -cf - target/release target/x86_64-unknown-linux-gnu | tar -C "$copy" -xmf - || exit 1
"$copy/ballast" --yes --version >/dev/null 2>"$work/build" || { cat "$work/build" && exit 1; }

for program in ballast-guest scx_ballast scx_null; do
	if difference=$(cmp "$root/$programs/$program" "$copy/$programs/$program" 2>&1); then
		echo "ok same bytes in two folders: $program"
	else
		echo "FAILED same bytes in two folders: $program: $difference"
	fi
done

# The results of one boot as JSON; the rest of the document names builds and folders.
figures() {
	"$1/ballast" lab run --fresh --instructions --seed 3 --runs 1 --cpus 1 --sched ballast \
		--bench boots --json - 2>/dev/null | tr -d ' \n' | grep -o '"samples":.*'
}
here=$(figures "$root")
there=$(figures "$copy")
if [[ -n $here && $here == "$there" ]]; then
	echo 'ok same figures in two folders'
else
	echo "FAILED same figures in two folders: \`${here:0:200}\` and \`${there:0:200}\`"
fi
