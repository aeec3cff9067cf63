#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Work requests that end in error although every rank ends well: the report, the advice and the accounts of
# each know it. $3: the module "refused".
refused=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

refused_scenario() { # FILE HOW LINE
	cat >"$1" <<END
version: 1
topology: {kind: star, hosts: 2}
programs: [{run: "$refused", name: it, hosts: "h[0-1]", args: ["how=$2"]}]
$3
END
}

plain() { # FOLDER: its page without marks, in page
	sed 's/<script.*//; s/<[^>]*>//g; s/&#8239;/ /g' "$1/report.html" >page
}

refused_scenario good.yaml 0 ""
refused_scenario access.yaml 1 ""
refused_scenario rnr.yaml 2 ""
refused_scenario dead.yaml 0 'faults: [{link: h0-s0, loss: 100%}]'

expect 0 run good.yaml --quiet --out good
plain good
grep -q 'Everything completed, and no packet was lost' page || fail "well, and not said so"
expect 0 explain good --why cure
grep -q '^Nothing here asks for a cure: ' out || fail "a cure for what is well"

# What the page and the advice say of each: statuses, their numbers, the first of them and why.
tells() { # NAME STATUSES FIRST WORDS
	expect 0 run "$1.yaml" --quiet --out "$1"
	plain "$1"
	! grep -q 'Everything completed' page || fail "$1: everything completed"
	grep -q "Not everything completed: .* work requests\? failed ($2)" page || fail "$1: another verdict"
	grep -q "Every rank of every program ended well\. .* failed ($2): $3 of it, rank 0, h0 to h1: .*$4" page ||
		fail "$1: not named"
	expect 0 explain "$1" --why cure
	! grep -q 'Nothing here asks for a cure' out || fail "$1: no cure"
	tr '\n' ' ' <out | tr -s ' ' | grep -q "Work requests failed .* the first $3 of it, rank 0, .*$4" || fail "$1: no advice"
}
tells access '1 rem_access_err' wr2 'remote access error'
tells rnr '2 wr_flush_err, 1 rnr_retry_exc_err' wr0 'no receive posted (RNR NAK)'
tells dead '2 wr_flush_err, 1 retry_exc_err' wr0 'as often as retry_cnt allows, in vain'

# What a queue pair sends of requests before one is no frame of others: of the third of three WRITEs all that begins
# after it was posted. What comes behind one does not hold it up.
expect 0 run good.yaml --quiet --out good --trace port=h0-s0,node=h0
cp out trace
expect 0 explain good wr2 --why slow
python3 - <<'END' || fail "other requests before it"
import csv, re
rows = list(csv.DictReader(open("good/requests.csv")))
writes = [(int(m[1].replace(".", "")), int(m[2])) for m in
          re.finditer(r"^([\d.]+) us  h0 > s0  RC_WRITE.*, (\d+) bytes, priority", open("trace").read(), re.M)]
assert len(writes) == 24, writes
before = sum(bytes_ * 80 for at, bytes_ in writes[:16] if at >= int(rows[2]["posted_ps"]))
text = open("out").read()
said = re.search(r"^  requests before it, at its port +(\d+)\.(\d{6}) us", text, re.M)
assert before > 4000000 and int(said[1] + said[2]) == before, (before, text)
assert "frames of others" not in text, text
END
expect 0 explain rnr wr0 --why slow
! grep -q 'frames of others\|requests before it, at' out || fail "requests behind it hold it up: $(cat out)"

# Why a request failed, and what each wait before it was sent again was; one that was behind it in its queue pair waited
# for the same.
refused_scenario late.yaml 3 ""
refused_scenario gap.yaml 0 'faults: [{link: h0-s0, sender: h0, drop_nth: [4]}]'
for name in late gap; do
	expect 0 run $name.yaml --quiet --out $name
done
failed() { # NAME WR STATUS WORDS
	expect 0 explain "$1" "$2" --why slow
	grep -q "^Its status is $3: .*$4" out || fail "$1 $2: not why it failed: $(cat out)"
}
failed access wr2 rem_access_err '(NAK, remote access error)'
! grep -q 'gave up' out || fail "an answer is no giving up"
failed rnr wr0 rnr_retry_exc_err '(RNR NAK)'
failed rnr wr1 wr_flush_err 'an earlier request had failed'
failed dead wr0 retry_exc_err 'as often as retry_cnt allows'
expect 0 explain good wr0 --why slow
! grep -q '^Its status' out || fail "a status of what ended well"
waited() { # NAME WR WHAT: and for nothing else
	expect 0 explain "$1" "$2" --why slow
	[ "$(grep -c '^  waiting before ' out)" = 1 ] && grep -q "^  waiting before it was sent again: $3  " out ||
		fail "$1 $2: not $3: $(cat out)"
}
for wr in wr0 wr1; do
	waited rnr $wr 'RNR NAK'
	waited gap $wr 'sequence NAK'
done
waited late wr0 'RNR NAK'
waited dead wr0 'ACK timeout'

# Answers by their names in the trace.
for answer in "access:NAK, remote access error" "rnr:RNR NAK" "gap:NAK, PSN sequence error"; do
	expect 0 run "${answer%%:*}.yaml" --quiet --out named --trace port=h1-s0,node=h1
	grep -q " to qp 0x[0-9a-f]* of h0, ${answer#*:}, 86 bytes" out || fail "no $answer: $(grep NAK out)"
done

# Each time that a packet is sent again counts, and that is what is said.
plain dead
again=$(python3 -c 'import json; print(json.load(open("dead/result.json"))["packets_retransmitted"])')
grep -q "$again retransmissions: each time a packet was sent again counts" page || fail "other retransmissions than $again"
