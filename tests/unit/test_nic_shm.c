/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of packets that two processes share, of which one may be anybody's. */
#include "transport/nic/shm_ring.h"

#include "tests/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where things lie in the memory, and how many places there are. */
enum {
	PLACES = 512,
	TAKEN_AT = 0,
	HEADS_AT = 128,
	HEAD_BYTES = 64,
	ROOMS_AT = HEADS_AT + PLACES * HEAD_BYTES,
	ROOM_BYTES = 4224,
	NUMBER = 0,
	LENGTH = 4,
	HEADER_BYTES = 6,
	HEADERS = 8,
};

struct both {
	uint8_t *memory;
	struct nic_ring in, out; /* of who sends and who takes */
};

static void both_init(struct both *b)
{
	b->memory = aligned_alloc(4096, (nic_ring_bytes() + 4095) / 4096 * 4096);
	assert_non_null(b->memory);
	memset(b->memory, 0, nic_ring_bytes());
	nic_ring_init(&b->in, b->memory);
	nic_ring_init(&b->out, b->memory);
}

static uint8_t *head_at(struct both *b, uint32_t place)
{
	return b->memory + HEADS_AT + place % PLACES * HEAD_BYTES;
}

static uint8_t *room_at(struct both *b, uint32_t place)
{
	return b->memory + ROOMS_AT + place % PLACES * ROOM_BYTES;
}

static struct wire_pkt a_write(uint32_t psn, uint8_t *payload, uint16_t length)
{
	return (struct wire_pkt){.opcode = WIRE_RC | WIRE_WRITE_ONLY_IMM,
				 .psn = psn,
				 .dest_qpn = 0x123456,
				 .word = 0xfeedbeef,
				 .va = 0x1122334455667788,
				 .rkey = 0x99aabbcc,
				 .dma_length = length,
				 .ack_req = true,
				 .length = length,
				 .payload = payload};
}

static void put(struct both *b, const struct wire_pkt *pkt)
{
	assert_non_null(nic_ring_room(&b->in));
	nic_ring_put(&b->in, pkt, 0x6a);
}

/* Takes one, which has to be a packet. */
static void get(struct both *b, struct nic_ring_got *ret_got, struct wire_pkt *ret_pkt)
{
	memset(ret_pkt, 0, sizeof(*ret_pkt));
	assert_true(nic_ring_get(&b->out, ret_got));
	assert_true(nic_ring_parse(ret_got, ret_pkt));
}

static void test_a_packet_comes_as_it_went(void **state)
{
	uint8_t payload[1001];
	struct wire_pkt pkt, came;
	struct nic_ring_got got;
	struct both b;

	(void)state;
	both_init(&b);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	pkt = a_write(0xabcdef, payload, sizeof(payload));
	assert_false(nic_ring_get(&b.out, &got));
	put(&b, &pkt);
	get(&b, &got, &came);
	assert_int_equal(got.traffic_class, 0x6a);
	assert_false(got.is_whole);
	assert_int_equal(came.opcode, pkt.opcode);
	assert_int_equal(came.psn, 0xabcdef);
	assert_int_equal(came.dest_qpn, 0x123456);
	assert_int_equal(came.word, 0xfeedbeef);
	assert_int_equal(came.va, 0x1122334455667788);
	assert_int_equal(came.rkey, 0x99aabbcc);
	assert_int_equal(came.dma_length, 1001);
	assert_true(came.ack_req);
	assert_false(came.solicited);
	assert_int_equal(came.length, 1001);
	assert_memory_equal(came.payload, payload, 1001);
	nic_ring_release(&b.out);
	assert_false(nic_ring_get(&b.out, &got));
	free(b.memory);
}

/* What only datagrams and atomics have; a payload that is made where it goes. */
static void test_rare_headers_and_payloads_in_place(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_UD | WIRE_SEND_ONLY,
			       .dest_qpn = 77,
			       .psn = 1,
			       .length = 3,
			       .has_rare = true,
			       .rare = {.qkey = 0x11111111, .src_qpn = 0x222222, .pkey = 0x8001}},
			came;
	struct nic_ring_got got;
	struct both b;

	(void)state;
	both_init(&b);
	pkt.payload = nic_ring_room(&b.in);
	memcpy(pkt.payload, "abc", 3);
	put(&b, &pkt);
	get(&b, &got, &came);
	assert_true(came.has_rare);
	assert_int_equal(came.rare.qkey, 0x11111111);
	assert_int_equal(came.rare.src_qpn, 0x222222);
	assert_int_equal(came.rare.pkey, 0x8001);
	assert_memory_equal(came.payload, "abc", 3);
	nic_ring_release(&b.out);
	pkt = (struct wire_pkt){.opcode = WIRE_RC | WIRE_COMPARE_SWAP,
				.dest_qpn = 78,
				.has_rare = true,
				.rare = {.swap_add = 5, .compare = 6, .pkey = 0xffff}};
	put(&b, &pkt);
	get(&b, &got, &came);
	assert_int_equal(came.rare.swap_add, 5);
	assert_int_equal(came.rare.compare, 6);
	assert_int_equal(came.length, 0);
	free(b.memory);
}

