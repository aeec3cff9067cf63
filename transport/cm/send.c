/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on their way out: what a connection says of itself, and again while nobody answers. */
#include "transport/cm/internal.h"
#include "util/check.h"

#include <rdma/ib_user_verbs.h>
#include <string.h>
#include <sys/socket.h>

/* IBTA annex A11: service ids of the IP addressing service end in port space and port. */
uint64_t cm_service_id(uint16_t space, uint16_t port)
{
	return (uint64_t)space << 16 | port;
}

static void outbox_put(struct cm *cm, const struct wire_path *path, const uint8_t *bytes)
{
	struct cm_outgoing *out;

	if (cm->outbox_count == CM_OUTBOX)
		return;
	out = &cm->outbox[(cm->outbox_first + cm->outbox_count++) % CM_OUTBOX];
	out->path = *path;
	memcpy(out->bytes, bytes, CM_MAD_BYTES);
}

bool cm_has_output(const struct cm *cm)
{
	return cm->outbox_count > 0;
}

bool cm_output(struct cm *cm, struct wire_path *ret_path, uint8_t ret_bytes[CM_MAD_BYTES])
{
	const struct cm_outgoing *out = &cm->outbox[cm->outbox_first];

	if (cm->outbox_count == 0)
		return false;
	*ret_path = out->path;
	memcpy(ret_bytes, out->bytes, CM_MAD_BYTES);
	cm->outbox_first = (cm->outbox_first + 1) % CM_OUTBOX;
	cm->outbox_count--;
	return true;
}

void cm_send(struct cm *cm, const struct wire_path *path, const struct cm_mad *mad)
{
	uint8_t bytes[CM_MAD_BYTES];

	cm_mad_emit(mad, bytes);
	outbox_put(cm, path, bytes);
}

void cm_send_again(struct cm_id *id)
{
	outbox_put(id->cm, &id->path, id->message);
}

void cm_send_until(struct cm_id *id, const struct cm_mad *mad, ps_t now)
{
	cm_mad_emit(mad, id->message);
	cm_send_again(id);
	id->tries = CM_CMA_RETRIES;
	id->repeat_after = cm_timeout(CM_CMA_TIMEOUT);
	cm_timer_set(id, now + id->repeat_after);
}

struct wire_path cm_way_back(const struct wire_path *path)
{
	struct wire_path back = *path;

	memcpy(back.src_ip, path->dst_ip, sizeof(back.src_ip));
	memcpy(back.dst_ip, path->src_ip, sizeof(back.dst_ip));
	memcpy(back.src_mac, path->dst_mac, sizeof(back.src_mac));
	memcpy(back.dst_mac, path->src_mac, sizeof(back.dst_mac));
	back.ecn = WIRE_NOT_ECT;
	back.ttl = CM_HOP_LIMIT;
	back.ip_id = 0;
	return back;
}

struct cm_ip cm_ip_of(const struct cm_id *id)
{
	struct cm_ip ip = {.is_ipv6 = id->dst.family == AF_INET6, .port = id->src.port};

	memcpy(ip.src, id->src.ip, sizeof(ip.src));
	memcpy(ip.dst, id->dst.ip, sizeof(ip.dst));
	return ip;
}

struct cm_mad cm_mad_of(const struct cm_id *id, uint16_t attr)
{
	return (struct cm_mad){
		.attr = attr, .tid = id->tid, .local_id = id->comm_id, .remote_id = id->remote_id};
}

static void fill_transport(const struct cm_id *id, struct cm_mad *mad)
{
	if (id->qp_type == CM_QPT_UC) {
		mad->transport = CM_TRANSPORT_UC;
	} else if (id->qp_type == CM_QPT_XRC_SEND) {
		mad->transport = CM_TRANSPORT_EXTENDED;
		mad->extended_transport = CM_EXTENDED_XRC;
	}
}

static uint8_t at_most_7(uint8_t value)
{
	return value < 7 ? value : 7;
}

static void send_request(struct cm_id *id, struct cm_mad *mad,
			 const struct rdma_ucm_conn_param *param, ps_t now)
{
	const struct cm_ip ip = cm_ip_of(id);

	CHECK(CM_IP_BYTES + param->private_data_len <= (int)cm_private_bytes(mad->attr));
	mad->service_id = cm_service_id(id->space, id->dst.port);
	mad->pkey = CM_PKEY;
	cm_ip_emit(&ip, mad->private_data);
	memcpy(mad->private_data + CM_IP_BYTES, param->private_data, param->private_data_len);
	cm_send_until(id, mad, now);
}

