/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/eth.h"

#include "transport/wire/internal.h"

#include <string.h>

enum { VLAN_MASK = 0xefff }; /* PCP and VID; the bit between says "may be dropped first" */

size_t wire_eth_emit(const struct wire_eth *eth, uint8_t *buf)
{
	size_t bytes = WIRE_ETH_BYTES;

	memcpy(buf, eth->dst_mac, 6);
	memcpy(buf + 6, eth->src_mac, 6);
	if (eth->vlan != 0) {
		put16(buf + 12, WIRE_ETHERTYPE_VLAN);
		put16(buf + 14, eth->vlan & VLAN_MASK);
		bytes += WIRE_VLAN_BYTES;
	}
	put16(buf + bytes - 2, eth->type);
	return bytes;
}

size_t wire_eth_parse(struct wire_eth *eth, const uint8_t *buf, size_t len)
{
	size_t bytes = WIRE_ETH_BYTES;

	if (len < bytes)
		return 0;
	if (get16(buf + 12) == WIRE_ETHERTYPE_VLAN)
		bytes += WIRE_VLAN_BYTES;
	if (len < bytes)
		return 0;
	memcpy(eth->dst_mac, buf, 6);
	memcpy(eth->src_mac, buf + 6, 6);
	eth->vlan = bytes > WIRE_ETH_BYTES ? get16(buf + 14) & VLAN_MASK : 0;
	eth->type = get16(buf + bytes - 2);
	return bytes;
}

uint16_t wire_ip_checksum(uint32_t sum, const uint8_t *bytes, size_t count)
{
	for (; count >= 2; bytes += 2, count -= 2)
		sum += get16(bytes);
	if (count > 0)
		sum += (uint32_t)*bytes << 8;
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
