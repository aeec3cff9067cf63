#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""machines.py VERBENA [--seed N] [--count M] [--keep DIR]: random machines with several adapters, GPUs,
switches and sockets, programs and flows on them, and things that go wrong inside. Each seed is run as it is,
on two threads, with every packet through bytes, and with its parts, lanes and faults in another order: one
digest and one exit status. A program may fail where it reads a GPU before what was acknowledged has come to
it; one in ten at most does. A seed that fails prints the line that runs it again."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

WAYS = {"base": [], "threads": ["--threads", "2"], "wire": ["--through-wire"], "order": []}


def text_of(entry):
    return "{" + ", ".join(f"{key}: {value}" for key, value in entry.items()) + "}"


def any_lane(draw, a, b):
    lane = {"a": a, "b": b, "gen": draw.randint(2, 6), "width": draw.choice([4, 8, 16]),
            "mps": draw.choice(["128B", "256B", "512B"]), "mrrs": draw.choice(["256B", "512B", "4KiB"]),
            "dllps": draw.choice(["yes", "no"]), "delay": f"{draw.randint(0, 20)}ns",
            "relaxed": draw.choice(["yes", "no"]), "update": f"{draw.randint(0, 300)}ns"}
    if draw.random() < 0.3:
        lane["peer_writes"] = f"{draw.randint(5, 200)}Gbps"
    if draw.random() < 0.3:
        lane["peer_reads"] = f"{draw.randint(5, 200)}Gbps"
    return lane


def any_nvlink(draw, gpus):
    """Parts and lanes: GPUs joined by NVLink, some of them or all, by themselves or by NVSwitches."""
    oldest = draw.choice([1, 4])

    def lane(a, b):
        entry = {"a": a, "b": b, "kind": "nvlink", "gen": draw.randint(oldest, 5), "links": draw.randint(1, 3),
                 "delay": f"{draw.randint(0, 20)}ns"}
        if draw.random() < 0.3:
            entry.update(payload=draw.choice(["64B", "128B", "256B"]), overhead=draw.choice(["16B", "32B"]))
        return entry

    names = [f"gpu{i}" for i in range(gpus)]
    if draw.random() < 0.5:
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1:]]
        return [], [lane(*pair) for pair in pairs if draw.random() < 0.7]
    switches = [{"name": f"nvs{i}", "kind": "nvswitch", "latency": f"{draw.randint(0, 200)}ns"}
                for i in range(draw.randint(1, 3))]
    return switches, [lane(name, switch["name"]) for name in names for switch in switches]


def any_machine(draw, nics, gpus):
    """Parts and lanes: a tree of sockets and switches, with adapters and GPUs at its ends."""
    parts, lanes, hubs = [], [], []
    for i in range(draw.randint(1, 2)):
        part = {"name": f"cpu{i}", "kind": "socket", "latency": f"{draw.randint(0, 300)}ns", "numa": i}
        if draw.random() < 0.4:
            part["peer_payload"] = draw.choice(["64B", "128B"])
        parts.append(part)
        hubs.append(part["name"])
    if len(hubs) > 1:
        lanes.append({"a": "cpu0", "b": "cpu1", "kind": draw.choice(["upi", "xgmi"]),
                      "rate": f"{draw.randint(50, 400)}Gbps", "delay": f"{draw.randint(10, 100)}ns"})
    for i in range(draw.randint(0, 2)):
        parts.append({"name": f"sw{i}", "kind": "switch", "latency": f"{draw.randint(50, 200)}ns",
                      "acs": draw.choice(["yes", "no"])})
        lanes.append(any_lane(draw, draw.choice(hubs), f"sw{i}"))
        hubs.append(f"sw{i}")
    for kind, count in (("nic", nics), ("gpu", gpus)):
        for i in range(count):
            part = {"name": f"{kind}{i}", "kind": kind, "latency": f"{draw.randint(0, 200)}ns",
                    "tags": draw.choice([0, 16, 64, 512])}
            if kind == "gpu":
                part["memory"] = "16MiB"
            parts.append(part)
            lanes.append(any_lane(draw, draw.choice(hubs), part["name"]))
    if gpus > 1 and draw.random() < 0.6:
        more = any_nvlink(draw, gpus)
        parts += more[0]
        lanes += more[1]
    return parts, lanes


def of_nvlink(draw, lane, kind, fault):
    """A fault of some links of it, for a while or for ever, or of bits."""
    if kind == "ber":
        fault["ber"] = f"0.{draw.randint(1, 20000):09d}"
        return fault
    fault["down"] = "yes"
    fault["links"] = str(draw.sample(range(lane["links"]), draw.randint(1, lane["links"])))
    return fault


def any_fault(draw, parts, lanes):
    begin = draw.randint(0, 150)
    fault = {"from": f"{begin}us"}
    kind = draw.choice(["ber", "down", "slower", "late"])
    if kind == "down" or draw.random() < 0.5:
        fault["until"] = f"{begin + draw.randint(1, 20)}us"
    if kind == "late":
        fault.update(part=draw.choice(parts)["name"], late=f"{draw.randint(1, 3000)}ns")
        return fault
    lane = draw.choice(lanes)
    fault.update(a=lane["a"], b=lane["b"])
    if lane.get("kind") == "nvlink":
        return of_nvlink(draw, lane, kind, fault)
    if draw.random() < 0.4:
        fault["sender"] = lane[draw.choice("ab")]
    if kind == "slower" and "gen" in lane:
        if draw.random() < 0.5:
            fault["gen"] = draw.randint(1, lane["gen"])
        else:
            fault["width"] = draw.choice([w for w in (1, 2, 4, 8, 16) if w <= lane["width"]])
    elif kind == "down":
        fault["down"] = "yes"
    else:
        fault["ber"] = f"0.{draw.randint(1, 20000):09d}"
    return fault


