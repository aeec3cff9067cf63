#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Why a flow was slow, or a host paused its switch, goes on inside of the machine: each of what can hold data up
# there is made the one that does, and named with figures that are worked out here once more.
. "$(dirname "$0")/lib.sh"

cat >base.yaml <<'END'
version: 1
name: inside
topology: {kind: star, hosts: 2, host_rate: 400Gbps, delay: 500ns}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 300ns}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 256}
    - {name: cpu1, kind: socket, latency: 90ns, numa: 1}
    - {name: gpu0, kind: gpu, memory: 64MiB, latency: 300ns}
  lanes:
    - {a: cpu0, b: sw0, gen: 5}
    - {a: sw0, b: nic0, gen: 5}
    - {a: sw0, b: gpu0, gen: 5}
    - {a: cpu0, b: cpu1, kind: upi, rate: 100Gbps, delay: 50ns, ph: 1024, pd: 4096, nph: 1024}
traffic:
  - {class: f, pattern: incast, to: h1, from: [h0], size: 4MB}
END
# why ARG...: what is said of inside, in "inside", a line for each machine and what would help
why() {
	expect 0 explain base.yaml 0 --why slow "$@"
	sed -n '/^Inside /,$p' out >inside
}
# says TEXT...: each is in there
says() {
	for text in "$@"; do
		grep -qF -- "$text" inside || fail "it does not say: $text
$(cat inside)"
	done
}

# All is well: 64 GB/s less headers for 50.
why
[ "$(grep -c 'nothing held it up' inside)" = 2 ] && [ "$(wc -l <inside)" = 2 ] || fail "something holds it up: $(cat inside)"
says 'Inside h0, from the memory of h0.cpu0 over cpu0 > sw0 > nic0: ' 'Inside h1, into the memory of h1.cpu0 over nic0 > sw0 > cpu0: '

# A narrow slot. At x16: 32 GT/s, 128 of 130 bits, 256 of 280 bytes of a write, 152 of 168 beside an Ack and an
# UpdateFC of 8 bytes each, 1534 of 1538 symbols beside skips.
why --set 'machine.lanes[1].width=4'
says 'the lane sw0 > nic0 (pcie gen 5 x4) held it up' 'the lane nic0 > sw0 (pcie gen 5 x4) held it up' \
	'the port of h0 carries 50.0 GB/s' 'a slot of x16 and generation 5 (machine.lanes[].width, .gen), which carries 52.0 GB/s'
# An old one as wide as can be: 16 GT/s are half of that, and a newer one is needed.
why --set 'machine.lanes[1].gen=4'
says 'a slot of x16 and generation 5'

# Memory on the other socket: 80 of 100 Gb/s are payload.
why --set machine.memory=cpu1
says 'Inside h0, from the memory of h0.cpu1 over cpu1 > cpu0 > sw0 > nic0: the socket link cpu1 > cpu0 (upi) held it up' \
	'carries at most 10.0 GB/s of payload; the port of h0 carries 50.0 GB/s' 'memory on the side of nic0 (machine.memory)'

# Tags: what result.json has of them.
expect 0 run base.yaml --quiet --out tags --set 'machine.parts[2].tags=32'
why --set 'machine.parts[2].tags=32'
python3 - <<'END' || fail "other tags: $(cat inside)"
import json, re
tags = json.load(open("tags/result.json"))["machines"]["h0"]["tags"]["nic0"]
trip = tags["round_trip_ps"]
line, = [l for l in open("inside") if "the tags of nic0 held it up" in l]
most = re.search(r"32 requests of 512 B at most may be under way, and one takes (\d+) ns in the mean: at most ([0-9.]+) GB/s", line)
assert int(most[1]) == round(trip / 1000), (most[0], trip)
assert abs(float(most[2]) - 32 * 512 / trip * 1000) < 0.06, most[0]
share = float(re.search(r"waited for one ([0-9.]+) %", line)[1])
assert 90 < share <= 100
# Packets of 4096 bytes in 4178 on the wire: what 50 GB/s have under way in a round trip, in requests.
wanted = int(re.search(r"What would help: (\d+) tags", open("inside").read())[1])
assert wanted == int(50e9 * trip / 1e12 / 512) + 1, (wanted, trip)
END
says ', or requests of 1024 bytes (machine.lanes[].mrrs).'
why --set 'machine.parts[2].tags=32' --set 'machine.lanes[1].mrrs=1024B'
says 'Inside h0, from the memory of h0.cpu0 over cpu0 > sw0 > nic0: nothing held it up'

