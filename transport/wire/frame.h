/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

/* Whole RoCEv2 packets between value and bytes: Ethernet frames (for raw links, captures and
 * corruption faults), or what a UDP socket carries, where a kernel makes and eats the headers
 * below. Frames here have neither preamble nor frame check sequence; what a packet takes on the
 * wire, all included, say the wire_frame_wire_ functions. */
#include "transport/wire/bth.h"
#include "transport/wire/eth.h"
#include "transport/wire/path.h"

enum {
	WIRE_FCS_BYTES = 4,
	WIRE_PREAMBLE_BYTES = 8, /* with the start of frame delimiter */
	WIRE_GAP_BYTES = 12,	 /* smallest interframe gap */
	WIRE_UDP_PAYLOAD_MAX = WIRE_BTH_MAX + WIRE_ICRC_BYTES,
	WIRE_FRAME_MAX = WIRE_ETH_BYTES + WIRE_VLAN_BYTES + WIRE_IPV6_BYTES + WIRE_UDP_BYTES +
			 WIRE_UDP_PAYLOAD_MAX,
};

/* What a frame turned out to be. Only WIRE_OK has filled the values. */
enum wire_verdict {
	WIRE_OK,
	WIRE_NOT_ROCE,	    /* another Ethertype, IP protocol or UDP port: not for us */
	WIRE_FRAGMENT,	    /* of an IP datagram; RoCE packets are never fragmented */
	WIRE_MALFORMED,	    /* Ethernet, IP or UDP break their own rules */
	WIRE_BAD_CHECKSUM,  /* of the IPv4 header */
	WIRE_BAD_ICRC,	    /* damaged on the way */
	WIRE_BAD_TRANSPORT, /* whole, but wire_bth_parse() refuses it */
};
enum { WIRE_VERDICT_COUNT = WIRE_BAD_TRANSPORT + 1 };

const char *wire_verdict_name(enum wire_verdict verdict); /* "bad_icrc" */

/* Writes Ethernet, an 802.1Q tag if path->vlan is not 0, IPv4 or IPv6 (wire_path_is_ipv4()), UDP
 * with checksum 0, the packet and its ICRC, and zeros up to WIRE_ETH_MIN_BYTES. IPv4 has "don't
 * fragment" set. Returns the bytes written, or 0 where @len has no room for them. */
size_t wire_frame_emit(const struct wire_path *path, const struct wire_pkt *pkt, uint8_t *buf,
		       size_t len);

/* The same where nobody wants more than the first @head bytes, which alone hold: less work, for
 * neither a payload behind them is made nor an ICRC. */
size_t wire_frame_emit_head(const struct wire_path *path, const struct wire_pkt *pkt, size_t head,
			    uint8_t *buf, size_t len);

/* Reads a frame without its FCS. pkt->payload points into @buf, see wire_bth_parse().
 * Not accepted: IPv4 options, IPv6 extension headers, IPv4-mapped addresses in IPv6 headers,
 * fragments, a time to live of 0, lengths of IP and UDP that disagree or pass the end of the
 * frame, a UDP port other than WIRE_UDP_PORT. Bytes behind the IP packet are Ethernet padding and
 * ignored, and so is the UDP checksum, which the ICRC does not cover and makes needless.
 * The order of the checks is network headers, ICRC, transport: a packet damaged behind the UDP
 * header counts as WIRE_BAD_ICRC, whatever it would have said.
 * path->priority is the tag's, else the upper three bits of the DSCP; link_dst, link_hash are 0. */
enum wire_verdict wire_frame_parse(struct wire_path *ret_path, struct wire_pkt *pkt, uint8_t *buf,
				   size_t len);
/* The same of a frame on a link of a simulated fabric, see wire_bth_parse_stamped(). */
enum wire_verdict wire_frame_parse_stamped(struct wire_path *ret_path, struct wire_pkt *pkt,
					   uint8_t *buf, size_t len);

/* The same for the payload of a UDP datagram to port WIRE_UDP_PORT: BTH to ICRC. The ICRC covers
 * headers that only the kernel sees, so @path must say what it writes (or wrote) there: both
 * addresses, udp_sport, and for IPv4 ip_id, which is 0 for a socket that was never connected and
 * has IP_PMTUDISC_DO (so that "don't fragment" is set, which is taken for granted). */
size_t wire_udp_emit(const struct wire_path *path, const struct wire_pkt *pkt, uint8_t *buf,
		     size_t len);
/* Never WIRE_NOT_ROCE, WIRE_FRAGMENT or WIRE_BAD_CHECKSUM; WIRE_MALFORMED: too short or long. */
enum wire_verdict wire_udp_parse(const struct wire_path *path, struct wire_pkt *pkt, uint8_t *buf,
				 size_t len);

/* The global route header that a datagram's receiver gets: the IPv6 header of the packet, or 20
 * zeros and its IPv4 header (IBTA annex A17.4.5.1). @pkt_bytes: wire_pkt_bytes(). */
void wire_frame_grh(const struct wire_path *path, size_t pkt_bytes,
		    uint8_t ret_grh[WIRE_GRH_BYTES]);

/* What shapes the headers below BTH; for sizes alone. */
enum { WIRE_SHAPE_IPV6 = 1, WIRE_SHAPE_VLAN = 2 };

static inline unsigned wire_path_shape(const struct wire_path *path)
{
	return (wire_path_is_ipv4(path) ? 0u : WIRE_SHAPE_IPV6) |
	       (path->vlan ? WIRE_SHAPE_VLAN : 0u);
}

/* Bytes of link time that a packet of this shape takes besides wire_pkt_bytes(): preamble,
 * Ethernet, IP, UDP, FCS and gap. IPv4 without a tag: 66. */
static inline uint32_t wire_frame_overhead(unsigned shape)
{
	return WIRE_PREAMBLE_BYTES + WIRE_ETH_BYTES + WIRE_UDP_BYTES + WIRE_FCS_BYTES +
	       WIRE_GAP_BYTES + (shape & WIRE_SHAPE_VLAN ? (uint32_t)WIRE_VLAN_BYTES : 0) +
	       (shape & WIRE_SHAPE_IPV6 ? (uint32_t)WIRE_IPV6_BYTES : (uint32_t)WIRE_IPV4_BYTES);
}

/* The smallest frame's link time, 84; a tagged frame may be as short as an untagged one. */
enum {
	WIRE_MIN_WIRE_BYTES =
		WIRE_ETH_MIN_BYTES + WIRE_FCS_BYTES + WIRE_PREAMBLE_BYTES + WIRE_GAP_BYTES
};

/* For hot paths, with wire_frame_overhead() at hand: bytes of link time of @pkt_bytes =
 * wire_pkt_bytes(). */
static inline uint32_t wire_frame_wire_bytes_of(uint32_t overhead, size_t pkt_bytes)
{
	uint32_t bytes = overhead + (uint32_t)pkt_bytes;

	return bytes < WIRE_MIN_WIRE_BYTES ? (uint32_t)WIRE_MIN_WIRE_BYTES : bytes;
}

/* Bytes of link time: the frame with its FCS, preamble and gap. */
static inline uint32_t wire_frame_wire_bytes(unsigned shape, const struct wire_pkt *pkt)
{
	return wire_frame_wire_bytes_of(wire_frame_overhead(shape), wire_pkt_bytes(pkt));
}

#endif
