#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena new: a folder whose tests pass at once, against an installation, and fail where its program is wrong; and
# programs of this tree built as an outsider's. $3: the build folder.
# shellcheck disable=SC2046 # flags are words

build=$(realpath "$3") self=$(realpath "$0") programs=$(realpath "$2")/tests/programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$self")/installed.sh"
PATH=$prefix/bin:$PATH
export PATH

expect 0 new mine
grep -q 'verbena run scenario.yaml' out || fail "not what comes next"
! grep -r '@NAME@' mine || fail "names that are not put in"
[ -x mine/processes.sh ] || fail "processes.sh cannot be run"
cd mine
"$verbena" check scenario.yaml >../out 2>../err || {
	grep -q 'without libjq' ../err || fail "its scenario is bad"
	sed -i '/^expect:/,$d' scenario.yaml
}
"$CC" -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only mine.c $(flags --cflags) || fail "warnings of mine.c"
tests() { # the two of them, by their results
	meson test -C build >../log 2>&1 || true
	python3 -c 'import json
for line in open("build/meson-logs/testlog.json"):
    test = json.loads(line)
    print(test["name"], test["result"])' | sort
}
meson setup build >../log 2>&1 || { cat ../log && fail "meson setup"; }
tests >../out
printf 'processes OK\nvirtual time OK\n' | cmp -s - ../out || { cat ../out ../log && fail "its tests do not pass"; }
[ -s build/scenario.xml ] && [ -s build/run/report.html ] || fail "no JUnit file, or no report"
# Another byte is a failure of both.
sed -i 's/\(memset(node->memory, content(node->prog->rank, i)\)/\1 + 1/' mine.c
tests >../out
printf 'processes FAIL\nvirtual time FAIL\n' | cmp -s - ../out || { cat ../out && fail "tests that see nothing"; }
cd ..

for name in '' a/b ../a -x 9 .a "a b" $(printf 'x%061d' 0); do
	expect 2 new -- "$name"
	grep -q "expected a name" err || fail "\"$name\": another line"
done
expect 2 new mine
grep -qx 'verbena: new: mine: File exists' err || fail "mine: another line"
[ -z "$(find . -maxdepth 1 -type d ! -name . ! -name root ! -name moved ! -name mine ! -name cache)" ] ||
	fail "a folder of a bad name"

# Three programs of the tree, in a folder like theirs, with nothing but the installation.
mkdir -p there/tests/programs
cp "$programs/util.c" "$programs/util.h" there/tests/programs/
for name in ring atomics srq; do
	cp "$programs/$name.c" there/tests/programs/
	$CC -g -shared -fPIC -Ithere -I"$prefix" -D_GNU_SOURCE -o $name.so "there/tests/programs/$name.c" \
		there/tests/programs/util.c $(flags --cflags --libs) || fail "$name.so is not built"
	printf '#include <verbena/program.h>\nVB_MAIN(prog_main)\n' >main.c
	$CC -g -Ithere -I"$prefix" -D_GNU_SOURCE -o $name main.c "there/tests/programs/$name.c" there/tests/programs/util.c \
		$(flags --cflags --libs) || fail "$name is not built"
	for run in ./$name.so $name; do # the other one is the installed module
		cat >$name.yaml <<-END
			version: 1
			topology: {kind: star, hosts: 3}
			programs:
			  - {run: $run, name: it, hosts: "h[0-2]"}
		END
		expect 0 run $name.yaml --json
		holds out 'r["programs"][0]["failed"] == 0 and r["programs"][0]["unfinished"] == 0'
		python3 -c 'import json; r = json.load(open("out")); print(r["time_ps"], r["programs"][0]["requests"])' >>$name.figures
	done
	[ "$(sort -u $name.figures | wc -l)" = 1 ] || { cat $name.figures && fail "$name: not what it is in the tree"; }
	ranks $name 3 || { cat said && fail "$name as processes"; }
done
