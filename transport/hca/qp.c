/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/qp.h"

#include "transport/hca/internal.h"
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
	if (mask & HCA_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > qp->res_most)
		return false;
	if (mask & HCA_QP_DEST_QPN && attr->dest_qpn > WIRE_U24_MAX)
		return false;
	if (mask & HCA_QP_AV && attr->path.priority >= qp->dev->priority_count)
		return false;
	return true;
}

void hca_qp_set_priority(struct hca_qp *qp, uint8_t priority, ps_t now)
{
	const struct hca_profile *profile = &qp->dev->profile;

	for (int i = 0; i < HCA_TURN_COUNT; i++)
		hca_sched_set(&qp->turns[i], PS_NEVER, now);
	qp->priority = priority;
	qp->turns[HCA_TURN_REQUEST].priority = priority;
	qp->turns[HCA_TURN_RESPONSE].priority =
		profile->ack_on_data_priority ? priority : profile->ack_priority;
	qp->turns[HCA_TURN_CNP].priority = profile->cnp_priority;
	for (int i = 0; i < HCA_TURN_COUNT; i++) {
		struct hca_turn *turn = &qp->turns[i];

		turn->list = &qp->dev->ready[turn->priority][i != HCA_TURN_REQUEST];
	}
}

static void set_send_attributes(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	struct hca_sq *sq = &qp->sq;

	if (mask & HCA_QP_TIMEOUT) {
		qp->timeout = attr->timeout;
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
		qp->sq_psn = attr->sq_psn & WIRE_U24_MAX;
		sq->next_psn = sq->una_psn = sq->high_psn = sq->end_psn = qp->sq_psn;
		sq->wire_psn = qp->sq_psn;
		if (sq->recovery)
			hca_recover_start(qp);
	}
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
	if (mask & HCA_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & HCA_QP_AV) {
		qp->path = attr->path;
		hca_qp_set_priority(qp, attr->path.priority, now);
	}
	if (mask & HCA_QP_PATH_MTU) {
		qp->mtu = attr->mtu;
		hca_meter_set_window(qp);
	}
	if (mask & HCA_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qpn;
	if (mask & HCA_QP_RQ_PSN) {
		qp->rq_psn = qp->rq.expected_psn = attr->rq_psn & WIRE_U24_MAX;
		if (qp->rq.early)
			hca_early_start(qp);
	}
	if (mask & HCA_QP_MIN_RNR_TIMER)
		qp->min_rnr_timer = attr->min_rnr_timer;
	if (mask & HCA_QP_MAX_DEST_RD_ATOMIC)
		qp->rq.res_max = attr->max_dest_rd_atomic;
	set_send_attributes(qp, attr, mask);
}

/* As new, but for what was allocated; queued work vanishes without completions. */
static void reset(struct hca_qp *qp, ps_t now)
{
	struct hca_device *dev = qp->dev;

	for (int i = 0; i < HCA_TURN_COUNT; i++)
		hca_sched_set(&qp->turns[i], PS_NEVER, now);
	hca_heap_remove(&dev->timers, &qp->timer);
	hca_sched_heaps_changed(dev);
	qp->sq = (struct hca_sq){.ring = qp->sq.ring,
				 .mask = qp->sq.mask,
				 .depth = qp->sq.depth,
				 .sges = qp->sq.sges,
				 .inline_bytes = qp->sq.inline_bytes,
				 .recovery = qp->sq.recovery,
				 .paths = qp->sq.paths,
				 .window = dev->psn_window,
				 .timeout = PS_NEVER,
				 .timer_at = PS_NEVER};
	qp->rq = (struct hca_rq){.ring = qp->rq.ring,
				 .mask = qp->rq.mask,
				 .depth = qp->rq.depth,
				 .sges = qp->rq.sges,
				 .resources = qp->rq.resources,
				 .res_mask = qp->rq.res_mask,
				 .res_first = HCA_RES_START,
				 .res_next = HCA_RES_START,
				 .early = qp->rq.early};
	if (qp->rq.resources)
		memset(qp->rq.resources, 0,
		       (qp->rq.res_mask + (size_t)1) * sizeof(*qp->rq.resources));
	if (qp->sq.recovery)
		hca_recover_reset(qp);
	if (qp->rq.early)
		hca_early_reset(qp);
	qp->path = (struct wire_path){.ttl = 0};
	qp->mtu = dev->profile.mtu_max; /* of a UD packet; others get theirs with the path */
	qp->dest_qpn = qp->access = qp->sq_psn = qp->rq_psn = qp->qkey = 0;
	qp->pkey_index = qp->port = qp->timeout = qp->min_rnr_timer = 0;
	qp->next_start = qp->cnp_next_at = 0;
	qp->request_from = qp->response_from = dev->dma_sequence;
	hca_meter_reset(qp);
	dev->profile.cc->init(&qp->cc, &dev->profile.cc_params);
}

void hca_qp_fail(struct hca_qp *qp, ps_t now)
{
	qp->state = HCA_QPS_ERR;
	qp->sq.timer_at = PS_NEVER;
	qp->sq.unusual = 0;
	qp->request_from = qp->dev->dma_sequence;
	if (!qp->rq.ack_fatal) { /* else the NAK still goes out, behind what was promised before */
		qp->rq.ack_due = false;
		qp->rq.res_pending = 0;
		qp->response_from = qp->dev->dma_sequence;
		if (qp->rq.early)
			qp->rq.early->repair_count = 0;
	}
	hca_qp_flush_send(qp, now);
	hca_qp_flush_recv(qp, now);
	hca_sched_set(&qp->turns[HCA_TURN_CNP], PS_NEVER, now);
	hca_qp_update(qp, now);
}

void hca_qp_update(struct hca_qp *qp, ps_t now)
{
	hca_responder_update(qp, now);
	hca_requester_update(qp, now);
}

void hca_qp_async(struct hca_qp *qp, int event, ps_t now)
{
	qp->dev->observer->on_async(qp->dev->world, qp->owner, event, now);
}

int hca_qp_modify(struct hca_device *dev, struct hca_qp *qp, const struct hca_qp_attr *attr,
		  uint32_t mask, ps_t now)
{
	enum hca_qp_state next;

	/* The timer that is due may be the one that ends the queue pair. */
	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	hca_early_free_given_back(dev);
	next = mask & HCA_QP_STATE ? attr->state : qp->state;
	if (!hca_state_allows(qp, mask, next) || !values_are_valid(qp, attr, mask))
		return -EINVAL;
	if (mask & HCA_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > 0 &&
	    hca_resources_create(qp) != 0)
		return -ENOMEM;
	if (mask & HCA_QP_RQ_PSN && qp->rq.early && hca_early_allocate(qp) != 0)
		return -ENOMEM;
	if (next == HCA_QPS_RESET)
		reset(qp, now);
	set_attributes(qp, attr, mask, now);
	if (next == HCA_QPS_ERR) {
		qp->rq.ack_fatal = false;
		hca_qp_fail(qp, now);
		return 0;
	}
	if (next == HCA_QPS_SQD && qp->state == HCA_QPS_RTS)
		qp->sq.tells_drained =
			mask & HCA_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify;
	qp->state = (uint8_t)next;
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
		.sq_psn = qp->sq_psn,
		.rq_psn = qp->rq_psn,
		.timeout = qp->timeout,
		.retry_cnt = qp->sq.retry_cnt,
		.rnr_retry = qp->sq.rnr_retry,
		.min_rnr_timer = qp->min_rnr_timer,
		.max_rd_atomic = qp->sq.rd_max,
		.max_dest_rd_atomic = (uint8_t)qp->rq.res_max,
		.qkey = qp->qkey,
		.pkey_index = qp->pkey_index,
		.port = qp->port,
		.path = qp->path,
	};
	*ret_init = (struct hca_qp_init){
		.type = qp->type,
		.pd = qp->pd,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.cap = {qp->sq.depth, qp->rq.depth, qp->send_sge_max, qp->recv_sge_max,
			qp->inline_max},
		.signal_all = qp->signal_all,
		.dest_rd_atomic_max = qp->res_most,
		.qpn = qp->qpn,
		.owner = qp->owner,
	};
}

