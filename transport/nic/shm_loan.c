/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/shm_loan.h"

#include "transport/hca/loan.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

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

bool nic_loan_pull(const struct nic_loan_from *from, uint64_t address, uint8_t *to, uint32_t length,
		   uint8_t *tail, struct nic_loans_ahead *ahead)
{
	struct {
		uint8_t tail[HCA_LOAN_TAIL];
		uint64_t word;
	} end;
	struct iovec own[2 + NIC_LOANS_AHEAD] = {{.iov_base = to, .iov_len = length},
						 {.iov_base = &end, .iov_len = sizeof(end)}};
	struct iovec there[2 + NIC_LOANS_AHEAD] = {
		{.iov_base = loan_at(address), .iov_len = length + sizeof(end.tail)},
		{.iov_base = loan_at(from->word_at), .iov_len = sizeof(end.word)}};
	const ssize_t least = (ssize_t)(length + sizeof(end));
	ssize_t all = least, got = -1;
	uint32_t count = 2;
	bool is_theirs;

	if (ahead)
		count += ahead->count;
	for (uint32_t i = 0; i + 2 < count; i++) {
		const uint32_t bytes = ahead->loans[i].length;

		own[2 + i] = (struct iovec){.iov_base = ahead->bytes[i], .iov_len = bytes};
		there[2 + i] = (struct iovec){.iov_base = loan_at(ahead->loans[i].address),
					      .iov_len = bytes};
		all += bytes;
	}
	if (from->pid != 0)
		got = process_vm_readv(from->pid, own, count, there, count, 0);
	is_theirs = got >= least && end.word == from->word;
	if (ahead)
		ahead->next = 0;
	if (ahead && (got != all || !is_theirs))
		ahead->count = 0;
	if (!is_theirs)
		return false;
	memcpy(tail, end.tail, sizeof(end.tail));
	return true;
}

const uint8_t *nic_loan_at_hand(struct nic_loans_ahead *ahead, uint64_t address, uint32_t length)
{
	for (uint32_t i = ahead->next; i < ahead->count; i++)
		if (ahead->loans[i].address == address && ahead->loans[i].length == length) {
			ahead->next = i + 1;
			return ahead->bytes[i];
		}
	return NULL;
}
