/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PCAPNG_H
#define WIRE_PCAPNG_H

/* Blocks of a pcapng capture (IETF draft-ietf-opsawg-pcapng), written into the caller's memory; he
 * puts them into a file one after the other: one section, then a block for every port, then
 * names, if there are any, and packets. Always little-endian, so that a capture is the same bytes
 * on every machine. Times are picoseconds from the start of the run and are shown as of the first
 * second of 1970. Every function returns the bytes of the block, or 0 where @len has no room for
 * it. */
#include "util/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_pcapng_way { WIRE_PCAPNG_UNKNOWN, WIRE_PCAPNG_IN, WIRE_PCAPNG_OUT };

enum {
	WIRE_PCAPNG_HEAD = 28,	   /* of a packet's block, before its bytes */
	WIRE_PCAPNG_TAIL = 3 + 16, /* the most behind them, without a comment */
};

/* What an address is called. */
struct wire_pcapng_name {
	const char *name; /* below 64 KiB */
	bool has_ip;
	uint8_t ip[16]; /* as in struct wire_path */
	uint8_t mac[6];
};

struct wire_pcapng_pkt {
	uint32_t port; /* the n-th port described, from 0 */
	ps_t at;
	enum wire_pcapng_way way; /* as the port sees it */
	/* Of an Ethernet frame without FCS; may lie where they will, at @buf + WIRE_PCAPNG_HEAD. */
	const uint8_t *bytes;
	uint32_t captured;   /* how many of them */
	uint32_t length;     /* of the frame; captured <= length */
	const char *comment; /* "dropped: no room"; NULL: none */
};

size_t wire_pcapng_section(uint8_t *buf, size_t len);
/* @name below 64 KiB; @rate_bps 0: not known; @snaplen: bytes of a packet that are captured at
 * most, 0: all. */
size_t wire_pcapng_port(const char *name, uint64_t rate_bps, uint32_t snaplen, uint8_t *buf,
			size_t len);
/* Wireshark shows the names instead of the addresses (name resolution). There may be several such
 * blocks. */
size_t wire_pcapng_names(const struct wire_pcapng_name *names, size_t count, uint8_t *buf,
			 size_t len);
size_t wire_pcapng_pkt(const struct wire_pcapng_pkt *pkt, uint8_t *buf, size_t len);

#endif
