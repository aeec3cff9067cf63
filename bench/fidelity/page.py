# SPDX-License-Identifier: BSD-2-Clause
"""docs/fidelity.md from the rows and from what they gave when they last ran (results.json)."""
import json

CELL = 90  # characters: more than that nobody reads in a table

HEAD = """# Fidelity: published figures and what comes out

Made by `./setup bench fidelity`. No part of the simulator knows a published number; they stand in
`bench/fidelity/` and in tests. Anchors that arithmetic gives (waiting times, headroom, thresholds,
shares, cut-through) are tests: `tests/gate 4`.

- *holds*, *DOES NOT HOLD*: whether what was obtained is what was published, within what the row says.
- *must hold*: `./setup test fidelity` fails where it does not, those by sign test over 20 seeds among them.
- *reported*: only here; a row that does not hold stays, with what explains it.

Each row has a [note](#notes): the claim in full, all figures, at which version they were obtained, and what was
simplified. Figures from before results were kept by version have that of the commit that put them into this page.
Rows of DCQCN are there twice: with marks at dequeue, the default, and at enqueue, as its paper says
(`switch.ecn.mark`, profile `dcqcn_paper`).

| row | what | published | obtained | verdict |
|---|---|---|---|---|
"""

TAIL = """
## Published figures that are not rows

- HPCC, fairness of 16 flows and the step W_AI: a test (`verbena_hpcc`); DCQCN after one CNP: a test (`dcqcn_lone_cnp`).
- ConWeave (SIGCOMM 2023) against CONGA, which is not modelled, and over links that lose; its other figures are in graphs only.
- TIMELY's test bed with DCTCP and with a FAST-like control: those are the kernel's TCP and a host stack, which are not modelled.
- Latency of a production service under RDMA and TCP (SIGCOMM 2016): depends on hosts and load that are not published.
- DCQCN on the test bed with user traffic and disk rebuilds (SIGCOMM 2015): the traces are not public.
"""


def load(path):
    """What rows gave, by name: obtained, holds, all_figures (or none), version."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def store(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def verdict(row, holds):
    return f"{'holds' if holds else 'DOES NOT HOLD'}, {'must hold' if row['hard'] else 'reported'}"


def line(row, result):
    cells = [row["what"], row["published"], result["obtained"], verdict(row, result["holds"])]
    for cell in cells:
        if len(cell) > CELL or "|" in cell:
            raise ValueError(f"{row['name']}: no cell of the table, but for the note: {cell}")
    return f"| [{row['name']}](#{row['name'].lower()}) | {' | '.join(cells)} |\n"


def note(row, result):
    parts = [row["claim"], f"Obtained ({result['version']}): {result.get('all_figures') or result['obtained']}.", row["simplified"]]
    return f"\n### {row['name']}\n\n" + "\n\n".join(part.strip() for part in parts if part) + "\n"


def render(rows, results):
    """The page: of each row that has a result a line in the table and a note."""
    known = [(row, results[row["name"]]) for row in rows if row["name"] in results]
    return (HEAD + "".join(line(*k) for k in known) + "\n## Notes\n" + "".join(note(*k) for k in known) + TAIL)
