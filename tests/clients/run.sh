#!/bin/sh
# shellcheck disable=SC1091,SC2154 # what exec_lib.sh sets
# SPDX-License-Identifier: BSD-2-Clause
# The suite "clients": other people's programs, unmodified, as a user without any rights; rows.py says which and how,
# run.py what is looked at. $3: the folder of the build; behind it the options of run.py.
e2e=$(dirname "$0")/../e2e
here=$(cd "$(dirname "$0")" && pwd)
. "$e2e/exec_lib.sh"
shift 3
export AS="$as" HOME="$work/both" TMPDIR="$work/both"
status=0
python3 "$here/run.py" --verbena "$work/bin/verbena" --root "$root" "$@" || status=$?
exit $status
