/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HUGE_OF_PYVERBS = 16 };
#define MEMLOCK_FEW ((uint64_t)64 << 20)

static bool has_filter(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

void doctor_io_uring(struct doctor_row *row)
{
	struct io_uring_params params = {.flags = 0};
	const long fd = syscall(__NR_io_uring_setup, 4, &params);
	const int error = errno;
	char disabled[16];

	if (fd >= 0) {
		close((int)fd);
		doctor_found(row, DOCTOR_OK, "io_uring_setup() works");
		return;
	}
	doctor_read("/proc/sys/kernel/io_uring_disabled", disabled, sizeof(disabled));
	doctor_found(row, DOCTOR_NOTE, "io_uring_setup(): %s%s%s; epoll is in its place",
		     strerror(error), disabled[0] > '0' ? ", kernel.io_uring_disabled is " : "",
		     disabled[0] > '0' ? disabled : "");
	if (disabled[0] > '0')
		doctor_fix(row, "sysctl -w kernel.io_uring_disabled=0");
	else if (error == ENOSYS && !has_filter())
		doctor_fix(row, "a kernel from 5.1 on with CONFIG_IO_URING");
	else
		doctor_fix(row, "a container whose seccomp profile allows it, as \"--security-opt "
				"seccomp=unconfined\"");
}

void doctor_memfd(struct doctor_row *row)
{
	const int fd = memfd_create("verbena-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, 4096) == 0) {
		doctor_found(row, DOCTOR_OK, "memfd_create() with seals");
	} else {
		doctor_found(row, DOCTOR_NOTE,
			     "memfd_create(): %s: no counters, and no memory that processes share",
			     strerror(errno));
		doctor_fix(row, "a kernel from 3.17 on, and a sandbox that allows it");
	}
	if (fd >= 0)
		close(fd);
}

/* A child may read its parent where any process of the user may read another. */
static int read_parent(void)
{
	static const uint64_t there = 0x7662;
	uint64_t here = 0;
	struct iovec to = {.iov_base = &here, .iov_len = sizeof(here)};
	struct iovec from = {.iov_base = (void *)(uintptr_t)&there, .iov_len = sizeof(there)};
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(process_vm_readv(getppid(), &to, 1, &from, 1, 0) == sizeof(here) &&
				      here == there
			      ? 0
			      : errno);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

void doctor_process_memory(struct doctor_row *row)
{
	const int error = read_parent();
	char scope[16];

	if (error == 0) {
		doctor_found(row, DOCTOR_OK, "process_vm_readv() of another process works");
		return;
	}
	doctor_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	doctor_found(row, DOCTOR_NOTE, "process_vm_readv() of another process: %s%s%s",
		     strerror(error), scope[0] > '0' ? ", kernel.yama.ptrace_scope is " : "",
		     scope[0] > '0' ? scope : "");
	if (scope[0] > '0')
		doctor_fix(row, "sysctl -w kernel.yama.ptrace_scope=0");
	else
		doctor_fix(row, "a container with \"--cap-add SYS_PTRACE\", whose seccomp profile "
				"allows it");
}

void doctor_memlock(struct doctor_row *row)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
		doctor_found(row, DOCTOR_OK, "unlimited");
	} else if (limit.rlim_cur >= MEMLOCK_FEW) {
		doctor_found(row, DOCTOR_OK, "%" PRIu64 " KiB", (uint64_t)limit.rlim_cur / 1024);
	} else {
		doctor_found(row, DOCTOR_NOTE,
			     "%" PRIu64
			     " KiB may be locked: programs that call mlock() find little "
			     "(exec itself locks nothing)",
			     (uint64_t)limit.rlim_cur / 1024);
		doctor_fix(row, "\"ulimit -l unlimited\", or memlock in "
				"/etc/security/limits.conf; a container with \"--ulimit "
				"memlock=-1\"");
	}
}

/* "HugePages_Free:      16" */
static uint64_t free_huge_pages(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t pages = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "HugePages_Free: %" SCNu64, &pages) == 1)
			break;
	if (file)
		fclose(file);
	return pages;
}

void doctor_huge(struct doctor_row *row)
{
	const uint64_t pages = free_huge_pages();

	doctor_found(row, pages >= HUGE_OF_PYVERBS ? DOCTOR_OK : DOCTOR_NOTE, "%" PRIu64 " free%s",
		     pages,
		     pages >= HUGE_OF_PYVERBS
			     ? ""
			     : ": programs that ask for them (MAP_HUGETLB) get none, such as some "
			       "tests of pyverbs");
	if (pages < HUGE_OF_PYVERBS)
		doctor_fix(row, "sysctl -w vm.nr_hugepages=%d", HUGE_OF_PYVERBS);
}

void doctor_namespaces(struct doctor_row *row)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : errno);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		doctor_found(row, DOCTOR_OK,
			     "user and network namespaces: hosts may have networks "
			     "of their own");
		return;
	}
	doctor_found(row, DOCTOR_NOTE, "user namespaces: %s; exec needs none",
		     WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "no child");
	doctor_fix(row,
		   "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000 "
		   "(Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)");
}
