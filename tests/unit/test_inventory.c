/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines from XML of NCCL and hwloc: which parts and lanes come of which elements, by texts that
 * are written down here, and what is refused, each in one line with the line of the file. */
#include "tests/test.h"

#include "models/inventory/inventory.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_text(const char *text, struct inventory *ret_inventory, struct bad_list *errors)
{
	const struct bad_at at = {.file = "x.xml", .line = 1};

	return inventory_read(text, strlen(text), &at, ret_inventory, errors);
}

static const char *const kinds[] = {"socket", "switch", "nic", "gpu", "nvswitch"};
static const char *const lane_kinds[] = {"pcie", "upi", "xgmi", "nvlink"};

/* "cpu0 gpu0@addr; cpu0-gpu0 pcie 3x16; ..." */
static void assert_inside(const char *text, const char *expected)
{
	struct inventory inventory;
	struct bad_list errors = {0};
	char said[4096] = "";
	size_t at = 0;

	if (read_text(text, &inventory, &errors) != 0)
		fail_msg("%s", errors.lines[0].text);
	for (uint32_t i = 0; i < inventory.part_count; i++) {
		const struct inventory_part *part = &inventory.parts[i];

		assert_memory_equal(part->name,
				    part->kind == INVENTORY_SOCKET     ? "cpu"
				    : part->kind == INVENTORY_SWITCH   ? "sw"
				    : part->kind == INVENTORY_NVSWITCH ? "nvsw"
								       : kinds[part->kind],
				    2);
		at += (size_t)snprintf(said + at, sizeof(said) - at, "%s%s%s ", part->name,
				       part->address[0] ? "@" : "", part->address);
		if (part->memory_bytes)
			at += (size_t)snprintf(said + at, sizeof(said) - at, "%lluMiB ",
					       (unsigned long long)part->memory_bytes >> 20);
	}
	for (uint32_t i = 0; i < inventory.lane_count; i++) {
		const struct inventory_lane *lane = &inventory.lanes[i];

		at += (size_t)snprintf(said + at, sizeof(said) - at, "; %s-%s %s %ux%u",
				       inventory.parts[lane->a].name, inventory.parts[lane->b].name,
				       lane_kinds[lane->kind], lane->gen,
				       lane->kind == INVENTORY_NVLINK ? lane->links : lane->width);
		if (lane->rate_bps)
			at += (size_t)snprintf(said + at, sizeof(said) - at, " %lluG",
					       (unsigned long long)(lane->rate_bps / 1000000000));
	}
	snprintf(said + at, sizeof(said) - at, "; %u", inventory.unsaid);
	assert_string_equal(said, expected);
	inventory_fini(&inventory);
}

static void assert_refused(const char *text, const char *expected)
{
	struct inventory inventory = {.part_count = 7};
	struct bad_list errors = {0};

	assert_int_equal(read_text(text, &inventory, &errors), -EINVAL);
	assert_int_equal(inventory.part_count, 7);
	assert_int_equal(errors.count, 1);
	assert_string_equal(errors.lines[0].text, expected);
	bad_list_fini(&errors);
}

/* ---- NCCL ---- */

/* Two sockets of Sapphire Rapids: 22 GB/s of payload, of which 64 of 80 bytes are: 220 Gb/s. GPUs
 * by their dev. A bridge without a device below it is left away, and so are other devices. */
static const char nccl[] =
	"<system version=\"1\">\n"
	"  <cpu numaid=\"1\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
	"modelid=\"143\">\n"
	"    <pci busid=\"0000:9A:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
	"link_width=\"16\">\n"
	"      <pci busid=\"0000:9b:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" "
	"link_width=\"8\">\n"
	"        <gpu dev=\"1\" sm=\"90\" rank=\"1\" gdr=\"1\">\n"
	"          <nvlink target=\"0000:1b:00.0\" count=\"3\" tclass=\"0x030200\"/>\n"
	"          <nvlink target=\"0000:05:00.0\" count=\"5\" tclass=\"0x068000\"/>\n"
	"        </gpu>\n"
	"      </pci>\n"
	"      <pci busid=\"0000:9c:00.0\" class=\"0x020000\" link_speed=\"8.0 GT/s PCIe\" "
	"link_width=\"4\"><nic><net name=\"mlx5_1\" dev=\"0\"/></nic></pci>\n"
	"    </pci>\n"
	"    <pci busid=\"0000:a0:00.0\" class=\"0x060400\"/>\n"
	"    <pci busid=\"0000:05:00.0\" class=\"0x068000\"/>\n"
	"  </cpu>\n"
	"  <cpu numaid=\"0\">\n"
	"    <pci busid=\"0000:1b:00.0\" class=\"0x030200\" link_speed=\"Unknown\" "
	"link_width=\"0\">\n"
	"      <gpu dev=\"0\" sm=\"90\">\n"
	"        <nvlink target=\"0000:9b:00.0\" count=\"3\" tclass=\"0x030200\"/>\n"
	"        <nvlink target=\"0000:05:00.0\" count=\"4\" tclass=\"0x068000\"/>\n"
	"      </gpu>\n"
	"    </pci>\n"
	"  </cpu>\n"
	"</system>\n";

