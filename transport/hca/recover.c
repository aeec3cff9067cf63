/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* The requester of HCA_SELECTIVE: what is answered, what is lost, what is sent again. PSNs only
 * grow here; a packet that is lost is sent between two others. */

enum { FEW = sizeof(((struct hca_recovery *)NULL)->few_sent) / sizeof(uint64_t) };

/* Of one piece: what was sent, then what is done. */
static size_t piece_bytes(uint32_t count)
{
	return (count + (size_t)hca_psn_set_words(count - 1)) * sizeof(uint64_t);
}

static void begin_with_few(struct hca_recovery *recovery)
{
	recovery->few_done = 0;
	recovery->done = (struct hca_psn_set){&recovery->few_done, FEW - 1};
	recovery->sent = recovery->few_sent;
}

int hca_recover_create(struct hca_qp *qp)
{
	const uint32_t window = hca_pow2(qp->dev->psn_window);
	struct hca_recovery *recovery = util_calloc(1, sizeof(*recovery));

	qp->sq.recovery = recovery;
	if (!recovery)
		return -ENOMEM;
	recovery->most = window < 64 ? 64 : window;
	begin_with_few(recovery);
	return 0;
}

/* Nothing is under way. */
static void recover_give_back(struct hca_qp *qp)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	if (recovery->sent == recovery->few_sent)
		return;
	hca_room_give_back(qp->dev, recovery->sent, piece_bytes(recovery->done.mask + 1));
	begin_with_few(recovery);
}

void hca_recover_destroy(struct hca_qp *qp)
{
	if (!qp->sq.recovery)
		return;
	recover_give_back(qp);
	util_free(qp->sq.recovery);
}

void hca_recover_reset(struct hca_qp *qp)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	recover_give_back(qp);
	*recovery = (struct hca_recovery){.most = recovery->most};
	begin_with_few(recovery);
}

void hca_recover_start(struct hca_qp *qp)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	recovery->acked_psn = recovery->seen_psn = recovery->asked_psn = qp->sq.una_psn;
}

static uint64_t *sent(const struct hca_qp *qp, uint32_t psn)
{
	return &qp->sq.recovery->sent[psn & qp->sq.recovery->done.mask];
}

/* Where there is no memory, what there is no room for is not known to be under way, and counts as
 * lost once there is. */
static __attribute__((noinline)) void grow(struct hca_qp *qp, uint32_t count)
{
	struct hca_recovery *recovery = qp->sq.recovery;
	uint64_t *room = hca_room_take(qp->dev, piece_bytes(count));
	struct hca_psn_set done = {.mask = count - 1};

	if (!room)
		return;
	done.words = room + count;
	memset(room, 0, piece_bytes(count));
	for (uint32_t i = 0; i <= recovery->done.mask; i++) {
		const uint32_t psn = wire_psn_add(qp->sq.una_psn, i);

		room[psn & done.mask] = *sent(qp, psn);
		hca_psn_set_put(&done, psn, hca_psn_set_has(&recovery->done, psn));
	}
	recover_give_back(qp);
	recovery->sent = room;
	recovery->done = done;
}

/* Of the PSNs that are under way. */
static inline void recover_make_room(struct hca_qp *qp)
{
	const struct hca_recovery *recovery = qp->sq.recovery;
	const uint32_t count = (uint32_t)wire_psn_diff(qp->sq.high_psn, qp->sq.una_psn);

	if (count > recovery->done.mask + 1 && recovery->done.mask + 1 < recovery->most)
		grow(qp, count < recovery->most ? hca_pow2(count) : recovery->most);
}

/* Of the PSNs that are under way and that the set has room for. */
static bool is_under_way(const struct hca_qp *qp, uint32_t psn)
{
	const int32_t at = wire_psn_diff(psn, qp->sq.una_psn);

	return at >= 0 && wire_psn_diff(psn, qp->sq.high_psn) < 0 &&
	       (uint32_t)at <= qp->sq.recovery->done.mask;
}

/* The WQE of a PSN that is under way. */
static struct hca_wqe *wqe_of(const struct hca_qp *qp, uint32_t psn)
{
	for (uint32_t i = qp->sq.una;; i++) {
		struct hca_wqe *wqe = &qp->sq.ring[i & qp->sq.mask];

		CHECK(i != qp->sq.tail);
		if (((psn - wqe->first_psn) & WIRE_U24_MAX) < wqe->packets)
			return wqe;
	}
}

static void mark_done(struct hca_qp *qp, uint32_t psn, bool done)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	if (hca_psn_set_has(&recovery->done, psn) == done)
		return;
	hca_psn_set_put(&recovery->done, psn, done);
	recovery->done_count += done ? 1 : -1u;
}

