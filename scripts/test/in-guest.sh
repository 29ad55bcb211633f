#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs inside a guest of 2 CPUs: in-guest.sh SCX_BALLAST TOPIC…. Ends with 0, or with a line that
# says what was wrong in which topic. The lab itself adds: no kernel warning, the guest ends well.
scx=$1
shift
topic=start
log=/tmp/scx.log
sysfs=/sys/kernel/sched_ext

wrong() {
	echo "$topic: $*; $(tail -n 3 "$log" | tr '\n' ' ')" >&2
	exit 1
}

# until_true SECONDS COMMAND…: waits for COMMAND to succeed.
until_true() {
	left=$(($1 * 20))
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.05
	done
}

# beside COMMAND…: runs it until the topic ends.
beside() {
	"$@" &
	children="$children $!"
}

in_charge() { [ "$(cat $sysfs/state)" = enabled ]; }
loaded_anew() { in_charge && [ "$(cat $sysfs/enable_seq)" != "$sequence" ]; }
busy() { while :; do :; done; }
# Ticks that process $1 spent in user mode: the 14th word.
ran() {
	read -r line <"/proc/$1/stat"
	# shellcheck disable=SC2086
	set -- $line
	shift 13
	echo "$1"
}

hotplug() { # the kernel ends a scheduler when a CPU comes or goes; ours loads itself again
	for i in 1 2 3 4; do beside busy; done
	for online in 0 1; do
		sequence=$(cat $sysfs/enable_seq)
		echo $online >/sys/devices/system/cpu/cpu1/online
		until_true 20 loaded_anew || wrong "not in charge again after online=$online"
	done
	taskset -c 1 sleep 0 || wrong 'nothing runs on the CPU that came back'
}

refusals() { # one line and status 3
	"$scx" >/tmp/second 2>&1
	[ $? = 3 ] || wrong "a second one ended with another status than 3: $(cat /tmp/second)"
	grep -q 'another sched_ext scheduler is loaded (ballast' /tmp/second || wrong "$(cat /tmp/second)"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$scx" >/tmp/other 2>&1
	[ $? = 3 ] || wrong "without root it ended with another status than 3: $(cat /tmp/other)"
	grep -q 'not root' /tmp/other || wrong "$(cat /tmp/other)"
	[ "$(cat /tmp/second /tmp/other | wc -l)" = 2 ] || wrong "more than a line: $(cat /tmp/second /tmp/other)"
}

churn() { # masks, nice values and policies that change all the time, tasks that come and go
	for i in 1 2 3 4 5 6; do beside busy; done
	tasks=$children
	for i in 1 2 3 4 5 6 7 8 9 10; do
		for task in $tasks; do
			taskset -pc $((i % 2)) "$task" >/dev/null || wrong "task $task is gone"
			chrt -a -i -p 0 "$task"
			taskset -pc 0-1 "$task" >/dev/null
			chrt -a -o -p 0 "$task"
			renice -n $((i * 2 - 1)) -p "$task" >/dev/null
			(busy) &
			kill $!
		done
	done
	i=0
	for task in $tasks; do taskset -pc $((i = 1 - i)) "$task" >/dev/null; done
	before=$(for task in $tasks; do ran "$task"; done)
	sleep 2 # three pinned to each CPU, of equal weight: a third of that for each
	for task in $tasks; do
		first=${before%%
*}
		before=${before#*
}
		[ "$(ran "$task")" -gt "$first" ] || wrong "task $task has not run for 2 s"
	done
}

ended() { # none of our processes is left; the shell buries them
	for process; do ! kill -0 "$process" 2>/dev/null || return 1; done
}

realtime() { # wakees of a CPU that a real-time loop occupies are taken by the other one
	# nobody else helps them: no server of the deadline class for what real-time tasks starve
	mount -t debugfs debugfs /sys/kernel/debug || wrong 'no debugfs'
	for server in fair ext; do
		runtime=/sys/kernel/debug/sched/${server}_server/cpu1/runtime
		[ ! -e $runtime ] || echo 0 >$runtime || wrong "$runtime"
	done
	beside taskset -c 1 sh -c 'while :; do :; done'
	# one task may wait in the kernel's local queue, and it need not be one of ours: several rounds
	for round in 1 2 3 4 5; do
		sleepers=
		for i in 1 2 3 4; do
			taskset -c 1 sleep 0.1 &
			sleepers="$sleepers $!"
		done
		sleep 0.05
		# shellcheck disable=SC2086
		kill -STOP $sleepers
		sleep 0.2
		for sleeper in $sleepers; do taskset -pc 0-1 "$sleeper" >/dev/null; done
		chrt -f 50 taskset -c 1 sh -c 'while :; do :; done' &
		loop=$!
		sleep 0.2
		# woken by a task of CPU 0, which does not idle then
		# shellcheck disable=SC2086
		taskset -c 0 sh -c 'kill -CONT "$@"' sh $sleepers
		# shellcheck disable=SC2086
		until_true 20 ended $sleepers || wrong "the wakees of round $round wait for the end of the real-time loop"
		kill $loop
		wait $loop
	done
}

"$scx" >"$log" 2>&1 &
pid=$!
until_true 20 in_charge || wrong 'not in charge'

for topic; do
	children=
	$topic
	in_charge || wrong 'ejected'
	# shellcheck disable=SC2086
	[ -z "$children" ] || { kill $children && wait $children; }
	echo "ok $topic"
done
topic=end
kill -INT $pid
wait $pid || wrong "ended with status $?"
