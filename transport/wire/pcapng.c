/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/pcapng.h"

#include "transport/wire/internal.h"
#include "transport/wire/path.h"
#include "util/check.h"

/* A block: 0-3 type | 4-7 total length | body | total length once more. An option: 0-1 code |
 * 2-3 length | value | zeros to a multiple of four; the list ends with an option of zeros. A name
 * has the form of an option: an address in network order, and text that ends with a zero. */
enum {
	BLOCK_PORT = 1,
	BLOCK_NAMES = 4,
	BLOCK_PACKET = 6,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINK_ETHERNET = 1,
	NAME_IPV4 = 1,
	NAME_IPV6 = 2,
	NAME_EUI48 = 3,
	OPTION_COMMENT = 1,
	OPTION_SECTION_APPLICATION = 4,
	OPTION_PORT_NAME = 2,
	OPTION_PORT_SPEED = 8,
	OPTION_PORT_RESOLUTION = 9,
	OPTION_PACKET_FLAGS = 2,
	PS_EXPONENT = 12, /* ticks of 10^-12 s */
};
static const uint32_t block_section = 0x0a0d0d0a;

/* Writes as far as there is room and counts on, so that one pass tells both. */
struct out {
	uint8_t *buf;
	size_t len, at;
};

static void bytes_out(struct out *out, const void *bytes, size_t count)
{
	if (count <= out->len && out->at <= out->len - count && count > 0 &&
	    bytes != out->buf + out->at)
		memcpy(out->buf + out->at, bytes, count);
	out->at += count;
}

static void pad_out(struct out *out)
{
	static const uint8_t zeros[4];

	bytes_out(out, zeros, -out->at & 3);
}

static void word_out(struct out *out, uint32_t v)
{
	uint8_t word[4];

	put32_le(word, v);
	bytes_out(out, word, 4);
}

static void option_out(struct out *out, uint32_t code, const void *value, size_t bytes)
{
	CHECK(bytes <= 0xffff);
	word_out(out, code | (uint32_t)bytes << 16);
	bytes_out(out, value, bytes);
	pad_out(out);
}

static struct out block_begin(uint32_t type, uint8_t *buf, size_t len)
{
	struct out out = {.buf = buf, .len = len};

	word_out(&out, type);
	word_out(&out, 0); /* the length; block_end() knows it */
	return out;
}

static size_t block_end(struct out *out)
{
	word_out(out, 0); /* end of options */
	word_out(out, (uint32_t)out->at + 4);
	if (out->at > out->len)
		return 0;
	put32_le(out->buf + 4, (uint32_t)out->at);
	return out->at;
}

size_t wire_pcapng_section(uint8_t *buf, size_t len)
{
	struct out out = block_begin(block_section, buf, len);

	word_out(&out, BYTE_ORDER_MAGIC);
	word_out(&out, 1); /* version 1.0 */
	word_out(&out, 0xffffffff);
	word_out(&out, 0xffffffff); /* length of the section: not known */
	option_out(&out, OPTION_SECTION_APPLICATION, "verbena", 7);
	return block_end(&out);
}

size_t wire_pcapng_port(const char *name, uint64_t rate_bps, uint32_t snaplen, uint8_t *buf,
			size_t len)
{
	static const uint8_t resolution = PS_EXPONENT;
	struct out out = block_begin(BLOCK_PORT, buf, len);
	uint8_t speed[8];

	word_out(&out, LINK_ETHERNET);
	word_out(&out, snaplen);
	option_out(&out, OPTION_PORT_NAME, name, strlen(name));
	put64_le(speed, rate_bps);
	if (rate_bps != 0)
		option_out(&out, OPTION_PORT_SPEED, speed, sizeof(speed));
	option_out(&out, OPTION_PORT_RESOLUTION, &resolution, 1);
	return block_end(&out);
}

static void name_out(struct out *out, uint32_t type, const uint8_t *address, size_t bytes,
		     const char *name)
{
	const size_t length = strlen(name) + 1;

	CHECK(bytes + length <= 0xffff);
	word_out(out, type | (uint32_t)(bytes + length) << 16);
	bytes_out(out, address, bytes);
	bytes_out(out, name, length);
	pad_out(out);
}

size_t wire_pcapng_names(const struct wire_pcapng_name *names, size_t count, uint8_t *buf,
			 size_t len)
{
	struct out out = block_begin(BLOCK_NAMES, buf, len);

	for (size_t i = 0; i < count; i++) {
		if (names[i].has_ip && wire_ip_is_ipv4(names[i].ip))
			name_out(&out, NAME_IPV4, names[i].ip + 12, 4, names[i].name);
		else if (names[i].has_ip)
			name_out(&out, NAME_IPV6, names[i].ip, 16, names[i].name);
		name_out(&out, NAME_EUI48, names[i].mac, 6, names[i].name);
	}
	word_out(&out, 0); /* end of names */
	return block_end(&out);
}

size_t wire_pcapng_pkt(const struct wire_pcapng_pkt *pkt, uint8_t *buf, size_t len)
{
	struct out out = block_begin(BLOCK_PACKET, buf, len);
	uint8_t flags[4];

	CHECK(pkt->captured <= pkt->length);
	word_out(&out, pkt->port);
	word_out(&out, (uint32_t)(pkt->at >> 32));
	word_out(&out, (uint32_t)pkt->at);
	word_out(&out, pkt->captured);
	word_out(&out, pkt->length);
	bytes_out(&out, pkt->bytes, pkt->captured);
	pad_out(&out);
	put32_le(flags, pkt->way);
	if (pkt->way != WIRE_PCAPNG_UNKNOWN)
		option_out(&out, OPTION_PACKET_FLAGS, flags, sizeof(flags));
	if (pkt->comment)
		option_out(&out, OPTION_COMMENT, pkt->comment, strlen(pkt->comment));
	return block_end(&out);
}
