/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/icrc.h"
#include "transport/wire/psn.h"
#include "transport/wire/ways.h"

/* Classes by the top three bits: which of the low five exist (IBTA vol. 1, table 38; linux
 * ib_pack.h); [6] and [7] are our own (transport/wire/pkt.h). */
static const uint32_t known[8] = {
	[0] = 0x30dfffff, [1] = 0x00000fff, [2] = 0x101fffff, [3] = 0x00000030,
	[4] = 0x00000002, [5] = 0x30dfffff, [6] = 0x00c20fff, [7] = 0x00000001,
};

static void test_exactly_the_opcodes_of_the_specification_exist(void **state)
{
	(void)state;
	for (int i = 0; i < 256; i++)
		assert_int_equal(wire_op_find((uint8_t)i) != NULL, known[i >> 5] >> (i & 31) & 1);
}

/* Sizes of the headers, from the IBTA table, counted by hand. */
static void test_header_sizes(void **state)
{
	static const struct {
		uint8_t opcode, bytes;
		const char *name;
	} rows[] = {
		{0x00, 12, "RC_SEND_FIRST"},
		{0x03, 16, "RC_SEND_LAST_IMM"},
		{0x06, 28, "RC_WRITE_FIRST"},
		{0x07, 12, "RC_WRITE_MIDDLE"},
		{0x09, 16, "RC_WRITE_LAST_IMM"},
		{0x0b, 32, "RC_WRITE_ONLY_IMM"},
		{0x0c, 28, "RC_READ_REQUEST"},
		{0x0d, 16, "RC_READ_RESPONSE_FIRST"},
		{0x0e, 12, "RC_READ_RESPONSE_MIDDLE"},
		{0x11, 16, "RC_ACKNOWLEDGE"},
		{0x12, 24, "RC_ATOMIC_ACKNOWLEDGE"},
		{0x13, 40, "RC_COMPARE_SWAP"},
		{0x17, 16, "RC_SEND_ONLY_INV"},
		{0x1c, 32, "RC_FLUSH"},
		{0x1d, 28, "RC_ATOMIC_WRITE"},
		{0x2b, 32, "UC_WRITE_ONLY_IMM"},
		{0x44, 24, "RD_SEND_ONLY"},
		{0x4b, 44, "RD_WRITE_ONLY_IMM"},
		{0x4e, 16, "RD_READ_RESPONSE_MIDDLE"},
		{0x51, 20, "RD_ACKNOWLEDGE"},
		{0x54, 52, "RD_FETCH_ADD"},
		{0x64, 20, "UD_SEND_ONLY"},
		{0x65, 24, "UD_SEND_ONLY_IMM"},
		{0x81, 28, "CNP"},
		{0xa4, 16, "XRC_SEND_ONLY"},
		{0xac, 32, "XRC_READ_REQUEST"},
		{0xae, 12, "XRC_READ_RESPONSE_MIDDLE"},
		{0xb4, 44, "XRC_FETCH_ADD"},
		{0xc1, 20, "IRN_SEND_MIDDLE"},
		{0xc7, 28, "IRN_WRITE_MIDDLE"},
		{0xc9, 32, "IRN_WRITE_LAST_IMM"},
		{0xd1, 24, "IRN_ACKNOWLEDGE"},
		{0xd7, 24, "IRN_SEND_ONLY_INV"},
		{0xe0, 32, "AGENT"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(wire_op_find(rows[i].opcode)->name, rows[i].name);
		assert_int_equal(wire_op_find(rows[i].opcode)->header_bytes, rows[i].bytes);
	}
}

static void test_header_bytes_are_the_sum_of_the_headers(void **state)
{
	(void)state;
	for (int i = 0; i < 256; i++) {
		const struct wire_op *op = wire_op_find((uint8_t)i);

		if (!op)
			continue;
		assert_int_equal(op->header_bytes,
				 12 + 16 * op->reth + 4 * op->aeth + 4 * op->imm + 4 * op->ieth +
					 28 * op->atomiceth + 8 * op->atomicacketh + 8 * op->deth +
					 4 * op->rdeth + 4 * op->xrceth + 4 * op->feth +
					 16 * op->cnp + 8 * op->seth + 8 * op->sacketh);
		assert_true(op->aeth + op->imm + op->ieth + op->feth <= 1);
		assert_true(op->send + op->write + op->read + op->atomic <= 1);
		assert_int_equal(op->request + op->response, i != WIRE_CNP && i != WIRE_AGENT);
		assert_true(!op->payload || !(op->aeth && !op->read));
	}
}

static bool starts(uint8_t opcode)
{
	return wire_op_find(opcode)->start;
}

static bool ends(uint8_t opcode)
{
	return wire_op_find(opcode)->end;
}

static void test_first_middle_last_only(void **state)
{
	static const uint8_t first[] = {0x00, 0x06, 0x0d, 0x20, 0x26, 0xa0, 0xa6};
	static const uint8_t middle[] = {0x01, 0x07, 0x0e, 0x21, 0x27, 0xa1, 0xa7};
	static const uint8_t last[] = {0x02, 0x03, 0x08, 0x09, 0x0f, 0x16, 0x22, 0x29, 0xa2, 0xb6};
	static const uint8_t only[] = {0x04, 0x05, 0x0a, 0x0b, 0x0c, 0x10, 0x11, 0x12, 0x13,
				       0x14, 0x17, 0x1c, 0x1d, 0x64, 0x65, 0x81, 0xac};

	(void)state;
	for (size_t i = 0; i < sizeof(first); i++)
		assert_true(starts(first[i]) && !ends(first[i]));
	for (size_t i = 0; i < sizeof(middle); i++)
		assert_true(!starts(middle[i]) && !ends(middle[i]));
	for (size_t i = 0; i < sizeof(last); i++)
		assert_true(!starts(last[i]) && ends(last[i]));
	for (size_t i = 0; i < sizeof(only); i++)
		assert_true(starts(only[i]) && ends(only[i]));
}

static void bytes_of(void *arg)
{
	(void)wire_pkt_bytes(arg);
}

static void test_bytes_from_bth_to_icrc(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_SEND_ONLY};

	(void)state;
	assert_int_equal(wire_pkt_bytes(&pkt), 16);
	pkt.length = 1;
	assert_int_equal(wire_pkt_bytes(&pkt), 20);
	pkt.length = 4;
	assert_int_equal(wire_pkt_bytes(&pkt), 20);
	pkt.length = 5;
	assert_int_equal(wire_pkt_bytes(&pkt), 24);
	pkt.length = 4096;
	assert_int_equal(wire_pkt_bytes(&pkt), 4112);
	pkt.length = 4097;
	assert_check_fails(bytes_of, &pkt);
	pkt = (struct wire_pkt){.opcode = WIRE_RC | WIRE_ACKNOWLEDGE, .length = 1};
	assert_check_fails(bytes_of, &pkt);
	pkt = (struct wire_pkt){.opcode = 0x15};
	assert_check_fails(bytes_of, &pkt);
}

