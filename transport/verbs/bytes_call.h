/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_BYTES_CALL_H
#define VERBS_BYTES_CALL_H

/* Between the two ends of transport/verbs/bytes.h: which calls there are, and how a request is
 * answered. */
#include "transport/verbs/bytes.h"

enum vrb_bytes_call {
	VRB_BYTES_ATTACH,
	VRB_BYTES_OPEN,
	VRB_BYTES_CLOSE,
	VRB_BYTES_QUERY,
	VRB_BYTES_QUERY_CLOCK,
	VRB_BYTES_QUERY_GID,
	VRB_BYTES_CREATE_PD,
	VRB_BYTES_DESTROY_PD,
	VRB_BYTES_CREATE_MR,
	VRB_BYTES_CHANGE_MR,
	VRB_BYTES_DESTROY_MR,
	VRB_BYTES_CREATE_MW,
	VRB_BYTES_DESTROY_MW,
	VRB_BYTES_ADVISE_MR,
	VRB_BYTES_CREATE_DM,
	VRB_BYTES_DESTROY_DM,
	VRB_BYTES_WRITE_DM,
	VRB_BYTES_READ_DM,
	VRB_BYTES_RESOLVE_AH,
	VRB_BYTES_CREATE_CHANNEL,
	VRB_BYTES_DESTROY_CHANNEL,
	VRB_BYTES_WAIT_CHANNEL,
	VRB_BYTES_CHARGE_EVENT,
	VRB_BYTES_REFILL,
	VRB_BYTES_RELAX,
	VRB_BYTES_CREATE_CQ,
	VRB_BYTES_DESTROY_CQ,
	VRB_BYTES_POLL_CQ,
	VRB_BYTES_POLL_STAMPED,
	VRB_BYTES_ARM_CQ,
	VRB_BYTES_RESIZE_CQ,
	VRB_BYTES_MODERATE_CQ,
	VRB_BYTES_OPEN_XRCD,
	VRB_BYTES_CLOSE_XRCD,
	VRB_BYTES_CREATE_SRQ,
	VRB_BYTES_DESTROY_SRQ,
	VRB_BYTES_MODIFY_SRQ,
	VRB_BYTES_QUERY_SRQ,
	VRB_BYTES_POST_SRQ_RECV,
	VRB_BYTES_CREATE_QP,
	VRB_BYTES_OPEN_QP,
	VRB_BYTES_DESTROY_QP,
	VRB_BYTES_SET_MCAST,
	VRB_BYTES_MODIFY_QP,
	VRB_BYTES_QUERY_QP,
	VRB_BYTES_POST_SEND,
	VRB_BYTES_POST_BATCH,
	VRB_BYTES_POST_RECV,
	VRB_BYTES_COUNT,
};

struct vrb_bytes {
	const struct vrb_backend *inner;
	void *self;		      /* of @inner */
	uint32_t sge_max, inline_max; /* as attach() has them */
};

/* Makes the call that @request describes, whoever wrote it, and writes the answer. */
void vrb_bytes_answer(const struct vrb_bytes *bytes, struct vrb_cursor *request,
		      struct vrb_cursor *answer);

#endif