static void test_a_full_ring_takes_no_more(void **state)
{
	uint8_t byte = 9;
	struct wire_pkt came;
	struct nic_ring_got got;
	struct both b;

	(void)state;
	both_init(&b);
	for (uint32_t i = 0; i < 3 * PLACES; i++) {
		const struct wire_pkt pkt = a_write(i, &byte, 1);

		if (i >= PLACES) {
			assert_null(nic_ring_room(&b.in));
			get(&b, &got, &came);
			assert_int_equal(came.psn, i - PLACES);
			nic_ring_release(&b.out);
		}
		put(&b, &pkt);
	}
	for (uint32_t i = 2 * PLACES; i < 3 * PLACES; i++) {
		get(&b, &got, &came);
		assert_int_equal(came.psn, i);
		nic_ring_release(&b.out);
	}
	assert_false(nic_ring_has(&b.out));
	free(b.memory);
}

static void test_whole_datagrams_lie_beside_packets(void **state)
{
	uint8_t whole[4188], byte = 1;
	struct wire_pkt pkt = a_write(5, &byte, 1), came;
	struct nic_ring_got got;
	struct both b;

	(void)state;
	both_init(&b);
	memset(whole, 0x5a, sizeof(whole));
	assert_non_null(nic_ring_room(&b.in));
	nic_ring_put_whole(&b.in, whole, sizeof(whole), 3);
	put(&b, &pkt);
	assert_true(nic_ring_get(&b.out, &got));
	assert_true(got.is_whole);
	assert_int_equal(got.length, 4188);
	assert_int_equal(got.traffic_class, 3);
	assert_memory_equal(got.bytes, whole, sizeof(whole));
	nic_ring_release(&b.out);
	get(&b, &got, &came);
	assert_int_equal(came.psn, 5);
	free(b.memory);
}

static void test_who_sleeps_is_woken_once(void **state)
{
	struct both b;

	(void)state;
	both_init(&b);
	assert_false(nic_ring_wakes(&b.in));
	nic_ring_sleep(&b.out, true);
	assert_true(nic_ring_wakes(&b.in));
	assert_false(nic_ring_wakes(&b.in));
	nic_ring_sleep(&b.out, true);
	nic_ring_sleep(&b.out, false);
	assert_false(nic_ring_wakes(&b.in));
	free(b.memory);
}

/* ---- an end that lies ---- */

static void test_an_index_that_cannot_be_ends_the_ring(void **state)
{
	/* After 512 sent: more than were sent, and fewer than none. */
	static const uint32_t bad[] = {513, 1000, UINT32_MAX, 0x80000000};
	uint8_t byte = 9;
	const struct wire_pkt pkt = a_write(0, &byte, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct both b;

		both_init(&b);
		for (uint32_t k = 0; k < PLACES; k++)
			put(&b, &pkt);
		memcpy(b.memory + TAKEN_AT, &bad[i], 4);
		assert_null(nic_ring_room(&b.in));
		assert_true(b.in.is_bad);
		memset(b.memory + TAKEN_AT, 0, 4);
		assert_null(nic_ring_room(&b.in)); /* for good */
		free(b.memory);
	}
}

static void test_a_length_that_cannot_be_ends_the_ring(void **state)
{
	static const struct {
		uint16_t length;
		uint8_t header_bytes;
		bool is_bad;
	} cases[] = {
		{4097, 52, false},  {63360, 52, false}, {63361, 52, true},
		{0xffff, 32, true}, {4, 53, true},	{4, 255, true},
		{4224, 0, false},   {4225, 0, true},	{0xffff, 0, true},
	};
	uint8_t byte = 9;
	const struct wire_pkt pkt = a_write(0, &byte, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nic_ring_got got;
		struct both b;

		both_init(&b);
		put(&b, &pkt);
		memcpy(head_at(&b, 0) + LENGTH, &cases[i].length, 2);
		head_at(&b, 0)[HEADER_BYTES] = cases[i].header_bytes;
		assert_int_equal(nic_ring_get(&b.out, &got), !cases[i].is_bad);
		assert_int_equal(b.out.is_bad, cases[i].is_bad);
		head_at(&b, 0)[HEADER_BYTES] = 32;
		assert_int_equal(nic_ring_has(&b.out), !cases[i].is_bad);
		free(b.memory);
	}
}

