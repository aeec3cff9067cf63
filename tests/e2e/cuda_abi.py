#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cuda_abi.py ROOT: types, values, functions and the names of their symbols in include/verbena/cuda.h are
those of the CUDA Toolkit's cuda.h, where there is one (CUDA_HOME, or /usr/local/cuda)."""
import os
import re
import subprocess
import sys
import tempfile

root = sys.argv[1]
toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/include"
if not os.path.exists(toolkit + "/cuda.h"):
    print("SKIP: no CUDA Toolkit")
    sys.exit(77)
with open(root + "/include/verbena/cuda.h", encoding="utf-8") as file:
    text = file.read()
values = re.findall(r"^\t(CU[A-Z0-9a-z_]+) = \d+,$", text, re.MULTILINE)
types = re.findall(r"^typedef .*?\b(CU\w+);$", text, re.MULTILINE) + re.findall(r"^} (CU\w+);$", text, re.MULTILINE)
structs = re.findall(r"^typedef struct \w+ {$\n(.*?)^} (CU\w+);$", text, re.MULTILINE | re.DOTALL)
types = [name for name in types if name not in [s[1] for s in structs]]
same = [name for of, name in re.findall(r"^typedef (CU\w+) (CU\w+);$", text, re.MULTILINE) if of in [s[1] for s in structs]]
types = [name for name in types if name not in same]
functions = re.findall(r"^CUresult (cu\w+)\(([^;]*)\);$", text, re.MULTILINE | re.DOTALL)
if len(values) < 30 or len(types) < 7 or len(functions) < 24:
    sys.exit(f"only {len(values)} values, {len(types)} types, {len(functions)} functions: a poor test")

lines = ["#include <stddef.h>", "#include <stdio.h>", "#include HEADER", "#define TEXT(name) #name", "#define SYMBOL(name) TEXT(name)",
         "int main(void)", "{"]
for name, arguments in functions:
    lines += [f"\tCUresult (*const is_{name})({arguments}) = {name};", f"\t(void)is_{name};",
              f'\tputs("{name} " SYMBOL({name}));']
lines += [f'\tprintf("{name} %d\\n", (int){name});' for name in values]
lines += [f'\tprintf("{name} %zu %d\\n", sizeof({name}), ({name})-1 > ({name})0);' for name in types if name != "CUcontext"]
for body, name in structs:
    lines += [f'\tprintf("{name} %zu\\n", sizeof({name}));']
    for member in re.findall(r"^(?:\t[^\t{}]*\W|\t} )(\w+)(?:\[\w+\])?;$", body, re.MULTILINE):
        lines += [f'\tprintf("{name} {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));']
lines += [f'\tprintf("{name} %zu\\n", sizeof({name}));' for name in same]
lines += ["\treturn sizeof(CUcontext) != sizeof(void *);", "}"]

said = []
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/abi.c", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    for header in (f'"{root}/include/verbena/cuda.h"', "<cuda.h>"):
        # Nothing is called: where a function is does not matter.
        subprocess.run([os.environ.get("CC", "cc"), "-Werror=incompatible-pointer-types", "-Werror=int-conversion",
                        f"-DHEADER={header}", "-I" + toolkit, folder + "/abi.c", "-Wl,--unresolved-symbols=ignore-all",
                        "-o", folder + "/abi"], check=True)
        said.append(subprocess.run([folder + "/abi"], check=True, stdout=subprocess.PIPE, text=True).stdout)
for ours, theirs in zip(said[0].splitlines(), said[1].splitlines()):
    if ours != theirs:
        print(f"ours: {ours}; the Toolkit's: {theirs}")
print(f"{len(values)} values, {len(types)} types and {len(functions)} functions")
sys.exit(said[0] != said[1])
