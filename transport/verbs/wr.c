/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The calls of an extended queue pair: each request is built in memory of the front, and
 * wr_complete() posts all of them or none. What is wrong with one is said there. */

static struct vrb_qp *qp_of(struct ibv_qp_ex *ex)
{
	return VRB_TO(vrb_qp, ex, ex);
}

static void wr_fail(struct vrb_batch *batch, int error)
{
	if (batch->error == 0)
		batch->error = error;
}

/* Room for @more elements behind @count; false: there is no memory. */
static bool wr_make_room(void *array, uint32_t count, uint32_t *room, uint32_t more, size_t bytes)
{
	void **at = array, *larger;
	uint64_t wanted = *room ? *room : 8;

	while (wanted - count < more)
		wanted *= 2;
	if (wanted <= *room)
		return true;
	larger = wanted > UINT32_MAX ? NULL : realloc(*at, wanted * bytes);
	if (!larger)
		return false;
	*at = larger;
	*room = (uint32_t)wanted;
	return true;
}

/* The next request; NULL: an error, now or before. */
static struct hca_send_wr *wr_add(struct ibv_qp_ex *ex, enum hca_wr_opcode opcode)
{
	const unsigned int flags =
		IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	struct vrb_batch *batch = &qp_of(ex)->batch;
	struct hca_send_wr *wr;

	if (ex->wr_flags & ~flags)
		wr_fail(batch, EINVAL);
	else if (batch->count > vrb_device(ex->qp_base.context)->info.wr_max ||
		 !wr_make_room(&batch->wr, batch->count, &batch->room, 1, sizeof(*wr)))
		wr_fail(batch, ENOMEM);
	if (batch->error != 0)
		return NULL;
	wr = &batch->wr[batch->count++];
	/* INLINE is what has its bytes set so. */
	*wr = (struct hca_send_wr){.wr_id = ex->wr_id,
				   .opcode = opcode,
				   .flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE};
	if (ex->qp_base.qp_type == IBV_QPT_RAW_PACKET)
		wr->path = &vrb_no_way;
	return wr;
}

/* The request that is being built. */
static struct hca_send_wr *last(struct ibv_qp_ex *ex)
{
	struct vrb_batch *batch = &qp_of(ex)->batch;

	if (batch->count == 0)
		wr_fail(batch, EINVAL);
	return batch->error == 0 ? &batch->wr[batch->count - 1] : NULL;
}

