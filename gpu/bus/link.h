/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUS_LINK_H
#define BUS_LINK_H

/* What a lane carries, and how long that takes, whatever kind of lane it is: the seam between the
 * traffic of a machine and the arithmetic of each kind. */
#include "gpu/bus/nvlink.h"
#include "gpu/bus/pcie.h"

enum bus_class { BUS_POSTED, BUS_NON_POSTED, BUS_COMPLETION, BUS_CLASSES };

enum bus_link_kind { BUS_PCIE, BUS_PLAIN, BUS_NVLINK };

/* Of which no more is known: between sockets (UPI, xGMI) or chips. What moves is cut into packets,
 * each of which takes more than its payload; a request for the payload of one takes the rest. */
struct bus_plain {
	uint64_t rate_bps; /* of a direction; > 0 */
	uint16_t payload;  /* of a packet at most: a multiple of 16, > 0 */
	uint16_t overhead; /* bytes of a packet beside its payload; > 0 */
};

struct bus_link {
	enum bus_link_kind kind;
	union {
		struct pcie_link pcie;
		struct bus_plain plain;
		struct nvlink_link nvlink;
	};
};

/* Whether there is such a link. */
bool bus_link_is_valid(const struct bus_link *link);
/* The largest payload of a packet, and the most that one request asks for. */
uint32_t bus_link_payload(const struct bus_link *link);
uint32_t bus_link_request(const struct bus_link *link);
/* Bytes on the wire (of NVLink: of one of its links) of what moves @bytes, or asks for them
 * (BUS_NON_POSTED). */
uint32_t bus_link_bytes(const struct bus_link *link, enum bus_class kind, uint32_t bytes);
/* How long one direction, of one link, is taken by so many bytes on the wire, rounded up. */
ps_t bus_link_time(const struct bus_link *link, uint64_t wire_bytes);

#endif
