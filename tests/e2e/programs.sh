#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs that do not end well: what the command says, and what it keeps. $3: the module "stuck".
stuck=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

# scenario HOW UNTIL
scenario() {
	cat <<END
version: 1
name: stuck
topology: {kind: star, hosts: 4}
traffic: [{class: ring, pattern: ring, size: 100KB}]
programs: [{run: "$stuck", name: mine, hosts: [h2, h1], args: [$1]}]
${2:+until: $2}
END
}

scenario fail >fail.yaml
expect 1 run fail.yaml --out fail
grep -qx 'verbena: program mine: 1 of 2 ranks failed, 0 never ended' err || fail "fail: another line"
holds fail/result.json 'r["partial"] is False and r["flows"]["completed"] == 4'
holds fail/result.json '[(k["host"], k["ended"], k["result"]) for k in r["programs"][0]["ranks"]] == [("h2", True, 0), ("h1", True, 7)]'

# One that can never go on is a failure; one that the end of the run cuts off, too, unless it may be.
scenario wait >wait.yaml
expect 1 run wait.yaml --json
grep -qx 'verbena: program mine: 0 of 2 ranks failed, 1 never ended' err || fail "wait: another line"
holds out 'r["programs"][0]["unfinished"] == 1 and r["programs"][0]["ranks"][1]["end_ps"] is None'
expect 1 run wait.yaml --json --until 2us --junit wait.xml
grep -qx 'verbena: program mine: 0 of 2 ranks failed, 1 had not ended at the end of the run' err || fail "cut: another line"
grep -q 'tests="1" failures="1" ' wait.xml && grep -q '1 had not ended at the end of the run' wait.xml || fail "cut: another $(cat wait.xml)"
holds out 'r["programs"][0]["unfinished"] == 1 and r["flows"]["failed"] == 4'
expect 1 run wait.yaml --until 2us --out cut
grep -q '^program mine  *2 ranks: 1 ended well, 0 failed, 1 unfinished at the end of the run; ' out || fail "cut: $(cat out)"
expect 0 run wait.yaml --json --until 2us --set programs.0.endless=yes --junit wait.xml
grep -q 'tests="1" failures="0" ' wait.xml || fail "endless: another $(cat wait.xml)"
holds out 'r["programs"][0]["unfinished"] == 1 and r["flows"]["failed"] == 4'
expect 1 run wait.yaml --json --set programs.0.endless=yes
rm -rf wait.xml cut

# Time goes on to the last end, whether a packet came then or not.
holds fail/result.json 'r["time_ps"] >= max(k["end_ps"] for k in r["programs"][0]["ranks"])'
scenario fail | sed 's/name: mine,/name: mine, start: 5ms,/' >late.yaml
expect 1 run late.yaml --json
holds out 'r["time_ps"] == 5 * 10**9'
rm late.yaml

scenario sleep >sleep.yaml
for args in '[sleep]' '[sleep, less]'; do
	expect 1 run sleep.yaml --json --set "programs.mine.args=$args"
	holds out 'r["programs"][0]["ranks"][1]["ended"] is False and r["time_ps"] < 10**9'
done

# Virtual time stands still while a program computes: it is named, and what there is so far is kept.
scenario spin >spin.yaml
expect 3 run spin.yaml --out spin
grep -q '^verbena: h1: program mine spins at ' err || fail "spin: another line"
holds spin/result.json 'r["partial"] is True and r["flows"]["posted"] == 4'
[ -s spin/flows.csv ] || fail "spin: no flows.csv"

# Who ends the process of all is named, and what there is so far is kept.
scenario exit >exit.yaml
expect 3 run exit.yaml --out exit --threads 2
grep -qx 'verbena: h1: program mine called exit(), which ends all of them' err || fail "exit: another line"
for how in crash deep; do
	scenario $how >$how.yaml
	status=0
	("$verbena" run $how.yaml --out $how >out 2>err) 2>/dev/null || status=$?
	grep -qE '^verbena: h1: program mine crashed at .*(prog_main|deep).*: (Aborted|Segmentation fault)$' err ||
		fail "$how: another line"
	[ $how$status = crash134 ] || [ $how$status = deep139 ] || fail "$how: exit $status"
done
for how in exit crash deep; do
	holds $how/result.json 'r["partial"] is True and r["flows"]["posted"] == 4'
	[ -s $how/flows.csv ] || fail "$how: no flows.csv"
done

# Standard output belongs to the result, and what programs say cannot look like more than a line.
scenario print >print.yaml
expect 0 run print.yaml --json
holds out 'r["partial"] is False and r["programs"][0]["failed"] == 0'
printf 'mine, rank 1: two\\x0alines\\x1b[31m\nprinted\n' >want
cmp -s want err || fail "print: something else on stderr"
rm want
expect 0 run print.yaml --json --quiet
[ ! -s err ] || fail "--quiet lets programs print"
holds out 'r["partial"] is False'

