#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Files, one after another, as the bytes of a C array: the report needs none of them at run time.
set -eu
for file in "$@"; do
	od -An -v -tx1 "$file" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo 10,
done
