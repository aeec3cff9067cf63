/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MCAST_H
#define WIRE_MCAST_H

/* How groups of multicast are addressed; IPv4 as in struct wire_path. */
#include <stdint.h>

/* The MAC address of @ip (RFC 1112, 6.4; RFC 2464, 7). */
void wire_mcast_mac(const uint8_t ip[16], uint8_t ret_mac[6]);
/* Where there is IPv4 alone: a group of IPv6 is one of 239.192.0.0/14 (RFC 2365), which its last
 * bits say; one of IPv4 is itself. @ret_ip may be @gid. */
void wire_mcast_ipv4(const uint8_t gid[16], uint8_t ret_ip[16]);

#endif
