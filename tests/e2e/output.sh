#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a run prints and leaves behind.
. "$(dirname "$0")/lib.sh"

# Without --json: files, and the last two lines.
expect 0 run small.yaml
nothing_else small.yaml verbena-out
[ "$(tail -n 2 out | cut -d: -f1 | tr '\n' ' ')" = "digest report " ] || fail "other last lines"
digest=$(digest_of out)
[ -n "$digest" ] || fail "no digest"
report=$(sed -n 's/^report: //p' out)
[ -e "$report" ] || fail "no report at $report"
for file in result.json flows.csv ports.csv report.html; do
	[ -s "verbena-out/small/$file" ] || fail "no $file"
done
! ls verbena-out/small/*.part 2>/dev/null || fail "something half done"
grep -q '^incast ' out || fail "no table"
result="verbena-out/small/result.json"

# Every key of the interface, with its type, and figures that agree with each other.
holds $result 'list(r)[:10] == ["schema", "version", "scenario", "seed", "digest", "partial", "time_ps", "wall_s", "events", "packet_hops"]'
holds $result 'r["schema"] == 2 and r["scenario"] == "small" and r["seed"] == 1'
holds $result "r['digest'] == '$digest' and r['partial'] is False and isinstance(r['wall_s'], float)"
holds $result 'r["flows"] == {"posted": 15, "completed": 15, "failed": 0, "unfinished": 0, "bytes_posted": 860000, "bytes_delivered": 860000, "packets_retransmitted": 0}'
holds $result 'set(r["drops"]) == {"buffer", "fault", "no_route", "icrc", "ttl", "mtu", "watchdog", "unknown"}'
holds $result 'set(r["drops"].values()) == {0}'
holds $result 'set(r["pfc"]) == {"pause_sent", "resume_sent", "paused_ps", "paused_at_end", "storms", "storms_over"} and r["ecn"]["marked"] > 0'
holds $result 'r["cnp"]["sent"] >= r["cnp"]["handled"] > 0 and r["queue"]["max_bytes"] > 20000'
holds $result 'set(r["fct"]) == {"incast", "ring"} and r["fct"]["incast"]["count"] == 7 and r["fct"]["ring"]["count"] == 8'
holds $result 'all(set(c) == {"count", "mean_ps", "p50_ps", "p99_ps", "p999_ps", "slowdown_mean", "slowdown_p99", "goodput_bps"} for c in r["fct"].values())'
holds $result 'all(c["p50_ps"] <= c["p99_ps"] <= c["p999_ps"] and c["slowdown_mean"] >= 1.0 for c in r["fct"].values())'
holds $result 'all(isinstance(v, int) == (not k.startswith("slowdown")) for c in r["fct"].values() for k, v in c.items())'
holds $result 'r["expect"] == []'
holds $result 'r["programs"][0]["failed"] == 0 and [k["host"] for k in r["programs"][0]["ranks"]] == ["h1", "h6", "h3"]'

python3 - verbena-out/small <<'END' || fail "the CSV files disagree with result.json"
import csv, json, math, sys
base = sys.argv[1]
r = json.load(open(base + "/result.json"))
flows = open(base + "/flows.csv").read().splitlines()
assert flows[0] == ("id,class,src,dst,priority,bytes,start_ps,end_ps,fct_ps,ideal_ps,slowdown,"
                    "packets_retransmitted,status"), flows[0]
flows = list(csv.DictReader(flows))
assert [int(f["id"]) for f in flows] == list(range(15))
for name, c in r["fct"].items():
    mine = [f for f in flows if f["class"] == name]
    times = sorted(int(f["fct_ps"]) for f in mine)
    slow = sorted(float(f["slowdown"]) for f in mine)
    rank = lambda q: times[max(0, math.ceil(q * len(times)) - 1)]
    assert c["count"] == len(mine)
    assert (c["p50_ps"], c["p99_ps"], c["p999_ps"]) == (rank(.5), rank(.99), rank(.999))
    assert c["mean_ps"] == sum(times) // len(times)
    assert abs(c["slowdown_mean"] - sum(slow) / len(slow)) < 2e-6
    assert c["slowdown_p99"] == slow[-1]
    span = max(int(f["end_ps"]) for f in mine) - min(int(f["start_ps"]) for f in mine)
    assert c["goodput_bps"] == sum(int(f["bytes"]) for f in mine) * 8 * 10**12 // span
for f in flows:
    assert f["status"] == "ok" and f["priority"] == "3"
    assert int(f["fct_ps"]) == int(f["end_ps"]) - int(f["start_ps"])
    assert float(f["slowdown"]) == round(int(f["fct_ps"]) / int(f["ideal_ps"]), 6) >= 1
ports = list(csv.DictReader(open(base + "/ports.csv")))
# 8 hosts and 4 + 4 links between 2 leaves and 2 spines: 2 * (8 + 4) ports of 8 priorities.
assert len(ports) == 2 * 12 * 8, len(ports)
assert [(p["node"], p["link"], int(p["priority"])) for p in ports] == \
    sorted((p["node"], p["link"], int(p["priority"])) for p in ports)
total = lambda key: sum(int(p[key]) for p in ports)
once = lambda key: sum(int(p[key]) for p in ports if p["priority"] == "0")
assert total("marked") == r["ecn"]["marked"]
assert r["pfc"]["paused_at_end"] == sum(p["paused_since_ps"] != "" for p in ports) == 0
assert total("paused_ps") == r["pfc"]["paused_ps"]
assert once("pause_sent") == r["pfc"]["pause_sent"] and once("resume_sent") == r["pfc"]["resume_sent"]
assert max(int(p["queue_max_bytes"]) for p in ports) == r["queue"]["max_bytes"]
assert once("port_sent_packets") == r["packet_hops"]
# What all priorities sent, and the control frames, is what the port sent.
for link in {(p["node"], p["link"]) for p in ports}:
    mine = [p for p in ports if (p["node"], p["link"]) == link]
    control = sum(int(mine[0][k]) for k in ("pause_sent", "resume_sent", "credit_sent"))
    assert sum(int(p["sent_packets"]) for p in mine) + control == int(mine[0]["port_sent_packets"])
    assert sum(int(p["sent_bytes"]) for p in mine) + 84 * control == int(mine[0]["port_sent_bytes"])
END

# The goodput of a class is that of all its flows; beside it stands that of one in the mean.
expect 0 run unfair_pfc --out unfair
python3 - <<'END' || fail "the goodput of a flow is another"
import csv
table = {l.split()[0]: l.split()[-2:] for l in open("out") if l.startswith(("near ", "far "))}
for name, told in table.items():
    mine = [f for f in csv.DictReader(open("unfair/flows.csv")) if f["class"] == name]
    rate = sum(int(f["bytes"]) for f in mine) * 8e3 / sum(int(f["fct_ps"]) for f in mine)
    assert told[1] == "Gb/s" and abs(float(told[0]) - rate) < 0.051, (name, told, rate)
assert float(table["near"][0]) > 1.15 * float(table["far"][0]), table
END
rm -r unfair

# --json: the same on stdout, nothing else there, and nothing is written.
rm -r verbena-out
expect 0 run small.yaml --json
cp out alone.json
holds alone.json "r['digest'] == '$digest'"
nothing_else small.yaml alone.json
expect 0 run --json --out deep/er small.yaml
holds out "r['digest'] == '$digest'"
holds deep/er/result.json "r['digest'] == '$digest'"
[ ! -e verbena-out ] || fail "verbena-out in spite of --out"

# A run that is cut off by its own end is whole; its flows are unfinished.
expect 1 run small.yaml --json --until 4us --out cut
holds out 'r["partial"] is False and r["flows"]["failed"] == 15 and r["fct"]["incast"]["count"] == 0'
grep -q '^0,.*,,,[0-9]*,,0,unfinished$' cut/flows.csv || fail "an unfinished flow looks otherwise"

# Cut at any time, also while gates wait for credit since the last arrival.
cat >credit.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_rate: 3Gbps}
switch: {credit: {buffer: 10KiB}}
traffic: [{pattern: incast, to: h0, size: 100KB}, {class: other, pattern: ring, size: 20KB, start: 1us}]
END
for until in 11us 12.08us 12.5us 13us 14us 15us 16us; do
	expect 0 run credit.yaml --json --until $until
	holds out '0 <= r["pfc"]["paused_ps"] <= 24 * r["time_ps"]'
done

# --quiet leaves the two lines, whatever programs say.
expect 0 run small.yaml --quiet --out quiet
[ "$(wc -l <out)" = 2 ] && [ ! -s err ] || fail "--quiet says more"
cat >says.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
programs: [{run: atomics, hosts: [h0, h1]}]
END
expect 0 run says.yaml --json
grep -qx 'atomics, rank 0: counter 16 of 16' err || fail "a program says something else"
expect 0 run says.yaml --json --quiet
[ ! -s err ] || fail "--quiet lets programs speak"

# A resume frame is lost on its way to h1: its flow cannot go on, and it is said why.
cat >stuck.yaml <<'END'
version: 1
topology: {kind: star, hosts: 9}
switch: {buffer: 1MiB, pfc: {}}
traffic: [{class: incast, pattern: incast, to: h0, size: 500KB}]
faults: [{link: h1-s0, sender: s0, drop_nth: [2], frames: all}]
END
expect 0 run stuck.yaml --out stuck
holds stuck/result.json 'r["pfc"]["paused_at_end"] == 1 and r["flows"]["failed"] == 1'
holds stuck/result.json 'r["drops"]["fault"] == 1 and r["partial"] is False'
grep -q '^stuck     h1 towards s0, priority 3: paused since [0-9.]* us for ever$' out || fail "no line about it"
grep -q 'nothing will let them go on' stuck/report.html && grep -q 'was never told to go on' stuck/report.html ||
	fail "nothing about it in the report"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 && ($at["paused_since_ps"] != "") != ($1 == "h1" && $5 == 3) { exit 1 }' stuck/ports.csv ||
	fail "paused_since_ps is of other ports"
# A run that its own time ends may leave ports paused, too: for how long nobody knows.
expect 0 run pfc_storm --out storm
[ "$(grep -cE '^still     h[123] towards leaf0, priority 3: paused since [0-9.]* us, and at the end of the run$' out)" = 3 ] ||
	fail "no line about what is paused at the end"
grep -qx '          and 9 more: paused_since_ps in ports.csv' out || fail "not all of them"
grep -q '<strong>Still paused</strong> since .* and 11 more' storm/report.html || fail "nothing in the report"
expect 0 run stuck.yaml --json --set switch.pfc.mode=quanta
holds out 'r["pfc"]["paused_at_end"] == 0 and r["flows"]["failed"] == 0'
expect 0 run stuck.yaml --json --set faults.0.frames=data
holds out 'r["pfc"]["paused_at_end"] == 0 and r["flows"]["failed"] == 0'
# Where the end of the run came first, a pause is nothing special.
expect 0 run stuck.yaml --until 20us --out cut
holds cut/result.json 'r["pfc"]["paused_at_end"] > 1'
! grep -q '^stuck  ' out || fail "stuck, although it may go on"

# What a slow host has no room for is dropped, and told as drops of switches are.
cat >slow.yaml <<'END'
version: 1
until: 1ms
topology: {kind: star, hosts: 2}
nic: {rx: {hosts: h0, rate: 10Gbps, buffer: 64KiB, xoff: 32KiB}}
traffic: [{pattern: incast, to: h0, size: 500KB}]
END
expect 0 run slow.yaml --out slow
holds slow/result.json 'r["drops"]["buffer"] > 0'
dropped=$(sed -n 's/^drops     buffer \([0-9]*\),.*/\1/p' out)
awk -F, -v dropped="$dropped" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 { sum += $at["dropped"] } END { exit sum != dropped }' slow/ports.csv ||
	fail "ports.csv tells of other drops"

