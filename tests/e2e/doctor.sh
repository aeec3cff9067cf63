#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena doctor: what is there is found, what is taken away is missed, and what exec could not serve is told.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE TMPDIR

state_of() { # NAME: of the row, in "out"
	awk -v name="$1" '$2 == name { print $1 }' out
}
is() { # NAME STATE [WORDS]: in the row, or in the fix below it
	[ "$(state_of "$1")" = "$2" ] || fail "$1: $(state_of "$1"), expected $2: $(cat out)"
	[ $# -lt 3 ] || grep -A 1 -E "^[a-z]+ +$1 " out | grep -qF -- "$3" || fail "$1: no \"$3\": $(cat out)"
}

expect 0 doctor
for row in drop-in preload files udp group unix; do
	is $row ok
done
[ "$(tail -n 1 out)" = "verbena exec can run here" ] || fail "the last line: $(tail -n 1 out)"
# Each row that is less than it could be says what helps, and no other number of them is there in JSON.
awk '$1 == "no" || $1 == "note" { want = NR + 1; if ((getline line) <= 0 || line !~ / fix: /) exit 1 }' out ||
	fail "a row without a fix: $(cat out)"
grep -cE '^(ok|note|no) ' out >rows
expect 0 doctor --json
holds out "r['can_run'] and len(r['checks']) == $(cat rows) and {c['state'] for c in r['checks']} <= {'ok', 'note'}"
holds out "all(c['fix'] for c in r['checks'] if c['state'] != 'ok') and sum(c['needed'] for c in r['checks']) == 6"

# What is taken away.
TMPDIR=/nowhere expect 1 doctor
is files no "TMPDIR=DIR"
is preload no
[ "$(tail -n 1 out)" = "verbena exec cannot run here" ] || fail "the last line: $(tail -n 1 out)"
TMPDIR=/nowhere expect 1 doctor --json
holds out "not r['can_run'] and [c['name'] for c in r['checks'] if c['state'] == 'no'] == ['preload', 'files']"
if prlimit --memlock=65536 true 2>/dev/null; then
	prlimit --memlock=65536 "$verbena" doctor >out 2>err || fail "with little memory to lock: exit $?"
	is memlock note "64 KiB may be locked"
fi
if unshare -rn true 2>/dev/null; then
	status=0
	unshare -rn "$verbena" doctor >out 2>err || status=$?
	[ "$status" = 1 ] || fail "without a network: exit $status"
	is udp no "ip link set lo up"
fi
# A filter as containers have it.
cat >filtered.c <<'END_OF_C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define REFUSE(number)                                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
int main(int argc, char **argv)
{
	struct sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
					REFUSE(__NR_io_uring_setup), REFUSE(__NR_process_vm_readv),
					REFUSE(__NR_memfd_create), REFUSE(__NR_unshare),
					BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]), .filter = program};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return 77;
	execv(argv[1], argv + 1);
	return argc;
}
END_OF_C
cc -o filtered filtered.c || fail "cc"
status=0
./filtered "$verbena" doctor >out 2>err || status=$?
[ "$status" = 0 ] || fail "under a filter: exit $status: $(cat out)"
is io_uring note "seccomp=unconfined"
is process_vm note "cap-add SYS_PTRACE"
is memfd note
is userns note

# Commands.
expect 0 doctor -- cat
is command ok "/cat"
expect 1 doctor -- no-such-command
is command no "No such file"
printf '#!/bin/sh\n' >sudo
chmod +x sudo
expect 1 doctor -- ./sudo true
is command no "sudo verbena exec"
expect 1 doctor -- env -i cat
is command no "the other way round"
expect 0 doctor -- env A=1 cat -i
is command ok
printf 'int main(void) { return 0; }\n' >one.c
if cc -static -o static one.c 2>/dev/null; then
	expect 1 doctor -- ./static
	is command no "linked statically"
	is command no "link it dynamically"
fi
cc -o dynamic one.c
python3 - <<'END'
data = open("dynamic", "rb").read()
at = data.index(b"/lib")
end = data.index(b"\0", at)
new = b"/lib/ld-musl-x86_64.so.1"
assert end - at >= len(new), data[at:end]
open("musl", "wb").write(data[:at] + new.ljust(end - at, b"\0") + data[end:])
END
chmod +x musl
expect 1 doctor -- ./musl
is command no "musl"
cp dynamic owned
if [ "$(id -u)" = 0 ] && chown nobody owned && chmod u+xs owned; then
	expect 1 doctor -- ./owned
	is command no setuid
	is command no "a copy of it without these rights"
fi
mkdir own
ln -s /nowhere/libibverbs.so own/libibverbs.so
cc -Wl,--disable-new-dtags,-rpath,"\$ORIGIN/own" -o rpath one.c
expect 0 doctor -- ./rpath
is command ok # nothing is behind that name
touch own/there && ln -sf there own/libibverbs.so
expect 0 doctor -- ./rpath
is command note "own has a libibverbs.so"
cc -Wl,--enable-new-dtags,-rpath,"\$ORIGIN/own" -o runpath one.c
expect 0 doctor -- ./runpath
is command ok
expect 2 doctor --nonsense