static void a_topology_of_nccl(void **state)
{
	(void)state;
	assert_inside(nccl,
		      "cpu1 sw0@0000:9a:00.0 gpu1@0000:9b:00.0 nic0@0000:9c:00.0 cpu0 "
		      "gpu0@0000:1b:00.0 nvsw0@0000:05:00.0 ; "
		      "cpu1-sw0 pcie 5x16; sw0-gpu1 pcie 4x8; sw0-nic0 pcie 3x4; "
		      "cpu1-cpu0 upi 0x0 220G; cpu0-gpu0 pcie 0x0; "
		      "gpu1-gpu0 nvlink 4x3; gpu1-nvsw0 nvlink 4x5; gpu0-nvsw0 nvlink 4x4; 3");
}

/* By class where it is written by hand; a bridge inside of a GPU of AMD counts as its link. xGMI of
 * MI300: 64 GB/s a link. */
static void a_topology_of_nccl_for_amd(void **state)
{
	(void)state;
	assert_inside("<system>\n<cpu numaid=\"-1\" vendor=\"AuthenticAMD\" familyid=\"143\">\n"
		      "<pci busid=\"a:0.0\" class=\"0x060400\" vendor=\"0x1022\" "
		      "link_speed=\"16.0 GT/s PCIe\" link_width=\"8\">\n"
		      "<pci busid=\"0:a:0.0\" class=\"0x120000\" vendor=\"0x1002\" "
		      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
		      "<gpu sm=\"304\" gcn=\"gfx942\"><xgmi target=\"0:b:0.0\" count=\"2\"/></gpu>"
		      "</pci></pci>\n"
		      "<pci busid=\"0:b:0.0\" class=\"0x120000\"/>\n"
		      "<pci busid=\"0:c:0.0\" class=\"0x020700\"/>\n"
		      "<nic><net name=\"eth0\"/></nic>\n</cpu></system>\n",
		      "cpu0 gpu0@0:a:0.0 gpu1@0:b:0.0 nic0@0:c:0.0 nic1 ; cpu0-gpu0 pcie 4x8; "
		      "cpu0-gpu1 pcie 0x0; cpu0-nic0 pcie 0x0; cpu0-nic1 pcie 0x0; "
		      "gpu0-gpu1 xgmi 0x0 1024G; 3");
}

static void generations_go_by_what_is_said(void **state)
{
	static const struct {
		const char *speed;
		unsigned gen;
	} speeds[] = {{"2.5 GT/s PCIe", 1},
		      {"5.0 GT/s PCIe", 2},
		      {"8 GT/s", 3},
		      {"16.0 GT/s PCIe", 4},
		      {"32.0 GT/s PCIe", 5},
		      {"64.0 GT/s PCIe", 6},
		      {"128.0 GT/s", 7},
		      {"25 GT/s", 0},
		      {"", 0},
		      {"3", 0}};
	static const struct {
		const char *sm;
		unsigned gen;
	} sms[] = {{"60", 1}, {"70", 2}, {"80", 3}, {"86", 3}, {"90", 4}, {"100", 5}, {"37", 0}};
	char text[512], expected[256];

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		snprintf(text, sizeof(text),
			 "<system><cpu numaid=\"0\"><pci class=\"0x0207\" link_speed=\"%s\" "
			 "link_width=\"16\"/></cpu></system>",
			 speeds[i].speed);
		snprintf(expected, sizeof(expected), "cpu0 nic0 ; cpu0-nic0 pcie %ux16; %d",
			 speeds[i].gen, speeds[i].gen == 0);
		assert_inside(text, expected);
	}
	for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++) {
		snprintf(text, sizeof(text),
			 "<system><cpu numaid=\"0\"><nic/><pci busid=\"0:1:0.0\"><gpu sm=\"%s\">"
			 "<nvlink target=\"f:f:f\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>"
			 "</cpu></system>",
			 sms[i].sm);
		snprintf(expected, sizeof(expected),
			 "cpu0 nic0 gpu0@0:1:0.0 nvsw0@f:f:f ; cpu0-nic0 pcie 0x0; "
			 "cpu0-gpu0 pcie 0x0; gpu0-nvsw0 nvlink %ux18; %d",
			 sms[i].gen, 3 + 4 * (sms[i].gen == 0));
		assert_inside(text, expected);
	}
}