static void wr_remote(struct ibv_qp_ex *ex, enum hca_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint32_t imm)
{
	struct hca_send_wr *wr = wr_add(ex, opcode);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->imm = imm;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_remote(ex, HCA_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	wr_remote(ex, HCA_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_remote(ex, HCA_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_atomic(struct ibv_qp_ex *ex, enum hca_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct hca_send_wr *wr = wr_add(ex, opcode);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->compare_add = compare_add;
	wr->swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	wr_atomic(ex, HCA_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	wr_atomic(ex, HCA_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_remote(ex, HCA_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	wr_remote(ex, HCA_WR_SEND_WITH_IMM, 0, 0, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	wr_remote(ex, HCA_WR_SEND_WITH_INV, 0, 0, invalidate_rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	wr_remote(ex, HCA_WR_LOCAL_INV, 0, 0, invalidate_rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct hca_send_wr *wr = wr_add(ex, HCA_WR_BIND_MW);

	if (wr)
		vrb_bind_wr(wr, mw, rkey, bind_info);
}

/* The bytes are the program's again when the call returns. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	uint64_t bytes;

	memcpy(&bytes, atomic_wr, sizeof(bytes));
	wr_atomic(ex, HCA_WR_ATOMIC_WRITE, rkey, remote_addr, bytes, 0);
}

/* A call of later headers, and so are the numbers of its types and levels. */
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t length,
		     uint8_t type, uint8_t level)
{
	const uint64_t header = level <= 1 ? (uint64_t)level << 4 | type : UINT64_MAX;

	wr_atomic(ex, HCA_WR_FLUSH, rkey, remote_addr, length, header);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct hca_send_wr *wr = last(ex);

	if (wr)
		wr->srqn = remote_srqn;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct hca_send_wr *wr = last(ex);

	if (!wr)
		return;
	wr->path = &VRB_TO(vrb_ah, ibv, ah)->path;
	wr->dest_qpn = remote_qpn;
	wr->qkey = remote_qkey;
}

/* @count elements for the last request, instead of those that it had, to be filled; NULL: an error.
 */
static struct hca_sge *wr_add_list(struct ibv_qp_ex *ex, uint64_t count)
{
	struct vrb_batch *batch = &qp_of(ex)->batch;
	struct hca_send_wr *wr = last(ex);
	struct hca_sge *list;

	if (wr) {
		batch->sge_count -= wr->sge_count;
		wr->sge_count = 0;
		wr->flags &= ~(uint32_t)HCA_SEND_INLINE;
	}
	/* More than any queue takes. */
	if (count > vrb_device(ex->qp_base.context)->info.sge_max)
		wr_fail(batch, EINVAL);
	else if (!wr_make_room(&batch->sges, batch->sge_count, &batch->sge_room, (uint32_t)count,
			       sizeof(*batch->sges)))
		wr_fail(batch, ENOMEM);
	if (batch->error != 0)
		return NULL;
	wr->sge_count = (uint32_t)count;
	list = &batch->sges[batch->sge_count];
	batch->sge_count += (uint32_t)count;
	return list;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct hca_sge *list = wr_add_list(ex, num_sge);

	if (list && num_sge > 0)
		memcpy(list, sg_list, num_sge * sizeof(*list));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

/* The bytes are the program's again when the call returns. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	const uint32_t max = vrb_device(ex->qp_base.context)->info.inline_max;
	struct vrb_batch *batch = &qp_of(ex)->batch;
	uint64_t length = 0;
	struct hca_sge *sge;
	uint8_t *to;

	for (size_t i = 0; i < num_buf && length <= max; i++)
		length += buf_list[i].length <= max ? buf_list[i].length : (uint64_t)max + 1;
	if (length > max)
		wr_fail(batch, EINVAL);
	else if (!wr_make_room(&batch->bytes, batch->byte_count, &batch->byte_room,
			       (uint32_t)length, 1))
		wr_fail(batch, ENOMEM);
	sge = wr_add_list(ex, length > 0 ? 1 : 0);
	if (!sge)
		return;
	last(ex)->flags |= HCA_SEND_INLINE;
	if (length == 0)
		return;
	*sge = (struct hca_sge){.addr = batch->byte_count, .length = (uint32_t)length};
	to = batch->bytes + batch->byte_count;
	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > 0)
			memcpy(to, buf_list[i].addr, buf_list[i].length);
		to += buf_list[i].length;
	}
	batch->byte_count += (uint32_t)length;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_empty(struct vrb_batch *batch)
{
	batch->count = batch->sge_count = batch->byte_count = 0;
	batch->error = 0;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	vrb_turn_begin(ex->qp_base.context, 0, &qp_of(ex)->is_built);
	wr_empty(&qp_of(ex)->batch);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	vrb_turn_end(&qp_of(ex)->is_built);
}

/* Where lists and bytes are by now. */
static void wr_join(const struct vrb_batch *batch)
{
	struct hca_sge *sge = batch->sges;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct hca_send_wr *wr = &batch->wr[i];

		wr->sge = sge;
		if (wr->flags & HCA_SEND_INLINE && wr->sge_count > 0)
			sge->addr += (uintptr_t)batch->bytes;
		if (wr->sge_count > 0) /* else there may be no list at all */
			sge += wr->sge_count;
	}
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct ibv_context *context = ex->qp_base.context;
	struct vrb_qp *qp = qp_of(ex);
	struct vrb_batch *batch = &qp->batch;
	int ret = -batch->error;

	if (ret == 0 && batch->count > 0) {
		wr_join(batch);
		ret = vrb_backend(context)->post_batch(vrb_self(context), qp->handle, batch->wr,
						       batch->count);
	}
	vrb_turn_end(&qp->is_built);
	return vrb_positive(ret);
}

enum {
	EX_WITH_FLUSH = 1 << 11, /* IBV_QP_EX_WITH_FLUSH of rdma-core 46 */
	RC_OPS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
		 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
		 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_BIND_MW |
		 IBV_QP_EX_WITH_ATOMIC_WRITE | EX_WITH_FLUSH,
	UC_OPS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_BIND_MW,
	UD_OPS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	RAW_OPS = IBV_QP_EX_WITH_SEND,
};

static uint64_t ops_of(enum ibv_qp_type type)
{
	switch ((int)type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return RC_OPS;
	case IBV_QPT_UC:
		return UC_OPS;
	case IBV_QPT_UD:
		return UD_OPS;
	case IBV_QPT_RAW_PACKET:
		return RAW_OPS;
	default:
		return 0;
	}
}

/* What was not asked for is not there to be called. */
static void set_builders(struct ibv_qp_ex *ex, uint64_t ops)
{
#define BUILDS(flag, name)                                                                         \
	if (ops & (flag))                                                                          \
	ex->name = name

	BUILDS(IBV_QP_EX_WITH_RDMA_WRITE, wr_rdma_write);
	BUILDS(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm);
	BUILDS(IBV_QP_EX_WITH_SEND, wr_send);
	BUILDS(IBV_QP_EX_WITH_SEND_WITH_IMM, wr_send_imm);
	BUILDS(IBV_QP_EX_WITH_RDMA_READ, wr_rdma_read);
	BUILDS(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp);
	BUILDS(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add);
	BUILDS(IBV_QP_EX_WITH_LOCAL_INV, wr_local_inv);
	BUILDS(IBV_QP_EX_WITH_SEND_WITH_INV, wr_send_inv);
	BUILDS(IBV_QP_EX_WITH_BIND_MW, wr_bind_mw);
	BUILDS(IBV_QP_EX_WITH_ATOMIC_WRITE, wr_atomic_write);
#undef BUILDS
}

int vrb_wr_init(struct vrb_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->ex;

	if (ops & ~ops_of(qp->ibv.qp_type))
		return -EOPNOTSUPP;
	set_builders(ex, ops);
	if (ops & EX_WITH_FLUSH) { /* it stands behind the last call of the oldest header */
		void (*call)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t) =
			wr_flush;

		memcpy((uint8_t *)&ex->wr_atomic_write + sizeof(ex->wr_atomic_write), &call,
		       sizeof(call));
	}
	if (qp->ibv.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->ibv.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	qp->is_ex = true;
	return 0;
}

void vrb_wr_fini(struct vrb_qp *qp)
{
	free(qp->batch.wr);
	free(qp->batch.sges);
	free(qp->batch.bytes);
}