static void test_pattern_is_a_function_of_stream_and_offset(void **state)
{
	uint8_t whole[300], part[300], other[300];
	uint64_t start = wire_pattern(0xabcdef, 0x1234567);

	(void)state;
	wire_pattern_bytes(start, whole, sizeof(whole));
	for (size_t from = 0; from < 20; from++)
		for (size_t to = from; to <= sizeof(whole); to++) {
			memset(part, 0xee, sizeof(part));
			wire_pattern_bytes(wire_pattern_add(start, from), part, to - from);
			assert_memory_equal(part, whole + from, to - from);
			assert_true(to - from == sizeof(part) || part[to - from] == 0xee);
		}
	wire_pattern_bytes(wire_pattern(0xabcdee, 0x1234567), other, sizeof(other));
	assert_memory_not_equal(other, whole, 8);
}

/* The same on every machine: computed once with Python integers. */
static void test_pattern_literals(void **state)
{
	static const uint8_t zero[12] = {0x2a, 0xb4, 0xca, 0x9d, 0xee, 0x89,
					 0xfb, 0x17, 0xc2, 0x6d, 0xff, 0xdd};
	static const uint8_t wrap[8] = {0x1b, 0xd4, 0xb0, 0xb8, 0xea, 0x87, 0x3c, 0x61};
	uint8_t out[12];

	(void)state;
	wire_pattern_bytes(wire_pattern(0, 0), out, sizeof(out));
	assert_memory_equal(out, zero, sizeof(zero));
	wire_pattern_bytes(wire_pattern(5, 0xfffffffffcu), out, sizeof(wrap));
	assert_memory_equal(out, wrap, sizeof(wrap)); /* four bytes, then those of offset 0 */
}

