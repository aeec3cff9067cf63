/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/qp.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { TIMEOUT_MAX = 31, RETRY_MAX = 7, RNR_TIMER_MAX = 31, MTU_MIN = 256 };

static bool mtu_is_valid(const struct hca_qp *qp, uint32_t mtu)
{
	const uint32_t most =
		qp->dev->profile.mtu_max; /* of the port, which may be none of IBTA's */

	return mtu >= MTU_MIN && mtu <= WIRE_MTU_MAX && mtu <= most &&
	       (mtu == most || (mtu & (mtu - 1)) == 0);
}

static bool values_are_valid(const struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	const struct hca_profile *profile = &qp->dev->profile;

	if (mask & HCA_QP_PATH_MTU && !mtu_is_valid(qp, attr->mtu))
		return false;
	if (mask & HCA_QP_TIMEOUT && attr->timeout > TIMEOUT_MAX)
		return false;
	if (mask & HCA_QP_RETRY_CNT && attr->retry_cnt > RETRY_MAX)
		return false;
	if (mask & HCA_QP_RNR_RETRY && attr->rnr_retry > RETRY_MAX)
		return false;
	if (mask & HCA_QP_MIN_RNR_TIMER && attr->min_rnr_timer > RNR_TIMER_MAX)
		return false;
	if (mask & HCA_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > profile->rd_atomic_max)
		return false;
	if (mask & HCA_QP_MAX_DEST_RD_ATOMIC && hca_has_responder(qp) &&
	    attr->max_dest_rd_atomic > qp->res_most)
		return false;
	if (mask & HCA_QP_DEST_QPN && attr->dest_qpn > WIRE_U24_MAX)
		return false;
	if (mask & HCA_QP_AV && attr->path.priority >= qp->dev->priority_count)
		return false;
	return true;
}

static void hca_qp_set_turn(struct hca_turn *turn, uint8_t priority, bool is_request, ps_t now)
{
	hca_sched_set(turn, PS_NEVER, now);
	turn->priority = priority;
	turn->list = &turn->qp->dev->ready[priority][!is_request];
}

void hca_qp_set_priority(struct hca_qp *qp, uint8_t priority, ps_t now)
{
	const struct hca_profile *profile = &qp->dev->profile;

	qp->priority = priority;
	if (hca_has_responder(qp)) {
		hca_qp_set_turn(&qp->cnp_turn, profile->cnp_priority, false, now);
		hca_qp_set_turn(&qp->response_turn,
				profile->ack_on_data_priority ? priority : profile->ack_priority,
				false, now);
	}
	if (hca_has_requester(qp))
		hca_qp_set_turn(&qp->request_turn, priority, true, now);
}

static void set_send_attributes(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	struct hca_sq *sq = &qp->sq;

	if (mask & HCA_QP_PATH_MTU)
		hca_rtt_set_window(qp);
	if (mask & HCA_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & HCA_QP_TIMEOUT) {
		sq->timeout_code = attr->timeout;
		/* T = 4.096 us * 2^n, and it fires at 2T. */
		sq->timeout = attr->timeout ? (ps_t)8192000 << attr->timeout : PS_NEVER;
		if (attr->timeout && qp->dev->selective)
			sq->timeout = qp->dev->profile.rto_low;
	}
	if (mask & HCA_QP_RETRY_CNT)
		sq->retry_cnt = sq->retry_left = attr->retry_cnt;
	if (mask & HCA_QP_RNR_RETRY)
		sq->rnr_retry = sq->rnr_left = attr->rnr_retry;
	if (mask & HCA_QP_MAX_QP_RD_ATOMIC)
		sq->rd_max = attr->max_rd_atomic;
	if (mask & HCA_QP_SQ_PSN) {
		qp->sq.start_psn = attr->sq_psn & WIRE_U24_MAX;
		sq->next_psn = sq->una_psn = sq->high_psn = sq->end_psn = qp->sq.start_psn;
		sq->wire_psn = qp->sq.start_psn;
		if (sq->recovery)
			hca_recover_start(qp);
	}
}