# What a watchdog has found and dropped is told where it was.
expect 0 run watchdog --out storm
holds storm/result.json 'r["pfc"]["storms"] == r["pfc"]["storms_over"] == 1 and r["drops"]["watchdog"] > 0'
grep -q '^storms    1 found by watchdogs, 1 over$' out || fail "no line about a storm"
dropped=$(sed -n 's/^drops .* watchdog \([1-9][0-9]*\)$/\1/p' out)
awk -F, -v dropped="$dropped" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 { found += $at["storms"]; over += $at["storms_over"]; lost += $at["storm_dropped"] }
	NR > 1 && $at["storm_dropped"] > 0 && ($1 != "s0" || $3 != "h0-s0#0" || $5 != 3) { exit 1 }
	END { exit found != 1 || over != 1 || lost != dropped }' storm/ports.csv ||
	fail "ports.csv tells another storm"

# A name is no way out of the folder.
sed 's/^name: small/name: none/' small.yaml >other.yaml
expect 0 run --out "$work/a b/c" other.yaml
[ -s "a b/c/result.json" ] || fail "--out with a space"

# Where nothing can be written: 3, one line, before the run or after it.
: >file
expect 3 run small.yaml --out file
[ "$(wc -l <err)" = 1 ] || fail "not one line"
expect 3 run small.yaml --out file/below
if [ "$(id -u)" != 0 ]; then
	mkdir closed
	chmod 555 closed
	expect 3 run small.yaml --out closed
	expect 3 run small.yaml --out closed/below
	expect 3 run small.yaml --json --pcap closed/x.pcapng
	chmod 755 closed
