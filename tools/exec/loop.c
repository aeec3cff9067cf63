/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/loop.h"

#include "tools/command.h"

#include <errno.h>
#include <string.h>

int loop_check_word(const char *word)
{
	if (!word || strcmp(word, "auto") == 0 || strcmp(word, "io_uring") == 0 ||
	    strcmp(word, "epoll") == 0)
		return COMMAND_DONE;
	command_say("exec: --loop: found \"%s\", expected auto, io_uring or epoll", word);
	return COMMAND_BAD;
}

/* What stands in the way most often. */
static const char *reason_against(int error)
{
	switch (error) {
	case ENOSYS:
		return "it takes liburing in this build and Linux 6.0";
	case EPERM:
	case EACCES:
		return "a seccomp filter, as containers have one, or the sysctl "
		       "kernel.io_uring_disabled forbids it";
	case ENOMEM:
		return "no memory, or more than may be locked (ulimit -l)";
	default:
		return strerror(error);
	}
}

int loop_check(enum nic_loop_kind loop)
{
	const int ret = nic_loop_check(loop);

	if (ret == 0)
		return COMMAND_DONE;
	command_say("exec: --loop, VERBENA_LOOP: found io_uring, which cannot be had here: %s; "
		    "expected epoll or auto",
		    reason_against(-ret));
	return COMMAND_BAD;
}