static void mark_later(uint32_t *psn, uint32_t than)
{
	if (wire_psn_diff(*psn, than) < 0)
		*psn = than;
}

/* ---- what is lost ---- */

struct lost {
	const struct hca_wqe *wqe;
	uint32_t psn, packets; /* packets: of the responses that a READ asks for */
};

/* A READ or atomic: the request, or responses that should have come. */
static bool find_lost_answer(const struct hca_qp *qp, const struct hca_wqe *wqe,
			     struct lost *ret_lost)
{
	const struct hca_recovery *recovery = qp->sq.recovery;
	uint32_t psn = qp->sq.una_psn, end = wire_psn_add(wqe->first_psn, wqe->packets);

	mark_later(&psn, wqe->first_psn);
	if (psn == wqe->first_psn && wire_psn_diff(psn, recovery->acked_psn) >= 0) {
		*ret_lost = (struct lost){wqe, psn, wqe->packets};
		return *sent(qp, psn) < recovery->lost_before;
	}
	mark_later(&psn, recovery->asked_psn);
	if (wire_psn_diff(end, recovery->seen_psn) > 0)
		end = recovery->seen_psn;
	while (wire_psn_diff(psn, end) < 0 && is_under_way(qp, psn) &&
	       hca_psn_set_has(&recovery->done, psn))
		psn = wire_psn_add(psn, 1);
	*ret_lost = (struct lost){wqe, psn, 0};
	while (wire_psn_diff(psn, end) < 0 && is_under_way(qp, psn) &&
	       !hca_psn_set_has(&recovery->done, psn)) {
		psn = wire_psn_add(psn, 1);
		ret_lost->packets++;
	}
	return ret_lost->packets > 0;
}

static bool find_lost_of(const struct hca_qp *qp, const struct hca_wqe *wqe, struct lost *ret_lost)
{
	const struct hca_recovery *recovery = qp->sq.recovery;
	uint32_t psn = qp->sq.una_psn, end = wire_psn_add(wqe->first_psn, wqe->packets);

	if (wqe->answered)
		return find_lost_answer(qp, wqe, ret_lost);
	mark_later(&psn, wqe->first_psn);
	if (wire_psn_diff(end, qp->sq.high_psn) > 0)
		end = qp->sq.high_psn;
	for (; wire_psn_diff(psn, end) < 0 && is_under_way(qp, psn); psn = wire_psn_add(psn, 1)) {
		*ret_lost = (struct lost){wqe, psn, 1};
		if (!hca_psn_set_has(&recovery->done, psn) &&
		    *sent(qp, psn) < recovery->lost_before)
			return true;
	}
	return false;
}

/* The first that is lost; false: none. */
static bool find_lost(const struct hca_qp *qp, struct lost *ret_lost)
{
	const struct hca_sq *sq = &qp->sq;

	for (uint32_t i = sq->una; i != sq->tail; i++) {
		const struct hca_wqe *wqe = &sq->ring[i & sq->mask];

		if (wire_psn_diff(wqe->first_psn, sq->high_psn) >= 0)
			return false;
		if (wqe->packets > 0 && find_lost_of(qp, wqe, ret_lost))
			return true;
	}
	return false;
}

static void look_for_lost(struct hca_qp *qp)
{
	struct lost lost;

	qp->sq.exceptions &= (uint8_t)~HCA_SQ_LOST;
	if (find_lost(qp, &lost))
		qp->sq.exceptions |= HCA_SQ_LOST;
}

/* ---- sending ---- */

/* Any packet of the queue pair, for the first time or again: what the responder needs to place it
 * before its turn. */
void hca_recover_sent(struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t psn,
		      struct wire_pkt *pkt)
{
	const uint32_t done = ((psn - wqe->first_psn) & WIRE_U24_MAX) * qp->mtu;

	recover_make_room(qp);
	*sent(qp, psn) = ++qp->sq.recovery->sent_count;
	if (qp->sq.exceptions)
		look_for_lost(qp);
	if (wqe->answered)
		return;
	pkt->opcode |= WIRE_IRN;
	pkt->rkey = wqe->rkey;
	pkt->va = done;
	if (wqe->opcode == HCA_WR_RDMA_WRITE || wqe->opcode == HCA_WR_RDMA_WRITE_WITH_IMM) {
		pkt->va = wqe->remote_addr + done;
		pkt->dma_length = wqe->length - done;
	}
}

const struct hca_wqe *hca_recover_next(const struct hca_qp *qp, uint32_t *ret_psn)
{
	struct lost lost;

	CHECK(find_lost(qp, &lost));
	*ret_psn = lost.psn;
	return lost.wqe;
}

