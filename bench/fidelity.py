#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Published figures against what comes out. fidelity.py [--hard] [--write FILE] [NAME...]

Prints a line a row; --hard: only rows that must hold, exit 1 if one does not; --write: the table as
Markdown, in which rows that were not run stay as they are. VERBENA: the command, build/verbena by
default."""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fidelity"))
import conweave  # noqa: E402,F401
import dcqcn  # noqa: E402,F401
import delay  # noqa: E402,F401
import hpcc  # noqa: E402,F401
import irn  # noqa: E402,F401
import pfc  # noqa: E402,F401
from lab import ROWS  # noqa: E402


def rows_of(path):
    """The rows that the file has, by name."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {line.split(" ")[1]: line.rstrip("\n") for line in file if line.startswith("| ")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    failed, lines = 0, rows_of(args.write)
    for row in ROWS:
        if (args.names and row["name"] not in args.names) or (args.hard and not row["hard"]):
            continue
        begin = time.time()
        obtained, holds = row["function"]()
        failed += row["hard"] and not holds
        verdict = "holds" if holds else "DOES NOT HOLD"
        print(f"{row['name']}: {obtained}: {verdict} ({time.time() - begin:.1f} s)", flush=True)
        kind = "must hold" if row["hard"] else "reported"
        lines[row["name"]] = f"| {row['name']} | {row['published']} | {obtained} | {verdict}, {kind} | {row['simplified']} |"
    if args.write:
        with open(args.write, "w", encoding="utf-8") as file:
            file.write(HEAD + "\n".join(lines[r["name"]] for r in ROWS if r["name"] in lines) + "\n" + TAIL)
    return 1 if failed else 0


HEAD = """# Fidelity: published figures and what comes out

Made by `./setup bench fidelity`. No part of the simulator knows a published number; they stand in
`bench/fidelity/` and in tests. Anchors that arithmetic gives (waiting times, headroom, thresholds,
shares, cut-through) are tests: `tests/gate 4`.

| row | published | obtained | verdict | simplified |
|---|---|---|---|---|
"""

TAIL = """
*must hold*: `./setup test fidelity` fails where it does not, those by sign test over 20 seeds among them.
*reported*: only here; a row that does not hold stays, with what explains it.

Published figures that are not rows:

- HPCC, fairness of 16 flows and the step W_AI: a test (`verbena_hpcc`); DCQCN after one CNP: a test (`dcqcn_lone_cnp`).
- ConWeave (SIGCOMM 2023) against CONGA, which is not modelled, and over links that lose; its other figures are in graphs only.
- TIMELY's test bed with DCTCP and with a FAST-like control: those are the kernel's TCP and a host stack, which are not modelled.
- Latency of a production service under RDMA and TCP (SIGCOMM 2016): depends on hosts and load that are not published.
- DCQCN on the test bed with user traffic and disk rebuilds (SIGCOMM 2015): the traces are not public.
"""

if __name__ == "__main__":
    sys.exit(main())
