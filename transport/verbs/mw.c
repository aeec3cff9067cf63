/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

struct vrb_mw {
	struct ibv_mw ibv;
	uint64_t handle;
};

struct ibv_mw *vrb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_context *context = pd->context;
	struct vrb_mw *mw = vrb_calloc(1, sizeof(*mw));
	int ret;

	if (!mw)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->create_mw(vrb_self(context), VRB_TO(vrb_pd, ibv, pd)->handle,
					      (enum hca_mw_type)type, &mw->handle, &mw->ibv.rkey);
	if (ret < 0) {
		vrb_free(mw);
		return vrb_null(ret);
	}
	mw->ibv.context = context;
	mw->ibv.pd = pd;
	mw->ibv.type = type;
	vrb_context_get(context);
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	return &mw->ibv;
}

int vrb_dealloc_mw(struct ibv_mw *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_mw *mw = VRB_TO(vrb_mw, ibv, ibv);
	int ret = vrb_backend(context)->destroy_mw(vrb_self(context), mw->handle);

	if (ret < 0)
		return vrb_positive(ret);
	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	vrb_free(mw);
	vrb_context_put(context);
	return 0;
}

/* Of type 1, as ibv_bind_mw() has seen to: the next key is the window's as soon as it is posted. */
int vrb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info},
	};
	struct ibv_send_wr *bad;
	int ret;

	if (mw->pd != qp->pd)
		return vrb_positive(-EPERM);
	ret = vrb_post_send(qp, &wr, &bad);
	if (ret == 0)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
