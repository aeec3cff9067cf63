#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs of others that are compiled with a sanitizer run under verbena exec, and it has nothing to say: two hundred
# calls that cannot be served, and two threads that share a queue pair. $3, $4: their sources
calls=$(realpath "$3") threads=$(realpath "$4")
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_LINK VERBENA_TREE
for sanitizer in address undefined thread; do
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for source in "$calls" "$threads"; do
			$cc -g -O1 "-fsanitize=$sanitizer" -fno-sanitize-recover=undefined -DWITH_LIBIBVERBS -o program \
				"$source" "-I$root/include" -libverbs -lpthread 2>err || {
				echo "$cc has no $sanitizer sanitizer here"
				continue 2
			}
			TSAN_OPTIONS="exitcode=66 suppressions=" expect 0 exec -- ./program
			! grep -qE 'ERROR: |WARNING: ThreadSanitizer|runtime error' err ||
				fail "$cc, $sanitizer, $source"
		done
		echo "$cc $sanitizer"
	done
done
