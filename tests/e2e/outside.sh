#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs from outside: a folder of their own, built against an installation in a prefix that was empty and
# is not where the build thinks it is, with nothing but pkg-config. $3: the build folder; then their sources.
# shellcheck disable=SC2046 # flags are words

build=$(realpath "$3") self=$(realpath "$0")
. "$(dirname "$0")/lib.sh"
shift 3
cp "$@" .
. "$(dirname "$self")/installed.sh"
for file in include/verbena/verbena.h include/verbena/program.h share/man/man1/verbena.1 \
	share/bash-completion/completions/verbena share/zsh/site-functions/_verbena share/verbena/incidents \
	share/verbena/lessons share/verbena/profiles libexec/verbena/programs/ring.so; do
	[ -e "$prefix/$file" ] || fail "no $file"
done
! flags --libs | grep -q -- -libverbs || fail "-libverbs would bring another libibverbs"
[ "$(pkg-config --modversion verbena)" = "$("$verbena" --version | sed 's/^verbena \([0-9.]*\).*/\1/')" ] ||
	fail "another version in verbena.pc"

# What the libraries show.
nm -D --defined-only "$library/libverbena.so.0" | awk '$2 ~ /[TWDBRV]/ { print $3 }' | sort >shown
grep -vE '^_?(ibv|vb|mult_to_ibv|mbps_to_ibv)_.*@@(IBVERBS|IBVERBS_PRIVATE|VERBENA)_[0-9.]+$' shown >odd &&
	{ cat odd; fail "libverbena.so shows more than ibv_ and vb_"; }
for name in ibv_get_device_list@@IBVERBS_1.1 ibv_create_comp_channel@@IBVERBS_1.0 ibv_reg_mr_iova2@@IBVERBS_1.8 \
	_ibv_query_gid_ex@@IBVERBS_1.11 ibv_qp_to_qp_ex@@IBVERBS_1.6 vb_run@@VERBENA_0.1 vb_wait_mem@@VERBENA_0.1; do
	grep -qx "$name" shown || fail "no $name"
done
readelf -d "$library/libverbena.so.0" | grep -q 'SONAME.*\[libverbena.so.0\]' || fail "another SONAME"
nm -g --defined-only "$library/libverbena.a" | awk 'NF == 3 && $2 != "U" { print $3 }' | sort >shown_a
sed 's/@.*//' shown | sort >plain_names
cmp -s shown_a plain_names || { diff shown_a plain_names; fail "libverbena.a shows other names"; }

# Ordinary warnings, and C++ as strict as C.
build_as() { # OUTPUT SOURCE [FLAG...]
	out=$1 source=$2
	shift 2
	case $source in *.cc) compiler=$CXX ;; *) compiler=$CC ;; esac
	$compiler -Wall -Wextra -Werror -g -o "$out" "$source" "$@" $(flags --cflags --libs) || fail "$out is not built"
}
build_as kv kv.c
build_as plus plus.cc
build_as plain plain.c
$CC -Wall -g -o kv_static kv.c $(flags --cflags) "$library/libverbena.a" -lpthread || fail "not linked statically"
! readelf -d kv_static | grep -q libverbena || fail "not linked statically"
echo '#include <verbena/program.h>' | $CXX $(flags --cflags) -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ - ||
	fail "the header is no C++"

# ---- as processes ----

port=$((20000 + $$ % 20000))
ranks kv 3 values=5 bytes=20000 || { cat said && fail "kv as processes"; }
[ "$(grep -c 'all values came back' said)" = 2 ] || fail "not all values came back between processes"
ranks kv_static 2 || { cat said && fail "kv linked statically"; }
build_as threads threads.cc
ranks threads 2 || { cat said && fail "threads as processes"; }
ranks plus 2 || { cat said && fail "plus as processes"; }
grep -q '^rank 1: rank 0 ends in 2$' said || fail "plus: another line"
! ranks kv 2 wrong=1 || fail "a rank that fails ends well"
grep -q '^rank 0 failed: -104$' said || fail "who waits for a rank that failed waits on"
for rank in 2 1 0; do
	LD_LIBRARY_PATH=$library VERBENA_RANK=$rank VERBENA_SIZE=3 VERBENA_BOARD=127.0.0.1:$port timeout 60 ./plain 5 &
