/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PKT_H
#define WIRE_PKT_H

/* The transport part of a packet as a value: base transport header, extension headers, payload.
 * The adapter speaks struct wire_pkt in every world; transport/wire alone knows its bytes
 * (transport/wire/bth.h emits and parses them, transport/wire/frame.h adds Ethernet, IP, UDP and
 * the ICRC). Values are in host order. */
#include "util/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_BTH_BYTES = 12,
	WIRE_RETH_BYTES = 16,
	WIRE_AETH_BYTES = 4,
	WIRE_IMM_BYTES = 4,
	WIRE_IETH_BYTES = 4,
	WIRE_FETH_BYTES = 4,
	WIRE_DETH_BYTES = 8,
	WIRE_RDETH_BYTES = 4,
	WIRE_XRCETH_BYTES = 4,
	WIRE_ATOMICETH_BYTES = 28,
	WIRE_ATOMICACKETH_BYTES = 8,
	WIRE_SETH_BYTES = 8,
	WIRE_SACKETH_BYTES = 8,
	WIRE_INT_BYTES = 44,
	WIRE_INT_HOPS = 5,
	WIRE_CNP_BYTES = 16, /* reserved bytes of a CNP */
	WIRE_ICRC_BYTES = 4,
	WIRE_IPV4_BYTES = 20,
	WIRE_IPV6_BYTES = 40,
	WIRE_GRH_BYTES = 40,
	WIRE_UDP_BYTES = 8,
	WIRE_MTU_MAX = 4096,
};

#define WIRE_PKEY_DEFAULT 0xffffu
#define WIRE_UDP_PORT 4791u /* IANA: RoCEv2 */

/* Classes of transport, the top three bits of an opcode (linux include/rdma/ib_pack.h).
 *
 * IRN is none of IBTA's: opcodes from 0xc0 on are the manufacturers', and these carry what a
 * responder needs that takes packets out of order (Mittal et al., SIGCOMM 2018, section 4.3.1):
 * every WRITE packet a RETH of its own, with the address of its own bytes and the length of the
 * message from there on; every SEND packet a SETH, with which of the receives it is for and where
 * in it its bytes go; and an ACKNOWLEDGE that is a NAK a SACKETH, with the PSN that came (the
 * missing one itself: it came and could not be taken) and those before it. READs, atomics, their
 * answers and plain ACKs are RC's. */
enum {
	WIRE_RC = 0x00,
	WIRE_UC = 0x20,
	WIRE_RD = 0x40,
	WIRE_UD = 0x60,
	WIRE_CNP_CLASS = 0x80,
	WIRE_XRC = 0xa0,
	WIRE_IRN = 0xc0
};

/* What the low five bits say; RC_x is WIRE_RC | x and so on. */
enum wire_operation {
	WIRE_SEND_FIRST = 0x00,
	WIRE_SEND_MIDDLE = 0x01,
	WIRE_SEND_LAST = 0x02,
	WIRE_SEND_LAST_IMM = 0x03,
	WIRE_SEND_ONLY = 0x04,
	WIRE_SEND_ONLY_IMM = 0x05,
	WIRE_WRITE_FIRST = 0x06,
	WIRE_WRITE_MIDDLE = 0x07,
	WIRE_WRITE_LAST = 0x08,
	WIRE_WRITE_LAST_IMM = 0x09,
	WIRE_WRITE_ONLY = 0x0a,
	WIRE_WRITE_ONLY_IMM = 0x0b,
	WIRE_READ_REQUEST = 0x0c,
	WIRE_READ_RESPONSE_FIRST = 0x0d,
	WIRE_READ_RESPONSE_MIDDLE = 0x0e,
	WIRE_READ_RESPONSE_LAST = 0x0f,
	WIRE_READ_RESPONSE_ONLY = 0x10,
	WIRE_ACKNOWLEDGE = 0x11,
	WIRE_ATOMIC_ACKNOWLEDGE = 0x12,
	WIRE_COMPARE_SWAP = 0x13,
	WIRE_FETCH_ADD = 0x14,
	WIRE_SEND_LAST_INV = 0x16,
	WIRE_SEND_ONLY_INV = 0x17,
	WIRE_FLUSH = 0x1c,
	WIRE_ATOMIC_WRITE = 0x1d,
};
enum { WIRE_CNP = 0x81 }; /* IBTA annex A17 */
/* From switch to switch, in the last of the manufacturers' opcodes: BTH, RETH and ImmDt hold what
 * one says to the other (models/machine/packet.c). Adapters take none. */
enum { WIRE_AGENT = 0xe0 };
/* In no packet: the payload is a whole Ethernet frame (transport/hca/raw.h). */
enum { WIRE_RAW_FRAME = 0xff };

/* AETH syndrome: bits 7:5 type, bits 4:0 credit count, RNR timer or NAK code. */
enum {
	WIRE_SYN_ACK = 0x00,
	WIRE_SYN_RNR = 0x20,
	WIRE_SYN_NAK = 0x60,
	WIRE_SYN_TYPE_MASK = 0xe0,
	WIRE_SYN_VALUE_MASK = 0x1f,
	WIRE_SYN_ACK_UNLIMITED = 0x1f, /* ACK without a credit limit */
	WIRE_NAK_PSN_SEQ = 0x60,
	WIRE_NAK_INVALID_REQUEST = 0x61,
	WIRE_NAK_REMOTE_ACCESS = 0x62,
	WIRE_NAK_REMOTE_OPERATION = 0x63,
	WIRE_NAK_INVALID_RD_REQUEST = 0x64,
};

/* FETH (IBTA annex A19): bits 3:0 the places that bytes shall have reached, bits 5:4 which bytes.
 */
