#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/readme.py BUILD [--write]: what README.md shows of ./setup run and ./setup test, made from the build:
what the default scenario prints, and how the tests end where all of them can run but those that need
files of another simulator. Without --write: exit 1 and the difference where README.md shows something else;
the seconds that the run took do not count."""
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIPPED = {"hpcc_samples": "no hpcc_topology.txt of another simulator in ../shared/samples"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run_said(build):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(f"{ROOT}/traces", f"{folder}/traces")
        return subprocess.run([f"{build}/verbena", "run", "traces/default.yaml"], cwd=folder, check=True,
                              stdout=subprocess.PIPE, text=True).stdout


def tests_said(build):
    """The end of a log in which each test of the suites that ./setup takes for everyday ones went well;
    the tests are those of meson introspect --tests."""
    everyday = set(re.search(r'^everyday="(.*)"$', read(f"{ROOT}/setup"), re.M)[1].split())
    with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
        for test in json.loads(read(f"{build}/meson-info/intro-tests.json")):
            suites = [suite.rpartition(":")[2] for suite in test["suite"]]
            if not everyday.intersection(suites):
                continue
            reason = SKIPPED.get(test["name"])
            json.dump({"name": f"{test['suite'][0]} / {test['name']}",
                       "result": "SKIP" if reason else "OK", "stdout": reason}, log)
            log.write("\n")
        log.flush()
        return subprocess.run([sys.executable, f"{ROOT}/tests/summary.py", log.name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout


def no_seconds(text):
    return re.sub(r" in [0-9.]+ s$", "", text, flags=re.M)


def with_block(text, command, said):
    """The text with said in the block that begins with that command, unless it says so already."""
    before, found, rest = text.partition(f"```\n$ {command}\n")
    block, end, after = rest.partition("```\n")
    assert found and end, f"README.md shows no {command}"
    return before + found + (block if no_seconds(block) == no_seconds(said) else said) + end + after


def main():
    build = os.path.abspath(sys.argv[1])
    path = f"{ROOT}/README.md"
    is_now = read(path)
    made = with_block(is_now, "./setup run", run_said(build))
    made = with_block(made, "./setup test", "...\n" + tests_said(build))
    if made == is_now:
        return 0
    if sys.argv[2:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)
        return 0
    sys.stdout.writelines(difflib.unified_diff(is_now.splitlines(True), made.splitlines(True),
                                               "README.md", "what comes out"))
    print("README.md is stale: ./setup readme makes it anew")
    return 1


sys.exit(main())
