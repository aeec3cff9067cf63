/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cm/mad.h"

#include "transport/wire/path.h"
#include "util/check.h"

#include <string.h>

enum {
	BASE_VERSION = 1,
	CLASS_CM = 7,
	CLASS_VERSION = 2,
	METHOD_SEND = 3,
	NO_LID = 0xffff, /* where there are no LIDs: the permissive one, as the kernel says */
	IP_VERSION_AT = 1,
	IP_PORT_AT = 2,
	IP_SRC_AT = 4,
	IP_DST_AT = 20,
};

/* One field: where it is, in bits from the end of the header, and which member it is. */
struct mad_field {
	uint16_t attr, at, bits;
	uint16_t member, member_bytes;
};
#define FIELD(attr, at, bits, member)                                                              \
	{                                                                                          \
		attr, at, bits, offsetof(struct cm_mad, member),                                   \
			sizeof(((struct cm_mad *)NULL)->member)                                    \
	}

/* IBTA 12.6.5 to 12.6.13, 12.11.1. */
static const struct mad_field fields[] = {
	FIELD(CM_REQ, 0, 32, local_id),
	FIELD(CM_REQ, 64, 64, service_id),
	FIELD(CM_REQ, 128, 64, ca_guid),
	FIELD(CM_REQ, 224, 32, qkey),
	FIELD(CM_REQ, 256, 24, qpn),
	FIELD(CM_REQ, 280, 8, responder_resources),
	FIELD(CM_REQ, 312, 8, initiator_depth),
	FIELD(CM_REQ, 344, 5, remote_timeout),
	FIELD(CM_REQ, 349, 2, transport),
	FIELD(CM_REQ, 351, 1, flow_control),
	FIELD(CM_REQ, 352, 24, psn),
	FIELD(CM_REQ, 376, 5, local_timeout),
	FIELD(CM_REQ, 381, 3, retry_count),
	FIELD(CM_REQ, 384, 16, pkey),
	FIELD(CM_REQ, 400, 4, mtu),
	FIELD(CM_REQ, 405, 3, rnr_retry_count),
	FIELD(CM_REQ, 408, 4, max_cm_retries),
	FIELD(CM_REQ, 412, 1, srq),
	FIELD(CM_REQ, 413, 3, extended_transport),
	FIELD(CM_REQ, 448, 128, local_gid),
	FIELD(CM_REQ, 576, 128, remote_gid),
	FIELD(CM_REQ, 704, 20, flow_label),
	FIELD(CM_REQ, 730, 6, rate),
	FIELD(CM_REQ, 736, 8, traffic_class),
	FIELD(CM_REQ, 744, 8, hop_limit),
	FIELD(CM_REQ, 752, 4, sl),
	FIELD(CM_REQ, 756, 1, subnet_local),
	FIELD(CM_REQ, 760, 5, ack_timeout),
	FIELD(CM_MRA, 0, 32, local_id),
	FIELD(CM_MRA, 32, 32, remote_id),
	FIELD(CM_MRA, 64, 2, message),
	FIELD(CM_MRA, 72, 5, service_timeout),
	FIELD(CM_REJ, 0, 32, local_id),
	FIELD(CM_REJ, 32, 32, remote_id),
	FIELD(CM_REJ, 64, 2, message),
	FIELD(CM_REJ, 80, 16, reason),
	FIELD(CM_REP, 0, 32, local_id),
	FIELD(CM_REP, 32, 32, remote_id),
	FIELD(CM_REP, 64, 32, qkey),
	FIELD(CM_REP, 96, 24, qpn),
	FIELD(CM_REP, 160, 24, psn),
	FIELD(CM_REP, 192, 8, responder_resources),
	FIELD(CM_REP, 200, 8, initiator_depth),
	FIELD(CM_REP, 208, 5, ack_timeout),
	FIELD(CM_REP, 215, 1, flow_control),
	FIELD(CM_REP, 216, 3, rnr_retry_count),
	FIELD(CM_REP, 219, 1, srq),
	FIELD(CM_REP, 224, 64, ca_guid),
	FIELD(CM_RTU, 0, 32, local_id),
	FIELD(CM_RTU, 32, 32, remote_id),
	FIELD(CM_DREQ, 0, 32, local_id),
	FIELD(CM_DREQ, 32, 32, remote_id),
	FIELD(CM_DREQ, 64, 24, qpn),
	FIELD(CM_DREP, 0, 32, local_id),
	FIELD(CM_DREP, 32, 32, remote_id),
	FIELD(CM_SIDR_REQ, 0, 32, local_id),
	FIELD(CM_SIDR_REQ, 32, 16, pkey),
	FIELD(CM_SIDR_REQ, 64, 64, service_id),
	FIELD(CM_SIDR_REP, 0, 32, remote_id),
	FIELD(CM_SIDR_REP, 32, 8, status),
	FIELD(CM_SIDR_REP, 64, 24, qpn),
	FIELD(CM_SIDR_REP, 96, 64, service_id),
	FIELD(CM_SIDR_REP, 160, 32, qkey),
};

/* Where the private data of an attribute begin, in bytes from the end of the header; they go on to
 * the end. */
static const uint8_t private_at[] = {
	[CM_REQ - CM_REQ] = 140, [CM_MRA - CM_REQ] = 10,      [CM_REJ - CM_REQ] = 84,
	[CM_REP - CM_REQ] = 36,	 [CM_RTU - CM_REQ] = 8,	      [CM_DREQ - CM_REQ] = 12,
	[CM_DREP - CM_REQ] = 8,	 [CM_SIDR_REQ - CM_REQ] = 16, [CM_SIDR_REP - CM_REQ] = 96,
};

