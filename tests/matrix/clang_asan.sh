#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# clang with AddressSanitizer, its leak checker and UndefinedBehaviorSanitizer, each finding fatal: what comes from
# outside, and the command as a person runs it. Unit tests and packet scripts have those of gcc.
. "$(dirname "$0")/lib.sh"
need clang
export CC=clang
links -fsanitize=address,undefined || skip "clang has no address and undefined sanitizers here"
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
configure -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false \
	-Dc_args=-fno-sanitize-recover=all
compile all
# What comes from outside: the corpora of the fuzzers, files that are wrong.
tests --suite fuzz --timeout-multiplier 4
tests --timeout-multiplier 4 bad_input
# The command as a person runs it, but for what counts its memory or its time, or looks at all that it
# says; or has no /proc, or is loaded into programs without sanitizers; or runs for long what others run, too.
commands=$(meson test -C "$build" --list --suite e2e | grep -oE 'verbena_[a-z_]+' |
	grep -vE '_(advice|incidents|same_digest|ci|lesson|completion|report_pair|stream_memory|memory|many|programs|output|completion_zsh|no_proc|outside|new|doctor|faults|kills|live|exec(_[a-z]+)*|report_(browser|flows|fold|ladder|look))$')
export LSAN_OPTIONS="suppressions=$ROOT/tests/matrix/cut_off.lsan:print_suppressions=0"
# shellcheck disable=SC2046,SC2086
tests --timeout-multiplier 6 $(turn 3 $commands)
