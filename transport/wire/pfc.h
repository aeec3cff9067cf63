/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PFC_H
#define WIRE_PFC_H

/* MAC control frames that stop a sender: priority flow control (IEEE 802.1Qbb) for each of eight
 * priorities, and the older PAUSE (IEEE 802.3 annex 31B) for a whole link. Not tagged, never
 * forwarded. When to send one is the fabric's business. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_PFC_BYTES = 60,	     /* of the frame, without its FCS */
	WIRE_PFC_WIRE_BYTES = 84,    /* of link time: with FCS, preamble and gap */
	WIRE_PFC_QUANTUM_BITS = 512, /* a quantum is the time of so many bits at the link's rate */
};

struct wire_pfc {
	uint8_t src_mac[6];
	bool whole_link;    /* PAUSE: quanta[0] is meant for everything, @enabled is 0xff */
	uint8_t enabled;    /* bit p: quanta[p] says something */
	uint16_t quanta[8]; /* stop for so long from now; 0: go on. 0 where not enabled */
};

/* Returns WIRE_PFC_BYTES, or 0 where @len has no room for them. */
size_t wire_pfc_emit(const struct wire_pfc *pfc, uint8_t *buf, size_t len);

/* False, with @pfc as it was: any other frame, or one shorter than WIRE_PFC_BYTES. After a PAUSE
 * all eight quanta are its own, so that a reader by priority need not know the difference. The
 * upper byte of the class-enable vector is reserved and ignored. */
bool wire_pfc_parse(struct wire_pfc *pfc, const uint8_t *buf, size_t len);

#endif
