#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bench/verbs.py [--quick] [ROW...]: what programs of libibverbs get between two processes under "verbena exec", and what
the machine itself gives: one JSON object a row (docs/performance.md); without arguments all of them. Each process has
cores of its own, of two; each figure is the median of several rounds, and in a round what is compared is measured one
after the other. A target that is missed says so ("holds"); exit status 1: something could not be measured, 2: usage.
	--quick		one round of 20 ms each: whether all can be measured
	BUILD=DIR	where Verbena was built (default: build)
	ROUNDS=N	(default: 5)"""
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
VERBENA = os.path.join(BUILD, "verbena")
PATIENCE = 60
MILLISECONDS, IDLE_MILLISECONDS = 400, 10000
KIB, MIB = 1024, 1024 * 1024
DATAGRAM = 12 + 4096 + 4  # BTH, the path MTU, ICRC


class Failure(Exception):
    """What could not be measured."""


def cores(spins):
    """Of the two processes; with four cores, two each for those that spin without a call of verbs."""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        raise Failure("two cores are needed, and there is one")
    return [f"{mine[0]},{mine[1]}", f"{mine[2]},{mine[3]}"] if spins and len(mine) >= 4 else [str(c) for c in mine[:2]]


def number(command, work, size, qps, milliseconds):
    env = {name: value for name, value in os.environ.items() if not name.startswith("VERBENA")}
    command = command + [work, str(size), str(qps), str(milliseconds)] + cores(work == "write_lat")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env=env, timeout=PATIENCE)
        found = float(done.stdout) if done.returncode == 0 else 0
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise Failure(f"{work}: {error}") from error
    if not found > 0:
        raise Failure(f"{work}: exit {done.returncode}: {done.stdout}{done.stderr}".strip())
    return found


class Ours:
    """Under "verbena exec" with these options."""

    def __init__(self, work, size, qps=1, options=(), milliseconds=MILLISECONDS):
        self.work, self.size, self.qps, self.options, self.milliseconds = work, size, qps, options, milliseconds
        self.name = "one queue pair"

    def is_there(self):
        said = subprocess.run([VERBENA, "exec", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        return all(re.search(rf"{option}\b", said) for option in self.options if option.startswith("--"))

    def measure(self, quick):
        host = f"bench-verbs-{os.getpid()}"  # an address that nobody else has
        command = [VERBENA, "exec", "--host", host, *self.options, "--", os.path.join(BUILD, "bench/bench_verbs")]
        return number(command, self.work, self.size, self.qps, 20 if quick else self.milliseconds)


class Bare:
    """The machine itself."""

    def __init__(self, work, size):
        self.work, self.size = work, size
        self.name = work

    def measure(self, quick):
        return number([os.path.join(BUILD, "bench/bench_bare")], self.work, self.size, 1, 20 if quick else MILLISECONDS)


class Row:
    """What is compared with the best of others: @target is a bound of @of ("ours" or "ratio")."""

    def __init__(self, name, unit, ours, others, of, word, target):
        self.name, self.unit, self.ours, self.others = name, unit, ours, others
        self.of, self.word, self.target = of, word, target

    def result(self, rounds):
        """@rounds: what was found, by what measured it."""
        found = {"name": self.name, "unit": self.unit, "ours": None, "baseline": None, "against": None, "ratio": None,
                 "target": f"{self.of} {self.word} {self.target}", "holds": None}
        if not rounds:
            return {**found, "says": "not available"}
        ours = [r[self.ours] for r in rounds]
        found["ours"] = round(statistics.median(ours), 4)
        if self.others:
            best = min if self.unit == "us" else max
            other = best(self.others, key=lambda o: statistics.median(r[o] for r in rounds))
            found["baseline"] = round(statistics.median(r[other] for r in rounds), 4)
            found["against"] = other.name
            found["ratio"] = round(statistics.median(r[self.ours] / r[other] for r in rounds), 4)
        value = found[self.of]
        found["holds"] = value >= self.target if self.word == "at least" else value <= self.target
        return found


def groups():
    """Rows that measure the same of ours, side by side."""
    for size, text in ((64 * KIB, "64KiB"), (MIB, "1MiB")):
        ours = Ours("write", size)
        copies, tcp = [Bare("ring", size), Bare("writev", size)], [Bare("tcp", size)]
        yield [Row(f"write_{text}_copy", "GB/s", ours, copies, "ratio", "at least", 0.667),
               Row(f"write_{text}_tcp", "GB/s", ours, tcp, "ratio", "at least", 4)]
    yield [Row("direct_1MiB", "GB/s", Ours("write", MIB, options=("--direct",)), [Bare("writev", MIB)], "ratio",
               "at least", 0.833)]
    ours = Ours("send_lat", 8)
    yield [Row("send_lat", "us", ours, [Bare("spin_lat", 8)], "ours", "at most", 1.5),
           Row("send_lat_tcp", "us", ours, [Bare("tcp_lat", 8)], "ratio", "at most", 0.2),
           Row("send_lat_tcp_poll", "us", ours, [Bare("tcp_poll_lat", 8)], "ratio", "at most", 0.2)]
    yield [Row("write_lat", "us", Ours("write_lat", 8), [Bare("spin_lat", 8)], "ours", "at most", 3)]
    yield [Row("rate", "M/s", Ours("rate", 8), [Bare("datagrams", 8)], "ours", "at least", 2)]
    yield [Row("udp_1MiB", "GB/s", Ours("write", MIB, options=("--path", "udp")), [Bare("udp", DATAGRAM)], "ratio",
               "at least", 0.7)]
    yield [Row("qps_1000", "GB/s", Ours("write", 64 * KIB, qps=1000), [Ours("write", 64 * KIB)], "ratio", "at least",
               0.8)]
    yield [Row("idle", "ms", Ours("idle", 8, qps=16, milliseconds=IDLE_MILLISECONDS), [], "ours", "at most", 1)]


def measure(group, quick):
    ours = group[0].ours
    others = [other for row in group for other in row.others]
    count = 1 if quick or ours.work == "idle" else int(os.environ.get("ROUNDS", "5"))
    if not ours.is_there():
        return []
    return [{each: each.measure(quick) for each in [ours] + others} for _ in range(count)]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        model = re.search(r"^(?:model name|CPU part|Model)\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return {"cpu": model.group(1) if model else os.uname().machine, "cores": len(os.sched_getaffinity(0))}


def main():
    asked = [arg for arg in sys.argv[1:] if arg != "--quick"]
    chosen = [[row for row in group if not asked or row.name in asked] for group in groups()]
    names = [row.name for group in groups() for row in group]
    unknown = [name for name in asked if name not in names]
    if unknown:
        print(f"bench/verbs.py: found {unknown[0]}, expected --quick or rows of {' '.join(names)}", file=sys.stderr)
        return 2
    try:
        for group in filter(None, chosen):
            load = os.getloadavg()[0]
            rounds = measure(group, "--quick" in sys.argv)
            for row in group:
                print(json.dumps({"work": "verbs", **row.result(rounds), "rounds": len(rounds),
                                  "pinned": cores(row.ours.work == "write_lat"), "load": round(load, 2),
                                  **machine()}), flush=True)
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"bench/verbs.py: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
