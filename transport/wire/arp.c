/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/arp.h"

#include "transport/wire/eth.h"
#include "transport/wire/internal.h"
#include "transport/wire/path.h"
#include "transport/wire/pkt.h"

/* ARP: 0-1 hardware type | 2-3 protocol | 4 bytes of MAC | 5 bytes of IP | 6-7 operation |
 *	8-13 sender MAC | 14-17 sender IP | 18-23 target MAC | 24-27 target IP
 * ND behind the IPv6 header: 0 type | 1 code | 2-3 checksum | 4-7 flags (advertisement) |
 *	8-23 target | options: 0 type | 1 length in 8 bytes | 2-7 MAC */
enum {
	ARP_BYTES = 28,
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
	ND_SOLICITATION = 135,
	ND_ADVERTISEMENT = 136,
	ND_FIXED_BYTES = 24,
	ND_BYTES = ND_FIXED_BYTES + 8, /* with the one option we write */
	ND_HOPS = 255,		       /* nothing from behind a router gets through */
	ND_SOLICITED = 0x40,
	ND_OVERRIDE = 0x20,
	OPTION_SOURCE_MAC = 1,
	OPTION_TARGET_MAC = 2,
};

static const uint8_t arp_head[6] = {0, 1, 8, 0, 6, 4}; /* Ethernet and IPv4, their sizes */
static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
/* Solicited-node group (RFC 4291, 2.7.1): this and the last three bytes of the address. */
static const uint8_t group_of_ip[13] = {0xff, 2, [11] = 1, [12] = 0xff};

