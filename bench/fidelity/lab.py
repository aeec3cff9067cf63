# SPDX-License-Identifier: BSD-2-Clause
"""Runs scenarios with the command and reads what it wrote: all that a row of the table knows of it."""
import csv
import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

VERBENA = os.environ.get("VERBENA", "build/verbena")


class Run:
    """One run: its result, its counters by host and by (switch, neighbour), its flows."""

    def __init__(self, scenario, sets=(), seed=1, until=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scenario.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(scenario)
            command = [VERBENA, "run", path, "--quiet", "--out", folder + "/out", "--seed", str(seed)]
            for each in sets:
                command += ["--set", each]
            if until:
                command += ["--until", until]
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

    def host(self, name, counter):
        return next(c[counter] for c in self.counters if c["ifname"] == name)

    def port(self, node, peer, priority, column):
        return int(next(p[column] for p in self.ports
                        if p["node"] == node and p["peer"] == peer and p["priority"] == str(priority)))


def runs(calls):
    """Several at once, in their order: each a tuple of arguments, or of (args, kwargs)."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(lambda c: Run(c[0], **c[1]), calls))


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


ROWS = []


def row(name, published, simplified="", hard=False):
    """Registers a function that returns (what was obtained, whether it holds)."""
    def add(function):
        ROWS.append({"name": name, "published": published, "simplified": simplified, "hard": hard,
                     "function": function})
        return function
    return add