done >said 2>&1
wait
[ "$(cat said)" = "plain: 15" ] || fail "a plain main() between processes says $(cat said)"
export LD_LIBRARY_PATH="$library"
[ "$(./plain 7)" = "plain: 7" ] || fail "a plain main() alone"
for bad in "--rank 2 --size 2 --board 127.0.0.1:1" "--size 2" "--rank x" "--size 0" "--nothing"; do
	status=0
	# shellcheck disable=SC2086
	./kv $bad 2>err || status=$?
	[ $status = 2 ] && [ -s err ] || fail "$bad: exit $status"
done
unset LD_LIBRARY_PATH

# ---- as modules ----

build_as kv.so kv.c -shared -fPIC -Wl,--no-as-needed -libverbs
readelf -d kv.so | grep -q 'NEEDED.*libibverbs.so.1' || fail "kv.so does not name libibverbs"
readelf -d kv.so | grep -q 'NEEDED.*libverbena.so.0' || fail "kv.so does not name libverbena"
build_as plus.so plus.cc -shared -fPIC
build_as plain.so plain.c -shared -fPIC
scenario() { # RUN [ARGUMENT]
	cat <<END
version: 1
name: outside
topology: {kind: star, hosts: 3}
programs:
  - {run: $1, name: it, hosts: "h[0-2]", args: [${2:-}]}
END
}
mkdir deep # a path is relative to the scenario
for run in ../kv.so ../kv.c ../plus.so ../plus.cc ../threads.cc; do
	scenario $run values=4 >deep/it.yaml
	expect 0 check deep/it.yaml
	expect 0 run deep/it.yaml --out it
	grep -q '^program it .* 3 ranks: all ended well' out || fail "$run: not all ended well"
	case $run in
	*kv*)
		[ "$(grep -c 'all values came back' err)" = 2 ] || fail "$run: not all values came back"
		# Two clients of four values each, written and read.
		holds it/result.json 'r["programs"][0]["requests"]["completed"] == 16'
		;;
	*threads*)
		[ "$(grep -c ': 55$' err)" = 3 ] || fail "$run: another sum"
		# Ten times a millisecond, and no more.
		holds it/result.json 'r["time_ps"] == 10 * 10**9'
		;;
	*) grep -q '^it, rank 2: rank 0 ends in 1$' err || fail "$run: another line" ;;
	esac
done
for run in plain.c ./plain.so; do
	scenario $run 4 >it.yaml
	expect 0 run it.yaml --out it
	grep -qx 'it: 12' err || fail "$run: the ranks of a plain main() are not told apart"
	holds it/result.json 'r["time_ps"] >= 10**9'
done
# The same bytes on the wire, compiled here or there; twice.
scenario ./kv.so >so.yaml
scenario kv.c >c.yaml
expect 0 run so.yaml --json && holds out 'r["programs"][0]["addresses"] in ("fixed", "anywhere")'
python3 -c 'import json; print(json.load(open("out"))["digest"])' >one
expect 0 run so.yaml --json
python3 -c 'import json; print(json.load(open("out"))["digest"])' >two
cmp -s one two || fail "two digests of one run"

# What a program keeps outside of functions is its rank's, in each program of the scenario, and lies where it
# does in every run.
cat >globals.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
programs:
  - {run: globals.c, name: one, hosts: "h[0-2]"}
  - {run: globals.c, name: other, hosts: [h1, h0]}
END
for count in 1 2; do
	expect 0 run globals.yaml --json --threads $count
	holds out 'all(p["failed"] == 0 and p["unfinished"] == 0 and p["addresses"] == r["programs"][0]["addresses"] for p in r["programs"])'
