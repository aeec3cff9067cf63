#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/conformance.py BUILD [--write]: compares the table of docs/conformance.md with what "verbena script" says of
tests/script/*.pkt, clause by clause, and with tests/script/rxe.list, what the kernel's rxe did with the same scripts
(tests/kernel/script.sh); or puts it there. Every clause holds here, and has a number and a sentence."""
import glob
import os
import re
import subprocess
import sys

BEGIN, END = "<!-- made by tests/conformance.py -->\n", "<!-- up to here -->\n"
LINE = re.compile(r"(pass |FAIL |unrun) (\S.*?) +(\w+\.pkt):(\d+): (.*)")
STATEMENT = re.compile(r"[CoO]\d+-[\d.]+")
# What the brief of the page is about: the others are in it, and counted apart.
CHAPTERS = ("9.", "11.")


def fail(*words):
    print(*words)
    sys.exit(1)


def ask(build, folder):
    """[(number, sentence, script, which of its clauses)]"""
    done = subprocess.run([f"{build}/verbena", "script", *sorted(glob.glob(f"{folder}/*.pkt"))], capture_output=True,
                          text=True, timeout=120)
    rows, count = [], {}
    for line in done.stdout.splitlines():
        found = LINE.fullmatch(line)
        if not found:
            continue
        verdict, number, script, _, sentence = found.groups()
        if verdict != "pass ":
            fail(line + "\n" + done.stderr)
        count[script] = count.get(script, 0) + 1
        rows.append((number, sentence, script.removesuffix(".pkt"), count[script]))
    if done.returncode != 0:
        fail("verbena script:", f"exit {done.returncode}\n", done.stderr)
    return rows


def elsewhere(path, rows):
    """{(script, which): verdict of rxe}"""
    known = {(script, which) for _, _, script, which in rows}
    verdicts = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            script, which, verdict = line.rstrip("\n").split(" ", 2)
            if (script, int(which)) not in known:
                fail(f"{path}:{number}: found {script} {which}, expected a clause of a script")
            verdicts[script, int(which)] = verdict
    return verdicts


def order(number):
    return [[int(part) if part.isdigit() else 99 for part in re.split(r"[.-]", word.lstrip("CoOA"))] for word in number.split()]


def table(rows, verdicts):
    numbers = [row[0].split() for row in rows]
    statements = {word for words in numbers for word in words if STATEMENT.fullmatch(word)}
    sections = {word for words in numbers for word in words if word not in statements}
    ours = [words for words in numbers if any(word.startswith(CHAPTERS) for word in words)]
    counted = {word for words in ours for word in words if word.startswith(CHAPTERS)}
    ran = list(verdicts.values())
    same = sum(verdict == "same" for verdict in ran)
    lines = [f"{len(rows)} clauses in {len({row[2] for row in rows})} scripts, all of which hold here; {len(ours)} of them are of "
             f"chapters 9 and 11, in {len(counted)} sections. {sum(any(word in statements for word in words) for words in numbers)} "
             f"have the number of a compliance statement ({len(statements)} of these), the others that of their section "
             f"({len(sections)} in all).",
             f"On rxe {len(ran)} were played: {same} are the same there, {len(ran) - same} are not.", "",
             "| number | what it asks for | script | here | rxe |", "|---|---|---|---|---|"]
    for number, sentence, script, which in sorted(rows, key=lambda row: (order(row[0]), row[2], row[3])):
        lines.append(f"| {number} | {sentence} | [{script}](../tests/script/{script}.pkt) | holds | "
                     f"{verdicts.get((script, which), '').removeprefix('another: ')} |")
    return "\n".join(lines) + "\n"


def main():
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    rows = ask(os.path.realpath(sys.argv[1]), f"{root}/tests/script")
    if len({(number, sentence) for number, sentence, _, _ in rows}) != len(rows):
        seen = set()
        fail("told twice:", *[row for row in rows if row[:2] in seen or seen.add(row[:2])])
    made = table(rows, elsewhere(f"{root}/tests/script/rxe.list", rows))
    page = f"{root}/docs/conformance.md"
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    old, _, behind = rest.partition(END)
    if sys.argv[2:] == ["--write"]:
        with open(page, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + made + END + behind)
    elif old != made:
        for line in sorted(set(made.splitlines()) ^ set(old.splitlines())):
            print(("+ " if line in made else "- ") + line)
        fail("docs/conformance.md says otherwise: ./setup readme")


main()
