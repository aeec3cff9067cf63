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
SAME(HCA_WR_BIND_MW, IBV_WR_BIND_MW);
SAME(HCA_WR_SEND_WITH_INV, IBV_WR_SEND_WITH_INV);
SAME(HCA_WR_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);
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
SAME(HCA_WC_BIND_MW, IBV_WC_BIND_MW);
SAME(HCA_WC_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
SAME(HCA_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
SAME(HCA_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(HCA_MW_TYPE_1, IBV_MW_TYPE_1);
SAME(HCA_MW_TYPE_2, IBV_MW_TYPE_2);
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
SAME(HCA_QPT_RAW_PACKET, IBV_QPT_RAW_PACKET);
SAME(HCA_QPT_XRC_SEND, IBV_QPT_XRC_SEND);
SAME(HCA_QPT_XRC_RECV, IBV_QPT_XRC_RECV);
SAME(HCA_SRQ_MAX_WR, IBV_SRQ_MAX_WR);
SAME(HCA_SRQ_LIMIT, IBV_SRQ_LIMIT);
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
SAME(HCA_QP_RATE_LIMIT, IBV_QP_RATE_LIMIT);
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
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_MW_BIND | HCA_ACCESS_FLUSH_GLOBAL |
				   HCA_ACCESS_FLUSH_PERSISTENT;
	/* Hints, and what is a matter of regions, which queue pairs may be given, too. */
	const unsigned int ignored = IBV_ACCESS_OPTIONAL_RANGE | IBV_ACCESS_HUGETLB |
				     IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED;

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

void vrb_bind_wr(struct hca_send_wr *hca, const struct ibv_mw *mw, uint32_t rkey,
		 const struct ibv_mw_bind_info *info)
{
	hca->sge_count = 0;
	hca->imm = mw->rkey;
	hca->rkey = rkey;
	hca->remote_addr = info->addr;
	hca->compare_add = info->length;
	hca->swap = (uint64_t)info->mw_access_flags << 32 | (info->mr ? info->mr->lkey : 0);
}

const struct wire_path vrb_no_way;

int vrb_send_wr(struct hca_send_wr *hca, const struct ibv_send_wr *wr, enum ibv_qp_type type)
{
	const uint32_t opcodes = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
				 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM |
				 1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
				 1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << IBV_WR_LOCAL_INV |
				 1u << IBV_WR_SEND_WITH_INV | 1u << IBV_WR_BIND_MW |
				 1u << IBV_WR_ATOMIC_WRITE;
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
	if (type == IBV_QPT_XRC_SEND)
		hca->srqn = wr->qp_type.xrc.remote_srqn;
	if (type == IBV_QPT_RAW_PACKET)
		hca->path = &vrb_no_way;
	if (type == IBV_QPT_UD) {
		hca->path = wr->wr.ud.ah ? &VRB_TO(vrb_ah, ibv, wr->wr.ud.ah)->path : NULL;
		hca->dest_qpn = wr->wr.ud.remote_qpn;
		hca->qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_BIND_MW) {
		vrb_bind_wr(hca, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
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

/* IBTA A17.4.5.1: the completion of a datagram tells which IP brought it. Struct ibv_wc has no
 * member for that; adapters whose programs are many tell it in sl, as ConnectX does, and UCX 1.13
 * takes a datagram for somebody else's without it. */
enum { SL_UDP = 8, SL_IPV6 = 1, SL_IPV4 = 2 };

static uint8_t kind_of_packet(uint32_t flags)
{
	if (!(flags & HCA_WC_GRH))
		return 0;
	return SL_UDP | (flags & HCA_WC_IPV4 ? SL_IPV4 : SL_IPV6);
}

void vrb_wc(struct ibv_wc *wc, const struct hca_wc *hca)
{
	*wc = (struct ibv_wc){.wr_id = hca->wr_id,
			      .status = (enum ibv_wc_status)hca->status,
			      .opcode = (enum ibv_wc_opcode)hca->opcode,
			      .byte_len = hca->byte_len,
			      .imm_data = hca->imm,
			      .qp_num = hca->qpn,
			      .src_qp = hca->src_qpn,
			      .sl = kind_of_packet(hca->flags),
			      .wc_flags = hca->flags & ~(uint32_t)HCA_WC_IPV4};
}
