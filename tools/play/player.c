/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/player.h"

#include "tools/play/play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A completion that has not come for so long never will: the longest that queue pairs try again
 * with timeouts of a second and less, seven times, and more. */
enum { PATIENCE_S = 60 };

/* ---- when ---- */

static void sleep_until(const struct player *player, uint64_t at_ps)
{
	const uint64_t now = vb_now_ps();

	if (at_ps > now)
		player->prog->sleep_ns(player->prog, (at_ps - now + 999) / 1000);
}

static int wait_needs(struct player *player, const struct play_call *call)
{
	for (uint32_t i = 0; i < call->need_count; i++) {
		const struct play_need *need = &player->process->needs[call->first_need + i];
		char key[64], byte;

		snprintf(key, sizeof(key), "c%u.%u", need->process, need->call);
		if (player->prog->get(player->prog, key, &byte, 1) != 0)
			return player_fail(player, "no word of the other end");
	}
	return 0;
}

static int tell_call(struct player *player, const struct play_call *call)
{
	char key[64];

	if (!call->is_awaited)
		return 0;
	snprintf(key, sizeof(key), "c%d.%u", player->prog->rank,
		 (uint32_t)(call - player->process->calls));
	return player->prog->put(player->prog, key, "", 1) == 0 ? 0
								: player_fail(player, "no memory");
}

/* ---- completions ---- */

static const char *player_status(enum ibv_wc_status status)
{
	return ibv_wc_status_str(status);
}

/* What was posted here has the half of its queue pair as its name. */
static int take_wc(struct player *player, const struct ibv_wc *wc)
{
	const uint32_t at = play_map_get(&player->by_qpn, wc->qp_num);

	if (at == PLAY_NONE)
		return player_fail(player, "a completion of a queue pair that is none of ours");
	player->objects[at].done[wc->wr_id & 1]++;
	player->prog->report(player->prog, (int)player->process->objects[at].peer, (int)at, wc,
			     NULL);
	return 0;
}

static int play_poll(struct player *player, const struct play_call *call)
{
	struct player_object *object = &player->objects[call->object];
	struct ibv_cq *cq =
		player->objects[play_map_get(&player->process->by_handle, player->record.object)]
			.ibv;
	const uint64_t since = vb_now_ps();

	while (object->done[call->is_receive] < call->ordinal) {
		struct ibv_wc wc;
		const int got = ibv_poll_cq(cq, 1, &wc);

		if (got < 0)
			return player_fail(player, "to poll a completion queue: %s",
					   strerror(-got));
		if (got == 1 && take_wc(player, &wc) != 0)
			return 1;
		if (got == 1 && wc.status != player->record.wc.status && !player->differs) {
			player->differs = true;
			player_fail(player,
				    "a completion of queue pair 0x%06x says \"%s\", and "
				    "\"%s\" when it was recorded",
				    player->process->objects[call->object].number,
				    player_status(wc.status),
				    player_status(player->record.wc.status));
		}
		if (got == 0 && vb_now_ps() - since > PATIENCE_S * (uint64_t)1000000000000)
			return player_fail(player,
					   "it waits for completion %u of what queue pair 0x%06x "
					   "%s, which has "
					   "not come for %d s",
					   call->ordinal,
					   player->process->objects[call->object].number,
					   call->is_receive ? "receives" : "sends", PATIENCE_S);
	}
	player->base_ps = vb_now_ps();
	return 0;
}

/* ---- requests ---- */

/* Of a call: records that are chained, of which those at the end may not have been taken. */
struct batch {
	uint32_t count; /* of the call */
	uint32_t taken; /* of them that are played */
	struct ibv_send_wr *sends;
	struct ibv_recv_wr *receives;
	struct ibv_sge *sges; /* VRB_RECORD_SGES each */
};

static void place_sges(const struct player *player, struct ibv_sge *to)
{
	const struct vrb_record *record = &player->record;

	for (uint32_t i = 0; i < record->send.sge_kept; i++) {
		const struct hca_sge *sge = &record->send.sges[i];
		const uint32_t at = play_map_get(&player->by_lkey, sge->lkey);
		const struct ibv_mr *mr = at == PLAY_NONE ? NULL : player->objects[at].ibv;
		uint8_t *memory = player_memory(player, sge->addr);

		to[i] = (struct ibv_sge){.addr = memory ? (uint64_t)(uintptr_t)memory : sge->addr,
					 .length = sge->length,
					 .lkey = mr ? mr->lkey : 0};
	}
}

