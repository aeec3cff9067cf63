/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/pfc.h"

#include "transport/wire/eth.h"
#include "transport/wire/internal.h"

/* Behind the Ethernet header: 0-1 operation, then PFC: 2-3 class-enable vector | 4-19 timers of
 * priorities 0 to 7; PAUSE: 2-3 timer. */
enum { OPERATION_PAUSE = 0x0001, OPERATION_PFC = 0x0101 };

static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

size_t wire_pfc_emit(const struct wire_pfc *pfc, uint8_t *buf, size_t len)
{
	struct wire_eth eth = {.type = WIRE_ETHERTYPE_MAC_CONTROL};
	uint8_t *p;

	if (len < WIRE_PFC_BYTES)
		return 0;
	memset(buf, 0, WIRE_PFC_BYTES);
	memcpy(eth.dst_mac, group, 6);
	memcpy(eth.src_mac, pfc->src_mac, 6);
	p = buf + wire_eth_emit(&eth, buf);
	if (pfc->whole_link) {
		put16(p, OPERATION_PAUSE);
		put16(p + 2, pfc->quanta[0]);
		return WIRE_PFC_BYTES;
	}
	put16(p, OPERATION_PFC);
	put16(p + 2, pfc->enabled);
	for (int i = 0; i < 8; i++)
		put16(p + 4 + 2 * i, pfc->enabled >> i & 1 ? pfc->quanta[i] : 0);
	return WIRE_PFC_BYTES;
}

bool wire_pfc_parse(struct wire_pfc *pfc, const uint8_t *buf, size_t len)
{
	struct wire_pfc out = {0};
	struct wire_eth eth;
	const uint8_t *p = buf + wire_eth_parse(&eth, buf, len);

	if (len < WIRE_PFC_BYTES || eth.type != WIRE_ETHERTYPE_MAC_CONTROL || eth.vlan != 0)
		return false;
	for (int i = 0; i < 6; i++)
		if (eth.dst_mac[i] != group[i])
			return false;
	if (get16(p) != OPERATION_PAUSE && get16(p) != OPERATION_PFC)
		return false;
	memcpy(out.src_mac, eth.src_mac, 6);
	out.whole_link = get16(p) == OPERATION_PAUSE;
	out.enabled = out.whole_link ? 0xff : p[3];
	for (int i = 0; i < 8; i++)
		if (out.enabled >> i & 1)
			out.quanta[i] = get16(out.whole_link ? p + 2 : p + 4 + 2 * i);
	*pfc = out;
	return true;
}
