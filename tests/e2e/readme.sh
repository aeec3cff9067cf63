#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the README shows is what comes out, its two processes find each other, and what it points to is
# there. Other lines that it says to type: documents.py.
# $3: the folder of the build.
build=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

# What it shows of a run and of the tests is made, not typed.
python3 "$root/tests/readme.py" "$build" || fail "the README shows something else"

# Two processes, on addresses and a port that nobody else is likely to have.
ln -s "$build" build
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