/* Their bytes are taken when they are posted, from memory that need not be registered. */
static int place_inline(struct player *player, struct ibv_sge *to)
{
	for (uint32_t i = 0; i < player->record.send.sge_kept; i++) {
		if (player->record.send.sges[i].length > 1 << 16)
			return player_fail(player, "more than 64 KiB inline");
		to[i] = (struct ibv_sge){.addr = (uint64_t)(uintptr_t)player->scratch,
					 .length = player->record.send.sges[i].length};
	}
	return 0;
}

static struct ibv_ah *ah_of(const struct player *player, const uint8_t gid[16])
{
	for (uint32_t i = player->ah_count; i > 0; i--)
		if (memcmp(player->ahs[i - 1].gid, gid, 16) == 0)
			return player->ahs[i - 1].ah;
	return NULL;
}

static int place_datagram(struct player *player, const struct play_call *call,
			  struct ibv_send_wr *wr)
{
	struct player_remote remote;

	if (player_remote(player, call->peer, call->peer_object, &remote) != 0)
		return 1;
	wr->wr.ud.ah = ah_of(player, player->record.gid);
	wr->wr.ud.remote_qpn = remote.number;
	wr->wr.ud.remote_qkey = player->record.send.wr.qkey;
	return wr->wr.ud.ah ? 0 : player_fail(player, "no address handle of that address");
}

/* What is in no region at the other end has a key that is none there. */
static int place_remote(struct player *player, const struct play_call *call, struct ibv_send_wr *wr)
{
	const struct hca_send_wr *was = &player->record.send.wr;
	struct player_remote remote = {.delta = 0, .number = 0}, srq = {.number = 0};

	if (call->peer_object != PLAY_NONE &&
	    player_remote(player, call->peer, call->peer_object, &remote) != 0)
		return 1;
	if (call->peer_srq != PLAY_NONE &&
	    player_remote(player, call->peer, call->peer_srq, &srq) != 0)
		return 1;
	if (call->peer_srq != PLAY_NONE)
		wr->qp_type.xrc.remote_srqn = srq.number;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = was->remote_addr + remote.delta;
		wr->wr.atomic.rkey = remote.number;
		wr->wr.atomic.compare_add = was->compare_add;
		wr->wr.atomic.swap = was->swap;
	} else {
		wr->wr.rdma.remote_addr = was->remote_addr + remote.delta;
		wr->wr.rdma.rkey = remote.number;
	}
	return 0;
}

static int place_send(struct player *player, const struct play_call *call, struct batch *batch,
		      uint32_t i)
{
	const struct hca_send_wr *was = &player->record.send.wr;
	struct ibv_send_wr *wr = &batch->sends[i];
	struct ibv_sge *sges = batch->sges + (size_t)i * VRB_RECORD_SGES;
	const bool is_ud = player->process->objects[call->object].type == HCA_QPT_UD;

	*wr = (struct ibv_send_wr){.sg_list = sges,
				   .num_sge = (int)player->record.send.sge_kept,
				   .opcode = (enum ibv_wr_opcode)was->opcode,
				   .send_flags = was->flags,
				   .imm_data = was->imm};
	if (was->flags & HCA_SEND_INLINE) {
		if (place_inline(player, sges) != 0)
			return 1;
	} else {
		place_sges(player, sges);
	}
	return is_ud ? place_datagram(player, call, wr) : place_remote(player, call, wr);
}

static void place_receive(const struct player *player, struct batch *batch, uint32_t i)
{
	struct ibv_sge *sges = batch->sges + (size_t)i * VRB_RECORD_SGES;

	place_sges(player, sges);
	batch->receives[i] = (struct ibv_recv_wr){
		.wr_id = 1, .sg_list = sges, .num_sge = (int)player->record.send.sge_kept};
}

static uint32_t chain_length(const struct play_process *process, uint32_t from)
{
	struct vrb_record record;
	uint32_t count = 0;

	do {
		const struct play_call *call = &process->calls[from + count++];

		if (!vrb_record_parse(call->bytes, vbt_length(call->bytes), &record))
			break;
	} while (record.chained && from + count < process->call_count &&
		 process->calls[from + count].kind == record.kind);
	return count;
}

