/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/shm_loan.h"

#include "transport/hca/loan.h"
#include "transport/hca/run.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A call costs as much as a tenth of so many. */
enum { REST_ENOUGH = 1024 * 1024 };

static void *loan_at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

int nic_loan_check(const struct nic_loan_from *from)
{
	uint64_t word = 0;
	const struct iovec own = {.iov_base = &word, .iov_len = sizeof(word)};
	const struct iovec there = {.iov_base = loan_at(from->word_at), .iov_len = sizeof(word)};

	if (process_vm_readv(from->pid, &own, 1, &there, 1, 0) != (ssize_t)sizeof(word))
		return errno ? -errno : -EFAULT;
	return word == from->word ? 0 : -ESRCH;
}

bool nic_loan_read_own(uint64_t address, uint8_t *to, uint32_t length)
{
	const struct iovec own = {.iov_base = to, .iov_len = length};
	const struct iovec there = {.iov_base = loan_at(address), .iov_len = length};

	return process_vm_readv(getpid(), &own, 1, &there, 1, 0) == (ssize_t)length;
}

/* Fills in what is read beside the loan at hand. Returns its bytes. */
static ssize_t read_ahead(struct nic_loans_ahead *ahead, struct iovec *own, struct iovec *there)
{
	ssize_t all = 0;

	for (uint32_t i = 0; i < ahead->count; i++) {
		const uint32_t bytes = ahead->loans[i].length;

		own[i] = (struct iovec){.iov_base = ahead->bytes[i], .iov_len = bytes};
		there[i] = (struct iovec){.iov_base = loan_at(ahead->loans[i].address),
					  .iov_len = bytes};
		all += bytes;
	}
	return all;
}

bool nic_loan_pull(const struct nic_loan_from *from, uint64_t address, uint8_t *to, uint32_t length,
		   uint8_t *tail, struct nic_loans_ahead *ahead)
{
	uint8_t end[HCA_LOAN_TAIL];
	uint64_t word = 0;
	const uint32_t rest = ahead ? ahead->rest.length : 0;
	struct iovec own[4 + NIC_LOANS_AHEAD] = {
		{.iov_base = to, .iov_len = length},
		{.iov_base = end, .iov_len = sizeof(end)},
		{.iov_base = rest > 0 ? ahead->rest.to : NULL, .iov_len = rest},
		{.iov_base = &word, .iov_len = sizeof(word)}};
	struct iovec there[2 + NIC_LOANS_AHEAD] = {
		{.iov_base = loan_at(address), .iov_len = length + sizeof(end) + rest},
		{.iov_base = loan_at(from->word_at), .iov_len = sizeof(word)}};
	const ssize_t least = (ssize_t)(length + sizeof(end) + rest + sizeof(word));
	const ssize_t all = least + (ahead ? read_ahead(ahead, own + 4, there + 2) : 0);
	const uint32_t count = ahead ? ahead->count : 0;
	ssize_t got = -1;
	bool is_theirs;

	if (from->pid != 0)
		got = process_vm_readv(from->pid, own, 4 + count, there, 2 + count, 0);
	is_theirs = got >= least && word == from->word;
	if (ahead)
		ahead->next = 0;
	if (ahead && (got != all || !is_theirs))
		ahead->count = ahead->rest.length = 0;
	if (!is_theirs)
		return false;
	memcpy(tail, end, sizeof(end));
	return true;
}

const uint8_t *nic_loan_at_hand(struct nic_loans_ahead *ahead, uint64_t address, uint32_t length,
				const uint8_t *to)
{
	if (length <= ahead->rest.length && address == ahead->rest.address &&
	    to == ahead->rest.to) {
		ahead->rest.address += length;
		ahead->rest.to += length;
		ahead->rest.length -= length;
		return to;
	}
	for (uint32_t i = ahead->next; i < ahead->count; i++)
		if (ahead->loans[i].address == address && ahead->loans[i].length == length) {
			ahead->next = i + 1;
			return ahead->bytes[i];
		}
	return NULL;
}

void nic_loans_begin(struct nic_loans *loans, const struct nic_ring *ring,
		     const struct nic_loan_from *from)
{
	loans->ring = ring;
	loans->from = from;
	loans->behind = 0;
	loans->rest_end = ring->next;
	loans->ahead.count = loans->ahead.next = loans->ahead.rest.length = 0;
}

/* The middle packets of the same message that have come already, as far as they lie one behind the
 * other there, as they will here. Returns their number. */
static uint32_t find_rest(struct nic_loans *loans, uint32_t follows)
{
	struct nic_loans_ahead *ahead = &loans->ahead;
	struct nic_ring_loan first, next;
	uint32_t count = 0;

	if (follows == 0 || loans->behind == 0 || !nic_ring_peek_loan(loans->ring, 0, &first))
		return 0;
	while (nic_ring_peek_loan(loans->ring, count + 1, &next) &&
	       next.dest_qpn == first.dest_qpn && hca_has_runs(next.opcode) &&
	       next.address == ahead->rest.address + ahead->rest.length &&
	       next.length <= follows - ahead->rest.length && ahead->rest.length < REST_ENOUGH) {
		ahead->rest.length += next.length;
		count++;
	}
	if (count > 0)
		loans->rest_end = loans->ring->next + count + 1;
	return count;
}

/* What is lent right behind the packet at hand, whose own bytes end at @address and @to, unless
 * more of that is here than was asked for. What the peer writes there later is compared when its
 * turn comes. */
static struct nic_loans_ahead *loans_behind(struct nic_loans *loans, uint64_t address, uint8_t *to,
					    uint32_t follows)
{
	struct nic_loans_ahead *ahead = &loans->ahead;
	struct nic_ring_loan loan;
	uint32_t place;

	if (ahead->next < ahead->count)
		return NULL;
	ahead->count = ahead->rest.length = 0;
	ahead->rest.address = address;
	ahead->rest.to = to;
	place = find_rest(loans, follows);
	while (place++ < loans->behind && ahead->count < NIC_LOANS_AHEAD &&
	       nic_ring_peek_loan(loans->ring, place, &loan) && loan.length <= WIRE_MTU_MAX) {
		ahead->loans[ahead->count].address = loan.address;
		ahead->loans[ahead->count++].length = loan.length;
	}
	return ahead;
}

bool nic_loans_pull(struct nic_loans *loans, uint64_t address, uint8_t *to, uint32_t length,
		    uint8_t *tail, uint32_t follows)
{
	const uint32_t own = length + HCA_LOAN_TAIL;

	return loans->ring &&
	       nic_loan_pull(loans->from, address, to, length, tail,
			     loans_behind(loans, address + own, to + own, follows)) &&
	       !nic_ring_is_revoked(loans->ring);
}

const uint8_t *nic_loans_at_hand(struct nic_loans *loans, uint64_t address, uint32_t length,
				 const uint8_t *to)
{
	const uint8_t *bytes =
		loans->ring ? nic_loan_at_hand(&loans->ahead, address, length, to) : NULL;

	return bytes && !nic_ring_is_revoked(loans->ring) ? bytes : NULL;
}
