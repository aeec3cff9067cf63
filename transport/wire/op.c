/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/pkt.h"

/* IBTA vol. 1, 9.2.1 (the operations, with the headers that follow the BTH), 9.3 (the headers);
 * annex A14 (XRC), A17 (CNP), A19 (FLUSH, ATOMIC WRITE); the list is that of linux
 * include/rdma/ib_pack.h, and XRC with RC's. Header order: see bth.c. */

/* What a class of transport puts in front of the headers of an operation. */
#define REQUEST_RC .request = true
#define REQUEST_UC .request = true
#define REQUEST_RD .request = true, .rdeth = true, .deth = true
#define REQUEST_UD .request = true, .deth = true
#define REQUEST_XRC .request = true, .xrceth = true
#define REQUEST_IRN .request = true
#define RESPONSE_IRN .response = true
#define RESPONSE_RC .response = true
#define RESPONSE_RD .response = true, .rdeth = true
#define RESPONSE_XRC .response = true
enum {
	REQUEST_RC_BYTES = WIRE_BTH_BYTES,
	REQUEST_UC_BYTES = WIRE_BTH_BYTES,
	REQUEST_RD_BYTES = WIRE_BTH_BYTES + WIRE_RDETH_BYTES + WIRE_DETH_BYTES,
	REQUEST_UD_BYTES = WIRE_BTH_BYTES + WIRE_DETH_BYTES,
	REQUEST_XRC_BYTES = WIRE_BTH_BYTES + WIRE_XRCETH_BYTES,
	RESPONSE_RC_BYTES = WIRE_BTH_BYTES,
	RESPONSE_RD_BYTES = WIRE_BTH_BYTES + WIRE_RDETH_BYTES,
	RESPONSE_XRC_BYTES = WIRE_BTH_BYTES,
	REQUEST_IRN_BYTES = WIRE_BTH_BYTES,
	RESPONSE_IRN_BYTES = WIRE_BTH_BYTES,
};

