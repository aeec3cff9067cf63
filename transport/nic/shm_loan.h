/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SHM_LOAN_H
#define NIC_SHM_LOAN_H

/* Payloads in the memory of another process of this user (transport/hca/loan.h), read by
 * process_vm_readv(). Whose they are the kernel has said; with each some bytes are read that only
 * that process has, in the same call: another that has its number by now, or another program in its
 * place, is not taken for it. What is read may be anything, and where it would be nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct nic_loan_from {
	pid_t pid; /* 0: it lends nothing */
	uint64_t word_at, word;
};

/* Whether its memory may be read: 0 or -errno. */
int nic_loan_check(const struct nic_loan_from *from);
/* Own memory, as a loan to others is read, so that what is not there does no harm. */
bool nic_loan_read_own(uint64_t address, uint8_t *to, uint32_t length);
/* As hca_lender.pull(). */
bool nic_loan_pull(const struct nic_loan_from *from, uint64_t address, uint8_t *to, uint32_t length,
		   uint8_t *tail);

#endif
