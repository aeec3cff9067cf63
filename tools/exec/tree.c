/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "verbena-exec-"
enum { OPEN_AT_ONCE = 16 };

static const char *temporary(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] == '/' ? folder : "/tmp";
}

static int remove_one(const char *path, const struct stat *stat_of, int type, struct FTW *ftw)
{
	(void)stat_of, (void)type, (void)ftw;
	(void)remove(path);
	return 0;
}

static void remove_all(const char *path)
{
	(void)nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

/* The folder itself is locked, by whoever made it, for as long as that process is there: nothing in
 * it could be, before it is made or while it is removed. */
static int open_lock(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* A tree of ours whose lock nobody holds. */
static void remove_stale(const char *path)
{
	struct stat stat_of;
	const int lock = open_lock(path);

	if (lock < 0)
		return;
	if (fstat(lock, &stat_of) == 0 && stat_of.st_uid == geteuid() &&
	    flock(lock, LOCK_EX | LOCK_NB) == 0)
		remove_all(path);
	close(lock);
}

static void sweep(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char path[PATH_MAX];

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(path))
			remove_stale(path);
	}
	if (dir)
		closedir(dir);
}

/* Somebody who sweeps may have come before the lock: -EAGAIN, and the folder is gone or going. */
static int take_lock(struct tree *tree)
{
	struct stat locked, there;

	tree->lock = open_lock(tree->path);
	if (tree->lock < 0)
		return tree->lock == -ENOENT ? -EAGAIN : tree->lock;
	if (flock(tree->lock, LOCK_EX | LOCK_NB) == 0 && fstat(tree->lock, &locked) == 0 &&
	    lstat(tree->path, &there) == 0 && there.st_ino == locked.st_ino &&
	    there.st_dev == locked.st_dev)
		return 0;
	close(tree->lock);
	tree->lock = -1;
	return -EAGAIN;
}

int tree_make(struct tree *ret_tree)
{
	const char *folder = temporary();
	int ret;

	*ret_tree = (struct tree){.lock = -1};
	sweep(folder);
	do {
		if (snprintf(ret_tree->path, PATH_MAX, "%s/" PREFIX "XXXXXX", folder) >= PATH_MAX) {
			ret_tree->path[0] = '\0';
			return -ENAMETOOLONG;
		}
		if (!mkdtemp(ret_tree->path)) {
			ret_tree->path[0] = '\0';
			return -errno;
		}
		ret = take_lock(ret_tree);
	} while (ret == -EAGAIN);
	return ret;
}

void tree_remove(struct tree *tree)
{
	if (tree->path[0])
		remove_all(tree->path);
	tree->path[0] = '\0';
	if (tree->lock >= 0)
		close(tree->lock);
	tree->lock = -1;
}
