#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""same_objects.py BUILD_DIR EXECUTABLE...

Every program of the build that has the adapter in it, simulators (those named at least) and NICs
alike, is linked with the one archive of transport/hca and the one of transport/cc, and no source of
these is compiled twice or for anything else. Prints the sha256 of each member.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

LEAVES = {"transport/hca": "libtransport_hca.a", "transport/cc": "libtransport_cc.a"}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL).stdout


def folder_of(path):
    return "/".join(os.path.dirname(path).split(os.sep)[-2:])


def check_sources(fail):
    seen = {}
    for entry in json.load(open("compile_commands.json", encoding="utf-8")):
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        archive = LEAVES.get(folder_of(path))
        if not archive:
            continue
        if path in seen:
            fail(f"{path} is compiled twice: {seen[path]}, {entry['output']}")
        if os.path.dirname(entry["output"]) != archive + ".p":
            fail(f"{path} is compiled for {entry['output']}")
        seen[path] = entry["output"]
    for archive in LEAVES.values():
        # A thin archive names its members by path.
        members = {os.path.basename(m) for m in output("ar", "t", archive).split()}
        compiled = {os.path.basename(o) for o in seen.values()
                    if os.path.dirname(o) == archive + ".p"}
        if not members or members != compiled:
            fail(f"{archive} holds {sorted(members)}, compiled are {sorted(compiled)}")
        for member in sorted(members):
            path = f"{archive}.p/{member}"
            with open(path, "rb") as f:
                print(hashlib.sha256(f.read()).hexdigest(), path)


def check_programs(named, fail):
    targets = json.loads(output("meson", "introspect", "--targets", "."))
    built = [os.path.relpath(t["filename"][0]) for t in targets if t["type"] == "executable"]
    count = 0
    for program in sorted(set(named) | {p for p in built if os.path.exists(p)}):
        has = re.search(r" [tT] hca_\w+$", output("nm", program), re.MULTILINE)
        if not has and program in named:
            fail(f"{program} has no adapter in it")
        if not has:
            continue
        count += 1
        inputs = output("ninja", "-t", "inputs", program).split()
        for archive in LEAVES.values():
            if inputs.count(archive) != 1:
                fail(f"{program} is not linked with {archive}")
    print(f"{count} programs")


def main():
    for command in ("ninja", "meson", "ar", "nm"):
        if not shutil.which(command):
            print(f"no {command}")
            return 77
    os.chdir(sys.argv[1])
    bad = []

    def fail(what):
        print(what)
        bad.append(what)

    check_sources(fail)
    check_programs([os.path.relpath(p) for p in sys.argv[2:]], fail)
    return 1 if bad else 0


sys.exit(main())
