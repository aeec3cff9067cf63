/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/host.h"

#include "transport/wire/path.h"
#include "transport/wire/pkt.h"
#include "util/siphash.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)NIC_HOST_TEXT_MAX >= INET6_ADDRSTRLEN, "any address");

#define FIRST ".nic0"

bool nic_host_address(const char *host, char ret_text[NIC_HOST_TEXT_MAX])
{
	const size_t length = strlen(host), first = sizeof(FIRST) - 1;
	const bool is_first = length > first && strcmp(host + length - first, FIRST) == 0;
	char name[256];
	uint64_t hash;
	uint8_t any[16];

	if (length == 0 || length >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(is_first ? length - first : length), host);
	hash = util_hash_name(name);
	if (inet_pton(AF_INET, host, any) == 1 || inet_pton(AF_INET6, host, any) == 1)
		snprintf(ret_text, NIC_HOST_TEXT_MAX, "%s", host);
	else
		snprintf(ret_text, NIC_HOST_TEXT_MAX, "127.%u.%u.%u",
			 (unsigned int)(1 + hash % 254), (unsigned int)(hash / 254 % 256),
			 (unsigned int)(1 + hash / 254 / 256 % 254));
	return true;
}

int nic_addr_parse(const char *text, uint8_t ret_ip[16], uint32_t *ret_scope_id)
{
	const char *percent = strchr(text, '%');
	size_t length = percent ? (size_t)(percent - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	unsigned scope_id = 0;

	if (length >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = '\0';
	if (percent) {
		scope_id = ret_scope_id ? if_nametoindex(percent + 1) : 0;
		if (scope_id == 0)
			return -EINVAL;
	}
	if (inet_pton(AF_INET, address, ip + 12) != 1 && inet_pton(AF_INET6, address, ip) != 1)
		return -EINVAL;
	memcpy(ret_ip, ip, sizeof(ip));
	if (scope_id != 0)
		*ret_scope_id = scope_id;
	return 0;
}

bool nic_host_is_gone(const uint8_t ip[16])
{
	const bool is_loopback = wire_ip_is_ipv4(ip) && ip[12] == 127;
	FILE *file = is_loopback ? fopen("/proc/net/udp", "re") : NULL;
	bool is_there = false;
	char line[256];
	uint32_t own;

	if (!file)
		return false;
	/*
	 * The kernel prints a number in its machine's byte order. A program that is
	 * emulated (qemu-user) may have the other one, so either is this address.
	 */
	memcpy(&own, ip + 12, sizeof(own));
	while (!is_there && fgets(line, sizeof(line), file)) {
		unsigned int address, port;

		is_there = sscanf(line, " %*u: %8x:%4x", &address, &port) == 2 &&
			   port == WIRE_UDP_PORT &&
			   (address == own || address == __builtin_bswap32(own) ||
			    address == INADDR_ANY);
	}
	fclose(file);
	return !is_there;
}
