#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ShellCheck has nothing to say about any shell script. But "A && B || C" is meant, ls is read where
# the names are ours, words are what a loop over words reads, and what a trap calls is called.
. "$(dirname "$0")/files.sh"
command -v shellcheck >/dev/null || { echo "no shellcheck" && exit 77; }
cd "$ROOT" || exit 1
# shellcheck disable=SC2046
shellcheck -x -P SCRIPTDIR -e SC2012,SC2013,SC2015,SC2317 $(own_scripts)
