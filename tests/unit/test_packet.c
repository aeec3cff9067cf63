/* SPDX-License-Identifier: BSD-2-Clause */

/* Packets of the adapter as frames of the fabric, and the slabs that they own. */
#include "tests/unit/models_test.h"

#include "models/machine/packet.h"
#include "transport/wire/frame.h"
#include "transport/wire/pkt.h"

#include <string.h>

static struct world world;
static struct sim_thread th;

static int set_up(void **state)
{
	(void)state;
	world_set_up(&world, 2);
	world.params.packet_bytes_max = 4 * packet_slab_bytes(WIRE_MTU_MAX);
	world_open(&world);
	th = (struct sim_thread){.sim = world.fabric.sim};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* A WRITE of 100 bytes, in a slab. */
static struct sim_pkt data_frame(void)
{
	struct packet_slab *slab = packet_slab_get(&th);
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_WRITE_ONLY,
			       .length = 100,
			       .dest_qpn = 0x123456,
			       .psn = 0xfffffe,
			       .va = 0x1122334455667788u,
			       .rkey = 7,
			       .dma_length = 100,
			       .payload = slab->bytes};
	struct sim_pkt frame = {.bytes = 198, .ttl = 64};

	for (int i = 0; i < 100; i++)
		slab->bytes[i] = (uint8_t)(i * 3);
	packet_pack(&pkt, slab, &frame);
	return frame;
}

static void assert_data(const struct sim_pkt *frame)
{
	struct wire_pkt pkt;

	packet_unpack(frame, &pkt);
	assert_int_equal(pkt.opcode, WIRE_RC | WIRE_WRITE_ONLY);
	assert_int_equal(pkt.dest_qpn, 0x123456);
	assert_int_equal(pkt.psn, 0xfffffe);
	assert_int_equal(pkt.va, 0x1122334455667788u);
	assert_int_equal(pkt.length, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(pkt.payload[i], (uint8_t)(i * 3));
}

static void test_what_is_packed_is_unpacked(void **state)
{
	struct sim_pkt frame = data_frame();

	(void)state;
	assert_data(&frame);
	assert_non_null(packet_slab_of(&frame));
	assert_int_equal(world_slabs_out(&world), 1);
	packet_body_ops.release(&th, &frame);
	assert_int_equal(world_slabs_out(&world), 0);
}

static void test_a_payload_from_elsewhere_is_copied(void **state)
{
	uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_SEND_ONLY, .length = 8, .payload = bytes};
	struct packet_slab *slab = packet_slab_get(&th);
	struct sim_pkt frame = {0};

	(void)state;
	packet_pack(&pkt, slab, &frame);
	bytes[0] = 99;
	packet_unpack(&frame, &pkt);
	assert_ptr_equal(pkt.payload, slab->bytes);
	assert_int_equal(pkt.payload[0], 1);
	packet_body_ops.release(&th, &frame);
}

static void test_packets_without_bytes_have_no_slab(void **state)
{
	struct wire_pkt ack = {.opcode = WIRE_RC | WIRE_ACKNOWLEDGE, .word = 0x1f000005};
	struct wire_pkt synthetic = {.opcode = WIRE_RC | WIRE_WRITE_ONLY,
				     .synthetic = true,
				     .length = 1000,
				     .pattern = wire_pattern(5, 4096)};
	struct sim_pkt frame = {0}, copy;
	struct wire_pkt seen;

	(void)state;
	packet_pack(&ack, NULL, &frame);
	assert_null(packet_slab_of(&frame));
	packet_body_ops.release(&th, &frame);
	packet_pack(&synthetic, NULL, &frame);
	assert_null(packet_slab_of(&frame));
	assert_true(packet_body_ops.duplicate(&th, &frame, &copy));
	packet_unpack(&copy, &seen);
	assert_true(seen.synthetic);
	assert_int_equal(seen.pattern, wire_pattern(5, 4096));
	packet_body_ops.release(&th, &frame);
	packet_body_ops.release(&th, &copy);
	assert_int_equal(world_slabs_out(&world), 0);
}

static void test_rare_fields_ride_in_the_slab(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_COMPARE_SWAP,
			       .has_rare = true,
			       .rare = {.swap_add = 11, .compare = 22}},
			seen;
	struct sim_pkt frame = {0}, copy;

	(void)state;
	packet_pack(&pkt, packet_slab_get(&th), &frame);
	assert_true(packet_body_ops.duplicate(&th, &frame, &copy));
	assert_int_equal(world_slabs_out(&world), 2);
	packet_body_ops.release(&th, &frame);
	packet_unpack(&copy, &seen);
	assert_true(seen.has_rare);
	assert_int_equal(seen.rare.swap_add, 11);
	assert_int_equal(seen.rare.compare, 22);
	packet_body_ops.release(&th, &copy);
	assert_int_equal(world_slabs_out(&world), 0);
}

static void test_a_duplicate_owns_its_bytes(void **state)
{
	struct sim_pkt frame = data_frame(), copy;

	(void)state;
	assert_true(packet_body_ops.duplicate(&th, &frame, &copy));
	assert_ptr_not_equal(packet_slab_of(&frame), packet_slab_of(&copy));
	assert_int_equal(copy.bytes, 198);
	memset(packet_slab_of(&frame)->bytes, 0, 100);
	packet_body_ops.release(&th, &frame);
	assert_data(&copy);
	packet_body_ops.release(&th, &copy);
	assert_int_equal(world_slabs_out(&world), 0);
}

