/* SPDX-License-Identifier: BSD-2-Clause */
/* What crosses the seam, field by field (transport/verbs/bytes.h). */
#include "transport/verbs/bytes.h"

void vrb_pass_info(struct vrb_cursor *c, struct vrb_info *info)
{
	vrb_pass_bytes(c, (uint8_t *)info->name, sizeof(info->name));
	vrb_pass_bytes(c, (uint8_t *)info->fw_ver, sizeof(info->fw_ver));
	vrb_pass_u64(c, &info->guid);
	vrb_pass_u32(c, &info->part_id);
	vrb_pass_u32(c, &info->wr_max);
	vrb_pass_u32(c, &info->sge_max);
	vrb_pass_u32(c, &info->inline_max);
	vrb_pass_u32(c, &info->ifindex);
}

uint32_t vrb_bytes_inline(const struct hca_send_wr *wr, const struct hca_sge *sge, uint32_t count,
			  uint32_t inline_max)
{
	uint64_t bytes = 0;

	if (!(wr->flags & HCA_SEND_INLINE))
		return 0;
	switch (wr->opcode) {
	case HCA_WR_RDMA_READ:
	case HCA_WR_ATOMIC_CMP_AND_SWP:
	case HCA_WR_ATOMIC_FETCH_AND_ADD:
	case HCA_WR_LOCAL_INV:
	case HCA_WR_BIND_MW:
	case HCA_WR_FLUSH:
		return 0;
	case HCA_WR_RDMA_WRITE:
	case HCA_WR_RDMA_WRITE_WITH_IMM:
	case HCA_WR_SEND:
	case HCA_WR_SEND_WITH_IMM:
	case HCA_WR_SEND_WITH_INV:
	case HCA_WR_ATOMIC_WRITE:
		break;
	}
	for (uint32_t i = 0; i < count; i++)
		bytes += sge[i].length;
	return bytes <= inline_max ? (uint32_t)bytes : 0;
}

void vrb_pass_limits(struct vrb_cursor *c, struct vrb_limits *limits)
{
	vrb_pass_u64(c, &limits->line_rate_bps);
	vrb_pass_u32(c, &limits->mtu_max);
	vrb_pass_u32(c, &limits->gid_count);
	vrb_pass_u32(c, &limits->gid_places);
	vrb_pass_u32(c, &limits->qp_max);
	vrb_pass_u32(c, &limits->cq_max);
	vrb_pass_u32(c, &limits->mr_max);
	vrb_pass_u32(c, &limits->pd_max);
	vrb_pass_u32(c, &limits->srq_max);
	vrb_pass_u32(c, &limits->wr_max);
	vrb_pass_u32(c, &limits->sge_max);
	vrb_pass_u32(c, &limits->cqe_max);
	vrb_pass_u32(c, &limits->inline_max);
	vrb_pass_u32(c, &limits->rd_atomic_max);
	vrb_pass_u32(c, &limits->qkey_violations);
	vrb_pass_bool(c, &limits->has_xrc);
	vrb_pass_bool(c, &limits->port_is_down);
	vrb_pass_bool(c, &limits->has_annex);
	vrb_pass_bool(c, &limits->has_rate_limit);
	vrb_pass_bool(c, &limits->mw_is_2a);
	vrb_pass_u32(c, &limits->dm_bytes_max);
	vrb_pass_u32(c, &limits->mcast_max);
}

void vrb_pass_av(struct vrb_cursor *c, struct vrb_av *av)
{
	vrb_pass_bytes(c, av->dgid, sizeof(av->dgid));
	vrb_pass_u32(c, &av->sgid_index);
	vrb_pass_u32(c, &av->flow_label);
	vrb_pass_u8(c, &av->hop_limit);
	vrb_pass_u8(c, &av->traffic_class);
	vrb_pass_u8(c, &av->sl);
}

