#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every packet that is lost is an event, with its reason: as many as the result counts.
. "$(dirname "$0")/lib.sh"

# drops FOLDER SCENARIO [OPTION...]: its drops, in "drops"
drops() {
	folder=$1
	scenario=$2
	shift 2
	status=0
	"$verbena" run "$scenario" --quiet --out "$folder" --trace kind=drop "$@" >out 2>err || status=$?
	[ "$status" -le 1 ] || fail "run $scenario: exit $status"
	grep '^[0-9]*\.[0-9]\{6\} us  ' out >drops || true
}

counts() { # FOLDER KEY WORDS: so many for this reason as result.json has
	number=$(grep -c ": $3\$" drops) || true
	holds "$1/result.json" "r['drops']['$2'] == $number > 0"
}

only() { # REASON...: there are no others
	pattern=$(printf '%s\n' "$@" | sed 's/.*/: &$/')
	! grep -v "$pattern" drops >others || fail "another loss: $(head -n 3 others)"
}

drops flap link_flap
counts flap fault 'the link is down'
counts flap no_route 'no route'
# On its link, by whoever sends there, while that is down.
python3 - <<'END' || fail "the link is down elsewhere"
import re
for line in open("drops"):
    if "the link is down" in line:
        at, sender, peer = re.match(r"([0-9.]+) us  (\w+) > (\w+)  DROP of \d+ bytes, RC_\w+ psn \d+ to qp", line).groups()
        assert 100 <= float(at) < 1500 and sorted((sender, peer))[0] == "leaf1" and sorted((sender, peer))[1] in ("spine0", "spine1"), line
END
first=$(grep -m 1 ': the link is down$' drops)
cp drops one
status=0
"$verbena" run link_flap --quiet --out broken --break-on 'drop at leaf1' >out 2>err || status=$?
grep -Fqx "> $first" err || fail "stops elsewhere than at $first"
drops flap link_flap --threads 3
cmp -s drops one || fail "another trace with three threads"
expect 0 run link_flap --json
cp out plain.json
holds flap/result.json "r['digest'] == json.load(open('plain.json'))['digest']"

drops loop routing_loop
counts loop ttl 'its TTL has run out'
only 'its TTL has run out'
drops dog watchdog
counts dog watchdog 'discarded by the PFC watchdog'
drops mtu mtu_mismatch
counts mtu mtu 'larger than the switch takes'
# Of the two flows it is the first alone that loses anything.
far=$(sed -n 's/^\([0-9]*\),far,.*/\1/p' mtu/flows.csv)
cp drops one
drops mtu mtu_mismatch --trace "kind=drop,flow=$far"
cmp -s drops one || fail "not the drops of a flow"
drops mtu mtu_mismatch --trace "kind=drop,flow=$((1 - far))"
[ ! -s drops ] || fail "another flow loses something"

cat >optic.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
switch: {buffer: 300KB, xoff: 20KB, pfc: {priorities: [3]}}
nic: {mtu: 1024, timeout: 8}
traffic: [{pattern: incast, to: h0, size: 1MB}]
faults:
  - {link: h1-s0, sender: h1, loss: 1%}
  - {link: h2-s0, sender: h2, corrupt: 1%}
END
drops optic optic.yaml
counts optic fault 'lost by a fault of the link'
counts optic icrc 'corrupted on the link, and refused'
only 'no room' 'lost by a fault of the link' 'corrupted on the link, and refused'
# PFC that a link loses, too: on the way from the switch, which has told it.
sed 's/.*h2-s0.*//; s/sender: h1, loss: 1%/sender: s0, drop_nth: [1], frames: all/' optic.yaml >pfc.yaml
drops pfc pfc.yaml
grep -q '  s0 > h1  DROP of 84 bytes, flow control, priority 3: lost by a fault of the link$' drops ||
	fail "no lost PFC frame: $(cat drops)"

# What a host discards: no room before its adapter, datagrams with another Q_Key. Late
# acknowledgements are no loss.
drops slow slow_receiver --set switch.pfc=off
counts slow buffer 'no room'
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: datagrams, hosts: [h0, h1, h2]}]\n' >datagrams.yaml
drops datagrams datagrams.yaml
only 'another Q_Key than its queue pair has'
[ -s drops ] || fail "no datagram with another Q_Key"
