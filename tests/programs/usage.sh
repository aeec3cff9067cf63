#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage.sh HOST_PROC_PROGRAM: says what it takes, and, where nobody keeps a board, whom it waits for.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$1" --help | grep -q '^usage: .* --rank R --size N --board ADDR:PORT ' || { echo "no help"; exit 1; }
"$1" --nonsense 2>&1 | grep -q '^usage: ' || { echo "no usage"; exit 1; }
status=0
timeout 20 "$1" --rank 1 --size 2 --board 127.0.0.1:1 --wait 3 >"$dir/out" 2>&1 || status=$?
said=$(cat "$dir/out")
[ "$status" = 1 ] || { echo "exit $status: $said"; exit 1; }
case $said in
"rank 1: no board answers at 127.0.0.1:1 (that of the rank with --serve); waiting 1 s
board at 127.0.0.1:1: "*) ;;
*) echo "another line: $said"; exit 1 ;;
esac

# Who keeps the board says who has not come, once; and nothing once all have.
"$1" --size 3 --board 127.0.0.1:0 --serve --port-file "$dir/port" 2>"$dir/board" &
board=$!
for _ in $(seq 100); do [ -s "$dir/port" ] && break; sleep 0.1; done
port=$(cat "$dir/port")
VERBENA_ADDR=127.0.0.97 timeout 20 "$1" --rank 1 --size 3 --board "127.0.0.1:$port" >"$dir/one" 2>&1 &
one=$!
for _ in $(seq 100); do [ -s "$dir/board" ] && break; sleep 0.1; done
sleep 1.5
kill "$one" 2>/dev/null
wait "$one"
wait "$board"
said=$(cat "$dir/board")
[ "$said" = "board at 127.0.0.1:$port: waiting for ranks 0, 2 of 3
board: Connection reset by peer" ] || { echo "the board says: $said"; exit 1; }
