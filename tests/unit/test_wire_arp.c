/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_test.h"

#include "transport/wire/arp.h"
#include "transport/wire/eth.h"

#include "tests/unit/wire_link.inc"

static const uint8_t v4_a[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t v4_b[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static const uint8_t v6_a[16] = {0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 1};
static const uint8_t v6_b[16] = {0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 2};
static const uint8_t mac_a[6] = {0x52, 0x54, 0, 0x12, 0x34, 1};
static const uint8_t mac_b[6] = {0x52, 0x54, 0, 0x12, 0x34, 2};
static const uint8_t nobody[16];

static void assert_emits(const struct wire_neigh *neigh, const uint8_t *bytes, size_t len)
{
	uint8_t out[WIRE_NEIGH_MAX];

	memset(out, 0xee, sizeof(out));
	assert_int_equal(wire_neigh_emit(neigh, out, len), len);
	assert_memory_equal(out, bytes, len);
	assert_int_equal(wire_neigh_emit(neigh, out, len - 1), 0);
}

static void test_known_requests(void **state)
{
	struct wire_neigh neigh;

	(void)state;
	assert_true(wire_neigh_parse(&neigh, arp_request, sizeof(arp_request)));
	assert_false(neigh.reply);
	assert_memory_equal(neigh.sender_mac, mac_a, 6);
	assert_memory_equal(neigh.sender_ip, v4_a, 16);
	assert_memory_equal(neigh.peer_ip, v4_b, 16);
	assert_emits(&neigh, arp_request, sizeof(arp_request));
	memset(neigh.peer_mac, 0, 6);
	assert_emits(&neigh, arp_request, sizeof(arp_request));

	assert_true(wire_neigh_parse(&neigh, nd_solicitation, sizeof(nd_solicitation)));
	assert_false(neigh.reply);
	assert_memory_equal(neigh.sender_mac, mac_a, 6);
	assert_memory_equal(neigh.sender_ip, v6_a, 16);
	assert_memory_equal(neigh.peer_ip, v6_b, 16);
	assert_emits(&neigh, nd_solicitation, sizeof(nd_solicitation));
	memset(neigh.peer_mac, 0, 6);
	assert_emits(&neigh, nd_solicitation, sizeof(nd_solicitation));
}

static void test_known_replies(void **state)
{
	struct wire_neigh neigh;

	(void)state;
	assert_true(wire_neigh_parse(&neigh, arp_reply, sizeof(arp_reply)));
	assert_true(neigh.reply);
	assert_int_equal(neigh.vlan, 0x6064);
	assert_memory_equal(neigh.sender_mac, mac_a, 6);
	assert_memory_equal(neigh.sender_ip, v4_a, 16);
	assert_memory_equal(neigh.peer_mac, mac_b, 6);
	assert_memory_equal(neigh.peer_ip, v4_b, 16);
	assert_emits(&neigh, arp_reply, sizeof(arp_reply));

	assert_true(wire_neigh_parse(&neigh, nd_advertisement, sizeof(nd_advertisement)));
	assert_true(neigh.reply);
	assert_memory_equal(neigh.sender_mac, mac_a, 6);
	assert_memory_equal(neigh.sender_ip, v6_a, 16);
	assert_memory_equal(neigh.peer_ip, v6_b, 16);
	assert_emits(&neigh, nd_advertisement, sizeof(nd_advertisement));
}

/* The asked one answers, and the asker understands. */
static void answer(const uint8_t *request, size_t len, const uint8_t *want_ip)
{
	struct wire_neigh ask, say, heard;
	uint8_t out[WIRE_NEIGH_MAX];

	assert_true(wire_neigh_parse(&ask, request, len));
	wire_neigh_answer(&ask, mac_b, &say);
	len = wire_neigh_emit(&say, out, sizeof(out));
	assert_memory_equal(out, mac_a, 6);
	assert_true(wire_neigh_parse(&heard, out, len));
	assert_true(heard.reply);
	assert_memory_equal(heard.sender_mac, mac_b, 6);
	assert_memory_equal(heard.sender_ip, want_ip, 16);
	assert_memory_equal(heard.peer_ip, ask.sender_ip, 16);
}

static void test_answers(void **state)
{
	(void)state;
	answer(arp_request, sizeof(arp_request), v4_b);
	answer(nd_solicitation, sizeof(nd_solicitation), v6_b);
}

/* Somebody without an address asks whether one is free: all nodes hear the answer. */
static void test_answer_to_a_nobody(void **state)
{
	static const uint8_t group_mac[6] = {0x33, 0x33, 0, 0, 0, 1};
	static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
	struct wire_neigh ask, say, heard;
	uint8_t out[WIRE_NEIGH_MAX];
	size_t len;

	(void)state;
	assert_true(wire_neigh_parse(&ask, nd_probe, sizeof(nd_probe)));
	assert_memory_equal(ask.sender_ip, nobody, 16);
	assert_memory_equal(ask.sender_mac, mac_a, 6); /* the Ethernet source */
	assert_emits(&ask, nd_probe, sizeof(nd_probe));
	wire_neigh_answer(&ask, mac_b, &say);
	len = wire_neigh_emit(&say, out, sizeof(out));
	assert_memory_equal(out, group_mac, 6);
	assert_memory_equal(out + 38, all_nodes, 16);
	assert_int_equal(out[58], 0x20); /* override, not solicited */
	assert_true(wire_neigh_parse(&heard, out, len));
	assert_memory_equal(heard.sender_ip, v6_b, 16);
	assert_memory_equal(heard.peer_ip, nobody, 16);
}

static void test_request_to_a_known_neighbour(void **state)
{
	struct wire_neigh neigh;
	uint8_t out[WIRE_NEIGH_MAX];

	(void)state;
	assert_true(wire_neigh_parse(&neigh, nd_solicitation, sizeof(nd_solicitation)));
	memcpy(neigh.peer_mac, mac_b, 6);
	assert_int_equal(wire_neigh_emit(&neigh, out, sizeof(out)), 86);
	assert_memory_equal(out, mac_b, 6);
	assert_memory_equal(out + 38, v6_b, 16);
	assert_true(wire_neigh_parse(&neigh, out, 86));
}

static bool accepts_arp(size_t at, uint8_t value, size_t len)
{
	uint8_t buf[sizeof(arp_request)];
	struct wire_neigh neigh;

	memcpy(buf, arp_request, sizeof(buf));
	buf[at] = value;
	return wire_neigh_parse(&neigh, buf, len);
}

static void test_each_rule_of_arp(void **state)
{
	(void)state;
	assert_true(accepts_arp(21, 1, 60));
	assert_true(accepts_arp(21, 1, 42)); /* without padding */
	for (size_t len = 0; len < 42; len++)
		assert_false(accepts_arp(21, 1, len));
	assert_false(accepts_arp(13, 0x07, 60)); /* Ethertype */
	assert_false(accepts_arp(15, 2, 60));	 /* hardware */
	assert_false(accepts_arp(16, 9, 60));	 /* protocol */
	assert_false(accepts_arp(18, 8, 60));	 /* size of a MAC address */
	assert_false(accepts_arp(19, 16, 60));	 /* size of an IP address */
	assert_true(accepts_arp(21, 2, 60));
	assert_false(accepts_arp(21, 0, 60)); /* operation */
	assert_false(accepts_arp(21, 3, 60));
	assert_false(accepts_arp(20, 1, 60));
	assert_false(accepts_arp(22, 0x53, 60)); /* a group's MAC as sender */
}

enum { IP = 14, ND = IP + 40 };

/* The solicitation with byte @at set to @value, cut or grown to @len, checksum right. */
static bool accepts_nd(const uint8_t *frame, size_t size, size_t at, uint8_t value, size_t len)
{
	uint8_t buf[128], pseudo[40 + 64] = {0};
	struct wire_neigh neigh;
	uint16_t sum;
	size_t bytes;

	memset(buf, 1, sizeof(buf)); /* would be options, to him who walks past the end */
	memcpy(buf, frame, size);
	buf[at] = value;
	bytes = buf[IP + 5];
	memcpy(pseudo, buf + IP + 8, 32);
	pseudo[35] = (uint8_t)bytes;
	pseudo[39] = 58;
	memcpy(pseudo + 40, buf + ND, bytes);
	pseudo[42] = pseudo[43] = 0;
	sum = wire_ip_checksum(0, pseudo, 40 + bytes);
	buf[ND + 2] = (uint8_t)(sum >> 8);
	buf[ND + 3] = (uint8_t)sum;
	return wire_neigh_parse(&neigh, buf, len);
}

static bool accepts_ns(size_t at, uint8_t value, size_t len)
{
	return accepts_nd(nd_solicitation, sizeof(nd_solicitation), at, value, len);
}

static void test_each_rule_of_solicitations(void **state)
{
	(void)state;
	assert_true(accepts_ns(IP + 3, 5, 86)); /* any flow label */
	assert_true(accepts_ns(IP + 3, 5, 90)); /* Ethernet padding */
	for (size_t len = 0; len < 86; len++)
		assert_false(accepts_ns(IP + 3, 5, len));
	assert_false(accepts_ns(IP, 0x40, 86));	   /* version */
	assert_false(accepts_ns(IP + 6, 17, 86));  /* not ICMPv6 */
	assert_false(accepts_ns(IP + 7, 254, 86)); /* came through a router */
	assert_false(accepts_ns(IP + 5, 23, 86));  /* shorter than the fixed part */
	assert_true(accepts_ns(IP + 5, 24, 86));   /* no option */
	assert_false(accepts_ns(IP + 5, 25, 86));  /* half an option */
	assert_false(accepts_ns(IP + 5, 31, 86));
	assert_false(accepts_ns(IP + 8, 0xff, 86)); /* a group as source */
	assert_false(accepts_ns(ND, 134, 86));	    /* another message */
	assert_false(accepts_ns(ND + 1, 1, 86));    /* code */
	assert_true(accepts_ns(ND + 4, 0xff, 86));  /* reserved */
	assert_false(accepts_ns(ND + 8, 0xff, 86)); /* a group as target */
	assert_true(accepts_ns(ND + 24, 77, 86));   /* an option that we do not know */
	assert_false(accepts_ns(ND + 25, 0, 86));   /* of no length */
	assert_false(accepts_ns(ND + 25, 2, 86));   /* longer than the message */
	assert_false(accepts_ns(ND + 26, 1, 86));   /* that says a group's MAC */
}

static void test_each_rule_of_nobodys_solicitations(void **state)
{
	uint8_t with_option[sizeof(nd_solicitation)], no_target[sizeof(nd_solicitation)];

	(void)state;
	memcpy(no_target, nd_solicitation, sizeof(no_target));
	memset(no_target + ND + 8, 0, 16);
	assert_false(accepts_nd(no_target, 86, IP + 3, 5, 86));
	assert_true(accepts_nd(nd_probe, sizeof(nd_probe), IP + 3, 5, sizeof(nd_probe)));
	assert_false(accepts_nd(nd_probe, sizeof(nd_probe), IP + 24, 0xfe, sizeof(nd_probe)));
	memcpy(with_option, nd_solicitation, sizeof(with_option));
	memset(with_option + IP + 8, 0, 16);
	assert_false(accepts_nd(with_option, 86, IP + 3, 5, 86));
}

static void test_each_rule_of_advertisements(void **state)
{
	const uint8_t *na = nd_advertisement;

	(void)state;
	assert_true(accepts_nd(na, 86, IP + 3, 5, 86));
	assert_true(accepts_nd(na, 86, ND + 4, 0x20, 86));
	assert_false(accepts_nd(na, 86, IP + 24, 0xff, 86)); /* solicited, yet to a group */
	assert_false(accepts_nd(na, 86, ND + 8, 0xff, 86));
	assert_false(accepts_nd(na, 86, ND + 25, 0, 86));
	assert_false(accepts_nd(na, 86, IP + 7, 1, 86));
}

static void test_every_flipped_bit_behind_the_hop_limit_is_seen(void **state)
{
	struct wire_neigh neigh;

	(void)state;
	for (size_t bit = (IP + 8) * 8; bit < sizeof(nd_solicitation) * 8; bit++) {
		uint8_t buf[sizeof(nd_solicitation)];

		memcpy(buf, nd_solicitation, sizeof(buf));
		buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(wire_neigh_parse(&neigh, buf, sizeof(buf)));
	}
}

static void test_mapped_addresses_are_for_arp(void **state)
{
	uint8_t buf[sizeof(nd_solicitation)];

	(void)state;
	memcpy(buf, nd_solicitation, sizeof(buf));
	memcpy(buf + ND + 8, v4_b, 16);
	assert_false(accepts_nd(buf, 86, IP + 3, 5, 86));
	memcpy(buf, nd_solicitation, sizeof(buf));
	memcpy(buf + IP + 8, v4_a, 16);
	assert_false(accepts_nd(buf, 86, IP + 3, 5, 86));
}

RUN(T(test_known_requests), T(test_known_replies), T(test_answers), T(test_answer_to_a_nobody),
    T(test_request_to_a_known_neighbour), T(test_each_rule_of_arp),
    T(test_each_rule_of_solicitations), T(test_each_rule_of_nobodys_solicitations),
    T(test_each_rule_of_advertisements), T(test_every_flipped_bit_behind_the_hop_limit_is_seen),
    T(test_mapped_addresses_are_for_arp))