static void test_pattern_matches_only_itself(void **state)
{
	uint8_t bytes[600];

	(void)state;
	wire_pattern_bytes(wire_pattern(3, 77), bytes, sizeof(bytes));
	assert_true(wire_pattern_matches(wire_pattern(3, 77), bytes, sizeof(bytes)));
	assert_true(wire_pattern_matches(wire_pattern(3, 77), bytes, 0));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 0x10;
		assert_false(wire_pattern_matches(wire_pattern(3, 77), bytes, sizeof(bytes)));
		bytes[i] ^= 0x10;
	}
	assert_false(wire_pattern_matches(wire_pattern(3, 78), bytes, sizeof(bytes)));
}

static void test_psn_distance_wraps(void **state)
{
	(void)state;
	assert_int_equal(wire_psn_diff(1, 0xffffff), 2);
	assert_int_equal(wire_psn_diff(0xffffff, 1), -2);
	assert_int_equal(wire_psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(wire_psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(wire_psn_diff(0, 0x7fffff), -0x7fffff);
	assert_int_equal(wire_psn_diff(5, 5), 0);
	assert_int_equal(wire_psn_add(0xffffff, 1), 0);
	assert_int_equal(wire_psn_add(0x800000, 0x800001), 1);
}

/* Every word alone is that of a long run, however many the processor makes at once; and at the end
 * of a stream it begins anew. */
static void test_words_alone_and_in_a_row(void **state)
{
	static const uint64_t from[] = {0, 3, 0xffffffff00u, 0xffffffff85u};
	uint8_t row[300], alone[8];

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		for (size_t length = 0; length <= sizeof(row); length += 7) {
			const uint64_t start = wire_pattern(0x123456, from[i]);

			wire_pattern_bytes(start, row, length);
			for (size_t at = 0; at < length; at++) {
				wire_pattern_bytes(wire_pattern_add(start, at), alone, 1);
				assert_int_equal(alone[0], row[at]);
			}
		}
}

/* Bytes of a stream, and those where one begins anew, whose CRC-32 is known from Python integers
 * and zlib.crc32(); and every length at every alignment, of the stream and in memory, as it is one
 * word after another. */
static void expect_of_way(enum wire_way way)
{
	static const char needs[WIRE_WAYS][32] = {"nothing", "AVX2", "AVX-512DQ"};
	static const struct {
		uint64_t stream, from;
		uint32_t crc;
	} literals[] = {{0x123456, 5, 0x2eb966a3}, {3, 0xfffffffbfd, 0x66bf4071}};
	uint8_t long_one[4096], bytes[300], want[300];

	if (way > wire_pattern_way()) {
		print_message("this processor lacks %s\n", needs[way]);
		skip();
	}
	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
		wire_pattern_bytes_by(way, wire_pattern(literals[i].stream, literals[i].from),
				      long_one, sizeof(long_one));
		assert_int_equal(wire_fcs(long_one, sizeof(long_one)), literals[i].crc);
	}
	for (size_t from = 0; from < 8; from++)
		for (size_t at = 0; at < 64; at++)
			for (size_t length = 0; at + length < sizeof(bytes); length++) {
				const uint64_t start =
					wire_pattern(9, 0xfffffffff0 - 8 * at + from);

				memset(want, 0xee, sizeof(want));
				wire_pattern_bytes_by(WIRE_PLAIN, start, want + at, length);
				memset(bytes, 0xee, sizeof(bytes));
				wire_pattern_bytes_by(way, start, bytes + at, length);
				assert_memory_equal(bytes, want, sizeof(want));
			}
}

static void test_pattern_word_by_word(void **state)
{
	(void)state;
	expect_of_way(WIRE_PLAIN);
}

static void test_pattern_by_wide_words(void **state)
{
	(void)state;
	expect_of_way(WIRE_WIDE);
}

static void test_pattern_by_widest_words(void **state)
{
	(void)state;
	expect_of_way(WIRE_WIDEST);
}

RUN(T(test_exactly_the_opcodes_of_the_specification_exist), T(test_header_sizes),
    T(test_header_bytes_are_the_sum_of_the_headers), T(test_first_middle_last_only),
    T(test_bytes_from_bth_to_icrc), T(test_pattern_is_a_function_of_stream_and_offset),
    T(test_pattern_literals), T(test_pattern_matches_only_itself), T(test_psn_distance_wraps),
    T(test_words_alone_and_in_a_row), T(test_pattern_word_by_word), T(test_pattern_by_wide_words),
    T(test_pattern_by_widest_words))
