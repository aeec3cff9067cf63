/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

/* Extended completion queues: a completion at a time, whose parts are read by functions. One is
 * taken from the adapter as it is looked at, so that ibv_poll_cq() on the same queue goes on where
 * this left off. */

/* What rdma-core's ibv_create_cq_ex() man page and its providers (mlx5, rxe) refuse with EOPNOTSUPP
 * where the device has it not: a VLAN of the packet, tag matching. No flow steers anything, so a
 * flow's tag is 0. */
enum {
	WC_FLAGS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_FLOW_TAG,
	COMP_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
	FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
};

static struct vrb_cq *cq_of(struct ibv_cq_ex *ex)
{
	return VRB_TO(vrb_cq, ex, ex);
}

/* 0, ENOENT: there is none, EXXX. */
static int cq_ex_take(struct ibv_cq_ex *ex, bool may_wait)
{
	struct vrb_cq *cq = cq_of(ex);
	int done = vrb_backend(ex->context)
			   ->poll_stamped(vrb_self(ex->context), cq->handle, may_wait, &cq->taken);

	if (done < 0)
		return -done;
	if (done == 0)
		return ENOENT;
	ex->wr_id = cq->taken.wc.wr_id;
	ex->status = cq->taken.wc.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vrb_cq *cq = cq_of(ex);
	int ret;

	if (attr->comp_mask != 0)
		return EINVAL;
	if (!cq->is_single_threaded)
		vrb_turn_begin(ex->context, cq->handle, &cq->is_polled);
	ret = cq_ex_take(ex, true);
	if (ret != 0)
		vrb_turn_end(&cq->is_polled);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return cq_ex_take(ex, false);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	vrb_turn_end(&cq_of(ex)->is_polled);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wc.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.clock_ns;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken.wall_ns;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* What was not asked for at creation is not there to be called. */
static void set_calls(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
#define READS(flag, name)                                                                          \
	if (wc_flags & (flag))                                                                     \
	ex->name = name

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	READS(IBV_WC_EX_WITH_BYTE_LEN, read_byte_len);
	READS(IBV_WC_EX_WITH_IMM, read_imm_data);
	READS(IBV_WC_EX_WITH_QP_NUM, read_qp_num);
	READS(IBV_WC_EX_WITH_SRC_QP, read_src_qp);
	READS(IBV_WC_EX_WITH_SLID, read_slid);
	READS(IBV_WC_EX_WITH_SL, read_sl);
	READS(IBV_WC_EX_WITH_DLID_PATH_BITS, read_dlid_path_bits);
	READS(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, read_completion_ts);
	READS(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, read_completion_wallclock_ns);
	READS(IBV_WC_EX_WITH_FLOW_TAG, read_flow_tag);
#undef READS
}

static int check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->cqe == 0 || attr->comp_mask & ~(uint32_t)COMP_MASK)
		return -EINVAL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags & ~(uint32_t)FLAGS)
		return -EINVAL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || !vrb_is_parent_domain(attr->parent_domain)))
		return -EINVAL;
	return attr->wc_flags & ~(uint64_t)WC_FLAGS ? -EOPNOTSUPP : 0;
}

struct ibv_cq_ex *vrb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct vrb_cq *cq;
	int ret = check_attr(attr);

	if (ret == 0)
		ret = vrb_cq_create(context, attr, flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, &cq);
	if (ret < 0)
		return vrb_null(ret);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent_domain = VRB_TO(vrb_pd, ibv, attr->parent_domain);
		vrb_pd_get(cq->parent_domain);
	}
	cq->is_single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	set_calls(&cq->ex, attr->wc_flags);
	return &cq->ex;
}

int vrb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return vrb_positive(-EINVAL);
	if (!(attr->attr_mask & IBV_CQ_ATTR_MODERATE))
		return 0;
	return vrb_positive(
		vrb_backend(cq->context)
			->moderate_cq(vrb_self(cq->context), VRB_TO(vrb_cq, ibv, cq)->handle,
				      attr->moderate.cq_count, attr->moderate.cq_period));
}

/* The clock counts nanoseconds, as hca_core_clock says. */
int vrb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	const uint32_t asked = values->comp_mask;
	uint64_t ns;
	int ret;

	if (asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return vrb_positive(-EINVAL);
	values->comp_mask = 0;
	if (!(asked & IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	ret = vrb_backend(context)->query_clock(vrb_self(context), &ns);
	if (ret < 0)
		return vrb_positive(ret);
	/* Cycles, all of them in tv_nsec, as mlx5 has it. */
	values->raw_clock = (struct timespec){.tv_nsec = (long)ns};
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