uint32_t cm_private_bytes(uint16_t attr)
{
	if (attr < CM_REQ || attr > CM_SIDR_REP)
		return 0;
	return CM_MAD_BYTES - CM_MAD_HEADER_BYTES - private_at[attr - CM_REQ];
}

/* The first bit is the most significant one of the first byte (IBTA 1.5.1). */
static uint64_t bits_get(const uint8_t *bytes, uint32_t at, uint32_t count)
{
	uint64_t value = 0;

	for (uint32_t i = at; i < at + count; i++)
		value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
	return value;
}

static void bits_put(uint8_t *bytes, uint32_t at, uint32_t count, uint64_t value)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t bit = at + count - 1 - i;

		if (value >> i & 1)
			bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
}

static void member_put(uint8_t *member, uint32_t bytes, uint64_t value)
{
	const uint8_t v8 = (uint8_t)value;
	const uint16_t v16 = (uint16_t)value;
	const uint32_t v32 = (uint32_t)value;

	memcpy(member,
	       bytes == 1   ? (const void *)&v8
	       : bytes == 2 ? (const void *)&v16
	       : bytes == 4 ? (const void *)&v32
			    : (const void *)&value,
	       bytes);
}

static uint64_t member_get(const uint8_t *member, uint32_t bytes)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (bytes) {
	case 1:
		return *member;
	case 2:
		memcpy(&v16, member, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, member, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, member, sizeof(v64));
		return v64;
	}
}

bool cm_mad_parse(struct cm_mad *ret_mad, const uint8_t *bytes, size_t length)
{
	const uint8_t *data = bytes + CM_MAD_HEADER_BYTES;
	uint32_t private_bytes;

	if (length != CM_MAD_BYTES || bytes[0] != BASE_VERSION || bytes[1] != CLASS_CM ||
	    bytes[2] != CLASS_VERSION || bytes[3] != METHOD_SEND)
		return false;
	memset(ret_mad, 0, sizeof(*ret_mad));
	ret_mad->tid = bits_get(bytes, 64, 64);
	ret_mad->attr = (uint16_t)bits_get(bytes, 128, 16);
	private_bytes = cm_private_bytes(ret_mad->attr);
	if (private_bytes == 0)
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct mad_field *f = &fields[i];
		uint8_t *member = (uint8_t *)ret_mad + f->member;

		if (f->attr != ret_mad->attr)
			continue;
		if (f->bits > 64)
			memcpy(member, data + f->at / 8, f->member_bytes);
		else
			member_put(member, f->member_bytes, bits_get(data, f->at, f->bits));
	}
	memcpy(ret_mad->private_data, data + private_at[ret_mad->attr - CM_REQ], private_bytes);
	return true;
}

void cm_mad_emit(const struct cm_mad *mad, uint8_t ret_bytes[CM_MAD_BYTES])
{
	uint8_t *data = ret_bytes + CM_MAD_HEADER_BYTES;
	const uint32_t private_bytes = cm_private_bytes(mad->attr);

	CHECK(private_bytes > 0);
	memset(ret_bytes, 0, CM_MAD_BYTES);
	ret_bytes[0] = BASE_VERSION;
	ret_bytes[1] = CLASS_CM;
	ret_bytes[2] = CLASS_VERSION;
	ret_bytes[3] = METHOD_SEND;
	bits_put(ret_bytes, 64, 64, mad->tid);
	bits_put(ret_bytes, 128, 16, mad->attr);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct mad_field *f = &fields[i];
		const uint8_t *member = (const uint8_t *)mad + f->member;

		if (f->attr != mad->attr)
			continue;
		if (f->bits > 64)
			memcpy(data + f->at / 8, member, f->member_bytes);
		else
			bits_put(data, f->at, f->bits, member_get(member, f->member_bytes));
	}
	if (mad->attr == CM_REQ)
		bits_put(data, 416, 32, (uint32_t)NO_LID << 16 | NO_LID);
	memcpy(data + private_at[mad->attr - CM_REQ], mad->private_data, private_bytes);
}

bool cm_ip_parse(struct cm_ip *ret_ip, const uint8_t bytes[CM_IP_BYTES])
{
	const uint8_t version = bytes[IP_VERSION_AT] >> 4;
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	if (bytes[0] >> 4 != 0 || (version != 4 && version != 6))
		return false;
	ret_ip->is_ipv6 = version == 6;
	ret_ip->port = (uint16_t)bits_get(bytes, IP_PORT_AT * 8, 16);
	memcpy(ret_ip->src, bytes + IP_SRC_AT, 16);
	memcpy(ret_ip->dst, bytes + IP_DST_AT, 16);
	if (!ret_ip->is_ipv6) {
		memcpy(ret_ip->src, mapped, sizeof(mapped));
		memcpy(ret_ip->dst, mapped, sizeof(mapped));
	}
	return true;
}

void cm_ip_emit(const struct cm_ip *ip, uint8_t ret_bytes[CM_IP_BYTES])
{
	const uint32_t skip = ip->is_ipv6 ? 0 : 12;

	memset(ret_bytes, 0, CM_IP_BYTES);
	ret_bytes[IP_VERSION_AT] = ip->is_ipv6 ? 0x60 : 0x40;
	bits_put(ret_bytes, IP_PORT_AT * 8, 16, ip->port);
	memcpy(ret_bytes + IP_SRC_AT + skip, ip->src + skip, 16 - skip);
	memcpy(ret_bytes + IP_DST_AT + skip, ip->dst + skip, 16 - skip);
}