void vrb_pass_path(struct vrb_cursor *c, struct wire_path *path)
{
	vrb_pass_bytes(c, path->src_ip, sizeof(path->src_ip));
	vrb_pass_bytes(c, path->dst_ip, sizeof(path->dst_ip));
	vrb_pass_bytes(c, path->src_mac, sizeof(path->src_mac));
	vrb_pass_bytes(c, path->dst_mac, sizeof(path->dst_mac));
	vrb_pass_u16(c, &path->vlan);
	vrb_pass_u16(c, &path->udp_sport);
	vrb_pass_u32(c, &path->flow_label);
	vrb_pass_u16(c, &path->ip_id);
	vrb_pass_u8(c, &path->dscp);
	vrb_pass_u8(c, &path->ecn);
	vrb_pass_u8(c, &path->ttl);
	vrb_pass_u8(c, &path->priority);
	vrb_pass_u32(c, &path->link_dst);
	vrb_pass_u32(c, &path->link_hash);
}

void vrb_pass_mr_init(struct vrb_cursor *c, struct vrb_mr_init *init)
{
	vrb_pass_u64(c, &init->addr);
	vrb_pass_u64(c, &init->iova);
	vrb_pass_u64(c, &init->length);
	vrb_pass_u64(c, &init->dm);
	vrb_pass_u32(c, &init->access);
	vrb_pass_bool(c, &init->is_on_demand);
	vrb_pass_bool(c, &init->is_null);
	vrb_pass_bool(c, &init->is_exported);
}

void vrb_pass_mr_info(struct vrb_cursor *c, struct vrb_mr_info *info)
{
	vrb_pass_u64(c, &info->mr);
	vrb_pass_u32(c, &info->lkey);
	vrb_pass_u32(c, &info->rkey);
	vrb_pass_u32(c, &info->number);
}

void vrb_pass_cq_init(struct vrb_cursor *c, struct vrb_cq_init *init)
{
	vrb_pass_u32(c, &init->depth);
	vrb_pass_u64(c, &init->channel);
	vrb_pass_u64(c, &init->async);
	vrb_pass_bool(c, &init->ignores_overrun);
}

void vrb_pass_xrcd_init(struct vrb_cursor *c, struct hca_xrcd_init *init)
{
	vrb_pass_bool(c, &init->is_shared);
	vrb_pass_u64(c, &init->file[0]);
	vrb_pass_u64(c, &init->file[1]);
	vrb_pass_bool(c, &init->creates);
	vrb_pass_bool(c, &init->excludes);
}

void vrb_pass_qp_open(struct vrb_cursor *c, struct vrb_qp_open *open)
{
	vrb_pass_u64(c, &open->xrcd);
	vrb_pass_u64(c, &open->async);
	vrb_pass_u32(c, &open->qpn);
}

void vrb_pass_srq_init(struct vrb_cursor *c, struct vrb_srq_init *init)
{
	vrb_pass_u64(c, &init->pd);
	vrb_pass_u64(c, &init->xrcd);
	vrb_pass_u64(c, &init->cq);
	vrb_pass_u64(c, &init->async);
	vrb_pass_u32(c, &init->depth);
	vrb_pass_u32(c, &init->sge_max);
}

void vrb_pass_srq_attr(struct vrb_cursor *c, struct hca_srq_attr *attr)
{
	vrb_pass_u32(c, &attr->depth);
	vrb_pass_u32(c, &attr->sge_max);
	vrb_pass_u32(c, &attr->limit);
}

void vrb_pass_qp_init(struct vrb_cursor *c, struct vrb_qp_init *init)
{
	VRB_PASS_INT(c, &init->type);
	vrb_pass_u64(c, &init->pd);
	vrb_pass_u64(c, &init->send_cq);
	vrb_pass_u64(c, &init->recv_cq);
	vrb_pass_u64(c, &init->srq);
	vrb_pass_u64(c, &init->xrcd);
	vrb_pass_u64(c, &init->async);
	vrb_pass_qp_cap(c, &init->cap);
	vrb_pass_bool(c, &init->signal_all);
}

