/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts that outlive the process that counted. */
#include "transport/nic/impair.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct nic_impair_board *nic_impair_map(const char *folder, bool is_there)
{
	char path[PATH_MAX];
	struct stat found;
	void *board = MAP_FAILED;
	int fd;

	if (snprintf(path, sizeof(path), "%s/impair", folder) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_there ? 0 : O_CREAT | O_EXCL), 0600);
	if (fd < 0)
		return NULL;
	/* A page that the file lacks would be a SIGBUS. */
	if ((is_there || ftruncate(fd, sizeof(struct nic_impair_board)) == 0) &&
	    fstat(fd, &found) == 0 && found.st_size == sizeof(struct nic_impair_board))
		board = mmap(NULL, sizeof(struct nic_impair_board), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	close(fd);
	return board == MAP_FAILED ? NULL : board;
}

void nic_impair_unmap(struct nic_impair_board *board)
{
	if (board)
		munmap(board, sizeof(*board));
}
