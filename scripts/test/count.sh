# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced: runs stages and counts what they print.
#
# A stage is a command. Each line of its output that begins with one of these words is one test:
#     ok NAME…        FAILED NAME: why        MISSED NAME: why        skipped NAME: what is missing
# A line `replay COMMAND` right after a failure is the one command that runs it again; without it
# the stage's own command is. All other lines are shown as they are. A stage that ends with an
# error without having named a failure, or that counts nothing at all, is itself one failure.

passed=0 failed=0 skipped=0
failures=() skips=()

# stage TITLE COMMAND…
stage() {
	local title=$1 line status begin=$SECONDS before=$((passed + failed + skipped)) bad=$failed
	shift
	local own="$*"
	[[ $1 != aside_end ]] || own='./ballast test'
	printf '%s\n' "$title"
	while IFS= read -r line || [[ -n $line ]]; do
		case $line in
		'ok '*) passed=$((passed + 1)) ;;
		'FAILED '* | 'MISSED '*)
			failed=$((failed + 1))
			failures+=("$line" "$own")
			;;
		'skipped '*)
			skipped=$((skipped + 1))
			skips+=("$line")
			;;
		'replay '*)
			((${#failures[@]} == 0)) || failures[-1]=${line#replay }
			continue
			;;
		esac
		printf '  %s\n' "$line"
	done < <("$@" 2>&1)
	status=0
	wait $! || status=$?
	if ((status != 0 && failed == bad)); then
		line="FAILED $title: ended with status $status (above)"
	elif ((passed + failed + skipped == before)); then
		line="FAILED $title: not one test was counted"
	else
		line=
	fi
	if [[ -n $line ]]; then
		failed=$((failed + 1))
		failures+=("$line" "$own")
		printf '  %s\n' "$line"
	fi
	printf '  (%d s)\n' $((SECONDS - begin))
}

# aside FUNCTION…: runs them one after another beside the stages that follow, and beside those of
# other calls. What they print and how they end is kept; `stage TITLE aside_end FUNCTION` waits for
# one and counts it.
declare -A aside_groups # by function
aside() {
	local task
	[[ -n ${aside_folder-} ]] || aside_folder=$(mktemp -d "${TMPDIR:-/tmp}/ballast-aside.XXXXXX")
	set -m # a process group of its own, so that all of it can be ended
	aside_run "$@" </dev/null &
	set +m
	for task; do aside_groups[$task]=$!; done
	trap 'kill -- "${aside_groups[@]/#/-}" 2>/dev/null; rm -rf -- "$aside_folder"' EXIT
}
aside_run() {
	local task status begin
	for task; do
		status=0 begin=$SECONDS
		"$task" >"$aside_folder/$task" 2>&1 || status=$?
		printf '(%d s, beside other stages)\n' $((SECONDS - begin)) >>"$aside_folder/$task"
		echo "$status" >"$aside_folder/.$task"
		mv "$aside_folder/.$task" "$aside_folder/$task.status"
	done
}
aside_end() {
	while kill -0 "${aside_groups[$1]}" 2>/dev/null && [[ ! -e $aside_folder/$1.status ]]; do sleep 0.2; done
	cat -- "$aside_folder/$1"
	return "$(<"$aside_folder/$1.status")"
}

# What failed and how to run it again, what was skipped, and the last line. False on failures.
totals() {
	local i
	((${#failures[@]} == 0)) || printf '\nFailed:\n'
	for ((i = 0; i < ${#failures[@]}; i += 2)); do
		printf '  %s\n      again: %s\n' "${failures[i]}" "${failures[i + 1]}"
	done
	((${#skips[@]} == 0)) || printf '\nSkipped:\n'
	((${#skips[@]} == 0)) || printf '  %s\n' "${skips[@]}"
	printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	((failed == 0))
}