# Credits of completions at the sender, and of writes at the receiver.
why --set 'machine.lanes[0].cplh=16' --set 'machine.lanes[0].cpld=256'
says 'credits of the lane cpu0 > sw0 (pcie gen 5 x16) held it up' 'completions waited there for nothing else; behind it is room for 16 headers and 4096 bytes' \
	'more room there (machine.lanes[].cplh, .cpld)'
why --set 'machine.lanes[0].ph=8'
says 'credits of the lane sw0 > cpu0 (pcie gen 5 x16) held it up' 'writes waited there for nothing else; behind it is room for 8 headers and 32768 bytes' \
	'more room there (machine.lanes[].ph, .pd)'

# What is left where no lane is: the transmit buffer, and the window of the queue pair.
why --set machine.tx=16KiB
says 'What is left is the transmit buffer of h0: 16.4 KB (machine.tx)'
grep -q '^  its adapter waits for data from memory, see below' out || fail "a full window: $(cat out)"
why --set nic.window=8
says 'What is left is its window: 8 packets of 4096 bytes (nic.window), 32.8 KB'
python3 - <<'END' || fail "another round trip: $(cat inside)"
import re
said = re.search(r"at the ([0-9.]+) GB/s that it had is ([0-9.]+) us", open("inside").read())
assert abs(8 * 4096 / float(said[1]) / 1000 - float(said[2])) < 0.02, said[0]
END

# A host that pauses its switch: for the memory behind its socket link, for a GPU behind a narrow slot.
printf 'switch: {buffer: 16MiB, pfc: {priorities: [3]}}\nmachines:\n  - {hosts: h1, memory: cpu1}\n' >>base.yaml
sed -i 's/size: 4MB/size: 4MB, priority: 3/' base.yaml
expect 0 explain base.yaml --why pfc
grep -qF 'That is the root: h1 took packets in more slowly than its link brought them,' out || fail "another root"
grep -qxE '    because the memory of h1.cpu1 is behind the socket link cpu0 > cpu1 \(upi\), which was busy (100\.0|99\.[0-9]) % of the time from its first pause to its last\.' out ||
	fail "another reason: $(cat out)"
expect 0 explain base.yaml --why cure
grep -q '^1\. A host takes in less than its link brings' out && grep -qF 'the memory of h1.cpu1 is behind the socket link cpu0 > cpu1 (upi)' out &&
	! grep -q 'nic.rx.rate' out || fail "another cure: $(cat out)"

# Twice, with a long time in between in which nothing is sent: the second time counts, for both questions and a flow.
sed '/^traffic:/,/^  - /d' base.yaml >twice.yaml
cat >>twice.yaml <<'END'
traffic:
  - {class: first, pattern: incast, to: h1, from: [h0], size: 1MB, priority: 3}
  - {class: then, pattern: incast, to: h1, from: [h0], size: 4MB, priority: 3, start: 2ms}
