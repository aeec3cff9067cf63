/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that come, and time that passes: IBTA 12.9.5 to 12.9.8 for connections, 12.11 for
 * service ids. A message that fits no state is dropped; one that was answered before is answered
 * again. */
#include "transport/cm/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct arrival {
	struct cm *cm;
	const struct wire_path *path;
	const struct cm_mad *mad;
	ps_t now;
};

/* ---- who listens ---- */

static bool is_of_ip_service(uint64_t service_id)
{
	const uint64_t space = service_id >> 16;

	return space == RDMA_PS_TCP || space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ||
	       space == RDMA_PS_IB;
}

struct cm_target cm_target_of(const uint8_t *bytes, size_t length)
{
	struct cm_target target = {.kind = CM_FOR_NOBODY};
	struct cm_mad mad;

	if (!cm_mad_parse(&mad, bytes, length))
		return target;
	if (mad.attr == CM_REQ || mad.attr == CM_SIDR_REQ) {
		target.kind = CM_FOR_PORT;
		target.space = (uint16_t)(mad.service_id >> 16);
		target.port = (uint16_t)mad.service_id;
	} else {
		target.kind = CM_FOR_SLOT;
		target.slot = mad.remote_id >> (32 - CM_SLOT_BITS);
	}
	return target;
}

bool cm_ends(const uint8_t *bytes, size_t length, uint32_t *ret_qpn)
{
	struct cm_mad mad;

	if (!cm_mad_parse(&mad, bytes, length) || mad.attr != CM_DREQ)
		return false;
	*ret_qpn = mad.qpn;
	return true;
}

/* ---- requests ---- */

/* The same request once more, whose answer got lost or takes long. */
static struct cm_id *known_request(const struct arrival *in)
{
	for (uint32_t i = 0; i < in->cm->ids_size; i++) {
		struct cm_id *id = in->cm->ids[i];

		if (id && id->is_passive && id->remote_id == in->mad->local_id &&
		    id->remote_guid == in->mad->ca_guid && id->tid == in->mad->tid &&
		    memcmp(id->path.dst_ip, in->path->src_ip, 16) == 0)
			return id;
	}
	return NULL;
}

static void repeat_answer(struct cm_id *id)
{
	if (id->state == CM_REP_SENT || id->state == CM_SIDR_DONE)
		cm_send_again(id);
	else if (id->state == CM_REQ_RCVD)
		cm_send_mra(id, CM_ABOUT_REQ);
}

static void refuse(const struct arrival *in, uint16_t reason)
{
	const struct wire_path back = cm_way_back(in->path);
	struct cm_mad mad = {.tid = in->mad->tid, .remote_id = in->mad->local_id};

	if (in->mad->attr == CM_REQ) {
		mad.attr = CM_REJ;
		mad.reason = reason;
		mad.message = CM_ABOUT_REQ;
	} else {
		mad.attr = CM_SIDR_REP;
		mad.status = reason == CM_REASON_SERVICE_ID ? CM_SIDR_NO_SERVICE : CM_SIDR_REFUSED;
		mad.service_id = in->mad->service_id;
	}
	cm_send(in->cm, &back, &mad);
}

/* A listener is asked for the kind of queue pair that it has. */
static bool fits_transport(const struct cm_id *listener, const struct cm_mad *mad)
{
	if (mad->attr == CM_SIDR_REQ)
		return listener->qp_type == CM_QPT_UD;
	switch (mad->transport) {
	case CM_TRANSPORT_RC:
		return listener->qp_type == CM_QPT_RC;
	case CM_TRANSPORT_UC:
		return listener->qp_type == CM_QPT_UC;
	case CM_TRANSPORT_EXTENDED:
		return mad->extended_transport == CM_EXTENDED_XRC &&
		       listener->qp_type == CM_QPT_XRC_RECV;
	default:
		return false;
	}
}

static void take_addresses(struct cm_id *id, const struct cm_ip *ip)
{
	const struct cm_params *params = &id->cm->params;

	id->src.family = id->dst.family = ip->is_ipv6 ? AF_INET6 : AF_INET;
	memcpy(id->src.ip, params->ip, 16);
	memcpy(id->dst.ip, ip->src, 16);
	id->dst.port = ip->port;
	id->src.scope_id = id->dst.scope_id = params->scope_id;
	id->has_device = true;
}

