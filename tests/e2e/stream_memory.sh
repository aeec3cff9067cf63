#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The memory of flows of a stream does not grow with how many there are, but with how many at once.
. "$(dirname "$0")/lib.sh"

# A load counts payload. Of one byte a packet no link takes so much: that ends before the memory does.
cat >flood.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
nic: {qp: per-pair}
traffic: [{class: load, size: 1B, load: 50%, until: 1ms, stream: always}]
END
expect 3 run flood.yaml --json
grep -q 'more than 1048576 flows of loads are under way at once' err || fail "a flood, and not a word of it"

# Many times as many flows take as much memory, but for the chance of more at once.
cat >many.yaml <<'END'
version: 1
topology: {kind: star, hosts: 32}
traffic: [{class: load, size: 1KB, load: 20%, until: 1ms, stream: always}]
END
python3 - "$verbena" <<'END' || fail "memory grows with the flows"
import json, os, sys

def run(until, *more):
    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(write, 1)
        os.execv(sys.argv[1], [sys.argv[1], "run", "many.yaml", "--json", "--set", f"traffic.load.until={until}", *more])
    os.close(write)
    text = os.fdopen(read).read()
    usage = os.wait3(0)[2]
    return json.loads(text)["flows"]["completed"], usage.ru_maxrss

few, many = run("1ms"), run("4ms")
print(few, many)
assert few[0] > 70000 and many[0] > 3.9 * few[0]
assert many[1] < 1.3 * few[1]
# More than may be under way at once, one after another.
pairs, more = run("1ms", "--set", "nic.qp=per-pair"), run("16ms", "--set", "nic.qp=per-pair")
print(pairs, more)
assert more[0] > 1100000
assert more[1] < 1.3 * pairs[1]
END