# There is one result, whoever has forked. (The pipe ends when the child has, too.)
scenario fork >fork.yaml
[ "$(timeout 30 "$verbena" run fork.yaml --json --threads 2 | grep -c digest)" = 1 ] || fail "fork: not one result"

# Something that is no program.
: >empty.so
scenario fail | sed "s,$stuck,./empty.so," >empty.yaml
expect 2 run empty.yaml
[ "$(wc -l <err)" = 1 ] || fail "not one line"
grep -q '^empty.yaml:5: programs.0.run: found "./empty.so", expected a program (.*)$' err ||
	fail "no line about a file that is no program"

# check looks at programs and lets nothing of them run: not before there is a run.
cat >ctor.c <<'END'
#include <stdio.h>
__attribute__((constructor)) static void first(void) { fclose(fopen("constructed", "w")); }
#ifdef WANTS
int nobody_has_this(void);
int prog_main(const void *prog) { return prog ? nobody_has_this() : 0; }
#elif !defined(NOTHING)
int prog_main(const void *prog) { return prog == 0; }
#else
int prog_main = 5;
#endif
END
for how in GOOD WANTS NOTHING; do
	${CC:-cc} -shared -fPIC -D$how -o $how.so ctor.c || fail "no module to try"
	scenario fail | sed "s,$stuck,./$how.so," >$how.yaml
done
expect 0 check GOOD.yaml
expect 2 check WANTS.yaml NOTHING.yaml
[ ! -e constructed ] || fail "check has run a constructor"
cat >want <<'END'
WANTS.yaml:5: programs.0.run: found "./WANTS.so", expected a program (undefined symbol: nobody_has_this)
NOTHING.yaml:5: programs.0.run: found "./NOTHING.so", expected a program (it defines no function prog_main or main)
END
cmp -s want err || fail "not what is missing in them"
expect 0 run GOOD.yaml --json
[ -e constructed ] || fail "run has run none"
expect 2 run WANTS.yaml --json
# Whatever is cut off or changed: a line, and nothing else.
python3 - "$verbena" <<'END' || fail "a damaged module"
import random, subprocess, sys
whole = open("GOOD.so", "rb").read()
random.seed(1)
heads = [whole[:n] for n in (0, 3, 4, 16, 63, 64, 65, 500, len(whole) // 2, len(whole) - 1)]
for i in range(120):
    odd = bytearray(whole)
    sections = int.from_bytes(whole[40:48], "little")
    for _ in range(4):
        at = random.randrange(64) if i % 2 else random.randrange(sections, len(whole))
        odd[at] = random.choice([0, 1, 0x7f, 0x80, 0xff, random.randrange(256)])
    heads.append(bytes(odd))
for n, head in enumerate(heads):
    open("GOOD.so", "wb").write(head)
    done = subprocess.run([sys.argv[1], "check", "GOOD.yaml"], capture_output=True)
    lines = done.stderr.decode().splitlines()
    assert done.returncode in (0, 2) and len(lines) == (done.returncode == 2), (n, done)
    assert n >= 10 or done.returncode == 2, n
END
printf '\177ELF' >GOOD.so
mkfifo fifo.so
scenario fail | sed "s,$stuck,./fifo.so," >fifo.yaml
timeout 20 "$verbena" check fifo.yaml >out 2>err && fail "a FIFO is a program"
grep -q '^fifo.yaml:5: programs.0.run: .* (no shared object)$' err || fail "a FIFO: another line"
rm -f GOOD.* WANTS.* NOTHING.* ctor.c constructed fifo.* want

# A path is relative to the scenario.
mkdir below
cp "$stuck" below/mine.so
scenario fail | sed "s,$stuck,./mine.so," >below/near.yaml
expect 1 run below/near.yaml --json
(cd / && expect 1 run "$work/below/near.yaml" --json)
expect 0 check below/near.yaml
nothing_else below small.yaml fail.yaml fail wait.yaml sleep.yaml spin.yaml spin exit.yaml exit \
	crash.yaml crash deep.yaml deep print.yaml fork.yaml empty.yaml empty.so

# The timeout of ibv_modify_qp() where nic.rto_low and nic.rto_high are its length: said once, of the first host.
cat >unheard.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
programs: [{run: ring, hosts: "h[0-2]"}]
END
expect 0 run unheard.yaml --json
[ ! -s err ] || fail "a warning without a reason"
expect 0 run unheard.yaml --json --set nic.retransmit=selective
[ "$(cat err)" = "warning: unheard.yaml: ibv_modify_qp() at h0: found timeout 14, expected 0 or any: beside nic.retransmit: selective its length is nic.rto_low and nic.rto_high; ignored" ] ||
	fail "nothing, or another line, about a timeout that nobody hears: $(cat err)"
expect 0 run unheard.yaml --json --quiet --set nic.retransmit=selective
[ ! -s err ] || fail "--quiet does not keep the warning"
