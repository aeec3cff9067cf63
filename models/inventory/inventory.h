/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_INVENTORY_INVENTORY_H
#define MODELS_INVENTORY_INVENTORY_H

/* What is inside of a machine, as XML from other programs has it: topologies of NCCL (<system>,
 * from NCCL_TOPO_DUMP_FILE or for NCCL_TOPO_FILE) and of hwloc (<topology>, from lstopo; versions 1
 * to 3). Which of them a text is goes by its content.
 *
 * Parts are sockets (NUMA nodes, cpuN by the number of the node), PCIe switches (sw0 ...), adapters
 * (nic0 ...), GPUs (gpu0 ...) and NVSwitches (nvsw0 ...); the lanes between them make what
 * models/scenario/ takes as "machine". Of several sockets all others hang at the first. Where there
 * is no adapter, one is put at the first socket, since a host without any can do nothing. */
#include "models/input/bad.h"

enum inventory_kind {
	INVENTORY_SOCKET,
	INVENTORY_SWITCH,
	INVENTORY_NIC,
	INVENTORY_GPU,
	INVENTORY_NVSWITCH,
};

/* What a file may leave open, bits; what then holds is the caller's to choose. */
enum {
	INVENTORY_NO_LINK = 1,	  /* generation or width of a PCIe link; zero in lanes */
	INVENTORY_NO_MEMORY = 2,  /* of GPUs; zero */
	INVENTORY_NO_NVLINK = 4,  /* the generation of NVLink; zero */
	INVENTORY_NO_ADAPTER = 8, /* nic0 is not in the file */
};

enum {
	INVENTORY_NAME_MAX = 16,
	INVENTORY_ADDRESS_MAX = 24,
	INVENTORY_PARTS_MAX = 256,
	INVENTORY_LANES_MAX = 4096,
	INVENTORY_LINKS_MAX = 18, /* of NVLink, of a lane */
};

struct inventory_part {
	enum inventory_kind kind;
	char name[INVENTORY_NAME_MAX];
	char address[INVENTORY_ADDRESS_MAX]; /* PCI, lower case; "": none */
	uint32_t line;			     /* in the file */
	uint8_t numa;			     /* of a socket */
	uint64_t memory_bytes;		     /* of a GPU; 0: not said */
};

enum inventory_lane_kind {
	INVENTORY_PCIE,
	INVENTORY_UPI, /* and the like of other makers, between sockets */
	INVENTORY_XGMI,
	INVENTORY_NVLINK,
};

struct inventory_lane {
	enum inventory_lane_kind kind;
	uint32_t a, b; /* places of parts */
	uint32_t line;
	uint8_t gen, width; /* PCIe; gen of NVLink, too; 0: not said */
	uint8_t links;	    /* of NVLink */
	uint64_t rate_bps;  /* of the last three; 0: that of gen */
};

struct inventory {
	struct inventory_part *parts;
	struct inventory_lane *lanes;
	uint32_t part_count, lane_count;
	unsigned unsaid;
};

/* @at: the file and who named it. -EINVAL: in @errors, one line a mistake; -ENOMEM. */
int inventory_read(const char *bytes, size_t length, const struct bad_at *at,
		   struct inventory *ret_inventory, struct bad_list *errors);
void inventory_fini(struct inventory *inventory);

#endif
