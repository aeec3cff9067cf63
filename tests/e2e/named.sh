#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Files that the user names and that a run writes while it lasts, captures and timelines: whole or not at
# all, by one run at a time, never waited for, and streams as ever.
. "$(dirname "$0")/lib.sh"
pids=
# shellcheck disable=SC2086
trap 'kill -KILL $pids 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cat >small.yaml <<'END'
version: 1
name: small
topology: {kind: star, hosts: 3}
traffic: [{class: one, pattern: incast, to: h0, size: 40KB}]
END
cat >long.yaml <<'END'
version: 1
name: long
topology: {kind: star, hosts: 9}
traffic: [{class: a, pattern: incast, to: h0, size: 900MB}]
END
run() { # EXIT OPTION FILE [ARG...]: of $options, which it says, too
	want=$1
	shift
	status=0
	# shellcheck disable=SC2086
	timeout 60 "$verbena" run "$scenario" --json "$@" $options >out 2>err || status=$?
	[ $status = "$want" ] || fail "$* $options: exit $status, expected $want"
}
line() { # TEXT: is all that it has said
	[ "$(cat err)" = "verbena: $1" ] || fail "not the line: $1"
}
whole() { # FILE
	[ -s "$1" ] && [ -f "$1" ] && [ ! -h "$1" ] || fail "$1 is no file with something in it"
	[ ! -e "$1.part" ] || fail "there is a $1.part"
}
none() { # FILE
	[ ! -e "$1" ] || fail "there is a $1"
	[ ! -e "$1.part" ] && [ ! -h "$1.part" ] || fail "there is a $1.part"
}
begin() { # FILE: in the background a run, $pid, has begun to write it
	# shellcheck disable=SC2086
	"$verbena" run ../long.yaml --json "$option" "$1" $options >/dev/null 2>"$work/begun" &
	pid=$!
	pids="$pids $pid"
	for _ in $(seq 300); do
		[ ! -s "$1.part" ] || return 0
		sleep 0.1
	done
	fail "$option $1: nothing while it runs"
}
finish() { # EXIT PID [TEXT]: ends that run, which says this
	status=0
	kill -TERM "$2"
	wait "$2" || status=$?
	[ $status = "$1" ] || fail "$option: ended with exit $status, expected $1"
	[ -z "${3-}" ] || grep -qx "verbena: $3" "$4" || fail "$option: not told: $3"
}
options=
scenario=../small.yaml
mkdir first
cd first || exit
run 0 --pcap ../model.pcap
run 0 --perfetto ../model.perf
options="--pcap-port h1-s0"
run 0 --pcap ../model.port
cd "$work" || exit

each() { # OPTION NAME: [options]
	option=$1 model=$work/model.$2
	mkdir "$2"
	cd "$2" || exit

	# Nobody is waited for, and nothing is written.
	mkfifo fifo
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' sock
	run 2 "$option" fifo --out refused
	line "$option: found the FIFO fifo, expected a file"
	[ ! -e refused ] || fail "a folder of a run that is refused"
	run 2 "$option" sock
	line "$option: found the socket sock, expected a file"
	mkdir -p dir
	run 3 "$option" dir
	line "dir: Is a directory"
	run 3 "$option" dir/
	line "dir/: Is a directory"

	ln -s fifo linked
	run 2 "$option" linked
	line "$option: found the FIFO linked, expected a file"

	# Names that lead elsewhere.
	echo mine >mine
	ln -s mine link
	ln -s ../mine dir/x.part
	mkfifo dir/y.part
	ln mine dir/z.part
	for name in link dir/x dir/y dir/z; do
		run 0 "$option" $name
		whole $name
		cmp $name "$model" || fail "$name: another file"
	done
	[ "$(cat mine)" = mine ] || fail "$option: written through a link"

	# A disk that is full.
	echo old >full
	(ulimit -f 2 && run 3 "$option" full) || exit 1
	grep -qx "verbena: full: File too large" err || fail "$option: not told what was wrong with which file"
	none full
	run 0 "$option" full
	whole full
	run 3 "$option" /dev/full
	grep -qx "verbena: /dev/full: No space left on device" err || fail "$option: not told that it is full"

	# What is bad input leaves what was there.
	echo old >old
	run 2 "$option" old --set nonsense=1
	[ "$(cat old)" = old ] && [ ! -e old.part ] || fail "$option: written with bad input"

	# While one run writes it another one is refused; of one that was killed nothing is in the way.
	begin killed
	run 3 "$option" killed
	line "killed: process $pid is writing it"
	ln killed.part another
	run 3 "$option" killed
	line "killed: process $pid is writing it"
	[ -s killed.part ] || fail "$option: a part that is being written is gone"
	rm another
	kill -KILL $pid
	wait $pid || true
	[ ! -e killed ] || fail "$option: half a file after a run that was killed"
	run 0 "$option" killed
	whole killed
	cmp killed "$model" || fail "$option: what a killed run has left is in it"

	# A part that somebody removed is another run's now: it and what was there stay.
	echo old >lost
	begin lost
	first=$pid
	mv "$work/begun" first.err
	rm lost.part
	begin lost
	finish 3 "$first" "lost: somebody has removed lost.part" first.err
	[ "$(head -c 4 lost)" = old ] || fail "$option: written without a part"
	[ -s lost.part ] || fail "$option: the part of another run is gone"
	finish 143 "$pid"
	whole lost
	[ "$(head -c 4 lost)" != old ] || fail "$option: not written"

	# What is whole and cannot have its name stays, and what has the name.
	begin kept
	mkdir kept
	finish 3 "$pid" "kept: Is a directory; what was to be there is in kept.part" "$work/begun"
	[ -s kept.part ] && [ -d kept ] || fail "$option: a whole file is gone"

	# Somebody else's part, which can be no file.
	echo old >foreign
	mkdir foreign.part
	run 3 "$option" foreign
	line "foreign.part: Is a directory"
	[ "$(cat foreign)" = old ] || fail "$option: removed without a part"

	# Streams.
	ln -s /dev/null null
	for null in /dev/null null; do
		run 0 "$option" "$null"
	done
	[ -h null ] && [ -c /dev/null ] || fail "$option: a device is replaced"
	# shellcheck disable=SC2086
	"$verbena" run ../small.yaml --json --out run "$option" /dev/../dev//stderr $options 2>&1 >/dev/null | cmp - "$model" ||
		fail "$option: another file on stderr"
	# shellcheck disable=SC2086
	"$verbena" run ../small.yaml --json --out run "$option" /dev/fd/3 $options >/dev/null 3>by || fail "$option: exit $?"
	cmp by "$model" || fail "$option: another file behind a number"
	cd "$work" || exit
}
options=
each --pcap pcap
each --perfetto perf
options="--pcap-port h1-s0"
each --pcap port

# Series say what was wrong with them, too.
options="--series 1us --series-flows all"
cat >busy.yaml <<'END'
version: 1
name: busy
topology: {kind: star, hosts: 9}
traffic: [{class: a, pattern: ring, size: 1MB}]
END
scenario=busy.yaml
(ulimit -f 40 && run 3 --out series) || exit 1
grep -qx "verbena: series/series.csv: File too large" err || fail "not told what was wrong with series.csv"
none series/series.csv