/* Numbers of the file are for all devices of a kind, or for none of them. */
static void some_are_counted(void **state)
{
	(void)state;
	assert_inside("<system><cpu numaid=\"0\"><nic/>"
		      "<pci busid=\"0:1:0.0\"><gpu dev=\"1\"/></pci>"
		      "<pci busid=\"0:2:0.0\"><gpu/></pci></cpu></system>",
		      "cpu0 nic0 gpu0@0:1:0.0 gpu1@0:2:0.0 ; cpu0-nic0 pcie 0x0; "
		      "cpu0-gpu0 pcie 0x0; cpu0-gpu1 pcie 0x0; 3");
}

/* ---- hwloc ---- */

/* A port of the root with a switch of two ports down, one with a second switch behind it; another
 * port of the root with a GPU by itself; and, of no account, what serves the console and the
 * network of a server. Links: 31.5 GB/s is 4 x16, 15.75 3 x16, 7.88 3 x8 and 3.94 3 x4. */
static const char hwloc2[] = "<?xml version=\"1.0\"?>\n"
			     "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
			     "<topology version=\"2.0\">\n"
			     "<object type=\"Machine\" os_index=\"0\">\n"
			     "<object type=\"Package\" os_index=\"0\">\n"
			     "<info name=\"CPUVendor\" value=\"AuthenticAMD\"/>\n"
			     "<object type=\"NUMANode\" os_index=\"0\"></object>\n"
			     "<object type=\"Bridge\" bridge_type=\"0-1\">\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"31.5\">\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"31.507692\">\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"31.5\">\n"
			     "<object type=\"PCIDev\" pci_busid=\"0000:12:00.0\" pci_type=\"0302 "
			     "[10de:20b0]\" pci_link_speed=\"31.507692\">\n"
			     "</object></object>\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"15.75\">\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:13:00.0\" pci_link_speed=\"15.753846\">\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"7.88\">\n"
			     "<object type=\"PCIDev\" pci_busid=\"0000:14:00.0\" pci_type=\"0200 "
			     "[15b3:1017]\" pci_link_speed=\"7.876923\">\n"
			     "<object type=\"OSDev\" name=\"mlx5_0\" osdev_type=\"3\">\n"
			     "</object></object></object></object></object></object></object>\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"3.94\">\n"
			     "<object type=\"PCIDev\" pci_busid=\"0000:15:00.0\" pci_type=\"0300 "
			     "[10de:1eb8]\" pci_link_speed=\"3.938462\">\n"
			     "<object type=\"OSDev\" name=\"cuda0\" osdev_type=\"5\">\n"
			     "<info name=\"CUDAGlobalMemorySize\" value=\"15724416\"/>\n"
			     "</object></object></object>\n"
			     "<object type=\"Bridge\" bridge_type=\"1-1\" "
			     "pci_busid=\"0000:10:00.0\" pci_link_speed=\"0.25\">\n"
			     "<object type=\"PCIDev\" pci_busid=\"0000:16:00.0\" pci_type=\"0300 "
			     "[1a03:2000]\"></object>\n"
			     "<object type=\"PCIDev\" pci_busid=\"0000:17:00.0\" pci_type=\"0200 "
			     "[8086:1533]\"></object>\n"
			     "</object></object></object>\n"
			     "<object type=\"Package\" os_index=\"1\">\n"
			     "<object type=\"NUMANode\" os_index=\"1\"></object>\n"
			     "</object></object>\n"
			     "</topology>\n";

