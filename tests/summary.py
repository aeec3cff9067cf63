#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads Meson's test logs, of which a later one stands for what both tell of; prints failures and the
reason of each skip, then one counting line. --skipped LOG: the names of those alone, for meson test."""
import json
import sys


def read(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file]


def main(logs):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in {test["name"]: test for log in logs for test in read(log)}.values():
        if test["result"] in ("OK", "EXPECTEDFAIL"):
            counts["passed"] += 1
        elif test["result"] == "SKIP":
            counts["skipped"] += 1
            said = (test.get("stdout") or "").strip().splitlines()
            print(f"skipped: {test['name']}: {said[-1] if said else 'no reason given'}")
        else:
            counts["failed"] += 1
            print(f"failed: {test['name']}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if sys.argv[1] == "--skipped":
    print(*(test["name"].split(" / ")[-1] for test in read(sys.argv[2]) if test["result"] == "SKIP"))
else:
    sys.exit(main(sys.argv[1:]))