static bool equal(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	uint8_t differ = 0;

	for (size_t i = 0; i < bytes; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

static bool is_zero(const uint8_t *p, size_t bytes)
{
	static const uint8_t zeros[16];

	return equal(p, zeros, bytes);
}

static bool is_group_mac(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* Of an ICMPv6 message behind its IPv6 header (RFC 8200, 8.1). */
static uint16_t icmp_checksum(const uint8_t *ip, size_t bytes)
{
	return wire_ip_checksum((uint32_t)bytes + WIRE_IP_ICMPV6 +
					(uint16_t)~wire_ip_checksum(0, ip + 8, 32),
				ip + WIRE_IPV6_BYTES, bytes);
}

static size_t emit_arp(const struct wire_neigh *neigh, uint8_t *p)
{
	memcpy(p, arp_head, 6);
	put16(p + 6, neigh->reply ? ARP_REPLY : ARP_REQUEST);
	memcpy(p + 8, neigh->sender_mac, 6);
	memcpy(p + 14, neigh->sender_ip + 12, 4);
	memset(p + 18, 0, 6);
	if (neigh->reply)
		memcpy(p + 18, neigh->peer_mac, 6);
	memcpy(p + 24, neigh->peer_ip + 12, 4);
	return ARP_BYTES;
}

static size_t emit_nd(const struct wire_neigh *neigh, const uint8_t *dst_ip, uint8_t *ip)
{
	uint8_t *p = ip + WIRE_IPV6_BYTES;
	/* RFC 4861, 4.3: who has no address yet may not say where to answer. */
	size_t bytes = is_zero(neigh->sender_ip, 16) ? ND_FIXED_BYTES : ND_BYTES;

	memset(ip, 0, WIRE_IPV6_BYTES + ND_BYTES);
	ip[0] = 0x60;
	put16(ip + 4, (uint32_t)bytes);
	ip[6] = WIRE_IP_ICMPV6;
	ip[7] = ND_HOPS;
	memcpy(ip + 8, neigh->sender_ip, 16);
	memcpy(ip + 24, dst_ip, 16);
	p[0] = neigh->reply ? ND_ADVERTISEMENT : ND_SOLICITATION;
	if (neigh->reply)
		p[4] = dst_ip[0] == 0xff ? ND_OVERRIDE : ND_SOLICITED | ND_OVERRIDE;
	memcpy(p + 8, neigh->reply ? neigh->sender_ip : neigh->peer_ip, 16);
	if (bytes == ND_BYTES) {
		p[24] = neigh->reply ? OPTION_TARGET_MAC : OPTION_SOURCE_MAC;
		p[25] = 1;
		memcpy(p + 26, neigh->sender_mac, 6);
	}
	put16(p + 2, icmp_checksum(ip, bytes));
	return WIRE_IPV6_BYTES + bytes;
}

/* Where the frame goes in both layers; an IPv4 address is not used. */
static void destination(const struct wire_neigh *neigh, bool ipv4, uint8_t *ret_mac,
			uint8_t *ret_ip)
{
	bool to_group = is_group_mac(neigh->peer_mac) || is_zero(neigh->peer_mac, 6) ||
			(!ipv4 && is_zero(neigh->sender_ip, 16));

	memcpy(ret_mac, neigh->peer_mac, 6);
	memcpy(ret_ip, neigh->peer_ip, 16);
	if (ipv4) {
		if (!neigh->reply && to_group)
			memcpy(ret_mac, broadcast, 6);
		return;
	}
	if (neigh->reply && is_zero(neigh->peer_ip, 16))
		memcpy(ret_ip, all_nodes, 16);
	else if (!neigh->reply && to_group)
		memcpy(ret_ip, group_of_ip, 13);
	else
		return;
	ret_mac[0] = ret_mac[1] = 0x33; /* RFC 2464, 7 */
	memcpy(ret_mac + 2, ret_ip + 12, 4);
}

size_t wire_neigh_emit(const struct wire_neigh *neigh, uint8_t *buf, size_t len)
{
	bool ipv4 = wire_ip_is_ipv4(neigh->reply ? neigh->sender_ip : neigh->peer_ip);
	struct wire_eth eth = {.vlan = neigh->vlan,
			       .type = ipv4 ? WIRE_ETHERTYPE_ARP : WIRE_ETHERTYPE_IPV6};
	uint8_t out[WIRE_NEIGH_MAX] = {0}, dst_ip[16];
	size_t bytes;

	destination(neigh, ipv4, eth.dst_mac, dst_ip);
	memcpy(eth.src_mac, neigh->sender_mac, 6);
	bytes = wire_eth_emit(&eth, out);
	bytes += ipv4 ? emit_arp(neigh, out + bytes) : emit_nd(neigh, dst_ip, out + bytes);
	if (bytes < WIRE_ETH_MIN_BYTES)
		bytes = WIRE_ETH_MIN_BYTES;
	if (len < bytes)
		return 0;
	memcpy(buf, out, bytes);
	return bytes;
}

static bool parse_arp(struct wire_neigh *neigh, const uint8_t *p, size_t len)
{
	if (len < ARP_BYTES || !equal(p, arp_head, 6))
		return false;
	if (get16(p + 6) != ARP_REQUEST && get16(p + 6) != ARP_REPLY)
		return false;
	neigh->reply = get16(p + 6) == ARP_REPLY;
	memcpy(neigh->sender_mac, p + 8, 6);
	put_mapped(neigh->sender_ip, p + 14);
	put_mapped(neigh->peer_ip, p + 24);
	return true;
}

/* Takes the MAC address out of the options; false: they are not well-formed. */
static bool parse_options(const uint8_t *p, size_t len, uint8_t type, uint8_t *mac, bool *ret_found)
{
	*ret_found = false;
	while (len > 0) {
		size_t bytes = len < 2 ? 0 : (size_t)p[1] * 8;

		if (bytes == 0 || bytes > len)
			return false;
		if (p[0] == type && bytes == 8) {
			memcpy(mac, p + 2, 6);
			*ret_found = true;
		}
		p += bytes;
		len -= bytes;
	}
	return true;
}

/* RFC 4861, 7.1.1. */
static bool parse_solicitation(struct wire_neigh *neigh, const uint8_t *ip, size_t bytes)
{
	const uint8_t *p = ip + WIRE_IPV6_BYTES;
	bool found;

	if (!parse_options(p + ND_FIXED_BYTES, bytes - ND_FIXED_BYTES, OPTION_SOURCE_MAC,
			   neigh->sender_mac, &found))
		return false;
	if (is_zero(ip + 8, 16) && (found || !equal(ip + 24, group_of_ip, 13)))
		return false;
	neigh->reply = false;
	memcpy(neigh->sender_ip, ip + 8, 16);
	memcpy(neigh->peer_ip, p + 8, 16);
	return true;
}

/* RFC 4861, 7.1.2. */
static bool parse_advertisement(struct wire_neigh *neigh, const uint8_t *ip, size_t bytes)
{
	const uint8_t *p = ip + WIRE_IPV6_BYTES;
	bool found;

	if (!parse_options(p + ND_FIXED_BYTES, bytes - ND_FIXED_BYTES, OPTION_TARGET_MAC,
			   neigh->sender_mac, &found))
		return false;
	if (ip[24] == 0xff && (p[4] & ND_SOLICITED) != 0)
		return false;
	neigh->reply = true;
	memcpy(neigh->sender_ip, p + 8, 16);
	memset(neigh->peer_ip, 0, 16);
	if (ip[24] != 0xff)
		memcpy(neigh->peer_ip, ip + 24, 16);
	return true;
}

static bool parse_nd(struct wire_neigh *neigh, const uint8_t *ip, size_t len)
{
	const uint8_t *p = ip + WIRE_IPV6_BYTES;
	size_t bytes;

	if (len < WIRE_IPV6_BYTES + ND_FIXED_BYTES || ip[0] >> 4 != 6)
		return false;
	bytes = get16(ip + 4);
	if (ip[6] != WIRE_IP_ICMPV6 || ip[7] != ND_HOPS || bytes < ND_FIXED_BYTES ||
	    bytes > len - WIRE_IPV6_BYTES)
		return false;
	if (p[1] != 0 || icmp_checksum(ip, bytes) != 0)
		return false;
	/* Source and target name one interface; an IPv4-mapped one would be asked for by ARP. */
	if (ip[8] == 0xff || p[8] == 0xff || is_zero(p + 8, 16) || wire_ip_is_ipv4(p + 8) ||
	    wire_ip_is_ipv4(ip + 8))
		return false;
	if (p[0] == ND_SOLICITATION)
		return parse_solicitation(neigh, ip, bytes);
	return p[0] == ND_ADVERTISEMENT && parse_advertisement(neigh, ip, bytes);
}

bool wire_neigh_parse(struct wire_neigh *neigh, const uint8_t *buf, size_t len)
{
	struct wire_eth eth;
	size_t at = wire_eth_parse(&eth, buf, len);
	struct wire_neigh out = {0};

	if (at == 0)
		return false;
	out.vlan = eth.vlan;
	memcpy(out.sender_mac, eth.src_mac, 6);
	memcpy(out.peer_mac, eth.dst_mac, 6);
	if (eth.type == WIRE_ETHERTYPE_ARP) {
		if (!parse_arp(&out, buf + at, len - at))
			return false;
	} else if (eth.type != WIRE_ETHERTYPE_IPV6 || !parse_nd(&out, buf + at, len - at)) {
		return false;
	}
	if (is_group_mac(out.sender_mac) || is_zero(out.sender_mac, 6))
		return false;
	*neigh = out;
	return true;
}

void wire_neigh_answer(const struct wire_neigh *request, const uint8_t mac[6],
		       struct wire_neigh *ret_reply)
{
	struct wire_neigh reply = {.reply = true, .vlan = request->vlan};

	memcpy(reply.sender_mac, mac, 6);
	memcpy(reply.sender_ip, request->peer_ip, 16);
	memcpy(reply.peer_mac, request->sender_mac, 6);
	memcpy(reply.peer_ip, request->sender_ip, 16);
	*ret_reply = reply;
}
