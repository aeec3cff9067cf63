# SPDX-License-Identifier: BSD-2-Clause
"""What gpu_managed and gpu_faults say of their times: the lines "NAME PLACE NS" of the file said. Behind "advice - A"
they are those of "A NAME", but for ping and pong. In microseconds."""
from collections import defaultdict

_said = defaultdict(list)


def read(path):
    advice = ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, *rest = line.split()
            if name == "advice":
                advice = rest[1] + " "
            elif name != "ok":
                _said[name if name in ("ping", "pong") else advice + name].append((rest[0], int(rest[1]) / 1000))
    for name, all_of in _said.items():
        print(name, [time for _, time in all_of][:12])


def places(name):
    return [int(page) for page, _ in _said[name]]


def times(name):
    return [time for _, time in _said[name]]


def within(name, ranges):
    """Each of its times, block by block of 2 MiB: the least and the most of each fault."""
    for time, (low, high) in zip(times(name), 2 * ranges):
        assert low <= time <= high, (name, time, low, high)


def near(name, time, share):
    assert abs(times(name)[0] / time - 1) <= share, (name, times(name), time)
