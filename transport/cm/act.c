/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs ask for: addresses, and connections from their side. */
#include "transport/cm/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
	EPHEMERAL_FIRST = 32768, /* as net.ipv4.ip_local_port_range */
	EPHEMERAL_COUNT = 28232,
	EPHEMERAL_TRIES = 64,
};

bool cm_is_any(const uint8_t ip[16])
{
	static const uint8_t any[16], mapped[16] = {[10] = 0xff, 0xff};

	return memcmp(ip, any, 16) == 0 || memcmp(ip, mapped, 16) == 0;
}

static bool is_own(const struct cm *cm, const struct cm_addr *addr)
{
	return memcmp(addr->ip, cm->params.ip, 16) == 0;
}

static uint16_t family_of(const struct cm *cm)
{
	return wire_ip_is_ipv4(cm->params.ip) ? AF_INET : AF_INET6;
}

/* ---- addresses ---- */

static uint16_t ephemeral(struct cm *cm)
{
	return (uint16_t)(EPHEMERAL_FIRST + util_rand_below(&cm->rand, EPHEMERAL_COUNT));
}

static int take_any_port(struct cm_id *id)
{
	int ret = -EADDRINUSE;

	for (int i = 0; i < EPHEMERAL_TRIES && ret == -EADDRINUSE; i++)
		ret = cm_port_take(id, ephemeral(id->cm));
	return ret;
}

/* The kernel binds the loopback address to a device, too: that of this host. */
static bool is_loopback(const struct cm_addr *addr)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1}, v6[16] = {[15] = 1};

	return memcmp(addr->ip, v4, 16) == 0 || memcmp(addr->ip, v6, 16) == 0;
}

/* With the port of @addr, or with none yet. */
static int bind_to(struct cm_id *id, const struct cm_addr *addr)
{
	const bool is_any = cm_is_any(addr->ip);
	int ret = 0;

	if (id->state != CM_IDLE)
		return -EINVAL;
	if (!is_any && !is_own(id->cm, addr) &&
	    !(is_loopback(addr) && addr->family == family_of(id->cm)))
		return -EADDRNOTAVAIL;
	if (addr->port != 0)
		ret = cm_port_take(id, addr->port);
	if (ret != 0)
		return ret;
	id->src = *addr;
	id->has_device = !is_any;
	if (!is_any)
		memcpy(id->src.ip, id->cm->params.ip, 16);
	id->state = CM_BOUND;
	return 0;
}

/* As in the kernel, who binds has a port, and may tell others of it before it listens. */
int cm_bind(struct cm_id *id, const struct cm_addr *addr)
{
	int ret = bind_to(id, addr);

	if (ret != 0 || id->src.port != 0)
		return ret;
	ret = take_any_port(id);
	if (ret != 0)
		id->state = CM_IDLE;
	return ret;
}

/* Where it was not said from where: from here, any port. */
static int bind_for(struct cm_id *id, const struct cm_addr *src, uint16_t family)
{
	struct cm_addr any = {.family = family};

	if (family == AF_INET)
		any.ip[10] = any.ip[11] = 0xff;
	if (id->state == CM_IDLE)
		return bind_to(id, src->family != 0 ? src : &any);
	return id->state == CM_BOUND ? 0 : -EINVAL;
}

