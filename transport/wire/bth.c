/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/bth.h"

#include "transport/wire/internal.h"
#include "transport/wire/psn.h"
#include "util/check.h"

#include <string.h>

/* BTH (IBTA 9.2, linux drivers/infiniband/sw/rxe/rxe_hdr.h):
 *	0 opcode | 1 SE.MigReq.PadCnt(2).TVer(4) | 2-3 P_Key | 4 FECN.BECN.reserved(6) |
 *	5-7 destination QP | 8 AckReq.INT.reserved(6) | 9-11 PSN
 * then in this order those that the opcode has:
 *	RDETH	  0 reserved | 1-3 EE context
 *	DETH	  0-3 Q_Key | 4 reserved | 5-7 source QP
 *	XRCETH	  0 reserved | 1-3 XRC SRQ
 *	FETH	  0-3 selectivity and type
 *	RETH	  0-7 VA | 8-11 R_Key | 12-15 DMA length
 *	AtomicETH 0-7 VA | 8-11 R_Key | 12-19 swap or add | 20-27 compare
 *	AETH	  0 syndrome | 1-3 MSN
 *	AtomicAckETH 0-7 original value
 *	SETH	  0 reserved | 1-3 number of the receive | 4-7 offset
 *	SACKETH	  0 reserved | 1-3 PSN that came | 4-7 those before it
 *	ImmDt 0-3, IETH 0-3 R_Key
 * INT is our own use of a reserved bit: between the headers and the payload are 44 bytes of in-band
 * telemetry, as in the simulator of the HPCC authors (int-header.h) but for a size in whole words:
 *	INT	  0 hops | 1-3 reserved | 4-43 five hops of 8 bytes, those not used 0
 * A switch that writes a hop makes the ICRC anew.
 * In front of the ImmDt or IETH is the SETH, behind the AETH the SACKETH.
 * All integers travel big-endian. */
enum {
	SOLICITED = 0x80,
	MIG_REQ = 0x40,
	PAD_SHIFT = 4,
	PAD_MASK = 3,
	TVER_MASK = 0x0f,
	FECN = 0x80,
	BECN = 0x40,
	ACK_REQ = 0x80,
	HAS_INT = 0x40,
	PKEY_BASE = 0x7fff, /* without the bit of full membership */
};

_Static_assert(WIRE_HEADERS_MAX ==
		       WIRE_BTH_BYTES + WIRE_RDETH_BYTES + WIRE_DETH_BYTES + WIRE_ATOMICETH_BYTES,
	       "the longest headers");
_Static_assert(WIRE_DATA_HEADERS_MAX == WIRE_BTH_BYTES + WIRE_RETH_BYTES + WIRE_IMM_BYTES,
	       "the longest before a payload");

static bool has_rare(const struct wire_op *op)
{
	return op->atomiceth || op->deth || op->rdeth || op->xrceth;
}

static uint8_t *emit_rare(uint8_t *p, const struct wire_op *op, const struct wire_rare *rare)
{
	if (op->rdeth) {
		CHECK(rare->ee_context <= WIRE_U24_MAX);
		put32(p, rare->ee_context);
		p += WIRE_RDETH_BYTES;
	}
	if (op->deth) {
		CHECK(rare->src_qpn <= WIRE_U24_MAX);
		put32(p, rare->qkey);
		put32(p + 4, rare->src_qpn);
		p += WIRE_DETH_BYTES;
	}
	if (op->xrceth) {
		CHECK(rare->xrc_srqn <= WIRE_U24_MAX);
		put32(p, rare->xrc_srqn);
		p += WIRE_XRCETH_BYTES;
	}
	return p;
}

static uint8_t *parse_rare(uint8_t *p, const struct wire_op *op, struct wire_rare *rare)
{
	if (op->rdeth) {
		rare->ee_context = get24(p + 1);
		p += WIRE_RDETH_BYTES;
	}
	if (op->deth) {
		rare->qkey = get32(p);
		rare->src_qpn = get24(p + 5);
		p += WIRE_DETH_BYTES;
	}
	if (op->xrceth) {
		rare->xrc_srqn = get24(p + 1);
		p += WIRE_XRCETH_BYTES;
	}
	return p;
}

