#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# objects.sh BUILD_DIR HOST_PROGRAM ...: that every host of a program is linked from the one object of
# that program; prints each object's sha256.
command -v ninja >/dev/null || { echo "no ninja"; exit 77; }
cd "$1" || exit 1
shift
bad=0
for exe in "$@"; do
	program=${exe#*_}
	object=tests/programs/libprog_$program.a.p/$program.c.o
	built=$(find . -name "$program.c.o" | wc -l)
	ninja -t inputs "tests/programs/$exe" | grep -qx "$object" && [ "$built" = 1 ] && continue
	echo "$exe: not from $object, of which there are $built"
	bad=1
done
for exe in "$@"; do echo "tests/programs/libprog_${exe#*_}.a.p/${exe#*_}.c.o"; done | sort -u |
	xargs sha256sum
exit $bad
