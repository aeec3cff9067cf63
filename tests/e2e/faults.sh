#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec --faults: what a program then sees, by errno, status, vendor_err, events and states, and the same each
# time; and what is wrong with a file of faults. $4: tests/e2e/pair.c, built.
. "$(dirname "$0")/lib.sh"
pair=$4
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE VERBENA_IMPAIR VERBENA_SEED \
	VERBENA_PROFILE VERBENA_FAULTS
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have

# meets FAULT PAIR-OPTIONS LINE...: with this one fault, the program says these lines, each time
meets() {
	printf 'faults:\n  - {%s}\n' "$1" >faults.yaml
	options=$2
	shift 2
	printf '%s\n' "$@" >want
	for _ in 1 2; do
		# shellcheck disable=SC2086
		expect 0 exec --host "127.$net.1" --faults faults.yaml -- timeout 30 "$pair" $options
		diff want out || fail "$(cat faults.yaml)"
	done
}
well='states 3 3, port 4'

# Posts.
meets 'post: ENOMEM, nth: 3' '-n 5' 'post 3 ENOMEM' "done 4, $well"
meets 'post: EINVAL, nth: 2, count: 3' '-n 6 -o write' 'post 2 EINVAL' 'post 3 EINVAL' 'post 4 EINVAL' "done 3, $well"
meets 'post: ENOSPC, op: read' '-n 3 -o write' "done 3, $well"
meets 'post: ENOSPC, op: read' '-n 2 -o read' 'post 1 ENOSPC' "done 1, $well"
meets 'post: EIO, op: recv, nth: 2' '-n 1' "done 1, $well"
meets 'post: EIO, op: atomic, nth: 2' '-n 3 -o atomic' 'post 2 EIO' "done 2, $well"
meets 'post: EIO, qp: 2' '-n 3' "done 3, $well"
meets 'post: EIO, qp: 1, nth: 3' '-n 3' 'post 3 EIO' "done 2, $well"
meets 'post: EIO, program: other' '-n 3' "done 3, $well"
meets 'post: EIO, program: pair' '-n 2' 'post 1 EIO' "done 1, $well"

# Completions: what was to be said is another thing, the queue pairs are well.
meets 'completion: retry_exc_err, vendor_err: 129, op: write, nth: 2' '-n 3 -o write' 'send 2 12 0x81' "done 2, $well"
meets 'completion: rem_access_err, op: recv, nth: 2, count: 2' '-n 3' 'recv 2 10 0' 'recv 3 10 0' "done 3, $well"
meets 'completion: general_err, op: read, vendor_err: 7' '-n 1 -o read' 'send 1 21 0x7' "done 0, $well"

# The port: an event, queue pairs in error, and what is posted then comes back flushed.
meets 'port: down, nth: 3' '-n 4 -o write -e 1' 'send 3 5 0' 'send 4 5 0' 'event 10' 'done 2, states 6 6, port 1'
meets 'port: down, nth: 2, flush: no' '-n 2 -o write -e 1' 'send 2 12 0' 'event 10' 'done 1, states 6 3, port 1'
cat >two.yaml <<'END'
faults:
  - {port: down, nth: 2, flush: no}
  - {port: up, nth: 3}
END
expect 0 exec --host "127.$net.1" --faults two.yaml -- timeout 30 "$pair" -n 3 -o write -e 2
printf '%s\n' 'send 2 12 0' 'send 3 5 0' 'event 10' 'event 9' 'done 1, states 6 3, port 4' | diff - out || fail "down and up"
sed -i '2,$d' two.yaml
printf '  - {port: %s, nth: %s, flush: no}\n' down 2 >>two.yaml
printf '  - {port: up, nth: 3}\n  - {port: down, nth: 4, flush: no}\n' >>two.yaml
expect 0 exec --host "127.$net.1" --faults two.yaml -- timeout 30 "$pair" -n 4 -o write -e 2
grep -o '^event .*\|port .*' out | tr '\n' ' ' | grep -qx 'event 9 event 10 port 1 ' || fail "down, up and down: $(cat out)"

# The receiver is not ready: as often as is said, and at last too often (3 times again).
meets 'rnr: 3, nth: 2' '-n 4 -f /sys/class/infiniband/verbena0/ports/1/hw_counters/rnr_nak_retry_err' "done 4, $well" 3
meets 'rnr: 4, nth: 2' '-n 2' 'send 2 13 0' 'done 1, states 6 3, port 4'
meets 'rnr: 4' '-n 3 -o write' "done 3, $well"