/* Of a READ only what is missing. The answer is wanted at once. */
void hca_recover_again(struct hca_qp *qp, const struct hca_wqe *wqe, struct wire_pkt *pkt)
{
	struct hca_sq *sq = &qp->sq;
	struct lost lost;

	CHECK(find_lost(qp, &lost));
	if (wqe->opcode == HCA_WR_RDMA_READ && pkt->dma_length > lost.packets * qp->mtu)
		pkt->dma_length = lost.packets * qp->mtu;
	if (wqe->answered)
		sq->recovery->asked_psn = wire_psn_add(lost.psn, lost.packets);
	pkt->ack_req = true;
	sq->since_ack = 0;
	hca_count_again(qp, lost.psn, false);
}

/* ---- answers ---- */

/* The responder has executed everything before @psn; READs and atomics have still to be
 * answered. */
static void recover_acknowledge(struct hca_qp *qp, uint32_t psn)
{
	for (uint32_t p = qp->sq.una_psn; wire_psn_diff(p, psn) < 0 && is_under_way(qp, p);) {
		const struct hca_wqe *wqe = wqe_of(qp, p);
		uint32_t end = wire_psn_add(wqe->first_psn, wqe->packets);

		if (wire_psn_diff(end, psn) > 0)
			end = psn;
		for (; wire_psn_diff(p, end) < 0 && is_under_way(qp, p); p = wire_psn_add(p, 1))
			if (!wqe->answered)
				mark_done(qp, p, true);
	}
	mark_later(&qp->sq.recovery->acked_psn, psn);
}

/* That packet has come, before its turn. */
static void came_ooo(struct hca_qp *qp, uint32_t psn)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	if (!is_under_way(qp, psn))
		return;
	if (*sent(qp, psn) != HCA_SENT_WAITS && *sent(qp, psn) > recovery->lost_before)
		recovery->lost_before = *sent(qp, psn);
	if (wqe_of(qp, psn)->answered)
		*sent(qp, psn) = HCA_SENT_WAITS;
	else
		mark_done(qp, psn, true);
}

static void recover_send_again(struct hca_qp *qp, uint32_t psn)
{
	struct hca_recovery *recovery = qp->sq.recovery;

	if (!is_under_way(qp, psn))
		return;
	mark_done(qp, psn, false);
	*sent(qp, psn) = 0;
	if (recovery->lost_before == 0)
		recovery->lost_before = 1;
}

/* A NAK that names the missing packet itself: it came, and could not be taken then. */
static void on_sack(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	qp->dev->counters.packet_seq_err++;
	recover_acknowledge(qp, pkt->psn);
	if (pkt->rkey == pkt->psn) {
		recover_send_again(qp, pkt->psn);
		return;
	}
	came_ooo(qp, pkt->rkey);
	for (uint32_t i = 0; i < 32; i++)
		if (pkt->dma_length >> i & 1)
			came_ooo(qp, wire_psn_add(pkt->rkey, -1u - i));
}

/* Whether all before @psn of the READ have come. */
static bool is_complete_before(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t psn)
{
	uint32_t p = qp->sq.una_psn;

	for (mark_later(&p, wqe->first_psn); p != psn; p = wire_psn_add(p, 1))
		if (!hca_psn_set_has(&qp->sq.recovery->done, p))
			return false;
	return true;
}

/* A READ response or the result of an atomic. The last bytes of a READ go last: what comes before
 * its time there is asked for again. False: the QP has failed. */
static bool recover_on_answer(struct hca_qp *qp, const struct wire_pkt *pkt,
			      const struct wire_op *op, ps_t now)
{
	struct hca_recovery *recovery = qp->sq.recovery;
	const struct hca_wqe *wqe = wqe_of(qp, pkt->psn);

	recover_acknowledge(qp, wqe->first_psn);
	mark_later(&recovery->acked_psn, wire_psn_add(wqe->first_psn, wqe->packets));
	mark_later(&recovery->seen_psn, wire_psn_add(pkt->psn, 1));
	if (hca_psn_set_has(&recovery->done, pkt->psn)) {
		qp->dev->counters.rx_dropped++;
		return true;
	}
	if (op->end && op->read && !is_complete_before(qp, wqe, pkt->psn))
		return true;
	if (!hca_completer_take(qp, wqe, pkt, op, now))
		return false;
	mark_done(qp, pkt->psn, true);
	return true;
}

static void on_ack(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	const uint32_t end = wire_psn_add(pkt->psn, 1);

	recover_acknowledge(qp, end);
	mark_later(&qp->sq.recovery->seen_psn, end);
}

/* RNR, or refused for good: everything before is executed. */
static void on_refusal(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	recover_send_again(qp, pkt->psn);
	hca_completer_refused(qp, wire_aeth_syndrome(pkt->word), now);
}

