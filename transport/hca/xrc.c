/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/xrc.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"

#include <errno.h>

/* What comes for an XRC queue pair becomes what it would be for one of RC, whose receives, CQ and
 * protection domain are for now those of the shared queue that the request names; what goes out
 * becomes XRC again. */

enum { CLASS_MASK = 0xe0 };

static struct hca_xrcd *find_shared(struct hca_device *dev, const uint64_t *file)
{
	for (struct hca_list *n = dev->xrcd_list.next; n != &dev->xrcd_list; n = n->next) {
		struct hca_xrcd *xrcd = container_of(n, struct hca_xrcd, node);

		if (xrcd->is_shared && xrcd->file[0] == file[0] && xrcd->file[1] == file[1])
			return xrcd;
	}
	return NULL;
}

int hca_xrcd_open(struct hca_device *dev, const struct hca_xrcd_init *init,
		  struct hca_xrcd **ret_xrcd)
{
	struct hca_xrcd *xrcd = init->is_shared ? find_shared(dev, init->file) : NULL;

	if (dev->selective)
		return -EOPNOTSUPP;
	if (xrcd && init->excludes)
		return -EINVAL;
	if (!xrcd && init->is_shared && !init->creates)
		return -EAGAIN;
	if (!xrcd) {
		if (dev->xrcd_count == dev->profile.pd_max)
			return -ENOMEM;
		xrcd = util_calloc(1, sizeof(*xrcd));
		if (!xrcd)
			return -ENOMEM;
		xrcd->is_shared = init->is_shared;
		xrcd->file[0] = init->file[0];
		xrcd->file[1] = init->file[1];
		hca_list_add_tail(&dev->xrcd_list, &xrcd->node);
		dev->xrcd_count++;
	}
	xrcd->open_count++;
	*ret_xrcd = xrcd;
	return 0;
}

void hca_xrcd_free(struct hca_device *dev, struct hca_xrcd *xrcd)
{
	hca_list_remove(&xrcd->node);
	dev->xrcd_count--;
	util_free(xrcd);
}

int hca_xrcd_close(struct hca_device *dev, struct hca_xrcd *xrcd)
{
	if (xrcd->open_count == 1 && xrcd->use_count > 0)
		return -EBUSY;
	if (--xrcd->open_count == 0)
		hca_xrcd_free(dev, xrcd);
	return 0;
}

int hca_qp_open(struct hca_device *dev, const struct hca_xrcd *xrcd, uint32_t qpn,
		struct hca_qp **ret_qp)
{
	struct hca_qp *qp = util_idmap_find(&dev->qps, qpn);

	if (!qp || qp->type != HCA_QPT_XRC_RECV || qp->xrcd != xrcd)
		return -EINVAL;
	qp->open_count++;
	*ret_qp = qp;
	return 0;
}

/* A message names the same one in all its packets. */
static bool names_right(const struct hca_qp *qp, const struct hca_srq *srq)
{
	if (!srq || srq->xrcd != qp->xrcd)
		return false;
	return !qp->rq.in_message || srq == qp->srq;
}

/* False: the queue pair has failed. Of a duplicate and behind a gap nothing is executed. */
static bool choose(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	struct hca_srq *srq;

	if (pkt->psn != qp->rq.expected_psn)
		return true;
	srq = util_idmap_find(&qp->dev->srqs, pkt->rare.xrc_srqn);
	if (!names_right(qp, srq)) {
		qp->dev->counters.resp_remote_access_errors++;
		hca_responder_fail(qp, WIRE_NAK_REMOTE_ACCESS, HCA_WC_LOC_ACCESS_ERR, now);
		hca_responder_update(qp, now);
		return false;
	}
	if (srq->has_failed) {
		hca_responder_fail(qp, WIRE_NAK_REMOTE_OPERATION, HCA_WC_LOC_QP_OP_ERR, now);
		hca_responder_update(qp, now);
		return false;
	}
	qp->srq = srq;
	qp->recv_cq = srq->cq;
	qp->pd = srq->pd;
	return true;
}

bool hca_xrc_admits(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		    struct hca_rx rx, struct wire_pkt *ret_as_rc, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;

	if (!hca_pkt_is_sound(pkt, op) || (pkt->opcode & CLASS_MASK) != WIRE_XRC ||
	    (op->request && !pkt->has_rare)) {
		counters->rx_dropped++;
		return false;
	}
	if (!(qp->hears & (op->response ? HCA_HEARS_RESPONSES : HCA_HEARS_REQUESTS))) {
		counters->rx_wrong_state++;
		return false;
	}
	if (rx.ecn == WIRE_CE)
		hca_cnp_on_ce_apart(qp, now);
	*ret_as_rc = *pkt;
	ret_as_rc->opcode &= (uint8_t)~CLASS_MASK;
	return op->response || choose(qp, ret_as_rc, now);
}