/* What a REQ and a REP say of who has sent them. */
static void take_other_end(struct cm_id *id, const struct cm_mad *mad)
{
	id->remote_id = mad->local_id;
	id->remote_guid = mad->ca_guid;
	id->remote_qpn = mad->qpn;
	id->sq_psn = mad->psn;
	id->responder_resources = mad->initiator_depth;
	id->initiator_depth = mad->responder_resources;
}

static struct cm_id *cm_child_of(struct cm_id *listener, const struct arrival *in,
				 const struct cm_ip *ip)
{
	const struct cm_mad *mad = in->mad;
	struct cm_id *id = cm_id_create(in->cm, listener->file);

	if (!id)
		return NULL;
	id->is_passive = true;
	id->listener = listener->handle;
	id->space = listener->space;
	id->qp_type = listener->qp_type;
	id->src.port = listener->src.port;
	id->tos = listener->tos;
	take_addresses(id, ip);
	id->path = cm_way_back(in->path);
	memcpy(id->remote_gid, mad->attr == CM_REQ ? mad->local_gid : in->path->src_ip, 16);
	id->tid = mad->tid;
	take_other_end(id, mad);
	id->retry_count = mad->retry_count;
	id->rnr_retry_count = mad->rnr_retry_count;
	if (mad->attr == CM_REQ && mad->mtu >= 1 && mad->mtu < id->mtu)
		id->mtu = mad->mtu;
	if (mad->attr == CM_REQ)
		id->ack_timeout = mad->ack_timeout;
	id->state = mad->attr == CM_REQ ? CM_REQ_RCVD : CM_SIDR_RCVD;
	return id;
}

static void describe_request(struct cm_event *event, const struct cm_mad *mad, bool srq)
{
	const uint32_t bytes = cm_private_bytes(mad->attr) - CM_IP_BYTES;
	struct rdma_ucm_conn_param *conn = &event->said.param.conn;
	struct rdma_ucm_ud_param *ud = &event->said.param.ud;

	if (mad->attr == CM_SIDR_REQ) {
		memcpy(ud->private_data, mad->private_data + CM_IP_BYTES, bytes);
		ud->private_data_len = (uint8_t)bytes;
		return;
	}
	memcpy(conn->private_data, mad->private_data + CM_IP_BYTES, bytes);
	conn->private_data_len = (uint8_t)bytes;
	conn->qp_num = mad->qpn;
	conn->srq = srq;
	conn->responder_resources = mad->initiator_depth;
	conn->initiator_depth = mad->responder_resources;
	conn->flow_control = mad->flow_control;
	conn->retry_count = mad->retry_count;
	conn->rnr_retry_count = mad->rnr_retry_count;
}

static void on_request(const struct arrival *in)
{
	const struct cm_mad *mad = in->mad;
	struct cm_id *known = known_request(in), *listener, *child;
	struct cm_event *event;
	struct cm_ip ip;

	if (known) {
		repeat_answer(known);
		return;
	}
	listener = is_of_ip_service(mad->service_id)
			   ? cm_id_listening(in->cm, (uint16_t)(mad->service_id >> 16),
					     (uint16_t)mad->service_id)
			   : NULL;
	if (!listener) {
		refuse(in, CM_REASON_SERVICE_ID);
		return;
	}
	if (!cm_ip_parse(&ip, mad->private_data) || !fits_transport(listener, mad) ||
	    listener->backlog == 0) {
		refuse(in, CM_REASON_CONSUMER);
		return;
	}
	child = cm_child_of(listener, in, &ip);
	event = child ? cm_event_new(listener, CM_EVENT_CONNECT_REQUEST, 0) : NULL;
	if (!event) {
		if (child)
			cm_id_free(child);
		return; /* the peer asks again */
	}
	event->child = child;
	event->said.id = child->handle;
	describe_request(event, mad, mad->srq);
	listener->backlog--;
	cm_event_put(event);
}

/* ---- answers ---- */

