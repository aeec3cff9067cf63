# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# What the configurations share. Each is a script NAME.sh that sources this: it builds the committed
# tree (HEAD; the working tree where there is no git) in a folder that is thrown away, runs suites
# there and compares the golden digests. Exit 77 and a reason on the last line: cannot be had here.
#	TREE=DIR	build this folder instead
#	JOBS=N		so much at once (default: 1, since several scripts run side by side)
set -eu
# An outer build's settings are not ours.
unset CFLAGS LDFLAGS CPPFLAGS MAKEFLAGS NINJA_STATUS MESON_TESTTHREADS 2>/dev/null || true
ROOT=${ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
build=$work/build
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
JOBS=${JOBS:-1}
# Address-space randomisation is off where that is allowed: sanitizers of 2022 do not know the
# layouts of newer kernels.
fixed=
! setarch -R true 2>/dev/null || fixed="setarch -R"

skip() {
	echo "$*"
	exit 77
}

# need COMMAND...
need() {
	for command in "$@"; do
		command -v "$command" >/dev/null || skip "no $command"
	done
}

# links FLAG...: whether $CC makes programs with these flags that run
links() {
	echo 'int main(void) { return 0; }' >"$work/links.c"
	"${CC:-cc}" "$@" -o "$work/links" "$work/links.c" 2>"$work/log" && "$work/links" 2>>"$work/log"
}

# quietly COMMAND...: what it said is shown only when it fails
quietly() {
	"$@" >"$work/log" 2>&1 || {
		echo "failed: $*"
		grep -E '^FAILED|error:|ERROR' "$work/log" | head -n 20 || tail -n 20 "$work/log"
		exit 1
	}
}

# configure OPTION...: puts the tree in $tree and its build folder, not yet built, in $build
configure() {
	tree=${TREE:-$work/tree}
	if [ -z "${TREE:-}" ]; then
		mkdir "$tree"
		if git -C "$ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1; then
			git -C "$ROOT" archive -o "$work/tree.tar" HEAD
			echo "HEAD is $(git -C "$ROOT" rev-parse --short HEAD)"
		else
			tar -C "$ROOT" -cf "$work/tree.tar" --exclude='./build*' --exclude=./.git .
		fi
		tar -C "$tree" -xf "$work/tree.tar"
	fi
	quietly meson setup "$build" "$tree" "$@"
}

# tests ARG...: runs tests of the build folder; names the failed ones
tests() {
	# shellcheck disable=SC2086
	$fixed meson test -C "$build" --no-rebuild --num-processes "$JOBS" "$@" >"$work/log" 2>&1 || {
		grep -E 'FAIL|TIMEOUT|ERROR' "$work/log" | head -n 40
		for name in $(grep -oE '[a-z0-9_]+ +(FAIL|TIMEOUT|ERROR)' "$work/log" |
			cut -d' ' -f1 | head -n 5); do
			echo "--- $name"
			said "$name"
		done
		exit 1
	}
	grep -E '^(Ok|Skipped): ' "$work/log" | tr -s ' \n' ' '
	echo
}

# The end of what one test of the build folder said.
said() {
	python3 - "$build/meson-logs/testlog.json" "$1" <<'END' || true
import json, sys
for line in open(sys.argv[1], errors="replace"):
    test = json.loads(line)
    if test["name"].endswith(sys.argv[2]):
        said = (test.get("stdout") or "") + (test.get("stderr") or "")
        print("\n".join(said.splitlines()[-40:]))
END
}

# names_of SUITE...: their tests
names_of() {
	for suite in "$@"; do
		meson test -C "$build" --no-rebuild --list --suite "$suite" 2>/dev/null | sed -n 's,^verbena.* / ,,p'
	done | sort -u
}

# turn N NAME...: those of them whose turn it is with the tree as it is committed, one in N; all, where there is
# no git. What takes long in several configurations need not do so at each commit.
turn() {
	tree_id=$(git -C "$ROOT" rev-parse -q --verify 'HEAD^{tree}' 2>/dev/null || true)
	every=$1
	shift
	for name in "$@"; do
		number=$(echo "$tree_id $name" | cksum | cut -d' ' -f1)
		[ -n "$tree_id" ] && [ $((number % every)) -ne 0 ] || echo "$name"
	done
}

# golden: the digests of record, from this build's programs; ONLY and RUN as in tests/golden/check
golden() {
	# shellcheck disable=SC2086
	$fixed "$tree/tests/golden/check" "$build"
}

# golden_programs: what golden() runs, and the programs that its scenarios name
golden_programs() {
	python3 - "$build" <<'END'
import json, os, subprocess, sys

build = sys.argv[1]
for t in json.loads(subprocess.check_output(["meson", "introspect", "--targets", build])):
    name = os.path.relpath(t["filename"][0], build)
    if t["type"] == "shared module" or t["type"] == "executable" and os.path.basename(
            name).startswith(("sim_", "verbena", "scenario_tool")):
        print(name)
END
}

# programs_of SUITE...: what their tests run
programs_of() {
	python3 - "$build" "$@" <<'END'
import json, os, subprocess, sys

build, suites = sys.argv[1], set(sys.argv[2:])

def introspect(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, build]))

files = {t["id"]: os.path.relpath(t["filename"][0], os.path.realpath(build)) for t in introspect("--targets")}
for t in introspect("--tests"):
    if suites & {s.split(":")[-1] for s in t["suite"]}:
        print(*(files[d] for d in t["depends"]), sep="\n")
END
}

# compile TARGET...
compile() {
	quietly ninja -C "$build" -j "$JOBS" "$@"
}

# decides: what does not depend on a compiler, packet scripts and the digests of record, as they are and with each
# packet through bytes; no more of the tree is built than these take
decides() {
	all_of script
	tests --suite script --timeout-multiplier "${SLOWER:-2}"
	for ONLY in "" --through-wire; do
		export ONLY
		golden
	done
	unset ONLY
}

# all_of SUITE...: builds what these take, and digests, and no more
all_of() {
	# shellcheck disable=SC2046
	compile $({ golden_programs && programs_of "$@"; } | sort -u)
}

# everyday: build all of it, run the suites that decide (one of their tests compares the digests of
# record); SLOWER=N gives each test N times its time
everyday() {
	compile all
	tests --suite script --timeout-multiplier "${SLOWER:-2}"
	# shellcheck disable=SC2046
	tests --timeout-multiplier "${SLOWER:-2}" $(turn 2 $(names_of unit scenario))
}
