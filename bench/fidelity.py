#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Published figures against what comes out. fidelity.py [--hard] [--write FILE [--stored]] [NAME...]

Prints a line a row; --hard: only rows that must hold, exit 1 if one does not; --write: the page as Markdown.
What rows give is kept in fidelity/results.json with the version of the command, and those that were not run
stand in the page with what they gave last; --stored: none is run. VERBENA: the command, build/verbena by
default."""
import argparse
import os
import subprocess
import sys
import time

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fidelity")
RESULTS = os.path.join(FOLDER, "results.json")
sys.path.insert(0, FOLDER)
import conweave  # noqa: E402,F401
import dcqcn  # noqa: E402,F401
import delay  # noqa: E402,F401
import hpcc  # noqa: E402,F401
import irn  # noqa: E402,F401
import page  # noqa: E402
import pfc  # noqa: E402,F401
from lab import ROWS, VERBENA  # noqa: E402


def run(row, version):
    """The row's result, after a line that says it."""
    begin = time.time()
    obtained, holds, *more = row["function"]()
    result = {"obtained": obtained, "holds": holds, "version": version}
    if more:
        result["all_figures"] = more[0]
    print(f"{row['name']}: {(more or [obtained])[0]}: {page.verdict(row, holds)} ({time.time() - begin:.1f} s)", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--stored", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    unknown = set(args.names) - {row["name"] for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    failed, results = 0, page.load(RESULTS)
    version = "" if args.stored else subprocess.run([VERBENA, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    for row in ROWS:
        if args.stored or (args.names and row["name"] not in args.names) or (args.hard and not row["hard"]):
            continue
        results[row["name"]] = run(row, version)
        failed += row["hard"] and not results[row["name"]]["holds"]
        if args.write:
            page.store(RESULTS, {r["name"]: results[r["name"]] for r in ROWS if r["name"] in results})
    if args.write:
        text = page.render(ROWS, results)
        with open(args.write, "w", encoding="utf-8") as file:
            file.write(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
