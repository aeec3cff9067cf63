/* SPDX-License-Identifier: BSD-2-Clause */
/* Payloads that a ring only names, and that are read where another process has them. */
#include "transport/nic/shm_loan.h"

#include "tests/test.h"
#include "transport/hca/loan.h"
#include "transport/nic/shm_ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 3 * 4096, BODY = 4000, PACKET = 2048, WORD = 0x5eed };

/* What this process lends: @bytes of an own page, and behind its end nothing. */
struct lender {
	uint64_t word;
	uint8_t *bytes;
	pid_t pid;
};

/* A child that lives until it is killed; what is its own from then on is what is here now. */
static void lender_start(struct lender *l)
{
	l->word = WORD;
	l->bytes = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	assert_true(l->bytes != MAP_FAILED);
	assert_int_equal(munmap(l->bytes + BYTES, 4096), 0);
	for (uint32_t i = 0; i < BYTES; i++)
		l->bytes[i] = (uint8_t)(i * 7 + i / 256);
	l->pid = fork();
	assert_true(l->pid >= 0);
	if (l->pid == 0)
		for (;;)
			pause();
	memset(l->bytes, 0, BYTES);
}

static void lender_end(struct lender *l)
{
	assert_int_equal(kill(l->pid, SIGKILL), 0);
	assert_int_equal(waitpid(l->pid, NULL, 0), l->pid);
	munmap(l->bytes, BYTES);
}

static struct nic_loan_from from_of(const struct lender *l)
{
	return (struct nic_loan_from){.pid = l->pid, .word_at = (uintptr_t)&l->word, .word = WORD};
}

/* False: this system lets nobody read another process. */
static bool may_read(const struct lender *l)
{
	const struct nic_loan_from from = from_of(l);

	return nic_loan_check(&from) == 0;
}

static void test_bytes_come_from_the_other_process(void **state)
{
	uint8_t came[BODY], tail[HCA_LOAN_TAIL];
	struct lender l;
	struct nic_loan_from from;

	(void)state;
	lender_start(&l);
	from = from_of(&l);
	if (!may_read(&l)) {
		lender_end(&l);
		skip();
	}
	assert_true(nic_loan_pull(&from, (uintptr_t)l.bytes + 100, came, BODY, tail, NULL));
	for (uint32_t i = 0; i < BODY; i++)
		assert_int_equal(came[i], (uint8_t)((i + 100) * 7 + (i + 100) / 256));
	for (uint32_t i = BODY; i < BODY + HCA_LOAN_TAIL; i++)
		assert_int_equal(tail[i - BODY], (uint8_t)((i + 100) * 7 + (i + 100) / 256));
	lender_end(&l);
}

static uint8_t lent_byte(uint32_t at)
{
	return (uint8_t)(at * 7 + at / 256);
}

/* Three loans in one call; then one of them is a lie. */
static void test_what_lies_behind_comes_as_well(void **state)
{
	struct nic_loans_ahead *ahead = calloc(1, sizeof(*ahead));
	uint8_t came[BODY], tail[HCA_LOAN_TAIL];
	const uint8_t *bytes;
	struct lender l;
	struct nic_loan_from from;

	(void)state;
	assert_non_null(ahead);
	lender_start(&l);
	from = from_of(&l);
	if (!may_read(&l)) {
		lender_end(&l);
		free(ahead);
		skip();
	}
	ahead->count = 2;
	ahead->loans[0].address = (uintptr_t)l.bytes + 5000;
	ahead->loans[0].length = 1024;
	ahead->loans[1].address = (uintptr_t)l.bytes + 300;
	ahead->loans[1].length = WIRE_MTU_MAX;
	assert_true(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, ahead));
	assert_int_equal(ahead->count, 2);
	assert_int_equal(came[BODY - 1], lent_byte(BODY - 1));
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1023, NULL));
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5001, 1024, NULL));
	bytes = nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1024, NULL);
	assert_non_null(bytes);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(bytes[i], lent_byte(5000 + i));
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1024, NULL)); /* once */
	bytes = nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 300, WIRE_MTU_MAX, NULL);
	assert_non_null(bytes);
	assert_int_equal(bytes[WIRE_MTU_MAX - 1], lent_byte(300 + WIRE_MTU_MAX - 1));
	ahead->loans[1].address = 8;
	assert_true(nic_loan_pull(&from, (uintptr_t)l.bytes + 1, came, BODY, tail, ahead));
	assert_int_equal(ahead->count, 0);
	assert_int_equal(came[BODY - 1], lent_byte(BODY));
	assert_int_equal(tail[0], lent_byte(BODY + 1));
	ahead->count = 1;
	from.word++;
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, ahead));
	assert_int_equal(ahead->count, 0);
	ahead->count = 1;
	from = from_of(&l);
	from.pid = 0;
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, ahead));
	assert_int_equal(ahead->count, 0);
	lender_end(&l);
	free(ahead);
}

