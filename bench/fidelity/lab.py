# SPDX-License-Identifier: BSD-2-Clause
"""Runs scenarios with the command and reads what it wrote: all that a row of the table knows of it."""
import csv
import json
import os
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

VERBENA = os.environ.get("VERBENA", "build/verbena")


class Run:
    """One run: its result, its counters by host and by (switch, neighbour), its flows."""

    def __init__(self, scenario, sets=(), seed=1, until=None, files=(), series=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scenario.yaml")
            for name, text in (("scenario.yaml", scenario), *files):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            command = [VERBENA, "run", path, "--quiet", "--out", folder + "/out", "--seed", str(seed)]
            for each in sets:
                command += ["--set", each]
            if until:
                command += ["--until", until]
            if series:
                command += ["--series", series]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):
                raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
            with open(folder + "/out/result.json", encoding="utf-8") as file:
                self.result = json.load(file)
            with open(folder + "/out/counters.json", encoding="utf-8") as file:
                self.counters = json.load(file)
            with open(folder + "/out/flows.csv", encoding="utf-8") as file:
                self.flows = list(csv.DictReader(file))
            with open(folder + "/out/ports.csv", encoding="utf-8") as file:
                self.ports = list(csv.DictReader(file))
            if series:
                with open(folder + "/out/series.csv", encoding="utf-8") as file:
                    self.series = list(csv.DictReader(file))

    def host(self, name, counter):
        return next(c[counter] for c in self.counters if c["ifname"] == name)

    def port(self, node, peer, priority, column):
        return int(next(p[column] for p in self.ports
                        if p["node"] == node and p["peer"] == peer and p["priority"] == str(priority)))


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def part(values, share):
    """The value that this share of them is not above."""
    values = sorted(values)
    return values[int(len(values) * share)]


def middle(values):
    return part(values, .5)


def each(function, items):
    """What it gives for each of them, in their order, several at once."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(function, items))


def each_computed(function, arguments):
    """The same of what takes Python's own time: in processes; each of @arguments is a tuple."""
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(function, *zip(*arguments)))


def runs(calls):
    """Several runs at once, in their order: each a scenario and the keywords of Run."""
    return each(lambda c: Run(c[0], **c[1]), calls)


ROWS = []


def row(name, what, published, claim, simplified="", hard=False):
    """Registers a function that returns (what was obtained, whether it holds) or, where the first has no room in a cell
    of the table, (the short of it, whether it holds, all of it). @what, @published: cells; @claim, @simplified: for the
    note under the table."""
    def add(function):
        ROWS.append({"name": name, "what": what, "published": published, "claim": claim, "simplified": simplified,
                     "hard": hard, "function": function})
        return function
    return add
