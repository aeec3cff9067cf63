/* SPDX-License-Identifier: BSD-2-Clause */
/* What /sys and /dev show of two devices, file by file, as
 * Documentation/ABI/stable/sysfs-class-infiniband and sysfs-bus-pci of Linux have it. */
#include "transport/nic/sysfs.h"

#include "tests/unit/nic_test.h"
#include "transport/nic/kind.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT = 512 };

/* One line each: "> " and where a link leads to, or what a file says. "D" is the number of the
 * device, "S" that of its place on the bus, which is one more. */
struct row {
	const char *path, *says;
};

static const struct row of_all[] = {
	{"sys/class/infiniband_verbs/abi_version", "6"},
	{"sys/class/misc/rdma_cm/abi_version", "4"},
	{"dev/infiniband/rdma_cm", "> /dev/null"},
};

#define BUS "sys/devices/pci5645:00/5645:00:0S.0"
#define IB BUS "/infiniband/verbenaD"
#define PORT IB "/ports/1"

static const struct row of_each[] = {
	{"sys/bus/pci/devices/5645:00:0S.0", "> ../../../devices/pci5645:00/5645:00:0S.0"},
	{"sys/class/infiniband/verbenaD",
	 "> ../../devices/pci5645:00/5645:00:0S.0/infiniband/verbenaD"},
	{"sys/class/infiniband_verbs/uverbs-verbenaD",
	 "> ../../devices/pci5645:00/5645:00:0S.0/infiniband_verbs/uverbs-verbenaD"},
	{"dev/infiniband/uverbs-verbenaD", "> /dev/null"},
	{BUS "/infiniband_verbs/uverbs-verbenaD/ibdev", "verbenaD"},
	{BUS "/infiniband_verbs/uverbs-verbenaD/abi_version", "1"},
	{BUS "/infiniband_verbs/uverbs-verbenaD/device", "> ../../../5645:00:0S.0"},
	{BUS "/vendor", "0x5645"},
	{BUS "/device", "0x0001"},
	{BUS "/subsystem_vendor", "0x5645"},
	{BUS "/subsystem_device", "0x0001"},
	{BUS "/class", "0x020700"},
	{BUS "/numa_node", "-1"},
	{BUS "/local_cpus", "ffffffff,ffffffff"},
	{BUS "/local_cpulist", "0-63"},
	{BUS "/current_link_speed", "16.0 GT/s PCIe"},
	{BUS "/current_link_width", "16"},
	{BUS "/max_link_speed", "16.0 GT/s PCIe"},
	{BUS "/max_link_width", "16"},
	{BUS "/net/lo/address", "02:00:7f:01:02:0S"},
	{IB "/node_type", "1: CA"},
	{IB "/node_guid", "0000:7fff:fe01:020S"},
	{IB "/sys_image_guid", "0000:7fff:fe01:020S"},
	{IB "/node_desc", "verbenaD"},
	{IB "/fw_ver", "22.35.2000"},
	{IB "/hca_type", "verbena"},
	{IB "/board_id", "verbena-connectx6dx"},
	{IB "/device", "> ../../../5645:00:0S.0"},
	{PORT "/state", "4: ACTIVE"},
	{PORT "/phys_state", "5: LinkUp"},
	{PORT "/rate", "200 Gb/sec (4X HDR)"},
	{PORT "/link_layer", "Ethernet"},
	{PORT "/lid", "0x0"},
	{PORT "/lid_mask_count", "0"},
	{PORT "/sm_lid", "0x0"},
	{PORT "/sm_sl", "0"},
	{PORT "/cap_mask", "0x04010000"},
	{PORT "/pkeys/0", "0xffff"},
	{PORT "/gids/0", "fe80:0000:0000:0000:0000:7fff:fe01:020S"},
	{PORT "/gids/1", "0000:0000:0000:0000:0000:ffff:7f01:020S"},
	{PORT "/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000"},
	{PORT "/gids/15", "0000:0000:0000:0000:0000:0000:0000:0000"},
	{PORT "/gid_attrs/types/0", "RoCE v2"},
	{PORT "/gid_attrs/types/1", "RoCE v2"},
	{PORT "/gid_attrs/ndevs/0", "lo"},
	{PORT "/gid_attrs/ndevs/1", "lo"},
	{PORT "/counters/port_xmit_data", "0"},
	{PORT "/counters/port_rcv_packets", "0"},
	{PORT "/counters/VL15_dropped", "0"},
	{PORT "/hw_counters/lifespan", "1"},
	{PORT "/hw_counters/rx_write_requests", "0"},
	{PORT "/hw_counters/out_of_sequence", "0"},
	{PORT "/hw_counters/np_cnp_sent", "0"},
};

