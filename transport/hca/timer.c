/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* One timer a QP: local ACK timeout, or the wait that an RNR NAK asks for; of datagrams, the change
 * of priority from one to the next. */

/* IBTA 9.7.5.2.8, table 45: in units of 10 us. */
ps_t hca_timer_rnr(uint8_t code)
{
	static const uint16_t units[31] = {[1] = 1, 2,	  3,	 4,	6,     8,    12,   16,
					   24,	    32,	  48,	 64,	96,    128,  192,  256,
					   384,	    512,  768,	 1024,	1536,  2048, 3072, 4096,
					   6144,    8192, 12288, 16384, 24576, 32768};

	CHECK(code < 32);
	return 10 * PS_US * (code == 0 ? 65536 : code == 31 ? 49152 : units[code]);
}

void hca_timer_fire(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	sq->timer_at = PS_NEVER;
	if (sq->paths) {
		hca_ud_take_priority(qp, now);
		return;
	}
	if (sq->rnr_wait) {
		sq->rnr_wait = false;
		if (sq->recovery && sq->una_psn != sq->high_psn && sq->timeout != PS_NEVER)
			hca_timer_set(qp, now + sq->timeout); /* it need not send anything now */
		hca_requester_update(qp, now);
		return;
	}
	if (sq->recovery && hca_recover_waits(qp, now))
		return;
	qp->dev->counters.local_ack_timeout_err++;
	if (sq->retry_left == 0) {
		qp->dev->counters.req_transport_retries_exceeded++;
		hca_requester_fail(qp, HCA_WC_RETRY_EXC_ERR, now);
		return;
	}
	sq->retry_left--;
	sq->retrying = false;
	if (sq->recovery)
		hca_recover_timeout(qp);
	else
		hca_requester_resend(qp); /* the retransmission arms the timer again */
	hca_requester_update(qp, now);
}
