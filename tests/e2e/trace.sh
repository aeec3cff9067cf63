#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Events: as lines, as a timeline, as the place where a run ends. They are those that the counters
# count, and nobody sees that somebody listens.
. "$(dirname "$0")/lib.sh"

lossy_scenario 'kind: star, hosts: 9' 'faults: [{link: h2-s0, sender: h2, loss: 1%}]'
expect 0 run lossy.yaml --out plain
digest=$(digest_of out)

# --trace: every event is a line; threads change nothing.
expect 0 run lossy.yaml --out traced --trace all
[ "$(digest_of out)" = "$digest" ] || fail "a trace changes the digest"
grep '^[0-9]*\.[0-9]\{6\} us  ' out >trace
expect 0 run lossy.yaml --out traced --trace all --threads 3
grep '^[0-9]*\.[0-9]\{6\} us  ' out | cmp -s - trace || fail "another trace with three threads"
python3 - <<'END' || fail "the trace is not what the counters count"
import csv, json, re
r = json.load(open("plain/result.json"))
ports = [p for p in csv.DictReader(open("plain/ports.csv"))]
lines = open("trace").read().splitlines()
times = [float(l.split(" us")[0]) for l in lines]
assert times == sorted(times)
has = lambda what: sum(what in l for l in lines)
total = lambda key: sum(int(p[key]) for p in ports)
assert has(": no room") == r["drops"]["buffer"] > 0
assert has(": lost by a fault of the link") == r["drops"]["fault"] > 0
assert has(" marked here") == r["ecn"]["marked"] > 0
assert has("PFC pause") == has("XOFF") == has(" stops, ") == r["pfc"]["pause_sent"] > 0
assert has("PFC resume") == has("XON") == has(" goes on, ") == r["pfc"]["resume_sent"] > 0
assert has(" sent again") == r["flows"]["packets_retransmitted"] > 0
assert has(" CNP psn") >= r["cnp"]["sent"] > 0
data = [l for l in lines if " psn " in l and " DROP of " not in l]
assert len(data) == total("sent_packets")
for p in ports:
    mine = [l for l in data if f"  {p['node']} > {p['peer']}  " in l and f"priority {p['priority']}" in l]
    assert len(mine) == int(p["sent_packets"])
    assert sum(int(re.search(r", (\d+) bytes, priority", l)[1]) for l in mine) == int(p["sent_bytes"])
# From a threshold to who has to stop: the frame's own time and the delay of its link lie between.
xoff = next(l for l in lines if "XOFF" in l)
held, limit = map(int, re.search(r": (\d+) bytes from .* threshold is (\d+)", xoff).groups())
assert held > limit
host = re.search(r"s0 > (h\d)", xoff)[1]
stop = next(l for l in lines if f"  {host} > s0  stops" in l)
late = float(stop.split(" us")[0]) - float(xoff.split(" us")[0])
assert 1.0 + 84 * 8 / 100e3 <= late + 1e-9 < 1.0 + 84 * 8 / 100e3 + 1.3, late
END
id=$(sed -n 's/^\([0-9]*\),incast,h4,.*/\1/p' plain/flows.csv)
expect 0 run lossy.yaml --json --trace "flow=$id,port=h4-s0,until=30us"
grep '^[0-9]*\.[0-9]\{6\} us  ' err >some
holds out "r['digest'] == '$digest'"
grep -E '^[12]?[0-9]\.[0-9]* us  (h4 > s0|s0 > h4)  .*flow '"$id," trace | cmp -s - some || fail "the filter lets others through"
expect 0 run lossy.yaml --quiet --out traced --trace 'node=s0,kind=mark,kind=drop'
[ "$(grep -c ' s0 > .* \(marked here\|no room\|fault of the link\)' out)" = "$(grep -c ' us  ' out)" ] || fail "another kind"
for filter in 'flow=wr3' 'flow=wr' 'nonsense' 'port=h0-h1' 'node=nobody' 'qp=x' 'kind=nothing' 'until=5' 'flow=99999' ''; do
	expect 2 run lossy.yaml --out refused --trace "$filter"
	[ "$(wc -l <err)" = 1 ] && grep -q '^verbena: --trace: found .*, expected ' err || fail "--trace $filter: another line"
