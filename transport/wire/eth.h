/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ETH_H
#define WIRE_ETH_H

/* What all kinds of frames share: the Ethernet header and the Internet checksum. */
#include <stddef.h>
#include <stdint.h>

/* IEEE 802 and IANA numbers. */
enum {
	WIRE_ETH_BYTES = 14,
	WIRE_VLAN_BYTES = 4,
	WIRE_ETH_MIN_BYTES = 60, /* shorter frames are padded to it; with the FCS 64 (IEEE 802.3) */
	WIRE_ETHERTYPE_IPV4 = 0x0800,
	WIRE_ETHERTYPE_ARP = 0x0806,
	WIRE_ETHERTYPE_VLAN = 0x8100,
	WIRE_ETHERTYPE_IPV6 = 0x86dd,
	WIRE_ETHERTYPE_MAC_CONTROL = 0x8808,
	WIRE_IP_UDP = 17,
	WIRE_IP_FRAGMENT = 44,
	WIRE_IP_ICMPV6 = 58,
};

struct wire_eth {
	uint8_t dst_mac[6], src_mac[6];
	uint16_t vlan; /* as in struct wire_path; without the drop-eligible bit */
	uint16_t type; /* of what follows the header and the tag */
};

/* Header and, if eth->vlan is not 0, an 802.1Q tag: 14 or 18 bytes, which @buf must have. */
size_t wire_eth_emit(const struct wire_eth *eth, uint8_t *buf);
/* Bytes of header and tag; 0: @len is too short for them, @eth as it was. */
size_t wire_eth_parse(struct wire_eth *eth, const uint8_t *buf, size_t len);

/* Internet checksum (RFC 1071) of @bytes behind a @sum of 16-bit words; 0 over bytes that hold
 * their own right checksum. An odd last byte counts as if a zero followed. */
uint16_t wire_ip_checksum(uint32_t sum, const uint8_t *bytes, size_t count);

#endif
