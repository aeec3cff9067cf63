/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/frame.h"

#include "transport/wire/icrc.h"
#include "transport/wire/internal.h"
#include "util/check.h"

#include <string.h>

/* IPv4 (RFC 791): 0 version(4).IHL(4) | 1 DSCP(6).ECN(2) | 2-3 total length | 4-5 identification |
 *	     6-7 reserved.DF.MF.offset(13) | 8 TTL | 9 protocol | 10-11 checksum | 12-19 addresses
 * IPv6 (RFC 8200): 0-3 version(4).class(8).flow label(20) | 4-5 payload length | 6 next header |
 *	     7 hop limit | 8-39 addresses
 * UDP (RFC 768): 0-1 source | 2-3 destination | 4-5 length | 6-7 checksum */
enum {
	IPV4_MORE = 0x2000,
	IPV4_OFFSET = 0x1fff,
	IPV4_DF = 0x4000,
	IPV4_RESERVED = 0x8000,
	MIN_PKT_BYTES = WIRE_BTH_BYTES + WIRE_ICRC_BYTES,
};

const char *wire_verdict_name(enum wire_verdict verdict)
{
	static const char names[WIRE_VERDICT_COUNT][16] = {
		[WIRE_OK] = "ok",
		[WIRE_NOT_ROCE] = "not_roce",
		[WIRE_FRAGMENT] = "fragment",
		[WIRE_MALFORMED] = "malformed",
		[WIRE_BAD_CHECKSUM] = "bad_checksum",
		[WIRE_BAD_ICRC] = "bad_icrc",
		[WIRE_BAD_TRANSPORT] = "bad_transport",
	};

	CHECK((unsigned)verdict < WIRE_VERDICT_COUNT);
	return names[verdict];
}

/* Writes IP and UDP headers for @bytes from BTH to ICRC; returns the bytes written. The IPv4
 * checksum is left 0. */
static size_t put_ip_udp(uint8_t *p, const struct wire_path *path, size_t bytes)
{
	bool ipv4 = wire_path_is_ipv4(path);
	size_t ip = ipv4 ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES;
	uint32_t udp_bytes = (uint32_t)bytes + WIRE_UDP_BYTES;
	uint32_t class = (path->dscp & 0x3fu) << 2 | (path->ecn & 3u);

	if (ipv4) {
		p[0] = 0x45;
		p[1] = (uint8_t) class;
		put16(p + 2, udp_bytes + WIRE_IPV4_BYTES);
		put16(p + 4, path->ip_id);
		put16(p + 6, IPV4_DF);
		p[8] = path->ttl;
		p[9] = WIRE_IP_UDP;
		put16(p + 10, 0);
		memcpy(p + 12, path->src_ip + 12, 4);
		memcpy(p + 16, path->dst_ip + 12, 4);
	} else {
		put32(p, 6u << 28 | class << 20 | (path->flow_label & 0xfffff));
		put16(p + 4, udp_bytes);
		p[6] = WIRE_IP_UDP;
		p[7] = path->ttl;
		memcpy(p + 8, path->src_ip, 16);
		memcpy(p + 24, path->dst_ip, 16);
	}
	put16(p + ip, path->udp_sport);
	put16(p + ip + 2, WIRE_UDP_PORT);
	put16(p + ip + 4, udp_bytes);
	put16(p + ip + 6, 0);
	return ip + WIRE_UDP_BYTES;
}

void wire_frame_grh(const struct wire_path *path, size_t pkt_bytes, uint8_t ret_grh[WIRE_GRH_BYTES])
{
	uint8_t headers[WIRE_IPV6_BYTES + WIRE_UDP_BYTES];

	put_ip_udp(headers, path, pkt_bytes);
	if (!wire_path_is_ipv4(path)) {
		memcpy(ret_grh, headers, WIRE_IPV6_BYTES);
		return;
	}
	put16(headers + 10, wire_ip_checksum(0, headers, WIRE_IPV4_BYTES));
	memset(ret_grh, 0, WIRE_GRH_BYTES - WIRE_IPV4_BYTES);
	memcpy(ret_grh + WIRE_GRH_BYTES - WIRE_IPV4_BYTES, headers, WIRE_IPV4_BYTES);
}

/* Of the @len bytes at @bth under the network headers @ip_udp. */
static uint32_t icrc_of(const uint8_t *ip_udp, const uint8_t *bth, size_t len)
{
	uint32_t state = wire_icrc_bth(wire_icrc_ip_udp(ip_udp), bth);

	return wire_icrc_end(wire_icrc_add(state, bth + WIRE_BTH_BYTES, len - WIRE_BTH_BYTES));
}

static size_t bytes_below_bth(const struct wire_path *path)
{
	return WIRE_ETH_BYTES + (path->vlan ? WIRE_VLAN_BYTES : 0) +
	       (wire_path_is_ipv4(path) ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES) + WIRE_UDP_BYTES;
}

