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
cd "$ROOT" || exit 1
# shellcheck disable=SC2046
said=$("$found" --style=file --dry-run -Werror $(own_files | grep -E '\.[ch]$') 2>&1) && exit
echo "$said" | grep -E '^[^ ]+:[0-9]+:[0-9]+: ' | cut -d: -f1 | sort -u | while IFS= read -r file; do
	echo "$file: not as $found would have it: $found -i $file"
done
echo "$said" | head -n 20
exit 1