static void test_no_duplicate_beyond_the_memory_limit(void **state)
{
	struct sim_pkt frames[4], copy;

	(void)state;
	for (int i = 0; i < 4; i++)
		frames[i] = data_frame();
	assert_false(world.fabric.pools.exhausted);
	assert_false(packet_body_ops.duplicate(&th, &frames[0], &copy));
	assert_true(world.fabric.pools.exhausted);
	for (int i = 0; i < 4; i++)
		packet_body_ops.release(&th, &frames[i]);
	assert_int_equal(world_slabs_out(&world), 0);
}

/* What adapters know of packets under way counts beside the packets: at once, and with them between
 * two windows. */
static void test_no_room_beyond_the_memory_limit(void **state)
{
	struct packet_pools *pools = &world.fabric.pools;
	struct hca_room *room = &pools->room;
	const size_t half = 2 * packet_slab_bytes(WIRE_MTU_MAX);
	void *first = room->take(room, half), *second = room->take(room, half);

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	packet_pools_balance(pools);
	assert_false(pools->exhausted);
	assert_null(room->take(room, 1));
	assert_true(pools->exhausted);
	pools->exhausted = false;
	room->give_back(room, second, half);
	packet_slab_put(&th, packet_slab_get(&th));
	packet_pools_balance(pools);
	assert_false(pools->exhausted);
	second = room->take(room, half);
	assert_non_null(second);
	packet_pools_balance(pools);
	assert_true(pools->exhausted);
	room->give_back(room, first, half);
	room->give_back(room, second, half);
}

/* Every bit of the frame once: where the receiver would take the packet, it is what was sent but
 * for what routers may change. */
static void test_a_bit_error_is_seen_or_harmless(void **state)
{
	uint32_t taken = 0;

	(void)state;
	for (uint64_t bit = 0; bit < 8 * (14 + 20 + 8 + 12 + 16 + 100 + 4); bit++) {
		struct sim_pkt frame = data_frame();

		if (packet_body_ops.corrupt(&th, &frame, bit)) {
			taken++;
			assert_data(&frame);
			assert_non_null(packet_slab_of(&frame));
		}
		packet_body_ops.release(&th, &frame);
		assert_int_equal(world_slabs_out(&world), 0);
	}
	/* MAC addresses 96 bits; TOS 8 and TTL 8, whose header checksum fails; BTH FECN, BECN and
	 * 6 reserved: only what no checksum covers is taken. */
	assert_in_range(taken, 1, 96 + 16 + 16 + 8 + 16);
}

static void test_facts_tell_packets_apart(void **state)
{
	struct sim_pkt frame = data_frame(), other = frame;
	uint64_t a[2], b[2];
	struct wire_pkt pkt;

	(void)state;
	packet_body_ops.facts(&frame, a);
	for (int what = 0; what < 4; what++) {
		packet_unpack(&frame, &pkt);
		pkt.psn += what == 0;
		pkt.dest_qpn += what == 1;
		pkt.length = (uint16_t)(pkt.length - (what == 2));
		pkt.opcode = (uint8_t)(pkt.opcode + (what == 3));
		packet_pack(&pkt, packet_slab_of(&frame), &other);
		packet_body_ops.facts(&other, b);
		assert_memory_not_equal(a, b, sizeof(a));
	}
	packet_body_ops.release(&th, &frame);
}

/* What switches say: every bit of it, in the frame and in its bytes. */
static void test_words_are_what_they_were(void **state)
{
	static const uint64_t said[][SIM_AGENT_WORDS] = {
		{0x0123456789abcdef, 0xfedcba9876543210, 0x13579bdf02468ace},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX},
		{0, 0, 0},
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct sim_pkt frame = {.ttl = 1}, parsed = {.ttl = 1};
		struct wire_path path = {.ttl = 1};
		uint8_t buf[WIRE_FRAME_MAX];
		uint64_t words[SIM_AGENT_WORDS], facts[2];
		struct wire_pkt pkt;
		size_t len;

		packet_body_ops.put_words(&frame, said[i]);
		/* BTH 12, RETH 16, ImmDt 4, ICRC 4; IPv4, Ethernet, preamble and gap 66. */
		assert_int_equal(frame.bytes, 102);
		assert_null(packet_slab_of(&frame));
		packet_body_ops.facts(&frame, facts);
		assert_true(facts[1] >> 48 == WIRE_AGENT);
		assert_true(packet_body_ops.get_words(&frame, words));
		assert_memory_equal(words, said[i], sizeof(words));
		packet_unpack(&frame, &pkt);
		len = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
		assert_true(len > 0);
		assert_int_equal(wire_frame_parse(&path, &pkt, buf, len), WIRE_OK);
		packet_pack(&pkt, NULL, &parsed);
		assert_true(packet_body_ops.get_words(&parsed, words));
		assert_memory_equal(words, said[i], sizeof(words));
	}
}

static void test_packets_of_adapters_say_nothing_to_switches(void **state)
{
	struct sim_pkt frame = data_frame();
	uint64_t words[SIM_AGENT_WORDS];

	(void)state;
	assert_false(packet_body_ops.get_words(&frame, words));
	packet_body_ops.release(&th, &frame);
}

#define P(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
RUN(P(test_what_is_packed_is_unpacked), P(test_a_payload_from_elsewhere_is_copied),
    P(test_packets_without_bytes_have_no_slab), P(test_rare_fields_ride_in_the_slab),
    P(test_a_duplicate_owns_its_bytes), P(test_no_duplicate_beyond_the_memory_limit),
    P(test_no_room_beyond_the_memory_limit), P(test_a_bit_error_is_seen_or_harmless),
    P(test_facts_tell_packets_apart), P(test_words_are_what_they_were),
    P(test_packets_of_adapters_say_nothing_to_switches))