# The end of the device, in the middle.
printf 'faults:\n  - {device: fatal, nth: 2}\n' >faults.yaml
expect 0 exec --host "127.$net.1" --faults faults.yaml -- timeout 30 "$pair" -n 3 -o write -e 1
grep -qx 'send 2 5 0' out && grep -qx 'post 3 EIO' out && grep -qx 'event 8' out && grep -q '^done 1, ' out ||
	fail "fatal: $(cat out)"

# By time, which comes by itself: before the first request, where its events are waited for.
meets 'port: down, at: 500ms' '-n 1 -o write -e 1 -w' 'event 10' 'send 1 5 0' 'done 0, states 6 6, port 1'
meets 'port: down, at: 0.4s, for: 100ms, flush: no' '-n 2 -o write -e 2 -w' 'event 10' 'event 9' "done 2, $well"
meets 'post: ENOMEM, at: 0s, for: 1000s' '-n 3' 'post 1 ENOMEM' 'post 2 ENOMEM' 'post 3 ENOMEM' "done 0, $well"
meets 'post: ENOMEM, for: 1000s, nth: 2, count: 1' '-n 3' 'post 2 ENOMEM' "done 2, $well"
meets 'post: ENOMEM, at: 1000s' '-n 3' "done 3, $well"
meets 'post: EIO, at: 200ms, nth: 2' '-n 3 -t 300000' 'post 2 EIO' "done 2, $well"
meets 'completion: general_err, op: write, for: 1000s' '-n 2 -o write' 'send 1 21 0' 'send 2 21 0' "done 0, $well"
meets 'completion: general_err, at: 1000s' '-n 2' "done 2, $well"
meets 'rnr: storm, for: 1000s' '-n 1' 'send 1 13 0' 'done 0, states 6 3, port 4'
meets 'rnr: storm, for: 1000s' '-n 2 -o write' "done 2, $well"
meets 'rnr: 4, at: 1000s' '-n 2' "done 2, $well"
meets 'rnr: 4, at: 100ms' '-n 1 -t 200000' 'send 1 13 0' 'done 0, states 6 3, port 4'
meets 'rnr: storm, at: 1000s, for: 1s' '-n 2' "done 2, $well"
begun=$(date +%s%N)
meets 'rnr: storm, for: 400ms' '-n 1 -i' "done 1, $well"
took=$((($(date +%s%N) - begun) / 1000000))
[ "$took" -ge 800 ] || fail "two storms of 400 ms were over in $took ms"
printf 'faults:\n  - {device: fatal, at: 400ms}\n' >faults.yaml
expect 0 exec --host "127.$net.1" --faults faults.yaml -- timeout 30 "$pair" -n 1 -o write -e 1 -w
head -2 out | tr '\n' ' ' | grep -qx 'event 8 post 1 EIO ' || fail "fatal, by time: $(cat out)"

