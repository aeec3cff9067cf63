/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/player.h"

#include "transport/verbs/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- what ranks tell each other ---- */

static int player_tell(struct player *player, uint32_t object, uint64_t delta, uint32_t number)
{
	const struct player_remote value = {.delta = delta, .number = number};
	char key[64];

	snprintf(key, sizeof(key), "o%d.%u", player->prog->rank, object);
	return player->prog->put(player->prog, key, &value, sizeof(value)) == 0
		       ? 0
		       : player_fail(player, "no memory");
}

int player_remote(struct player *player, uint32_t process, uint32_t object,
		  struct player_remote *ret_remote)
{
	const uint64_t place = (uint64_t)process << 32 | object;
	uint32_t at = play_map_get(&player->deltas, place);
	struct player_remote *all;
	char key[64];

	if (at != PLAY_NONE) {
		*ret_remote = player->remote[at];
		return 0;
	}
	snprintf(key, sizeof(key), "o%u.%u", process, object);
	if (player->prog->get(player->prog, key, ret_remote, sizeof(*ret_remote)) != 0)
		return player_fail(player, "no word of the other end");
	all = realloc(player->remote, (player->remote_count + 1) * sizeof(*all));
	if (!all || !play_map_put(&player->deltas, place, player->remote_count)) {
		player->remote = all ? all : player->remote;
		return player_fail(player, "no memory");
	}
	player->remote = all;
	all[player->remote_count++] = *ret_remote;
	return 0;
}

static int gid_of(struct player *player, uint32_t process, union ibv_gid *ret_gid)
{
	char key[64];

	snprintf(key, sizeof(key), "g%u", process);
	return player->prog->get(player->prog, key, ret_gid, sizeof(*ret_gid)) == 0
		       ? 0
		       : player_fail(player, "no word of the other end");
}

/* ---- the device and memory ---- */

static int open_device(struct player *player)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	char key[64];

	player->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	if (!player->context || ibv_query_gid(player->context, 1, 0, &player->gid) != 0 ||
	    ibv_query_port(player->context, 1, &port) != 0 ||
	    ibv_query_device(player->context, &device) != 0)
		return player_fail(player, "no device");
	player->mtu_max = port.active_mtu;
	player->rd_atomic_max = (uint8_t)device.max_qp_rd_atom;
	snprintf(key, sizeof(key), "g%d", player->prog->rank);
	if (player->prog->put(player->prog, key, &player->gid, sizeof(player->gid)) != 0)
		return player_fail(player, "no memory");
	return 0;
}

