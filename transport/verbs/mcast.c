/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

/* The LID is InfiniBand's: on Ethernet a group is its GID alone. */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ibv_context *context = qp->context;

	(void)lid;
	return vrb_positive(vrb_backend(context)->set_mcast(
		vrb_self(context), VRB_TO(vrb_qp, ibv, qp)->handle, gid->raw, false));
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ibv_context *context = qp->context;

	(void)lid;
	return vrb_positive(vrb_backend(context)->set_mcast(
		vrb_self(context), VRB_TO(vrb_qp, ibv, qp)->handle, gid->raw, true));
}
