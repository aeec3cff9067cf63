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
		   uint8_t *tail)
{
	struct {
		uint8_t tail[HCA_LOAN_TAIL];
		uint64_t word;
	} end;
	const struct iovec own[2] = {{.iov_base = to, .iov_len = length},
				     {.iov_base = &end, .iov_len = sizeof(end)}};
	const struct iovec there[2] = {
		{.iov_base = loan_at(address), .iov_len = length + sizeof(end.tail)},
		{.iov_base = loan_at(from->word_at), .iov_len = sizeof(end.word)}};

	if (from->pid == 0 ||
	    process_vm_readv(from->pid, own, 2, there, 2, 0) != (ssize_t)(length + sizeof(end)) ||
	    end.word != from->word)
		return false;
	memcpy(tail, end.tail, sizeof(end.tail));
	return true;
}
