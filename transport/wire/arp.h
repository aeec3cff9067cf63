/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ARP_H
#define WIRE_ARP_H

/* Who has this address? ARP (RFC 826) for IPv4 and neighbour discovery (RFC 4861) for IPv6 as one
 * value, for a NIC that stands on a raw Ethernet link. Which address wants which of the two is told
 * by the address itself (IPv4-mapped or not, see path.h). No cache and no timers here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_neigh {
	bool reply;	       /* ARP reply, neighbour advertisement; else request, solicitation */
	uint16_t vlan;	       /* as in struct wire_path */
	uint8_t sender_mac[6]; /* who speaks; Ethernet source */
	uint8_t sender_ip[16]; /* whose address that is; a request may have an unspecified one */
	uint8_t peer_mac[6]; /* Ethernet destination; a request with zeros or a group address here,
			      * or of nobody's, goes to the group that has to listen */
	uint8_t peer_ip[16]; /* request: the address sought; reply: of him who asked */
};

enum { WIRE_NEIGH_MAX = 90 }; /* a tagged solicitation */

/* Writes the frame, padded to WIRE_ETH_MIN_BYTES, without FCS. Returns the bytes written, or 0
 * where
 * @len has no room for them. An advertisement says "solicited" and "override", or only the latter
 * to all nodes where the asker had no address yet (peer_ip unspecified). */
size_t wire_neigh_emit(const struct wire_neigh *neigh, uint8_t *buf, size_t len);

/* False, with @neigh as it was: another kind of frame, or one that breaks a rule of RFC 826
 * (kinds and sizes of address) or of RFC 4861, 7.1.1 and 7.1.2 (hop limit 255, checksum, code 0,
 * length, options of no length, group address as target, ...); also a sender that would answer to
 * a group's MAC. Without the option that carries it, sender_mac is the Ethernet source.
 * sender_ip of an advertisement is its target: what it asserts. */
bool wire_neigh_parse(struct wire_neigh *neigh, const uint8_t *buf, size_t len);

/* What the owner of request->peer_ip answers, whose MAC address is @mac. */
void wire_neigh_answer(const struct wire_neigh *request, const uint8_t mac[6],
		       struct wire_neigh *ret_reply);

#endif
