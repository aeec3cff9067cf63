#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seeds of corpus/scenario from the profiles and some incidents, without their comments: names of keys in
# pairs and depths that a fuzzer would take long to find. `python3 scenario_seeds.py` in this folder.
import glob
import os


def text(path):
    with open(path, encoding="utf-8") as file:
        return "".join(line for line in file if not line.lstrip().startswith("#"))


def seed(name, data):
    with open(f"corpus/scenario/{name}", "w", encoding="utf-8") as file:
        file.write(data)


for path in sorted(glob.glob("../../models/profiles/*.yaml")):
    name = os.path.splitext(os.path.basename(path))[0]
    head = "version: 1\ntopology: {kind: star, hosts: 4}\n"
    seed(f"profile_{name}", head + text(path))
seed("profiles", "version: 1\nprofiles: [msn2700, connectx5]\ntopology: {kind: star, hosts: 4}\n")
seed("profiles_twice", "version: 1\nprofiles: [msn2700, msn2700]\ntopology: {kind: star, hosts: 4}\n")
for name in ("cyclic_buffers", "flooding", "link_flap", "lost_cnps", "pfc_storm", "slow_receiver", "watchdog"):
    seed(f"incident_{name}", text(f"../../traces/incidents/{name}.yaml"))
seed("machine", text("../golden/machine.yaml"))
seed("machine_alone", """version: 1
topology: {kind: star, hosts: 2}
machine:
  parts: [{name: cpu0, kind: socket, numa: 1, address: "0:17"}, {name: nic0, kind: nic}]
  lanes: [{a: nic0, b: cpu0, kind: c2c, rate: 1Tbps, payload: 128B, overhead: 8B, ph: 9, pd: 8, cplh: 1, cpld: 8}]
""")
