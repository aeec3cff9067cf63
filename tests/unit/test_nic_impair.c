/* SPDX-License-Identifier: BSD-2-Clause */
/* What rules of impairment do, packet by packet. Draws were computed by another SipHash. */
#include "transport/nic/impair.h"

#include "tests/test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { BYTES = 1064, SEED = 7, LEFT_MAX = 256 }; /* a datagram of 1,048 bytes of payload */

/* A packet that has left. */
struct left {
	ps_t at;
	uint32_t psn;
	uint8_t ecn;
	uint32_t wrong_bits;
};

static struct nic_impair *impair;
static struct nic_impair_board board;
static struct left left[LEFT_MAX];
static uint32_t left_count;
static struct wire_path path;
static uint8_t opcode;
static uint32_t qpn;

static void begin(const char *rules)
{
	memset(&board, 0, sizeof(board));
	left_count = 0;
	opcode = 0x04; /* RC SEND ONLY */
	qpn = 0x11;
	path = (struct wire_path){.dst_ip = {[10] = 0xff, 0xff, 127, 0, 0, 2}};
	assert_int_equal(nic_impair_open(rules, SEED, &board, &impair), 0);
}

static void end(void)
{
	nic_impair_close(impair);
}

static uint8_t byte_of(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn * 31 + i * 7);
}

static void leave(const struct nic_slot *slot, const struct wire_pkt *pkt, ps_t at)
{
	struct left *one = &left[left_count++];

	assert_true(left_count <= LEFT_MAX);
	*one = (struct left){.at = at, .psn = pkt->psn, .ecn = slot->path.ecn};
	for (uint32_t i = 0; i < slot->length; i++)
		one->wrong_bits +=
			(uint32_t)__builtin_popcount(slot->buf[i] ^ byte_of(pkt->psn, i));
}

/* Whatever may leave until @until, at its time. */
static void drain(ps_t until)
{
	uint8_t buf[NIC_SLOT_BYTES];
	struct nic_slot slot = {.buf = buf};
	struct nic_fate fate;
	struct wire_pkt pkt;

	while (nic_impair_next_at(impair) <= until) {
		const ps_t at = nic_impair_next_at(impair);

		if (at > 0)
			assert_false(nic_impair_release(impair, &slot, &pkt, &fate, at - 1));
		assert_true(nic_impair_release(impair, &slot, &pkt, &fate, at));
		assert_ptr_equal(pkt.payload, buf + BYTES - 4 - pkt.length);
		nic_impair_corrupt(&fate, &slot);
		leave(&slot, &pkt, at);
	}
}

/* Packet @psn, made at @now. */
static void make(uint32_t psn, ps_t now)
{
	uint8_t buf[NIC_SLOT_BYTES];
	struct nic_slot slot = {.buf = buf, .length = BYTES, .path = path};
	const struct wire_pkt pkt = {
		.psn = psn, .opcode = opcode, .dest_qpn = qpn, .length = BYTES - 16};
	struct nic_fate fate;

	nic_impair_decide(impair, &pkt, &slot.path, now, &fate);
	if (fate.lost)
		return;
	for (uint32_t i = 0; i < BYTES; i++)
		buf[i] = byte_of(psn, i);
	if (nic_impair_hold(impair, &fate, &slot, &pkt, now))
		return;
	nic_impair_corrupt(&fate, &slot);
	leave(&slot, &pkt, now);
}

static void make_many(uint32_t count, ps_t apart)
{
	for (uint32_t psn = 1; psn <= count; psn++)
		make(psn, psn * apart);
}

/* All but these of the first @count have left, each once, in their order. */
static void assert_lost(uint32_t count, const uint32_t *lost, uint32_t lost_count)
{
	uint32_t at = 0, k = 0;

	assert_int_equal(left_count, count - lost_count);
	for (uint32_t psn = 1; psn <= count; psn++) {
		if (k < lost_count && lost[k] == psn)
			k++;
		else
			assert_int_equal(left[at++].psn, psn);
	}
	assert_int_equal(board.rules[0].met, count);
	assert_int_equal(board.rules[0].lost, lost_count);
}

