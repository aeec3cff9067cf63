#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec --record and verbena replay: what unmodified programs said between two processes is said again in a
# fabric, as many messages and bytes as their own command lines ask for, later where there is a crowd, and after pauses as
# long as they were. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
here=$(realpath "$(dirname "$0")")
for tool in ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_write_bw cc; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
cat >idle.yaml <<'END_OF_YAML'
version: 1
name: idle
topology: {kind: star, hosts: 4, host_rate: 1Gbps}
END_OF_YAML
# Two others fill the links to h0 and h1, all the time that matters.
cp idle.yaml busy.yaml
cat >>busy.yaml <<'END_OF_YAML'
switch: {buffer: 8MiB, pfc: {priorities: [0]}}
traffic:
  - {class: crowd, pattern: incast, to: h1, from: "h[2-3]", size: 1GB, priority: 0}
  - {class: more, pattern: incast, to: h0, from: "h[2-3]", size: 1GB, priority: 0}
END_OF_YAML

# record NAME COMMAND: as a server on host 1 and a client on host 2, into NAME-1.vbt and NAME-2.vbt
record() {
	for host in 1 2; do
		to=$([ $host = 1 ] || echo 127.0.0.1)
		# shellcheck disable=SC2086
		$as timeout 60 "$work/bin/verbena" exec --host "127.$net.$host" --record "$1-$host.vbt" -- $2 $to \
			>"$1-$host.out" 2>&1 &
		[ $host = 2 ] || server=$!
		[ $host = 2 ] || for _ in $(seq 100); do
			listens && break
			sleep 0.05
		done
	done
	wait $! || fail "$1: client: $(cat "$1-2.out") server: $(cat "$1-1.out")"
	wait "$server" || fail "$1: server: $(cat "$1-1.out")"
}

# replayed NAME SCENARIO [ARG...]: into the folder NAME, all well; its digest is $digest
replayed() {
	name=$1 fabric=$2
	shift 2
	expect "${status_wanted:-0}" replay "$name-1.vbt" "$name-2.vbt" --topology "$fabric" --out "run-$name" "$@"
	digest=$(digest_of "$work/out")
}

# sums NAME: the requests of a run, by host: how many, and bytes
sums() {
	awk -F, 'NR > 1 {n[$4]++; bytes[$4] += $10; bad += $15 != "ok"}
		END {for (host in n) print host, n[host], bytes[host]; if (bad) print "bad", bad}' "run-$1/requests.csv" | sort
}

# says NAME LINE...: that these are they
says() {
	name=$1
	shift
	printf '%s\n' "$@" >want
	sums "$name" >got
	diff want got || fail "$name: other requests"
}

end_of() { # NAME: when its last request had ended, after the first began
	awk -F, 'NR > 1 {if (!first || $11 < first) first = $11; if ($12 > last) last = $12}
		END {printf "%.0f\n", (last - first) / 1000}' "run-$1/requests.csv"
}

record rc "ibv_rc_pingpong -g 1 -n 100 -s 3000 -p $port"
record ud "ibv_ud_pingpong -g 1 -n 100 -s 1000 -p $port"
record srq "ibv_srq_pingpong -g 1 -n 100 -s 3000 -q 4 -p $port"
record bw "ib_write_bw -n 500 -s 4096 -p $port"
for name in rc ud srq bw; do
	replayed "$name" idle.yaml
	first=$digest idle=$(end_of "$name")
	replayed "$name" idle.yaml --threads 2
	[ "$digest" = "$first" ] || fail "$name: another digest with two threads"
	replayed "$name" idle.yaml --through-wire
	[ "$digest" = "$first" ] || fail "$name: another digest through bytes"
	replayed "$name" idle.yaml --seed 2
	[ "$digest" != "$first" ] || fail "$name: the same digest of another seed"
	case $name in
	rc) says rc 'h0 100 300000' 'h1 100 300000' ;;
	ud) says ud 'h0 100 100000' 'h1 100 100000' ;;
	bw) says bw 'h1 500 2048000' ;;
	srq) awk -F, 'NR > 1 {n++; bytes += $10; qp[$6]} END {exit !(n >= 200 && bytes == n * 3000 && length(qp) <= 8)}' \
		run-srq/requests.csv || fail "srq: other requests" ;;
	esac
	replayed "$name" busy.yaml --until 15s
	[ "$(end_of "$name")" -gt "$idle" ] || fail "$name: not later in a crowd: $(end_of "$name") and $idle ns"
done

# What never comes: the rank says what it waits for, and at which of its calls.
sed '$a faults: [{link: h0-s0, loss: 100%}]' idle.yaml >lossy.yaml
expect 1 replay ud-1.vbt ud-2.vbt --topology lossy.yaml --out run-lossy
grep -q '^recorded, rank 0: call 5[0-9]* of ibv_ud_pingpong (process [0-9]*): it waits for completion 1 of what queue pair 0x[0-9a-f]* receives, which has not come for 60 s$' \
	"$work/err" || fail "all lost: $(cat "$work/err")"

# One process, and its pauses: five messages, each begun 10 ms after the one before it had come, and no less.
cc -o pauses "$here/exec_record.c" -I"$root/include" -libverbs 2>err || cc -o pauses "$here/exec_record.c" -L"$work/bin/transport/dropin" \
	-libverbs 2>err || fail "cc fails"
$as "$work/bin/verbena" exec --host "127.$net.1" --record pauses.vbt -- ./pauses 2>err || fail "pauses fails"
expect 0 check pauses.vbt
grep -q '^pauses.vbt: ok: 1 process on 1 host, [0-9]* calls, 5 requests of 15000 bytes, 5 messages received$' "$work/out" ||
	fail "check: $(cat "$work/out")"
