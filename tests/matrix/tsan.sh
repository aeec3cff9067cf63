#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ThreadSanitizer: whatever has threads. Programs in virtual time only on the thread back end; stacks
# that are switched by hand are not threads to it. A program that makes no thread, takes no lock and handles
# no signal has nothing for it; a child of a program with threads that begins threads of its own it cannot follow.
. "$(dirname "$0")/lib.sh"
need gcc nm python3
export CC=gcc
links -fsanitize=thread || skip "gcc has no thread sanitizer that runs here"
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
configure -Dbuildtype=debug -Doptimization=1 -Db_sanitize=thread -Db_lundef=false
all_of unit scenario
names=$(python3 - "$build" <<'END'
import json, re, subprocess, sys

def introspect(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, sys.argv[1]]))

def is_for_it(program):
    symbols = subprocess.check_output(["nm", "--undefined-only", program], text=True)
    return re.search(r" (pthread_(create|mutex_|cond_|rwlock_)\w*|sigaction|signal)(@\S+)?$", symbols, re.M)

names, left_out = [], 0
programs = {t["filename"][0] for t in introspect("--targets") if t["type"] == "executable"}
for test in introspect("--tests"):
    suites = {s.split(":")[-1] for s in test["suite"]}
    name = test["name"]
    if suites & {"unit", "scenario"} and not name.startswith("sim_") and name != "golden" \
            and not name.startswith("nic_fork"):
        if test["cmd"][0] not in programs or is_for_it(test["cmd"][0]):
            names.append(name)
        else:
            left_out += 1
print(f"{left_out} programs without threads, locks and signals are left out", file=sys.stderr)
missing = {"engine", "nic"} - set(names)
if missing:
    sys.exit(f"without {' '.join(sorted(missing))}: they have threads")
print(*names)
END
)
# Of the seeds of engine each 20th: each is played with windows and cuts, on one to three threads, and each fifth
# of them, all that there are, as it stands on two or three.
export SEED_STEP=20
# shellcheck disable=SC2046,SC2086
tests --timeout-multiplier 10 engine nic $(turn 2 $names)
export ONLY="--backend thread"
golden
export ONLY="--backend thread --threads 2"
golden