static void test_a_lie_is_no_payload(void **state)
{
	uint8_t came[BODY], tail[HCA_LOAN_TAIL];
	const uint64_t odd[] = {0, 8, UINT64_MAX - 100, UINT64_MAX / 2};
	struct lender l;
	struct nic_loan_from from;

	(void)state;
	lender_start(&l);
	from = from_of(&l);
	if (!may_read(&l)) {
		lender_end(&l);
		skip();
	}
	for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_false(nic_loan_pull(&from, odd[i], came, BODY, tail, NULL));
	/* The last bytes are there, and one more is not. */
	assert_true(nic_loan_pull(&from, (uintptr_t)l.bytes + BYTES - BODY - HCA_LOAN_TAIL, came,
				  BODY, tail, NULL));
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes + BYTES - BODY - HCA_LOAN_TAIL + 1,
				   came, BODY, tail, NULL));
	assert_false(nic_loan_read_own((uintptr_t)l.bytes + BYTES - 10, came, 11));
	assert_true(nic_loan_read_own((uintptr_t)l.bytes + BYTES - 10, came, 10));
	/* Of where it goes nothing is there. */
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, l.bytes + BYTES, BODY, tail, NULL));
	lender_end(&l);
}

static void test_another_process_is_not_taken_for_it(void **state)
{
	uint8_t came[BODY], tail[HCA_LOAN_TAIL];
	struct lender l;
	struct nic_loan_from from;

	(void)state;
	lender_start(&l);
	from = from_of(&l);
	if (!may_read(&l)) {
		lender_end(&l);
		skip();
	}
	from.word++;
	assert_int_equal(nic_loan_check(&from), -ESRCH);
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, NULL));
	from = from_of(&l);
	from.pid = 0;
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, NULL));
	lender_end(&l);
	from = from_of(&l);
	assert_int_equal(nic_loan_check(&from), -ESRCH);
	assert_false(nic_loan_pull(&from, (uintptr_t)l.bytes, came, BODY, tail, NULL));
}

static void test_a_ring_says_where_and_takes_it_back(void **state)
{
	uint8_t *memory = aligned_alloc(4096, (nic_ring_bytes() + 4095) / 4096 * 4096);
	uint8_t byte = 3;
	struct wire_pkt lent = {.opcode = WIRE_RC | WIRE_SEND_ONLY,
				.dest_qpn = 0x123456,
				.length = 2000,
				.apart = true,
				.address = 0x123456789abcdef0};
	struct wire_pkt plain = {.opcode = WIRE_RC | WIRE_SEND_ONLY, .length = 1, .payload = &byte};
	struct nic_ring in, out;
	struct nic_ring_got got;
	struct wire_pkt came;
	struct nic_ring_loan loan;

	(void)state;
	assert_non_null(memory);
	memset(memory, 0, nic_ring_bytes());
	nic_ring_init(&in, memory);
	nic_ring_init(&out, memory);
	for (uint32_t i = 0; i < 3 * NIC_RING_PLACES; i++) {
		const bool is_lent = i % 3 != 0;

		memset(&came, 0, sizeof(came));
		assert_non_null(nic_ring_room(&in));
		nic_ring_put(&in, is_lent ? &lent : &plain, 0);
		assert_true(nic_ring_get(&out, &got));
		assert_false(got.is_whole);
		assert_true(nic_ring_parse(&got, &came));
		assert_int_equal(came.apart, is_lent);
		assert_int_equal(came.length, is_lent ? 2000 : 1);
		assert_false(nic_ring_peek_loan(&out, 1, &loan));
		assert_int_equal(nic_ring_peek_loan(&out, 0, &loan), is_lent);
		if (is_lent) {
			assert_int_equal(loan.address, 0x123456789abcdef0);
			assert_int_equal(loan.length, 2000);
			assert_int_equal(loan.opcode, 4); /* IBTA table 38: SEND Only of RC */
			assert_int_equal(loan.dest_qpn, 0x123456);
			assert_int_equal(came.address, 0x123456789abcdef0);
			assert_false(nic_ring_is_revoked(&out));
			nic_ring_revoke(&in, i);
			assert_true(nic_ring_is_revoked(&out));
		} else {
			assert_int_equal(came.payload[0], 3);
		}
		nic_ring_release(&out);
	}
	free(memory);
}