static void losses(void **state)
{
	static const uint32_t even[] = {1, 22, 24, 31, 33, 45};
	static const uint32_t correlated[] = {1, 31, 45, 57};
	static const uint32_t bursts[] = {17,  19,  20,	 22,  23,  24,	107, 108, 109,
					  110, 115, 123, 124, 126, 133, 143, 145, 146,
					  147, 148, 150, 152, 153, 173, 174};

	(void)state;
	begin("loss 10%");
	make_many(60, 1);
	assert_lost(60, even, 6);
	end();
	begin("loss random 1/4 50%");
	make_many(60, 1);
	assert_lost(60, correlated, 4);
	end();
	begin("loss gemodel 5% 25% 75%");
	make_many(200, 1);
	assert_lost(200, bursts, 25);
	end();
	/* The way back is as likely as netem has it where it is not said: 1 - p. */
	begin("loss gemodel 40%");
	make_many(200, 1);
	assert_in_range(left_count, 80, 150); /* 60 % in the long run */
	end();
	begin("loss 100%");
	make_many(20, 1);
	assert_int_equal(left_count, 0);
	end();
	begin("loss 0%");
	make_many(20, 1);
	assert_lost(20, NULL, 0);
	end();
}

static void delays(void **state)
{
	static const ps_t uniform[] = {7614140, 11768025, 10946340, 8228565, 7806882};
	static const ps_t normal[] = {12268028, 6976504, 11639577, 5319543, 5396989};

	(void)state;
	begin("delay 10us");
	make_many(3, 1000);
	assert_int_equal(left_count, 0);
	drain(10002000);
	assert_int_equal(left_count, 2);
	assert_int_equal(left[1].psn, 2);
	assert_int_equal(left[1].at, 10002000);
	end();
	/* A microsecond apart, so that jitter puts some before others. */
	begin("delay 10us 3us");
	make_many(5, PS_US);
	drain(PS_MS);
	assert_int_equal(left_count, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(left[i].at, left[i].psn * PS_US + uniform[left[i].psn - 1]);
	assert_int_equal(left[0].psn, 1);
	assert_int_equal(left[1].psn, 4);
	end();
	begin("delay 10us 3us distribution normal");
	make_many(5, PS_US);
	drain(PS_MS);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(left[i].at, left[i].psn * PS_US + normal[left[i].psn - 1]);
	assert_int_equal(board.rules[0].delayed, 5);
	end();
	/* Never before it was made. */
	begin("delay 1us 3us");
	make_many(200, PS_MS);
	drain(PS_S);
	assert_int_equal(left_count, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(left[i].at >= left[i].psn * PS_MS);
	end();
	begin("delay 1us 3us"); /* at the beginning of time */
	make_many(50, 1);
	drain(PS_S);
	assert_int_equal(left_count, 50);
	end();
	/* Those of one instant stay in their order. */
	begin("delay 1us");
	for (uint32_t psn = 0; psn < 9; psn++)
		make(psn, 1);
	drain(PS_S);
	for (uint32_t psn = 0; psn < 9; psn++)
		assert_int_equal(left[psn].psn, psn);
	end();
}

static void others_go_ahead(void **state)
{
	static const uint32_t order[] = {3, 6, 1, 2, 4, 5};

	(void)state;
	begin("delay 1ms reorder 100% gap 3");
	make_many(6, 1000);
	drain(PS_S);
	assert_int_equal(left_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(left[i].psn, order[i]);
	assert_int_equal(board.rules[0].early, 2);
	assert_int_equal(board.rules[0].delayed, 4);
	end();
}

/* 1,064 bytes, and 8 of UDP, 20 of IPv4, 14 of Ethernet: 8.848 us each at 1 Gbit/s. */
static void rates(void **state)
{
	static const char *const rules[] = {"rate 1Gbps", "rate 1gbit", "rate 1000mbit"};

	(void)state;
	for (size_t r = 0; r < 3; r++) {
		begin(rules[r]);
		make_many(3, 1000);
		drain(PS_S);
		assert_int_equal(left_count, 3);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(left[i].at, 1000 + (i + 1) * 8848000);
		make(9, 100 * PS_US); /* the wire is free again */
		drain(PS_S);
		assert_int_equal(left[3].at, 100 * PS_US + 8848000);
		end();
	}
}

/* 20 bytes more of an address family whose header is longer: 1,126 bytes at 8 ns. */
static void a_rate_counts_what_is_on_the_wire(void **state)
{
	(void)state;
	begin("rate 1Gbps");
	path = (struct wire_path){.src_ip = {0xfd, [15] = 1}, .dst_ip = {0xfd, [15] = 2}};
	make(1, 1000);
	drain(PS_S);
	assert_int_equal(left[0].at, 1000 + 9008000);
	end();
	/* Also when time begins anew, as the wire is taken. */
	begin("rate 1Gbps");
	make(1, 1000 * PS_US);
	nic_impair_move_epoch(impair, 999 * PS_US);
	make(2, PS_US);
	drain(PS_S);
	assert_int_equal(left[0].at, PS_US + 8848000);
	assert_int_equal(left[1].at, PS_US + 2 * 8848000);
	end();
}

/* To a packet that is lost nothing else happens. */
static void what_is_lost_is_only_lost(void **state)
{
	(void)state;
	begin("loss 100% ecn 100% duplicate 100% delay 1us");
	make_many(2, 1000);
	drain(PS_S);
	assert_int_equal(left_count, 0);
	assert_int_equal(board.rules[0].lost, 2);
	assert_int_equal(board.rules[0].marked, 0);
	assert_int_equal(board.rules[0].delayed, 0);
	end();
}

static void limits(void **state)
{
	(void)state;
	begin("limit 2 delay 1ms");
	make_many(3, 1000);
	drain(PS_S);
	assert_int_equal(left_count, 2);
	assert_int_equal(board.rules[0].over_limit, 1);
	make(4, PS_S);
	drain(2 * PS_S);
	assert_int_equal(left_count, 3);
	end();
}

static void copies_and_bits(void **state)
{
	(void)state;
	begin("duplicate 100%");
	make_many(2, 1000);
	drain(PS_S);
	assert_int_equal(left_count, 4);
	assert_int_equal(left[0].psn, 1);
	assert_int_equal(left[1].psn, 1);
	assert_int_equal(left[3].psn, 2);
	assert_int_equal(board.rules[0].doubled, 2);
	end();
	for (int held = 0; held < 2; held++) {
		begin(held ? "corrupt 100% delay 1us" : "corrupt 100%");
		make_many(3, 1000);
		drain(PS_S);
		assert_int_equal(left_count, 3);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(left[i].wrong_bits, 1);
		assert_int_equal(board.rules[0].corrupted, 3);
		end();
	}
}

static void marks(void **state)
{
	(void)state;
	begin("ecn 100%");
	make(1, 1);
	opcode = 0x11; /* RC ACKNOWLEDGE */
	make(2, 2);
	opcode = 0x81;
	make(3, 3);
	assert_int_equal(left[0].ecn, 3);
	assert_int_equal(left[1].ecn, 0);
	assert_int_equal(left[2].ecn, 0);
	assert_int_equal(board.rules[0].marked, 1);
	end();
	begin("ecn 0% loss 0%");
	make(1, 1);
	assert_int_equal(left[0].ecn, 0);
	end();
	begin("ecn 1/1000000");
	make(1, 1);
	assert_int_equal(left[0].ecn, 2);
	end();
}

static void whom_it_meets(void **state)
{
	static const uint8_t opcodes[] = {0x04, 0x11, 0x12, 0x81};
	static const char *const rules[] = {"only data loss 100%", "only acks loss 100%",
					    "only cnps loss 100%"};
	static const uint32_t lost[] = {1, 2, 1};

	(void)state;
	for (int r = 0; r < 3; r++) {
		begin(rules[r]);
		for (uint32_t i = 0; i < 4; i++) {
			opcode = opcodes[i];
			make(i, i);
		}
		assert_int_equal(board.rules[0].lost, lost[r]);
		assert_int_equal(left_count, 4 - lost[r]);
		end();
	}
	begin("to 127.0.0.2 qp 0x11 loss 100%, to 127.0.0.2 loss 0%, loss 100%");
	make(1, 1);
	qpn = 0x12;
	make(2, 2);
	path.dst_ip[15] = 3;
	make(3, 3);
	assert_int_equal(left_count, 1);
	assert_int_equal(left[0].psn, 2);
	for (int r = 0; r < 3; r++)
		assert_int_equal(board.rules[r].met, 1);
	end();
}

/* The device's time begins anew, and it goes: neither loses what waits, or its order. */
static void time_and_end(void **state)
{
	uint8_t buf[NIC_SLOT_BYTES];
	struct nic_slot slot = {.buf = buf};
	struct nic_fate fate;
	struct wire_pkt pkt;

	(void)state;
	begin("delay 1ms");
	make_many(3, 1000);
	nic_impair_move_epoch(impair, PS_US);
	assert_int_equal(nic_impair_next_at(impair), 1000 + PS_MS - PS_US);
	nic_impair_hurry(impair, true);
	for (uint32_t psn = 1; psn <= 3; psn++) {
		assert_true(nic_impair_release(impair, &slot, &pkt, &fate, 1));
		assert_int_equal(pkt.psn, psn);
	}
	assert_false(nic_impair_release(impair, &slot, &pkt, &fate, 1));
	assert_true(nic_impair_next_at(impair) == PS_NEVER);
	nic_impair_hurry(impair, false);
	make(4, 1);
	assert_false(nic_impair_release(impair, &slot, &pkt, &fate, 1));
	end();
}

static void refused(void **state)
{
	static const struct {
		const char *rules, *found;
	} cases[] = {
		{"", ""},
		{"loss", ""},
		{"loss 5", "5"},
		{"loss 101%", "101%"},
		{"loss 1% 5us", "5us"},
		{"los 1%", "los"},
		{"loss 1% loss 2%", "loss"},
		{"loss 1%,", ""},
		{"loss 1%,, loss 2%", ""},
		{"delay 5", "5"},
		{"delay 101s", "101s"},
		{"delay 5us 1us distribution pareto", "pareto"},
		{"delay 5us distribution", ""},
		{"reorder 1%", "reorder"},
		{"delay 1us reorder 1% gap 0", "0"},
		{"rate 5", "5"},
		{"rate 1xbit", "1xbit"},
		{"rate 1bps", "1bps"},
		{"limit 0 loss 1%", "0"},
		{"limit 5", "5"},
		{"qp 0x1000000 loss 1%", "0x1000000"},
		{"only nothing loss 1%", "nothing"},
		{"to", ""},
		{"loss gemodel", ""},
	};
	struct nic_impair_bad bad;
	char many[NIC_RULE_TEXT_MAX + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(nic_impair_check(cases[i].rules, &bad), -EINVAL);
		assert_string_equal(bad.found, cases[i].found);
		assert_non_null(bad.expected);
	}
	strcpy(many, "loss 1%");
	for (int i = 1; i < 16; i++)
		strcat(many, ",loss 1%");
	assert_int_equal(nic_impair_check(many, &bad), 16);
	strcat(many, ",loss 1%");
	assert_int_equal(nic_impair_check(many, &bad), -EINVAL);
	memset(many, ' ', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	assert_int_equal(nic_impair_check(many, &bad), -EINVAL);
	assert_int_equal(nic_impair_open("loss", SEED, NULL, &impair), -EINVAL);
}

RUN(T(losses), T(delays), T(others_go_ahead), T(rates), T(limits), T(copies_and_bits), T(marks),
    T(whom_it_meets), T(time_and_end), T(a_rate_counts_what_is_on_the_wire),
    T(what_is_lost_is_only_lost), T(refused))
