/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/through_wire.h"

#include "transport/wire/frame.h"
#include "util/check.h"

#include <string.h>

void packet_through_wire(const struct wire_path *sent, struct wire_pkt *pkt)
{
	uint8_t buf[WIRE_FRAME_MAX], *bytes = pkt->payload;
	struct wire_path seen;
	struct wire_pkt parsed;
	size_t len;

	len = wire_frame_emit(sent, pkt, buf, sizeof(buf));
	CHECK(len > 0);
	CHECK(wire_frame_parse_stamped(&seen, &parsed, buf, len) == WIRE_OK);
	CHECK(seen.ecn == sent->ecn && seen.ttl == sent->ttl);
	CHECK(seen.dscp == sent->dscp && seen.vlan == sent->vlan);
	parsed.synthetic = pkt->synthetic;
	if (pkt->synthetic) {
		uint8_t expected[WIRE_MTU_MAX];

		wire_pattern_bytes(pkt->pattern, expected, pkt->length);
		CHECK(memcmp(parsed.payload, expected, pkt->length) == 0);
		parsed.pattern = pkt->pattern;
	} else {
		if (parsed.length > 0)
			memcpy(bytes, parsed.payload, parsed.length);
		parsed.payload = bytes;
	}
	*pkt = parsed;
}
