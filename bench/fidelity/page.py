# SPDX-License-Identifier: BSD-2-Clause
"""docs/fidelity.md from the rows and from what they gave when they last ran (results.json)."""
import json

CELL = 90  # characters: more than that nobody reads in a table

HEAD = """# Fidelity: published figures and what comes out

Made by `./setup bench fidelity`. No part of the simulator knows a published number; they stand in
`bench/fidelity/` and in tests. Anchors that arithmetic gives (waiting times, headroom, thresholds,
shares, cut-through) are tests: `tests/gate 4`.

- *holds*, *DOES NOT HOLD*: whether what was obtained is what was published, within what the row says.
- *must hold*: `./setup test fidelity` fails where it does not, those by sign test over 20 seeds among them.
- *reported*: only here; a row that does not hold stays, with what explains it.

Each row has a [note](#notes): the claim in full, all figures, at which version they were obtained, and what was
simplified. Figures from before results were kept by version have that of the commit that put them into this page.
Rows of DCQCN are there twice: with marks at dequeue, the default, and at enqueue, as its paper says
(`switch.ecn.mark`, profile `dcqcn_paper`).

| row | what | published | obtained | verdict |
|---|---|---|---|---|
"""

TAIL = """
## Published figures that are not rows

- HPCC, fairness of 16 flows and the step W_AI: a test (`verbena_hpcc`); DCQCN after one CNP: a test (`dcqcn_lone_cnp`).
- ConWeave (SIGCOMM 2023) against CONGA, which is not modelled, and over links that lose; its other figures are in graphs only.
- TIMELY's test bed with DCTCP and with a FAST-like control: those are the kernel's TCP and a host stack, which are not modelled.
- Latency of a production service under RDMA and TCP (SIGCOMM 2016): depends on hosts and load that are not published.
- DCQCN on the test bed with user traffic and disk rebuilds (SIGCOMM 2015): the traces are not public.

## Machines and GPUs

Figures of PCI Express, NVLink and GPUs are tests, by name; what arithmetic gives is exact there, and so is the order in which
calls of the driver return. Obtained with the profiles as they are.

| published | obtained | test |
|---|---|---|
| H100, copies by size and kind, kernels, managed memory: measured on one, within 15 % | all but two of 262 rows | `verbena_gpu`, `verbena_gpu_kernels`, `verbena_gpu_managed` |
| H100, kernels on managed memory, with advice and without: measured on one, within 15 %; trees exact | all of 14 rows: 5.3 GB/s read, 7.2 written: 5.8 and 7.2 | `verbena_gpu_faults` |
| H200 in a slot of generation 5 x16: 55.43 and 55.06 GB/s; A100 of generation 4: 26.28 | within 5 and 6 % | `verbena_gpu` |
| V100 pairs over NVLink 47.9 GB/s; H100 371 to 377, both ways 740 to 773 | within 3 and 5 % | `verbena_gpu_peers` |
| RTX 6000 Ada, generation 4, GPU to GPU: 26.32 and 52.1 GB/s both ways, within 6 % | 25.93 and 51.77; 26.22 and 52.34 with packets of 128 bytes and `dllps: timers` | `verbena_gpu_rows` |
| V100 of generation 3, the same: 11.35 and 22.07; RTX PRO 6000 of generation 5: 56.57 and 111.38; within 6 % | 11.35 and 22.68; 56.83 and 113.2; `dllps: timers` | `verbena_gpu_rows` |
| small copy of 100 in a row: A100 2.8 to 3.5 us, H100 2.5, V100 over PCI Express 1.74, within 20 % and in this order | 2.28, 2.28, 1.67 | `verbena_gpu_rows` |
| the same of RTX 6000 Ada over PCI Express: 1.12 us | DOES NOT HOLD: 1.67 | none |
| both GPUs read each other: H100 672, H200 671 GB/s in all, within 8 % | 705 | `verbena_gpu_rows` |
| the same of A100: 423 | DOES NOT HOLD: 504, in the range of its two classes (416 to 521) | `verbena_gpu_rows` |
| ring all-reduce: A100 231.58 GB/s, H100 370.8 without NVLS (5 %), DGX-1 with V100 130 and P100 62 (10 %) | 240, 360, 129, 64 | `verbena_gpu_collectives` |
| the same of two MI300X: 47.67 (6 %); of eight, over seven rings: 312.9 (6 %) | 48.0; DOES NOT HOLD: 336 | `verbena_gpu_collectives` |
| the same of a DGX-2, 16 V100: 140 (10 %) | DOES NOT HOLD: 123.8 | `verbena_gpu_collectives` |
| all-reduce in NVSwitches (NVLS), eight GPUs: H100 478.87 GB/s (5 %), B200 830 (6 %) | 459, 801: .85 and .74 of what the links carry, with which NCCL plans | `verbena_gpu_multicast` |
| small message from GPU to GPU: 1.9 to 2.4 us direct, 8 to 23 staged | 2.2 and 16.1 | `verbena_gpu_programs` |
| adapter of 400 Gb/s: 47 GB/s near, 15 from the other socket (20 %) | 47.5; DOES NOT HOLD: 18.5 | `verbena_gpu_rows` |
| strong scaling with GPUDirect and without, as HOOMD-blue: little at few nodes, up to 2 times at many (direction; what its nodes compute is not published) | 1.08, 1.19, 1.32 times at 4, 16, 64, with 10 ns a particle; the exchange alone 1.5 to 1.7 | `verbena_gpu_scaling` |
| GDRCopy on a V100 (10 %): 9.64 GB/s written and 0.53 read at 128 KiB; 4 KiB 0.44 and 7.98 us, 64 KiB 6.49 and 114 us | 10.3, 0.564; 0.42, 7.33; 6.36, 116 | `verbena_gpu_mapped` |
| the same: 64 KiB pinned in 1.35 ms, unpinned in 0.68, mapped in 3.6 us | as published: figures of the profile | `verbena_gpu_mapped` |
| GPUDirect by NCCL's distances: PIX, PXB, P2C yes, PHB, SYS no; levels that override | exact, in `verbena topo -m dgx_a100` | `verbena_topo_machine` |

- Small copies: p2pBandwidthLatencyTest divides the time of 100 copies, all told before the first begins, by 100. One copy
  between two events takes 3.6 us, which is no other engine but the two events.
- Acknowledgements and updates of credits: pcie-model, which `dllps: yes` follows, takes an Ack and an UpdateFC of 8 bytes for
  so many bytes as the specification's tables have symbol times, of which each carries a byte of every lane; of sixteen lanes
  that is 16 bytes of 168 and not of 2688. `dllps: timers` has the latter, and V100 with 64 of 88 bytes then comes out as
  measured: 15.754 * 64/88 * (1 - 16/2688) * 1534/1538 = 11.36. `yes` is the default, as copies of an A100 (26.28) are by it.
- Small copies over PCI Express: an engine begins as it does with host memory, 1.3 us on an H100, the only GPU whose calls
  were measured; the way takes the other 0.37. RTX 6000 Ada is another GPU, whose engine must begin within 0.75.
- A100 that read each other: it has two classes of pairs, 416 to 428 and 512 to 521 GB/s both ways, by the numbers of the GPUs
  and not by their links, all of which lead to the same switches; why is not public. 423 is the lower one.
- MI300X: AMD says that protocol and error correction leave 48 of 64 GB/s of a link (ROCm/rccl issue 1210); seven carry 336.
  Two GPUs reach 99 % of that, eight 93 %, and what RCCL loses between is not said.
- NVLS: the links of eight H100 carry 540 GB/s of bus bandwidth, of which a GPU sends and receives 9/8 as payload; 480 were
  measured (NVIDIA/nccl issue 2140), and why is not public: NCCL has a factor for it, and so has the row. A switch here
  sums as fast as what it sums comes, and has the whole burst before it passes it on.
- DGX-2: links of V100 signal 25.78 GB/s. Packets of 128 bytes, as multiprocessors store, with headers and responses are 128 of
  160 bytes (NVIDIA's own figure for both ways at once is 80 %, too), 123.8 of six; without any responses it were 137.5. No
  printout of 140 was found; DGX-1, with as many links, has 130.
- GDRCopy: stores are packets of 64 of 88 bytes; that eight loads of 64 bytes are under way at a time, and that a CPU takes
  0.31 us with each beside the bus of a DGX-1, are derived from two figures of its README, 0.9 us for the first and 111 ns for
  each line behind it. A store of 1 to 8 bytes takes 0.03 us here and 0.09 there.
- The far socket: what machine that was is not said, nor that its GPU was far: other libraries had 47 GB/s from the same GPU
  through the same adapter (kvcache-ai/Mooncake issue 1459). DGX H100 has a link between sockets of 22 GB/s, 18.5 of reads.

What cannot be expressed:

- A four-node all-reduce (Bekman, Machine Learning Engineering: 92 GB/s from 128 MiB on, 98 at 32 MiB and 85 at 64): it had 32
  GPUs, for busbw is 1.9375 = 2 * 31/32 of algbw, but neither their kind nor the adapters are said. A ring over nodes gets
  what the adapters of one of them carry: 92 is what 8 of 100 Gb/s leave, or 4 of 200, or a part of 8 of 200 or 400. The dip is
  where NCCL changes its protocol, by tables of its own.
- Copies between GPUs that may not reach each other: a driver stages them through the host, in 16 to 25 us; here they take
  the way that there is, whether access is enabled or not.
- Managed memory of a GTX 1080, 31,774 faults in 386.6 ms at 8.2 GB/s, which is 3.17 GB and 100 KB a fault: the tree that was
  measured on an H100 has six faults for 2 MiB, 350 KB each, so 9,070; and its faults take 34 to 111 us each by what they
  bring, not 12.2. The driver of then, and what it brought, were not measured.

## Against a real H100

Test programs of GPUs (`tests/programs`) were compiled, unchanged, against NVIDIA's driver and run on one H100 80GB HBM3
(driver 580.159.04) in a virtual machine, each rank a process, without adapters, and beside them some 30 small probes of codes
and times; each check counts once a rank. They were run twice, before and after what the first run contradicted was mended;
what holds is counted of the checks as they were before the second (`gpu_order` and `gpu_faults`: the first) run:

| program | held | what did not |
|---|---|---|
| `gpu_order` | 78 of 81 | three times |
| `gpu_kinds` | 79 of 89 | nine times of calls; a copy that was over sooner than the next call |
| `gpu_contexts` | 31 of 38 | times; an interrupt is noticed at other times; freeing managed memory waits for no other context, and a context itself takes 550 MB: not modelled; one check crashes the driver |
| `gpu_shared` | 54 of 69 | times; one check crashes the driver; memory that two processes shared was free later than looked for: not explained |
| `gpu_ipc` | 115 of 129 | times; a handle of memory that was freed opens what was exported there since: mended |
| `gpu_direct` | 21 of 30 | seven that need an adapter; times; a dma-buf that begins where nothing was given out: mended (it may have been the edge between small and large memory that was refused) |
| `gpu_kernels` | 37 of 44 with the fault of `fault=1`, 35 with others | what needs a second GPU, or a kernel that is not there; that a fault shows, in one of three modes, and that a context which has failed is retained: not explained; a buffer of arguments that is a byte short is taken: mended |
| `gpu_managed` | 23 of 26 | one that needs an adapter; times |
| `gpu_codes` | 22 of 42 | a stream that writes what is only read is not refused, but loses the context, and with it most of what was checked behind that: mended, and what those say of the driver open; memory that was not mapped has no access to tell of: mended |
| `gpu_faults` | 4 of 5 | kernels reach more of a managed block than its page: open |

Open, too: `SYNC_MEMOPS` reads as it was set; `cuMemFreeAsync` of memory of no pool is taken, and takes as long as what the
GPU has to do (here it is refused); managed memory of a context that is over; the identities of places of managed memory; a
kernel's first launch beside one that waits, which waits for it (kernels are loaded when they are first used: not so with
`CUDA_MODULE_LOADING=EAGER`).
Times that are known to be wrong: sets of much pinned memory (32 MiB: 19 us here, 655 there, where they cross the bus); copies
from host to host, which take 3 us more; advice (0.1 us here, 2 to 114 and, of 64 MiB, up to 2,700 there); `cuMemGetInfo` (0
here, 4.6); `cuMemAllocPitch` of little (1.4 here, 36); a grid of 65,536 blocks (9 here, 48).

Programs of several GPUs or of adapters were not run. Calls took up to twice as long as when the times of the profile were
measured, with many calls at once; those times stay, but for a few that nobody had measured: pools are made, destroyed and
shrunk, modules unloaded, host functions launched, and access to mapped memory that stays as it was. Memory of the host by
handles or from pools, which that driver has, there is not here (`CUDA_ERROR_NOT_SUPPORTED`).
"""


def load(path):
    """What rows gave, by name: obtained, holds, all_figures (or none), version."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def store(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def verdict(row, holds):
    return f"{'holds' if holds else 'DOES NOT HOLD'}, {'must hold' if row['hard'] else 'reported'}"


def line(row, result):
    cells = [row["what"], row["published"], result["obtained"], verdict(row, result["holds"])]
    for cell in cells:
        if len(cell) > CELL or "|" in cell:
            raise ValueError(f"{row['name']}: no cell of the table, but for the note: {cell}")
    return f"| [{row['name']}](#{row['name'].lower()}) | {' | '.join(cells)} |\n"


def note(row, result):
    parts = [row["claim"], f"Obtained ({result['version']}): {result.get('all_figures') or result['obtained']}.", row["simplified"]]
    return f"\n### {row['name']}\n\n" + "\n\n".join(part.strip() for part in parts if part) + "\n"


def render(rows, results):
    """The page: of each row that has a result a line in the table and a note."""
    known = [(row, results[row["name"]]) for row in rows if row["name"] in results]
    return (HEAD + "".join(line(*k) for k in known) + "\n## Notes\n" + "".join(note(*k) for k in known) + TAIL)