static uint8_t *emit_extensions(uint8_t *p, const struct wire_op *op, const struct wire_pkt *pkt,
				const struct wire_rare *rare)
{
	p = emit_rare(p, op, rare);
	if (op->feth) {
		put32(p, pkt->word);
		p += WIRE_FETH_BYTES;
	}
	if (op->reth || op->atomiceth) {
		put64(p, pkt->va);
		put32(p + 8, pkt->rkey);
		p += 12;
	}
	if (op->reth) {
		put32(p, pkt->dma_length);
		p += 4;
	}
	if (op->atomiceth) {
		put64(p, rare->swap_add);
		put64(p + 8, rare->compare);
		p += 16;
	}
	if (op->seth) {
		CHECK(pkt->rkey <= WIRE_U24_MAX && pkt->va <= UINT32_MAX);
		put32(p, pkt->rkey);
		put32(p + 4, (uint32_t)pkt->va);
		p += WIRE_SETH_BYTES;
	}
	if (op->aeth || op->imm || op->ieth) {
		put32(p, pkt->word);
		p += 4;
	}
	if (op->sacketh) {
		CHECK(pkt->rkey <= WIRE_U24_MAX);
		put32(p, pkt->rkey);
		put32(p + 4, pkt->dma_length);
		p += WIRE_SACKETH_BYTES;
	}
	if (op->atomicacketh) {
		put64(p, pkt->va);
		p += WIRE_ATOMICACKETH_BYTES;
	}
	if (op->cnp) {
		memset(p, 0, WIRE_CNP_BYTES);
		p += WIRE_CNP_BYTES;
	}
	return p;
}

static uint8_t *parse_extensions(uint8_t *p, const struct wire_op *op, struct wire_pkt *pkt)
{
	p = parse_rare(p, op, &pkt->rare);
	if (op->feth) {
		pkt->word = get32(p);
		p += WIRE_FETH_BYTES;
	}
	if (op->reth || op->atomiceth) {
		pkt->va = get64(p);
		pkt->rkey = get32(p + 8);
		p += 12;
	}
	if (op->reth) {
		pkt->dma_length = get32(p);
		p += 4;
	}
	if (op->atomiceth) {
		pkt->rare.swap_add = get64(p);
		pkt->rare.compare = get64(p + 8);
		p += 16;
	}
	if (op->seth) {
		pkt->rkey = get24(p + 1);
		pkt->va = get32(p + 4);
		p += WIRE_SETH_BYTES;
	}
	if (op->aeth || op->imm || op->ieth) {
		pkt->word = get32(p);
		p += 4;
	}
	if (op->sacketh) {
		pkt->rkey = get24(p + 1);
		pkt->dma_length = get32(p + 4);
		p += WIRE_SACKETH_BYTES;
	}
	if (op->atomicacketh) {
		pkt->va = get64(p);
		p += WIRE_ATOMICACKETH_BYTES;
	}
	return p + (op->cnp ? (int)WIRE_CNP_BYTES : 0);
}

size_t wire_pkt_bytes_rare(const struct wire_pkt *pkt)
{
	return wire_ops[pkt->opcode].header_bytes +
	       (pkt->rare.has_int ? (size_t)WIRE_INT_BYTES : 0) + ((pkt->length + 3u) & ~3u) +
	       WIRE_ICRC_BYTES;
}

static void emit_int(uint8_t *p, const struct wire_rare *rare)
{
	CHECK(rare->hop_count <= WIRE_INT_HOPS);
	put32(p, (uint32_t)rare->hop_count << 24);
	for (uint32_t i = 0; i < WIRE_INT_HOPS; i++)
		put64(p + 4 + 8 * i, i < rare->hop_count ? rare->hops[i] : 0);
}

static void parse_int(const uint8_t *p, struct wire_rare *rare)
{
	rare->has_int = true;
	rare->hop_count = p[0];
	for (uint32_t i = 0; i < rare->hop_count; i++)
		rare->hops[i] = get64(p + 4 + 8 * i);
}

