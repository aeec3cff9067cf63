/* SPDX-License-Identifier: BSD-2-Clause */

/* Calls whose objects this front does not have yet. Programs test for them, so they answer. */
#include "transport/verbs/internal.h"

#include <errno.h>

/* Success with zeros would make librdmacm set them on the peer. */
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return vrb_positive(-EOPNOTSUPP);
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	return ece->vendor_id == 0 ? 0 : vrb_positive(-EOPNOTSUPP);
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}