/* clang-format off */
/* @bytes: of the operation's own headers; what follows are its facts. */
#define OP(direction, transport, operation, bytes, ...) \
	[(int)WIRE_##transport | (int)WIRE_##operation] = { \
		.name = #transport "_" #operation, \
		.header_bytes = (int)direction##_##transport##_BYTES + (int)(bytes), \
		direction##_##transport, __VA_ARGS__}
#define REQUEST(...) OP(REQUEST, __VA_ARGS__)
#define RESPONSE(...) OP(RESPONSE, __VA_ARGS__)

#define START .start = true
#define END   .end = true
#define ONLY  .start = true, .end = true
#define SEND  .send = true, .payload = true
#define WRITE .write = true, .payload = true
#define READ  .read = true
#define DATA  .payload = true
#define ATOM  .atomic = true
#define RETH  .reth = true
#define AETH  .aeth = true
#define IMM   .imm = true
#define IETH  .ieth = true
#define FETH  .feth = true
#define SETH  .seth = true
#define ATOMICETH    .atomiceth = true
#define ATOMICACKETH .atomicacketh = true

#define SENDS_AND_WRITES(t) \
	REQUEST(t, SEND_FIRST,	    0,				       SEND, START), \
	REQUEST(t, SEND_MIDDLE,	    0,				       SEND), \
	REQUEST(t, SEND_LAST,	    0,				       SEND, END), \
	REQUEST(t, SEND_LAST_IMM,   WIRE_IMM_BYTES,		       SEND, END, IMM), \
	REQUEST(t, SEND_ONLY,	    0,				       SEND, ONLY), \
	REQUEST(t, SEND_ONLY_IMM,   WIRE_IMM_BYTES,		       SEND, ONLY, IMM), \
	REQUEST(t, WRITE_FIRST,	    WIRE_RETH_BYTES,		       WRITE, START, RETH), \
	REQUEST(t, WRITE_MIDDLE,    0,				       WRITE), \
	REQUEST(t, WRITE_LAST,	    0,				       WRITE, END), \
	REQUEST(t, WRITE_LAST_IMM,  WIRE_IMM_BYTES,		       WRITE, END, IMM), \
	REQUEST(t, WRITE_ONLY,	    WIRE_RETH_BYTES,		       WRITE, ONLY, RETH), \
	REQUEST(t, WRITE_ONLY_IMM,  WIRE_RETH_BYTES + WIRE_IMM_BYTES,  WRITE, ONLY, RETH, IMM)

#define READS_AND_ATOMICS(t) \
	REQUEST(t, READ_REQUEST,	  WIRE_RETH_BYTES,	READ, ONLY, RETH), \
	RESPONSE(t, READ_RESPONSE_FIRST,  WIRE_AETH_BYTES,	READ, DATA, START, AETH), \
	RESPONSE(t, READ_RESPONSE_MIDDLE, 0,			READ, DATA), \
	RESPONSE(t, READ_RESPONSE_LAST,	  WIRE_AETH_BYTES,	READ, DATA, END, AETH), \
	RESPONSE(t, READ_RESPONSE_ONLY,	  WIRE_AETH_BYTES,	READ, DATA, ONLY, AETH), \
	RESPONSE(t, ACKNOWLEDGE,	  WIRE_AETH_BYTES,	ONLY, AETH), \
	RESPONSE(t, ATOMIC_ACKNOWLEDGE,	  WIRE_AETH_BYTES + WIRE_ATOMICACKETH_BYTES, \
		 ATOM, ONLY, AETH, ATOMICACKETH), \
	REQUEST(t, COMPARE_SWAP,	  WIRE_ATOMICETH_BYTES, ATOM, ONLY, ATOMICETH), \
	REQUEST(t, FETCH_ADD,		  WIRE_ATOMICETH_BYTES, ATOM, ONLY, ATOMICETH)

#define INVALIDATES(t) \
	REQUEST(t, SEND_LAST_INV,   WIRE_IETH_BYTES,		       SEND, END, IETH), \
	REQUEST(t, SEND_ONLY_INV,   WIRE_IETH_BYTES,		       SEND, ONLY, IETH)

/* These two belong to none of the families: nobody may mistake one for a plain write. */
#define FLUSHES(t) \
	REQUEST(t, FLUSH,	    WIRE_FETH_BYTES + WIRE_RETH_BYTES, ONLY, FETH, RETH)
#define ATOMIC_WRITES(t) \
	REQUEST(t, ATOMIC_WRITE,    WIRE_RETH_BYTES,		       DATA, ONLY, RETH)

#define OUT_OF_ORDER(t) \
	REQUEST(t, SEND_FIRST,	    WIRE_SETH_BYTES,		       SEND, START, SETH), \
	REQUEST(t, SEND_MIDDLE,	    WIRE_SETH_BYTES,		       SEND, SETH), \
	REQUEST(t, SEND_LAST,	    WIRE_SETH_BYTES,		       SEND, END, SETH), \
	REQUEST(t, SEND_LAST_IMM,   WIRE_SETH_BYTES + WIRE_IMM_BYTES,  SEND, END, SETH, IMM), \
	REQUEST(t, SEND_ONLY,	    WIRE_SETH_BYTES,		       SEND, ONLY, SETH), \
	REQUEST(t, SEND_ONLY_IMM,   WIRE_SETH_BYTES + WIRE_IMM_BYTES,  SEND, ONLY, SETH, IMM), \
	REQUEST(t, SEND_LAST_INV,   WIRE_SETH_BYTES + WIRE_IETH_BYTES, SEND, END, SETH, IETH), \
	REQUEST(t, SEND_ONLY_INV,   WIRE_SETH_BYTES + WIRE_IETH_BYTES, SEND, ONLY, SETH, IETH), \
	REQUEST(t, WRITE_FIRST,	    WIRE_RETH_BYTES,		       WRITE, START, RETH), \
	REQUEST(t, WRITE_MIDDLE,    WIRE_RETH_BYTES,		       WRITE, RETH), \
	REQUEST(t, WRITE_LAST,	    WIRE_RETH_BYTES,		       WRITE, END, RETH), \
	REQUEST(t, WRITE_LAST_IMM,  WIRE_RETH_BYTES + WIRE_IMM_BYTES,  WRITE, END, RETH, IMM), \
	REQUEST(t, WRITE_ONLY,	    WIRE_RETH_BYTES,		       WRITE, ONLY, RETH), \
	REQUEST(t, WRITE_ONLY_IMM,  WIRE_RETH_BYTES + WIRE_IMM_BYTES,  WRITE, ONLY, RETH, IMM), \
	RESPONSE(t, ACKNOWLEDGE,    WIRE_AETH_BYTES + WIRE_SACKETH_BYTES, ONLY, AETH, \
		 .sacketh = true)

const struct wire_op wire_ops[256] = {
	SENDS_AND_WRITES(RC), READS_AND_ATOMICS(RC), INVALIDATES(RC), FLUSHES(RC), ATOMIC_WRITES(RC),
	SENDS_AND_WRITES(UC),
	SENDS_AND_WRITES(RD), READS_AND_ATOMICS(RD), FLUSHES(RD),
	SENDS_AND_WRITES(XRC), READS_AND_ATOMICS(XRC), INVALIDATES(XRC), FLUSHES(XRC),
	ATOMIC_WRITES(XRC),
	OUT_OF_ORDER(IRN),
	REQUEST(UD, SEND_ONLY, 0, SEND, ONLY),
	REQUEST(UD, SEND_ONLY_IMM, WIRE_IMM_BYTES, SEND, ONLY, IMM),
	[WIRE_CNP] = {.name = "CNP", .start = true, .end = true, .cnp = true,
		      .header_bytes = (int)WIRE_BTH_BYTES + (int)WIRE_CNP_BYTES},
	[WIRE_AGENT] = {.name = "AGENT", .start = true, .end = true, .reth = true, .imm = true,
			.header_bytes = (int)WIRE_BTH_BYTES + (int)WIRE_RETH_BYTES +
					(int)WIRE_IMM_BYTES},
};
/* clang-format on */