static struct wire_pkt a_run(uint32_t psn, uint8_t *payload, uint16_t length)
{
	return (struct wire_pkt){.opcode = WIRE_RC | WIRE_WRITE_MIDDLE,
				 .psn = psn,
				 .dest_qpn = 0x123456,
				 .length = length,
				 .payload = payload};
}

/* The payload of several packets lies in as many rooms, in one piece, which the end of the memory
 * does not cut. */
static void test_a_run_takes_the_rooms_behind_its_own(void **state)
{
	static uint8_t bytes[15 * 4096];
	struct wire_pkt came, one = a_write(7, bytes, 100), run = a_run(8, bytes, sizeof(bytes));
	struct nic_ring_got got;
	struct both b;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 251);
	both_init(&b);
	assert_int_equal(nic_ring_run(&b.in), 15 * ROOM_BYTES);
	for (uint32_t lap = 0; lap < 3; lap++) {
		for (uint32_t at = 0; at + 16 <= PLACES; at += 16) {
			assert_true(nic_ring_run(&b.in) >= sizeof(bytes));
			put(&b, &run);
			put(&b, &one);
			get(&b, &got, &came);
			assert_int_equal(came.length, sizeof(bytes));
			assert_int_equal(came.psn, 8);
			assert_ptr_equal(came.payload, room_at(&b, at));
			assert_memory_equal(came.payload, bytes, sizeof(bytes));
			nic_ring_release(&b.out);
			get(&b, &got, &came);
			assert_ptr_equal(came.payload, room_at(&b, at + 15));
			assert_int_equal(came.psn, 7);
			nic_ring_release(&b.out);
		}
		assert_false(nic_ring_has(&b.out));
	}
	free(b.memory);
}

/* Room for a run is what is free, in one piece. */
static void test_a_run_has_the_room_that_there_is(void **state)
{
	static uint8_t bytes[4096];
	const struct wire_pkt one = a_write(7, bytes, 100);
	struct nic_ring_got got;
	struct wire_pkt came;
	struct both b;

	(void)state;
	both_init(&b);
	for (uint32_t k = 0; k < PLACES - 3; k++)
		put(&b, &one);
	assert_int_equal(nic_ring_run(&b.in), 3 * ROOM_BYTES); /* as many are free */
	for (uint32_t k = 0; k < 20; k++) {
		get(&b, &got, &came);
		nic_ring_release(&b.out);
	}
	assert_int_equal(nic_ring_run(&b.in), 3 * ROOM_BYTES); /* as many are before the end */
	for (uint32_t k = 0; k < 3; k++)
		put(&b, &one);
	assert_int_equal(nic_ring_run(&b.in), 15 * ROOM_BYTES);
	for (uint32_t k = 0; k < 17; k++)
		put(&b, &one);
	assert_int_equal(nic_ring_run(&b.in), 3 * ROOM_BYTES); /* as many are free, again */
	/* What cannot be takes no place away that was given, and is told when there is none. */
	for (uint32_t taken = 0; taken < 2; taken++) {
		memset(b.memory + TAKEN_AT, taken == 0 ? 0 : 0xff, 4);
		assert_int_equal(nic_ring_run(&b.in), 3 * ROOM_BYTES);
		assert_false(b.in.is_bad);
		assert_non_null(nic_ring_room(&b.in));
	}
	for (uint32_t k = 0; k < 3; k++)
		put(&b, &one);
	assert_int_equal(nic_ring_run(&b.in), 0);
	assert_null(nic_ring_room(&b.in));
	free(b.memory);
}

/* One that would go beyond the end. */
static void test_a_run_beyond_the_end_ends_the_ring(void **state)
{
	static uint8_t bytes[4096];
	const struct wire_pkt one = a_write(7, bytes, 100), run = a_run(8, bytes, 4096);
	struct nic_ring_got got;

	(void)state;
	for (uint32_t rooms = 2; rooms < 4; rooms++) {
		const uint16_t length = (uint16_t)(rooms * ROOM_BYTES);
		struct wire_pkt came;
		struct both b;

		both_init(&b);
		for (uint32_t k = 0; k < PLACES - 2; k++) {
			put(&b, &one);
			get(&b, &got, &came);
			nic_ring_release(&b.out);
		}
		put(&b, &run);
		memcpy(head_at(&b, PLACES - 2) + LENGTH, &length, 2);
		assert_int_equal(nic_ring_get(&b.out, &got), rooms == 2);
		assert_int_equal(b.out.is_bad, rooms != 2);
		free(b.memory);
	}
}