# Files that are wrong: one line each, and nothing is run.
refused() { # TEXT LINE
	printf '%s\n' "$1" >wrong.yaml
	expect 2 exec --faults wrong.yaml -- touch ran
	[ "$(cat err)" = "$2" ] || fail "$1: $(cat err)"
	[ ! -e ran ] || fail "$1: it ran"
}
refused 'faults: [{post: ENONSENSE}]' 'wrong.yaml:1: post: found "ENONSENSE", expected the name of an errno, such as ENOMEM'
refused 'faults: [{completion: bad}]' 'wrong.yaml:1: completion: found "bad", expected a status in small letters, such as retry_exc_err'
refused 'faults: [{port: sideways}]' 'wrong.yaml:1: port: found "sideways", expected down or up'
refused 'faults: [{rnr: 0}]' 'wrong.yaml:1: rnr: found "0", expected a number from 1 to 2^32 - 1, or storm'
refused 'faults: [{device: gone}]' 'wrong.yaml:1: device: found "gone", expected fatal'
refused 'faults: [{post: EIO, port: down}]' 'wrong.yaml:1: port: found "down", expected one fault in each entry'
refused 'faults: [{nth: 3}]' 'wrong.yaml:1: faults: found a map, expected a map with one of post, completion, port, rnr or device'
refused 'faults: [{post: EIO, nth: 0}]' 'wrong.yaml:1: nth: found "0", expected a number from 1 to 2^32 - 1'
refused 'faults: [{post: EIO, op: sendd}]' 'wrong.yaml:1: op: found "sendd", expected send, write, read, atomic or recv'
refused 'faults: [{port: down, flush: maybe}]' 'wrong.yaml:1: flush: found "maybe", expected yes or no'
refused 'faults: [{post: EIO, program: "a:b"}]' "wrong.yaml:1: program: found \"a:b\", expected the name of a program's file"
refused 'faults: [{port: down, at: 20}]' 'wrong.yaml:1: at: found "20", expected a time, 0s or whole nanoseconds, such as 20ms'
refused 'faults: [{port: down, at: 1500ps}]' 'wrong.yaml:1: at: found "1500ps", expected a time, 0s or whole nanoseconds, such as 20ms'
refused 'faults: [{port: down, for: 0s}]' 'wrong.yaml:1: for: found "0s", expected a time of 1ns or more, such as 20ms'
refused 'faults: [{rnr: storm, at: 1s}]' 'wrong.yaml:1: rnr: found "storm", expected for beside storm: how long it lasts'
refused 'faults: [{port: down, at: 1s, nth: 3}]' 'wrong.yaml:1: nth: found "3", expected either a time or a count of requests'
refused 'faults: [{device: fatal, qp: 3, at: 1s}]' 'wrong.yaml:1: qp: found "3", expected either a time or a count of requests'
refused 'faults: [{rnr: storm, for: 1s, nth: 2}]' 'wrong.yaml:1: nth: found "2", expected either a time or a count of requests'
refused 'faults: []' 'wrong.yaml:1: faults: found a list, expected a list of faults'
refused 'faultz: [{post: EIO}]
faults: [{post: EIO}]' 'wrong.yaml:1: faultz: found an unknown key, expected faults'
for text in 'faults: [{port: up, vendor_err: 3}]' 'faults: [{completion: loc_len_err, vendor_err: -1}]' 'faults: {' 'x' \
	'faults: [{rnr: 5, for: 1s}]' 'faults: [{port: up, for: 1s}]' 'faults: [{device: fatal, for: 1s}]' \
	'faults: [{post: EIO, flush: yes}]' 'faults: [{rnr: 1, qp: 2}]'; do
	printf '%s\n' "$text" >wrong.yaml
	expect 2 exec --faults wrong.yaml -- touch ran
	grep -q '^wrong.yaml:[12]: ' err || fail "$text: $(cat err)"
done
expect 2 exec --faults nowhere.yaml -- touch ran
expect 2 exec --faults '' -- touch ran
python3 -c 'print("faults:"); [print("  - {post: EIO}") for i in range(33)]' >wrong.yaml
expect 2 exec --faults wrong.yaml -- touch ran
grep -q '^wrong.yaml:34: .*expected at most 32 faults$' err || fail "33 faults: $(cat err)"
for text in 'x' '9:1:1:1:1:1:1:0:0:-' '0:1:1:0:1:1:1:0:0:-' '0:31:0:1:1:5:0:0:0:-;x'; do
	VERBENA_FAULTS=$text expect 2 exec -- true
	grep -q VERBENA_FAULTS err || fail "VERBENA_FAULTS=$text: $(cat err)"
done

# Other people's programs.
command -v ibv_rc_pingpong >/dev/null || exit 0
printf 'faults:\n  - {post: ENOMEM, op: send, nth: 5}\n' >faults.yaml
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
timeout 30 "$verbena" exec --host "127.$net.1" -- ibv_rc_pingpong -g 1 -n 100 -p "$port" >server.out 2>&1 &
for _ in $(seq 100); do
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{print $2, $4}' | grep -q "$(printf ':%04X 0A' "$port")" && break
	sleep 0.05
done
status=0
timeout 30 "$verbena" exec --host "127.$net.2" --faults faults.yaml -- ibv_rc_pingpong -g 1 -n 100 -p "$port" 127.0.0.1 \
	>out 2>err || status=$?
[ "$status" = 1 ] && grep -q "Couldn't post send" err || fail "ibv_rc_pingpong: $status"
kill $! 2>/dev/null || true
wait || true