uint64_t hca_qp_packets_retransmitted(const struct hca_qp *qp)
{
	return qp->sq.retransmitted;
}

uint32_t hca_qp_qpn(const struct hca_qp *qp)
{
	return qp->qpn;
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

static bool init_is_valid(const struct hca_device *dev, const struct hca_qp_init *init)
{
	const struct hca_profile *profile = &dev->profile;
	const struct hca_qp_cap *cap = &init->cap;

	return init->type >= HCA_QPT_RC && init->type <= HCA_QPT_UD && init->pd && init->send_cq &&
	       init->recv_cq && cap->send_depth <= profile->wr_max &&
	       cap->recv_depth <= profile->wr_max && cap->send_sge_max <= profile->sge_max &&
	       cap->recv_sge_max <= profile->sge_max && cap->inline_max <= profile->inline_max &&
	       init->dest_rd_atomic_max <= profile->rd_atomic_max && init->qpn <= WIRE_U24_MAX;
}

/* A number that is free: a function of (device key, identity), and of the try where that is taken.
 * 0 and 1 belong to management. */
static uint32_t draw_qpn(struct hca_device *dev, uint64_t identity)
{
	uint32_t bits = HCA_QPN_BITS - dev->qpn_slot_bits;
	uint64_t words[3] = {identity, 0, 0};

	if (!identity)
		words[1] = ++dev->qpn_drawn;
	for (;; words[2]++) {
		uint64_t draw =
			util_hash_words((struct util_key){dev->key[0], dev->key[1]}, words, 3);
		uint32_t qpn = dev->qpn_slot << bits | ((uint32_t)draw & ((1u << bits) - 1));

		if (qpn > 1 && !util_idmap_find(&dev->qps, qpn))
			return qpn;
	}
}

static int allocate_parts(struct hca_qp *qp, const struct hca_qp_init *init)
{
	const struct hca_qp_cap *cap = &init->cap;

	if (hca_queues_create(qp, cap->send_depth, cap->recv_depth) != 0 ||
	    hca_meter_create(qp) != 0)
		return -ENOMEM;
	if (qp->type != HCA_QPT_RC || !qp->dev->selective)
		return 0;
	if (cap->send_depth > 0 && hca_recover_create(qp) != 0)
		return -ENOMEM;
	return hca_early_create(qp, init->request_packets);
}

static void free_qp(struct hca_qp *qp)
{
	hca_queues_destroy(qp);
	hca_meter_destroy(qp);
	hca_recover_destroy(qp);
	hca_early_destroy(qp);
	util_free(qp);
}

static void enter(struct hca_device *dev, struct hca_qp *qp)
{
	for (int i = 0; i < HCA_TURN_COUNT; i++) {
		qp->turns[i].qp = qp;
		qp->turns[i].kind = (uint8_t)i;
		qp->turns[i].alarm.qpn = qp->qpn;
	}
	if (qp->type != HCA_QPT_RC)
		qp->turns[HCA_TURN_REQUEST].kind = HCA_TURN_UNRELIABLE;
	qp->timer.qpn = qp->qpn;
	util_idmap_add(&dev->qps, qp->qpn, qp);
	dev->qp_count++;
	qp->pd->use_count++;
	qp->send_cq->use_count++;
	qp->recv_cq->use_count++;
	reset(qp, 0);
	if (qp->sq.paths)
		hca_qp_set_priority(qp, 0, 0); /* others get theirs with the path */
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
	hca_early_free_given_back(dev);
	/* A QP may be in the heap of paced turns with all of them. */
	if (util_idmap_reserve(&dev->qps) != 0 ||
	    hca_heap_reserve(&dev->timers, dev->qp_count + 2) != 0 || /* and dev->cq_alarm */
	    hca_heap_reserve(&dev->paced, HCA_TURN_COUNT * (dev->qp_count + 1)) != 0)
		return -ENOMEM;
	qp = util_calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->dev = dev;
	qp->qpn = init->qpn ? init->qpn : draw_qpn(dev, init->identity);
	qp->type = (uint8_t)init->type;
	qp->send_sge_max = init->cap.send_sge_max;
	qp->recv_sge_max = init->cap.recv_sge_max;
	qp->inline_max = init->cap.inline_max;
	qp->res_most = init->dest_rd_atomic_max ? init->dest_rd_atomic_max
						: (uint8_t)dev->profile.rd_atomic_max;
	qp->pd = init->pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->signal_all = init->signal_all;
	qp->opcodes_end = init->type == HCA_QPT_RC ? WIRE_UC : 0;
	qp->owner = init->owner;
	if (allocate_parts(qp, init) != 0) {
		free_qp(qp);
		return -ENOMEM;
	}
	enter(dev, qp);
	*ret_qp = qp;
	return 0;
}

void hca_qp_destroy(struct hca_device *dev, struct hca_qp *qp)
{
	if (!qp)
		return;
	hca_early_free_given_back(dev);
	reset(qp, 0);
	util_idmap_remove(&dev->qps, qp->qpn);
	dev->qp_count--;
	qp->pd->use_count--;
	qp->send_cq->use_count--;
	qp->recv_cq->use_count--;
	free_qp(qp);
}

void hca_qp_destroy_all(struct hca_device *dev)
{
	for (uint32_t i = 0; dev->qp_count > 0; i++)
		while (dev->qps.slots[i].object) /* what stands behind it moves up */
			hca_qp_destroy(dev, dev->qps.slots[i].object);
}
