/* SPDX-License-Identifier: BSD-2-Clause */
/* forbid_uring COMMAND [ARGUMENT...]: runs it as most containers do, where the system calls of
 * io_uring are refused. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	/* Their three numbers follow each other, and are the same on all machines that we know. */
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, __NR_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, __NR_io_uring_register, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]),
				       .filter = program};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) {
		perror("forbid_uring");
		return 77;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "forbid_uring: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
