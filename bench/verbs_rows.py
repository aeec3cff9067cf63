#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verbs_rows.py BUILD: bench/verbs.py --quick measures every row, whatever comes out; what it does not know is a usage
error, and what cannot be measured is none of a missed target. Exit status 77: one core."""
import json
import os
import subprocess
import sys

ROWS = ("write_64KiB_copy write_64KiB_tcp write_1MiB_copy write_1MiB_tcp direct_1MiB send_lat send_lat_tcp "
        "send_lat_tcp_poll write_lat rate udp_1MiB qps_1000 idle").split()
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.py")


def run(build, *args):
    done = subprocess.run([sys.executable, SCRIPT, *args], env={**os.environ, "BUILD": build}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def wrong(row):
    """What is wrong with a row; None: nothing."""
    if row["name"] == "direct_1MiB" and row["ours"] is None:
        return None if row["says"] == "not available" and row["holds"] is None else "says nothing"
    figures = ["ours"] + (["baseline", "ratio"] if row["name"] != "idle" else [])
    for figure in figures:
        if not (isinstance(row[figure], float) and row[figure] > 0):
            return f"{figure} is not positive"
    of, is_least, bound = row["target"].split()[0], "at least" in row["target"], float(row["target"].split()[-1])
    holds = row[of] >= bound if is_least else row[of] <= bound
    if row["holds"] is not holds:
        return "whether it holds is told wrongly"
    return None if row["work"] == "verbs" and row["cpu"] and row["cores"] >= 2 and row["load"] >= 0 else "no machine"


def main():
    build = sys.argv[1]
    if len(os.sched_getaffinity(0)) < 2:
        print("one core")
        return 77
    status, out, said = run(build, "--quick")
    rows = [json.loads(line) for line in out.splitlines()]
    faults = [f"{row}: {wrong(row)}" for row in rows if wrong(row)]
    if status != 0 or said or [row["name"] for row in rows] != ROWS:
        faults.append(f"exit {status}: {out}{said}")
    status, out, said = run(build, "nosuch")
    if status != 2 or out or "found nosuch" not in said:
        faults.append(f"a row that is not there: exit {status}: {out}{said}")
    status, out, said = run("/nosuch", "--quick", "idle")
    if status != 1 or out or "nosuch" not in said:
        faults.append(f"without a build: exit {status}: {out}{said}")
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
