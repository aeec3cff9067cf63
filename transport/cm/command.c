/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of /dev/infiniband/rdma_cm. Each is a header and a structure of
 * rdma/rdma_user_cm.h; a shorter one has zeros at its end, as the kernel has it. */
#include "transport/cm/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

struct asked {
	struct cm_file *file;
	struct cm_id *id; /* NULL for commands without */
	const void *command;
	uint32_t out; /* room for the answer */
	struct cm_reply *reply;
	ps_t now;
};

/* The first @least bytes or nothing; what there is no room for is left out, as in later kernels. */
static int reply_with(const struct asked *a, uint64_t address, const void *value, uint32_t bytes,
		      uint32_t least)
{
	_Static_assert(sizeof(struct rdma_ucm_event_resp) <= CM_REPLY_MAX, "fits");

	if (a->out < least)
		return -ENOSPC;
	if (address == 0)
		return -EFAULT;
	a->reply->address = address;
	a->reply->length = a->out < bytes ? a->out : bytes;
	memcpy(a->reply->bytes, value, a->reply->length);
	return 0;
}

/* ---- ids ---- */

static int known_type(uint16_t space, uint8_t *qp_type)
{
	switch (space) {
	case RDMA_PS_TCP:
	case RDMA_PS_IB:
		if (*qp_type == CM_QPT_RC || *qp_type == CM_QPT_UC || *qp_type == CM_QPT_UD ||
		    *qp_type == CM_QPT_XRC_SEND || *qp_type == CM_QPT_XRC_RECV)
			return 0;
		return -EINVAL;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*qp_type = CM_QPT_UD;
		return 0;
	default:
		return -EPROTONOSUPPORT;
	}
}

static int create_id(const struct asked *a)
{
	const struct rdma_ucm_create_id *c = a->command;
	uint8_t qp_type = c->qp_type;
	struct rdma_ucm_create_id_resp resp;
	struct cm_id *id;
	int ret = known_type(c->ps, &qp_type);

	if (ret == 0 && (a->out < sizeof(resp) || c->uid == 0))
		ret = a->out < sizeof(resp) ? -ENOSPC : -EINVAL;
	if (ret != 0)
		return ret;
	id = cm_id_create(a->file->cm, a->file);
	if (!id)
		return -ENOMEM;
	id->uid = c->uid;
	id->space = c->ps;
	id->qp_type = qp_type;
	resp.id = id->handle;
	ret = reply_with(a, c->response, &resp, sizeof(resp), sizeof(resp));
	if (ret != 0)
		cm_id_free(id);
	return ret;
}

static int destroy_id(const struct asked *a)
{
	const struct rdma_ucm_destroy_id *c = a->command;
	const struct rdma_ucm_destroy_id_resp resp = {.events_reported = a->id->events_reported};
	int ret = reply_with(a, c->response, &resp, sizeof(resp), sizeof(resp));

	if (ret == 0)
		cm_end(a->id, a->now);
	return ret;
}

static int migrate_id(const struct asked *a)
{
	const struct rdma_ucm_migrate_id *c = a->command;
	struct cm *cm = a->file->cm;
	struct cm_id *id = cm_id_find(cm, c->id); /* over the new file */
	struct cm_file *from = cm->params.ops->file_of(cm->params.owner, (int)c->fd);
	struct rdma_ucm_migrate_resp resp;
	int ret;

	if (!from || !id || id->file != from)
		return !from ? -EBADF : -ENOENT;
	resp.events_reported = id->events_reported;
	ret = reply_with(a, c->response, &resp, sizeof(resp), sizeof(resp));
	if (ret == 0 && from != a->file) {
		cm_events_move(id, a->file);
		id->file = a->file;
	}
	return ret;
}

/* ---- addresses ---- */

static int bind_ip(const struct asked *a)
{
	const struct rdma_ucm_bind_ip *c = a->command;
	struct cm_addr addr;
	int ret = cm_addr_get(&addr, &c->addr, sizeof(c->addr));

	return ret ? ret : cm_bind(a->id, &addr);
}

static int bind_any(const struct asked *a)
{
	const struct rdma_ucm_bind *c = a->command;
	struct cm_addr addr;
	int ret = c->addr_size > sizeof(c->addr) ? -EINVAL
						 : cm_addr_get(&addr, &c->addr, c->addr_size);

	return ret ? ret : cm_bind(a->id, &addr);
}

static int run_resolve(const struct asked *a, const void *from, size_t from_bytes, const void *to,
		       size_t to_bytes)
{
	struct cm_addr src = {.family = 0}, dst;
	int ret = cm_addr_get(&dst, to, to_bytes);

	if (ret == 0 && from_bytes > 0) {
		ret = cm_addr_get(&src, from, from_bytes);
		if (ret == -EAFNOSUPPORT && src.family == 0)
			ret = 0; /* it was left out */
	}
	return ret ? ret : cm_resolve_addr(a->id, &src, &dst);
}