enum {
	WIRE_FETH_GLOBAL = 1,
	WIRE_FETH_PERSISTENT = 2,
	WIRE_FETH_PLACES = 0xf,
	WIRE_FETH_REGION = 1 << 4, /* all of the region, instead of the range */
};

/* The protocol's facts, one bool a fact; the code asks the table. */
struct wire_op {
	const char *name;		/* "RC_WRITE_FIRST" */
	bool request;			/* goes from requester to responder */
	bool response;			/* READ response, ACK, atomic ACK */
	bool start, end;		/* of a message */
	bool send, write, read, atomic; /* family of a request; of the request that it answers */
	bool payload;			/* may carry payload bytes */
	bool reth, aeth, imm, ieth, atomiceth, atomicacketh, deth, rdeth, xrceth, feth, cnp;
	bool seth, sacketh;   /* IRN */
	uint8_t header_bytes; /* BTH and all extension headers (and a CNP's reserved bytes) */
};

/* By opcode; without a name: not an opcode of the specification. */
extern const struct wire_op wire_ops[256];

/* NULL: not an opcode of the specification. */
static inline const struct wire_op *wire_op_find(uint8_t opcode)
{
	return wire_ops[opcode].name ? &wire_ops[opcode] : NULL;
}

/* Fields that most packets lack. They mean something only where pkt->has_rare. */
struct wire_rare {
	uint64_t swap_add, compare; /* AtomicETH */
	uint32_t qkey, src_qpn;	    /* DETH */
	uint32_t ee_context;	    /* RDETH, 24 bits */
	uint32_t xrc_srqn;	    /* XRCETH, 24 bits */
	uint16_t pkey;		    /* where it is not WIRE_PKEY_DEFAULT */
	bool mig_req;
	/* In-band telemetry: what switches on the way have written (transport/wire/hop.h). */
	bool has_int;
	uint8_t hop_count; /* at most WIRE_INT_HOPS; later switches write nothing */
	uint64_t hops[WIRE_INT_HOPS];
};

/* The first WIRE_HOT_BYTES are copied as they are through a simulated fabric; keep the layout. */
struct wire_pkt {
	uint32_t psn;	   /* 24 bits */
	uint32_t dest_qpn; /* 24 bits */
	uint32_t word;	   /* AETH (wire_aeth()), ImmDt, IETH or FETH: a packet has at most one */
	uint16_t length;   /* payload bytes without pad, 0..WIRE_MTU_MAX */
	uint8_t opcode;
	bool solicited : 1, ack_req : 1, fecn : 1, becn : 1;
	bool synthetic : 1; /* the payload is @pattern, not bytes */
	bool has_rare : 1;
	bool apart : 1;	     /* the payload is at @address, elsewhere: transport/hca/loan.h */
	uint64_t va;	     /* RETH, AtomicETH; the original value in an AtomicAckETH; offset in a
			      * SETH, 32 bits */
	uint32_t rkey;	     /* RETH, AtomicETH; number of the receive in a SETH, 24 bits; PSN that
			      * came in a SACKETH, 24 bits */
	uint32_t dma_length; /* RETH; SACKETH: bit i: PSN - 1 - i came, too */
	union {
		uint8_t *payload; /* length bytes; whose they are says the function at hand */
		uint64_t pattern; /* synthetic: wire_pattern(stream, offset) of the first byte */
		uint64_t address; /* apart: in its sender's memory */
	};
	struct wire_rare rare;
};
enum { WIRE_HOT_BYTES = 40 };
_Static_assert(offsetof(struct wire_pkt, rare) == WIRE_HOT_BYTES, "the body of a simulated packet");

static inline uint32_t wire_aeth(uint8_t syndrome, uint32_t msn)
{
	return (uint32_t)syndrome << 24 | (msn & 0xffffff);
}

static inline uint8_t wire_aeth_syndrome(uint32_t word)
{
	return (uint8_t)(word >> 24);
}

static inline uint32_t wire_aeth_msn(uint32_t word)
{
	return word & 0xffffff;
}

/* Where synthetic bytes come from: 24 bits of stream, 40 of offset. Their values are a function of
 * both (wire_pattern_bytes()), so a receiver can recompute what should have arrived. */
static inline uint64_t wire_pattern(uint64_t stream, uint64_t offset)
{
	return (stream & 0xffffff) << 40 | (offset & 0xffffffffffu);
}

/* @pattern moved @bytes further in its stream; the offset wraps at 2^40. */
static inline uint64_t wire_pattern_add(uint64_t pattern, uint64_t bytes)
{
	return (pattern & ~0xffffffffffu) | ((pattern + bytes) & 0xffffffffffu);
}

/* The @length bytes that @pattern stands for. */
void wire_pattern_bytes(uint64_t pattern, uint8_t *ret_bytes, size_t length);
/* Whether @bytes are those of @pattern. */
bool wire_pattern_matches(uint64_t pattern, const uint8_t *bytes, size_t length);

/* wire_pkt_bytes() of a packet with rare fields, which may have telemetry. */
size_t wire_pkt_bytes_rare(const struct wire_pkt *pkt);

/* Bytes from BTH to ICRC, payload and pad included. CHECKs that the opcode exists. */
static inline size_t wire_pkt_bytes(const struct wire_pkt *pkt)
{
	const struct wire_op *op = &wire_ops[pkt->opcode];

	CHECK(op->name != NULL);
	CHECK(pkt->length <= (op->payload ? WIRE_MTU_MAX : 0));
	if (__builtin_expect(pkt->has_rare, 0))
		return wire_pkt_bytes_rare(pkt);
	return op->header_bytes + ((pkt->length + 3u) & ~3u) + WIRE_ICRC_BYTES;
}

#endif