done
[ ! -e refused ] || fail "a bad filter writes something"

# --perfetto: valid JSON, and every span that begins ends.
expect 0 run lossy.yaml --json --perfetto time.json
holds out "r['digest'] == '$digest'"
python3 - <<'END' || fail "not the timeline that it should be"
import collections, csv, json
r = json.load(open("plain/result.json"))
flows = list(csv.DictReader(open("plain/flows.csv")))
events = json.load(open("time.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
assert sorted(names.values()) == sorted([f"h{i}" for i in range(9)] + ["s0"])
instants = collections.Counter(e["name"] for e in events if e["ph"] == "i")
assert instants["drop"] == r["drops"]["buffer"] + r["drops"]["fault"] and instants["ECN mark"] == r["ecn"]["marked"]
assert instants["sent again"] == r["flows"]["packets_retransmitted"]
assert instants["PFC pause sent"] == r["pfc"]["pause_sent"]
spans = collections.defaultdict(list)
for e in events:
    if e["ph"] in "be":
        spans[e["cat"], e["id"]].append((e["ph"], round(e["ts"] * 10**6), names[e["pid"]]))
paused = 0
for (cat, id), s in spans.items():
    assert [x[0] for x in s] == ["b", "e"] * (len(s) // 2)
    assert all(a[1] <= b[1] for a, b in zip(s, s[1:]))
    if cat == "flow":
        f = flows[int(id[1:])]
        assert s[0][1:] == (int(f["start_ps"]), f["src"]) and s[1][1] == int(f["end_ps"])
    else:
        paused += sum(e[1] - b[1] for b, e in zip(s[::2], s[1::2]))
assert sum(c == "flow" for c, _ in spans) == len(flows) and paused == r["pfc"]["paused_ps"]
queue = [v for e in events if e["ph"] == "C" for v in e["args"].values()]
assert max(queue) <= r["queue"]["max_bytes"] and max(queue) > r["queue"]["max_bytes"] / 2
END
# Programs: a thread for each rank, and of each request a span as long as requests.csv has it.
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: pingpong_write, hosts: [h0, h1]}, {run: ring, hosts: [h2, h1, h0]}]\n' >two.yaml
expect 0 run two.yaml --quiet --out two --perfetto two.json
python3 - <<'END' || fail "not the requests of programs"
import csv, json
rows = {r["id"]: r for r in csv.DictReader(open("two/requests.csv"))}
events = json.load(open("two.json"))["traceEvents"]
hosts = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
assert sorted((hosts[pid], name) for (pid, _), name in threads.items()) == sorted(
    [("h0", "pingpong_write rank 0"), ("h1", "pingpong_write rank 1"), ("h2", "ring rank 0"), ("h1", "ring rank 1"), ("h0", "ring rank 2")])
spans = [e for e in events if e.get("cat") == "request"]
assert len(spans) == 2 * len(rows) > 40
for b, e in zip(spans[::2], spans[1::2]):
    r = rows[b["id"]]
    assert (b["ph"], e["ph"], e["id"], e["args"]["status"]) == ("b", "e", b["id"], r["status"])
    assert (round(b["ts"] * 10**6), round(e["ts"] * 10**6)) == (int(r["posted_ps"]), int(r["end_ps"]))
    assert threads[b["pid"], b["tid"]] == f"{r['program']} rank {r['rank']}" and hosts[b["pid"]] == r["src"]
    assert b["name"] == f"{r['program']}.{r['rank']} QP {r['qpn']}" and e["args"]["opcode"] == r["opcode"]
END
expect 3 run lossy.yaml --json --perfetto /dev/full
expect 3 run lossy.yaml --json --perfetto no/such/folder

# --break-on: there, and with what led to it.
stops() { # CONDITION LINE-OF-THE-TRACE: ends at the first such line
	expect 0 run lossy.yaml --quiet --out broken --break-on "$1"
	line=$(grep -m 1 -E "$2" trace)
	[ "$(tail -n 1 err)" = "> $line" ] || fail "$1: stops elsewhere than at $line"
	grep -qx "stopped: $1, at ${line%% us *} us" err || fail "$1: another time"
	holds broken/result.json 'r["partial"] is True'
}
stops 'drop at s0' ': no room'
stops 'drop' ' DROP of .*'
stops 'drop at h2' '  h2 > s0  DROP .*: lost by a fault of the link'
stops 'pause from s0 to h5' 's0 > h5  PFC pause'
stops 'resume' 'PFC resume'
stops 'mark' ' marked here'
stops 'cnp to h4' '  h[0-9] > s0  CNP .* of h4,'
stops 'nak' ', NAK, '
stops 'retransmission from h2' '  h2 > s0  .* sent again'
[ "$(grep -c "^  [0-9]" err)" -ge 5 ] || fail "no context"
expect 0 run lossy.yaml --quiet --out broken --break-on 'queue h1-s0 > 100KB'
grep -q '^stopped: queue h1-s0 > 100KB, in the window that begins at [0-9.]* us$' err || fail "queue: not stopped"
expect 0 run lossy.yaml --quiet --out broken --break-on 'flow 5 ends'
end=$(sed -n 's/^5,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,\([0-9]*\),.*/\1/p' plain/flows.csv)
at=$(sed -n 's/^stopped: flow 5 ends, at \([0-9]*\)\.\([0-9]*\) us$/\1\2/p' err)
[ "$((at))" = "$end" ] || fail "flow 5 ends at $end, not $at"
# What led to it was before it, at the node where it was; the stop itself stands behind it.
before() { # what stands in err: LINES-OF-THE-TRACE NODE
	python3 - "$1" "$2" <<'END' || fail "other lines led to it: $(cat err)"
import re, sys
at = lambda line: int(re.match(r"(\d+)\.(\d{6}) us", line)[0].replace(".", "").split()[0])
said = open("err").read().splitlines()
stop = next(l for l in said if l.startswith("> "))[2:]
lines = [l[2:] for l in said if l.startswith("  ")]
node = sys.argv[2]
own = [l for l in open(sys.argv[1]).read().splitlines()
       if re.match(r"\d", l) and at(l) <= at(stop) and f" {node} " in f" {' '.join(l.split()[2:5])} "]
assert said[-1] == "> " + stop and lines == own[-10:] and len(lines) == 10, (stop, lines, own[-10:])
END
}
before trace "$(sed -n 's/^5,[^,]*,\([^,]*\),.*/\1/p' plain/flows.csv)"
tail -n 1 err | grep -qx "> ${at%??????}\.[0-9]* us  h[0-9]  flow 5 ends" || fail "no stop: $(tail -n 1 err)"
expect 1 run lossy.yaml --quiet --out broken --break-on 'queue h0-s0 > 1GB'
grep -q 'it never came to that' err || fail "nothing about what never came"
holds broken/result.json "r['partial'] is False and r['digest'] == '$digest'"
for condition in 'drop on s0' 'drop at nobody' 'drop at' 'queue h0-s0 > 5' 'queue h0-h9 > 5KB' 'qp x enters ERR' \
	'flow 99 ends' 'wr3 ends' 'wr ends' 'wr3' 'pause from' 'a b c d e f' ''; do
	expect 2 run lossy.yaml --out refused --break-on "$condition"
	[ "$(wc -l <err)" = 1 ] && grep -q '^verbena: --break-on: found .*, expected ' err || fail "--break-on $condition: another line"
done

expect 2 run lossy.yaml --out refused --break-on 'queue h0-s0 > 200000'
grep -qx 'verbena: --break-on: found "200000", which has no unit, expected bytes such as 100KB' err || fail "no word of the unit: $(cat err)"

# Programs cannot take standard output away from it, nor a full disk.
printf 'version: 1\ntopology: {kind: star, hosts: 2}\nprograms: [{run: pingpong_write, hosts: [h0, h1]}]\n' >pingpong.yaml
expect 0 run pingpong.yaml --quiet --trace kind=data
[ "$(grep -c ' RC_WRITE' out)" -gt 10 ] || fail "no trace beside a program"
status=0
"$verbena" run pingpong.yaml --quiet --trace all >/dev/full 2>err || status=$?
[ $status = 3 ] || fail "a trace onto a full disk: exit $status"

# A work request of a program by its name, and a queue pair by its number at either end: all that goes there and back.
expect 0 run pingpong.yaml --quiet --out named --trace all
grep '^[0-9]*\.[0-9]\{6\} us  ' out >trace
python3 - <<'END'
import csv
row = list(csv.DictReader(open("named/requests.csv")))[3]
open("qpn", "w").write(row["qpn"])
open("end", "w").write(f"{int(row['end_ps']) // 10**6}.{int(row['end_ps']) % 10**6:06} us  {row['src']}  wr3 ends")
open("src", "w").write(row["src"])
END
expect 0 run pingpong.yaml --quiet --out named --trace "qp=$(cat qpn)"
grep ' us  ' out | cmp -s - trace || fail "not both ways of a queue pair"
expect 0 run pingpong.yaml --quiet --out named --trace flow=wr3
grep -c 'RC_WRITE' out >writes
grep -c 'RC_ACK' out >acks
[ "$(cat writes)" -ge 2 ] && [ "$(cat acks)" = 2 ] || fail "another number of packets of wr3: $(cat out)"
grep ' us  ' out >some
grep -Fxf some trace | cmp -s - some || fail "wr3: others than in the trace"
expect 0 run pingpong.yaml --quiet --out named --break-on 'wr3 ends'
[ "$(tail -n 1 err)" = "> $(cat end)" ] || fail "wr3 ends elsewhere than $(cat end): $(tail -n 1 err)"
before trace "$(cat src)"
expect 1 run pingpong.yaml --quiet --out named --break-on 'wr99999 ends'
grep -q 'it never came to that' err || fail "nothing about what never came"

# A queue pair of a program that ends in error.
cat >program.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
programs: [{run: write_once, hosts: [h0, h1]}]
faults: [{link: h0-s0, loss: 100%}]
END
expect 1 run program.yaml --json
qp=$(sed -n 's/.* of QP \(0x[0-9a-f]*\): transport retries exceeded.*/\1/p' err)
expect 0 run program.yaml --json --break-on "qp $qp enters ERR"
grep -q "^stopped: qp $qp enters ERR, in the window that begins at [0-9.]* us$" err || fail "qp: not stopped"

# Two senders fill the queue with a frame of 1106 bytes in the time of each that leaves: the first that is
# marked for what it finds, 37 frames, leaves when as many again and the last have come behind it; the
# first that is marked for what it leaves behind has those 37.
cat >mark.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3, delay: 20us}
switch: {buffer: 8MiB, ecn: {kmin: 40KB, kmax: 40KB, pmax: 100%}}
nic: {cc: dcqcn, mtu: 1024}
traffic: [{pattern: incast, to: h0, size: 102400B}]
END
for mark in "enqueue 81844" "dequeue 40922"; do
	expect 0 run mark.yaml --quiet --out mark --set "switch.ecn.mark=${mark% *}" --trace kind=mark
	sed -n 1p out | grep -q " CE marked here, ${mark#* } bytes behind it$" || fail "marked at another ${mark% *}"
done
