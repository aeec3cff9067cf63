/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/sysfs.h"

#include "transport/nic/counters.h"
#include "transport/nic/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In front of a name: the device's own folder on its bus, its own as an RDMA device, its port's. */
#define BUS "@bus"
#define IBDEV "@dev"
#define PORT "@port"
/* Below /sys/class/infiniband/NAME and its like: up to the root of /sys. */
#define UP "../.."

struct sysfs {
	const char *root;
	int error; /* the first one; then nothing more is done */
	const struct nic_params *params;
	char name[24], uverbs[40]; /* "verbena0" */
	char slot[24];		   /* "5645:00:01.0" */
};

/* The folders above @path, which is within the tree. */
static int make_folders(const char *root, char *path)
{
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		int ret;

		*slash = '\0';
		ret = mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
		*slash = '/';
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int place(const struct sysfs *to, const char *name, char ret_path[PATH_MAX])
{
	static const char *const marks[] = {BUS, IBDEV, PORT};
	char before[128] = "";

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const size_t length = strlen(marks[i]);

		if (strncmp(name, marks[i], length) != 0)
			continue;
		snprintf(before, sizeof(before), "/sys/devices/pci5645:00/%s%s%s%s", to->slot,
			 i > 0 ? "/infiniband/" : "", i > 0 ? to->name : "",
			 i > 1 ? "/ports/1" : "");
		name += length;
		break;
	}
	if (snprintf(ret_path, PATH_MAX, "%s%s%s", to->root, before, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	return make_folders(to->root, ret_path);
}

/* A file of one line. */
__attribute__((format(printf, 3, 4))) static void sysfs_file(struct sysfs *to, const char *name,
							     const char *format, ...)
{
	char path[PATH_MAX], text[512];
	va_list args;
	int fd, length;

	if (to->error == 0)
		to->error = place(to, name, path);
	if (to->error != 0)
		return;
	va_start(args, format);
	length = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	text[length++] = '\n';
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0 || write(fd, text, (size_t)length) != length)
		to->error = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
}

__attribute__((format(printf, 3, 4))) static void sysfs_link(struct sysfs *to, const char *name,
							     const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	va_list args;

	if (to->error == 0)
		to->error = place(to, name, path);
	va_start(args, format);
	vsnprintf(target, sizeof(target), format, args);
	va_end(args);
	if (to->error == 0 && symlink(target, path) != 0)
		to->error = -errno;
}

static void write_bus(struct sysfs *to, const struct nic_identity *id)
{
	char name[PATH_MAX];

	/* No maker has this number (PCI-SIG assigns them). */
	sysfs_file(to, BUS "/vendor", "0x5645");
	sysfs_file(to, BUS "/device", "0x0001");
	sysfs_file(to, BUS "/subsystem_vendor", "0x5645");
	sysfs_file(to, BUS "/subsystem_device", "0x0001");
	sysfs_file(to, BUS "/class", "0x020700"); /* InfiniBand controller */
	sysfs_file(to, BUS "/numa_node", "-1");
	sysfs_file(to, BUS "/local_cpus", "ffffffff,ffffffff");
	sysfs_file(to, BUS "/local_cpulist", "0-63");
	sysfs_file(to, BUS "/current_link_speed", "16.0 GT/s PCIe");
	sysfs_file(to, BUS "/current_link_width", "16");
	sysfs_file(to, BUS "/max_link_speed", "16.0 GT/s PCIe");
	sysfs_file(to, BUS "/max_link_width", "16");
	snprintf(name, sizeof(name), BUS "/net/lo/address");
	sysfs_file(to, name, "%02x:%02x:%02x:%02x:%02x:%02x", id->mac[0], id->mac[1], id->mac[2],
		   id->mac[3], id->mac[4], id->mac[5]);
	snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s", to->slot);
	sysfs_link(to, name, "../../../devices/pci5645:00/%s", to->slot);
}

static void write_guid(struct sysfs *to, const char *name, uint64_t guid)
{
	sysfs_file(to, name, "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		   (unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
		   (unsigned int)(guid & 0xffff));
}

static void write_device(struct sysfs *to, const struct nic_identity *id)
{
	char name[PATH_MAX];

	sysfs_file(to, IBDEV "/node_type", "1: CA");
	write_guid(to, IBDEV "/node_guid", id->guid);
	write_guid(to, IBDEV "/sys_image_guid", id->guid);
	sysfs_file(to, IBDEV "/node_desc", "%s", to->name);
	sysfs_file(to, IBDEV "/fw_ver", "%s", nic_kind(to->params)->fw_ver);
	sysfs_file(to, IBDEV "/hca_type", "verbena");
	sysfs_file(to, IBDEV "/board_id", "%s", nic_kind(to->params)->board_id);
	sysfs_link(to, IBDEV "/device", "../../../%s", to->slot);
	snprintf(name, sizeof(name), "/sys/class/infiniband/%s", to->name);
	sysfs_link(to, name, UP "/devices/pci5645:00/%s/infiniband/%s", to->slot, to->name);

	snprintf(name, sizeof(name), BUS "/infiniband_verbs/%s/ibdev", to->uverbs);
	sysfs_file(to, name, "%s", to->name);
	snprintf(name, sizeof(name), BUS "/infiniband_verbs/%s/abi_version", to->uverbs);
	sysfs_file(to, name, "1");
	snprintf(name, sizeof(name), BUS "/infiniband_verbs/%s/device", to->uverbs);
	sysfs_link(to, name, "../../../%s", to->slot);
	snprintf(name, sizeof(name), "/sys/class/infiniband_verbs/%s", to->uverbs);
	sysfs_link(to, name, UP "/devices/pci5645:00/%s/infiniband_verbs/%s", to->slot, to->uverbs);
	/* Who asks whether it may be opened finds a device; nobody has to. */
	snprintf(name, sizeof(name), "/dev/infiniband/%s", to->uverbs);
	sysfs_link(to, name, "/dev/null");
}

/* Of all devices together. */
static void write_class(struct sysfs *to)
{
	sysfs_file(to, "/sys/class/infiniband_verbs/abi_version", "6");
	/* rdma_cm is opened otherwise: transport/dropin/rdma_cm.c. */
	sysfs_link(to, "/dev/infiniband/rdma_cm", "/dev/null");
	sysfs_file(to, "/sys/class/misc/rdma_cm/abi_version", "4");
}

/* For who lists them; what they say is told otherwise: transport/dropin/counter.c. */
static void write_counter_files(struct sysfs *to)
{
	char name[PATH_MAX];

	for (uint32_t i = 0; i < NIC_COUNTER_COUNT; i++) {
		const struct nic_counter_name *counter = nic_counter_at(i);

		snprintf(name, sizeof(name), PORT "/%s/%s",
			 counter->is_hw ? "hw_counters" : "counters", counter->name);
		sysfs_file(to, name, "0");
	}
	/* In ms: how old a value may be. */
	sysfs_file(to, PORT "/hw_counters/lifespan", "1");
}

static void write_totals(struct sysfs *to)
{
	char path[PATH_MAX];
	int fd;

	if (to->error == 0)
		to->error = place(to, "/" NIC_TOTALS, path);
	if (to->error != 0)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct nic_totals)) != 0)
		to->error = -errno;
	if (fd >= 0)
		close(fd);
}

