#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec: other people's programs find one device, verbs and files agree on it, and what cannot be served is
# said.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE TMPDIR
mkdir tmp
export TMPDIR="$work/tmp"

# The files.
expect 0 exec --host 127.0.3.4 -- cat /sys/class/infiniband/verbena0/ports/1/gids/1 \
	/sys/class/infiniband/verbena0/ports/1/gid_attrs/types/0 /sys/class/infiniband/verbena0/node_guid
cat >want <<'END_OF_WANT'
0000:0000:0000:0000:0000:ffff:7f00:0304
RoCE v2
0000:7fff:fe00:0304
END_OF_WANT
diff want out || fail "other files"
expect 0 exec realpath /sys/class/infiniband/verbena0
[ "$(cat out)" = /sys/devices/pci5645:00/5645:00:01.0/infiniband/verbena0 ] || fail "realpath: $(cat out)"
cat >resolve.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char room[PATH_MAX], *path = argc == 2 ? realpath(argv[1], room) : NULL;

	return path ? puts(path) < 0 : 1;
}
END_OF_C
sed -i '1i #include <limits.h>' resolve.c
for flags in "-O0" "-O2 -D_FORTIFY_SOURCE=2"; do
	# shellcheck disable=SC2086
	cc $flags -o resolve resolve.c
	expect 0 exec ./resolve /sys/class/infiniband/verbena0/device
	[ "$(cat out)" = /sys/devices/pci5645:00/5645:00:01.0 ] || fail "libc's realpath(): $(cat out)"
done
expect 0 exec -- sh -c 'test -c /dev/infiniband/uverbs-verbena0 && test -w /dev/infiniband/uverbs-verbena0 &&
	test -d /sys/class/infiniband/verbena0/device/net/lo'
expect 0 exec -- ls /sys/class/infiniband /sys/class/infiniband_verbs
grep -qx verbena0 out || fail "ls finds no device"
# Everything else is where it was.
expect 0 exec -- cat /proc/self/comm
[ "$(cat out)" = cat ] || fail "another /proc"
expect 0 exec -- cat "$work/want"
cmp -s out want || fail "another file of the person's own"

# Names are addresses, the same each time, and another one another.
for host in a a b; do
	expect 0 exec --host $host -- cat /sys/class/infiniband/verbena0/ports/1/gids/1
	cat out >>hosts
done
[ "$(sort -u hosts | wc -l)" = 2 ] || fail "hosts a, a, b: $(cat hosts)"

# Exit statuses are the program's, signals too, and both ways.
expect 7 exec -- sh -c 'exit 7'
expect 137 exec -- sh -c 'kill -9 $$'
expect 127 exec -- no-such-command
grep -q 'no-such-command' err || fail "no word of the command"
"$verbena" exec -- sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done' >out 2>err &
for _ in $(seq 100); do
	[ ! -s out ] || break
	sleep 0.05
done
kill -TERM $!
status=0
wait $! || status=$?
[ "$status" = 9 ] || fail "SIGTERM: $status"
# One that comes as the program begins, before it is known whom to hand it on to.
cat >fork.c <<'END_OF_C'
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
pid_t fork(void)
{
	pid_t (*next)(void);
	void *found = dlsym(RTLD_NEXT, "fork");
	pid_t pid;

	memcpy(&next, &found, sizeof(next));
	pid = next();
	if (pid > 0)
		raise(SIGTERM);
	return pid;
}
END_OF_C
cc -D_GNU_SOURCE -shared -fPIC -o fork.so fork.c
status=0
timeout -s KILL 20 env LD_PRELOAD="$work/fork.so" "$verbena" exec -- sleep 60 >out 2>err || status=$?
case "$(ldd "$verbena")" in
*libasan*) ;; # wants to be the first of all
*) [ "$status" = 143 ] || fail "SIGTERM at the beginning: $status" ;;
esac
# An option behind the command is the command's.
expect 0 exec echo --host a
[ "$(cat out)" = "--host a" ] || fail "echo: $(cat out)"
expect 2 exec --nonsense -- true
expect 2 exec
expect 2 exec --host '' -- true
VERBENA_MTU=77 expect 2 exec -- true
grep -q VERBENA_MTU err || fail "VERBENA_MTU=77: $(cat err)"

