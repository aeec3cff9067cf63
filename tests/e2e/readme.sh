#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the README shows is what comes out, what it says to type works, and what it points to is there.
# $3: the folder of the build.
build=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

# block LINE: what stands between that line and the end of its block
block() {
	sed -n "/^$1\$/,/^\`\`\`\$/p" "$root/README.md" | sed '1d;$d'
}

# The run, but for the seconds that it took.
expect 0 run "$root/traces/default.yaml"
sed 's/ in [0-9.]* s$//' out >said
block '\$ .\/setup run' | sed 's/ in [0-9.]* s$//' >shown
diff shown said || fail "the README shows another run"

# How the tests end, but for their number.
cat >log.json <<'END'
{"name": "one", "result": "OK"}
{"name": "verbena:e2e / hpcc_samples", "result": "SKIP", "stdout": "no hpcc_topology.txt of another simulator in ../shared/samples"}
END
python3 "$root/tests/summary.py" log.json | sed 's/[0-9][0-9]* passed/N passed/' >said
block '\$ .\/setup test' | tail -n 2 | sed 's/[0-9][0-9]* passed/N passed/' >shown
diff shown said || fail "the README shows another end of the tests"

# The first incident: whatever its blocks show is said, line by line.
ln -s "$build" build
python3 - "$root/docs/first-incident.md" <<'END' || fail "the first incident shows something else"
import re, subprocess, sys
text = open(sys.argv[1]).read()
shown = 0
for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
    said = []
    for line in block.splitlines():
        if line.startswith("$ ./setup") or "my_fabric" in line:
            continue
        if line.startswith("$ "):
            done = subprocess.run(["sh", "-c", line[2:]], capture_output=True, text=True)
            assert done.returncode in (0, 1), line
            said = done.stdout.splitlines()
        elif line != "...":
            assert line in said, line
            shown += 1
assert shown > 20
END

# The commands, on addresses and a port that nobody else is likely to have.
sed -n 's,^\(build/verbena .*\),\1,p' "$root/README.md" | sed 's/ *#.*//' >lines
[ "$(wc -l <lines)" -ge 4 ] || fail "too few lines to type"
ln -s "$root/traces" traces
while IFS= read -r line; do
	sh -euc "$line" >out 2>err || fail "the README's \"$line\" fails"
done <lines
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -n '/^VERBENA_ADDR/p' "$root/README.md" | sed "s/127\.0\.0\.1:[0-9]*/127.0.0.1:$port/
	s/=127\.0\.0\./=127.$(($$ / 200 % 200 + 20)).$(($$ % 200 + 20))./" >lines
[ "$(wc -l <lines)" = 2 ] || fail "not two processes"
echo wait >>lines
timeout 60 sh -eu lines >out 2>err || fail "the README's two processes fail"
[ "$(grep -c ' RECV_IMM ' out)" -ge 2 ] || fail "the two processes have received nothing"

grep -oE '\]\([^)#]+\)|(src|srcset)="[^"]+"' "$root/README.md" | sed 's/.*[("]\(.*\)[)"]/\1/' | while IFS= read -r path; do
	[ -e "$root/$path" ] || fail "the README points to $path"
done
