/* SPDX-License-Identifier: BSD-2-Clause */
/* The boards of other processes. */
#include "transport/nic/board.h"
#include "transport/nic/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	ANSWERS_MS = 100, /* a process that runs answers within that */
	TRIES = 100,	  /* at a board that is being written */
};

struct walk {
	nic_board_fn *each;
	void *owner;
	ino_t *seen; /* one memfd may be a file of several processes */
	size_t seen_count, seen_room;
};

/* Somebody at the door has the counts told; what is handed out there falls to the ground. */
static void knock(const struct nic_board *board)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const size_t length = strnlen(board->door, sizeof(board->door) - 1);
	struct pollfd wait = {.events = POLLIN};
	uint32_t version;
	int fd;

	if (length == 0)
		return;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path + 1, board->door, length);
	wait.fd = fd;
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
	    poll(&wait, 1, ANSWERS_MS) == 1)
		(void)!recv(fd, &version, sizeof(version), 0);
	close(fd);
}

static bool read_board(int fd, struct nic_board *ret_board)
{
	const off_t at = offsetof(struct nic_board, round);

	for (int i = 0; i < TRIES; i++) {
		uint32_t round;

		if (pread(fd, ret_board, sizeof(*ret_board), 0) != (ssize_t)sizeof(*ret_board) ||
		    pread(fd, &round, sizeof(round), at) != (ssize_t)sizeof(round) ||
		    ret_board->magic != NIC_BOARD_MAGIC)
			return false;
		if (round % 2 == 0 && round == ret_board->round)
			break; /* else it was being written, or its writer ended in the middle */
	}
	ret_board->device[sizeof(ret_board->device) - 1] = '\0';
	ret_board->command[sizeof(ret_board->command) - 1] = '\0';
	ret_board->profile[sizeof(ret_board->profile) - 1] = '\0';
	ret_board->host[sizeof(ret_board->host) - 1] = '\0';
	if (ret_board->gid_count > NIC_GID_MAX)
		ret_board->gid_count = NIC_GID_MAX;
	return true;
}

/* Whether that is the first time; where there is no memory it always is. */
static bool is_new(struct walk *walk, ino_t inode)
{
	for (size_t i = 0; i < walk->seen_count; i++)
		if (walk->seen[i] == inode)
			return false;
	if (walk->seen_count == walk->seen_room) {
		const size_t room = walk->seen_room ? walk->seen_room * 2 : 16;
		ino_t *seen = realloc(walk->seen, room * sizeof(*seen));

		if (!seen)
			return true;
		walk->seen = seen;
		walk->seen_room = room;
	}
	walk->seen[walk->seen_count++] = inode;
	return true;
}

static void look_at(struct walk *walk, const char *path, int pid)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct nic_board board;
	struct stat found;

	if (fd < 0)
		return;
	if (fstat(fd, &found) == 0 && found.st_size == sizeof(board) &&
	    is_new(walk, found.st_ino) && read_board(fd, &board)) {
		knock(&board);
		if (read_board(fd, &board))
			walk->each(walk->owner, &board, pid);
	}
	close(fd);
}

static void look_into(struct walk *walk, const char *process)
{
	static const char wanted[] = "/memfd:" NIC_BOARD_NAME;
	char path[PATH_MAX], target[sizeof(wanted)];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", process);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/fd/%s", process, entry->d_name);
		if (readlink(path, target, sizeof(target)) >= (ssize_t)sizeof(wanted) - 1 &&
		    memcmp(target, wanted, sizeof(wanted) - 1) == 0)
			look_at(walk, path, atoi(process));
	}
	if (dir)
		closedir(dir);
}

int nic_board_each(nic_board_fn *each, void *owner)
{
	struct walk walk = {.each = each, .owner = owner};
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		char path[PATH_MAX];
		struct stat found;

		snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &found) == 0 &&
		    found.st_uid == geteuid())
			look_into(&walk, entry->d_name);
	}
	closedir(dir);
	free(walk.seen);
	return 0;
}
