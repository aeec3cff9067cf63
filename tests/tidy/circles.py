#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""circles.py ROOT BUILD TARGET=LEAF...: no source files of a leaf that call each other in a circle.

By the symbols of the objects that TARGET (a library or program of the build) was made of: file A calls
file B if A leaves a name undefined that B defines. Where files call each other in a circle none of them
can be read, tested or changed alone: what both need belongs into a file below them. Circles that stay
are listed here, each with its reason; a circle has to lie inside of a listed one, and one that is listed
has to be there.
"""
import os
import subprocess
import sys

LISTED = [
    ("requester, completer and responder of a queue pair take turns within one packet, and each wakes"
     " the scheduler, which asks them what is next",
     "transport/hca", "cnp completer copy cq dma ooo qp recover requester respond responder retry sched"
     " uc ud unreliable"),
    ("whoever waits in a call turns the loop, and so does the thread that stands in for him; queue pair 1"
     " is turned with it, and asks the NIC for time and ways; what rings bring goes in as what the socket does",
     "transport/nic", "gsi link_open loop nic progress shm"),
    ("channels are handles like all other objects, and an object that goes takes its events along",
     "transport/verbs", "local local_cq local_events local_fault local_mem local_mw local_srq local_xrc"),
    ("whoever waits at a queue takes what the ring has, and that goes to the queues",
     "transport/verbs", "async queue"),
    ("a context names the calls of its objects, which hold the context; all take memory of the"
     " provider, who makes the devices",
     "transport/verbs", "channel cq cq_ex device dm domain import mw pd_mr provider qp qp_ex srq wr xrc"),
    ("what goes far waits by window; windows, islands and what was far wake one another",
     "sim", "far island_play window"),
    ("a port with faults sends by them, and they take their time from the port",
     "sim", "fault port"),
    ("threads play windows, and the run says which is the next",
     "sim", "run threads"),
    ("a switch runs as a plain or a full one, cutting through or not, and each of these drops by it; the"
     " ways that ConWeave changes are its own",
     "sim", "switch switch_balance switch_conweave switch_full switch_partial switch_plain"),
    ("a host gives what comes in to its bus, its loop or its slow receiver, and they give it back",
     "models/machine", "dma host loop loss rx"),
    ("each piece of advice asks of the run what all of them ask",
     "tools/explain", "cure cure_floods cure_hosts cure_links cure_loss cure_queues cure_routes cure_victims"),
    ("programs that go wrong have the run at hand rescued, which has started them",
     "tools", "ranks replay run"),
    ("the table of commands has the completion in it, which completes what is in the table",
     "tools", "completion completion_words verbena"),
]


def symbols(paths):
    """What each object defines, and what it needs."""
    found = {path: (set(), set()) for path in paths}
    for line in subprocess.run(["nm", "-A", *paths], capture_output=True, text=True, check=True).stdout.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        defined, needed = found[path]
        (needed if kind in "Uwv" else defined if kind.isupper() else set()).add(name)
    return found


def objects(root, build, target, leaf):
    """The objects of a target by their source, which lies in the leaf."""
    where = os.path.dirname(os.path.relpath(target, build))
    found = {}
    for folder, _, names in os.walk(os.path.join(root, leaf)):
        for name in names:
            source = os.path.relpath(os.path.join(folder, name), root)
            path = os.path.join(target + ".p", os.path.relpath(source, where or ".").replace("/", "_") + ".o")
            if name.endswith(".c") and os.path.exists(path):
                found[source] = path
    known = symbols(found.values()) if found else {}
    return {source: known[path] for source, path in found.items()}


def circles(calls):
    """Tarjan 1972: the strongly connected components of more than one file."""
    number, low, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in calls[file]:
            if other not in number:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == number[file]:
            circle = set()
            while file not in circle:
                circle.add(stack.pop())
            if len(circle) > 1:
                found.append(circle)

    for file in sorted(calls):
        if file not in number:
            visit(file)
    return found


def main():
    root, build, *targets = sys.argv[1:]
    listed = [(why, {os.path.join(leaf, name + ".c") for name in names.split()}) for why, leaf, names in LISTED]
    seen, below, bad, count = set(), set(), False, 0
    for target in targets:
        path, leaf = target.split("=")
        files = objects(root, build, path, leaf)
        count += len(files)
        # What a leaf below has, too, is said anew here, and no call from file to file.
        where = {name: file for file, (defined, _) in files.items() for name in defined - below}
        below |= set(where)
        calls = {file: {where[name] for name in needed if name in where} - {file}
                 for file, (_, needed) in files.items()}
        for circle in circles(calls):
            inside = [i for i, (_, names) in enumerate(listed) if circle <= names]
            seen.update(inside)
            if inside:
                continue
            bad = True
            print("a circle:", " ".join(sorted(circle)))
            for file in sorted(circle):
                for other in sorted(calls[file] & circle):
                    names = sorted(name for name in files[file][1] if where.get(name) == other)
                    print(f"\t{file} needs {', '.join(names)} of {other}")
    for i, (_, names) in enumerate(listed):
        if i not in seen:
            bad = True
            print("no circle any more, strike it from the list:", " ".join(sorted(names)))
    if count < 250:
        bad = True
        print(f"only {count} objects: a poor test")
    return bad


sys.exit(main())