int player_begin(struct player *player)
{
	struct play_process *process = player->process;

	player->objects = calloc(process->object_count + 1, sizeof(*player->objects));
	process->memory = calloc(process->slab_count + 1, sizeof(*process->memory));
	player->scratch = calloc(1, 1 << 16);
	if (!player->objects || !process->memory || !player->scratch)
		return player_fail(player, "no memory");
	for (uint32_t i = 0; i < process->slab_count; i++) {
		void *slab = mmap(NULL, process->slabs[i].bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (slab == MAP_FAILED)
			return player_fail(player, "no memory for regions");
		process->memory[i] = slab;
	}
	return open_device(player);
}

uint8_t *player_memory(const struct player *player, uint64_t addr)
{
	const struct play_process *process = player->process;
	uint32_t from = 0, to = process->slab_count;

	while (from < to) {
		const uint32_t mid = (from + to) / 2;
		const struct play_slab *slab = &process->slabs[mid];

		if (addr < slab->addr)
			to = mid;
		else if (addr - slab->addr >= slab->bytes)
			from = mid + 1;
		else
			return process->memory[mid] + (addr - slab->addr);
	}
	return NULL;
}

/* The object of a recorded handle, as libibverbs has it; NULL: none. */
static void *ibv_of(const struct player *player, uint64_t handle)
{
	const uint32_t at = play_map_get(&player->process->by_handle, handle);

	return at == PLAY_NONE ? NULL : player->objects[at].ibv;
}

static int made(struct player *player, const struct play_call *call, void *ibv, const char *what)
{
	if (!ibv)
		return player_fail(player, "%s: %s", what, strerror(errno));
	player->objects[call->object].ibv = ibv;
	return 0;
}

static int player_make_mr(struct player *player, const struct play_call *call)
{
	const struct vrb_mr_init *init = &player->record.mr.init;
	struct ibv_pd *pd = ibv_of(player, player->record.pd);
	uint8_t *at = player_memory(player, init->addr);
	const unsigned int access =
		init->access &
		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	uint64_t iova = init->iova;
	struct ibv_mr *mr;

	if (init->is_null) {
		mr = ibv_alloc_null_mr(pd);
	} else if (init->dm) {
		mr = ibv_reg_dm_mr(pd, ibv_of(player, init->dm), init->addr, init->length,
				   access | IBV_ACCESS_ZERO_BASED);
	} else {
		if (init->iova == init->addr)
			iova = (uint64_t)(uintptr_t)at;
		mr = ibv_reg_mr_iova2(pd, at, init->length, iova, access);
	}
	if (made(player, call, mr, "a region") != 0)
		return 1;
	if (!play_map_put(&player->by_lkey, player->record.mr.info.lkey, call->object))
		return player_fail(player, "no memory");
	return player_tell(player, call->object, iova - init->iova, mr->rkey);
}

static int make_srq(struct player *player, const struct play_call *call)
{
	const struct vrb_srq_init *init = &player->record.srq;
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = init->depth, .max_sge = init->sge_max},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = ibv_of(player, init->pd)};
	uint32_t number = 0;
	struct ibv_srq *srq;

	if (init->xrcd) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.xrcd = ibv_of(player, init->xrcd);
		attr.cq = ibv_of(player, init->cq);
	}
	srq = ibv_create_srq_ex(player->context, &attr);
	if (made(player, call, srq, "a shared receive queue") != 0)
		return 1;
	if (init->xrcd && ibv_get_srq_num(srq, &number) != 0)
		return player_fail(player, "a shared receive queue has no number");
	return player_tell(player, call->object, 0, number);
}

static int make_qp(struct player *player, const struct play_call *call)
{
	const struct vrb_qp_init *init = &player->record.qp;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = ibv_of(player, init->send_cq),
		.recv_cq = ibv_of(player, init->recv_cq),
		.srq = ibv_of(player, init->srq),
		.cap = {.max_send_wr = init->cap.send_depth,
			.max_recv_wr = init->srq ? 0 : init->cap.recv_depth,
			.max_send_sge = init->cap.send_sge_max,
			.max_recv_sge = init->srq ? 0 : init->cap.recv_sge_max,
			.max_inline_data = init->cap.inline_max},
		.qp_type = (enum ibv_qp_type)init->type,
		.sq_sig_all = init->signal_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibv_of(player, init->pd)};
	struct ibv_qp *qp;

	if (init->type == HCA_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = ibv_of(player, init->xrcd);
	}
	qp = ibv_create_qp_ex(player->context, &attr);
	if (made(player, call, qp, "a queue pair") != 0)
		return 1;
	if (!play_map_put(&player->by_qpn, qp->qp_num, call->object))
		return player_fail(player, "no memory");
	return player_tell(player, call->object, 0, qp->qp_num);
}

static int player_make_cq(struct player *player, const struct play_call *call)
{
	struct ibv_comp_channel *channel = ibv_of(player, player->record.cq.channel);

	return made(player, call,
		    ibv_create_cq(player->context, (int)player->record.number, NULL, channel, 0),
		    "a completion queue");
}

static int make_xrcd(struct player *player, const struct play_call *call)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	return made(player, call, ibv_open_xrcd(player->context, &attr), "an XRC domain");
}

