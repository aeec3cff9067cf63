#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# objects.sh BUILD_DIR HOST_PROGRAM|PROGRAM.so ...: that every host of a program, and the module that it
# also is, is linked from the one object of that program; prints each object's sha256.
command -v ninja >/dev/null || { echo "no ninja"; exit 77; }
cd "$1" || exit 1
shift
bad=0
program_of() {
	case $1 in
	*.so) echo "${1%.so}" ;;
	*) echo "${1#*_}" ;;
	esac
}
for exe in "$@"; do
	program=$(program_of "$exe")
	object=tests/programs/libprog_$program.a.p/$program.c.o
	built=$(find . -name "$program.c.o" | wc -l)
	ninja -t inputs "tests/programs/$exe" | grep -qx "$object" && [ "$built" = 1 ] && continue
	echo "$exe: not from $object, of which there are $built"
	bad=1
done
for exe in "$@"; do
	program=$(program_of "$exe")
	echo "tests/programs/libprog_$program.a.p/$program.c.o"
done | sort -u | xargs sha256sum
exit $bad
