/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/mcast.h"

#include "transport/wire/path.h"

#include <string.h>

void wire_mcast_mac(const uint8_t ip[16], uint8_t ret_mac[6])
{
	static const uint8_t v4[3] = {0x01, 0x00, 0x5e};

	memset(ret_mac, 0x33, 2);
	memcpy(ret_mac + 2, ip + 12, 4);
	if (!wire_ip_is_ipv4(ip))
		return;
	memcpy(ret_mac, v4, sizeof(v4));
	ret_mac[3] &= 0x7f;
}

void wire_mcast_ipv4(const uint8_t gid[16], uint8_t ret_ip[16])
{
	const uint8_t ipv4[16] = {[10] = 0xff, 0xff, 239, 192 | (gid[13] & 3), gid[14], gid[15]};

	memmove(ret_ip, wire_ip_is_ipv4(gid) ? gid : ipv4, 16);
}
