/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/pcapng.h"

/* The blocks' layout in literal bytes. */
static void test_known_blocks(void **state)
{
	static const uint8_t section[] = {
		0x0a, 0x0d, 0x0d, 0x0a, 44,   0,    0,	  0,	0x4d, 0x3c, 0x2b, 0x1a, 1, 0,	0,
		0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4,    0,	  7,	0, 'v', 'e',
		'r',  'b',  'e',  'n',	'a',  0,    0,	  0,	0,    0,    44,	  0,	0, 0,
	};
	static const uint8_t port[] = {
		1, 0,	0,   0,	  56,  0,   0,	0, 1, 0, 0, 0, 0, 0, 0,	   0,	 2,    0,    5,
		0, 's', '1', '.', 'a', 'b', 0,	0, 0, 8, 0, 8, 0, 0, 0xe8, 0x76, 0x48, 0x17, 0,
		0, 0,	9,   0,	  1,   0,   12, 0, 0, 0, 0, 0, 0, 0, 56,   0,	 0,    0,
	};
	static const uint8_t packet[] = {
		6,    0,    0,	  0,	60,   0, 0, 0, 2, 0, 0, 0,  0x44, 0x33, 0x22,
		0x11, 0x88, 0x77, 0x66, 0x55, 5, 0, 0, 0, 9, 0, 0,  0,	  'h',	'e',
		'l',  'l',  'o',  0,	0,    0, 2, 0, 4, 0, 2, 0,  0,	  0,	1,
		0,    2,    0,	  'o',	'k',  0, 0, 0, 0, 0, 0, 60, 0,	  0,	0,
	};
	struct wire_pcapng_pkt pkt = {.port = 2,
				      .at = 0x1122334455667788,
				      .way = WIRE_PCAPNG_OUT,
				      .bytes = (const uint8_t *)"hello",
				      .captured = 5,
				      .length = 9,
				      .comment = "ok"};
	uint8_t out[128];

	(void)state;
	assert_int_equal(wire_pcapng_section(out, sizeof(out)), sizeof(section));
	assert_memory_equal(out, section, sizeof(section));
	assert_int_equal(wire_pcapng_port("s1.ab", 100000000000, 0, out, sizeof(out)),
			 sizeof(port));
	assert_memory_equal(out, port, sizeof(port));
	assert_int_equal(wire_pcapng_pkt(&pkt, out, sizeof(out)), sizeof(packet));
	assert_memory_equal(out, packet, sizeof(packet));
}

/* draft-ietf-opsawg-pcapng, section 4.5: addresses in network order, text with its zero. */
static void test_known_names(void **state)
{
	static const uint8_t names[] = {
		4,    0, 0,   0, 96, 0, 0, 0, 1, 0, 7,	 0,  10, 0, 0, 9, 'h', 48, 0,  0,
		3,    0, 9,   0, 2,  0, 0, 0, 0, 9, 'h', 48, 0,	 0, 0, 0, 2,   0,  18, 0,
		0xfd, 0, 0,   0, 0,  0, 0, 0, 0, 0, 0,	 0,  0,	 0, 0, 7, 'a', 0,  0,  0,
		3,    0, 8,   0, 2,  0, 0, 0, 0, 8, 'a', 0,  3,	 0, 8, 0, 2,   1,  1,  2,
		3,    4, 's', 0, 0,  0, 0, 0, 0, 0, 0,	 0,  96, 0, 0, 0,
	};
	const struct wire_pcapng_name is[] = {
		{"h0", true, {[10] = 0xff, 0xff, 10, 0, 0, 9}, {2, 0, 0, 0, 0, 9}},
		{"a", true, {0xfd, [15] = 7}, {2, 0, 0, 0, 0, 8}},
		{"s", false, {0}, {2, 1, 1, 2, 3, 4}},
	};
	uint8_t out[128];
	const size_t bytes = wire_pcapng_names(is, 3, out, sizeof(out));

	(void)state;
	assert_int_equal(bytes, sizeof(names));
	assert_memory_equal(out, names, sizeof(names));
	assert_int_equal(wire_pcapng_names(is, 3, out, bytes - 1), 0);
}

/* The port says how much of a packet is kept at most; a packet may lie where its block has it. */
static void test_snaplen_and_bytes_in_place(void **state)
{
	struct wire_pcapng_pkt pkt = {
		.bytes = (const uint8_t *)"hello", .captured = 3, .length = 5};
	uint8_t out[64], in_place[64];
	const size_t bytes = wire_pcapng_pkt(&pkt, out, sizeof(out));

	(void)state;
	memcpy(in_place + WIRE_PCAPNG_HEAD, "hello", 5);
	pkt.bytes = in_place + WIRE_PCAPNG_HEAD;
	assert_int_equal(wire_pcapng_pkt(&pkt, in_place, sizeof(in_place)), bytes);
	assert_memory_equal(out, in_place, bytes);
	assert_in_range(bytes, 1, WIRE_PCAPNG_HEAD + 3 + WIRE_PCAPNG_TAIL);
	assert_true(wire_pcapng_port("a", 0, 0x80, out, sizeof(out)) > 16);
	assert_memory_equal(out + 12, ((uint8_t[]){0x80, 0, 0, 0}), 4);
}

static void test_no_room(void **state)
{
	struct wire_pcapng_pkt pkt = {
		.bytes = (const uint8_t *)"hello", .captured = 5, .length = 5};
	uint8_t out[128];
	size_t want = wire_pcapng_pkt(&pkt, out, sizeof(out));

	(void)state;
	assert_int_equal(want, 8 + 20 + 8 + 4 + 4);
	for (size_t len = 0; len <= want; len++) {
		memset(out, 0xee, sizeof(out));
		assert_int_equal(wire_pcapng_pkt(&pkt, out, len), len == want ? want : 0);
		for (size_t i = len; i < sizeof(out); i++)
			assert_int_equal(out[i], 0xee);
	}
}

static void more_than_there_is(void *arg)
{
	struct wire_pcapng_pkt pkt = {.bytes = arg, .captured = 6, .length = 5};
	uint8_t out[128];

	(void)wire_pcapng_pkt(&pkt, out, sizeof(out));
}

static void test_captured_is_a_part_of_length(void **state)
{
	char bytes[] = "hello!";

	(void)state;
	assert_check_fails(more_than_there_is, bytes);
}

RUN(T(test_known_blocks), T(test_known_names), T(test_snaplen_and_bytes_in_place), T(test_no_room),
    T(test_captured_is_a_part_of_length))
