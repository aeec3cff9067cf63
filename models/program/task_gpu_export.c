/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu.h"

#include "gpu/cuda/backend.h"
#include "gpu/device/team.h"
#include "util/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory of GPUs that programs in virtual time have exported, as dma-bufs and for other programs. A
 * descriptor is a file in
 * memory without a byte, as large as the range. It is locked through the program's descriptions of
 * it: as long as one is open somewhere, we find it locked, whoever has copied it. */

struct task_gpu_export {
	struct task_gpu_export *next;
	struct gpu_shared of;
	bool is_dmabuf; /* or for other programs */
	int fd;		/* of our own */
};

static int lock_description(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

static bool is_in_use(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* A file and two descriptions of it: 0, or a negative errno. */
static int open_export(const char *name, uint64_t bytes, int *ret_own, int *ret_theirs)
{
	char path[32];

	*ret_theirs = -1;
	*ret_own = memfd_create(name, MFD_CLOEXEC);
	if (*ret_own < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", *ret_own);
	if (ftruncate(*ret_own, (off_t)bytes) == 0)
		*ret_theirs = open(path, O_RDWR | O_CLOEXEC);
	if (*ret_theirs >= 0 && lock_description(*ret_theirs, F_WRLCK) == 0)
		return 0;
	close(*ret_own);
	if (*ret_theirs >= 0)
		close(*ret_theirs);
	return -ENODEV;
}

/* What @shared is stays as long as it is exported. */
static int hold(const struct gpu_shared *shared)
{
	if (!shared->team)
		return gpu_memory_hold(&shared->gpu->memory, shared->address, shared->bytes);
	shared->team->users++;
	return 0;
}

int task_gpu_export(struct task_gpu_export **exports, const struct gpu_shared *shared,
		    bool is_dmabuf, int *ret_fd)
{
	struct task_gpu_export *own = util_calloc(1, sizeof(*own));
	int ret = own ? open_export(is_dmabuf ? "nv_dmabuf" : "nvidiactl", shared->bytes, &own->fd,
				    ret_fd)
		      : -ENOMEM;

	if (ret == 0) {
		ret = hold(shared);
		if (ret < 0) {
			close(*ret_fd);
			close(own->fd);
		}
	}
	if (ret < 0) {
		util_free(own);
		return ret;
	}
	own->of = *shared;
	own->is_dmabuf = is_dmabuf;
	own->next = *exports;
	*exports = own;
	return 0;
}

static void end_first(struct task_gpu_export **at)
{
	struct task_gpu_export *own = *at;

	*at = own->next;
	if (own->of.team)
		gpu_team_put(own->of.team);
	else
		gpu_memory_let_go(&own->of.gpu->memory, own->of.address, own->of.bytes);
	close(own->fd);
	util_free(own);
}

void task_gpu_exports_collect(struct task_gpu_export **exports)
{
	while (*exports) {
		if (is_in_use((*exports)->fd))
			exports = &(*exports)->next;
		else
			end_first(exports);
	}
}

void task_gpu_exports_end(struct task_gpu_export **exports)
{
	while (*exports) {
		if ((*exports)->is_dmabuf)
			end_first(exports);
		else
			exports = &(*exports)->next;
	}
}

void task_gpu_exports_fini(struct task_gpu_export **exports)
{
	while (*exports)
		end_first(exports);
}

/* NULL: none of that kind is behind @fd. */
static const struct task_gpu_export *find_export(const struct task_gpu_export *exports, int fd,
						 bool is_dmabuf)
{
	struct stat theirs, ours;

	if (fstat(fd, &theirs) != 0)
		return NULL;
	for (; exports; exports = exports->next)
		if (exports->is_dmabuf == is_dmabuf && fstat(exports->fd, &ours) == 0 &&
		    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
			return exports;
	return NULL;
}

bool task_gpu_exports_find_shared(const struct task_gpu_export *exports, int fd,
				  struct gpu_shared *ret_shared)
{
	const struct task_gpu_export *found = find_export(exports, fd, false);

	if (found)
		*ret_shared = found->of;
	return found;
}

int task_gpu_exports_find(const struct task_gpu_export *exports, int fd, uint64_t offset,
			  uint64_t length, uint64_t *ret_address)
{
	const struct task_gpu_export *found = find_export(exports, fd, true);

	if (!found)
		return -ENOENT;
	if (length == 0 || offset > found->of.bytes || length > found->of.bytes - offset)
		return -EINVAL;
	*ret_address = found->of.address + offset;
	return 0;
}
