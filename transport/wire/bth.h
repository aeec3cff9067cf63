/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_BTH_H
#define WIRE_BTH_H

/* A packet's transport part, from the BTH to the pad bytes, between value and bytes (IBTA vol. 1,
 * 9.2 to 9.4). No addresses and no ICRC: those are of frame.h, which calls this. */
#include "transport/wire/pkt.h"

/* The longest: RD WRITE ONLY with immediate has BTH, RDETH, DETH, RETH and ImmDt; an RD atomic has
 * BTH, RDETH, DETH and AtomicETH and no payload. */
enum {
	WIRE_HEADERS_MAX = 52,
	/* Of what an RC, UC or UD queue pair sends with payload: WRITE ONLY with immediate has BTH,
	 * RETH and ImmDt. */
	WIRE_DATA_HEADERS_MAX = 32,
	WIRE_BTH_MAX = 44 + (int)WIRE_INT_BYTES +
		       (int)WIRE_MTU_MAX, /* as wire_bth_emit() makes them, without the ICRC */
};

/* Writes BTH, extension headers, payload and pad (zeros). Returns the bytes written,
 * wire_pkt_bytes() - WIRE_ICRC_BYTES, or 0 where @len has no room for them. CHECKs the widths of
 * all values. A payload that already lies at its place in @buf is left there. Without
 * pkt->has_rare, and where rare.pkey is 0 (which no partition may be), the P_Key is
 * WIRE_PKEY_DEFAULT. */
size_t wire_bth_emit(const struct wire_pkt *pkt, uint8_t *buf, size_t len);

/* The same without payload and pad, for a caller that gathers: wire_op's header_bytes, or 0. */
size_t wire_bth_emit_headers(const struct wire_pkt *pkt, uint8_t *buf, size_t len);

/* Reads what wire_bth_emit() writes; @len without the ICRC. pkt->payload points INTO @buf (NULL
 * without payload): nothing is copied and the payload lives as long as @buf. pkt->has_rare is set,
 * and pkt->rare written, only if the opcode has rare fields, the P_Key is not the default or MigReq
 * is set.
 * False, with @pkt as it was: unknown opcode, transport version not 0, P_Key of no partition (low
 * 15 bits 0), length not of whole words, shorter than the headers of the opcode, more pad than
 * bytes to pad, payload where the opcode has none, or above WIRE_MTU_MAX. Reserved bits and the
 * values of the pad bytes are ignored, as IBTA asks. Which
 * lengths an opcode may have within a message is the adapter's to judge, which knows the path
 * MTU. */
bool wire_bth_parse(struct wire_pkt *pkt, uint8_t *buf, size_t len);
/* The same of a packet that switches of ours have stamped: with what says INT. A stranger's packet
 * has a reserved bit there. */
bool wire_bth_parse_stamped(struct wire_pkt *pkt, uint8_t *buf, size_t len);

#endif