def has_teams(lanes):
    """Whether all GPUs have links of generation 4 or later to each NVSwitch, which are there."""
    gens = [lane["gen"] for lane in lanes if lane["b"].startswith("nvs")]
    return len(gens) > 0 and min(gens) >= 4


def any_program(draw, hosts, nics, gpus, teams):
    pair = draw.sample(hosts, 2)
    device = f"device={draw.randint(0, nics - 1)}"
    size = f"bytes={draw.choice([1, 4096, 10000, 65536, 300000])}"
    choices = [("write_once", pair, [size]), ("rails", pair, [size]), ("ring", hosts, []),
               ("read_validate", hosts, []), ("atomics", pair, []), ("pingpong_write", pair, []),
               ("pingpong_send", pair, [])]
    if gpus > 0:
        choices += [("gpu_write", pair, [size, device, f"gpu={draw.randint(0, gpus - 1)}"])] * 5
        choices += [("gpu_copies", pair[:1], ["bytes=100000"]), ("gpu_flag", pair[:1], ["rounds=20"]),
                    ("gpu_allreduce", hosts, [f"count={draw.choice([64, 5000, 65536])}"])]
    if gpus > 1:
        choices += [("gpu_alltoall", pair[:1], [f"bytes={draw.choice([4096, 300000])}"]),
                    ("gpu_matrix", pair[:1], ["bytes=262144"])] * 2
    if gpus > 1 and teams:
        choices += [("gpu_multicast", pair[:1], ["words=20000", f"chunk={draw.choice([1000, 20000])}"])] * 3
    run, on, arguments = draw.choice(choices)
    return {"run": run, "hosts": "[" + ", ".join(on) + "]", "start": f"{draw.randint(0, 50)}us",
            "args": "[" + ", ".join(f'"{a}"' for a in arguments) + "]"}


class Plan:
    """What a seed stands for; text() is its scenario, in the order of @shuffle."""

    def __init__(self, seed):
        draw = random.Random(seed)
        nics, gpus = draw.randint(1, 3), draw.randint(0, 3)
        self.seed = seed
        self.hosts = [f"h{i}" for i in range(draw.randint(2, 4))]
        self.head = ["version: 1", f"seed: {seed}",
                     "topology: " + text_of({"kind": "star", "hosts": len(self.hosts), "nics": nics,
                                             "host_rate": draw.choice(["100Gbps", "400Gbps"])})]
        self.parts, self.lanes = any_machine(draw, nics, gpus)
        self.faults = [any_fault(draw, self.parts, self.lanes) for _ in range(draw.choice([0, 1, 2, 5]))]
        self.others = [any_fault(draw, self.parts, self.lanes) for _ in range(draw.choice([0, 0, 2]))]
        programs = [any_program(draw, self.hosts, nics, gpus, has_teams(self.lanes)) for _ in range(draw.randint(1, 3))]
        for i, program in enumerate(programs):
            program["name"] = f"p{i}"
        self.tail = ["programs:"] + ["  - " + text_of(p) for p in programs]
        if draw.random() < 0.5:
            a, b = draw.sample(self.hosts, 2)
            self.tail += ["traffic:", "  - " + text_of({"class": "f", "pattern": "incast", "to": a,
                                                        "from": f"[{b}]", "size": f"{draw.randint(1, 400)}KB"})]

    def text(self, shuffle=None):
        def listed(entries, indent):
            entries = list(entries)
            if shuffle:
                shuffle.shuffle(entries)
            return [indent + "- " + text_of(e) for e in entries] or [indent + "[]"]

        lines = self.head + ["machine:", "  parts:"] + listed(self.parts, "    ")
        lines += ["  lanes:"] + listed(self.lanes, "    ")
        if self.faults:
            lines += ["  faults:"] + listed(self.faults, "    ")
        if self.others:
            lines += ["machines:", "  - hosts: h1", "    faults:"] + listed(self.others, "      ")
        return "\n".join(lines + self.tail) + "\n"


def play(verbena, plan, way, folder):
    path = os.path.join(folder, f"{way}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(plan.text(random.Random(plan.seed + 1) if way == "order" else None))
    done = subprocess.run([verbena, "run", path, "--json", *WAYS[way]], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode not in (0, 1):
        return done.returncode, done.stderr.strip()
    result = json.loads(done.stdout)
    return done.returncode, result["digest"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verbena")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--keep", help="where the scenarios of the last seed stay")
    options = parser.parse_args()
    verbena = os.path.realpath(options.verbena)
    failed = unhappy = faults = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        for seed in range(options.seed, options.seed + options.count):
            plan = Plan(seed)
            found = {way: play(verbena, plan, way, options.keep or folder) for way in WAYS}
            faults += len(plan.faults) + len(plan.others)
            unhappy += found["base"][0] != 0
            if len(set(found.values())) > 1 or found["base"][0] > 1:
                failed += 1
                print(f"FAILED {found}\n  tests/swarm/machines.py {options.verbena} --seed {seed} --keep DIR",
                      flush=True)
    print(f"{options.count} seeds, {faults} faults, {unhappy} with a program that failed, {failed} failed")
    return failed > 0 or unhappy * 10 > max(options.count, 10)


sys.exit(main())
