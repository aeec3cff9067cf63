/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs ask about: addresses, paths, and how to set a queue pair. */
#include "transport/cm/internal.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* As infiniband/verbs.h has them, which is not for those below the front. */
enum {
	QPS_INIT = 1,
	QPS_RTR = 2,
	QPS_RTS = 3,
	QP_STATE = 1 << 0,
	QP_ACCESS_FLAGS = 1 << 3,
	QP_PKEY_INDEX = 1 << 4,
	QP_PORT = 1 << 5,
	QP_QKEY = 1 << 6,
	QP_AV = 1 << 7,
	QP_PATH_MTU = 1 << 8,
	QP_TIMEOUT = 1 << 9,
	QP_RETRY_CNT = 1 << 10,
	QP_RNR_RETRY = 1 << 11,
	QP_RQ_PSN = 1 << 12,
	QP_MAX_QP_RD_ATOMIC = 1 << 13,
	QP_MIN_RNR_TIMER = 1 << 15,
	QP_SQ_PSN = 1 << 16,
	QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	QP_DEST_QPN = 1 << 20,
	ACCESS_REMOTE_WRITE = 1 << 1,
	ACCESS_REMOTE_READ = 1 << 2,
	ACCESS_REMOTE_ATOMIC = 1 << 3,
	EXACTLY = 2, /* selector of a path record */
};

int cm_addr_get(struct cm_addr *ret, const void *sockaddr, size_t bytes)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	sa_family_t family;

	if (bytes < sizeof(family))
		return -EINVAL;
	memcpy(&family, sockaddr, sizeof(family));
	*ret = (struct cm_addr){.family = family};
	switch (family) {
	case AF_INET:
		if (bytes < sizeof(v4))
			return -EINVAL;
		memcpy(&v4, sockaddr, sizeof(v4));
		ret->port = be16toh(v4.sin_port);
		ret->ip[10] = ret->ip[11] = 0xff;
		memcpy(ret->ip + 12, &v4.sin_addr, 4);
		return 0;
	case AF_INET6:
		if (bytes < sizeof(v6))
			return -EINVAL;
		memcpy(&v6, sockaddr, sizeof(v6));
		ret->port = be16toh(v6.sin6_port);
		ret->scope_id = v6.sin6_scope_id;
		memcpy(ret->ip, &v6.sin6_addr, 16);
		return 0;
	default:
		return -EAFNOSUPPORT; /* AF_IB, too: there are no LIDs here */
	}
}

void cm_addr_put(const struct cm_addr *addr, void *ret_sockaddr, size_t bytes)
{
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_port = htobe16(addr->port),
					.sin6_scope_id = addr->scope_id};
	const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htobe16(addr->port)};

	memset(ret_sockaddr, 0, bytes);
	if (addr->family == AF_INET) {
		memcpy(ret_sockaddr, &v4, sizeof(v4));
		memcpy((uint8_t *)ret_sockaddr + offsetof(struct sockaddr_in, sin_addr),
		       addr->ip + 12, 4);
	} else if (addr->family == AF_INET6) {
		memcpy(ret_sockaddr, &v6, sizeof(v6));
		memcpy((uint8_t *)ret_sockaddr + offsetof(struct sockaddr_in6, sin6_addr), addr->ip,
		       16);
	}
}

static bool has_route(const struct cm_id *id)
{
	return id->has_device && id->state != CM_BOUND && id->state != CM_ADDR_RESOLVED &&
	       id->state != CM_LISTEN;
}

static void fill_path(const struct cm_id *id, struct ib_user_path_rec *ret)
{
	memcpy(ret->sgid, id->cm->params.ip, 16);
	memcpy(ret->dgid, id->remote_gid, 16);
	ret->pkey = htobe16(CM_PKEY);
	if (!has_route(id))
		return;
	ret->traffic_class = id->tos;
	ret->hop_limit = CM_HOP_LIMIT;
	ret->reversible = 1;
	ret->numb_path = 1;
	ret->mtu_selector = ret->rate_selector = ret->packet_life_time_selector = EXACTLY;
	ret->mtu = id->mtu;
	ret->rate = CM_RATE;
	ret->packet_life_time = CM_PATH_LIFE;
}

int cm_query_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *ret)
{
	memset(ret, 0, sizeof(*ret));
	cm_addr_put(&id->src, &ret->src_addr, sizeof(ret->src_addr));
	cm_addr_put(&id->dst, &ret->dst_addr, sizeof(ret->dst_addr));
	ret->ibdev_index = UINT32_MAX; /* librdmacm knows devices by their GUID then */
	if (!id->has_device)
		return 0;
	ret->node_guid = htobe64(id->cm->params.guid);
	ret->port_num = 1;
	ret->num_paths = has_route(id);
	fill_path(id, &ret->ib_route[0]);
	return 0;
}