size_t wire_bth_emit_headers(const struct wire_pkt *pkt, uint8_t *buf, size_t len)
{
	static const struct wire_rare none = {.pkey = WIRE_PKEY_DEFAULT};
	const struct wire_rare *rare = pkt->has_rare ? &pkt->rare : &none;
	const struct wire_op *op = wire_op_find(pkt->opcode);

	CHECK(op != NULL);
	CHECK(pkt->has_rare || !has_rare(op));
	CHECK(pkt->dest_qpn <= WIRE_U24_MAX);
	CHECK(pkt->psn <= WIRE_U24_MAX);
	if (len < op->header_bytes + (rare->has_int ? (size_t)WIRE_INT_BYTES : 0))
		return 0;
	buf[0] = pkt->opcode;
	buf[1] = (uint8_t)((pkt->solicited ? SOLICITED : 0) | (rare->mig_req ? MIG_REQ : 0) |
			   (-pkt->length & PAD_MASK) << PAD_SHIFT);
	put16(buf + 2, rare->pkey ? rare->pkey : WIRE_PKEY_DEFAULT);
	buf[4] = (uint8_t)((pkt->fecn ? FECN : 0) | (pkt->becn ? BECN : 0));
	put24(buf + 5, pkt->dest_qpn);
	buf[8] = (uint8_t)((pkt->ack_req ? ACK_REQ : 0) | (rare->has_int ? HAS_INT : 0));
	put24(buf + 9, pkt->psn);
	CHECK(emit_extensions(buf + WIRE_BTH_BYTES, op, pkt, rare) == buf + op->header_bytes);
	if (!rare->has_int)
		return op->header_bytes;
	emit_int(buf + op->header_bytes, rare);
	return op->header_bytes + (size_t)WIRE_INT_BYTES;
}

size_t wire_bth_emit(const struct wire_pkt *pkt, uint8_t *buf, size_t len)
{
	size_t total = wire_pkt_bytes(pkt) - WIRE_ICRC_BYTES;
	uint8_t *p;

	if (len < total)
		return 0;
	p = buf + wire_bth_emit_headers(pkt, buf, len);
	if (pkt->length > 0) {
		if (pkt->synthetic)
			wire_pattern_bytes(pkt->pattern, p, pkt->length);
		else if (pkt->payload != p)
			memcpy(p, pkt->payload, pkt->length);
		memset(p + pkt->length, 0, -pkt->length & PAD_MASK);
	}
	return total;
}

static bool bth_parse(struct wire_pkt *pkt, uint8_t *buf, size_t len, bool is_stamped)
{
	const struct wire_op *op = len > 0 ? wire_op_find(buf[0]) : NULL;
	size_t headers, body, pad;
	uint32_t pkey;
	bool has_int;

	if (!op || len % 4 != 0 || len < op->header_bytes)
		return false;
	has_int = is_stamped && buf[8] & HAS_INT;
	headers = op->header_bytes + (has_int ? (size_t)WIRE_INT_BYTES : 0);
	if (len < headers || (has_int && buf[op->header_bytes] > WIRE_INT_HOPS))
		return false;
	body = len - headers;
	pad = buf[1] >> PAD_SHIFT & PAD_MASK;
	pkey = get16(buf + 2);
	if ((buf[1] & TVER_MASK) != 0 || (pkey & PKEY_BASE) == 0)
		return false;
	/* Whole words and a whole MTU: what passes it with its pad passes it without. */
	if (pad > body || body > (op->payload ? WIRE_MTU_MAX : 0))
		return false;
	pkt->opcode = buf[0];
	pkt->solicited = buf[1] & SOLICITED;
	pkt->ack_req = buf[8] & ACK_REQ;
	pkt->fecn = buf[4] & FECN;
	pkt->becn = buf[4] & BECN;
	pkt->synthetic = pkt->apart = false;
	pkt->has_rare =
		has_int || has_rare(op) || pkey != WIRE_PKEY_DEFAULT || (buf[1] & MIG_REQ) != 0;
	pkt->length = (uint16_t)(body - pad);
	pkt->dest_qpn = get24(buf + 5);
	pkt->psn = get24(buf + 9);
	pkt->word = pkt->rkey = pkt->dma_length = 0;
	pkt->va = 0;
	pkt->payload = pkt->length > 0 ? buf + headers : NULL;
	if (pkt->has_rare)
		pkt->rare = (struct wire_rare){.pkey = (uint16_t)pkey,
					       .mig_req = (buf[1] & MIG_REQ) != 0};
	if (has_int)
		parse_int(buf + op->header_bytes, &pkt->rare);
	CHECK(parse_extensions(buf + WIRE_BTH_BYTES, op, pkt) == buf + op->header_bytes);
	return true;
}

bool wire_bth_parse(struct wire_pkt *pkt, uint8_t *buf, size_t len)
{
	return bth_parse(pkt, buf, len, false);
}

bool wire_bth_parse_stamped(struct wire_pkt *pkt, uint8_t *buf, size_t len)
{
	return bth_parse(pkt, buf, len, true);
}