/* A message of four packets whose bytes lie one behind the other, of which one is at hand: what
 * puts it into a ring, and what was pulled of it. */
struct message {
	struct lender l;
	struct nic_loan_from from;
	void *memory;
	struct nic_ring in, out;
	struct nic_loans loans;
	uint8_t came[4 * PACKET];
};

static void put(struct message *m, uint8_t opcode, uint32_t qpn, uint64_t at)
{
	const struct wire_pkt pkt = {.opcode = (uint8_t)(WIRE_RC | opcode),
				     .dest_qpn = qpn,
				     .dma_length = 4 * PACKET,
				     .length = PACKET,
				     .apart = true,
				     .address = (uintptr_t)m->l.bytes + at};

	assert_non_null(nic_ring_room(&m->in));
	nic_ring_put(&m->in, &pkt, 0);
}

/* The first packet is at hand. */
static void take_first(struct message *m)
{
	struct nic_ring_got got;

	assert_true(nic_ring_get(&m->out, &got));
	nic_loans_begin(&m->loans, &m->out, &m->from);
	m->loans.behind = 31;
}

static bool pull_first(struct message *m, uint32_t follows)
{
	uint8_t tail[HCA_LOAN_TAIL];

	memset(m->came, 0, sizeof(m->came));
	return nic_loans_pull(&m->loans, (uintptr_t)m->l.bytes, m->came, PACKET - HCA_LOAN_TAIL,
			      tail, follows);
}

static bool is_lent_at(const uint8_t *bytes, uint32_t at)
{
	for (uint32_t i = 0; i < PACKET; i++)
		if (bytes[i] != lent_byte(at + i))
			return false;
	return true;
}

/* How many packets of the message behind its first one are here. */
static uint32_t rest_of(const struct message *m)
{
	uint32_t count = 0;

	while (count < 3 && is_lent_at(m->came + (count + 1) * PACKET, (count + 1) * PACKET))
		count++;
	return count;
}

static const uint8_t *at_hand(struct message *m, uint32_t at)
{
	return nic_loans_at_hand(&m->loans, (uintptr_t)m->l.bytes + at, PACKET, m->came + at);
}

static void message_end(struct message *m)
{
	lender_end(&m->l);
	free(m->memory);
	free(m);
}

static struct message *message_begin(void)
{
	struct message *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->memory = calloc(1, nic_ring_bytes());
	assert_non_null(m->memory);
	lender_start(&m->l);
	m->from = from_of(&m->l);
	nic_ring_init(&m->in, m->memory);
	nic_ring_init(&m->out, m->memory);
	if (!may_read(&m->l)) {
		message_end(m);
		skip();
	}
	return m;
}

static void test_a_message_comes_in_one_call(void **state)
{
	struct message *m = message_begin();
	const uint8_t *bytes;

	(void)state;
	put(m, WIRE_WRITE_FIRST, 7, 0);
	put(m, WIRE_WRITE_MIDDLE, 7, PACKET);
	put(m, WIRE_WRITE_MIDDLE, 7, 2 * PACKET);
	put(m, WIRE_WRITE_LAST, 7, 3 * PACKET);
	take_first(m);
	assert_true(pull_first(m, 3 * PACKET));
	/* Not the last one, of which the last bytes have to come last. */
	assert_int_equal(rest_of(m), 2);
	assert_null(nic_loans_at_hand(&m->loans, (uintptr_t)m->l.bytes + PACKET, PACKET,
				      m->came + PACKET + 1));
	assert_null(nic_loans_at_hand(&m->loans, (uintptr_t)m->l.bytes + PACKET + 1, PACKET - 1,
				      m->came + PACKET));
	assert_ptr_equal(at_hand(m, PACKET), m->came + PACKET);
	assert_null(at_hand(m, PACKET));
	assert_ptr_equal(at_hand(m, 2 * PACKET), m->came + 2 * PACKET);
	bytes = at_hand(m, 3 * PACKET);
	assert_non_null(bytes);
	assert_ptr_not_equal(bytes, m->came + 3 * PACKET);
	assert_true(is_lent_at(bytes, 3 * PACKET));
	message_end(m);
}