static void a_topology_of_hwloc(void **state)
{
	(void)state;
	/* 15724416 KiB are 15355 MiB and a half, cut off. AMD: 16 GB/s of 64 in 80 bytes. */
	assert_inside(hwloc2,
		      "cpu0 cpu1 sw0@0000:10:00.0 gpu0@0000:12:00.0 sw1@0000:13:00.0 "
		      "nic0@0000:14:00.0 gpu1@0000:15:00.0 15355MiB ; cpu0-cpu1 xgmi 0x0 160G; "
		      "cpu0-sw0 pcie 4x16; sw0-gpu0 pcie 4x16; sw0-sw1 pcie 3x16; "
		      "sw1-nic0 pcie 3x8; cpu0-gpu1 pcie 3x4; 2");
}

/* Of version 1: a NUMA node is around what it has, bandwidths by gp_index; no adapter, no vendor.
 */
static const char hwloc1[] =
	"<topology>\n"
	"<object type=\"Machine\" >\n"
	"<object type=\"NUMANode\" os_index=\"3\">\n"
	"<object type=\"Socket\" >\n"
	"<object type=\"Bridge\" bridge_type=\"0-1\">\n"
	"<object type=\"PCIDev\" gp_index=\"7\" pci_busid=\"0:1:0.0\" pci_type=\"0302 "
	"[10de:15f9]\"></object>\n"
	"<object type=\"PCIDev\" gp_index=\"8\" pci_busid=\"0:2:0.0\" pci_type=\"0302 "
	"[10de:15f9]\">\n"
	"<object type=\"OSDev\" gp_index=\"9\" osdev_type=\"1\"></object></object>\n"
	"</object></object></object>\n"
	"<distances2hetero nbobjs=\"3\" name=\"NVLinkBandwidth\">\n"
	"<indexes>PCIDev:7 OSDev:9 </indexes><indexes>Package:1</indexes>\n"
	"<u64values>1000000 40000 20000 </u64values>\n"
	"<u64values>40000 1000000 0 20000 0 1000000 </u64values>\n"
	"</distances2hetero></object></topology>\n";

static void a_topology_of_old_hwloc(void **state)
{
	(void)state;
	assert_inside(hwloc1, "cpu3 gpu0@0:1:0.0 gpu1@0:2:0.0 nic0 ; cpu3-gpu0 pcie 0x0; "
			      "cpu3-gpu1 pcie 0x0; cpu3-nic0 pcie 0x0; gpu0-gpu1 nvlink 1x2; 11");
}

/* From version 3 on types are bits: 16 is a network, 32 OpenFabrics, and a device may be both. */
static void a_topology_of_new_hwloc(void **state)
{
	(void)state;
	assert_inside("<topology version=\"3.0\"><object type=\"Machine\">"
		      "<object type=\"PCIDev\" pci_busid=\"0:1:0.0\" pci_type=\"0200\">"
		      "<object type=\"OSDev\" osdev_type=\"16\"/></object>"
		      "<object type=\"PCIDev\" pci_busid=\"0:2:0.0\" pci_type=\"0200\">"
		      "<object type=\"OSDev\" osdev_type=\"48\"/></object>"
		      "<object type=\"PCIDev\" pci_busid=\"0:3:0.0\" pci_type=\"0200\">"
		      "<object type=\"OSDev\" osdev_type=\"32\"/></object>"
		      "<object type=\"PCIDev\" pci_busid=\"0:4:0.0\" pci_type=\"0200\">"
		      "<object type=\"OSDev\" osdev_type=\"3\"/></object>"
		      "</object></topology>",
		      "cpu0 nic0@0:2:0.0 nic1@0:3:0.0 ; cpu0-nic0 pcie 0x0; cpu0-nic1 pcie 0x0; "
		      "1");
}