done
expect 0 run so.yaml --json
python3 -c 'import json; print(json.load(open("out"))["programs"][0]["addresses"])' >shared
expect 0 run globals.yaml --json
[ "$(python3 -c 'import json; print(json.load(open("out"))["programs"][0]["addresses"])')" = "$(cat shared)" ] ||
	fail "modules of ranks lie elsewhere"
expect 3 run globals.yaml --json --set 'programs.one.args=[spin]'
grep -qE '^verbena: h[0-2]: program one spins at (.*/globals.c:[0-9]+ \(prog_main\)|prog_main.* \(globals.so\)):' err ||
	fail "a place in a rank's own module is not found"

# A source is compiled once, and again with what it includes, and with other flags.
modules() {
	find cache -name c.so | wc -l
}
printf '#include "value.h"\n#include <verbena/program.h>\nint prog_main(const struct vb_prog *p)\n{\n\t(void)p;\n\treturn VALUE;\n}\n' >c.c
scenario ./c.c >c.yaml
echo '#define VALUE 0' >value.h
expect 0 run c.yaml --json
expect 0 run c.yaml --out kept
[ "$(modules)" = 1 ] || fail "compiled $(modules) times"
expect 0 explain kept --why cure
! grep -q 'are others' err || fail "built anew, and was not"
echo '#define VALUE 3' >value.h
expect 1 run c.yaml --json
holds out '[k["result"] for k in r["programs"][0]["ranks"]] == [3, 3, 3]'
[ "$(modules)" = 2 ] || fail "a header that changed: compiled $(modules) times"
expect 0 explain kept --why cure
grep -qx 'verbena: kept: its programs are others by now' err || fail "built anew, and nobody says it"
(export CFLAGS=-UVALUE && expect 1 run c.yaml --json)
[ "$(modules)" = 3 ] || fail "other flags: compiled $(modules) times"

# ---- what is bad ----

echo 'int prog_main(const void *prog) { return nothing; }' >wrong.c
scenario ./wrong.c >wrong.yaml
expect 0 check wrong.yaml # which compiles nothing
find cache -name 'wrong*' | grep -q . && fail "check compiles"
expect 2 run wrong.yaml
grep -q 'wrong.c:1:.*nothing' err || fail "not the compiler's line"
tail -n 1 err | grep -qE '^wrong.yaml:5: programs.0.run: found "./wrong.c", expected a program \(.* refuses it\)$' ||
	fail "wrong.c: another line"
scenario ./none.c >none.yaml
expect 2 check none.yaml
grep -qx 'none.yaml:5: programs.0.run: found "./none.c", expected a program (no program "./none.c")' err ||
	fail "none.c: another line"
for word in check run; do
	status=0
	CC=no-such-compiler "$verbena" $word c.yaml >out 2>err || status=$?
	[ $status = 2 ] || fail "no compiler: $word: exit $status"
	grep -qx 'c.yaml:5: programs.0.run: found "./c.c", expected a program (no compiler "no-such-compiler", which CC names)' err ||
		fail "no compiler: $word: another line"
done
# A call that libibverbs has and nobody serves here is not left to libibverbs.
cat >more.c <<'END'
#include <verbena/program.h>
int ibv_cmd_poll_cq(void);
int prog_main(const struct vb_prog *prog) { return prog->rank + ibv_cmd_poll_cq(); }
END
$CC -shared -fPIC -o more.so more.c $(flags --cflags) -libverbs 2>/dev/null || fail "no module to try"
echo 'int prog_main(const void *p) { return p == 0; }' >cm.c
$CC -shared -fPIC -o cm.so cm.c -Wl,--no-as-needed -l:librdmacm.so.1 2>/dev/null || rm -f cm.so
for word in check run; do
	scenario ./more.so >more.yaml
	expect 2 $word more.yaml
	grep -qx 'more.yaml:5: programs.0.run: found "./more.so", expected a program (ibv_cmd_poll_cq() is not served)' err ||
		fail "$word: not served, and not said"
	[ -e cm.so ] || continue
	scenario ./cm.so >cm.yaml
	expect 2 $word cm.yaml
	grep -q '(it is linked with librdmacm.so.1, which is not served)$' err || fail "$word: librdmacm: another line"
done
