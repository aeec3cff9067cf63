#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""list.py OUT FILE...: the profiles as C, by name in order; those in a folder machines are of machines."""
import os
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    for path in sorted(sys.argv[2:], key=os.path.basename):
        name = os.path.splitext(os.path.basename(path))[0]
        is_machine = os.path.basename(os.path.dirname(path)) == "machines"
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"') for line in file]
        text = "\n".join(f'\t "{line}\\n"' for line in lines)
        of = ".is_machine = true, " if is_machine else ""
        out.write(f'\t{{.name = "{name}", {of}.text =\n{text}}},\n')
