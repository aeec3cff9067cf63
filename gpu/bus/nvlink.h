/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NVLINK_H
#define NVLINK_H

/* What the links of NVLink between two parts carry, and how long that takes: arithmetic only.
 *
 * What moves is cut into packets of 1 to 18 flits of 16 bytes: a header flit, one for the extension
 * of the address and one for byte enables where there are such, and up to 16 of data. Writes and
 * requests for reads go one way, responses the other: data of a read behind a header flit, and a
 * single flit for each packet of a write. (Public description of the first generation: Foley and
 * Danskin, "Ultra-Performance Pascal GPU and NVLink Interconnect", IEEE Micro 37(2), 2017.) */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	NVLINK_GENS = 5,
	NVLINK_LINKS_MAX = 18, /* of a GPU of generation 4 or 5 */
	NVLINK_FLIT_BYTES = 16,
	NVLINK_PAYLOAD_MAX = 256,
};

struct nvlink_link {
	uint64_t rate_bps;  /* of one link in one direction; > 0 */
	uint16_t payload;   /* of a packet at most: a multiple of 16 from 16 to 256 */
	uint8_t gen;	    /* 1 to 5: for people; the rate is what counts */
	uint8_t links;	    /* 1 to 18, side by side */
	bool has_extension; /* a flit for the address, of writes and requests */
	bool has_enables;   /* a flit of byte enables, of writes */
};

/* Of one link in one direction, generation 1 to 5. */
uint64_t nvlink_rate(uint8_t gen);
/* Whether there is such a link. */
bool nvlink_link_is_valid(const struct nvlink_link *link);

/* Bytes on the wire of one link: of writes of @bytes, of the requests that ask for them, and of the
 * responses that bring them, and of those that say that they are written. */
uint32_t nvlink_write_bytes(const struct nvlink_link *link, uint32_t bytes);
uint32_t nvlink_request_bytes(const struct nvlink_link *link, uint32_t bytes);
uint32_t nvlink_data_bytes(const struct nvlink_link *link, uint32_t bytes);
uint32_t nvlink_response_bytes(const struct nvlink_link *link, uint32_t bytes);

#endif
