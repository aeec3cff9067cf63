#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Contexts and kinds of device memory: the codes, order and times of calls as they were measured on an H100 80GB HBM3
# (driver 580.159.04).
. "$(dirname "$0")/lib.sh"

one_gpu gpu_contexts >contexts.yaml
checks contexts 43
# Three programs of one machine in a ring.
one_gpu gpu_ipc '' 'h0, h0, h0' >ipc.yaml
checks ipc 132
# Two of them, of which one knows the other's addresses.
one_gpu gpu_apart '' 'h0, h0' >apart.yaml
checks apart 9
# Three, which share by descriptors.
one_gpu gpu_shared '' 'h0, h0, h0' >shared.yaml
checks shared 69
# Two, of which one ends and the other one goes on.
one_gpu gpu_leaves '' 'h0, h0' >leaves.yaml
checks leaves 9
# Memory in rows, from pools and by handles.
one_gpu gpu_kinds >kinds.yaml
checks kinds 89
# What is asked for at edges, and who writes what may only be read: two kernels, and a stream.
one_gpu gpu_codes >codes.yaml
checks codes 42
for lost in 1 2 3; do
	one_gpu gpu_codes "lost=$lost" >lost.yaml
	checks lost 2
done