END
behind='the memory of h1\.cpu1 is behind the socket link cpu0 > cpu1 \(upi\), which was busy (100\.0|99\.[0-9]) % of the 37[0-9] us from 2\.01 ms on, in which it paused most\.'
expect 0 explain twice.yaml --why pfc
grep -qxE "    because $behind" out || fail "another time: $(cat out)"
expect 0 explain twice.yaml --why cure --set 'machine.parts[2].tags=32'
tr '\n' ' ' <out | tr -s ' ' >words
grep -qE "The reason: $behind" words || fail "another time: $(cat out)"
expect 0 explain twice.yaml --why pfc --set 'traffic[1].size=500KB'
grep -qE ' of the [0-9.]+ us from [0-9.]+ us on, in which it paused most\.' out || fail "the last of two: $(cat out)"
# Without pauses: 4 MB of 512 bytes each, 32 of which are under way for some 600 ns.
expect 0 explain twice.yaml --why cure --set 'machine.parts[2].tags=32' --set machines.0.memory=cpu0
tr '\n' ' ' <out | tr -s ' ' >words
grep -qE 'For (9[5-9]|100) % of the 1(4[5-9]|5[0-5]) us from 2\.00 ms on, in which it sent most, reads waited' words ||
	fail "another time of tags: $(cat out)"
expect 0 explain twice.yaml 1 --why slow
grep -qE 'cpu0 > cpu1 \(upi\) held it up\. It was busy (100\.0|99\.[0-9]) % of that time' out || fail "another time of a flow: $(cat out)"
# What a program does before it sends is in neither.
for why in pfc cure; do
	! is_sanitized || break
	expect 0 explain "$root/traces/gpudirect.yaml" --set 'programs.write.args=[to=1]' --why $why
	tr '\n' ' ' <out | tr -s ' ' | grep -qE 'cpu0 > cpu1 \(upi\), which was busy (100\.0|99\.[0-9]) % of the time from its first pause to its last\.' ||
		fail "$why: another share: $(cat out)"
done

# A GPU on the far socket: what goes to it passes the memory of the near one.
expect 0 explain gpu_far --why pfc
grep -qxE '    because GPU h0.gpu1 is behind the socket link cpu0 > cpu1 \(upi\), which was busy (100\.0|99\.[0-9]) % of the time from its first pause to its last\.' out ||
	fail "another reason: $(cat out)"
expect 0 explain gpu_far 0 --why slow
grep -qF 'Inside h0, into GPU h0.gpu1 over nic0 > sw0 > cpu0 > cpu1 > sw1 > gpu1: the socket link cpu0 > cpu1 (upi) held it up.' out ||
	fail "another memory: $(cat out)"
expect 0 explain gpu_far-cure 0 --why slow
grep -qF 'Inside h0, into GPU h0.gpu0 over nic0 > sw0 > gpu0: nothing held it up.' out || fail "another way: $(cat out)"

# Behind a socket link that is slow and has little room for credits the lanes before it wait for credits as well.
cat >behind.yaml <<'END'
version: 1
name: behind
topology: {kind: star, hosts: 2, host_rate: 400Gbps}
machine: {profile: dgx_h100, flow_memory: gpu0}
machines: [{hosts: h1, flow_memory: gpu4}]
traffic: [{class: f, pattern: incast, to: h1, from: h0, size: 16MB}]
END
expect 0 explain behind.yaml 0 --why slow
grep -qE 'Inside h1, into GPU h1.gpu4 over .*: the socket link cpu0 > cpu1 \(upi\) held it up\. It was busy 8[0-9]\.[0-9] % of .* 22\.0 GB/s of .* For 1[5-8]\.[0-9] % of it there was no room behind it\.' out ||
	fail "not the last lane that had to wait: $(cat out)"

# Who is behind it: a flow that is paused because of a GPU of others, one whose rate marks cut because of one, and one
# that only shares its link.
expect 0 explain gpu_far 3 --why slow
grep -qE '^Paused for [0-9]+ us at h2: h0 had s0 pause, and so s0 had h2 pause\.' out && grep -qF '    because GPU h0.gpu1 is behind the socket link' out &&
	grep -qF '    To h0 went meanwhile flow 0 (far, h1 to h0, 4.00 MB), flow 2 (far, h2 to h0, 4.00 MB): this one goes elsewhere, and waited for theirs.' out ||
	fail "no culprit of a victim: $(cat out)"
