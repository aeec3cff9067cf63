/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_LOAN_H
#define HCA_LOAN_H

/* Payloads that stay where they are. A packet that is apart (struct wire_pkt) says where in its
 * sender's memory its bytes lie; who takes it, after all its checks, has them brought from there to
 * where they belong, in one copy. A world whose packets reach only adapters that can do so lends.
 *
 * Lent is the whole payload of an RC packet that lies in one piece in memory of the program, and
 * goes out for the first time: its work request is not complete before the other end has said that
 * it has the bytes, so that they are as they were until then; those of a READ response may be later
 * ones, as of a READ that takes longer. What ends that promise revokes: the failure or end of a
 * queue pair, and of a region. A payload that is not to be had is a lost packet; what is sent again
 * carries its bytes. Not where packets are taken out of order, or messages begin anew. */
#include <stdbool.h>
#include <stdint.h>

enum {
	HCA_LOAN_LEAST = 1024, /* bytes; for fewer, a copy is faster than a system call */
	HCA_LOAN_TAIL = 8,     /* bytes that a program sees after all others of a packet */
};

struct wire_path;

/* Of the world, which embeds it; it must not call back into the device. */
struct hca_lender {
	bool lends; /* the packet that hca_output() is asked for may be apart */
	/* Brings @length bytes at @address of the sender of the packet at hand to @to, and the
	 * HCA_LOAN_TAIL behind them to @tail. Of the @follows bytes that belong right behind those
	 * at @to, it may bring as well what middle packets of the same message lend that have come.
	 * False: they are not to be had, some may have come. */
	bool (*pull)(struct hca_lender *lender, uint64_t address, uint8_t *to, uint32_t length,
		     uint8_t *tail, uint32_t follows);
	/* The @length bytes at @address, which belong at @to, where they have come already with an
	 * earlier pull(), maybe to @to; valid until the next call. NULL: they have not, or pull()
	 * would not give them. */
	const uint8_t *(*at_hand)(struct hca_lender *lender, uint64_t address, uint32_t length,
				  const uint8_t *to);
	/* What was lent in packets to that queue pair is not to be pulled any more, or pulled in
	 * vain; @path NULL: in all READ responses. */
	void (*revoke)(struct hca_lender *lender, const struct wire_path *path, uint32_t dest_qpn);
};

/* ---- for the adapter itself ---- */

struct hca_device;
struct hca_mr;
struct hca_qp;
struct wire_pkt;

/* True: the payload of @pkt, which is there by then, stays where it is. */
bool hca_loan_make(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		   struct wire_pkt *pkt);
/* The @length bytes at @address, behind which @follows bytes of the same message belong into @mr.
 * False: as hca_mem_ops.write(), or the payload is not to be had, which hca_loan_lost() says then.
 */
bool hca_loan_place(struct hca_device *dev, struct hca_mr *mr, uint64_t offset, uint64_t address,
		    uint32_t length, uint64_t follows);
/* After something could not be placed: the packet is lost, nothing else is wrong. Once. */
bool hca_loan_lost(struct hca_device *dev);
/* Before what @qp has sent is its program's again; before a region is. */
void hca_loans_revoke(struct hca_qp *qp);
void hca_loans_revoke_answers(struct hca_device *dev);

#endif