/* Of the same kinds as above: of 16 GIDs, of 21 counters of a port and of 25 of hardware. */
enum { UNNAMED = 16 - 4 + 21 - 3 + 25 - 3 };

static char root[] = "/tmp/nic_sysfs.XXXXXX";
static uint32_t files;

/* @text with the marks of device @device put in. */
static const char *marked(const char *text, unsigned device, char ret_text[TEXT])
{
	size_t i = 0;

	for (; text[i] != '\0'; i++) {
		const bool is_number = i > 0 && text[i - 1] == 'a' && text[i] == 'D';
		const bool is_place = text[i] == 'S' && (text[i - 1] == '0');

		assert_true(i + 1 < TEXT);
		ret_text[i] = is_number	 ? (char)('0' + device)
			      : is_place ? (char)('1' + device)
					 : text[i];
	}
	ret_text[i] = '\0';
	return ret_text;
}

/* What is there, as a row says it. */
static const char *said(const char *path, char ret_text[TEXT])
{
	char whole[2 * TEXT];
	ssize_t length;
	FILE *in;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	length = readlink(whole, ret_text + 2, TEXT - 3);
	if (length > 0) {
		memcpy(ret_text, "> ", 2);
		ret_text[length + 2] = '\0';
		return ret_text;
	}
	in = fopen(whole, "r");
	if (!in)
		return "nothing";
	length = (ssize_t)fread(ret_text, 1, TEXT - 1, in);
	fclose(in);
	if (length == 0 || ret_text[length - 1] != '\n')
		return "no line";
	ret_text[length - 1] = '\0';
	return ret_text;
}

static void assert_says(const struct row *row, unsigned device)
{
	char path[TEXT], want[TEXT], is[TEXT], both[2][3 * TEXT];

	marked(row->path, device, path);
	snprintf(both[0], sizeof(both[0]), "%s: %s", path, said(path, is));
	snprintf(both[1], sizeof(both[1]), "%s: %s", path, marked(row->says, device, want));
	assert_string_equal(both[0], both[1]);
}

static int count(const char *path, const struct stat *about, int kind, struct FTW *where)
{
	(void)path, (void)about, (void)where;
	files += kind == FTW_F || kind == FTW_SL;
	return 0;
}

static int take_away(const char *path, const struct stat *about, int kind, struct FTW *where)
{
	(void)about, (void)kind, (void)where;
	return remove(path);
}

static void every_file_says_what_a_kernel_does(void **state)
{
	const size_t each = sizeof(of_each) / sizeof(of_each[0]),
		     all = sizeof(of_all) / sizeof(of_all[0]);
	struct nic_params params;
	struct stat totals;
	char path[TEXT];
	const char *bad;

	(void)state;
	setenv("VERBENA_ADDR", "127.1.2.1,127.1.2.2", 1);
	setenv("VERBENA_PROFILE", "connectx6dx", 1);
	assert_int_equal(nic_params_from_env(&params, &bad), 0);
	assert_int_equal(nic_sysfs_write(&params, root), 0);
	for (size_t i = 0; i < all; i++)
		assert_says(&of_all[i], 0);
	for (unsigned device = 0; device < 2; device++)
		for (size_t i = 0; i < each; i++)
			assert_says(&of_each[i], device);
	/* Where all processes count: a word of 64 bits for each counter of each of eight devices.
	 */
	snprintf(path, sizeof(path), "%s/counters", root);
	assert_int_equal(stat(path, &totals), 0);
	assert_int_equal(totals.st_size, 8 * (21 + 25) * 8);
	assert_int_equal(totals.st_mode & 0777, 0600);
	assert_int_equal(nftw(root, count, 8, FTW_PHYS), 0);
	assert_int_equal(files, all + 1 + 2 * (each + UNNAMED));
	/* Only into an empty folder. */
	assert_int_equal(nic_sysfs_write(&params, root), -EEXIST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(every_file_says_what_a_kernel_does)};
	int ret;

	if (!mkdtemp(root)) {
		printf("no folder for temporary files\n");
		return 77;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	nftw(root, take_away, 8, FTW_PHYS | FTW_DEPTH);
	return ret;
}
