/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/pfc.h"

/* Priorities 0, 3 and 7, of which 3 may go on; and a PAUSE. */
static const uint8_t pfc_frame[60] = {
	0x01, 0x80, 0xc2, 0, 0, 1, 0x52, 0x54, 0, 0x12, 0x34, 1, 0x88, 0x08, 0x01, 0x01, 0,
	0x89, 0xff, 0xff, 0, 0, 0, 0,	 0,    0, 0,	0,    0, 0,    0,    0,	   0,	 7,
};
static const uint8_t pause_frame[60] = {
	0x01, 0x80, 0xc2, 0, 0, 1, 0x52, 0x54, 0, 0x12, 0x34, 1, 0x88, 0x08, 0x00, 0x01, 0x12, 0x34,
};

static void test_known_pfc_frame(void **state)
{
	uint8_t out[WIRE_PFC_BYTES];
	struct wire_pfc pfc;

	(void)state;
	assert_true(wire_pfc_parse(&pfc, pfc_frame, sizeof(pfc_frame)));
	assert_false(pfc.whole_link);
	assert_int_equal(pfc.enabled, 0x89);
	assert_int_equal(pfc.quanta[0], 0xffff);
	assert_int_equal(pfc.quanta[3], 0);
	assert_int_equal(pfc.quanta[7], 7);
	memset(out, 0xee, sizeof(out));
	assert_int_equal(wire_pfc_emit(&pfc, out, sizeof(out)), 60);
	assert_memory_equal(out, pfc_frame, 60);
	assert_int_equal(wire_pfc_emit(&pfc, out, 59), 0);
}

static void test_known_pause_frame(void **state)
{
	uint8_t out[WIRE_PFC_BYTES];
	struct wire_pfc pfc;

	(void)state;
	assert_true(wire_pfc_parse(&pfc, pause_frame, sizeof(pause_frame)));
	assert_true(pfc.whole_link);
	assert_int_equal(pfc.enabled, 0xff);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pfc.quanta[i], 0x1234);
	assert_int_equal(wire_pfc_emit(&pfc, out, sizeof(out)), 60);
	assert_memory_equal(out, pause_frame, 60);
}

static void test_a_timer_counts_only_where_enabled(void **state)
{
	struct wire_pfc pfc = {.enabled = 0x08, .quanta = {1, 2, 3, 4, 5, 6, 7, 8}}, got;
	uint8_t out[WIRE_PFC_BYTES];

	(void)state;
	assert_int_equal(wire_pfc_emit(&pfc, out, sizeof(out)), 60);
	for (int i = 0; i < 16; i++)
		assert_int_equal(out[18 + i], i == 7 ? 4 : 0);
	out[19] = 9; /* a timer of priority 0 from somebody careless */
	out[16] = 9; /* reserved */
	assert_true(wire_pfc_parse(&got, out, sizeof(out)));
	for (int i = 0; i < 8; i++)
		assert_int_equal(got.quanta[i], i == 3 ? 4 : 0);
	assert_int_equal(got.enabled, 0x08);
}

static void test_each_priority_there_and_back(void **state)
{
	struct util_rand rand = {.seed = 5};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct wire_pfc in = {.enabled = (uint8_t)rand_bits(&rand, 8)}, out;
		uint8_t buf[WIRE_PFC_BYTES];

		for (int p = 0; p < 8; p++)
			in.quanta[p] = in.enabled >> p & 1 ? (uint16_t)rand_bits(&rand, 16) : 0;
		for (int k = 0; k < 6; k++)
			in.src_mac[k] = (uint8_t)rand_bits(&rand, 8);
		assert_int_equal(wire_pfc_emit(&in, buf, sizeof(buf)), 60);
		assert_true(wire_pfc_parse(&out, buf, sizeof(buf)));
		assert_memory_equal(&in, &out, sizeof(in));
	}
}

static bool accepts(size_t at, uint8_t value, size_t len)
{
	uint8_t buf[64] = {0};
	struct wire_pfc pfc;

	memcpy(buf, pfc_frame, sizeof(pfc_frame));
	buf[at] = value;
	return wire_pfc_parse(&pfc, buf, len);
}

static void test_each_rule_by_a_frame_that_breaks_only_it(void **state)
{
	(void)state;
	assert_true(accepts(0, 0x01, 60));
	assert_true(accepts(0, 0x01, 64));
	for (size_t len = 0; len < 60; len++)
		assert_false(accepts(0, 0x01, len));
	for (size_t at = 0; at < 6; at++)
		assert_false(accepts(at, 0x77, 60)); /* another destination */
	assert_false(accepts(12, 0x08, 60));	     /* another type */
	assert_false(accepts(13, 0x00, 60));
	assert_false(accepts(14, 0x02, 60)); /* another operation */
	assert_false(accepts(15, 0x02, 60));
}

RUN(T(test_known_pfc_frame), T(test_known_pause_frame), T(test_a_timer_counts_only_where_enabled),
    T(test_each_priority_there_and_back), T(test_each_rule_by_a_frame_that_breaks_only_it))
