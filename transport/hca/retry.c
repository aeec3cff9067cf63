/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* What is sent again, and how often: the retry counters of a QP, and its one timer, the local ACK
 * timeout or the wait that an RNR NAK asks for; of datagrams, the change of priority from one to
 * the next. */

/* IBTA 9.7.5.2.8, table 45: in units of 10 us. */
static ps_t rnr_wait_of(uint8_t code)
{
	static const uint16_t units[31] = {[1] = 1, 2,	  3,	 4,	6,     8,    12,   16,
					   24,	    32,	  48,	 64,	96,    128,  192,  256,
					   384,	    512,  768,	 1024,	1536,  2048, 3072, 4096,
					   6144,    8192, 12288, 16384, 24576, 32768};

	CHECK(code < 32);
	return 10 * PS_US * (code == 0 ? 65536 : code == 31 ? 49152 : units[code]);
}

/* One retry less; where none is left the queue pair fails. */
static bool spend_retry(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (sq->retry_left == 0) {
		qp->dev->counters.req_transport_retries_exceeded++;
		hca_requester_fail(qp, HCA_WC_RETRY_EXC_ERR, now);
		return false;
	}
	sq->retry_left--;
	return true;
}

/* One at a time: while the packets it asked for are on their way, further ones tell nothing new. */
void hca_retry(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (sq->retrying || sq->rnr_wait)
		return;
	if (!spend_retry(qp, now))
		return;
	sq->retrying = true;
	hca_requester_resend(qp);
}

void hca_retry_rnr(struct hca_qp *qp, uint8_t code, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	qp->dev->counters.rnr_nak_retry_err++;
	if (sq->rnr_wait)
		return;
	if (sq->rnr_left == 0) {
		qp->dev->counters.req_rnr_retries_exceeded++;
		hca_requester_fail(qp, HCA_WC_RNR_RETRY_EXC_ERR, now);
		return;
	}
	if (sq->rnr_retry != 7) /* 7: for ever */
		sq->rnr_left--;
	if (!sq->recovery)
		hca_requester_go_back(qp);
	sq->rnr_wait = true;
	hca_timer_set(qp, now + rnr_wait_of(code));
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
	if (!spend_retry(qp, now))
		return;
	sq->retrying = false;
	if (sq->recovery)
		hca_recover_timeout(qp);
	else
		hca_requester_resend(qp); /* the retransmission arms the timer again */
	hca_requester_update(qp, now);
}
