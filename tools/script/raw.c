/* SPDX-License-Identifier: BSD-2-Clause */

/* What of a packet only its bytes have: version, pad, reserved bits, ICRC. A packet of the script
 * is made a frame, changed, and read again as one that came. */
#include "tools/script/script.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"

#include <string.h>

enum {
	RAW_IP_AT = WIRE_ETH_BYTES,
	RAW_BTH_AT = WIRE_ETH_BYTES + WIRE_IPV4_BYTES + WIRE_UDP_BYTES,
	/* Of the BTH (IBTA 9.2): the second byte is SE, MigReq, pad count (2), version (4); the
	 * fifth, behind FECN and BECN, and the ninth, behind AckReq, are reserved. */
	RAW_FLAGS_AT = 1,
	RAW_MIG = 0x40,
	RAW_PAD_SHIFT = 4,
	RAW_RESERVED_5 = 0x3f,
	RAW_RESERVED_9 = 0x7f,
};

static const struct wire_path raw_path = {
	.src_ip = {[10] = 0xff, 0xff, 10, 0, 0, 1},
	.dst_ip = {[10] = 0xff, 0xff, 10, 0, 0, 2},
	.udp_sport = 49152,
	.ttl = 64,
};

static void raw_icrc(uint8_t *frame, size_t icrc_at)
{
	uint32_t state = wire_icrc_ip_udp(frame + RAW_IP_AT);

	state = wire_icrc_bth(state, frame + RAW_BTH_AT);
	state = wire_icrc_add(state, frame + RAW_BTH_AT + WIRE_BTH_BYTES,
			      icrc_at - RAW_BTH_AT - WIRE_BTH_BYTES);
	wire_icrc_put(frame + icrc_at, wire_icrc_end(state));
}

size_t raw_frame(struct line *line, const struct wire_path *path, const struct wire_pkt *pkt,
		 uint8_t *room, size_t size, const char **ret_refused)
{
	const char *icrc = line_get(line, "icrc"), *version = line_get(line, "tver");
	const char *pad = line_get(line, "pad");
	const bool reserved = line_flag(line, "reserved"), mig = line_flag(line, "mig");
	uint8_t *flags = room + RAW_BTH_AT + RAW_FLAGS_AT;
	size_t bytes, icrc_at;

	*ret_refused = line_get(line, "refused");
	if (!icrc && !version && !pad && !reserved && !mig)
		return 0;
	if (!wire_op_find(pkt->opcode) || pkt->length > WIRE_MTU_MAX)
		line_bad(line, line->words[2], "a packet that can be made");
	bytes = wire_frame_emit(path, pkt, room, size);
	icrc_at = RAW_BTH_AT + wire_pkt_bytes(pkt) - WIRE_ICRC_BYTES;
	if (version)
		*flags = (uint8_t)((*flags & 0xf0) | line_number_to(line, "tver", 0, 15));
	if (pad)
		*flags = (uint8_t)((*flags & ~(3 << RAW_PAD_SHIFT)) |
				   line_number_to(line, "pad", 0, 3) << RAW_PAD_SHIFT);
	if (mig)
		*flags |= RAW_MIG;
	if (reserved) {
		room[RAW_BTH_AT + 4] |= RAW_RESERVED_5;
		room[RAW_BTH_AT + 8] |= RAW_RESERVED_9;
	}
	raw_icrc(room, icrc_at);
	if (icrc && strcmp(icrc, "bad") != 0)
		line_bad(line, icrc, "icrc=bad");
	room[icrc_at] ^= icrc ? 1 : 0;
	return bytes;
}

bool raw_change(struct line *line, struct wire_pkt *pkt, uint8_t *room, size_t size)
{
	struct wire_path path;
	enum wire_verdict verdict;
	const char *wanted;
	const size_t bytes = raw_frame(line, &raw_path, pkt, room, size, &wanted);

	if (bytes == 0)
		return true;
	verdict = wire_frame_parse(&path, pkt, room, bytes);
	if (strcmp(wire_verdict_name(verdict), wanted ? wanted : "ok") != 0)
		line_differs(line, wire_verdict_name(verdict), wanted ? wanted : "ok");
	return verdict == WIRE_OK;
}

void raw_check(struct line *line, const struct wire_pkt *pkt)
{
	uint8_t frame[WIRE_FRAME_MAX];
	const uint8_t *bth = frame + RAW_BTH_AT;
	const uint32_t pad = -(uint32_t)pkt->length & 3;
	const size_t bytes = wire_pkt_bytes(pkt) - WIRE_ICRC_BYTES;

	wire_frame_emit(&raw_path, pkt, frame, sizeof(frame));
	if ((bth[RAW_FLAGS_AT] & 0xf) != 0)
		line_differs(line, "another transport version", "version 0");
	if ((uint32_t)(bth[RAW_FLAGS_AT] >> RAW_PAD_SHIFT & 3) != pad)
		line_differs(line, "another pad count", "that of the payload");
	if (bth[4] & RAW_RESERVED_5 || bth[8] & RAW_RESERVED_9)
		line_differs(line, "reserved bits that are set", "none");
	for (uint32_t i = 1; i <= pad; i++)
		if (bth[bytes - i] != 0)
			line_differs(line, "pad that is not zero", "zeros");
}
