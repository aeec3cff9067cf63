#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# works.sh BENCH_WORK VERBENA: the works inside machines, which nothing else runs, come to their end, with a hundredth
# of their bytes. In B1 and B1d everything happens when it always has, to the picosecond.
set -eu
machines=$(cd "$(dirname "$0")/machines" && pwd)
bench_work=$(realpath "$1")
verbena=$(realpath "$2")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
for known in B1:8fea6054a3b7b53e B1d:8bd4298fcbae13cf; do
	work=${known%:*}
	"$bench_work" "$work" --scale 100 >line
	grep -q '"burst_hops": [1-9]' line || {
		echo "bench: $work: no burst: $(cat line)"
		exit 1
	}
	grep -q "\"digest\": \"${known#*:}\"" line || {
		echo "bench: $work: expected digest ${known#*:}: $(cat line)"
		exit 1
	}
done
for work in B2 B3; do
	sed 's/bytes=4194304/bytes=40960/; s/count=65536/count=1024/' "$machines/$work.yaml" >$work.yaml
	"$verbena" run $work.yaml --quiet --out $work >said 2>&1 || {
		echo "bench: $work: $(cat said)"
		exit 1
	}
	grep -q '"bursts": [1-9]' $work/result.json || {
		echo "bench: $work: no burst"
		exit 1
	}
done