static void tell_with(struct cm_id *id, uint32_t what, int status, const struct cm_mad *mad)
{
	const uint32_t bytes = cm_private_bytes(mad->attr);
	struct cm_event *event = id->uid != 0 ? cm_event_new(id, what, status) : NULL;
	struct rdma_ucm_conn_param *conn;

	if (!event)
		return;
	conn = &event->said.param.conn;
	memcpy(conn->private_data, mad->private_data, bytes);
	conn->private_data_len = (uint8_t)bytes;
	if (mad->attr == CM_REP) {
		conn->qp_num = mad->qpn;
		conn->srq = mad->srq;
		conn->responder_resources = mad->initiator_depth;
		conn->initiator_depth = mad->responder_resources;
		conn->flow_control = mad->flow_control;
		conn->rnr_retry_count = mad->rnr_retry_count;
	}
	cm_event_put(event);
}

static void on_rep(struct cm_id *id, const struct cm_mad *mad)
{
	if (id->state == CM_ESTABLISHED && !id->is_passive) {
		cm_send_again(id);
	} else if (id->state == CM_REP_RCVD) {
		cm_send_mra(id, CM_ABOUT_REP);
	} else if (id->state == CM_REQ_SENT) {
		id->timer_at = PS_NEVER;
		id->state = CM_REP_RCVD;
		take_other_end(id, mad);
		id->rnr_retry_count = mad->rnr_retry_count;
		tell_with(id, CM_EVENT_CONNECT_RESPONSE, 0, mad);
	}
}

static void on_rej(struct cm_id *id, const struct cm_mad *mad)
{
	if (id->state != CM_REQ_SENT && id->state != CM_REQ_RCVD && id->state != CM_REP_SENT &&
	    id->state != CM_REP_RCVD)
		return;
	id->timer_at = PS_NEVER;
	id->state = CM_ENDED;
	tell_with(id, CM_EVENT_REJECTED, mad->reason, mad);
}

static void on_mra(struct cm_id *id, const struct cm_mad *mad, ps_t now)
{
	if ((id->state == CM_REQ_SENT && mad->message == CM_ABOUT_REQ) ||
	    (id->state == CM_REP_SENT && mad->message == CM_ABOUT_REP))
		cm_timer_set(id, now + cm_timeout(mad->service_timeout) + id->repeat_after);
}

static void timewait(struct cm_id *id, ps_t now)
{
	id->state = CM_TIMEWAIT_STATE;
	cm_timer_set(id, now + cm_timeout(CM_TIMEWAIT));
}

static void on_dreq(struct cm_id *id, const struct arrival *in)
{
	if (in->mad->qpn != id->qpn)
		return;
	switch ((int)id->state) {
	case CM_REP_SENT:
	case CM_ESTABLISHED:
		id->timer_at = PS_NEVER;
		id->state = CM_DREQ_RCVD;
		id->tid = in->mad->tid;
		cm_tell(id, CM_EVENT_DISCONNECTED, 0);
		break;
	case CM_DREQ_SENT: /* both at once */
		id->tid = in->mad->tid;
		cm_send_plain(id, CM_DREP);
		cm_tell(id, CM_EVENT_DISCONNECTED, 0);
		timewait(id, in->now);
		break;
	case CM_TIMEWAIT_STATE: {
		const struct cm_mad mad = cm_mad_of(id, CM_DREP);

		cm_send(id->cm, &id->path, &mad);
		break;
	}
	default:
		break;
	}
}

static void on_drep(struct cm_id *id, ps_t now)
{
	if (id->state != CM_DREQ_SENT)
		return;
	cm_tell(id, CM_EVENT_DISCONNECTED, 0);
	timewait(id, now);
}

static void on_sidr_rep(struct cm_id *id, const struct cm_mad *mad)
{
	const bool is_good = mad->status == CM_SIDR_VALID;
	const uint32_t bytes = cm_private_bytes(CM_SIDR_REP);
	struct cm_event *event;

	if (id->state != CM_SIDR_SENT)
		return;
	id->timer_at = PS_NEVER;
	id->state = is_good ? CM_SIDR_DONE : CM_ENDED;
	event = cm_event_new(id, is_good ? CM_EVENT_ESTABLISHED : CM_EVENT_UNREACHABLE,
			     mad->status);
	if (!event)
		return;
	memcpy(event->said.param.ud.private_data, mad->private_data, bytes);
	event->said.param.ud.private_data_len = (uint8_t)bytes;
	if (is_good) {
		event->said.param.ud.qp_num = mad->qpn;
		event->said.param.ud.qkey = mad->qkey;
		cm_ah_attr(id, &event->said.param.ud.ah_attr);
	}
	cm_event_put(event);
}