static uint16_t addr_bytes(const struct cm_addr *addr)
{
	if (addr->family == AF_INET)
		return sizeof(struct sockaddr_in);
	return addr->family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

int cm_query_addr(const struct cm_id *id, struct rdma_ucm_query_addr_resp *ret)
{
	memset(ret, 0, sizeof(*ret));
	cm_addr_put(&id->src, &ret->src_addr, sizeof(ret->src_addr));
	cm_addr_put(&id->dst, &ret->dst_addr, sizeof(ret->dst_addr));
	ret->src_size = addr_bytes(&id->src);
	ret->dst_size = addr_bytes(&id->dst);
	ret->ibdev_index = UINT32_MAX;
	if (!id->has_device)
		return 0;
	ret->node_guid = htobe64(id->cm->params.guid);
	ret->port_num = 1;
	ret->pkey = htobe16(CM_PKEY);
	return 0;
}

void cm_ah_attr(const struct cm_id *id, struct ib_uverbs_ah_attr *ret)
{
	*ret = (struct ib_uverbs_ah_attr){.is_global = 1,
					  .port_num = 1,
					  .static_rate = CM_RATE,
					  .grh = {.sgid_index = id->cm->params.gid_index,
						  .hop_limit = CM_HOP_LIMIT,
						  .traffic_class = id->tos}};
	memcpy(ret->grh.dgid, id->remote_gid, 16);
}

static bool asks_itself(const struct cm_id *id)
{
	return id->qp_type == CM_QPT_RC || id->qp_type == CM_QPT_XRC_SEND;
}

static bool answers_itself(const struct cm_id *id)
{
	return id->qp_type == CM_QPT_RC || id->qp_type == CM_QPT_XRC_RECV;
}

static void init_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *ret)
{
	ret->qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT;
	ret->port_num = 1;
	if (id->qp_type == CM_QPT_UD) {
		ret->qp_attr_mask |= QP_QKEY;
		ret->qkey = id->qkey ? id->qkey : CM_UDP_QKEY;
		return;
	}
	ret->qp_attr_mask |= QP_ACCESS_FLAGS;
	if (id->state < CM_REQ_SENT)
		return; /* nothing is agreed */
	ret->qp_access_flags = ACCESS_REMOTE_WRITE;
	if (id->responder_resources > 0)
		ret->qp_access_flags |= ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;
}

static void rtr_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *ret)
{
	ret->qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN;
	cm_ah_attr(id, &ret->ah_attr);
	ret->path_mtu = id->mtu;
	ret->dest_qp_num = id->remote_qpn;
	ret->rq_psn = id->rq_psn;
	if (answers_itself(id)) {
		ret->qp_attr_mask |= QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER;
		ret->max_dest_rd_atomic = id->responder_resources;
	}
}

static void rts_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *ret)
{
	ret->qp_attr_mask = QP_STATE | QP_SQ_PSN;
	ret->sq_psn = id->sq_psn;
	if (asks_itself(id)) {
		ret->qp_attr_mask |= QP_RETRY_CNT | QP_RNR_RETRY | QP_MAX_QP_RD_ATOMIC | QP_TIMEOUT;
		ret->retry_cnt = id->retry_count;
		ret->rnr_retry = id->rnr_retry_count;
		ret->max_rd_atomic = id->initiator_depth;
	} else if (id->qp_type == CM_QPT_XRC_RECV) {
		ret->qp_attr_mask |= QP_TIMEOUT;
	}
	ret->timeout = id->ack_timeout ? id->ack_timeout : CM_ACK_TIMEOUT;
}

int cm_init_qp_attr(const struct cm_id *id, uint32_t qp_state, struct ib_uverbs_qp_attr *ret)
{
	const bool knows_peer = id->state >= CM_REQ_RCVD && id->state <= CM_ESTABLISHED;

	memset(ret, 0, sizeof(*ret));
	ret->qp_state = qp_state;
	if (!id->has_device || id->state == CM_LISTEN)
		return -EINVAL;
	if (qp_state == QPS_INIT)
		init_attr(id, ret);
	else if (qp_state == QPS_RTR && knows_peer)
		rtr_attr(id, ret);
	else if (qp_state == QPS_RTS && knows_peer)
		rts_attr(id, ret);
	else if (id->qp_type == CM_QPT_UD && qp_state == QPS_RTR)
		ret->qp_attr_mask = QP_STATE;
	else if (id->qp_type == CM_QPT_UD && qp_state == QPS_RTS)
		ret->qp_attr_mask = QP_STATE | QP_SQ_PSN;
	else
		return -EINVAL;
	return 0;
}
