/* SPDX-License-Identifier: BSD-2-Clause */

/* What packets take on the link in the sizes of another simulator, whatever headers they have. */
#include "models/link/ns3.h"

#include "tests/test.h"

static uint32_t framed(uint8_t opcode, uint16_t length, bool has_int)
{
	const struct hca_framing framing = ns3_framing();
	const struct wire_pkt pkt = {
		.opcode = opcode, .length = length, .has_rare = true, .rare.has_int = has_int};

	assert_true(hca_framing_is_set(&framing));
	return hca_framing_bytes(&framing, &pkt);
}

static void data_is_not_padded(void **state)
{
	(void)state;
	assert_int_equal(framed(WIRE_RC | WIRE_WRITE_FIRST, 1000, false), 1048);
	assert_int_equal(framed(WIRE_RC | WIRE_WRITE_MIDDLE, 1000, false), 1048);
	assert_int_equal(framed(WIRE_RC | WIRE_READ_RESPONSE_LAST, 1, false), 49);
	assert_int_equal(framed(WIRE_RC | WIRE_WRITE_ONLY, 1000, true), 1090);
	assert_int_equal(framed(WIRE_RC | WIRE_SEND_ONLY, 0, false), 48);
}

static void what_carries_none_is_as_long_as_an_ack(void **state)
{
	(void)state;
	assert_int_equal(framed(WIRE_RC | WIRE_ACKNOWLEDGE, 0, false), 60);
	assert_int_equal(framed(WIRE_RC | WIRE_ACKNOWLEDGE, 0, true), 88);
	assert_int_equal(framed(WIRE_RC | WIRE_READ_REQUEST, 0, false), 60);
	assert_int_equal(framed(WIRE_CNP, 0, false), 60);
}

static void a_fabric_of_ethernet_has_none(void **state)
{
	const struct hca_framing framing = {.ack = {60}};

	(void)state;
	assert_false(hca_framing_is_set(&framing));
}

RUN(T(data_is_not_padded), T(what_carries_none_is_as_long_as_an_ack),
    T(a_fabric_of_ethernet_has_none))