/* Whether it is from whom the connection is with. */
static bool is_of_peer(const struct cm_id *id, const struct arrival *in)
{
	const struct cm_mad *mad = in->mad;

	if (memcmp(id->path.dst_ip, in->path->src_ip, 16) != 0)
		return false;
	if (mad->attr == CM_SIDR_REP)
		return true; /* it has no id of its sender's */
	if (id->remote_id == 0 || (mad->attr == CM_REJ && mad->local_id == 0))
		return !id->is_passive;
	return mad->local_id == id->remote_id;
}

/* IBTA 12.9.8.7: a connection that is not known any more is answered as if it had ended well. */
static void answer_unknown(const struct arrival *in)
{
	const struct wire_path back = cm_way_back(in->path);
	const struct cm_mad mad = {.attr = CM_DREP,
				   .tid = in->mad->tid,
				   .local_id = in->mad->remote_id,
				   .remote_id = in->mad->local_id};

	if (in->mad->attr == CM_DREQ)
		cm_send(in->cm, &back, &mad);
}

static void on_answer(const struct arrival *in)
{
	struct cm_id *id = cm_id_of_comm(in->cm, in->mad->remote_id);

	if (!id) {
		answer_unknown(in);
		return;
	}
	if (!is_of_peer(id, in))
		return;
	switch (in->mad->attr) {
	case CM_REP:
		on_rep(id, in->mad);
		break;
	case CM_RTU:
		(void)cm_established(id);
		break;
	case CM_REJ:
		on_rej(id, in->mad);
		break;
	case CM_MRA:
		on_mra(id, in->mad, in->now);
		break;
	case CM_DREQ:
		on_dreq(id, in);
		break;
	case CM_DREP:
		on_drep(id, in->now);
		break;
	default:
		on_sidr_rep(id, in->mad);
		break;
	}
}

void cm_input(struct cm *cm, const struct wire_path *path, const uint8_t *bytes, size_t length,
	      ps_t now)
{
	struct cm_mad mad;
	const struct arrival in = {.cm = cm, .path = path, .mad = &mad, .now = now};

	if (!cm_mad_parse(&mad, bytes, length))
		return;
	if (mad.attr == CM_REQ || mad.attr == CM_SIDR_REQ)
		on_request(&in);
	else
		on_answer(&in);
}

/* ---- time ---- */

static void on_overdue(struct cm_id *id, ps_t now)
{
	switch ((int)id->state) {
	case CM_REQ_SENT:
		cm_send_rej(id, CM_REASON_TIMEOUT, NULL, 0);
		id->state = CM_ENDED;
		cm_tell(id, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_REP_SENT:
	case CM_SIDR_SENT:
		id->state = CM_ENDED;
		cm_tell(id, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_DREQ_SENT:
		cm_tell(id, CM_EVENT_DISCONNECTED, -ETIMEDOUT);
		timewait(id, now);
		break;
	default:
		break;
	}
}

static void on_cm_timer(struct cm_id *id, ps_t now)
{
	id->timer_at = PS_NEVER;
	if (id->state == CM_TIMEWAIT_STATE) {
		id->state = CM_ENDED;
		cm_tell(id, CM_EVENT_TIMEWAIT_EXIT, 0);
	} else if (id->state == CM_DREQ_SENT &&
		   id->cm->params.ops->is_gone(id->cm->params.owner, id->path.dst_ip)) {
		on_drep(id, now);
	} else if (id->tries-- > 0) {
		cm_send_again(id);
		id->timer_at = now + id->repeat_after;
	} else {
		on_overdue(id, now);
	}
}

ps_t cm_next_at(const struct cm *cm)
{
	return cm->next_at;
}

void cm_advance(struct cm *cm, ps_t now)
{
	if (now < cm->next_at)
		return;
	cm->next_at = PS_NEVER;
	for (uint32_t i = 0; i < cm->ids_size; i++) {
		struct cm_id *id = cm->ids[i];

		if (!id)
			continue;
		if (id->timer_at <= now)
			on_cm_timer(id, now);
		if (id->timer_at < cm->next_at)
			cm->next_at = id->timer_at;
	}
}
