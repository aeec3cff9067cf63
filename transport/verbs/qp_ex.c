/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

/* Extended queue pairs: what there may be asked for at their creation. */

/* Known to libibverbs; of these an adapter for RoCE without steering, segmentation, checksums and
 * VLANs has the first two. */
enum {
	HAS = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	KNOWN = HAS | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
		IBV_QP_INIT_ATTR_RX_HASH,
};

/* The other masks may be there with nothing behind them. */
static int qp_ex_check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t mask = attr->comp_mask;

	if (mask & ~(uint32_t)KNOWN)
		return -EINVAL;
	if (mask & (IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))
		return -EOPNOTSUPP;
	if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags != 0) ||
	    (mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER && attr->max_tso_header != 0))
		return -EOPNOTSUPP;
	if (!(mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return -EINVAL;
	return 0;
}

/* struct ibv_qp_init_attr_ex begins with all of struct ibv_qp_init_attr. */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		       offsetof(struct ibv_qp_init_attr, sq_sig_all),
	       "the attributes of both");

struct ibv_qp *vrb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vrb_qp *qp;
	int ret;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return vrb_create_target(context, attr);
	ret = qp_ex_check(context, attr);

	if (ret == 0)
		ret = vrb_qp_create(attr->pd, (struct ibv_qp_init_attr *)(void *)attr, &qp);
	if (ret < 0)
		return vrb_null(ret);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ret = vrb_wr_init(qp, attr->send_ops_flags);
		if (ret < 0) {
			(void)ibv_destroy_qp(&qp->ibv);
			return vrb_null(ret);
		}
	}
	return &qp->ibv;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct vrb_qp *qp = VRB_TO(vrb_qp, ibv, ibv);

	return qp->is_ex ? &qp->ex : NULL;
}
