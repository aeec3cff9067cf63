#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs/fidelity.md is what the rows and their results make, and can be read: short cells, a note for each row,
verdicts of known words; rows of DCQCN are there for both places of marking, and run with that."""
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import fidelity  # noqa: E402
from fidelity import ROWS, dcqcn, page  # noqa: E402

LONGEST = 90
VERDICTS = ("holds, must hold", "holds, reported", "DOES NOT HOLD, reported")
MARKED = ("D1", "D3", "D5", "D6", "D8", "D8b", "D8c", "A12")


def faults_of(text, names):
    """What is wrong with the form of a page that is to have these rows."""
    faults = []
    table = [line.strip("|\n").split(" | ") for line in re.findall(r"^\| \[.*\n", text, re.MULTILINE)]
    notes = re.findall(r"^### (.+)\n\n(.+)\n\nObtained \(verbena [^)]+\)\): .", text, re.MULTILINE)
    shown = []
    for cells in table:
        cells = [cell.strip() for cell in cells]
        link = re.fullmatch(r"\[(.+)\]\(#(.+)\)", cells[0])
        if len(cells) != 5 or not link or link[2] != link[1].lower():
            faults.append(f"no line of five cells, the first a link to its note: {cells}")
            continue
        shown.append(link[1])
        faults += [f"{link[1]}: {len(cell)} characters in a cell: {cell}" for cell in cells[1:] if not 0 < len(cell) <= LONGEST]
        if cells[4] not in VERDICTS:
            faults.append(f"{link[1]}: {cells[4]} is no verdict")
    if shown != names:
        faults.append(f"the table has {shown}, and the rows are {names}")
    if [name for name, _ in notes] != names:
        faults.append(f"there are notes for {[name for name, _ in notes]}, and the rows are {names}")
    return faults


class Seen(Exception):
    """The scenario that a row would run."""


def scenario_of(function):
    """The first that it would run."""
    def see(first, *_, **__):
        raise Seen(first if isinstance(first, str) else first[0][0])
    kept = dcqcn.Run, dcqcn.runs
    dcqcn.Run = dcqcn.runs = see
    try:
        function()
    except Seen as seen:
        return str(seen)
    finally:
        dcqcn.Run, dcqcn.runs = kept
    return ""


def marking_faults():
    """Of rows by the place of marking."""
    faults = []
    by_name = {row["name"]: row for row in ROWS}
    for name in MARKED:
        for mark, label in (("dequeue", name), ("enqueue", f"{name}-enqueue")):
            if label not in by_name:
                faults.append(f"there is no row {label}")
            elif (label != "D1") != (f"mark: {mark}" in scenario_of(by_name[label]["function"])):
                faults.append(f"{label} does not run with mark: {mark}")
    return faults


def long_cell_passes():
    """Whether the page takes a cell that has no room."""
    row = {"name": "X", "what": "w" * (LONGEST + 1), "published": "p", "claim": "c", "simplified": "", "hard": False}
    try:
        page.render([row], {"X": {"obtained": "o", "holds": True, "version": "v"}})
    except ValueError:
        return False
    return True


def main():
    names = [row["name"] for row in ROWS]
    with open(os.path.join(HERE, "../docs/fidelity.md"), encoding="utf-8") as file:
        text = file.read()
    faults = faults_of(text, names) + marking_faults()
    if text != page.render(ROWS, page.load(fidelity.RESULTS)):
        faults.append("docs/fidelity.md is not what bench/fidelity.py --stored --write docs/fidelity.md makes")
    if long_cell_passes():
        faults.append(f"a cell of more than {LONGEST} characters comes into the page")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
