/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/icrc.h"
#include "transport/wire/ways.h"

#include <stdlib.h>

/* The widest way begins at 256 bytes, takes 256 at a time and then 64, 16, 4 and 1. */
enum { BYTES = 900, ALIGNMENTS = 64 };

/* Bit by bit from the definition. */
static uint32_t slow_crc(uint32_t crc, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The check value of CRC-32/ISO-HDLC and others from zlib.crc32(). */
static void test_literals(void **state)
{
	uint8_t zeros[64] = {0};

	(void)state;
	assert_int_equal(wire_fcs((const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(wire_fcs(zeros, 0), 0);
	assert_int_equal(wire_fcs(zeros, 64), 0x758d6336);
	assert_int_equal(
		wire_fcs((const uint8_t *)"The quick brown fox jumps over the lazy dog", 43),
		0x414fa339);
}

/* Where this processor lacks it, says so and skips. */
static void expect_way(enum wire_way way)
{
	static const char needs[WIRE_WAYS][32] = {"nothing", "PCLMULQDQ",
						  "VPCLMULQDQ with AVX-512F"};

	if (way > wire_icrc_way()) {
		print_message("this processor lacks %s\n", needs[way]);
		skip();
	}
}

/* Bytes i * i * 7 + i, whose CRC-32 is known from zlib.crc32(), and any. */
static void expect_of_way(enum wire_way way)
{
	static const struct {
		size_t count;
		uint32_t crc;
	} known[] = {{255, 0x3f430fe0}, {256, 0x9b54ebcf}, {4096, 0xff41053d}, {5000, 0x1fe2a404}};
	uint8_t bytes[5000];
	struct util_rand rand = {.seed = 3};

	expect_way(way);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i * 7 + i);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(~wire_icrc_add_by(way, 0xffffffff, bytes, known[i].count),
				 known[i].crc);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand_bits(&rand, 8);
	for (size_t from = 0; from < ALIGNMENTS; from++) {
		uint32_t crc = 0x12345678;

		for (size_t count = 0; count <= BYTES; count++) {
			assert_int_equal(wire_icrc_add_by(way, 0x12345678, bytes + from, count),
					 crc);
			crc = slow_crc(crc, bytes + from + count, 1);
		}
	}
}

static void test_every_length_and_alignment_by_table(void **state)
{
	(void)state;
	expect_of_way(WIRE_PLAIN);
}

static void test_every_length_and_alignment_by_folds(void **state)
{
	(void)state;
	expect_of_way(WIRE_WIDE);
}

static void test_every_length_and_alignment_by_wide_folds(void **state)
{
	(void)state;
	expect_of_way(WIRE_WIDEST);
}

/* Sanitizers and valgrind see who reads behind the bytes. */
static void test_no_byte_more_is_read_and_the_way_is_one_that_is_there(void **state)
{
	(void)state;
	for (size_t count = 1; count <= BYTES; count++) {
		uint8_t *bytes = malloc(count);

		assert_non_null(bytes);
		for (size_t i = 0; i < count; i++)
			bytes[i] = (uint8_t)(3 * i + count);
		for (enum wire_way way = WIRE_PLAIN; way <= wire_icrc_way(); way++)
			assert_int_equal(wire_icrc_add_by(way, 7, bytes, count),
					 slow_crc(7, bytes, count));
		assert_int_equal(wire_icrc_add(7, bytes, count), slow_crc(7, bytes, count));
		free(bytes);
	}
}

static void test_parts_are_the_whole(void **state)
{
	struct util_rand rand = {.seed = 4};
	uint8_t bytes[BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand_bits(&rand, 8);
	for (size_t cut = 0; cut <= BYTES; cut++)
		assert_int_equal(
			wire_icrc_add(wire_icrc_add(9, bytes, cut), bytes + cut, BYTES - cut),
			wire_icrc_add(9, bytes, BYTES));
}

/* Whether the state behind the headers depends on the bit. */
static bool sees(const uint8_t *headers, size_t len, size_t bit)
{
	uint8_t copy[48];

	memcpy(copy, headers, len);
	copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
	return wire_icrc_ip_udp(copy) != wire_icrc_ip_udp(headers);
}

static void test_masked_fields_of_ipv4(void **state)
{
	const uint8_t headers[28] = {0x45};

	(void)state;
	for (size_t bit = 8; bit < 28 * 8; bit++) {
		size_t at = bit / 8; /* type of service, TTL, checksum; UDP checksum */
		bool masked = at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27;

		assert_int_equal(sees(headers, 28, bit), !masked);
	}
}

static void test_masked_fields_of_ipv6(void **state)
{
	const uint8_t headers[48] = {0x60};

	(void)state;
	for (size_t bit = 0; bit < 48 * 8; bit++) {
		size_t at = bit / 8; /* class, flow label, hop limit; UDP checksum */
		bool masked = at < 4 || at == 7 || at == 46 || at == 47;

		if (at == 0 && bit % 8 >= 4)
			continue; /* the version */
		assert_int_equal(sees(headers, 48, bit), !masked);
	}
}

static void test_masked_byte_of_bth(void **state)
{
	uint8_t bth[12] = {0};

	(void)state;
	for (size_t bit = 0; bit < 12 * 8; bit++) {
		uint32_t plain = wire_icrc_bth(1, bth);

		bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(wire_icrc_bth(1, bth) != plain, bit / 8 != 4);
		bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void test_lowest_byte_travels_first(void **state)
{
	const uint8_t want[4] = {0x44, 0x33, 0x22, 0x11};
	uint8_t out[4];

	(void)state;
	wire_icrc_put(out, 0x11223344);
	assert_memory_equal(out, want, 4);
	assert_int_equal(wire_icrc_get(out), 0x11223344);
}

RUN(T(test_literals), T(test_every_length_and_alignment_by_table),
    T(test_every_length_and_alignment_by_folds), T(test_every_length_and_alignment_by_wide_folds),
    T(test_no_byte_more_is_read_and_the_way_is_one_that_is_there), T(test_parts_are_the_whole),
    T(test_masked_fields_of_ipv4), T(test_masked_fields_of_ipv6), T(test_masked_byte_of_bth),
    T(test_lowest_byte_travels_first))