int cm_resolve_addr(struct cm_id *id, const struct cm_addr *src, const struct cm_addr *dst)
{
	struct cm *cm = id->cm;
	const uint32_t handle = id->handle, comm_id = id->comm_id;
	struct wire_path path = {.ttl = CM_HOP_LIMIT, .dscp = id->tos >> 2};
	int ret = bind_for(id, src, dst->family);

	if (ret != 0)
		return ret;
	id->dst = *dst;
	if (cm_is_any(dst->ip)) /* this host */
		memcpy(id->dst.ip, cm->params.ip, 16);
	memcpy(path.dst_ip, id->dst.ip, 16);
	ret = dst->family == family_of(cm) ? cm->params.ops->resolve(cm->params.owner, &path)
					   : -ENETUNREACH;
	/* Meanwhile the program may have thought better of it. */
	id = cm_id_find(cm, handle);
	if (!id || id->comm_id != comm_id || id->state != CM_BOUND)
		return -EINVAL;
	if (ret != 0) {
		cm_tell(id, CM_EVENT_ADDR_ERROR, ret);
		return 0;
	}
	id->path = path;
	memcpy(id->remote_gid, id->dst.ip, 16);
	memcpy(id->src.ip, cm->params.ip, 16);
	id->src.family = dst->family;
	if (id->src.port == 0)
		id->src.port = ephemeral(cm); /* for the peer to know; nobody listens there */
	id->has_device = true;
	id->state = CM_ADDR_RESOLVED;
	cm_tell(id, CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int cm_resolve_route(struct cm_id *id)
{
	if (id->state != CM_ADDR_RESOLVED)
		return -EINVAL;
	id->state = CM_ROUTE_RESOLVED;
	cm_tell(id, CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int cm_listen(struct cm_id *id, int32_t backlog)
{
	const struct cm_addr any = {.family = AF_INET, .ip = {[10] = 0xff, 0xff}};
	int ret = 0;

	if (id->state == CM_IDLE)
		ret = bind_to(id, &any);
	if (ret == 0 && id->state != CM_BOUND)
		ret = -EINVAL;
	if (ret == 0 && id->src.port == 0)
		ret = take_any_port(id);
	if (ret == 0 && cm_listens(id->cm, id->space, id->src.port))
		ret = -EADDRINUSE;
	if (ret != 0)
		return ret;
	id->backlog = backlog > 0 && backlog < CM_BACKLOG_MAX ? backlog : CM_BACKLOG_MAX;
	id->state = CM_LISTEN;
	return 0;
}

/* ---- connections ---- */

static bool data_fits(const struct rdma_ucm_conn_param *param, uint16_t attr)
{
	const uint32_t taken = attr == CM_REQ || attr == CM_SIDR_REQ ? CM_IP_BYTES : 0;

	return taken + param->private_data_len <= cm_private_bytes(attr);
}

int cm_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now)
{
	const bool is_ud = id->qp_type == CM_QPT_UD;

	if (id->state != CM_ROUTE_RESOLVED || !param->valid ||
	    !data_fits(param, is_ud ? CM_SIDR_REQ : CM_REQ))
		return -EINVAL;
	if (is_ud) {
		id->state = CM_SIDR_SENT;
		cm_send_sidr_req(id, param, now);
		return 0;
	}
	id->qpn = param->qp_num & 0xffffff;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->retry_count = param->retry_count < 7 ? param->retry_count : 7;
	id->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	id->state = CM_REQ_SENT;
	cm_send_req(id, param, now);
	return 0;
}

int cm_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now)
{
	if (!param->valid) { /* the active side takes the answer */
		if (id->state != CM_REP_RCVD)
			return -EINVAL;
		cm_send_plain(id, CM_RTU);
		id->state = CM_ESTABLISHED;
		return 0;
	}
	if (id->state == CM_SIDR_RCVD) {
		if (!data_fits(param, CM_SIDR_REP))
			return -EINVAL;
		id->qpn = param->qp_num & 0xffffff;
		id->qkey = param->qkey ? param->qkey : CM_UDP_QKEY;
		id->state = CM_SIDR_DONE;
		cm_send_sidr_rep(id, CM_SIDR_VALID, param);
		return 0;
	}
	if (id->state != CM_REQ_RCVD || !data_fits(param, CM_REP))
		return -EINVAL;
	id->qpn = param->qp_num & 0xffffff;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->state = CM_REP_SENT;
	cm_send_rep(id, param, now);
	return 0;
}

int cm_reject(struct cm_id *id, uint8_t reason, const uint8_t *data, uint32_t bytes)
{
	struct rdma_ucm_conn_param param = {.private_data_len = (uint8_t)bytes};

	if (id->state == CM_SIDR_RCVD) {
		if (bytes > cm_private_bytes(CM_SIDR_REP))
			return -EINVAL;
		memcpy(param.private_data, data, bytes);
		cm_send_sidr_rep(id, CM_SIDR_REFUSED, &param);
	} else if (id->state == CM_REQ_RCVD || id->state == CM_REP_RCVD ||
		   id->state == CM_REP_SENT) {
		if (bytes > cm_private_bytes(CM_REJ))
			return -EINVAL;
		cm_send_rej(id, reason ? reason : CM_REASON_CONSUMER, data, bytes);
	} else {
		return -EINVAL;
	}
	id->timer_at = PS_NEVER;
	id->state = CM_ENDED;
	return 0;
}

int cm_disconnect(struct cm_id *id, ps_t now)
{
	switch ((int)id->state) {
	case CM_ESTABLISHED:
	case CM_REP_SENT:
		cm_send_dreq(id, now);
		id->state = CM_DREQ_SENT;
		return 0;
	case CM_DREQ_RCVD:
		cm_send_plain(id, CM_DREP);
		id->state = CM_TIMEWAIT_STATE;
		cm_timer_set(id, now + cm_timeout(CM_TIMEWAIT));
		return 0;
	case CM_IDLE:
	case CM_BOUND:
	case CM_LISTEN:
		return -EINVAL;
	default:
		return 0; /* it has ended already, or not begun */
	}
}

/* The last message of the three has come, or what only follows it. */
int cm_established(struct cm_id *id)
{
	if (id->state != CM_REP_SENT)
		return id->state == CM_ESTABLISHED ? 0 : -EINVAL;
	id->timer_at = PS_NEVER;
	id->state = CM_ESTABLISHED;
	cm_tell(id, CM_EVENT_ESTABLISHED, 0);
	return 0;
}

/* IBTA 12.9.6: who goes says so, as far as it has come. */
void cm_end(struct cm_id *id, ps_t now)
{
	struct cm_id *child;

	switch ((int)id->state) {
	case CM_LISTEN:
		while ((child = cm_id_untold(id)))
			cm_end(child, now);
		break;
	case CM_REQ_SENT:
		cm_send_rej(id, CM_REASON_TIMEOUT, NULL, 0);
		break;
	case CM_REQ_RCVD:
	case CM_REP_RCVD:
	case CM_REP_SENT:
		cm_send_rej(id, CM_REASON_CONSUMER, NULL, 0);
		break;
	case CM_SIDR_RCVD:
		cm_send_sidr_rep(id, CM_SIDR_REFUSED, NULL);
		break;
	case CM_ESTABLISHED:
		cm_send_dreq(id, now);
		break;
	case CM_DREQ_RCVD:
		cm_send_plain(id, CM_DREP);
		break;
	default:
		break;
	}
	cm_id_free(id);
}

void cm_file_destroy(struct cm_file *file, ps_t now)
{
	struct cm *cm = file->cm;
	struct cm_file **at = &cm->files;

	for (uint32_t i = 0; i < cm->ids_size; i++)
		if (cm->ids[i] && cm->ids[i]->file == file)
			cm_end(cm->ids[i], now);
	CHECK(!file->first);
	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	util_free(file);
}