fi
expect 3 run small.yaml --json --pcap no/such/folder.pcapng
[ "$(wc -l <err)" = 1 ] || fail "not one line"

# A full disk: what can be kept is kept and marked. (ulimit -f counts 512 bytes.)
(ulimit -f 8 && expect 3 run small.yaml --out full)
! grep -q '^report:' out || fail "a report that is not there"
[ ! -e full/ports.csv ] && [ -s full/flows.csv ] || fail "not what can be kept"
! ls full/*.part 2>/dev/null || fail "something half done"
holds full/result.json 'r["partial"] is True'
expect 3 run small.yaml --json --pcap /dev/full
holds out 'r["partial"] is True'
status=0
"$verbena" run small.yaml --json >/dev/full 2>err || status=$?
[ $status = 3 ] || fail "stdout is full: exit $status"
# A closed one is nobody else's: no file takes its place and gets what is printed.
expect 0 run small.yaml --json --pcap open.pcapng
for closed in '>&-' '>&- 2>&-' '<&- >&-'; do
	status=0
	eval '"$verbena" run small.yaml --json --pcap closed.pcapng 2>err '"$closed" || status=$?
	[ $status = 3 ] || fail "stdout is closed: exit $status"
	[ "$(wc -c <open.pcapng)" = "$(wc -c <closed.pcapng)" ] || fail "another capture where stdout is closed"
done

# The line of drops names what a switch refuses or discards, too.
expect 0 run mtu_mismatch --out refused
number=$(python3 -c 'import json; print(json.load(open("refused/result.json"))["drops"]["mtu"])')
grep -q "^drops     buffer 0, fault 0, no route 0, icrc 0, ttl 0, mtu $number, watchdog 0\$" out || fail "no frames too large"
expect 0 run watchdog --out discarded
number=$(python3 -c 'import json; print(json.load(open("discarded/result.json"))["drops"]["watchdog"])')
grep -q "^drops     .* ttl 0, mtu 0, watchdog $number\$" out || fail "no watchdog"
grep -q '^watchdog: 9 hosts, 1 switch, 9 links, ' out || fail "a number and its word"

# What a fault doubles and what it lets others overtake have columns of their own: each packet of its sender.
cat >faults.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
nic: {mtu: 1024}
traffic: [{class: in, pattern: incast, to: h0, size: 40KB}]
faults: [{link: h1-s0, sender: h1, duplicate: 100%}, {link: h2-s0, sender: h2, reorder: 100%, by: 5us}]
END
expect 0 run faults.yaml --quiet --out faults
python3 - <<'END' || fail "faults are counted elsewhere"
import csv
ports = {p["node"]: p for p in csv.DictReader(open("faults/ports.csv")) if p["kind"] == "host"}
sent = {node: int(p["port_sent_packets"]) for node, p in ports.items()}
count = lambda key: {node: int(p[key]) for node, p in ports.items()}
assert sent["h1"] >= 40 and sent["h2"] >= 40
assert count("fault_duplicated") == {"h0": 0, "h1": sent["h1"], "h2": 0}, (sent, count("fault_duplicated"))
assert count("fault_reordered") == {"h0": 0, "h1": 0, "h2": sent["h2"]}, (sent, count("fault_reordered"))
END
