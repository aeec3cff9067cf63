/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include "transport/hca/wr.h"
#include <errno.h>

/* Nothing is converted on the data path, because these hold. */
#define SAME(hca, ibv) _Static_assert((int)(hca) == (int)(ibv), #hca)
SAME(HCA_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(HCA_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(HCA_WR_SEND, IBV_WR_SEND);
SAME(HCA_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(HCA_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(HCA_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(HCA_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(HCA_WR_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(HCA_WR_SEND_WITH_INV, IBV_WR_SEND_WITH_INV);
SAME(HCA_SEND_FENCE, IBV_SEND_FENCE);
SAME(HCA_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(HCA_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(HCA_SEND_INLINE, IBV_SEND_INLINE);
SAME(HCA_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(HCA_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
SAME(HCA_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
SAME(HCA_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(HCA_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(HCA_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
SAME(HCA_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
SAME(HCA_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(HCA_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(HCA_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
SAME(HCA_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(HCA_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(HCA_WC_REM_ABORT_ERR, IBV_WC_REM_ABORT_ERR);
SAME(HCA_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
SAME(HCA_WC_SEND, IBV_WC_SEND);
SAME(HCA_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(HCA_WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(HCA_WC_COMP_SWAP, IBV_WC_COMP_SWAP);
SAME(HCA_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(HCA_WC_LOCAL_INV, IBV_WC_LOCAL_INV);
SAME(HCA_WC_RECV, IBV_WC_RECV);
SAME(HCA_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(HCA_WC_GRH, IBV_WC_GRH);
SAME(HCA_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(HCA_WC_WITH_INV, IBV_WC_WITH_INV);
SAME(HCA_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(HCA_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(HCA_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(HCA_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(HCA_QPT_RC, IBV_QPT_RC);
SAME(HCA_QPT_UC, IBV_QPT_UC);
SAME(HCA_QPT_UD, IBV_QPT_UD);
SAME(HCA_QPS_RESET, IBV_QPS_RESET);
SAME(HCA_QPS_INIT, IBV_QPS_INIT);
SAME(HCA_QPS_RTR, IBV_QPS_RTR);
SAME(HCA_QPS_RTS, IBV_QPS_RTS);
SAME(HCA_QPS_SQD, IBV_QPS_SQD);
SAME(HCA_QPS_SQE, IBV_QPS_SQE);
SAME(HCA_QPS_ERR, IBV_QPS_ERR);
SAME(HCA_QP_STATE, IBV_QP_STATE);
SAME(HCA_QP_CUR_STATE, IBV_QP_CUR_STATE);
SAME(HCA_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(HCA_QP_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(HCA_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(HCA_QP_PORT, IBV_QP_PORT);
SAME(HCA_QP_QKEY, IBV_QP_QKEY);
SAME(HCA_QP_AV, IBV_QP_AV);
SAME(HCA_QP_PATH_MTU, IBV_QP_PATH_MTU);
SAME(HCA_QP_TIMEOUT, IBV_QP_TIMEOUT);
SAME(HCA_QP_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(HCA_QP_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(HCA_QP_RQ_PSN, IBV_QP_RQ_PSN);
SAME(HCA_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(HCA_QP_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(HCA_QP_SQ_PSN, IBV_QP_SQ_PSN);
SAME(HCA_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(HCA_QP_DEST_QPN, IBV_QP_DEST_QPN);
SAME(sizeof(struct hca_sge), sizeof(struct ibv_sge));
SAME(offsetof(struct hca_sge, addr), offsetof(struct ibv_sge, addr));
SAME(offsetof(struct hca_sge, length), offsetof(struct ibv_sge, length));
SAME(offsetof(struct hca_sge, lkey), offsetof(struct ibv_sge, lkey));

int vrb_positive(int ret)
{
	if (ret < 0)
		errno = -ret;
	return ret < 0 ? -ret : 0;
}

int vrb_minus_one(int ret)
{
	if (ret >= 0)
		return 0;
	errno = -ret;
	return -1;
}

void *vrb_null(int ret)
{
	errno = -ret;
	return NULL;
}

uint32_t vrb_mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

enum ibv_mtu vrb_mtu_enum(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && vrb_mtu_bytes(mtu + 1) <= bytes)
		mtu++;
	return mtu;
}

int vrb_access(unsigned int flags, uint32_t *ret_access)
{
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	/* Hints. MW_BIND grants nothing as long as there are no memory windows. */
	const unsigned int ignored =
		IBV_ACCESS_OPTIONAL_RANGE | IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND;

	if (flags & ~(known | ignored))
		return -EINVAL;
	*ret_access = flags & known;
	return 0;
}

int vrb_av_init(struct vrb_av *av, const struct ibv_ah_attr *attr)
{
	if (!attr->is_global || attr->port_num != 1)
		return -EINVAL;
	*av = (struct vrb_av){.sgid_index = attr->grh.sgid_index,
			      .flow_label = attr->grh.flow_label & 0xfffff,
			      .hop_limit = attr->grh.hop_limit,
			      .traffic_class = attr->grh.traffic_class,
			      .sl = attr->sl};
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
	return 0;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

int vrb_send_wr(struct hca_send_wr *hca, const struct ibv_send_wr *wr, bool is_datagram)
{
	const uint32_t opcodes = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
				 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM |
				 1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
				 1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << IBV_WR_LOCAL_INV |
				 1u << IBV_WR_SEND_WITH_INV;
	const unsigned int flags =
		IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

	if ((uint32_t)wr->opcode > 31 || !(opcodes >> wr->opcode & 1) || wr->send_flags & ~flags ||
	    wr->num_sge < 0)
		return -EINVAL;
	*hca = (struct hca_send_wr){.wr_id = wr->wr_id,
				    .opcode = (enum hca_wr_opcode)wr->opcode,
				    .flags = wr->send_flags,
				    .sge = (const struct hca_sge *)(const void *)wr->sg_list,
				    .sge_count = (uint32_t)wr->num_sge,
				    .imm = wr->imm_data};
	if (is_datagram) {
		hca->path = wr->wr.ud.ah ? &VRB_TO(vrb_ah, ibv, wr->wr.ud.ah)->path : NULL;
		hca->dest_qpn = wr->wr.ud.remote_qpn;
		hca->qkey = wr->wr.ud.remote_qkey;
	} else if (is_atomic(wr->opcode)) {
		hca->remote_addr = wr->wr.atomic.remote_addr;
		hca->rkey = wr->wr.atomic.rkey;
		hca->compare_add = wr->wr.atomic.compare_add;
		hca->swap = wr->wr.atomic.swap;
	} else {
		hca->remote_addr = wr->wr.rdma.remote_addr;
		hca->rkey = wr->wr.rdma.rkey;
	}
	return 0;
}

int vrb_recv_wr(struct hca_recv_wr *hca, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0)
		return -EINVAL;
	*hca = (struct hca_recv_wr){.wr_id = wr->wr_id,
				    .sge = (const struct hca_sge *)(const void *)wr->sg_list,
				    .sge_count = (uint32_t)wr->num_sge};
	return 0;
}

void vrb_wc(struct ibv_wc *wc, const struct hca_wc *hca)
{
	*wc = (struct ibv_wc){.wr_id = hca->wr_id,
			      .status = (enum ibv_wc_status)hca->status,
			      .opcode = (enum ibv_wc_opcode)hca->opcode,
			      .vendor_err = hca->vendor_err,
			      .byte_len = hca->byte_len,
			      .imm_data = hca->imm,
			      .qp_num = hca->qpn,
			      .src_qp = hca->src_qpn,
			      .wc_flags = hca->flags};
}
