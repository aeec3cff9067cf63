#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ThreadSanitizer: whatever has threads. Programs in virtual time only on the thread back end; stacks
# that are switched by hand are not threads to it.
. "$(dirname "$0")/lib.sh"
need gcc python3
export CC=gcc
links -fsanitize=thread || skip "gcc has no thread sanitizer that runs here"
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
configure -Dbuildtype=debug -Doptimization=1 -Db_sanitize=thread -Db_lundef=false
compile all
names=$(python3 - "$build" <<'END'
import json, subprocess, sys
out = subprocess.check_output(["meson", "introspect", "--tests", sys.argv[1]])
for test in json.loads(out):
    suites = {s.split(":")[-1] for s in test["suite"]}
    name = test["name"]
    if suites & {"unit", "scenario"} and not name.startswith("sim_") and name != "golden":
        print(name)
END
)
# shellcheck disable=SC2086
tests --timeout-multiplier 10 $names
export ONLY="--backend thread"
golden
export ONLY="--backend thread --threads 2"
golden
