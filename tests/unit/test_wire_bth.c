/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/bth.h"
#include "transport/wire/hop.h"

/* WRITE ONLY with immediate, SE, BECN, QP 0x000102, ACK wanted, PSN 9, "abc" and one pad byte. */
static const uint8_t known[] = {
	0x0b, 0x90, 0xff, 0xff, 0x40, 0,   1, 2, 0x80, 0, 0,	9,    1, 2,    3,   4,	 5,   6,
	7,    8,    0xa,  0xb,	0xc,  0xd, 0, 0, 0,    3, 0xde, 0xad, 0, 0x01, 'a', 'b', 'c', 0,
};

static void test_known_bytes(void **state)
{
	uint8_t in[sizeof(known)], out[sizeof(known)];
	struct wire_pkt pkt;

	(void)state;
	memcpy(in, known, sizeof(known));
	assert_true(wire_bth_parse(&pkt, in, sizeof(in)));
	assert_int_equal(pkt.opcode, WIRE_RC | WIRE_WRITE_ONLY_IMM);
	assert_true(pkt.solicited && pkt.ack_req && pkt.becn && !pkt.fecn);
	assert_true(!pkt.has_rare && !pkt.synthetic);
	assert_int_equal(pkt.dest_qpn, 0x102);
	assert_int_equal(pkt.psn, 9);
	assert_int_equal(pkt.va, 0x0102030405060708);
	assert_int_equal(pkt.rkey, 0x0a0b0c0d);
	assert_int_equal(pkt.dma_length, 3);
	assert_int_equal(pkt.word, 0xdead0001);
	assert_int_equal(pkt.length, 3);
	assert_ptr_equal(pkt.payload, in + 32);
	memset(out, 0xee, sizeof(out));
	assert_int_equal(wire_bth_emit(&pkt, out, sizeof(out)), sizeof(known));
	assert_memory_equal(out, known, sizeof(known));
	assert_int_equal(wire_bth_emit(&pkt, out, sizeof(known) - 1), 0);
	assert_int_equal(wire_bth_emit_headers(&pkt, out, 32), 32);
	assert_int_equal(wire_bth_emit_headers(&pkt, out, 31), 0);
}

/* One packet with its headers in literal bytes for each order of headers there is. */
static void test_order_of_headers(void **state)
{
	static const struct wire_rare rare = {.swap_add = 0x5353535353535353,
					      .compare = 0x4343434343434343,
					      .qkey = 0x51515151,
					      .src_qpn = 0x717171,
					      .ee_context = 0x656565,
					      .xrc_srqn = 0x787878};
	static const struct {
		uint8_t opcode;
		const char
			*bytes; /* behind the BTH; every field is made of its letter, 0 of zeros */
	} rows[] = {
		{0x0a, "VVVVVVVVRRRRDDDD"},	{0x0b, "VVVVVVVVRRRRDDDDWWWW"},
		{0x12, "WWWWVVVVVVVV"},		{0x13, "VVVVVVVVRRRRSSSSSSSSCCCCCCCC"},
		{0x1c, "WWWWVVVVVVVVRRRRDDDD"}, {0x16, "WWWW"},
		{0x65, "QQQQ0qqqWWWW"},		{0x4b, "0eeeQQQQ0qqqVVVVVVVVRRRRDDDDWWWW"},
		{0x52, "0eeeWWWWVVVVVVVV"},	{0xab, "0xxxVVVVVVVVRRRRDDDDWWWW"},
		{0x81, "0000000000000000"},	{0xc9, "VVVVVVVVRRRRDDDDWWWW"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_pkt pkt = {.opcode = rows[i].opcode,
				       .has_rare = true,
				       .word = 0x57575757,
				       .va = 0x5656565656565656,
				       .rkey = 0x52525252,
				       .dma_length = 0x44444444,
				       .rare = rare};
		size_t bytes = strlen(rows[i].bytes);
		uint8_t out[WIRE_HEADERS_MAX], want[WIRE_HEADERS_MAX];

		for (size_t k = 0; k < bytes; k++) {
			char c = rows[i].bytes[k];

			want[k] = c == '0' ? 0 : (uint8_t)c;
		}
		assert_int_equal(wire_bth_emit(&pkt, out, sizeof(out)), 12 + bytes);
		assert_memory_equal(out + 12, want, bytes);
	}
}

static void test_parse_is_the_inverse_of_emit(void **state)
{
	struct util_rand rand = {.seed = 7};
	uint8_t slab[WIRE_MTU_MAX], buf[WIRE_BTH_MAX];
	struct wire_pkt in, out;

	(void)state;
	for (int i = 0; i < 256 * 50; i++) {
		size_t len;

		if (!wire_op_find((uint8_t)i))
			continue;
		in = random_pkt(&rand, (uint8_t)i, slab);
		len = wire_bth_emit(&in, buf, sizeof(buf));
		assert_int_equal(len, wire_pkt_bytes(&in) - WIRE_ICRC_BYTES);
		memset(&out, 0xee, sizeof(out));
		assert_true(wire_bth_parse_stamped(&out, buf, len));
		assert_same_pkt(&in, &out);
		assert_int_equal(wire_bth_emit(&in, buf, len - 1), 0);
	}
}

static void test_synthetic_payload_becomes_its_bytes(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_UC | WIRE_SEND_ONLY,
			       .length = 1001,
			       .synthetic = true,
			       .pattern = wire_pattern(9, 12345)};
	uint8_t buf[WIRE_BTH_MAX];
	size_t len = wire_bth_emit(&pkt, buf, sizeof(buf));
	struct wire_pkt out;

	(void)state;
	assert_true(wire_bth_parse(&out, buf, len));
	assert_false(out.synthetic);
	assert_int_equal(out.length, 1001);
	assert_true(wire_pattern_matches(pkt.pattern, out.payload, 1001));
	assert_true(buf[len - 3] == 0 && buf[len - 2] == 0 && buf[len - 1] == 0);
}