static int make_dm(struct player *player, const struct play_call *call)
{
	struct ibv_alloc_dm_attr attr = {.length = player->record.mr.init.length};

	return made(player, call, ibv_alloc_dm(player->context, &attr), "device memory");
}

/* What was one hop then may be some here, and programs ask for as few as they need. */
static uint8_t hops_of(const struct vrb_av *av)
{
	return av->hop_limit > 64 ? av->hop_limit : 64;
}

/* The address's process is any on that host. */
static int make_ah(struct player *player)
{
	const struct vrb_av *av = &player->record.av;
	struct ibv_ah_attr attr = {.is_global = 1,
				   .port_num = 1,
				   .sl = av->sl,
				   .grh = {.flow_label = av->flow_label,
					   .hop_limit = hops_of(av),
					   .traffic_class = av->traffic_class}};
	const uint32_t process = play_process_of(player->play, player->process, av->dgid);
	struct player_ah *all;

	if (process == PLAY_NONE || !player->pd)
		return 0; /* nobody that is played is told anything there */
	if (gid_of(player, process, &attr.grh.dgid) != 0)
		return 1;
	all = realloc(player->ahs, (player->ah_count + 1) * sizeof(*all));
	if (!all)
		return player_fail(player, "no memory");
	player->ahs = all;
	all[player->ah_count] = (struct player_ah){.process = process};
	memcpy(all[player->ah_count].gid, player->record.gid, 16);
	all[player->ah_count].ah = ibv_create_ah(player->pd, &attr);
	if (!all[player->ah_count].ah)
		return player_fail(player, "an address handle: %s", strerror(errno));
	player->ah_count++;
	return 0;
}

int player_make(struct player *player, const struct play_call *call)
{
	switch (call->kind) {
	case VRB_RECORD_CREATE_PD:
		player->pd = ibv_alloc_pd(player->context);
		return made(player, call, player->pd, "a protection domain");
	case VRB_RECORD_CREATE_MR:
		return player_make_mr(player, call);
	case VRB_RECORD_CREATE_MW:
		return made(player, call,
			    ibv_alloc_mw(ibv_of(player, player->record.pd),
					 (enum ibv_mw_type)player->record.flags),
			    "a window");
	case VRB_RECORD_CREATE_DM:
		return make_dm(player, call);
	case VRB_RECORD_CREATE_CHANNEL:
		if (player->record.flags != VRB_CHANNEL_COMPLETION)
			return 0; /* the context has one */
		return made(player, call, ibv_create_comp_channel(player->context), "a channel");
	case VRB_RECORD_CREATE_CQ:
		return player_make_cq(player, call);
	case VRB_RECORD_OPEN_XRCD:
		return make_xrcd(player, call);
	case VRB_RECORD_CREATE_SRQ:
		return make_srq(player, call);
	case VRB_RECORD_CREATE_QP:
		return make_qp(player, call);
	case VRB_RECORD_AH:
		return make_ah(player);
	default:
		return 0;
	}
}

/* ---- changes ---- */

static void limit_attr(const struct player *player, struct ibv_qp_attr *attr)
{
	if (attr->path_mtu > player->mtu_max)
		attr->path_mtu = player->mtu_max;
	if (attr->max_rd_atomic > player->rd_atomic_max)
		attr->max_rd_atomic = player->rd_atomic_max;
	if (attr->max_dest_rd_atomic > player->rd_atomic_max)
		attr->max_dest_rd_atomic = player->rd_atomic_max;
}

static enum ibv_mtu player_mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 128u << mtu < bytes)
		mtu++;
	return mtu;
}