/* Places of the table that are empty hold zeros, and have no attributes. */
static void write_gids(struct sysfs *to, const struct nic_identity *id)
{
	static const uint8_t none[16];
	char name[PATH_MAX];

	for (uint32_t i = 0; i < NIC_GID_PLACES; i++) {
		const uint8_t *gid = i < id->gid_count ? id->gids[i] : none;
		char text[40];
		int at = 0;

		for (int k = 0; k < 16; k += 2)
			at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%02x%02x",
				       k > 0 ? ":" : "", gid[k], gid[k + 1]);
		snprintf(name, sizeof(name), PORT "/gids/%" PRIu32, i);
		sysfs_file(to, name, "%s", text);
		if (gid == none)
			continue;
		snprintf(name, sizeof(name), PORT "/gid_attrs/types/%" PRIu32, i);
		sysfs_file(to, name, "RoCE v2");
		snprintf(name, sizeof(name), PORT "/gid_attrs/ndevs/%" PRIu32, i);
		sysfs_file(to, name, "lo");
	}
}

static void write_port(struct sysfs *to)
{
	sysfs_file(to, PORT "/state", "4: ACTIVE");
	sysfs_file(to, PORT "/phys_state", "5: LinkUp");
	sysfs_file(to, PORT "/rate", "%s", nic_kind(to->params)->rate);
	sysfs_file(to, PORT "/link_layer", "Ethernet");
	sysfs_file(to, PORT "/lid", "0x0");
	sysfs_file(to, PORT "/lid_mask_count", "0");
	sysfs_file(to, PORT "/sm_lid", "0x0");
	sysfs_file(to, PORT "/sm_sl", "0");
	sysfs_file(to, PORT "/cap_mask", "0x04010000"); /* as ibv_query_port() */
	sysfs_file(to, PORT "/pkeys/0", "0xffff");
}

int nic_sysfs_write(const struct nic_params *params, const char *root)
{
	struct sysfs to = {.root = root};

	write_class(&to);
	write_totals(&to);
	for (uint32_t i = 0; i < params->device_count; i++) {
		struct nic_identity id;
		struct nic_params own;

		nic_params_of_device(params, i, &own);
		to.params = &own;
		snprintf(to.name, sizeof(to.name), "verbena%u", i);
		snprintf(to.uverbs, sizeof(to.uverbs), "uverbs-%s", to.name);
		snprintf(to.slot, sizeof(to.slot), "5645:00:%02x.0", i + 1);
		nic_identity(&own, &id);
		write_bus(&to, &id);
		write_device(&to, &id);
		write_gids(&to, &id);
		write_port(&to);
		write_counter_files(&to);
	}
	return to.error;
}