expect 0 explain gpu_far 2 --why slow
grep -q '^    To h0 went .*, 4\.00 MB)\.$' out || fail "a culprit is a victim: $(cat out)"
expect 0 explain gpu_far-cure 3 --why slow
! grep -q '^Paused for' out || fail "a culprit of nothing: $(cat out)"
set --
for keys in switch.ecn.kmin=20KB switch.ecn.kmax=100KB switch.ecn.pmax=1 nic.cc=dcqcn 'traffic[0].from=[h1]' 'traffic[0].size=8MB'; do
	set -- "$@" --set "$keys"
done
expect 0 explain gpu_far 0 --why slow "$@"
grep -qE '^What dcqcn went by: [0-9]+ of its packets were marked at s0 towards h0\. They waited there for pauses, [0-9.]+ % of their time: h0 had s0 pause\.' out &&
	grep -qF '    because GPU h0.gpu1 is behind the socket link' out && ! grep -q '^Paused for' out || fail "a rate without a root: $(cat out)"
grep -qE 'into GPU h0\.gpu1 .*: nothing held it up' out || fail "this is no test of what is behind a rate: $(cat out)"
expect 0 explain gpu_far 2 --why slow "$@"
grep -qE '^What dcqcn went by: [0-9]+ of its packets were marked at s0 towards h3\. More came for h3 than the 200 Gb/s of that link could take\.' out &&
	grep -qF '    To h3 went meanwhile flow 1 (victim, h1 to h3, 4.00 MB), flow 2 (victim, h2 to h3, 4.00 MB).' out || fail "a link without a name: $(cat out)"
set --

# Of many those with most bytes, of its priority, and while it was under way.
{
	printf 'version: 1\ntopology: {kind: star, hosts: 4, host_rate: 200Gbps}\n'
	sed -n '/^switch:/,/^  - {hosts: h0/p' "$root/traces/incidents/gpu_far.yaml"
	cat <<'END'
traffic:
  - {class: before, pattern: incast, to: h0, from: h3, size: 5MB}
  - {class: one, pattern: incast, to: h0, from: h1, size: 1MB, start: 2ms}
  - {class: four, pattern: incast, to: h0, from: h1, size: 4MB, start: 2ms}
  - {class: two, pattern: incast, to: h0, from: h2, size: 2MB, start: 2ms}
  - {class: three, pattern: incast, to: h0, from: h2, size: 3MB, start: 2ms}
  - {class: other, pattern: incast, to: h0, from: h2, size: 5MB, start: 2ms, priority: 4}
  - {class: victim, pattern: incast, to: h3, from: h1, size: 4MB, start: 2ms}
END
} >who.yaml
expect 0 explain who.yaml 2 --why slow
grep -qxF '    To h0 went meanwhile flow 1 (four, h1 to h0, 4.00 MB), flow 4 (three, h2 to h0, 3.00 MB), flow 3 (two, h2 to h0, 2.00 MB) and 1 more: this one goes elsewhere, and waited for theirs.' out ||
	fail "others: $(cat out)"

# Where nobody is paused for it a slow receiver shows as loss, and that is said, whatever is asked.
for keys in 'switch.pfc.priorities=[5]' 'switch={buffer: 4MB}'; do
	case $keys in *\[5\]) why='switch.pfc.priorities has others' ;; *) why='PFC is off: no switch.pfc' ;; esac
	for question in '--why pfc' '--why drop' '0 --why slow'; do
		# shellcheck disable=SC2086
		expect 0 explain gpu_far $question --set "$keys"
		grep -qE "^h0 had no room for [0-9]+ frames of priority 3, for which it has nobody pause \($why\): there a slow receiver shows as loss\.$" out &&
			grep -qE '^    because GPU h0\.gpu1 is behind the socket link cpu0 > cpu1 \(upi\), which was busy (100\.0|9[89]\.[0-9]) % of .*(, in which it lost most|from its first loss to its last)\.$' out ||
			fail "$question, $keys: no word of a slow receiver: $(cat out)"
	done
	expect 0 explain gpu_far --why cure --set "$keys"
	grep -q '^1\. A host drops what it cannot take in$' out && tr '\n' ' ' <out | tr -s ' ' | grep -q 'it has nobody pause and what comes too fast is lost' &&
		grep -qx '    machines\.0\.flow_memory: found gpu1, try gpu0' out || fail "no cure for it: $(cat out)"