static int resolve_ip(const struct asked *a)
{
	const struct rdma_ucm_resolve_ip *c = a->command;

	return run_resolve(a, &c->src_addr, sizeof(c->src_addr), &c->dst_addr, sizeof(c->dst_addr));
}

static int resolve_addr(const struct asked *a)
{
	const struct rdma_ucm_resolve_addr *c = a->command;

	if (c->src_size > sizeof(c->src_addr) || c->dst_size > sizeof(c->dst_addr))
		return -EINVAL;
	return run_resolve(a, &c->src_addr, c->src_size, &c->dst_addr, c->dst_size);
}

static int resolve_route(const struct asked *a)
{
	return cm_resolve_route(a->id);
}

static int query_route(const struct asked *a)
{
	const struct rdma_ucm_query *c = a->command;
	struct rdma_ucm_query_route_resp resp;

	(void)cm_query_route(a->id, &resp);
	return reply_with(a, c->response, &resp, sizeof(resp),
			  offsetof(struct rdma_ucm_query_route_resp, ibdev_index));
}

/* A path record in the format of subnet administration (IBTA 15.2.5.16). */
static void pack_path(const struct ib_user_path_rec *path, uint8_t ret[64])
{
	memset(ret, 0, 64);
	memcpy(ret + 8, path->dgid, 16);
	memcpy(ret + 24, path->sgid, 16);
	ret[47] = path->hop_limit;
	ret[48] = path->traffic_class;
	ret[49] = (uint8_t)(path->reversible << 7 | path->numb_path);
	memcpy(ret + 50, &path->pkey, 2);
	ret[54] = (uint8_t)(path->mtu_selector << 6 | path->mtu);
	ret[55] = (uint8_t)(path->rate_selector << 6 | path->rate);
	ret[56] = (uint8_t)(path->packet_life_time_selector << 6 | path->packet_life_time);
}

static int query_path(const struct asked *a, uint64_t response)
{
	struct rdma_ucm_query_route_resp route;
	/* A struct rdma_ucm_query_path_resp with one path. */
	struct {
		uint32_t num_paths, reserved;
		struct ib_path_rec_data path;
	} resp = {.num_paths = 0};

	(void)cm_query_route(a->id, &route);
	resp.num_paths = route.num_paths;
	if (route.num_paths > 0) {
		resp.path.flags = 1 << 0 | 1 << 3 | 1 << 4; /* GMP, primary, bidirectional */
		pack_path(&route.ib_route[0], (uint8_t *)resp.path.path_rec);
	}
	return reply_with(a, response, &resp, sizeof(resp),
			  sizeof(struct rdma_ucm_query_path_resp));
}

/* Of GIDs, as addresses of AF_IB: librdmacm reads what lies where sib_addr is. */
static int query_gid(const struct asked *a, uint64_t response)
{
	struct rdma_ucm_query_route_resp route;
	struct rdma_ucm_query_addr_resp resp;

	(void)cm_query_route(a->id, &route);
	(void)cm_query_addr(a->id, &resp);
	memset(&resp.src_addr, 0, sizeof(resp.src_addr));
	memset(&resp.dst_addr, 0, sizeof(resp.dst_addr));
	resp.src_size = resp.dst_size = 0;
	memcpy((uint8_t *)&resp.src_addr + 8, route.ib_route[0].sgid, 16);
	memcpy((uint8_t *)&resp.dst_addr + 8, route.ib_route[0].dgid, 16);
	return reply_with(a, response, &resp, sizeof(resp),
			  offsetof(struct rdma_ucm_query_addr_resp, ibdev_index));
}

static int run_query(const struct asked *a)
{
	const struct rdma_ucm_query *c = a->command;
	struct rdma_ucm_query_addr_resp resp;

	switch (c->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		(void)cm_query_addr(a->id, &resp);
		return reply_with(a, c->response, &resp, sizeof(resp),
				  offsetof(struct rdma_ucm_query_addr_resp, ibdev_index));
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(a, c->response);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(a, c->response);
	default:
		return -ENOSYS;
	}
}

/* ---- connections ---- */

static int connect_id(const struct asked *a)
{
	const struct rdma_ucm_connect *c = a->command;

	return cm_connect(a->id, &c->conn_param, a->now);
}

static int listen_id(const struct asked *a)
{
	const struct rdma_ucm_listen *c = a->command;

	return cm_listen(a->id, (int32_t)c->backlog);
}

static int accept_id(const struct asked *a)
{
	const struct rdma_ucm_accept *c = a->command;
	int ret = cm_accept(a->id, &c->conn_param, a->now);

	if (ret == 0 && c->conn_param.valid)
		a->id->uid = c->uid;
	return ret;
}

