#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tests of rdma-core as Debian packages them (python3-pyverbs), on Verbena's adapter; those that do not pass are
# named, with the reason, in exec_pyverbs.list. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
here=$(realpath "$(dirname "$0")")
tests=/usr/share/doc/rdma-core/tests
python=/usr/bin/python3
[ -d $tests ] || { echo "no $tests" && exit 77; }
$python -c 'import pyverbs.device' 2>/dev/null || { echo "no pyverbs" && exit 77; }
version=$(dpkg-query -W -f '${Version}' python3-pyverbs 2>/dev/null || echo unknown)
case $version in
44.*) ;;
*) echo "no pyverbs of rdma-core 44, but $version" && exit 77 ;;
esac

# Some want huge pages, which only root can see to.
pages=$(cat /proc/sys/vm/nr_hugepages)
list=$here/exec_pyverbs.list
if [ "$pages" -lt 16 ] && ! echo 16 2>/dev/null >/proc/sys/vm/nr_hugepages; then
	sed 's/^# without huge pages: //' "$list" >small.list
	list=$work/both/small.list
else
	trap 'echo "$pages" 2>/dev/null >/proc/sys/vm/nr_hugepages || true; rm -rf "$work"' EXIT
fi

# The folder holds most of them compressed.
cp -r $tests tests
gunzip -rf tests
status=0
timeout 100 "$work/bin/verbena" exec -- $python "$here/pyverbs_tests.py" "$work/both" "$list" >out 2>err || status=$?
grep -E '^(worse|better|no such|[0-9]+ of )' out || true
[ $status = 0 ] || { tail -n 20 err && exit 1; }
