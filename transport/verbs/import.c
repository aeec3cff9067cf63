/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that a context shares with others which were imported from its file: the descriptor
 * cmd_fd, by whose inode a file is known, holds the process and the name of the device, and nothing
 * is read from it but by ibv_import_device(). Another process has another adapter: what it would
 * import is not there. */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_content {
	char magic[16];
	int64_t process;
	char device[IBV_SYSFS_NAME_MAX];
};
static const char file_magic[16] = "verbena context";

static uint64_t inode_of(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/* Nobody's commands go there. Without one (-1) nothing can be imported. */
void vrb_file_create(struct ibv_context *ibv)
{
	struct file_content content = {.process = getpid()};
	struct vrb_context *context = vrb_context(ibv);
	const int fd = memfd_create("verbena", MFD_CLOEXEC);

	memcpy(content.magic, file_magic, sizeof(content.magic));
	memcpy(content.device, ibv->device->name, sizeof(content.device));
	if (fd >= 0)
		(void)!pwrite(fd, &content, sizeof(content), 0);
	ibv->cmd_fd = fd;
	context->file = inode_of(fd);
}

static struct ibv_device *device_named(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (strncmp((*list)->name, name, IBV_SYSFS_NAME_MAX) == 0)
			return *list;
	return NULL;
}

static int import_check_file(int cmd_fd, struct file_content *ret_content)
{
	const ssize_t got = pread(cmd_fd, ret_content, sizeof(*ret_content), 0);

	if (got < 0 && errno == EBADF)
		return -EBADF;
	if (got != (ssize_t)sizeof(*ret_content) ||
	    memcmp(ret_content->magic, file_magic, sizeof(file_magic)) != 0)
		return -EOPNOTSUPP;
	if (ret_content->process == getpid())
		return 0;
	fprintf(stderr,
		"verbena: ibv_import_device(): process %lld has opened it: objects are imported "
		"within one process alone\n",
		(long long)ret_content->process);
	return -EOPNOTSUPP;
}

/* The descriptor is the new context's then. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list, *device;
	struct file_content content;
	int ret = import_check_file(cmd_fd, &content);

	if (ret < 0)
		return vrb_null(ret);
	list = ibv_get_device_list(NULL);
	if (!list)
		return NULL;
	device = device_named(list, content.device);
	context = device ? ibv_open_device(device) : vrb_null(-ENODEV);
	ibv_free_device_list(list);
	if (!context)
		return NULL;
	if (context->cmd_fd >= 0)
		close(context->cmd_fd);
	context->cmd_fd = cmd_fd;
	vrb_context(context)->file = inode_of(cmd_fd);
	return context;
}

static bool is_shared(struct ibv_context *context, struct ibv_context *owner)
{
	const uint64_t file = vrb_context(context)->file;

	return context == owner || (file != 0 && vrb_context(owner)->file == file);
}

/* What the program knows as @number, of this kind; NULL: the file of @context has none. */
static void *import_find(struct ibv_context *context, enum vrb_kind kind, uint32_t number)
{
	struct vrb_device *device = vrb_device(context);
	void *found = NULL;

	pthread_mutex_lock(&device->lock);
	for (uint32_t i = 0; i < device->objects.count && !found; i++) {
		void *object = vrb_table_at(&device->objects, i, kind);
		struct vrb_pd *pd = kind == VRB_PD ? object : NULL;
		struct vrb_mr *mr = kind == VRB_MR ? object : NULL;
		struct vrb_dm *dm = kind == VRB_DM ? object : NULL;

		if ((pd && pd->ibv.handle == number && is_shared(context, pd->ibv.context)) ||
		    (mr && mr->ibv.handle == number && is_shared(context, mr->ibv.context)) ||
		    (dm && dm->ibv.handle == number && is_shared(context, dm->ibv.context)))
			found = object;
	}
	pthread_mutex_unlock(&device->lock);
	return found;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	const struct vrb_pd *of = import_find(context, VRB_PD, pd_handle);
	struct vrb_pd *pd;

	if (!of)
		return vrb_null(-ENOENT);
	pd = vrb_calloc(1, sizeof(*pd));
	if (!pd)
		return vrb_null(-ENOMEM);
	pd->ibv.context = context;
	pd->ibv.handle = pd_handle;
	pd->handle = of->handle;
	pd->is_imported = true;
	pd->use_count = 1; /* the program's own */
	vrb_context_get(context);
	return &pd->ibv;
}

/* What was made in it may stay longer. */
void ibv_unimport_pd(struct ibv_pd *ibv)
{
	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv));
}

void vrb_pd_free_imported(struct vrb_pd *pd)
{
	struct ibv_context *context = pd->ibv.context;

	vrb_free(pd);
	vrb_context_put(context);
}

/* The address is another context's affair, as the manual of libibverbs has it: there is none. */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	const struct vrb_mr *of = import_find(pd->context, VRB_MR, mr_handle);
	struct vrb_mr *mr;

	if (!of)
		return vrb_null(-ENOENT);
	mr = vrb_calloc(1, sizeof(*mr));
	if (!mr)
		return vrb_null(-ENOMEM);
	*mr = (struct vrb_mr){.ibv = of->ibv, .handle = of->handle, .init = of->init};
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = NULL;
	vrb_context_get(pd->context);
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	return &mr->ibv;
}

void ibv_unimport_mr(struct ibv_mr *ibv)
{
	struct ibv_context *context = ibv->context;

	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	vrb_free(VRB_TO(vrb_mr, ibv, ibv));
	vrb_context_put(context);
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	const struct vrb_dm *of = import_find(context, VRB_DM, dm_handle);
	struct vrb_dm *dm;

	if (!of)
		return vrb_null(-ENOENT);
	dm = vrb_calloc(1, sizeof(*dm));
	if (!dm)
		return vrb_null(-ENOMEM);
	*dm = (struct vrb_dm){.ibv = of->ibv, .handle = of->handle};
	dm->ibv.context = context;
	vrb_context_get(context);
	return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *ibv)
{
	struct ibv_context *context = ibv->context;

	vrb_free(VRB_TO(vrb_dm, ibv, ibv));
	vrb_context_put(context);
}