static int reject_id(const struct asked *a)
{
	const struct rdma_ucm_reject *c = a->command;

	return cm_reject(a->id, c->reason, c->private_data, c->private_data_len);
}

static int disconnect_id(const struct asked *a)
{
	return cm_disconnect(a->id, a->now);
}

static int notify(const struct asked *a)
{
	const struct rdma_ucm_notify *c = a->command;

	enum { COMM_EST = 4 }; /* enum ibv_event_type */
	return c->event == COMM_EST ? cm_established(a->id) : -EINVAL;
}

static int init_qp_attr(const struct asked *a)
{
	const struct rdma_ucm_init_qp_attr *c = a->command;
	struct ib_uverbs_qp_attr attr;
	int ret = cm_init_qp_attr(a->id, c->qp_state, &attr);

	return ret ? ret : reply_with(a, c->response, &attr, sizeof(attr), sizeof(attr));
}

static int get_event(const struct asked *a)
{
	const struct rdma_ucm_get_event *c = a->command;
	struct cm_event *event = a->file->first;
	int ret;

	if (a->out < offsetof(struct rdma_ucm_event_resp, reserved))
		return -ENOSPC;
	if (!event)
		return -EAGAIN;
	ret = reply_with(a, c->response, &event->said, sizeof(event->said),
			 offsetof(struct rdma_ucm_event_resp, reserved));
	if (ret != 0)
		return ret;
	(void)cm_event_take(a->file);
	event->id->events_reported++;
	if (event->mcast)
		event->mcast->events_reported++;
	if (event->child)
		event->id->backlog++;
	util_free(event);
	return 0;
}

/* ---- options ---- */

static int set_id_option(struct cm_id *id, uint32_t name, const uint8_t *value, uint32_t bytes)
{
	int32_t flag = 0;

	if (bytes == sizeof(flag))
		memcpy(&flag, value, sizeof(flag));
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (bytes != 1)
			return -EINVAL;
		id->tos = value[0];
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (bytes != sizeof(flag) || id->state > CM_BOUND)
			return -EINVAL;
		id->reuses_addr = flag != 0;
		return 0;
	case RDMA_OPTION_ID_AFONLY:
		return bytes == sizeof(flag) && id->state <= CM_BOUND ? 0 : -EINVAL;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (bytes != 1 || value[0] > 31 || id->qp_type == CM_QPT_UD)
			return -EINVAL;
		id->ack_timeout = value[0];
		return 0;
	default:
		return -ENOSYS;
	}
}

/* The value lies in the program: it is read as it is. */
static int set_option(const struct asked *a)
{
	const struct rdma_ucm_set_option *c = a->command;
	uint8_t value[8];

	if (c->level == RDMA_OPTION_IB)
		return -EINVAL; /* a path of a subnet manager's, which there is none of */
	if (c->level != RDMA_OPTION_ID)
		return -ENOSYS;
	if (c->optlen > sizeof(value) || c->optlen == 0)
		return -EINVAL;
	if (a->file->cm->params.ops->read_program(a->file->cm->params.owner, c->optval, value,
						  c->optlen) != 0)
		return -EFAULT;
	return set_id_option(a->id, c->optname, value, c->optlen);
}

static int get_option(const struct asked *a)
{
	(void)a;
	return -ENOSYS; /* nor does the kernel have it */
}

/* ---- multicast ---- */

static int command_join(const struct asked *a, const struct cm_addr *addr, uint64_t uid,
			uint64_t response)
{
	struct rdma_ucm_create_id_resp resp;
	struct cm_mcast *mcast;
	int ret = a->out < sizeof(resp) ? -ENOSPC : cm_join(a->id, addr, uid, &resp.id);

	if (ret != 0)
		return ret;
	ret = reply_with(a, response, &resp, sizeof(resp), sizeof(resp));
	if (ret != 0 && cm_id_of_mcast(a->file->cm, resp.id, &mcast))
		cm_leave(a->id, mcast);
	return ret;
}

static int join_ip_mcast(const struct asked *a)
{
	const struct rdma_ucm_join_ip_mcast *c = a->command;
	struct cm_addr addr;
	int ret = cm_addr_get(&addr, &c->addr, sizeof(c->addr));

	return ret ? ret : command_join(a, &addr, c->uid, c->response);
}

/* Who only sends is a member like others here: there is nobody to be told of it. */
static int join_mcast(const struct asked *a)
{
	const struct rdma_ucm_join_mcast *c = a->command;
	struct cm_addr addr;
	int ret = c->addr_size > sizeof(c->addr) || c->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED
			  ? -EINVAL
			  : cm_addr_get(&addr, &c->addr, c->addr_size);

	return ret ? ret : command_join(a, &addr, c->uid, c->response);
}

