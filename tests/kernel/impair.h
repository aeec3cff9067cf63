/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_KERNEL_IMPAIR_H
#define TESTS_KERNEL_IMPAIR_H

/* Packets that are harmed on purpose on their way between the guest and a NIC, and the proof that
 * both ends coped. A rule is ACTION:FROM:OPCODE:N
 *	ACTION	drop, or flip: the bit of value 8 in the last byte in front of the ICRC
 *	FROM	guest or nic: whose packet
 *	OPCODE	as transport/wire/op.c names it, without RC_: SEND_MIDDLE, READ_RESPONSE_LAST ...
 *	N	the n-th such packet, from 1
 * and holds when the packet came, the same one (QP and PSN; of an ACK, the same or a later one)
 * went by whole afterwards, and the other end acknowledged nothing from it on in between. That last
 * point needs a program with one queue pair a side. */
#include "transport/wire/frame.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { IMPAIR_RULES_MAX = 8 };

/* A frame on its way, parsed; @frame is where bits are flipped. */
struct impair_frame {
	bool from_guest;
	uint64_t now_us;
	const struct wire_pkt *pkt;
	uint8_t *frame;
	size_t length; /* IP packet and Ethernet header, without padding behind it */
};

enum impair_action { IMPAIR_PASS, IMPAIR_DROP, IMPAIR_FLIP };

struct impair_rule {
	const char *text;
	enum impair_action action;
	bool from_guest;
	char opcode[32];
	uint32_t nth, seen;
	bool fired, retransmitted, too_early;
	uint8_t fired_opcode;
	uint32_t dest_qpn, psn;
	uint64_t fired_us, retransmitted_us;
};

struct impair {
	struct impair_rule rules[IMPAIR_RULES_MAX];
	uint32_t count;
};

/* @text stays in use. False: not a rule, or one too many. */
bool impair_add(struct impair *impair, const char *text);
/* What becomes of the frame; its bit is flipped already. */
enum impair_action impair_frame(struct impair *impair, const struct impair_frame *frame);
/* A line for each rule; whether all held. */
bool impair_report(const struct impair *impair, FILE *file);

const char *impair_action_name(enum impair_action action);

#endif