expect 0 replay pauses.vbt --topology idle.yaml --out run-pauses --quiet
# How long they were is read from the file: behind 16 bytes records of a length, a kind, a process and a time in ns; 28
# is a completion, 24 a request.
python3 - pauses.vbt run-pauses/requests.csv <<'END_OF_PYTHON' || fail "pauses: $(cat run-pauses/requests.csv)"
import csv, struct, sys
data = open(sys.argv[1], "rb").read()
at, polled, were = 16, None, []
while at < len(data):
    length, kind, _, ns = struct.unpack_from("<IHHQ", data, at)
    if kind == 24 and polled:
        were.append(ns - polled)
    polled = ns if kind == 28 else polled
    at += length
rows = list(csv.DictReader(open(sys.argv[2])))
are = [(int(b["posted_ps"]) - int(a["end_ps"])) // 1000 for a, b in zip(rows, rows[1:])]
good = len(rows) == 5 and all(row["bytes"] == "3000" for row in rows) and len(were) == len(are) == 4
sys.exit(not good or not all(w >= 10_000_000 and abs(w - a) < 50_000 for w, a in zip(were, are)))
END_OF_PYTHON

# As a program of a scenario.
cp idle.yaml own.yaml
echo 'programs: [{run: pauses.vbt, hosts: [h3]}]' >>own.yaml
expect 0 run own.yaml --out run-own --quiet
[ "$(wc -l <run-own/requests.csv)" = 6 ] || fail "in a scenario: $(cat run-own/requests.csv)"
echo 'programs: [{run: pauses.vbt, hosts: [h3, h2]}]' >>idle.yaml
expect 2 check idle.yaml
grep -q 'found "pauses.vbt", expected a program (1 hosts, one for each process that was recorded)' "$work/err" ||
	fail "two hosts for one process: $(cat "$work/err")"
sed -i '/^programs/d' idle.yaml

# Killed: all up to there, in a file that is whole.
status=0
$as "$work/bin/verbena" exec --host "127.$net.1" --record killed.vbt -- ./pauses killed 2>err || status=$?
[ $status = 137 ] || fail "killed: exit $status"
expect 0 replay killed.vbt --topology idle.yaml --out run-killed
grep -q '3 requests of 9000 bytes, 3 messages received$' "$work/err" || fail "killed: $(cat "$work/err")"
[ "$(wc -l <run-killed/requests.csv)" = 4 ] || fail "killed: $(cat run-killed/requests.csv)"

# Cut off: what is there is played, and it is said.
head -c "$(($(wc -c <pauses.vbt) / 2))" pauses.vbt >cut.vbt
expect 0 replay cut.vbt --topology idle.yaml --out run-cut
grep -q '; the end of it is missing$' "$work/err" || fail "cut: $(cat "$work/err")"
for end in 1-1 2-2; do
	head -c "$(($(wc -c <"rc-${end#*-}.vbt") * 3 / 4))" "rc-${end#*-}.vbt" >"cut-${end%-*}.vbt"
done
replayed cut idle.yaml
awk -F, 'NR > 1 {n++} END {exit !(n > 0 && n < 200)}' run-cut/requests.csv || fail "two cut off: $(wc -l <run-cut/requests.csv)"

# One end alone, too few hosts, a file that is none.
expect 2 replay rc-1.vbt --topology idle.yaml
grep -q "^rc-1.vbt:1: peers: found one end, expected recordings of both ends: queue pair 0x[0-9a-f]* of ibv_rc_pingpong " \
	"$work/err" || fail "one end: $(cat "$work/err")"
expect 2 replay rc-1.vbt rc-2.vbt --topology idle.yaml --hosts h0
expect 2 replay rc-1.vbt rc-2.vbt --topology idle.yaml --hosts h0,s7
expect 2 replay idle.yaml --topology idle.yaml
grep -q '^idle.yaml:1: file: found "version:", expected a recording' "$work/err" || fail "no recording: $(cat "$work/err")"
expect 2 replay pauses.vbt
expect 2 exec --record no/such/folder.vbt -- true
[ ! -e no ] || fail "a folder was made"
[ -z "$(ls -d ./*.vbt.* 2>/dev/null)" ] || fail "left: $(ls -d ./*.vbt.*)"

# Of several processes under one command, one file; what two of them on one host say is on one host.
$as "$work/bin/verbena" exec --host "127.$net.1" --record both.vbt -- sh -c "ibv_rc_pingpong -g 1 -n 50 -s 500 -p $port &
	sleep 1; ibv_rc_pingpong -g 1 -n 50 -s 500 -p $port 127.0.0.1; wait" >out 2>err || fail "two in one"
expect 0 replay both.vbt --topology idle.yaml --out run-both
grep -q ': 2 processes on 1 host, .* 100 requests of 50000 bytes, 100 messages received$' "$work/err" || fail "two in one: $(cat "$work/err")"

# UCX, whose endpoints find each other by datagrams.
command -v ucx_perftest >/dev/null || exit 0
export UCX_NET_DEVICES=verbena0:1 UCX_WARN_UNUSED_ENV_VARS=n UCX_TLS=rc,self
record ucx "ucx_perftest -p $port -n 50 -w 5 -t tag_bw -s 3000"
replayed ucx idle.yaml
awk -F, 'NR > 1 && $4 == "h1" {bytes += $10} END {exit !(bytes >= 150000)}' run-ucx/requests.csv || fail "ucx: other requests"
