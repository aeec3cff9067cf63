# SPDX-License-Identifier: BSD-2-Clause
"""Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015."""
from lab import Run, part, row

INCAST = """version: 1
topology: {hosts: [d, "c[0-9]"], switches: [s], links: [{a: d, b: s, rate: 20Gbps, delay: 500ns}, {a: "c[0-9]", b: s, rate: 10Gbps, delay: 500ns}]}
switch: {buffer: 12MB, alpha: 8, pfc: {priorities: [3]}%s}
nic: {mtu: 1024, cc: %s, ack_every: 16}
traffic: [{class: f, pattern: incast, to: d, size: 4GB}]
"""
IDLE_US = 4 * .5 + 1106 * 8 / 20e3 + 1106 * 8 / 10e3


def round_trips(control, ecn=""):
    """Gb/s, and mean and 99th percentile of what a packet that came then would take, in us; from 60 to 150 ms."""
    text = INCAST % (ecn, control)
    before, run = Run(text, until="60ms"), Run(text, until="150ms", series="20us")
    moved = run.port("s", "d", 3, "port_sent_bytes") - before.port("s", "d", 3, "port_sent_bytes")
    trips = [int(s["queue_bytes"]) * 8 / 20e3 + IDLE_US for s in run.series
             if s["node"] == "s" and s["link"] == "d-s#0" and s["priority"] == "3" and int(s["time_ps"]) > 60e9]
    rate = moved * 8e3 / (run.result["time_ps"] - before.result["time_ps"])
    return rate, sum(trips) / len(trips), part(trips, .99)


@row("T1", "Test bed, ten senders at 10 Gb/s into 20 Gb/s, 16 KB segments: TIMELY 19.4 Gb/s, round trip 61 us in the mean and 116 us at the 99th "
     "percentile; PFC alone 19.5 Gb/s, 658 and 1036 us (here: TIMELY's mean between T_low and twice that, far below PFC's)",
     "a round trip is the queue of that instant and the idle way; PFC alone fills the buffer that it is given, here 12 MB. Packets are paced one by "
     "one; the published NIC paces segments of 16 KB, ten of which are 64 us at 20 Gb/s, so that its queue never lies below T_low")
def incast():
    timely, alone = round_trips("timely"), round_trips("none")
    return (f"TIMELY {timely[0]:.1f} Gb/s, {timely[1]:.0f} and {timely[2]:.0f} us; PFC alone {alone[0]:.1f} Gb/s, {alone[1]:.0f} and {alone[2]:.0f} us",
            50 <= timely[1] <= 100 and 5 * timely[1] < alone[1])
