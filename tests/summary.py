#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads Meson's test log; prints failures and the reason of each skip, then one counting line."""
import json
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    test = json.loads(line)
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
sys.exit(1 if counts["failed"] or not counts["passed"] else 0)