static void test_payload_at_its_place_stays(void **state)
{
	uint8_t buf[12 + 8] = {[12] = 'h', 'e', 'l', 'l', 'o', 9, 9, 9};
	struct wire_pkt pkt = {.opcode = WIRE_SEND_ONLY, .length = 5, .payload = buf + 12};

	(void)state;
	assert_int_equal(wire_bth_emit(&pkt, buf, sizeof(buf)), 20);
	assert_memory_equal(buf + 12, "hello\0\0\0", 8);
}

static void test_rare_only_where_needed(void **state)
{
	uint8_t buf[64];
	struct wire_pkt pkt = {.opcode = WIRE_SEND_ONLY, .has_rare = true}, out = {0};

	(void)state;
	assert_int_equal(wire_bth_emit(&pkt, buf, sizeof(buf)), 12);
	assert_int_equal(buf[2], 0xff); /* no partition is the default one */
	assert_int_equal(buf[3], 0xff);
	out.rare.qkey = 5;
	assert_true(wire_bth_parse(&out, buf, 12));
	assert_false(out.has_rare);
	assert_int_equal(out.rare.qkey, 5); /* not written */
	buf[3] = 0xfe;
	assert_true(wire_bth_parse(&out, buf, 12));
	assert_true(out.has_rare && out.rare.pkey == 0xfffe && !out.rare.mig_req);
	assert_int_equal(out.rare.qkey, 0);
	buf[3] = 0xff;
	buf[1] = 0x40;
	assert_true(wire_bth_parse(&out, buf, 12));
	assert_true(out.has_rare && out.rare.pkey == 0xffff && out.rare.mig_req);
}

/* known[] with byte @at set to @value, cut or grown to @len. */
static bool accepts(size_t at, uint8_t value, size_t len)
{
	static const struct wire_pkt before = {.opcode = 0x55, .va = 5};
	uint8_t buf[64] = {0};
	struct wire_pkt pkt = before;
	bool ok;

	memcpy(buf, known, sizeof(known));
	buf[at] = value;
	ok = wire_bth_parse(&pkt, buf, len);
	assert_true(ok || memcmp(&pkt, &before, WIRE_HOT_BYTES) == 0);
	return ok;
}

static void test_each_rule_by_a_packet_that_breaks_only_it(void **state)
{
	(void)state;
	assert_true(accepts(0, 0x0b, 36));
	for (size_t len = 0; len < 32; len++)
		assert_false(accepts(1, 0x00, len)); /* too short */
	assert_true(accepts(1, 0x00, 32));	     /* no payload at all */
	assert_false(accepts(1, 0x10, 32));	     /* more pad than payload */
	assert_false(accepts(1, 0x91, 36));	     /* transport version 1 */
	assert_false(accepts(1, 0x98, 36));
	for (size_t len = 37; len < 40; len++)
		assert_false(accepts(1, 0x90, len)); /* not whole words */
	assert_true(accepts(1, 0x90, 40));
	assert_false(accepts(0, 0x15, 36)); /* no such opcode */
	assert_false(accepts(0, 0x80, 36));
	assert_false(accepts(0, 0x81, 28)); /* pad, but nothing to pad */
	assert_true(accepts(2, 0x00, 36));  /* a partition with low bits */
	assert_true(accepts(8, 0xbf, 36));  /* reserved bits are ignored */
	assert_true(accepts(4, 0x3f, 36));
	assert_true(accepts(35, 0xff, 36)); /* so are the values of pad bytes */
}

