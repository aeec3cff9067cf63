#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gcc with AddressSanitizer, its leak checker and UndefinedBehaviorSanitizer, each finding fatal.
. "$(dirname "$0")/lib.sh"
need gcc
export CC=gcc
links -fsanitize=address,undefined || skip "gcc has no address and undefined sanitizers here"
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
configure -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false \
	-Dc_args=-fno-sanitize-recover=all
all_of unit script scenario fuzz
# With the corpora of the fuzzers; files that are wrong has clang's.
tests --suite unit --suite script --suite fuzz --timeout-multiplier 4
# shellcheck disable=SC2046
tests --timeout-multiplier 4 $(turn 3 $(names_of scenario))