/* Four GPUs with 12 links of 25 GB/s to each of three others would be 36. */
static void many_links_are_those_of_a_switch(void **state)
{
	char text[2048] = "<topology><object type=\"Machine\">\n";
	size_t at = strlen(text);

	(void)state;
	for (int i = 1; i <= 4; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "<object type=\"PCIDev\" gp_index=\"%d\" "
				       "pci_busid=\"0:%d:0.0\" pci_type=\"0302 [10de:20b0]\"/>",
				       i, i);
	at += (size_t)snprintf(
		text + at, sizeof(text) - at,
		"<object type=\"PCIDev\" pci_busid=\"0:9:0.0\" pci_type=\"0207\"/></object>"
		"<distances2 name=\"NVLinkBandwidth\"><indexes>1 2 3 4</indexes>"
		"<u64values>");
	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%d ",
				       i % 5 == 0 ? 1000000 : 300000);
	snprintf(text + at, sizeof(text) - at, "</u64values></distances2></topology>");
	assert_inside(text, "cpu0 gpu0@0:1:0.0 gpu1@0:2:0.0 gpu2@0:3:0.0 gpu3@0:4:0.0 "
			    "nic0@0:9:0.0 nvsw0 ; cpu0-gpu0 pcie 0x0; cpu0-gpu1 pcie 0x0; "
			    "cpu0-gpu2 pcie 0x0; cpu0-gpu3 pcie 0x0; cpu0-nic0 pcie 0x0; "
			    "gpu0-nvsw0 nvlink 0x12; gpu1-nvsw0 nvlink 0x12; "
			    "gpu2-nvsw0 nvlink 0x12; gpu3-nvsw0 nvlink 0x12; 7");
}

/* ---- what is bad ---- */

#define CPU "<system>\n<cpu numaid=\"0\">\n"
#define CPU_END "</cpu></system>\n"
#define GPU(link) CPU "<pci busid=\"0:1:0.0\"><gpu sm=\"90\">\n" link "</gpu></pci>" CPU_END

static void bad_files_are_refused(void **state)
{
	(void)state;
	assert_refused("",
		       "x.xml:1: document: found nothing, expected XML of at most 16777216 bytes");
	assert_refused("<a>\n<b></a>",
		       "x.xml:2: document: found Opening and ending tag mismatch: b "
		       "line 2 and a, expected XML");
	assert_refused("system", "x.xml:1: document: found Start tag expected, '<' not found, "
				 "expected XML");
	assert_refused("<algo/>", "x.xml:1: document: found <algo>, expected <system> of NCCL or "
				  "<topology> of hwloc");
	assert_refused("<topology/>", "x.xml:1: topology: found no object of type NUMANode or "
				      "Machine, expected what lstopo writes as XML");
	assert_refused("<system/>", "x.xml:1: devices: found none, expected a GPU or an adapter at "
				    "least");
	assert_refused("<system>\n<cpu numaid=\"256\"/></system>",
		       "x.xml:2: cpu.numaid: found \"256\", expected a number, -1 to 255");
	assert_refused("<system>\n<cpu numaid=\"0x\"/></system>",
		       "x.xml:2: cpu.numaid: found \"0x\", expected a number, -1 to 255");
	assert_refused(CPU "<nic/>" CPU_END "<cpu/>",
		       "x.xml:4: document: found Extra content at the "
		       "end of the document, expected XML");
	assert_refused("<system><cpu numaid=\"3\"><nic/></cpu>\n<cpu numaid=\"3\"/></system>",
		       "x.xml:2: cpu: found NUMA node 3 a second time, expected each once");
	assert_refused(
		"<system><cpu host_hash=\"a\"/>\n<cpu host_hash=\"b\"/></system>",
		"x.xml:2: cpu.host_hash: found a second host, expected one machine in a file");
	assert_refused(CPU "<pci class=\"0x02\" busid=\"0000:zz:00.0\"/>" CPU_END,
		       "x.xml:3: pci.busid: found \"0000:zz:00.0\", expected a PCI address such as "
		       "0000:1b:00.0");
	assert_refused(CPU "<pci class=\"0x02\" link_width=\"-1\"/>" CPU_END,
		       "x.xml:3: pci.link_width: found \"-1\", expected a number, 0 to 255");
	assert_refused(CPU "<pci class=\"0x02\" busid=\"0:1:0.0\"/>\n"
			   "<pci class=\"0x03\" busid=\"0:1:0.0\"/>" CPU_END,
		       "x.xml:4: address: found 0:1:0.0 a second time, expected each device once");
	assert_refused(GPU("<nvlink target=\"0:2:0.0\" count=\"1\"/>"),
		       "x.xml:4: target: found \"0:2:0.0\", expected the address of a GPU of this "
		       "file");
	assert_refused(GPU("<nvlink count=\"1\"/>"),
		       "x.xml:4: target: found nothing, expected the address of a GPU");
	assert_refused(GPU("<nvlink target=\"0:2:0.0\" count=\"19\"/>"),
		       "x.xml:4: nvlink.count: found \"19\", expected a number, 1 to 18");
	assert_refused(
		"<topology><object type=\"Machine\">\n<object type=\"PCIDev\" pci_type=\"0302\" "
		"pci_busid=\"0:1:0.0\"><object type=\"OSDev\"><info "
		"name=\"CUDAGlobalMemorySize\" value=\"16GiB\"/></object></object></object>"
		"</topology>",
		"x.xml:2: CUDAGlobalMemorySize: found no such size, expected KiB, at most "
		"1073741824");
	assert_refused(
		"<topology><object type=\"Machine\"/>\n\n"
		"<distances2 name=\"XGMIBandwidth\"><indexes>1 2</indexes><u64values>1 2 3"
		"</u64values></distances2></topology>",
		"x.xml:3: distances2: found 3 values between 2 objects, expected a square, of "
		"at most 64 objects");
}

