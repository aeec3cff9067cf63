#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes util/neglog.inc, the table of util/exponential.c: ln(c) in Q0.40 for the middle c of each of 256
equal parts of [1, 2). Whole numbers only: ln(1 + x) by its series in rationals of 200 bits."""
import sys

BITS = 200
ONE = 1 << BITS


def ln(num, den):
    """ln(num / den) for 1 <= num / den < 2, in 2^-BITS: 2 artanh((a - 1) / (a + 1))."""
    z = (num - den) * ONE // (num + den)
    square, power, n, total = z * z // ONE, z, 1, 0
    while power:
        total += power // n
        power = power * square // ONE
        n += 2
    return 2 * total


rows = [(ln(512 + 2 * i + 1, 512) + (1 << BITS - 41)) >> BITS - 40 for i in range(256)]
out = ["/* SPDX-License-Identifier: BSD-2-Clause */", "/* Made by util/neglog.py. */"]
for i in range(0, 256, 6):
    out.append("\t" + " ".join(f"{row}u," for row in rows[i:i + 6]))
sys.stdout.write("\n".join(out) + "\n")
