/* SPDX-License-Identifier: BSD-2-Clause */
#undef _FILE_OFFSET_BITS /* or open() would be open64() */
#include "transport/dropin/counter.h"

#include "transport/dropin/cdev.h"
#include "transport/nic/counters.h"
#include "transport/nic/ucma.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE "/infiniband/verbena"

bool counter_is(const char *path, int flags, struct counter *ret_counter)
{
	const char *at = strncmp(path, "/sys/", 5) == 0 ? strstr(path, DEVICE) : NULL;
	const char *name;
	bool is_hw;

	if (!at || (flags & O_ACCMODE) != O_RDONLY || !paths_tree())
		return false;
	at += sizeof(DEVICE) - 1;
	ret_counter->device = (uint32_t)(*at - '0');
	if (ret_counter->device >= NIC_DEVICES_MAX || strncmp(at + 1, "/ports/1/", 9) != 0)
		return false;
	name = at + 10;
	is_hw = strncmp(name, "hw_", 3) == 0;
	name += is_hw ? 3 : 0;
	if (strncmp(name, "counters/", 9) != 0)
		return false;
	ret_counter->number = nic_counter_find(name + 9, is_hw);
	return ret_counter->number < NIC_COUNTER_COUNT;
}

/* What this process has counted, if it has an adapter, is in there as well. */
static void publish(void)
{
	typedef const struct nic_ucma *fn(void);
	void *found = dlsym(RTLD_DEFAULT, NIC_UCMA_SYMBOL);
	const struct nic_ucma *ops;
	fn *function;

	if (!found)
		return;
	memcpy(&function, &found, sizeof(found));
	ops = function();
	if (ops->bytes == sizeof(*ops))
		ops->publish();
}

/* The total that is at hand; false: there is none. */
static bool total_of(const struct counter *counter, uint64_t *ret_value)
{
	const off_t at =
		(off_t)((counter->device * NIC_COUNTER_COUNT + counter->number) * sizeof(uint64_t));
	char path[PATH_MAX];
	bool ok;
	int fd;

	if (snprintf(path, sizeof(path), "%s/" NIC_TOTALS, paths_tree()) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = pread(fd, ret_value, sizeof(*ret_value), at) == (ssize_t)sizeof(*ret_value);
	close(fd);
	return ok;
}

int counter_open(const struct counter *counter, int flags)
{
	uint64_t value;
	char text[32];
	int fd, length;

	publish();
	if (!total_of(counter, &value))
		return -1;
	length = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	fd = memfd_create("verbena-counter", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd < 0)
		return -1;
	if (pwrite(fd, text, (size_t)length, 0) == length && fchmod(fd, 0444) == 0)
		return fd;
	close(fd);
	return -1;
}
