/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/mapped.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A kernel pins what is registered, and says EFAULT where it cannot. Here nothing is pinned.
 *
 * Large buffers are not touched, since they may be far larger than what is ever used of them: the
 * list of mappings says what is there, in the order of addresses. It is long where a process is
 * full of programs, each with its buffers; so a small buffer that is to be written is written at
 * once, nothing into each page, and it is the kernel that does it and says whether it could. */

enum { LIST_BUFFER = 1 << 16, SMALL_BYTES = 4 << 20 };

/* Or -ENOSYS: it could not be found out. */
static int mapped_touch(uint64_t addr, uint64_t length)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint32_t nobody = 0; /* waits here */

	for (uint64_t at = addr / page * page; at - addr / page * page < length + addr % page;
	     at += page) {
		/* *at |= 0, and nobody is to be woken */
		const long ret = syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0,
					 NULL, (void *)(uintptr_t)at,
					 FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0x800));
		if (ret < 0)
			return errno == EFAULT ? -EFAULT : -ENOSYS;
	}
	return 0;
}

/* One line of the list: "start-end rwxp ..." */
static bool mapped_parse(const char *line, uint64_t *ret_start, uint64_t *ret_end,
			 const char **ret_rights)
{
	char *end;

	*ret_start = strtoull(line, &end, 16);
	if (*end != '-')
		return false;
	*ret_end = strtoull(end + 1, &end, 16);
	*ret_rights = end + 1;
	return *end == ' ' && end[1] != '\0';
}

static int mapped_search(FILE *list, uint64_t addr, uint64_t length, bool writes)
{
	const uint64_t last = addr + (length - 1);
	char *line = NULL;
	size_t room = 0;
	int ret = -EFAULT;

	while (getline(&line, &room, list) > 0) {
		uint64_t start, end;
		const char *rights;

		if (!mapped_parse(line, &start, &end, &rights) || end - 1 < addr)
			continue;
		if (start > addr || rights[0] != 'r' || (writes && rights[1] != 'w'))
			break;
		if (end - 1 >= last) {
			ret = 0;
			break;
		}
		addr = end;
	}
	free(line);
	return ret;
}

int vrb_mapped_check(uint64_t addr, uint64_t length, bool writes)
{
	FILE *list;
	int ret;

	if (length == 0)
		return 0;
	ret = writes && length <= SMALL_BYTES ? mapped_touch(addr, length) : -ENOSYS;
	if (ret != -ENOSYS)
		return ret;
	list = fopen("/proc/self/maps", "re");
	if (!list)
		return 0;
	setvbuf(list, NULL, _IOFBF, LIST_BUFFER);
	ret = mapped_search(list, addr, length, writes);
	fclose(list);
	return ret;
}
