#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# archive.sh FOLDER OUT.a IN.a...: all of them as one object in which only what is visible is global: the
# names of a program never meet ours, nor those of liburing, which does not hide its own.
set -eu
mkdir -p "$1"
object=$1/verbena.o
out=$2
shift 2
"${LD:-ld}" -r --whole-archive "$@" -o "$object"
"${OBJCOPY:-objcopy}" --localize-hidden --wildcard --localize-symbol '*io_uring*' \
	--remove-section '.gnu.lto_*' "$object"
rm -f "$out"
"${AR:-ar}" rcsD "$out" "$object"