done

# Of two hosts the one that lost more.
sed 's/^machines:/&\n  - {hosts: h3, flow_memory: gpu1}/; s/h\[1-2\]", size: 4MB}/h[1-2]", size: 1MB}/; /^expect/,$d' "$root/traces/incidents/gpu_far.yaml" |
	sed 's/class: victim\(.*\)size: 1MB/class: victim\1size: 4MB/' >both.yaml
expect 0 explain both.yaml --why drop --set 'switch={buffer: 4MB}'
grep -q '^h3 had no room for [0-9]* frames of priority 3, ' out || fail "the host that lost less: $(cat out)"

# What is to be tried is of that host alone, and nearer; and slots no wider or newer than what is needed.
# keys FILE ARG...: what --why cure names of it
keys() {
	file=$1
	shift
	expect 0 explain "$file" --why cure "$@"
	sed -n 's/^    \(or \)*\([a-z0-9_.]*: found .*\)/\2/p' out | sort -u | tr '\n' '|'
}
# tried FILE KEYS ARG...: these it names, and a run takes them
tried() {
	file=$1 want=$2
	shift 2
	[ "$(keys "$file" "$@")" = "$want" ] || fail "$file $*: other keys: $(keys "$file" "$@")"
	options=$(sed -n 's/^  Try it: verbena run [^ ]* \(.*\) --out try-.*/\1/p' out | head -1)
	eval "expect 0 check \"\$file\" \"\$@\" $options"
}
cp "$root/traces/incidents/gpu_far.yaml" far.yaml
# All but h0 far, and h0 already with an entry of its own: h1, which sends, gets one, too.
sed 's/flow_memory: gpu0/flow_memory: gpu1/; s/{hosts: h0, flow_memory: gpu1}/{hosts: h0, flow_memory: gpu0}/' far.yaml >all.yaml
tried all.yaml 'machines.1.flow_memory: found gpu1, try gpu0|machines.1.hosts: found no such entry, try h1|' --set 'traffic[1].to=h2' --set 'traffic[1].from=[h1]' \
	--set 'traffic[0].from=[h1]'
sed '/^machines:/,/^  - {hosts: h0/d' all.yaml >none.yaml
tried none.yaml 'machines: found flow_memory gpu1 for all, try [{hosts: h1, flow_memory: gpu0}]|'
# Of several hosts in one entry none is moved alone.
sed 's/{hosts: h0, flow/{hosts: "h[0-1]", flow/' far.yaml >two.yaml
keys two.yaml | grep -q '^machines.0.flow_memory: found gpu1; no value to try' || fail "the entry of others: $(cat out)"
# A GPU behind its own slot: no farther one in its place, but a slot as the port needs it.
sed 's/{hosts: h0, flow_memory: gpu1}/{hosts: h0}/' far.yaml >slot.yaml
tried slot.yaml 'machine.lanes.4.width: found 4, try 16|' --set machine.lanes.4.width=4
tried slot.yaml 'machine.lanes.4.gen: found 2, try 4|' --set machine.lanes.4.gen=2
tried slot.yaml 'machine.lanes.3.width: found 2, try 8|' --set machine.lanes.3.width=2 --set topology.host_rate=100Gbps
tried slot.yaml 'machine.lanes.3.gen: found 4, try 5|machine.lanes.4.gen: found 4, try 5|' --set topology.host_rate=400Gbps --set 'traffic[0].from=[h1]'
# No wider than what no slot carries more than: here the socket link.
tried far.yaml 'machine.lanes.5.width: found 2, try 8|' --set machine.lanes.5.width=2
# Nor is a GPU named that is nearer but behind the full lane (gpu2), or not behind it but as far (gpu0).
sed -e 's/    - {name: gpu1, kind: gpu/    - {name: sw2, kind: switch}\n    - {name: sw3, kind: switch}\n    - {name: gpu2, kind: gpu, memory: 2MiB}\n&/' \
	-e 's/    - {a: sw0, b: gpu0, gen: 4}/    - {a: cpu0, b: sw2, gen: 4}\n    - {a: sw2, b: sw3, gen: 4}\n    - {a: sw3, b: gpu0, gen: 4}\n    - {a: cpu1, b: gpu2, gen: 4}/' far.yaml >as.yaml
