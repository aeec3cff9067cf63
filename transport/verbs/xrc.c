/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct vrb_xrcd {
	struct ibv_xrcd ibv;
	uint64_t handle;
};

static uint64_t handle_of(struct ibv_xrcd *xrcd)
{
	return VRB_TO(vrb_xrcd, ibv, xrcd)->handle;
}

/* A domain is shared by whoever names the same file. */
static int xrcd_init(const struct ibv_xrcd_init_attr *attr, struct hca_xrcd_init *ret_init)
{
	const uint32_t needs = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct stat file;

	if (attr->comp_mask & ~needs)
		return -ENOSYS;
	if (attr->comp_mask != needs)
		return -EINVAL;
	*ret_init = (struct hca_xrcd_init){.is_shared = attr->fd != -1,
					   .creates = attr->oflags & O_CREAT,
					   .excludes = attr->oflags & O_EXCL};
	if (attr->fd == -1)
		return 0;
	if (fstat(attr->fd, &file) != 0)
		return -EBADF;
	ret_init->file[0] = file.st_dev;
	ret_init->file[1] = file.st_ino;
	return 0;
}

struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct hca_xrcd_init init;
	struct vrb_xrcd *xrcd;
	int ret = xrcd_init(attr, &init);

	if (ret < 0)
		return vrb_null(ret);
	xrcd = vrb_calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->open_xrcd(vrb_self(context), &init, &xrcd->handle);
	if (ret < 0) {
		vrb_free(xrcd);
		return vrb_null(ret);
	}
	xrcd->ibv.context = context;
	vrb_context_get(context);
	return &xrcd->ibv;
}

int vrb_close_xrcd(struct ibv_xrcd *ibv)
{
	struct ibv_context *context = ibv->context;
	int ret = vrb_backend(context)->close_xrcd(vrb_self(context), handle_of(ibv));

	if (ret < 0)
		return vrb_positive(ret);
	vrb_free(VRB_TO(vrb_xrcd, ibv, ibv));
	vrb_context_put(context);
	return 0;
}

struct ibv_srq *vrb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t of_xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | of_xrc;
	const enum ibv_srq_type type =
		attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
	struct vrb_srq_init init = {.depth = attr->attr.max_wr, .sge_max = attr->attr.max_sge};

	if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC)
		return vrb_null(-EOPNOTSUPP);
	if (attr->comp_mask & ~known || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    attr->pd->context != context)
		return vrb_null(-EINVAL);
	if ((attr->comp_mask & of_xrc) != (type == IBV_SRQT_XRC ? of_xrc : 0))
		return vrb_null(-EINVAL);
	if (type == IBV_SRQT_XRC) {
		if (attr->xrcd->context != context || attr->cq->context != context)
			return vrb_null(-EINVAL);
		init.xrcd = handle_of(attr->xrcd);
		init.cq = VRB_TO(vrb_cq, ibv, attr->cq)->handle;
	}
	return vrb_srq_make(attr->pd, attr->srq_context, &init);
}

int vrb_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	const uint32_t number = VRB_TO(vrb_srq, ibv, srq)->number;

	if (number == 0) /* it has none: only requests of XRC name one */
		return vrb_positive(-EOPNOTSUPP);
	*srq_num = number;
	return 0;
}

struct ibv_qp *vrb_create_target(struct ibv_context *context,
				 const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp shown = {
		.context = context, .qp_context = attr->qp_context, .qp_type = IBV_QPT_XRC_RECV};
	struct vrb_qp_init init = {.type = HCA_QPT_XRC_RECV};
	struct vrb_qp *qp;
	int ret;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags != 0)
		return vrb_null(-EOPNOTSUPP);
	/* librdmacm names a protection domain as well, which is not the queue pair's. */
	if ((attr->comp_mask & ~(uint32_t)(IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_PD)) !=
		    IBV_QP_INIT_ATTR_XRCD ||
	    attr->xrcd->context != context)
		return vrb_null(-EINVAL);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD)
		shown.pd = attr->pd;
	init.xrcd = handle_of(attr->xrcd);
	ret = vrb_qp_make(&shown, &init, &qp);
	return ret < 0 ? vrb_null(ret) : &qp->ibv;
}

struct ibv_qp *vrb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needs = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	const uint32_t may = IBV_QP_OPEN_ATTR_CONTEXT;
	struct ibv_qp shown = {.context = context,
			       .state = IBV_QPS_UNKNOWN,
			       .qp_type = IBV_QPT_XRC_RECV,
			       .qp_num = attr->qp_num};
	struct vrb_qp_open open;
	struct vrb_qp *qp;
	int ret;

	if (attr->comp_mask & ~(needs | may))
		return vrb_null(-ENOSYS);
	if ((attr->comp_mask & needs) != needs || attr->qp_type != IBV_QPT_XRC_RECV ||
	    attr->xrcd->context != context)
		return vrb_null(-EINVAL);
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		shown.qp_context = attr->qp_context;
	open = (struct vrb_qp_open){.xrcd = handle_of(attr->xrcd), .qpn = attr->qp_num};
	ret = vrb_qp_open(&shown, &open, &qp);
	return ret < 0 ? vrb_null(ret) : &qp->ibv;
}
