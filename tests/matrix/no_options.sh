#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# no_options.sh [BUILD]: every optional dependency left out. Tests whose program is byte by byte that of BUILD,
# which the everyday suites try, are not run again; where there is no BUILD, or the tree is not as committed,
# all are.
. "$(dirname "$0")/lib.sh"
need gcc python3
export CC=gcc
other=${1:-}
git -C "$ROOT" diff --quiet HEAD 2>/dev/null || other=
# As the build of a tree lies: paths that are compiled in are the same.
build=$work/tree/build
configure -Dauto_features=disabled
compile all
names=$(python3 - "$build" "$other" <<'END'
import filecmp, json, os, subprocess, sys

def introspect(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, build]))

def is_tried(program):
    twin = os.path.join(other, os.path.relpath(program, build))
    return bool(other) and os.path.exists(twin) and filecmp.cmp(program, twin, shallow=False)

build, other = sys.argv[1:]
tried = {t["filename"][0] for t in introspect("--targets") if t["type"] == "executable" and is_tried(t["filename"][0])}
print(f"{len(tried)} programs are those of the everyday suites", file=sys.stderr)
for t in introspect("--tests"):
    if {s.split(":")[-1] for s in t["suite"]} & {"unit", "script", "scenario"} and t["cmd"][0] not in tried:
        print(t["name"])
END
)
# shellcheck disable=SC2086
tests --timeout-multiplier 2 $names