[ -z "$(keys as.yaml)" ] && grep -q '^1\. A host takes in less than its link brings$' out || fail "a GPU that is no nearer: $(cat out)"
sed 's/a: cpu0, b: sw2/a: sw0, b: sw2/' as.yaml >nearer.yaml
tried nearer.yaml 'machines.0.flow_memory: found gpu1, try gpu0|'
# A profile has no such list of the scenario's.
sed 's/dgx_h100, flow_memory: gpu0/dgx_a100, flow_memory: gpu0/; /^machines:/d' behind.yaml >a100.yaml
[ -z "$(keys a100.yaml)" ] && tr "\n" " " <out | tr -s " " | grep -q "a slot of x16 and generation 5" || fail "a key of a profile: $(cat out)"

# What its adapter waits for is not the window's.
expect 0 explain few_tags 0 --why slow
grep -q '^  its adapter waits for data from memory, see below  *[0-9.]* us' out && ! grep -q 'its window is full' out || fail "a window: $(cat out)"
expect 0 explain few_tags-cure 0 --why slow
! grep -q 'its adapter waits for data' out || fail "no window: $(cat out)"

# Two adapters of one machine, which begin and end together: both wait for tags. One that sends next to nothing over a
# lane that the other one fills is not named for it.
cat >twin.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, nics: 2, host_rate: 400Gbps}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 250ns}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 32}
    - {name: nic1, kind: nic, tags: 32}
  lanes:
    - {a: cpu0, b: sw0, gen: 7, mrrs: 512B}
    - {a: sw0, b: nic0, gen: 5, mrrs: 512B}
    - {a: sw0, b: nic1, gen: 5, mrrs: 512B}
traffic:
  - {class: f, pattern: incast, to: h1, from: h0, size: 4MB}
  - {class: g, pattern: incast, to: h1.nic1, from: h0.nic1, size: 4MB}
END
expect 0 explain twin.yaml --why cure
grep -q '^  h0, as 1 more, may have 32 requests under way' out || fail "one of two adapters: $(cat out)"
sed 's/nic1, kind: nic, tags: 32/nic1, kind: nic, tags: 1/; s/tags: 32/tags: 256/; s/gen: 7/gen: 2/; s/b: nic1, gen: 5, mrrs: 512B/b: nic1, gen: 5, mrrs: 128B/
	s/from: h0.nic1, size: 4MB/from: h0.nic1, size: 20KB/' twin.yaml >little.yaml
expect 0 explain little.yaml --why cure
grep -q '^  h0 did not get them fast enough\. The reason: the memory of h0\.cpu0 is behind the lane cpu0 > sw0' out || fail "one that sent little: $(cat out)"

# A host without a machine has none of this.
sed '/^machine:/,/^    - {a: cpu0, b: cpu1/d; /^machines:/,$d' base.yaml >bare.yaml
expect 0 explain bare.yaml 0 --why slow
! grep -q '^Inside' out || fail "the inside of no machine"
