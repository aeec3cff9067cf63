#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena script: a line for each clause, which of them failed, what is no script, and its exit codes.
. "$(dirname "$0")/lib.sh"

expect 0 script "$root/tests/script/write_one.pkt" "$root/tests/script/paced_turns.pkt"
grep -qx 'pass  9.4.3                write_one.pkt:2: The RETH is in the first packet of a WRITE, with the whole length.' out ||
	fail "another line of a clause"
grep -qx 'pass  -                    paced_turns.pkt' out || fail "another line of a script without a clause"
grep -qx 'scripts 2, failed 0; clauses: pass 1, fail 0, not reached 0' out || fail "another sum"
expect 0 script --quiet "$root/tests/script/write_one.pkt"
[ "$(wc -l <out)" = 1 ] || fail "--quiet tells what held"
expect 0 script --list "$root/tests/script/write_one.pkt"
[ "$(cat out)" = '9.4.3                write_one.pkt:2: The RETH is in the first packet of a WRITE, with the whole length.' ] ||
	fail "--list: something else"

# The clauses next to each other share what follows, and what is behind it is not known.
cat >wrong.pkt <<'END'
clause 9.1: one
qp A
at 0 post A send id=1
clause 9.2 C9-1: two
clause 9.3: three
at 0 out SEND_ONLY psn=101 ackreq
clause 9.4: four
at 0 out none
END
expect 1 script wrong.pkt "$root/tests/script/write_one.pkt"
grep -v 'write_one' out >lines
cat >wanted <<'END'
pass  9.1                  wrong.pkt:1: one
FAIL  9.2 C9-1             wrong.pkt:4: two
FAIL  9.3                  wrong.pkt:5: three
unrun 9.4                  wrong.pkt:7: four
scripts 2, failed 1; clauses: pass 2, fail 2, not reached 1
END
cmp -s lines wanted || fail "$(diff wanted lines)"
[ "$(head -n 1 err)" = "wrong.pkt:6:" ] && grep -q '  expected RC_SEND_ONLY qp=0x22 psn=0x65' err || fail "why it failed"

# refused LINE WORDS: a script with that line, the second, is none, and those words say why
refused() {
	printf 'mr m va=0 len=64\n%s\n' "$1" >bad.pkt
	expect 2 script bad.pkt
	[ "$(wc -l <err)" = 1 ] && [ "$(cut -d: -f1,2 err)" = bad.pkt:2 ] || fail "$1: not one line that names it"
	grep -qF "$2" err || fail "$1: another reason"
}
refused 'nonsense' 'found "nonsense", expected clause, device, mr, mw, qp, srq or at'
refused 'qp A nonsense=1' 'found "nonsense=1", expected end of line, or a word that is known here'
refused 'at 0 nonsense' 'found "nonsense", expected something that a script can do'
refused 'at x next never' 'found "x", expected a time'
refused 'at 0 post A send' 'found "A", expected the name of a QP'
refused 'at 0 in NONSENSE' 'found "NONSENSE", expected a number'
refused 'at 0 recv m id=1' 'found "m", expected the name of a QP'
refused 'at 0 mem m+60:5 same' 'found "m", expected bytes that lie in a region of memory'
refused 'at 0 set m+0:5000 data=x' 'found "m+0:5000", expected at most 4096 bytes'
refused 'at 0 counter nonsense 1' 'found "nonsense", expected a counter'
refused 'at 0 srq_query S' 'found "S", expected the name of an SRQ'
refused 'at never next never' 'expected a QP before it, and a time that comes'
refused 'qp A mtu=257' 'found "A", expected attributes that a QP may have'
refused 'mr n va=0 len=0x10000001' 'found "n", expected at most 256 MiB, or stream=N'
refused 'at 0 destroy n' 'found "n", expected the name of a region'
refused 'mr n va=0 len=1 pd=2' 'found "2", expected pd of at most 1'
refused 'clause 9.1 no colon' 'expected clause NUMBER...: SENTENCE'
refused 'clause nonsense: what' 'expected clause NUMBER...: SENTENCE'
refused 'clause 9.1:' 'expected clause NUMBER...: SENTENCE'
expect 2 script none.pkt
[ "$(cat err)" = 'verbena: none.pkt: No such file or directory' ] || fail "a file that is not there"
# One that is no script does not hide that another failed.
expect 2 script wrong.pkt none.pkt
grep -q '^FAIL' out || fail "what failed beside it is not told"
expect 2 script