/* @bytes: from BTH to ICRC. Returns where IP begins; BTH is at @buf + bytes_below_bth(). */
static uint8_t *put_below_bth(uint8_t *buf, const struct wire_path *path, size_t bytes)
{
	bool ipv4 = wire_path_is_ipv4(path);
	struct wire_eth eth = {.vlan = path->vlan,
			       .type = ipv4 ? WIRE_ETHERTYPE_IPV4 : WIRE_ETHERTYPE_IPV6};
	uint8_t *ip;

	memcpy(eth.dst_mac, path->dst_mac, 6);
	memcpy(eth.src_mac, path->src_mac, 6);
	ip = buf + wire_eth_emit(&eth, buf);
	put_ip_udp(ip, path, bytes);
	if (ipv4)
		put16(ip + 10, wire_ip_checksum(0, ip, WIRE_IPV4_BYTES));
	return ip;
}

size_t wire_frame_emit(const struct wire_path *path, const struct wire_pkt *pkt, uint8_t *buf,
		       size_t len)
{
	size_t bytes = wire_pkt_bytes(pkt), total = bytes_below_bth(path) + bytes;
	uint8_t *ip, *bth;

	if (len < total || len < WIRE_ETH_MIN_BYTES)
		return 0;
	ip = put_below_bth(buf, path, bytes);
	bth = buf + bytes_below_bth(path);
	bytes -= WIRE_ICRC_BYTES;
	CHECK(wire_bth_emit(pkt, bth, bytes) == bytes);
	wire_icrc_put(bth + bytes, icrc_of(ip, bth, bytes));
	if (total < WIRE_ETH_MIN_BYTES) {
		memset(buf + total, 0, WIRE_ETH_MIN_BYTES - total);
		total = WIRE_ETH_MIN_BYTES;
	}
	return total;
}

size_t wire_frame_emit_head(const struct wire_path *path, const struct wire_pkt *pkt, size_t head,
			    uint8_t *buf, size_t len)
{
	size_t bytes = wire_pkt_bytes(pkt), total = bytes_below_bth(path) + bytes, left;
	uint8_t *p = buf + bytes_below_bth(path);

	if (head + WIRE_ICRC_BYTES > total || len < total || len < WIRE_ETH_MIN_BYTES)
		return wire_frame_emit(path, pkt, buf, len);
	put_below_bth(buf, path, bytes);
	p += wire_bth_emit_headers(pkt, p, len - (size_t)(p - buf));
	left = head > (size_t)(p - buf) ? head - (size_t)(p - buf) : 0;
	if (left > pkt->length) {
		memset(p + pkt->length, 0, left - pkt->length); /* pad */
		left = pkt->length;
	}
	if (pkt->synthetic)
		wire_pattern_bytes(pkt->pattern, p, left);
	else if (left > 0)
		memcpy(p, pkt->payload, left);
	return total < WIRE_ETH_MIN_BYTES ? WIRE_ETH_MIN_BYTES : total;
}

/* Both parsers of IP take what the frame has behind Ethernet and leave in *@len the bytes behind
 * the IP header, as it says. */
static enum wire_verdict parse_ipv4(struct wire_path *path, const uint8_t *ip, size_t *len)
{
	size_t total;

	if (*len < WIRE_IPV4_BYTES || ip[0] >> 4 != 4)
		return WIRE_MALFORMED;
	if (ip[9] != WIRE_IP_UDP)
		return WIRE_NOT_ROCE;
	total = get16(ip + 2);
	if (ip[0] != 0x45 || total < WIRE_IPV4_BYTES || total > *len)
		return WIRE_MALFORMED;
	if (wire_ip_checksum(0, ip, WIRE_IPV4_BYTES) != 0)
		return WIRE_BAD_CHECKSUM;
	if ((get16(ip + 6) & (IPV4_MORE | IPV4_OFFSET)) != 0)
		return WIRE_FRAGMENT;
	if ((get16(ip + 6) & IPV4_RESERVED) != 0 || ip[8] == 0)
		return WIRE_MALFORMED;
	put_mapped(path->src_ip, ip + 12);
	put_mapped(path->dst_ip, ip + 16);
	path->ip_id = get16(ip + 4);
	path->dscp = ip[1] >> 2;
	path->ecn = ip[1] & 3;
	path->ttl = ip[8];
	*len = total - WIRE_IPV4_BYTES;
	return WIRE_OK;
}

static enum wire_verdict parse_ipv6(struct wire_path *path, const uint8_t *ip, size_t *len)
{
	uint32_t first;

	if (*len < WIRE_IPV6_BYTES || ip[0] >> 4 != 6)
		return WIRE_MALFORMED;
	if (ip[6] == WIRE_IP_FRAGMENT)
		return WIRE_FRAGMENT;
	if (ip[6] != WIRE_IP_UDP)
		return WIRE_NOT_ROCE;
	if (get16(ip + 4) > *len - WIRE_IPV6_BYTES || ip[7] == 0)
		return WIRE_MALFORMED;
	first = get32(ip);
	memcpy(path->src_ip, ip + 8, 16);
	memcpy(path->dst_ip, ip + 24, 16);
	if (wire_ip_is_ipv4(path->src_ip) || wire_ip_is_ipv4(path->dst_ip))
		return WIRE_MALFORMED;
	path->flow_label = first & 0xfffff;
	path->dscp = first >> 22 & 0x3f;
	path->ecn = first >> 20 & 3;
	path->ttl = ip[7];
	*len = get16(ip + 4);
	return WIRE_OK;
}

