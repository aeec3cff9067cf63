/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* Memory of the device: pieces that are given out, and that regions lie in. In this process it is
 * memory like any other, so that the bytes are reached as the program's are. */

struct hca_dm {
	struct hca_list node;
	uint64_t length;
	uint32_t use_count; /* regions */
	uint8_t *bytes;	    /* in @room, aligned */
	uint8_t room[];
};

int hca_dm_create(struct hca_device *dev, uint64_t length, uint32_t log_align,
		  struct hca_dm **ret_dm)
{
	struct hca_dm *dm;
	uintptr_t align;

	if (length == 0 || log_align > HCA_DM_LOG_ALIGN_MAX)
		return -EINVAL;
	if (length > HCA_DM_BYTES - dev->dm_bytes)
		return -ENOMEM;
	align = (uintptr_t)1 << log_align;
	if (align < 8) /* atomics */
		align = 8;
	dm = util_calloc(1, sizeof(*dm) + length + align);
	if (!dm)
		return -ENOMEM;
	dm->length = length;
	dm->bytes = dm->room + (align - (uintptr_t)dm->room % align) % align;
	dev->dm_bytes += length;
	hca_list_add_tail(&dev->dm_list, &dm->node);
	*ret_dm = dm;
	return 0;
}

static void dm_free(struct hca_device *dev, struct hca_dm *dm)
{
	hca_list_remove(&dm->node);
	dev->dm_bytes -= dm->length;
	util_free(dm);
}

int hca_dm_destroy(struct hca_device *dev, struct hca_dm *dm)
{
	if (dm->use_count)
		return -EBUSY;
	dm_free(dev, dm);
	return 0;
}

void hca_dm_destroy_all(struct hca_device *dev)
{
	while (!hca_list_is_empty(&dev->dm_list))
		dm_free(dev, container_of(dev->dm_list.next, struct hca_dm, node));
}

bool hca_dm_has(const struct hca_dm *dm, uint64_t offset, uint64_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

static int dm_check(const struct hca_dm *dm, uint64_t offset, uint64_t length)
{
	if (!hca_dm_has(dm, offset, length))
		return -EFAULT;
	return offset % 4 != 0 || length % 4 != 0 ? -EINVAL : 0;
}

int hca_dm_write(struct hca_dm *dm, uint64_t offset, const void *bytes, uint64_t length)
{
	int ret = dm_check(dm, offset, length);

	if (ret == 0 && length > 0)
		memcpy(dm->bytes + offset, bytes, length);
	return ret;
}

int hca_dm_read(const struct hca_dm *dm, uint64_t offset, void *ret_bytes, uint64_t length)
{
	int ret = dm_check(dm, offset, length);

	if (ret == 0 && length > 0)
		memcpy(ret_bytes, dm->bytes + offset, length);
	return ret;
}

void hca_dm_get(struct hca_dm *dm, struct hca_mr *mr)
{
	mr->dm = dm;
	mr->address += (uintptr_t)dm->bytes;
	dm->use_count++;
}

void hca_dm_put(struct hca_dm *dm)
{
	dm->use_count--;
}
