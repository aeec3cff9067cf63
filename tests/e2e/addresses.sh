#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program that sends addresses of its stack, heap, variables and mappings: one digest, whatever the
# system and the C library do with addresses; and what is said where bytes are not the same. $3: the module "addresses"; $4: the host of modules.
module=$(realpath "$3") host=$(realpath "$4")
. "$(dirname "$0")/lib.sh"
! is_sanitized || {
	echo "a sanitizer has plans of its own for addresses"
	exit 77
}

cat >addresses.yaml <<END
version: 1
topology: {kind: star, hosts: 4}
programs:
  - {run: "$module", name: one, hosts: [h0, h1], args: [show=1]}
  - {run: "$module", name: two, hosts: [h2, h3, h1]}
  - {run: ring, hosts: [h0, h1]}
END
expect 0 run addresses.yaml --out plain
digest=$(digest_of out)
cp err said
[ "$(grep -c '^one, rank 1: [0-9]*: 0x' said)" = 27 ] || fail "not 27 addresses"
holds plain/result.json 'all(p["addresses"] == "fixed" for p in r["programs"])'
# What the kernel has placed below it lies where it is documented: none of it is left to chance.
[ "$(uname -m)" != x86_64 ] ||
	! grep -v ': 0x\(2[0-9a-f]\{11\}\|3[89a-f][0-9a-f]\{10\}\)$\|(nil)$' said || fail "another place"

# same WHAT COMMAND...: says and sends the same
same() {
	what=$1
	shift
	"$@" run addresses.yaml --out again >out 2>err || fail "$what: exit $?"
	[ "$(digest_of out)" = "$digest" ] || { diff said err; fail "another digest with $what"; }
	cmp -s said err || { diff said err; fail "other addresses with $what"; }
}
# A shell of its own, whose limit the run has.
limited() {
	limit=$1
	shift
	# shellcheck disable=SC3045 # every shell here has it
	(ulimit -s "$limit" && "$@")
}
many() { env "$(head -c 60000 /dev/zero | tr '\0' x)=y" "$@"; }

same "another try" "$verbena"
same "no environment" env -i "$verbena"
same "a large environment" many "$verbena"
same "a small stack" limited 1024 "$verbena"
# shellcheck disable=SC3045 # as above
(ulimit -s unlimited) 2>/dev/null && same "a stack without end" limited unlimited "$verbena"
setarch -R true 2>/dev/null && same "no randomisation" setarch -R "$verbena"
same "other blocks of the C library" env GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096:glibc.malloc.tcache_count=0:glibc.malloc.top_pad=1000000:glibc.malloc.perturb=165 "$verbena"
same "one arena of the C library" env MALLOC_ARENA_MAX=1 MALLOC_TOP_PAD_=99999 "$verbena"
for options in "--threads 2" "--through-wire"; do
	# shellcheck disable=SC2086
	expect 0 run addresses.yaml --quiet $options --out again
	[ "$(digest_of out)" = "$digest" ] || fail "another digest with $options"
done

# The order of lines in a scenario says nothing.
{
	head -n 3 addresses.yaml
	tail -n 3 addresses.yaml | tac
} >turned.yaml
expect 0 run turned.yaml --quiet --out again
[ "$(digest_of out)" = "$digest" ] || fail "another digest with the lines turned around"

# On both back ends of tasks.
for options in "--backend stack" "--backend thread" "--backend thread --threads 2"; do
	# shellcheck disable=SC2086
	"$host" --program "$module" $options -- show=1 2>err >reports || fail "$options: exit $?"
	[ -e want ] || sort err reports >want
	sort err reports | cmp - want || fail "other addresses with $options"
done
[ "$(grep -c ': 0x' want)" -ge 50 ] || fail "no addresses"

# Two runs in one process: the variables of a module that stays are of the first, whose memory stays.
expect 0 report plain again --out pair
expect 0 report plain --out pair
[ ! -s err ] || fail "another run"
# With modules of their own both have it in turn; the first run is taken down after the second.
grep -v 'name: one\|name: two' addresses.yaml >ring.yaml
sed '/run: ring/d' addresses.yaml >no_ring.yaml
expect 0 run ring.yaml --quiet --out ring
expect 0 run no_ring.yaml --quiet --out no_ring
expect 0 report ring no_ring --out pair
[ ! -s err ] || fail "another run of two"

# What was another run then is not taken for the one that it is now.
cp -r plain other
sed -i 's/"digest": "[0-9a-f]*"/"digest": "0123456789abcdef"/' other/result.json
expect 1 diff other addresses.yaml
grep -q "^all [0-9]* events are the same; the digest, too: $digest\$" out || fail "not the same now"
grep -q '^other had digest 0123456789abcdef: its scenario has not changed, but its programs have' out ||
	fail "nothing about the digest of that run"
expect 0 diff plain addresses.yaml

# What is not in use is not given back.
sed 's/show=1/forge=1/' addresses.yaml >forge.yaml
expect 134 run forge.yaml --quiet --out again 2>/dev/null
grep -q '^free(): 0x.* is no block in use$' err || fail "nothing about what was given back"

# Bytes that are not the same in each run: the first that were placed are named, and nobody says that the
# scenario has changed.
sed 's/show=1/pid=1/' addresses.yaml >pid.yaml
expect 0 run pid.yaml --quiet --out a
digest=$(digest_of out)
expect 0 run pid.yaml --quiet --out b
[ "$(digest_of out)" != "$digest" ] || fail "one digest with two processes"
expect 1 diff a b
grep -q '^all [0-9]* events are the same; the digests are [0-9a-f]* and [0-9a-f]*:$' out || fail "other events"
grep -qx 'other bytes were placed in memory, first:' out || fail "nothing about what was placed"
grep -qE '^A, B [0-9]+\.[0-9]{6} us  h0  264 bytes to region [01], offset 0$' out || fail "another placement"
grep -q "^a had digest $digest: its scenario has not changed, but its programs have, or send what" out ||
	fail "nothing about the digest before"
expect 0 explain a --why pfc
grep -qE '^verbena: a: its scenario has not changed, but its programs have, or send what' err ||
	fail "explain says another thing"
sed 's/hosts: 4/hosts: 5/' pid.yaml >turned.yaml
mv turned.yaml pid.yaml
expect 0 explain a --why pfc
grep -qx "verbena: a: $work/pid.yaml was edited since; this is of the run as it was" err || fail "nothing about the edit"
grep -qE '^verbena: a: its scenario has not changed, but its programs have, or send what' err ||
	fail "explain takes the edited scenario"

# Where the range cannot be had it is said, once, and kept.
# shellcheck disable=SC3045 # as above
(ulimit -v 16000000 && "$verbena" run addresses.yaml --out limited >out 2>err) || fail "limited: exit $?"
[ "$(grep -c '^verbena: the memory of programs does not lie where' err)" = 1 ] || fail "not said once"
holds limited/result.json 'all(p["addresses"] == "anywhere" for p in r["programs"])'
digest=$(digest_of out)
# shellcheck disable=SC3045 # as above
(ulimit -v 16000000 && "$verbena" run addresses.yaml --quiet --out again >out 2>err) || fail "limited: exit $?"
[ ! -s err ] || fail "said with --quiet"
if [ "$(digest_of out)" != "$digest" ]; then
	expect 0 explain limited --why pfc
	grep -q 'do not have their memory where they had it then' err || fail "not for the memory"
fi
