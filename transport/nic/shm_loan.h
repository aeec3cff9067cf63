/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SHM_LOAN_H
#define NIC_SHM_LOAN_H

/* Payloads in the memory of another process of this user (transport/hca/loan.h), read by
 * process_vm_readv(). Whose they are the kernel has said; with each some bytes are read that only
 * that process has, in the same call: another that has its number by now, or another program in its
 * place, is not taken for it. What is read may be anything, and where it would be nothing. */
#include "transport/nic/shm_ring.h"
#include "transport/wire/pkt.h"

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

/* Loans that lie behind the one at hand in a ring: their bytes come in the same call, since a call
 * takes longer than a payload. What came so is given only to who asks for just these bytes, which
 * were read before they were asked for; whether they are revoked is to be looked at after that, as
 * ever. */
enum { NIC_LOANS_AHEAD = 31 };
struct nic_loans_ahead {
	/* What lies behind the bytes of the one at hand at its sender, and belongs behind them
	 * here: straight there. */
	struct {
		uint64_t address;
		uint8_t *to;
		uint32_t length;
	} rest;
	uint32_t count, next;
	struct {
		uint64_t address;
		uint32_t length; /* at most WIRE_MTU_MAX */
	} loans[NIC_LOANS_AHEAD];
	uint8_t bytes[NIC_LOANS_AHEAD][WIRE_MTU_MAX];
};

/* As hca_lender.pull(); @ahead: what is to be read as well, its rest from behind the tail. All of
 * it is, or count and rest.length are 0 afterwards. NULL: nothing. */
bool nic_loan_pull(const struct nic_loan_from *from, uint64_t address, uint8_t *to, uint32_t length,
		   uint8_t *tail, struct nic_loans_ahead *ahead);
/* The @length bytes at @address, which belong at @to, where they are. NULL: they have not come. */
const uint8_t *nic_loan_at_hand(struct nic_loans_ahead *ahead, uint64_t address, uint32_t length,
				const uint8_t *to);

/* The loans of a ring whose first packet is at hand. */
struct nic_loans {
	const struct nic_ring *ring; /* NULL: nothing is at hand */
	const struct nic_loan_from *from;
	uint32_t behind;   /* so many more are taken before other rings have their turn, ... */
	uint32_t rest_end; /* ... and those before this place, whose bytes are here already */
	struct nic_loans_ahead ahead;
};

void nic_loans_begin(struct nic_loans *loans, const struct nic_ring *ring,
		     const struct nic_loan_from *from);
/* As the functions of struct hca_lender. */
bool nic_loans_pull(struct nic_loans *loans, uint64_t address, uint8_t *to, uint32_t length,
		    uint8_t *tail, uint32_t follows);
const uint8_t *nic_loans_at_hand(struct nic_loans *loans, uint64_t address, uint32_t length,
				 const uint8_t *to);

#endif
