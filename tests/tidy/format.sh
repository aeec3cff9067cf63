#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every .c and .h is as .clang-format says. Versions of clang-format differ in small things: 14, that
# of Debian 12, is the one of record.
. "$(dirname "$0")/files.sh"
found=
for name in clang-format-14 clang-format; do
	command -v "$name" >/dev/null && "$name" --version | grep -q 'version 14\.' && found=$name && break
done
[ -n "$found" ] || { echo "no clang-format 14" && exit 77; }
bad=0
for file in $(own_files | grep -E '\.[ch]$'); do
	"$found" --style=file "$ROOT/$file" | cmp -s - "$ROOT/$file" && continue
	echo "$file: not as $found would have it: $found -i $file"
	bad=1
done
exit $bad