/* Each of these differs in one thing from two packets that would come with the first. */
static void test_only_the_message_at_hand_comes_with_it(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t qpn, at, follows, behind, rest;
	} cases[] = {
		{WIRE_WRITE_MIDDLE, 7, PACKET, 3 * PACKET, 31, 2},
		{WIRE_WRITE_MIDDLE, 8, PACKET, 3 * PACKET, 31, 0},
		{WIRE_WRITE_FIRST, 7, PACKET, 3 * PACKET, 31, 0},
		{WIRE_WRITE_ONLY, 7, PACKET, 3 * PACKET, 31, 0},
		{WIRE_WRITE_MIDDLE, 7, PACKET + 1, 3 * PACKET, 31, 0},
		{WIRE_WRITE_MIDDLE, 7, PACKET - 1, 3 * PACKET, 31, 0},
		{WIRE_WRITE_MIDDLE, 7, PACKET, 2 * PACKET, 31, 2},
		{WIRE_WRITE_MIDDLE, 7, PACKET, 2 * PACKET - 1, 31, 1},
		{WIRE_WRITE_MIDDLE, 7, PACKET, PACKET - 1, 31, 0},
		{WIRE_WRITE_MIDDLE, 7, PACKET, 0, 31, 0},
		{WIRE_WRITE_MIDDLE, 7, PACKET, 3 * PACKET, 1, 2},
		{WIRE_WRITE_MIDDLE, 7, PACKET, 3 * PACKET, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message *m = message_begin();

		put(m, WIRE_WRITE_FIRST, 7, 0);
		put(m, cases[i].opcode, cases[i].qpn, cases[i].at);
		put(m, WIRE_WRITE_MIDDLE, 7, 2 * PACKET);
		take_first(m);
		m->loans.behind = cases[i].behind;
		assert_true(pull_first(m, cases[i].follows));
		assert_int_equal(rest_of(m), cases[i].rest);
		assert_int_equal(m->loans.rest_end - m->out.next,
				 cases[i].rest > 0 ? cases[i].rest + 1 : 0);
		message_end(m);
	}
}

/* What is taken back, or was for an earlier batch, is not at hand. */
static void test_the_rest_may_be_taken_back(void **state)
{
	struct message *m = message_begin();
	struct nic_ring_got got;

	(void)state;
	put(m, WIRE_WRITE_FIRST, 7, 0);
	put(m, WIRE_WRITE_MIDDLE, 7, PACKET);
	put(m, WIRE_WRITE_MIDDLE, 7, 2 * PACKET);
	take_first(m);
	assert_true(pull_first(m, 3 * PACKET));
	nic_ring_revoke(&m->in, 1);
	nic_ring_release(&m->out);
	assert_true(nic_ring_get(&m->out, &got));
	assert_null(at_hand(m, PACKET));
	nic_ring_release(&m->out);
	assert_true(nic_ring_get(&m->out, &got));
	nic_loans_begin(&m->loans, &m->out, &m->from);
	assert_null(at_hand(m, 2 * PACKET));
	message_end(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_come_from_the_other_process),
		cmocka_unit_test(test_what_lies_behind_comes_as_well),
		cmocka_unit_test(test_a_lie_is_no_payload),
		cmocka_unit_test(test_another_process_is_not_taken_for_it),
		cmocka_unit_test(test_a_ring_says_where_and_takes_it_back),
		cmocka_unit_test(test_a_message_comes_in_one_call),
		cmocka_unit_test(test_only_the_message_at_hand_comes_with_it),
		cmocka_unit_test(test_the_rest_may_be_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
