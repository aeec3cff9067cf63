#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""shuffle.py FILE.yaml: the same scenario with everything in another order whose order says nothing:
keys, blocks, hosts, switches, links, flows, faults, and what is in lists, but for the ranks of
a program, the sizes of a torus, the weights of turns and rules of which the first holds. Knows as much YAML as the golden scenarios use."""
import random
import re
import sys

IN_ORDER = {"hosts of programs", "dims of topology", "weights of ets", "rewrite",
            "rewrite of switch", "rewrite of switches"}


def split(text, at=","):
    """At the commas outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == '"'
        depth += (c in "[{") - (c in "]}") if not quoted else 0
        if c == at and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def names(text):
    """"h[1-3]" as [h1, h2, h3], in any order."""
    found = re.fullmatch(r'"([a-z]+)\[([0-9]+)-([0-9]+)\]"', text)
    if not found:
        return text
    numbers = list(range(int(found[2]), int(found[3]) + 1))
    draw.shuffle(numbers)
    return "[" + ", ".join(found[1] + str(n) for n in numbers) + "]"


def flow(text, where):
    """A value of one line."""
    if text.startswith("{"):
        pairs = [p.split(":", 1) for p in split(text[1:-1])]
        pairs = [f"{key}: {flow(value.strip(), f'{key} of {where}')}" for key, value in pairs]
        draw.shuffle(pairs)
        return "{" + ", ".join(pairs) + "}"
    if text.startswith("["):
        items = [flow(item, where) for item in split(text[1:-1])]
        if where not in IN_ORDER:
            draw.shuffle(items)
        return "[" + ", ".join(items) + "]"
    return text if where in IN_ORDER else names(text)


def block(lines, where):
    """Lines of one depth, each with the deeper ones below it."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    entries = []
    for line in lines:
        if len(line) - len(line.lstrip()) == depth:
            entries.append([line])
        else:
            entries[-1].append(line)
    out = []
    for head, *below in entries:
        text = head.strip()
        if text.startswith("- "):
            out.append([" " * depth + "- " + flow(text[2:], where)])
            continue
        key, value = (part.strip() for part in text.split(":", 1))
        entry = [" " * depth + key + ": " + flow(value, key) if value else head]
        out.append(entry + (block(below, key) if below else []))
    if where not in IN_ORDER:
        draw.shuffle(out)
    return [line for entry in out for line in entry]


draw = random.Random(7)
with open(sys.argv[1], encoding="utf-8") as file:
    content = [line.rstrip() for line in file]
print("\n".join(block([line for line in content if line and not line.startswith("#")], "")))
