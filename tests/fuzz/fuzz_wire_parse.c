/* SPDX-License-Identifier: BSD-2-Clause */
/* Every parser of transport/wire over any bytes. The first byte chooses the parser; what it accepts
 * has to lie within the input, and once emitted, to be accepted again with the same values. */
#include "transport/wire/arp.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"
#include "transport/wire/pfc.h"
#include "util/check.h"

#include <string.h>

enum { FRAME, FRAME_WITH_ICRC, UDP, BTH, NEIGH, PFC, PARSERS };
enum { INPUT_MAX = 5000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_pkt(const struct wire_pkt *a, const struct wire_pkt *b)
{
	CHECK(a->opcode == b->opcode && a->length == b->length);
	CHECK(a->dest_qpn == b->dest_qpn && a->psn == b->psn && a->word == b->word);
	CHECK(a->va == b->va && a->rkey == b->rkey && a->dma_length == b->dma_length);
	CHECK(a->solicited == b->solicited && a->ack_req == b->ack_req);
	CHECK(a->fecn == b->fecn && a->becn == b->becn);
	CHECK(a->length == 0 || memcmp(a->payload, b->payload, a->length) == 0);
	CHECK(a->has_rare == b->has_rare);
	if (!a->has_rare)
		return;
	CHECK(a->rare.pkey == b->rare.pkey && a->rare.mig_req == b->rare.mig_req);
	CHECK(a->rare.swap_add == b->rare.swap_add && a->rare.compare == b->rare.compare);
	CHECK(a->rare.qkey == b->rare.qkey && a->rare.src_qpn == b->rare.src_qpn);
	CHECK(a->rare.ee_context == b->rare.ee_context && a->rare.xrc_srqn == b->rare.xrc_srqn);
	CHECK(a->rare.has_int == b->rare.has_int);
	if (!a->rare.has_int)
		return;
	CHECK(a->rare.hop_count == b->rare.hop_count && a->rare.hop_count <= WIRE_INT_HOPS);
	CHECK(memcmp(a->rare.hops, b->rare.hops, a->rare.hop_count * sizeof(a->rare.hops[0])) == 0);
}

/* But for the priority: a tag of priority and network 0 is not made again. */
static void same_path(const struct wire_path *a, const struct wire_path *b)
{
	CHECK(memcmp(a->src_ip, b->src_ip, 16) == 0 && memcmp(a->dst_ip, b->dst_ip, 16) == 0);
	CHECK(memcmp(a->src_mac, b->src_mac, 6) == 0 && memcmp(a->dst_mac, b->dst_mac, 6) == 0);
	CHECK(a->vlan == b->vlan && a->udp_sport == b->udp_sport && a->ip_id == b->ip_id);
	CHECK(a->flow_label == b->flow_label && a->ttl == b->ttl);
	CHECK(a->dscp == b->dscp && a->ecn == b->ecn);
}

static void inside(const struct wire_pkt *pkt, const uint8_t *buf, size_t len)
{
	if (pkt->length == 0)
		return;
	CHECK(pkt->payload >= buf);
	CHECK(pkt->payload + pkt->length <= buf + len);
}

/* Gives the packet the ICRC that its headers ask for, or a fuzzer never gets behind it. */
static void repair(uint8_t *buf, size_t len)
{
	struct wire_eth eth;
	size_t at = wire_eth_parse(&eth, buf, len), ip, total;
	uint32_t state;

	if (at == 0 || len < at + 48)
		return;
	ip = buf[at] >> 4 == 4 ? 28 : 48;
	total = ip == 28 ? (size_t)(buf[at + 2] << 8 | buf[at + 3])
			 : 40u + (size_t)(buf[at + 4] << 8 | buf[at + 5]);
	if (total < ip + 16 || total > len - at)
		return;
	buf += at;
	state = wire_icrc_bth(wire_icrc_ip_udp(buf), buf + ip);
	state = wire_icrc_add(state, buf + ip + 12, total - ip - 16);
	wire_icrc_put(buf + total - 4, wire_icrc_end(state));
}

static void frame(uint8_t *buf, size_t len)
{
	static uint8_t out[WIRE_FRAME_MAX];
	struct wire_path path, path_again;
	struct wire_pkt pkt, again;

	if (wire_frame_parse_stamped(&path, &pkt, buf, len) != WIRE_OK)
		return;
	inside(&pkt, buf, len);
	len = wire_frame_emit(&path, &pkt, out, sizeof(out));
	CHECK(len > 0);
	CHECK(wire_frame_parse_stamped(&path_again, &again, out, len) == WIRE_OK);
	same_pkt(&pkt, &again);
	same_path(&path, &path_again);
}

static void transport(uint8_t *buf, size_t len)
{
	static uint8_t out[WIRE_BTH_MAX];
	struct wire_pkt pkt, again;

	if (!wire_bth_parse_stamped(&pkt, buf, len))
		return;
	inside(&pkt, buf, len);
	CHECK(wire_bth_emit(&pkt, out, sizeof(out)) == len);
	CHECK(wire_bth_parse_stamped(&again, out, len));
	same_pkt(&pkt, &again);
}

static void datagram(uint8_t *buf, size_t len)
{
	static const struct wire_path path = {.dst_ip = {[10] = 0xff, 0xff, 10, 0, 0, 2},
					      .src_ip = {[10] = 0xff, 0xff, 10, 0, 0, 1},
					      .udp_sport = 0xc000};
	struct wire_pkt pkt;

	if (wire_udp_parse(&path, &pkt, buf, len) == WIRE_OK)
		inside(&pkt, buf, len);
}

static void neighbour(const uint8_t *buf, size_t len)
{
	struct wire_neigh neigh, again, reply;
	uint8_t out[WIRE_NEIGH_MAX];

	if (!wire_neigh_parse(&neigh, buf, len))
		return;
	len = wire_neigh_emit(&neigh, out, sizeof(out));
	CHECK(len > 0);
	CHECK(wire_neigh_parse(&again, out, len));
	CHECK(again.reply == neigh.reply);
	CHECK(memcmp(again.sender_mac, neigh.sender_mac, 6) == 0);
	CHECK(memcmp(again.sender_ip, neigh.sender_ip, 16) == 0);
	CHECK(memcmp(again.peer_ip, neigh.peer_ip, 16) == 0);
	wire_neigh_answer(&neigh, neigh.sender_mac, &reply);
	CHECK(wire_neigh_emit(&reply, out, sizeof(out)) > 0);
}

static void control(const uint8_t *buf, size_t len)
{
	struct wire_pfc pfc, again;
	uint8_t out[WIRE_PFC_BYTES];

	if (!wire_pfc_parse(&pfc, buf, len))
		return;
	CHECK(wire_pfc_emit(&pfc, out, sizeof(out)) == WIRE_PFC_BYTES);
	CHECK(wire_pfc_parse(&again, out, sizeof(out)));
	CHECK(pfc.whole_link == again.whole_link && pfc.enabled == again.enabled);
	CHECK(memcmp(pfc.quanta, again.quanta, sizeof(pfc.quanta)) == 0);
	CHECK(memcmp(pfc.src_mac, again.src_mac, 6) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t buf[INPUT_MAX], *at;

	if (size == 0 || size > sizeof(buf))
		return 0;
	size--;
	at = buf + sizeof(buf) - size; /* ends where the array ends */
	memcpy(at, data + 1, size);
	switch (data[0] % PARSERS) {
	case FRAME_WITH_ICRC:
		repair(at, size);
		frame(at, size);
		break;
	case UDP:
		datagram(at, size);
		break;
	case BTH:
		transport(at, size);
		break;
	case NEIGH:
		neighbour(at, size);
		break;
	case PFC:
		control(at, size);
		break;
	default:
		frame(at, size);
	}
	return 0;
}