/* Reads up to UDP; on WIRE_OK @ret_bth has *@ret_len bytes from BTH to ICRC, at least the least. */
static enum wire_verdict parse_network(struct wire_path *path, uint8_t *ip, size_t len,
				       uint16_t type, uint8_t **ret_bth, size_t *ret_len)
{
	enum wire_verdict verdict;
	const uint8_t *udp;

	if (type == WIRE_ETHERTYPE_IPV4)
		verdict = parse_ipv4(path, ip, &len);
	else if (type == WIRE_ETHERTYPE_IPV6)
		verdict = parse_ipv6(path, ip, &len);
	else
		return WIRE_NOT_ROCE;
	if (verdict != WIRE_OK)
		return verdict;
	udp = ip + (type == WIRE_ETHERTYPE_IPV4 ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES);
	if (len < WIRE_UDP_BYTES)
		return WIRE_MALFORMED;
	if (get16(udp + 2) != WIRE_UDP_PORT)
		return WIRE_NOT_ROCE;
	if (get16(udp + 4) != len || len < WIRE_UDP_BYTES + MIN_PKT_BYTES)
		return WIRE_MALFORMED;
	path->udp_sport = get16(udp);
	*ret_bth = ip + (udp - ip) + WIRE_UDP_BYTES;
	*ret_len = len - WIRE_UDP_BYTES;
	return WIRE_OK;
}

/* @len: from BTH to ICRC. */
static enum wire_verdict parse_transport(struct wire_pkt *pkt, const uint8_t *ip_udp, uint8_t *bth,
					 size_t len, bool is_stamped)
{
	len -= WIRE_ICRC_BYTES;
	if (wire_icrc_get(bth + len) != icrc_of(ip_udp, bth, len))
		return WIRE_BAD_ICRC;
	if (is_stamped ? wire_bth_parse_stamped(pkt, bth, len) : wire_bth_parse(pkt, bth, len))
		return WIRE_OK;
	return WIRE_BAD_TRANSPORT;
}

static enum wire_verdict parse_frame(struct wire_path *ret_path, struct wire_pkt *pkt, uint8_t *buf,
				     size_t len, bool is_stamped)
{
	struct wire_path path = {0};
	enum wire_verdict verdict;
	struct wire_eth eth;
	size_t at = wire_eth_parse(&eth, buf, len), bytes;
	uint8_t *bth;

	if (at == 0)
		return WIRE_MALFORMED;
	verdict = parse_network(&path, buf + at, len - at, eth.type, &bth, &bytes);
	if (verdict == WIRE_OK)
		verdict = parse_transport(pkt, buf + at, bth, bytes, is_stamped);
	if (verdict != WIRE_OK)
		return verdict;
	memcpy(path.dst_mac, eth.dst_mac, 6);
	memcpy(path.src_mac, eth.src_mac, 6);
	path.vlan = eth.vlan;
	path.priority = at > WIRE_ETH_BYTES ? (uint8_t)(eth.vlan >> 13) : path.dscp >> 3;
	*ret_path = path;
	return WIRE_OK;
}

enum wire_verdict wire_frame_parse(struct wire_path *ret_path, struct wire_pkt *pkt, uint8_t *buf,
				   size_t len)
{
	return parse_frame(ret_path, pkt, buf, len, false);
}

enum wire_verdict wire_frame_parse_stamped(struct wire_path *ret_path, struct wire_pkt *pkt,
					   uint8_t *buf, size_t len)
{
	return parse_frame(ret_path, pkt, buf, len, true);
}

size_t wire_udp_emit(const struct wire_path *path, const struct wire_pkt *pkt, uint8_t *buf,
		     size_t len)
{
	uint8_t headers[WIRE_IPV6_BYTES + WIRE_UDP_BYTES];
	size_t total = wire_pkt_bytes(pkt), bytes = total - WIRE_ICRC_BYTES;

	if (len < total)
		return 0;
	put_ip_udp(headers, path, total);
	CHECK(wire_bth_emit(pkt, buf, bytes) == bytes);
	wire_icrc_put(buf + bytes, icrc_of(headers, buf, bytes));
	return total;
}

enum wire_verdict wire_udp_parse(const struct wire_path *path, struct wire_pkt *pkt, uint8_t *buf,
				 size_t len)
{
	uint8_t headers[WIRE_IPV6_BYTES + WIRE_UDP_BYTES];

	if (len < MIN_PKT_BYTES || len > WIRE_UDP_PAYLOAD_MAX)
		return WIRE_MALFORMED;
	put_ip_udp(headers, path, len);
	return parse_transport(pkt, headers, buf, len, false);
}
