#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# procs.sh PROGRAM SIZE [ARG=VALUE ...]: runs SIZE processes of a host_proc program between addresses
# 127.0.K.1 ... of this machine (IPv4; ip=6 takes ::1 and so one rank a machine only). Prints all
# reports, sorted. Exit status: whether every rank succeeded. NET=K (default: from the process id).
program=$1 size=$2
shift 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
net=${NET:-$(($$ % 250 + 1))}
"$program" --serve --size "$size" --board 127.0.0.1:0 --port-file "$dir/port" 2>"$dir/board" &
board=$!
i=0
while [ ! -s "$dir/port" ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done
ranks=
r=0
while [ $r -lt "$size" ]; do
	VERBENA_ADDR=127.0.$net.$((r + 1)) timeout 60 "$program" --rank $r --size "$size" \
		--board "127.0.0.1:$(cat "$dir/port")" -- "$@" >"$dir/out.$r" &
	ranks="$ranks $!"
	r=$((r + 1))
done
bad=0
for pid in $ranks; do wait "$pid" || bad=1; done
[ $bad = 0 ] || kill $board 2>/dev/null
wait $board || bad=1
cat "$dir/board" >&2
LC_ALL=C sort "$dir"/out.*
exit $bad
