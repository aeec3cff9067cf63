/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

/* The invariant CRC that ends a RoCEv2 packet (IBTA vol. 1, 7.8.1 and annex A17.3.3; linux
 * drivers/infiniband/sw/rxe/rxe_icrc.c): the CRC-32 of Ethernet over eight bytes of ones, IP, UDP,
 * BTH, extension headers, payload and pad, where fields that change on the way count as ones:
 * IPv4 type of service, time to live, header checksum; IPv6 traffic class, flow label, hop limit;
 * the UDP checksum; and the BTH byte with FECN and BECN. All else is covered, among it the IPv4
 * identification, both lengths and both ports.
 *
 * The parts need not lie next to each other:
 *	state = wire_icrc_ip_udp(headers);
 *	state = wire_icrc_bth(state, bth);
 *	state = wire_icrc_add(state, rest, bytes);   any number of times
 *	wire_icrc_put(place, wire_icrc_end(state));
 * A state may be kept: that of the network headers of a path and a length serves all its
 * packets. */
#include <stddef.h>
#include <stdint.h>

/* @headers: an IPv4 header without options, or an IPv6 header without extensions, told by its
 * version, and the UDP header right behind it: 28 or 48 bytes. */
uint32_t wire_icrc_ip_udp(const uint8_t *headers);
uint32_t wire_icrc_bth(uint32_t state, const uint8_t *bth); /* its WIRE_BTH_BYTES */
uint32_t wire_icrc_add(uint32_t state, const uint8_t *bytes, size_t count);

static inline uint32_t wire_icrc_end(uint32_t state)
{
	return ~state;
}

/* The ICRC travels with its lowest byte first, unlike all other integers. */
void wire_icrc_put(uint8_t *p, uint32_t icrc);
uint32_t wire_icrc_get(const uint8_t *p);

/* Frame check sequence of an Ethernet frame, for who keeps it: the frames of this leaf end before
 * it. Travels as the ICRC does. */
uint32_t wire_fcs(const uint8_t *frame, size_t bytes);

#endif