int player_modify(struct player *player, const struct play_call *call)
{
	const struct hca_qp_attr *was = &player->record.modify.attr;
	const struct vrb_av *av = &player->record.modify.av;
	struct ibv_qp *qp = player->objects[call->object].ibv;
	struct ibv_qp_attr attr = {.qp_state = (enum ibv_qp_state)was->state,
				   .cur_qp_state =
					   (enum ibv_qp_state)player->record.modify.cur_state,
				   .path_mtu = player_mtu_of(was->mtu),
				   .qkey = was->qkey,
				   .rq_psn = was->rq_psn,
				   .sq_psn = was->sq_psn,
				   .qp_access_flags = was->access,
				   .pkey_index = was->pkey_index,
				   .en_sqd_async_notify = was->en_sqd_async_notify,
				   .max_rd_atomic = was->max_rd_atomic,
				   .max_dest_rd_atomic = was->max_dest_rd_atomic,
				   .min_rnr_timer = was->min_rnr_timer,
				   .port_num = 1,
				   .timeout = was->timeout,
				   .retry_cnt = was->retry_cnt,
				   .rnr_retry = was->rnr_retry,
				   .ah_attr = {.is_global = 1,
					       .port_num = 1,
					       .sl = av->sl,
					       .grh = {.flow_label = av->flow_label,
						       .hop_limit = hops_of(av),
						       .traffic_class = av->traffic_class}}};
	struct player_remote remote;
	int ret;

	limit_attr(player, &attr);
	if (call->peer != PLAY_NONE) {
		if (player_remote(player, call->peer, call->peer_object, &remote) != 0 ||
		    gid_of(player, call->peer, &attr.ah_attr.grh.dgid) != 0)
			return 1;
		attr.dest_qp_num = remote.number;
	}
	ret = ibv_modify_qp(qp, &attr, (int)player->record.modify.mask);
	return ret ? player_fail(player, "to change a queue pair: %s", strerror(ret)) : 0;
}

/* ---- the end of things ---- */

static int destroy(uint8_t kind, void *ibv)
{
	switch ((enum vrb_kind)kind) {
	case VRB_PD:
		return ibv_dealloc_pd(ibv);
	case VRB_MR:
		return ibv_dereg_mr(ibv);
	case VRB_CQ:
		return ibv_destroy_cq(ibv);
	case VRB_QP:
		return ibv_destroy_qp(ibv);
	case VRB_CHANNEL:
		return ibv_destroy_comp_channel(ibv);
	case VRB_DM:
		return ibv_free_dm(ibv);
	case VRB_SRQ:
		return ibv_destroy_srq(ibv);
	case VRB_XRCD:
		return ibv_close_xrcd(ibv);
	case VRB_MW:
		return ibv_dealloc_mw(ibv);
	}
	return EINVAL;
}

/* Address handles are no objects of the adapter's: how long they were there is not recorded. */
static void drop_ahs(struct player *player)
{
	for (uint32_t i = 0; i < player->ah_count; i++)
		ibv_destroy_ah(player->ahs[i].ah);
	player->ah_count = 0;
	player->pd = NULL;
}

int player_destroy(struct player *player, const struct play_call *call)
{
	struct player_object *object = &player->objects[call->object];
	int ret;

	if (!object->ibv)
		return 0;
	if (object->ibv == player->pd)
		drop_ahs(player);
	ret = destroy(player->process->objects[call->object].kind, object->ibv);
	if (ret)
		return player_fail(player, "to take an object away: %s", strerror(ret));
	object->ibv = NULL;
	return 0;
}

void player_end(struct player *player)
{
	static const enum vrb_kind order[] = {VRB_QP,	VRB_SRQ, VRB_MW,      VRB_MR, VRB_DM,
					      VRB_XRCD, VRB_CQ,	 VRB_CHANNEL, VRB_PD};

	drop_ahs(player);
	for (size_t i = 0; player->objects && i < sizeof(order) / sizeof(order[0]); i++)
		for (uint32_t k = 0; k < player->process->object_count; k++)
			if (player->objects[k].ibv &&
			    player->process->objects[k].kind == order[i]) {
				destroy((uint8_t)order[i], player->objects[k].ibv);
				player->objects[k].ibv = NULL;
			}
	if (player->context)
		ibv_close_device(player->context);
	player->context = NULL;
}