static int fill_batch(struct player *player, struct batch *batch, bool is_send)
{
	const uint32_t from = player->at;

	for (uint32_t i = 0; i < batch->count; i++) {
		const struct play_call *call = &player->process->calls[from + i];

		if (call->is_refused)
			break;
		if (!vrb_record_parse(call->bytes, vbt_length(call->bytes), &player->record))
			return player_fail(player, "its record has changed");
		if (is_send && place_send(player, call, batch, i) != 0)
			return 1;
		if (!is_send)
			place_receive(player, batch, i);
		if (i > 0 && is_send)
			batch->sends[i - 1].next = &batch->sends[i];
		if (i > 0 && !is_send)
			batch->receives[i - 1].next = &batch->receives[i];
		batch->taken = i + 1;
	}
	return 0;
}

static int player_post_batch(struct player *player, const struct batch *batch,
			     const struct play_call *call)
{
	void *queue = player->objects[call->object].ibv;
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_receive;
	int ret;

	if (batch->taken == 0)
		return 0;
	if (call->kind == VRB_RECORD_SEND)
		ret = ibv_post_send(queue, batch->sends, &bad_send);
	else if (call->kind == VRB_RECORD_RECV)
		ret = ibv_post_recv(queue, batch->receives, &bad_receive);
	else
		ret = ibv_post_srq_recv(queue, batch->receives, &bad_receive);
	return ret ? player_fail(player, "a request is refused: %s", strerror(ret)) : 0;
}

/* All records of the call at hand. */
static int play_post(struct player *player, const struct play_call *call)
{
	const uint32_t count = chain_length(player->process, player->at);
	struct batch batch = {.count = count,
			      .sends = calloc(count, sizeof(*batch.sends)),
			      .receives = calloc(count, sizeof(*batch.receives)),
			      .sges = calloc((size_t)count * VRB_RECORD_SGES, sizeof(*batch.sges))};
	int ret = 0;

	if (!batch.sends || !batch.receives || !batch.sges)
		ret = player_fail(player, "no memory");
	ret = ret ? ret : fill_batch(player, &batch, call->kind == VRB_RECORD_SEND);
	ret = ret ? ret : player_post_batch(player, &batch, call);
	free(batch.sends);
	free(batch.receives);
	free(batch.sges);
	for (uint32_t i = 1; i < count && !ret; i++)
		ret = tell_call(player, &call[i]);
	player->at += count - 1;
	return ret;
}

/* ---- all ---- */

static int play_one(struct player *player, const struct play_call *call)
{
	struct ibv_cq *cq;

	switch (call->kind) {
	case VRB_RECORD_SEND:
	case VRB_RECORD_RECV:
	case VRB_RECORD_SRQ_RECV:
		return play_post(player, call);
	case VRB_RECORD_POLL:
		return play_poll(player, call);
	case VRB_RECORD_MODIFY_QP:
		return player_modify(player, call);
	case VRB_RECORD_DESTROY:
		return player_destroy(player, call);
	case VRB_RECORD_ARM:
		cq = player->objects[call->object].ibv;
		return cq->channel ? ibv_req_notify_cq(cq, (int)player->record.flags) : 0;
	case VRB_RECORD_END:
		player_end(player);
		return 0;
	default:
		return player_make(player, call);
	}
}

static int play_call_at(struct player *player)
{
	const struct play_call *call = &player->process->calls[player->at];
	const uint32_t first = player->at;

	if (!call->is_bare &&
	    !vrb_record_parse(call->bytes, vbt_length(call->bytes), &player->record))
		return player_fail(player, "its record has changed");
	/* When a completion is polled it is up to the fabric, not to the clock. */
	if (call->kind != VRB_RECORD_POLL && !call->is_bare)
		sleep_until(player, player->base_ps + call->after_ns * 1000);
	if (wait_needs(player, call) != 0 || play_one(player, call) != 0)
		return 1;
	return tell_call(player, &player->process->calls[first]);
}

static void player_fini(struct player *player)
{
	free(player->objects);
	free(player->scratch);
	free(player->ahs);
	free(player->remote);
	play_map_fini(&player->by_lkey);
	play_map_fini(&player->by_qpn);
	play_map_fini(&player->deltas);
}

int play_main(const struct vb_prog *prog)
{
	struct play *play = program_of(prog)->play;
	struct player *player = calloc(1, sizeof(*player));
	int ret;

	if (!player)
		return 1;
	*player = (struct player){
		.prog = prog, .play = play, .process = &play->processes[prog->rank]};
	ret = player_begin(player);
	player->base_ps = vb_now_ps();
	while (!ret && player->at < player->process->call_count) {
		ret = play_call_at(player);
		player->at += ret == 0;
	}
	if (player->differs)
		ret = 1;
	if (ret == 0 && !play->is_cut)
		player_end(player);
	player_fini(player);
	free(player);
	return ret;
}