/* Which receive and where in it; what came and what before it. */
static void test_headers_of_packets_out_of_order(void **state)
{
	static const uint8_t seth[] = {0, 0x12, 0x34, 0x56, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};
	static const uint8_t sack[] = {0x60, 0, 0, 9, 0, 0xab, 0xcd, 0xef, 0x80, 0, 0, 1};
	const struct wire_pkt send = {.opcode = WIRE_IRN | WIRE_SEND_LAST_IMM,
				      .rkey = 0x123456,
				      .va = 0xdeadbeef,
				      .word = 0x01020304};
	const struct wire_pkt nak = {.opcode = WIRE_IRN | WIRE_ACKNOWLEDGE,
				     .rkey = 0xabcdef,
				     .dma_length = 0x80000001,
				     .word = wire_aeth(WIRE_NAK_PSN_SEQ, 9)};
	uint8_t out[WIRE_HEADERS_MAX];
	struct wire_pkt parsed;

	(void)state;
	assert_int_equal(wire_bth_emit(&send, out, sizeof(out)), 24);
	assert_memory_equal(out + 12, seth, 12);
	assert_true(wire_bth_parse(&parsed, out, 24));
	assert_int_equal(parsed.rkey, 0x123456);
	assert_int_equal(parsed.va, 0xdeadbeef);
	assert_int_equal(wire_bth_emit(&nak, out, sizeof(out)), 24);
	assert_memory_equal(out + 12, sack, 12);
	assert_true(wire_bth_parse(&parsed, out, 24));
	assert_int_equal(parsed.rkey, 0xabcdef);
	assert_int_equal(parsed.dma_length, 0x80000001);
}

/* Telemetry: a bit of the BTH, 44 bytes behind the headers, and more than five hops are refused. */
static void test_telemetry_between_headers_and_payload(void **state)
{
	static const uint8_t hops[] = {2, 0, 0, 0, 0x90, 0, 0, 0, 0, 0,
				       0, 1, 1, 2, 3,	 4, 5, 6, 7, 8};
	uint8_t payload[4] = {'a', 'b', 'c', 'd'}, out[100];
	const struct wire_pkt pkt = {.opcode = WIRE_WRITE_MIDDLE,
				     .length = 4,
				     .payload = payload,
				     .has_rare = true,
				     .rare = {.pkey = WIRE_PKEY_DEFAULT,
					      .has_int = true,
					      .hop_count = 2,
					      .hops = {0x9000000000000001, 0x0102030405060708}}};
	struct wire_pkt parsed;

	(void)state;
	assert_int_equal(wire_pkt_bytes(&pkt), 12 + 44 + 4 + 4);
	assert_int_equal(wire_bth_emit(&pkt, out, sizeof(out)), 60);
	assert_int_equal(out[8], 0x40);
	assert_memory_equal(out + 12, hops, sizeof(hops));
	assert_memory_equal(out + 56, "abcd", 4);
	assert_true(wire_bth_parse_stamped(&parsed, out, 60));
	assert_true(parsed.has_rare && parsed.rare.has_int);
	assert_int_equal(parsed.rare.hop_count, 2);
	assert_int_equal(parsed.rare.hops[1], 0x0102030405060708);
	assert_memory_equal(parsed.payload, "abcd", 4);
	assert_int_equal(wire_bth_emit(&pkt, out, 59), 0);
	assert_false(wire_bth_parse_stamped(&parsed, out, 52)); /* shorter than the hops */
	out[12] = 6;
	assert_false(wire_bth_parse_stamped(&parsed, out, 60));
	/* To whoever knows nothing of it the bit is reserved, and all else is payload. */
	assert_true(wire_bth_parse(&parsed, out, 60));
	assert_false(parsed.has_rare);
	assert_int_equal(parsed.length, 48);
	assert_ptr_equal(parsed.payload, out + 12);
}

/* 100 Gb/s is code 4; 1 us; 1,280 bytes are 10; 8,000 are 100. Then everything at its end. */
static void test_a_hop_in_64_bits(void **state)
{
	const uint64_t word = wire_hop_pack(100000000000, 1000000, 1280 + 127, 8079);
	const struct wire_hop hop = wire_hop_unpack(word);
	const struct wire_hop end = wire_hop_unpack(wire_hop_pack(
		UINT64_MAX, ((1ull << 24) + 5) * 1000, (1ull << 27) + 256, UINT64_MAX));

	(void)state;
	assert_int_equal(word, 4ull << 61 | 1000ull << 37 | 10ull << 17 | 100);
	assert_int_equal(hop.rate_bps, 100000000000);
	assert_int_equal(hop.time_ns, 1000);
	assert_int_equal(hop.bytes, 10);
	assert_int_equal(hop.queue_bytes, 8000);
	assert_int_equal(end.rate_bps, 800000000000);
	assert_int_equal(end.time_ns, 5);
	assert_int_equal(end.bytes, 2);
	assert_int_equal(end.queue_bytes, 0x1ffff * 80);
}