static void set_recv_attributes(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	if (mask & HCA_QP_RQ_PSN) {
		qp->rq_psn = qp->rq.expected_psn = attr->rq_psn & WIRE_U24_MAX;
		if (qp->rq.ooo)
			hca_ooo_start(qp);
	}
	if (mask & HCA_QP_MIN_RNR_TIMER)
		qp->min_rnr_timer = attr->min_rnr_timer;
	if (mask & HCA_QP_MAX_DEST_RD_ATOMIC)
		qp->rq.res_max = attr->max_dest_rd_atomic;
}

/* The pace of a queue pair is what a congestion control makes of it: where there is none, the rate
 * is free. */
static bool may_limit_rate(const struct hca_qp *qp)
{
	return hca_has_requester(qp) && !qp->sq.paths && qp->dev->profile.cc == &cc_none;
}

static void limit_rate(struct hca_qp *qp, uint32_t rate_kbps)
{
	const uint64_t line_bps = qp->dev->profile.cc_params.line_rate_bps;
	const uint64_t rate_bps = (uint64_t)rate_kbps * 1000;

	qp->cc.active = rate_kbps > 0 && rate_bps < line_bps;
	qp->cc.rate_bps = qp->cc.active ? rate_bps : line_bps;
}

static void set_attributes(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask,
			   ps_t now)
{
	if (mask & HCA_QP_ACCESS_FLAGS)
		qp->access = attr->access;
	if (mask & HCA_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & HCA_QP_PORT)
		qp->port = attr->port;
	if (mask & HCA_QP_AV) {
		qp->path = attr->path;
		hca_qp_set_priority(qp, attr->path.priority, now);
	}
	if (mask & HCA_QP_PATH_MTU)
		qp->mtu = attr->mtu;
	if (mask & HCA_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qpn;
	if (hca_has_responder(qp))
		set_recv_attributes(qp, attr, mask);
	if (hca_has_requester(qp))
		set_send_attributes(qp, attr, mask);
	if (mask & HCA_QP_RATE_LIMIT)
		limit_rate(qp, attr->rate_limit_kbps);
}

/* States in which requests are heard, and in which answers to one's own are awaited. */
void hca_qp_set_state(struct hca_qp *qp, enum hca_qp_state state)
{
	static const uint8_t hears[] = {[HCA_QPS_RTR] = HCA_HEARS_REQUESTS,
					[HCA_QPS_RTS] = HCA_HEARS_REQUESTS | HCA_HEARS_RESPONSES,
					[HCA_QPS_SQD] = HCA_HEARS_REQUESTS | HCA_HEARS_RESPONSES,
					[HCA_QPS_ERR] = 0};

	qp->state = (uint8_t)state;
	qp->hears = hears[state];
	if (!hca_has_responder(qp))
		qp->hears &= (uint8_t)~HCA_HEARS_REQUESTS;
}

/* Of what is decided up to now something may not start any more. */
static uint64_t end_decided(struct hca_device *dev)
{
	dev->dma_ended = dev->dma_sequence;
	return dev->dma_ended;
}

static void reset_requester(struct hca_qp *qp, ps_t now)
{
	struct hca_device *dev = qp->dev;

	hca_sched_set(&qp->request_turn, PS_NEVER, now);
	hca_heap_remove(&dev->timers, &qp->timer);
	hca_sched_heaps_changed(dev);
	qp->sq = (struct hca_sq){.ring = qp->sq.ring,
				 .mask = qp->sq.mask,
				 .depth = qp->sq.depth,
				 .recovery = qp->sq.recovery,
				 .paths = qp->sq.paths,
				 .window = dev->psn_window,
				 .timeout = PS_NEVER,
				 .timer_at = PS_NEVER};
	if (qp->sq.recovery)
		hca_recover_reset(qp);
	qp->qkey = 0;
	qp->next_start = 0;
	qp->request_from = end_decided(dev);
	dev->profile.cc->init(&qp->cc, &dev->profile.cc_params);
}

static void reset_responder(struct hca_qp *qp, ps_t now)
{
	hca_sched_set(&qp->cnp_turn, PS_NEVER, now);
	hca_sched_set(&qp->response_turn, PS_NEVER, now);
	qp->rq = (struct hca_rq){.ring = qp->rq.ring,
				 .mask = qp->rq.mask,
				 .depth = qp->rq.depth,
				 .resources = qp->rq.resources,
				 .res_mask = qp->rq.res_mask,
				 .res_first = HCA_RES_START,
				 .res_next = HCA_RES_START,
				 .ooo = qp->rq.ooo};
	if (qp->rq.resources)
		memset(qp->rq.resources, 0,
		       (qp->rq.res_mask + (size_t)1) * sizeof(*qp->rq.resources));
	if (qp->rq.ooo)
		hca_ooo_reset(qp);
	qp->rq_psn = qp->min_rnr_timer = 0;
	qp->cnp_next_at = 0;
	qp->response_from = end_decided(qp->dev);
}

/* As new, but for what was allocated; queued work vanishes without completions. */
static void reset(struct hca_qp *qp, ps_t now)
{
	hca_loans_revoke(qp);
	if (hca_has_responder(qp))
		reset_responder(qp, now);
	if (hca_has_requester(qp))
		reset_requester(qp, now);
	if (qp->dev->watcher)
		qp->dev->watcher->on_gone(qp->dev->watcher, qp->qpn);
	hca_rtt_reset(qp);
	qp->path = (struct wire_path){.ttl = 0};
	/* Of a datagram; others get theirs with the path. */
	qp->mtu = qp->type == HCA_QPT_RAW_PACKET ? WIRE_MTU_MAX : qp->dev->profile.mtu_max;
	qp->dest_qpn = qp->access = 0;
	qp->pkey_index = qp->port = 0;
}

/* What was promised before a fatal NAK goes out, and the NAK behind it; else nothing does. */
static void forget_answers(struct hca_qp *qp)
{
	if (qp->rq.ack_fatal)
		return;
	qp->rq.ack_due = false;
	qp->rq.res_pending = 0;
	qp->response_from = end_decided(qp->dev);
	if (qp->rq.ooo)
		qp->rq.ooo->repair_count = 0;
}

void hca_qp_fail(struct hca_qp *qp, ps_t now)
{
	const bool tells_last = hca_has_responder(qp) && qp->state != HCA_QPS_ERR &&
				(qp->srq || qp->type == HCA_QPT_XRC_RECV);

	hca_loans_revoke(qp);
	hca_qp_set_state(qp, HCA_QPS_ERR);
	if (hca_has_responder(qp))
		forget_answers(qp);
	if (hca_has_requester(qp)) {
		qp->sq.timer_at = PS_NEVER;
		qp->sq.exceptions = 0;
		qp->request_from = end_decided(qp->dev);
		hca_qp_flush_send(qp, now);
	}
	if (hca_has_responder(qp)) {
		hca_qp_flush_recv(qp, now);
		hca_sched_set(&qp->cnp_turn, PS_NEVER, now);
	}
	/* IBTA 11.6.3.2: it takes no receive any more, and has none. */
	if (tells_last)
		hca_qp_async(qp, HCA_EVENT_QP_LAST_WQE, now);
	hca_qp_update(qp, now);
}

void hca_qp_update(struct hca_qp *qp, ps_t now)
{
	if (hca_has_responder(qp))
		hca_responder_update(qp, now);
	if (hca_has_requester(qp))
		hca_requester_update(qp, now);
}

void hca_qp_async(struct hca_qp *qp, int event, ps_t now)
{
	qp->dev->observer->on_async(qp->dev->world, qp->owner, event, now);
}

/* Who only answers sends nothing of its own, and who reads would have to be paced. */
static bool half_allows(const struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask,
			enum hca_qp_state next)
{
	if (qp->half != HCA_RESPONDER)
		return true;
	return next != HCA_QPS_RTS && next != HCA_QPS_SQD &&
	       !(mask & HCA_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > 0);
}

static void forget_completions(const struct hca_qp *qp)
{
	if (qp->send_cq)
		hca_cq_forget(qp->send_cq, qp->qpn);
	if (hca_has_responder(qp) && qp->recv_cq)
		hca_cq_forget(qp->recv_cq, qp->qpn);
}

int hca_qp_modify(struct hca_device *dev, struct hca_qp *qp, const struct hca_qp_attr *attr,
		  uint32_t mask, ps_t now)
{
	enum hca_qp_state next;

	/* The timer that is due may be the one that ends the queue pair. */
	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	next = mask & HCA_QP_STATE ? attr->state : qp->state;
	if (mask & HCA_QP_RATE_LIMIT && !may_limit_rate(qp))
		return -EOPNOTSUPP;
	if (mask & HCA_QP_RATE_LIMIT && next != HCA_QPS_RTS)
		return -EINVAL;
	if (!hca_state_allows(qp, mask & ~(uint32_t)HCA_QP_RATE_LIMIT, next) ||
	    !values_are_valid(qp, attr, mask) || !half_allows(qp, attr, mask, next))
		return -EINVAL;
	if (hca_has_responder(qp) && mask & HCA_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > 0 && hca_resources_create(qp) != 0)
		return -ENOMEM;
	if (next == HCA_QPS_RESET) {
		forget_completions(qp);
		reset(qp, now);
	}
	set_attributes(qp, attr, mask, now);
	if (next == HCA_QPS_ERR) {
		if (hca_has_responder(qp))
			qp->rq.ack_fatal = false;
		hca_qp_fail(qp, now);
		return 0;
	}
	if (next == HCA_QPS_SQD && qp->state == HCA_QPS_RTS)
		qp->sq.tells_drained =
			mask & HCA_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify;
	hca_qp_set_state(qp, next);
	hca_qp_update(qp, now);
	return 0;
}

void hca_qp_query(const struct hca_qp *qp, struct hca_qp_attr *ret_attr,
		  struct hca_qp_init *ret_init)
{
	*ret_attr = (struct hca_qp_attr){
		.state = qp->state,
		.access = qp->access,
		.mtu = qp->mtu,
		.dest_qpn = qp->dest_qpn,
		.pkey_index = qp->pkey_index,
		.port = qp->port,
		.path = qp->path,
	};
	*ret_init = (struct hca_qp_init){
		.type = qp->type,
		.pd = qp->type == HCA_QPT_XRC_RECV ? NULL : qp->pd,
		.send_cq = qp->send_cq,
		.signal_all = qp->signal_all,
		.half = qp->half,
		.qpn = qp->qpn,
		.owner = qp->owner,
	};
	if (hca_has_responder(qp)) {
		ret_attr->rq_psn = qp->rq_psn;
		ret_attr->min_rnr_timer = qp->min_rnr_timer;
		ret_attr->max_dest_rd_atomic = (uint8_t)qp->rq.res_max;
		const bool is_xrc = qp->type == HCA_QPT_XRC_RECV;

		ret_init->recv_cq = is_xrc ? NULL : qp->recv_cq;
		ret_init->srq = is_xrc ? NULL : qp->srq;
		ret_init->cap.recv_depth = is_xrc || qp->srq ? 0 : qp->rq.depth;
		ret_init->cap.recv_sge_max = is_xrc || qp->srq ? 0 : qp->recv_sge_max;
		ret_init->dest_rd_atomic_max = qp->res_most;
	}
	if (hca_has_requester(qp)) {
		ret_attr->sq_psn = qp->sq.start_psn;
		ret_attr->timeout = qp->sq.timeout_code;
		ret_attr->retry_cnt = qp->sq.retry_cnt;
		ret_attr->rnr_retry = qp->sq.rnr_retry;
		ret_attr->max_rd_atomic = qp->sq.rd_max;
		ret_attr->qkey = qp->qkey;
		if (may_limit_rate(qp) && qp->cc.active)
			ret_attr->rate_limit_kbps = (uint32_t)(qp->cc.rate_bps / 1000);
		ret_init->cap.send_depth = qp->sq.depth;
		ret_init->cap.send_sge_max = qp->send_sge_max;
		ret_init->cap.inline_max = qp->inline_max;
	}
}

uint64_t hca_qp_packets_retransmitted(const struct hca_qp *qp)
{
	return hca_has_requester(qp) ? qp->sq.retransmitted : 0;
}

uint32_t hca_qp_qpn(const struct hca_qp *qp)
{
	return qp->qpn;
}

void *hca_qp_owner(const struct hca_qp *qp)
{
	return qp->owner;
}

void hca_qp_set_owner(struct hca_qp *qp, void *owner)
{
	qp->owner = owner;
}

enum hca_qp_type hca_qp_type_of(const struct hca_qp *qp)
{
	return qp->type;
}

const struct wire_path *hca_qp_path(const struct hca_device *dev, uint32_t qpn)
{
	const struct hca_qp *qp = util_idmap_find(&dev->qps, qpn);

	return qp && qp->state >= HCA_QPS_RTR ? &qp->path : NULL;
}

enum hca_qp_state hca_qp_state_of(const struct hca_device *dev, uint32_t qpn)
{
	const struct hca_qp *qp = util_idmap_find(&dev->qps, qpn);

	return qp ? qp->state : HCA_QPS_RESET;
}

static bool half_is_valid(const struct hca_qp_init *init)
{
	const bool sends_too =
		init->cap.send_depth || init->cap.send_sge_max || init->cap.inline_max;
	const bool receives_too = init->cap.recv_depth || init->cap.recv_sge_max;

	switch (init->half) {
	case HCA_BOTH_HALVES:
		return true;
	case HCA_REQUESTER:
		return (init->type == HCA_QPT_RC || init->type == HCA_QPT_XRC_SEND) &&
		       !receives_too;
	case HCA_RESPONDER:
		return init->type == HCA_QPT_RC && !sends_too;
	}
	return false;
}

/* Receives of its own, or shared ones. */
static bool receives_are_valid(const struct hca_profile *profile, const struct hca_qp_init *init)
{
	if (!init->srq)
		return init->cap.recv_depth <= profile->wr_max &&
		       init->cap.recv_sge_max <= profile->sge_max;
	return (init->type == HCA_QPT_RC || init->type == HCA_QPT_UD) &&
	       init->half != HCA_REQUESTER && !init->srq->xrcd;
}

/* What a type needs, and what it cannot have. */
static bool has_parts(const struct hca_device *dev, const struct hca_qp_init *init)
{
	switch (init->type) {
	case HCA_QPT_RC:
	case HCA_QPT_UC:
	case HCA_QPT_UD:
	case HCA_QPT_RAW_PACKET:
		return init->pd && init->send_cq && init->recv_cq && !init->xrcd;
	case HCA_QPT_XRC_SEND:
		return !dev->selective && init->pd && init->send_cq && !init->xrcd &&
		       init->half == HCA_REQUESTER;
	case HCA_QPT_XRC_RECV:
		return init->xrcd && !init->pd && !init->send_cq && !init->recv_cq &&
		       init->cap.send_depth == 0 && init->cap.recv_depth == 0 &&
		       init->half == HCA_BOTH_HALVES;
	}
	return false;
}

static bool init_is_valid(const struct hca_device *dev, const struct hca_qp_init *init)
{
	const struct hca_profile *profile = &dev->profile;
	const struct hca_qp_cap *cap = &init->cap;

	return half_is_valid(init) && has_parts(dev, init) && receives_are_valid(profile, init) &&
	       cap->send_depth <= profile->wr_max && cap->send_sge_max <= profile->sge_max &&
	       cap->inline_max <= profile->inline_max &&
	       init->dest_rd_atomic_max <= profile->rd_atomic_max && init->qpn <= WIRE_U24_MAX;
}

/* Of one half, in its pool: whole cache lines. */
enum { REQUESTER_BYTES = 448, RESPONDER_BYTES = 384 };
_Static_assert(offsetof(struct hca_qp, xrcd) - offsetof(struct hca_qp, path) <= REQUESTER_BYTES &&
		       offsetof(struct hca_qp, sq) <= RESPONDER_BYTES,
	       "each half has room");

/* Where the memory of a queue pair of that half begins, seen from the whole. */
static size_t begin_of(enum hca_qp_half half)
{
	return half == HCA_REQUESTER ? offsetof(struct hca_qp, path) : 0;
}

/* One with both halves is alone, since few programs have many; NULL: no memory. */
static struct hca_qp *hca_qp_allocate(struct hca_device *dev, enum hca_qp_half half)
{
	void *memory = half == HCA_REQUESTER   ? hca_pool_get(&dev->requesters, REQUESTER_BYTES)
		       : half == HCA_RESPONDER ? hca_pool_get(&dev->responders, RESPONDER_BYTES)
					       : util_calloc(1, sizeof(struct hca_qp));

	return memory ? (struct hca_qp *)((uintptr_t)memory - begin_of(half)) : NULL;
}

/* Of a queue pair that shares receives: one for the message at hand, and more where messages may
 * begin before their turn. */
static uint32_t places_for_taken(const struct hca_qp *qp)
{
	return qp->type == HCA_QPT_RC && qp->dev->selective ? 64 : 1;
}

static int hca_qp_allocate_parts(struct hca_qp *qp, const struct hca_qp_init *init)
{
	const struct hca_qp_cap *cap = &init->cap;
	const uint32_t recv_depth =
		init->srq || init->xrcd ? places_for_taken(qp) : cap->recv_depth;

	if (hca_queues_create(qp, cap->send_depth, recv_depth) != 0 || hca_rtt_create(qp) != 0)
		return -ENOMEM;
	if (qp->type != HCA_QPT_RC || !qp->dev->selective)
		return 0;
	if (cap->send_depth > 0 && hca_recover_create(qp) != 0)
		return -ENOMEM;
	return hca_has_responder(qp) ? hca_ooo_create(qp, init->request_packets) : 0;
}

static void free_qp(struct hca_qp *qp)
{
	hca_queues_destroy(qp);
	hca_rtt_destroy(qp);
	if (hca_has_requester(qp))
		hca_recover_destroy(qp);
	if (hca_has_responder(qp))
		hca_ooo_destroy(qp);
	if (qp->half == HCA_REQUESTER)
		hca_pool_put(&qp->dev->requesters, &qp->path);
	else if (qp->half == HCA_RESPONDER)
		hca_pool_put(&qp->dev->responders, qp);
	else
		util_free(qp);
}

/* Of whom only answers come nothing but CNPs is paced; who only asks has one turn. */
static uint32_t paces_of(enum hca_qp_half half)
{
	return half == HCA_BOTH_HALVES ? HCA_TURN_COUNT : 1;
}

static uint32_t timers_of(enum hca_qp_half half)
{
	return half != HCA_RESPONDER;
}

/* Alarms that all queue pairs may have at once, and that of overflown CQs. 0 or -ENOMEM. */
static int reserve(struct hca_device *dev, enum hca_qp_half half)
{
	if (util_idmap_reserve(&dev->qps) != 0 ||
	    hca_heap_reserve(&dev->timers, dev->timer_count + timers_of(half) + 1) != 0 ||
	    hca_heap_reserve(&dev->paced, dev->pace_count + paces_of(half)) != 0)
		return -ENOMEM;
	return 0;
}

/* Of what @qp was made with; what its messages name besides is not held. */
static void count_uses(struct hca_qp *qp, uint32_t by)
{
	if (qp->type == HCA_QPT_XRC_RECV) {
		qp->xrcd->use_count += by;
		return;
	}
	qp->pd->use_count += by;
	qp->send_cq->use_count += by;
	if (!hca_has_responder(qp))
		return;
	qp->recv_cq->use_count += by;
	if (qp->srq)
		qp->srq->use_count += by;
}

static void hca_qp_enter(struct hca_device *dev, struct hca_qp *qp)
{
	if (hca_has_responder(qp)) {
		qp->cnp_turn = (struct hca_turn){.qp = qp, .kind = HCA_TURN_CNP};
		qp->response_turn = (struct hca_turn){.qp = qp, .kind = HCA_TURN_RESPONSE};
	}
	if (hca_has_requester(qp)) {
		qp->request_turn = (struct hca_turn){
			.qp = qp,
			.kind = hca_is_reliable(qp) ? HCA_TURN_REQUEST : HCA_TURN_UNRELIABLE};
		qp->timer.qpn = qp->qpn;
	}
	util_idmap_add(&dev->qps, qp->qpn, qp);
	dev->qp_count++;
	dev->timer_count += timers_of(qp->half);
	dev->pace_count += paces_of(qp->half);
	count_uses(qp, 1);
	reset(qp, 0);
	if (qp->type == HCA_QPT_UD || qp->type == HCA_QPT_RAW_PACKET)
		hca_qp_set_priority(qp, 0, 0); /* others get theirs with the path */
}

/* What @init says, into new memory. */
static void take_init(struct hca_qp *qp, const struct hca_qp_init *init)
{
	qp->half = (uint8_t)init->half;
	qp->type = (uint8_t)init->type;
	qp->pd = init->pd;
	qp->send_cq = init->send_cq;
	qp->signal_all = init->signal_all;
	qp->tells_all = init->signal_all || qp->dev->watcher;
	qp->dev->full_path |= qp->type >= HCA_QPT_XRC_SEND;
	qp->opcodes_end = init->type == HCA_QPT_RC ? WIRE_UC : 0;
	qp->owner = init->owner;
	if (init->xrcd)
		qp->xrcd = init->xrcd;
	if (hca_has_requester(qp)) {

		qp->send_sge_max = init->cap.send_sge_max;
		qp->inline_max = init->cap.inline_max;
	}
	if (hca_has_responder(qp)) {
		qp->recv_cq = init->recv_cq;
		qp->srq = init->srq;
		qp->recv_sge_max = init->srq	? init->srq->sge_max
				   : init->xrcd ? qp->dev->profile.sge_max
						: init->cap.recv_sge_max;
		qp->res_most = init->dest_rd_atomic_max ? init->dest_rd_atomic_max
							: (uint8_t)qp->dev->profile.rd_atomic_max;
	}
}

int hca_qp_create(struct hca_device *dev, const struct hca_qp_init *init, struct hca_qp **ret_qp)
{
	struct hca_qp *qp;

	if (!init_is_valid(dev, init))
		return -EINVAL;
	if (init->qpn && util_idmap_find(&dev->qps, init->qpn))
		return -EEXIST;
	if (dev->qp_count == dev->profile.qp_max)
		return -ENOMEM;
	if (reserve(dev, init->half) != 0)
		return -ENOMEM;
	qp = hca_qp_allocate(dev, init->half);
	if (!qp)
		return -ENOMEM;
	qp->dev = dev;
	qp->qpn = init->qpn ? init->qpn : hca_draw_number(dev, &dev->qps, init->identity);
	take_init(qp, init);
	if (hca_qp_allocate_parts(qp, init) != 0) {
		free_qp(qp);
		return -ENOMEM;
	}
	hca_qp_enter(dev, qp);
	*ret_qp = qp;
	return 0;
}

void hca_qp_destroy(struct hca_device *dev, struct hca_qp *qp)
{
	if (!qp)
		return;
	if (qp->type == HCA_QPT_XRC_RECV && qp->open_count > 0) {
		qp->open_count--;
		return;
	}
	reset(qp, 0);
	forget_completions(qp);
	hca_mw_leave(qp);
	hca_mcast_leave(qp);
	util_idmap_remove(&dev->qps, qp->qpn);
	dev->qp_count--;
	dev->timer_count -= timers_of(qp->half);
	dev->pace_count -= paces_of(qp->half);
	count_uses(qp, -1u);
	free_qp(qp);
}

void hca_qp_destroy_all(struct hca_device *dev)
{
	for (uint32_t i = 0; dev->qp_count > 0; i++)
		while (dev->qps.slots[i].object) /* what stands behind it moves up */
			hca_qp_destroy(dev, dev->qps.slots[i].object);
}