/* Headers that disagree with what is said of them are no packet. */
static void test_headers_that_disagree_are_no_packet(void **state)
{
	static const struct {
		uint32_t at;
		uint16_t value; /* of LENGTH both bytes */
	} cases[] = {
		{HEADERS, 0xff},		     /* no opcode */
		{HEADERS, WIRE_RC | WIRE_SEND_ONLY}, /* of fewer headers */
		{HEADERS, WIRE_RC | WIRE_FETCH_ADD}, /* of more */
		{HEADERS + 1, 0x20},		     /* pad 2: then there would be two bytes */
		{HEADERS + 1, 0x31},		     /* another version of the transport */
		{LENGTH, 2},			     /* the pad says 1 */
		{HEADER_BYTES, 28},
		{HEADER_BYTES, 1},
	};
	uint8_t byte = 9;
	const struct wire_pkt pkt = a_write(0, &byte, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_pkt came = {.length = 0};
		struct nic_ring_got got;
		struct both b;

		both_init(&b);
		put(&b, &pkt);
		if (cases[i].at == LENGTH)
			memcpy(head_at(&b, 0) + cases[i].at, &cases[i].value, 2);
		else
			head_at(&b, 0)[cases[i].at] = (uint8_t)cases[i].value;
		assert_true(nic_ring_get(&b.out, &got));
		assert_false(nic_ring_parse(&got, &came));
		free(b.memory);
	}
}

/* What was checked is what is used, whatever the place says by then. */
static void test_a_head_is_copied_before_it_is_checked(void **state)
{
	uint8_t byte = 9;
	const struct wire_pkt pkt = a_write(3, &byte, 1);
	struct wire_pkt came = {.length = 0};
	struct nic_ring_got got;
	struct both b;

	(void)state;
	both_init(&b);
	put(&b, &pkt);
	assert_true(nic_ring_get(&b.out, &got));
	memset(head_at(&b, 0), 0xff, HEAD_BYTES);
	assert_true(nic_ring_parse(&got, &came));
	assert_int_equal(came.length, 1);
	assert_int_equal(came.psn, 3);
	assert_int_equal(got.length, 1);
	free(b.memory);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void scribble(struct both *b, uint64_t *seed)
{
	const uint64_t r = random_next(seed);
	/* Mostly heads that are read soon. */
	const uint32_t soon = (b->out.next + (uint32_t)(r >> 8) % 16) % PLACES;
	const uint32_t at = r % 4 ? HEADS_AT + soon * HEAD_BYTES + (uint32_t)(r >> 32) % HEAD_BYTES
				  : (uint32_t)(r >> 8) % (uint32_t)nic_ring_bytes();

	b->memory[at] = (uint8_t)(r >> 56);
}

/* The number of the next packet, too, so that what is there is looked at. */
static void offer(struct both *b)
{
	const uint32_t number = b->out.next + 1;

	memcpy(head_at(b, b->out.next) + NUMBER, &number, sizeof(number));
}

static void test_whatever_is_scribbled_nothing_else_is_touched(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	uint32_t taken = 0, bad = 0;
	uint8_t payload[64] = {1};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		struct both b;

		both_init(&b);
		for (uint32_t step = 0; step < 100; step++) {
			const struct wire_pkt pkt = a_write(step, payload, sizeof(payload));
			struct nic_ring_got got;
			struct wire_pkt came = {.length = 0};

			if (nic_ring_room(&b.in))
				nic_ring_put(&b.in, &pkt, 0);
			for (int i = 0; i < 4; i++)
				scribble(&b, &seed);
			if (step % 8 == 0)
				offer(&b);
			if (!nic_ring_get(&b.out, &got))
				continue;
			assert_true(got.length <= (got.is_whole ? 4224 : 63360));
			for (uint32_t i = 0; i < (got.is_lent ? 8 : got.length); i++)
				sum += got.bytes[i];
			taken += !got.is_whole && nic_ring_parse(&got, &came);
			nic_ring_release(&b.out);
		}
		bad += b.out.is_bad;
		free(b.memory);
	}
	assert_true(taken > 1000 && bad > 100 && sum > 0); /* all three were tried */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_packet_comes_as_it_went),
		cmocka_unit_test(test_rare_headers_and_payloads_in_place),
		cmocka_unit_test(test_a_full_ring_takes_no_more),
		cmocka_unit_test(test_whole_datagrams_lie_beside_packets),
		cmocka_unit_test(test_who_sleeps_is_woken_once),
		cmocka_unit_test(test_an_index_that_cannot_be_ends_the_ring),
		cmocka_unit_test(test_a_length_that_cannot_be_ends_the_ring),
		cmocka_unit_test(test_a_run_takes_the_rooms_behind_its_own),
		cmocka_unit_test(test_a_run_has_the_room_that_there_is),
		cmocka_unit_test(test_a_run_beyond_the_end_ends_the_ring),
		cmocka_unit_test(test_headers_that_disagree_are_no_packet),
		cmocka_unit_test(test_a_head_is_copied_before_it_is_checked),
		cmocka_unit_test(test_whatever_is_scribbled_nothing_else_is_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