void cm_send_req(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now)
{
	struct cm_mad mad = cm_mad_of(id, CM_REQ);

	mad.ca_guid = id->cm->params.guid;
	mad.qpn = id->qpn;
	mad.psn = id->rq_psn;
	mad.responder_resources = param->responder_resources;
	mad.initiator_depth = param->initiator_depth;
	mad.remote_timeout = mad.local_timeout = CM_CMA_TIMEOUT;
	mad.flow_control = param->flow_control != 0;
	mad.srq = param->srq != 0;
	mad.retry_count = at_most_7(param->retry_count);
	mad.rnr_retry_count = at_most_7(param->rnr_retry_count);
	mad.max_cm_retries = CM_CMA_RETRIES;
	mad.mtu = id->mtu;
	memcpy(mad.local_gid, id->path.src_ip, 16);
	memcpy(mad.remote_gid, id->remote_gid, 16);
	mad.rate = CM_RATE;
	mad.traffic_class = id->tos;
	mad.hop_limit = CM_HOP_LIMIT;
	mad.ack_timeout = id->ack_timeout ? id->ack_timeout : CM_ACK_TIMEOUT;
	fill_transport(id, &mad);
	send_request(id, &mad, param, now);
}

void cm_send_sidr_req(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now)
{
	struct cm_mad mad = cm_mad_of(id, CM_SIDR_REQ);

	send_request(id, &mad, param, now);
}

void cm_send_rep(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now)
{
	struct cm_mad mad = cm_mad_of(id, CM_REP);

	mad.qpn = id->qpn;
	mad.psn = id->rq_psn;
	mad.responder_resources = param->responder_resources;
	mad.initiator_depth = param->initiator_depth;
	mad.flow_control = param->flow_control != 0;
	mad.srq = param->srq != 0;
	mad.rnr_retry_count = at_most_7(param->rnr_retry_count);
	mad.ca_guid = id->cm->params.guid;
	memcpy(mad.private_data, param->private_data, param->private_data_len);
	cm_send_until(id, &mad, now);
}

static uint8_t about(const struct cm_id *id)
{
	if (id->state == CM_REQ_RCVD)
		return CM_ABOUT_REQ;
	return id->state == CM_REP_RCVD ? CM_ABOUT_REP : CM_ABOUT_OTHER;
}

void cm_send_rej(struct cm_id *id, uint16_t reason, const uint8_t *data, uint32_t bytes)
{
	struct cm_mad mad = cm_mad_of(id, CM_REJ);

	mad.reason = reason;
	mad.message = about(id);
	if (bytes > 0)
		memcpy(mad.private_data, data, bytes);
	cm_send(id->cm, &id->path, &mad);
}

void cm_send_dreq(struct cm_id *id, ps_t now)
{
	struct cm_mad mad = cm_mad_of(id, CM_DREQ);

	mad.qpn = id->remote_qpn;
	cm_send_until(id, &mad, now);
}

void cm_send_plain(struct cm_id *id, uint16_t attr)
{
	const struct cm_mad mad = cm_mad_of(id, attr);

	cm_mad_emit(&mad, id->message);
	cm_send_again(id);
}

void cm_send_mra(struct cm_id *id, uint8_t message)
{
	struct cm_mad mad = cm_mad_of(id, CM_MRA);

	mad.message = message;
	mad.service_timeout = CM_MRA_TIMEOUT;
	cm_send(id->cm, &id->path, &mad);
}

void cm_send_sidr_rep(struct cm_id *id, uint8_t status, const struct rdma_ucm_conn_param *param)
{
	struct cm_mad mad = cm_mad_of(id, CM_SIDR_REP);

	mad.status = status;
	mad.service_id = cm_service_id(id->space, id->src.port);
	if (status == CM_SIDR_VALID) {
		mad.qpn = id->qpn;
		mad.qkey = id->qkey;
	}
	if (param)
		memcpy(mad.private_data, param->private_data, param->private_data_len);
	cm_mad_emit(&mad, id->message);
	cm_send_again(id);
}