void vrb_pass_qp_cap(struct vrb_cursor *c, struct hca_qp_cap *cap)
{
	vrb_pass_u32(c, &cap->send_depth);
	vrb_pass_u32(c, &cap->recv_depth);
	vrb_pass_u32(c, &cap->send_sge_max);
	vrb_pass_u32(c, &cap->recv_sge_max);
	vrb_pass_u32(c, &cap->inline_max);
}

void vrb_pass_qp_attr(struct vrb_cursor *c, struct hca_qp_attr *attr)
{
	VRB_PASS_INT(c, &attr->state);
	vrb_pass_u32(c, &attr->access);
	vrb_pass_u32(c, &attr->mtu);
	vrb_pass_u32(c, &attr->dest_qpn);
	vrb_pass_u32(c, &attr->sq_psn);
	vrb_pass_u32(c, &attr->rq_psn);
	vrb_pass_u8(c, &attr->timeout);
	vrb_pass_u8(c, &attr->retry_cnt);
	vrb_pass_u8(c, &attr->rnr_retry);
	vrb_pass_u8(c, &attr->min_rnr_timer);
	vrb_pass_u8(c, &attr->max_rd_atomic);
	vrb_pass_u8(c, &attr->max_dest_rd_atomic);
	vrb_pass_u32(c, &attr->qkey);
	vrb_pass_u16(c, &attr->pkey_index);
	vrb_pass_u8(c, &attr->port);
	vrb_pass_bool(c, &attr->en_sqd_async_notify);
	vrb_pass_u32(c, &attr->rate_limit_kbps);
}

void vrb_pass_sge(struct vrb_cursor *c, struct hca_sge *sge)
{
	vrb_pass_u64(c, &sge->addr);
	vrb_pass_u32(c, &sge->length);
	vrb_pass_u32(c, &sge->lkey);
}

void vrb_pass_send_wr(struct vrb_cursor *c, struct hca_send_wr *wr, bool *has_path)
{
	vrb_pass_u64(c, &wr->wr_id);
	VRB_PASS_INT(c, &wr->opcode);
	vrb_pass_u32(c, &wr->flags);
	vrb_pass_u32(c, &wr->sge_count);
	vrb_pass_u32(c, &wr->imm);
	vrb_pass_u64(c, &wr->remote_addr);
	vrb_pass_u32(c, &wr->rkey);
	vrb_pass_u64(c, &wr->compare_add);
	vrb_pass_u64(c, &wr->swap);
	vrb_pass_bool(c, has_path);
	vrb_pass_u32(c, &wr->dest_qpn);
	vrb_pass_u32(c, &wr->qkey);
	vrb_pass_u32(c, &wr->srqn);
}

void vrb_pass_recv_wr(struct vrb_cursor *c, struct hca_recv_wr *wr)
{
	vrb_pass_u64(c, &wr->wr_id);
	vrb_pass_u32(c, &wr->sge_count);
}

void vrb_pass_wc(struct vrb_cursor *c, struct ibv_wc *wc)
{
	vrb_pass_u64(c, &wc->wr_id);
	VRB_PASS_INT(c, &wc->status);
	VRB_PASS_INT(c, &wc->opcode);
	vrb_pass_u32(c, &wc->vendor_err);
	vrb_pass_u32(c, &wc->byte_len);
	vrb_pass_u32(c, &wc->imm_data);
	vrb_pass_u32(c, &wc->qp_num);
	vrb_pass_u32(c, &wc->src_qp);
	vrb_pass_u32(c, &wc->wc_flags);
	vrb_pass_u16(c, &wc->pkey_index);
	vrb_pass_u16(c, &wc->slid);
	vrb_pass_u8(c, &wc->sl);
	vrb_pass_u8(c, &wc->dlid_path_bits);
}

void vrb_pass_stamped(struct vrb_cursor *c, struct vrb_stamped *stamped)
{
	vrb_pass_wc(c, &stamped->wc);
	vrb_pass_u64(c, &stamped->clock_ns);
	vrb_pass_u64(c, &stamped->wall_ns);
}