static void test_payload_only_where_the_opcode_has_one(void **state)
{
	(void)state;
	for (int i = 0; i < 256; i++) {
		const struct wire_op *op = wire_op_find((uint8_t)i);
		uint8_t buf[WIRE_HEADERS_MAX + 4] = {(uint8_t)i, [2] = 0xff, 0xff};
		struct wire_pkt pkt;

		if (!op)
			continue;
		assert_true(wire_bth_parse(&pkt, buf, op->header_bytes));
		assert_null(pkt.payload);
		assert_int_equal(wire_bth_parse(&pkt, buf, op->header_bytes + 4), op->payload);
		assert_false(wire_bth_parse(&pkt, buf, op->header_bytes - 4));
		buf[1] = 0x30; /* three pad bytes of one word: one byte of payload */
		assert_int_equal(wire_bth_parse(&pkt, buf, op->header_bytes + 4), op->payload);
		assert_false(wire_bth_parse(&pkt, buf, op->header_bytes));
	}
}

static void test_payload_ends_at_the_largest_mtu(void **state)
{
	static uint8_t buf[12 + 4100];
	struct wire_pkt pkt;

	(void)state;
	buf[0] = WIRE_SEND_MIDDLE;
	buf[3] = 1; /* partition */
	assert_true(wire_bth_parse(&pkt, buf, 12 + 4096));
	assert_int_equal(pkt.length, 4096);
	assert_false(wire_bth_parse(&pkt, buf, 12 + 4100));
	buf[1] = 0x30;
	assert_false(wire_bth_parse(&pkt, buf, 12 + 4100)); /* 4097 and three pad bytes */
	assert_true(wire_bth_parse(&pkt, buf, 12 + 4096));
	assert_int_equal(pkt.length, 4093);
}

static void test_no_partition(void **state)
{
	uint8_t buf[12] = {WIRE_SEND_ONLY};
	struct wire_pkt pkt;

	(void)state;
	assert_false(wire_bth_parse(&pkt, buf, 12));
	buf[2] = 0x80; /* full member of none */
	assert_false(wire_bth_parse(&pkt, buf, 12));
	buf[3] = 1;
	assert_true(wire_bth_parse(&pkt, buf, 12));
}

static void emit(void *arg)
{
	uint8_t buf[256];

	(void)wire_bth_emit(arg, buf, sizeof(buf));
}

static void test_values_too_wide_are_our_mistake(void **state)
{
	struct wire_pkt ud = {.opcode = WIRE_UD | WIRE_SEND_ONLY, .has_rare = true};
	struct wire_pkt xrc = {.opcode = WIRE_XRC | WIRE_SEND_ONLY, .has_rare = true};
	struct wire_pkt rd = {.opcode = WIRE_RD | WIRE_SEND_ONLY, .has_rare = true};
	struct wire_pkt pkt = {.opcode = WIRE_SEND_ONLY};

	(void)state;
	pkt.psn = 1 << 24;
	assert_check_fails(emit, &pkt);
	pkt.psn = 0;
	pkt.dest_qpn = 1 << 24;
	assert_check_fails(emit, &pkt);
	ud.rare.src_qpn = 1 << 24;
	assert_check_fails(emit, &ud);
	xrc.rare.xrc_srqn = 1 << 24;
	assert_check_fails(emit, &xrc);
	rd.rare.ee_context = 1 << 24;
	assert_check_fails(emit, &rd);
	ud.rare.src_qpn = 0;
	ud.has_rare = false; /* but the opcode has such fields */
	assert_check_fails(emit, &ud);
}

RUN(T(test_known_bytes), T(test_order_of_headers), T(test_parse_is_the_inverse_of_emit),
    T(test_synthetic_payload_becomes_its_bytes), T(test_payload_at_its_place_stays),
    T(test_rare_only_where_needed), T(test_each_rule_by_a_packet_that_breaks_only_it),
    T(test_headers_of_packets_out_of_order), T(test_telemetry_between_headers_and_payload),
    T(test_a_hop_in_64_bits), T(test_payload_only_where_the_opcode_has_one),
    T(test_payload_ends_at_the_largest_mtu), T(test_no_partition),
    T(test_values_too_wide_are_our_mistake))
