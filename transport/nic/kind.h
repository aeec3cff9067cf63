/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_KIND_H
#define NIC_KIND_H

/* What a device is: its limits, its rate and what it says of itself. One is our own ("generic"),
 * which there is with memory windows of type 2A, too ("generic2a"); the others have the limits of
 * adapters in hardware, under the names of their profiles in models/profiles, so that a program
 * that counts on more than one of these has finds out. They have our vendor id and part numbers of
 * our own: libraries that know a maker's would look for its registers. How long things take, and
 * what is sent again after a loss, is not in here. */
#include "transport/nic/nic.h"

struct nic_kind {
	const char *name;
	const char *summary; /* a line, for people */
	const char *fw_ver, *board_id;
	const char *rate; /* as the kernel has it in a file of the port: "100 Gb/sec (4X EDR)" */
	uint64_t rate_bps;
	uint32_t part_id;
	uint32_t qp_max, cq_max, mr_max, pd_max, srq_max;
	uint32_t wr_max, sge_max, cqe_max, inline_max, rd_atomic_max;
	bool mw_is_2a; /* as in struct hca_profile */
};

/* NULL: no more. The first is "generic". */
const struct nic_kind *nic_kind_at(uint32_t i);
const struct nic_kind *nic_kind_find(const char *name); /* NULL: none such */
/* That of params->kind; NULL there: the first. */
const struct nic_kind *nic_kind(const struct nic_params *params);

#endif
