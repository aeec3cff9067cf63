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

enum { BYTES = 3 * 4096, BODY = 4000, WORD = 0x5eed };

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
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1023));
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5001, 1024));
	bytes = nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1024);
	assert_non_null(bytes);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(bytes[i], lent_byte(5000 + i));
	assert_null(nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 5000, 1024)); /* once */
	bytes = nic_loan_at_hand(ahead, (uintptr_t)l.bytes + 300, WIRE_MTU_MAX);
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
				.length = 2000,
				.apart = true,
				.address = 0x123456789abcdef0};
	struct wire_pkt plain = {.opcode = WIRE_RC | WIRE_SEND_ONLY, .length = 1, .payload = &byte};
	struct nic_ring in, out;
	struct nic_ring_got got;
	struct wire_pkt came;
	uint64_t address;
	uint32_t length;

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
		assert_false(nic_ring_peek_loan(&out, 1, &address, &length));
		assert_int_equal(nic_ring_peek_loan(&out, 0, &address, &length), is_lent);
		if (is_lent) {
			assert_int_equal(address, 0x123456789abcdef0);
			assert_int_equal(length, 2000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_come_from_the_other_process),
		cmocka_unit_test(test_what_lies_behind_comes_as_well),
		cmocka_unit_test(test_a_lie_is_no_payload),
		cmocka_unit_test(test_another_process_is_not_taken_for_it),
		cmocka_unit_test(test_a_ring_says_where_and_takes_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
