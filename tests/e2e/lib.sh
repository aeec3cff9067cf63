# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# What the tests of the command share: . lib.sh; $1 is the command, $2 the repository. Sets verbena,
# root, work (an empty folder, the current one).
set -eu
verbena=$(realpath "$1")
# shellcheck disable=SC2034
root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "$*"
	[ ! -s "$work/err" ] || sed 's/^/stderr: /' "$work/err"
	exit 1
}

# expect STATUS ARG...: runs verbena; its output is in $work/out and $work/err
expect() {
	want=$1
	shift
	status=0
	"$verbena" "$@" >"$work/out" 2>"$work/err" || status=$?
	# Of a build with sanitizers, which say so of every program with stacks of its own.
	sed -i "/WARNING: ASan doesn't fully support makecontext/d" "$work/err"
	[ "$status" = "$want" ] || fail "verbena $*: exit $status, expected $want"
}

# holds FILE EXPRESSION: Python, over the JSON in FILE as r
holds() {
	python3 - "$1" "$2" <<'END' || fail "$1: not so: $2"
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

trace_of() { # ARG...: what happens in a run, whose folder is "traced", into "trace"
	expect 0 run "$@" --quiet --out traced --trace all
	grep '^[0-9]*\.[0-9]\{6\} us  ' out >trace
}

# with_expectations BASE FILE EXPRESSION...: FILE is BASE with these, each a line of its own
with_expectations() {
	cp "$1" "$2"
	file=$2
	shift 2
	echo "expect:" >>"$file"
	for expression in "$@"; do
		printf "  - '%s'\n" "$expression" >>"$file"
	done
}

judges_expectations() { # FILE, a good scenario with expectations: whether this verbena was built with libjq
	"$verbena" check "$1" >out 2>err && return
	grep -q 'expected none: this verbena was built without libjq' err || fail "check: another reason"
	return 1
}

digest_of() { # FILE: what a run has printed
	sed -n 's/^digest: \([0-9a-f]\{16\}\)$/\1/p' "$1"
}

nothing_else() { # NAME...: there is nothing but these, out and err
	for file in * .[!.]*; do
		case " out err $* " in
		*" $file "*) ;;
		*) [ ! -e "$file" ] || fail "there is a $file" ;;
		esac
	done
}

# lossy_scenario TOPOLOGY [LINE...]: lossy.yaml, an incast of a lossless priority and one of another, in
# which packets are marked, dropped and sent again; and these lines
lossy_scenario() {
	cat >lossy.yaml <<END
version: 1
topology: {$1}
switch: {buffer: 600KB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {mtu: 1024, cc: dcqcn, timeout: 8}
traffic:
  - {class: incast, pattern: incast, to: h0, size: 200KB}
  - {class: other, pattern: incast, to: h1, size: 300KB, priority: 5}
END
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" >>lossy.yaml
}

cat >small.yaml <<'END'
version: 1
name: small
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}
switch: {buffer: 1MiB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {mtu: 1024, cc: dcqcn}
traffic:
  - {class: incast, pattern: incast, to: h0, from: "h[1-7]", size: 100KB, start: 5us}
  - {class: ring, pattern: ring, size: 20KB}
programs:
  - {run: ring, hosts: [h1, h6, h3]}
until: 10ms
END

# same_by_ways NAME: NAME.yaml, which was run into NAME, has the same digest however it is run
same_by_ways() {
	digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json" | head -n 1)
	for how in "--threads 2" --through-wire; do
		# shellcheck disable=SC2086
		expect 0 run "$1.yaml" $how --json
		holds out "r['digest'] == '$digest'"
	done
}

# checks NAME COUNT: the programs of NAME.yaml say "ok" COUNT times, each for what holds, and nobody sees how they
# are run
checks() {
	expect 0 run "$1.yaml" --out "$1" --json
	grep -h -o '\(ok\|not\) [a-z0-9].*' err out >said || true
	[ "$(grep -c '^ok ' said)" -eq "$2" ] || fail "$1: $(grep -c '^ok ' said) of $2 checks hold"
	same_by_ways "$1"
}

# is_sanitized: beside a sanitizer ranks share their variables and have no addresses of their own.
is_sanitized() {
	nm "$verbena" | grep -qE '__(asan|tsan)_init'
}

# one_gpu PROGRAM [ARGS [HOSTS]]: a scenario: a rank on each of the hosts (h0), as often as it is named; each has one GPU
# of generation 5 x16 (MPS 256, MRRS 4096)
one_gpu() {
	cat <<END
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 1GiB, latency: 300ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 5, mps: 256B, mrrs: 4KiB, delay: 3ns}
programs: [{run: $1, hosts: [${3:-h0}], args: [${2:-}]}]
END
}