/* Its id is the group's. */
static int leave_mcast(const struct asked *a)
{
	const struct rdma_ucm_destroy_id *c = a->command;
	struct rdma_ucm_destroy_id_resp resp;
	struct cm_mcast *mcast;
	struct cm_id *id = cm_id_of_mcast(a->file->cm, c->id, &mcast);
	int ret;

	if (!id || id->file != a->file)
		return id ? -EINVAL : -ENOENT;
	resp.events_reported = mcast->events_reported;
	ret = reply_with(a, c->response, &resp, sizeof(resp), sizeof(resp));
	if (ret == 0)
		cm_leave(id, mcast);
	return ret;
}

/* ---- which ---- */

enum { NO_ID = UINT16_MAX };

static const struct {
	int (*run)(const struct asked *a);
	uint16_t id_at;	 /* where the id is in it; NO_ID: nowhere */
	bool has_device; /* only for ids with the adapter's address */
} commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = {create_id, NO_ID, false},
#define WITH_ID(name, function, type, needs)                                                       \
	[RDMA_USER_CM_CMD_##name] = {function, offsetof(struct type, id), needs}
	WITH_ID(DESTROY_ID, destroy_id, rdma_ucm_destroy_id, false),
	WITH_ID(BIND_IP, bind_ip, rdma_ucm_bind_ip, false),
	WITH_ID(RESOLVE_IP, resolve_ip, rdma_ucm_resolve_ip, false),
	WITH_ID(RESOLVE_ROUTE, resolve_route, rdma_ucm_resolve_route, true),
	WITH_ID(QUERY_ROUTE, query_route, rdma_ucm_query, false),
	WITH_ID(CONNECT, connect_id, rdma_ucm_connect, true),
	WITH_ID(LISTEN, listen_id, rdma_ucm_listen, false),
	WITH_ID(ACCEPT, accept_id, rdma_ucm_accept, true),
	WITH_ID(REJECT, reject_id, rdma_ucm_reject, true),
	WITH_ID(DISCONNECT, disconnect_id, rdma_ucm_disconnect, true),
	WITH_ID(INIT_QP_ATTR, init_qp_attr, rdma_ucm_init_qp_attr, true),
	[RDMA_USER_CM_CMD_GET_EVENT] = {get_event, NO_ID, false},
	[RDMA_USER_CM_CMD_GET_OPTION] = {get_option, NO_ID, false},
	WITH_ID(SET_OPTION, set_option, rdma_ucm_set_option, false),
	WITH_ID(NOTIFY, notify, rdma_ucm_notify, true),
	WITH_ID(JOIN_IP_MCAST, join_ip_mcast, rdma_ucm_join_ip_mcast, true),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = {leave_mcast, NO_ID, false},
	[RDMA_USER_CM_CMD_MIGRATE_ID] = {migrate_id, NO_ID, false},
	WITH_ID(QUERY, run_query, rdma_ucm_query, false),
	WITH_ID(BIND, bind_any, rdma_ucm_bind, false),
	WITH_ID(RESOLVE_ADDR, resolve_addr, rdma_ucm_resolve_addr, false),
	WITH_ID(JOIN_MCAST, join_mcast, rdma_ucm_join_mcast, true),
};

int cm_command(struct cm_file *file, const void *bytes, size_t length, struct cm_reply *ret_reply,
	       ps_t now)
{
	_Alignas(8) uint8_t room[CM_COMMAND_MAX] = {0};
	struct rdma_ucm_cmd_hdr header;
	struct asked a = {.file = file, .command = room, .reply = ret_reply, .now = now};
	uint32_t handle;

	ret_reply->length = 0;
	if (length < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	if (header.cmd >= sizeof(commands) / sizeof(commands[0]) ||
	    header.in > length - sizeof(header))
		return -EINVAL;
	memcpy(room, (const uint8_t *)bytes + sizeof(header),
	       header.in < sizeof(room) ? header.in : sizeof(room));
	/* What is behind the structure is of a later kernel. */
	if (header.in < sizeof(room))
		memset(room + header.in, 0, sizeof(room) - header.in);
	a.out = header.out;
	if (commands[header.cmd].id_at != NO_ID) {
		if (header.in < commands[header.cmd].id_at + sizeof(handle))
			return -EINVAL;
		memcpy(&handle, room + commands[header.cmd].id_at, sizeof(handle));
		a.id = cm_id_find(file->cm, handle);
		if (!a.id)
			return -ENOENT;
		if (a.id->file != file)
			return -EINVAL;
		if (commands[header.cmd].has_device && !a.id->has_device)
			return -EINVAL;
	}
	return commands[header.cmd].run(&a);
}