/* The window moves on over everything that is done: executed, not only here. */
static void recover_advance(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	struct hca_recovery *recovery = sq->recovery;
	const uint32_t una_psn = sq->una_psn;

	while (sq->una_psn != sq->high_psn && hca_psn_set_has(&recovery->done, sq->una_psn)) {
		const struct hca_wqe *wqe = &sq->ring[sq->una & sq->mask];

		if (!wqe->answered && wire_psn_diff(sq->una_psn, recovery->acked_psn) >= 0)
			break;
		mark_done(qp, sq->una_psn, false);
		sq->una_psn = wire_psn_add(sq->una_psn, 1);
		if (sq->una_psn == wire_psn_add(wqe->first_psn, wqe->packets))
			hca_completer_retire(qp, now);
	}
	if (sq->una_psn == una_psn)
		return;
	mark_later(&recovery->acked_psn, sq->una_psn);
	mark_later(&recovery->seen_psn, sq->una_psn);
	mark_later(&recovery->asked_psn, sq->una_psn);
	recovery->is_late = false;
	if (sq->una_psn == sq->high_psn)
		recover_give_back(qp);
	hca_completer_progress(qp, now);
}

/* A packet after the oldest has come: the far end is alive, and what is lost is known without the
 * timer. Otherwise a queue that is longer than the timeout would have everything in it sent
 * again. */
static void heard(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	sq->recovery->is_late = false;
	sq->retry_left = sq->retry_cnt;
	if (!sq->rnr_wait && sq->timeout != PS_NEVER)
		hca_timer_set(qp, now + sq->timeout);
}

void hca_recover_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		       ps_t now)
{
	const uint32_t una_psn = qp->sq.una_psn;
	const uint32_t done_count = qp->sq.recovery ? qp->sq.recovery->done_count : 0;
	const uint8_t type = wire_aeth_syndrome(pkt->word) & WIRE_SYN_TYPE_MASK;
	const bool is_answer = op->read || op->atomic;

	/* Nothing was ever sent by who has no room to post it. */
	if (!qp->sq.recovery || (op->sacketh ? wire_psn_diff(pkt->psn, qp->sq.high_psn) > 0
					     : !is_under_way(qp, pkt->psn))) {
		qp->dev->counters.rx_dropped++;
		return;
	}
	if (is_answer && !recover_on_answer(qp, pkt, op, now))
		return;
	if (op->sacketh)
		on_sack(qp, pkt);
	else if (!is_answer && type == WIRE_SYN_ACK)
		on_ack(qp, pkt);
	else if (!is_answer)
		recover_acknowledge(qp, pkt->psn);
	recover_advance(qp, now);
	if (qp->sq.una_psn == una_psn && qp->sq.recovery->done_count > done_count)
		heard(qp, now);
	if (!is_answer && !op->sacketh && type != WIRE_SYN_ACK && qp->sq.una_psn == pkt->psn)
		on_refusal(qp, pkt, now);
	if (qp->state == HCA_QPS_ERR)
		return;
	look_for_lost(qp);
	hca_requester_update(qp, now);
}

/* ---- the timer ---- */

bool hca_recover_waits(struct hca_qp *qp, ps_t now)
{
	struct hca_recovery *recovery = qp->sq.recovery;
	const struct hca_profile *profile = &qp->dev->profile;
	const uint32_t under_way = (uint32_t)wire_psn_diff(qp->sq.next_psn, qp->sq.una_psn);

	if (recovery->is_late || under_way - recovery->done_count <= HCA_FEW_PACKETS ||
	    profile->rto_high == profile->rto_low)
		return false;
	recovery->is_late = true;
	hca_timer_set(qp, now + profile->rto_high - profile->rto_low);
	return true;
}

/* Everything that was sent before and is not done is lost, or what is left of it. */
void hca_recover_timeout(struct hca_qp *qp)
{
	struct hca_recovery *recovery = qp->sq.recovery;
	struct hca_sq *sq = &qp->sq;

	for (uint32_t i = sq->una; i != sq->tail; i++) {
		const struct hca_wqe *wqe = &sq->ring[i & sq->mask];

		if (wqe->answered && is_under_way(qp, wqe->first_psn) &&
		    *sent(qp, wqe->first_psn) == HCA_SENT_WAITS)
			*sent(qp, wqe->first_psn) = 0;
	}
	mark_done(qp, sq->una_psn, false); /* it came, but its ACK did not */
	recovery->is_late = false;
	recovery->lost_before = recovery->sent_count + 1;
	recovery->asked_psn = sq->una_psn;
	recovery->seen_psn = sq->high_psn;
	look_for_lost(qp);
}
