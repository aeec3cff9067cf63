/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/lock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Who has locked the file, by the list of the kernel; 0: somebody. */
static unsigned holder_of(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned pid, found = 0;
	unsigned long long inode;
	struct stat stat_of;
	char line[256];

	if (fstat(fd, &stat_of) != 0)
		stat_of.st_ino = 0;
	while (locks && !found && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*u: FLOCK %*s %*s %u %*x:%*x:%llu ", &pid, &inode) == 2 &&
		    inode == stat_of.st_ino)
			found = pid;
	if (locks)
		fclose(locks);
	return found;
}

bool lock_take(int fd, unsigned *ret_pid)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return true;
	*ret_pid = holder_of(fd);
	return false;
}

void lock_give_back(int fd)
{
	flock(fd, LOCK_UN);
}
