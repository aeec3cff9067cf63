#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Contexts and kinds of device memory: the codes, order and times of calls as they were measured on an H100 80GB HBM3
# (driver 580.159.04).
. "$(dirname "$0")/lib.sh"

# machine PROGRAM HOSTS: a rank on each, as often as it is named; each host has one GPU
machine() {
	cat <<END
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 1GiB, latency: 300ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 5, mps: 256B, mrrs: 4KiB, delay: 3ns}
programs: [{run: $1, hosts: [$2]}]
END
}
machine gpu_contexts h0 >contexts.yaml
checks contexts 32
# Three programs of one machine in a ring.
machine gpu_ipc 'h0, h0, h0' >ipc.yaml
checks ipc 123
# Memory in rows, from pools and by handles.
machine gpu_kinds h0 >kinds.yaml
checks kinds 86
