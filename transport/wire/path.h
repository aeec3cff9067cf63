/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PATH_H
#define WIRE_PATH_H

/* The network part of a packet as a value: how it is addressed and marked. An address handle
 * resolves to one; every packet of a QP travels with the same. IPv4 addresses are written as
 * IPv4-mapped IPv6 (::ffff:a.b.c.d), as a RoCEv2 GID does. */
#include <stdbool.h>
#include <stdint.h>

enum wire_ecn { WIRE_NOT_ECT = 0, WIRE_ECT1 = 1, WIRE_ECT0 = 2, WIRE_CE = 3 }; /* RFC 3168 */

struct wire_path {
	uint8_t src_ip[16], dst_ip[16]; /* network order */
	uint8_t src_mac[6], dst_mac[6];
	uint16_t vlan;	     /* VLAN id | PCP << 13; 0: untagged */
	uint16_t udp_sport;  /* 0xC000..0xFFFF for RoCEv2 */
	uint32_t flow_label; /* IPv6, 20 bits */
	uint16_t ip_id;	     /* IPv4 identification; covered by the ICRC */
	uint8_t dscp;	     /* 6 bits */
	uint8_t ecn;	     /* enum wire_ecn */
	uint8_t ttl;
	uint8_t priority; /* 0..15, of the fabric's queues (PCP, or what the DSCP maps to) */
	/* What the world underneath needs to reach the peer; set by its resolve(), opaque here.
	 * Simulation: destination node and flow hash. NIC: index of a resolved peer. */
	uint32_t link_dst, link_hash;
};

static inline bool wire_ip_is_ipv4(const uint8_t ip[16])
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	for (int i = 0; i < 12; i++)
		if (ip[i] != mapped[i])
			return false;
	return true;
}

/* 224.0.0.0/4 and ff00::/8 (RFC 5771, RFC 4291). */
static inline bool wire_ip_is_multicast(const uint8_t ip[16])
{
	return wire_ip_is_ipv4(ip) ? (ip[12] & 0xf0) == 0xe0 : ip[0] == 0xff;
}

static inline bool wire_path_is_ipv4(const struct wire_path *path)
{
	return wire_ip_is_ipv4(path->dst_ip);
}

#endif
