/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a message of connection management: what is taken, once emitted, is taken again with
 * the same values, and so is the address in front of private data. */
#include "transport/cm/mad.h"
#include "util/check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[CM_MAD_BYTES], ip_bytes[CM_IP_BYTES];
	struct cm_mad mad, again;
	struct cm_ip ip, ip_again;

	if (!cm_mad_parse(&mad, data, size))
		return 0;
	CHECK(cm_private_bytes(mad.attr) > 0 && cm_private_bytes(mad.attr) <= CM_PRIVATE_MAX);
	cm_mad_emit(&mad, bytes);
	CHECK(cm_mad_parse(&again, bytes, sizeof(bytes)));
	CHECK(memcmp(&mad, &again, sizeof(mad)) == 0);
	if (!cm_ip_parse(&ip, mad.private_data))
		return 0;
	cm_ip_emit(&ip, ip_bytes);
	CHECK(cm_ip_parse(&ip_again, ip_bytes));
	CHECK(ip.is_ipv6 == ip_again.is_ipv6 && ip.port == ip_again.port);
	CHECK(memcmp(ip.src, ip_again.src, 16) == 0 && memcmp(ip.dst, ip_again.dst, 16) == 0);
	return 0;
}