/* @before, @count times @inside, and @after, for free(). */
static char *repeated(const char *before, size_t count, const char *inside, const char *after)
{
	const size_t length = strlen(inside);
	char *text = malloc(strlen(before) + count * length + strlen(after) + 1);
	char *at;

	assert_non_null(text);
	at = stpcpy(text, before);
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, inside);
	strcpy(at, after);
	return text;
}

static void refuse_repeated(const char *before, size_t count, const char *inside, const char *after,
			    const char *expected)
{
	char *text = repeated(before, count, inside, after);

	assert_refused(text, expected);
	free(text);
}

/* Nothing that a file asks for is fetched, opened or made many. */
static void files_have_bounds(void **state)
{
	(void)state;
	refuse_repeated("", 65, "<a>", "",
			"x.xml:1: document: found elements inside of each other without end, "
			"expected at most 64 deep");
	refuse_repeated("<a>", 200000, "<b/>", "</a>",
			"x.xml:1: document: found too many elements and attributes, expected at "
			"most 200000");
	refuse_repeated("<system><cpu numaid=\"0\">", 256, "<pci class=\"0x02\"/>\n", CPU_END,
			"x.xml:256: parts: found too many, expected at most 256 sockets, switches "
			"and devices");
	refuse_repeated("<system><cpu numaid=\"0\">", 5000, "<pci class=\"0x0604\"/>\n", CPU_END,
			"x.xml:4096: devices: found too many, expected at most 4096");
	refuse_repeated("", (16 << 20) + 1, "<", "",
			"x.xml:1: document: found 16777217 bytes, expected XML of at most 16777216 "
			"bytes");
	assert_refused("<!DOCTYPE a [\n<!ENTITY b \"c\">]><system>&b;</system>",
		       "x.xml:2: document: found an entity, expected a text that declares none");
	assert_refused("<!DOCTYPE a [<!ENTITY b SYSTEM \"/etc/passwd\">]><system>&b;</system>",
		       "x.xml:1: document: found an entity, expected a text that declares none");
	assert_refused("<!DOCTYPE a [<!ENTITY % b SYSTEM \"http://127.0.0.1/\">%b;]><system/>",
		       "x.xml:1: document: found an entity, expected a text that declares none");
}

static void it_lives_without_memory(void **state)
{
	static const char *const texts[] = {nccl, hwloc2, hwloc1};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		unsigned allocations = 0;
		int ret;

		do {
			struct inventory inventory;
			struct bad_list errors = {0};

			util_alloc_fail_after(++allocations);
			ret = read_text(texts[i], &inventory, &errors);
			util_alloc_fail_after(0);
			if (ret == 0)
				inventory_fini(&inventory);
			else
				assert_int_equal(ret, -ENOMEM);
			bad_list_fini(&errors);
		} while (ret);
		assert_true(allocations > 20);
	}
}

RUN(T(a_topology_of_nccl), T(a_topology_of_nccl_for_amd), T(generations_go_by_what_is_said),
    T(a_topology_of_hwloc), T(a_topology_of_old_hwloc), T(a_topology_of_new_hwloc),
    T(some_are_counted), T(many_links_are_those_of_a_switch), T(bad_files_are_refused),
    T(files_have_bounds), T(it_lives_without_memory))
