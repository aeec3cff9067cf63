/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return vrb_positive(vrb_backend(qp->context)
				    ->post_send(vrb_self(qp->context),
						VRB_TO(vrb_qp, ibv, qp)->handle, wr, bad_wr));
}

int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return vrb_positive(vrb_backend(qp->context)
				    ->post_recv(vrb_self(qp->context),
						VRB_TO(vrb_qp, ibv, qp)->handle, wr, bad_wr));
}