# Off: as if there were no verbena.
expect 0 exec -- printenv VERBENA_TREE LD_PRELOAD
export VERBENA=off
expect 1 exec -- printenv VERBENA_TREE LD_PRELOAD
unset VERBENA

# What cannot be served: said, not tried.
printf 'int main(void) { return 0; }\n' >static.c
if cc -static -o static static.c 2>/dev/null; then
	expect 126 exec ./static
	grep -q 'linked statically' err || fail "static: $(cat err)"
	printf '#!%s/static\n' "$work" >script
	chmod +x script
	expect 126 exec ./script
	grep -q 'linked statically' err || fail "a script for it: $(cat err)"
fi
cp "$(realpath /bin/true)" owned
if [ "$(id -u)" = 0 ] && chown nobody owned && chmod u+xs owned; then
	expect 126 exec ./owned
	grep -q setuid err || fail "setuid: $(cat err)"
fi
printf '#!/bin/sh\n' >sudo
chmod +x sudo
expect 126 exec ./sudo true
grep -q 'the other way round' err || fail "sudo: $(cat err)"
expect 126 exec env -i cat /dev/null
grep -q 'env -i verbena exec' err || fail "env -i: $(cat err)"
for words in "-u LD_PRELOAD" "-vu LD_PRELOAD" "--unset=LD_PRELOAD" "-" "-0i" "A=1 LD_PRELOAD=/x"; do
	# shellcheck disable=SC2086
	expect 126 exec env $words cat /dev/null
done
expect 0 exec env A=1 cat -u /dev/null
for words in "A=i" "-u A" "-uLD"; do
	# shellcheck disable=SC2086
	expect 0 exec env $words cat /dev/null
done
cc -o dynamic static.c
python3 - <<'END_OF_PYTHON'
data = open("dynamic", "rb").read()
at = data.index(b"/lib")
end = data.index(b"\0", at)
open("musl", "wb").write(data[:at] + b"/lib/ld-musl-x86_64.so.1".ljust(end - at, b"\0") + data[end:])
END_OF_PYTHON
chmod +x musl
expect 126 exec ./musl
grep -q 'another C library (musl)' err || fail "musl: $(cat err)"
# Of a DT_RPATH it is said, and it runs.
mkdir own
touch own/libibverbs.so
cc -Wl,--disable-new-dtags,-rpath,"\$ORIGIN/own" -o rpath static.c
expect 0 exec ./rpath
grep -q 'rpath: its DT_RPATH ./own has a libibverbs.so' err || fail "DT_RPATH: $(cat err)"
rm own/libibverbs.so
expect 0 exec ./rpath
[ ! -s err ] || fail "a DT_RPATH with nothing of ours: $(cat err)"
printf 'no program' >text
expect 126 exec ./text
[ -s err ] || fail "a file that may not be run: no word"

# Nothing is left; of one that was killed the next one gets rid.
[ -z "$(ls tmp)" ] || fail "left: $(ls tmp)"
"$verbena" exec -- sleep 30 >/dev/null 2>&1 &
for _ in $(seq 100); do
	[ -z "$(ls tmp)" ] || break
	sleep 0.05
done
of_the_killed=$(ls tmp)
[ -n "$of_the_killed" ] || fail "no folder while a command runs"
expect 0 exec -- true
[ "$(ls tmp)" = "$of_the_killed" ] || fail "the folder of a running command went"
for _ in $(seq 100); do
	child=$(ps -o pid= --ppid $! | tr -d ' ')
	[ -z "$child" ] || break
	sleep 0.05
done
kill -KILL $!
wait $! 2>/dev/null || true
kill "$child"
expect 0 exec -- true
[ -z "$(ls tmp)" ] || fail "of a killed one is left: $(ls tmp)"

# Many at once: none takes the folder of another that is about to begin for one that was left.
for _ in $(seq 8); do
	for i in 1 2 3 4 5 6; do
		"$verbena" exec --host "r$i" -- true 2>>err.$i &
	done
	wait
done
cat err.? >err
[ ! -s err ] || fail "verbena exec, six at once"
