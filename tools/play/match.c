/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/recording.h"

#include "transport/verbs/table.h"

#include <stdlib.h>
#include <string.h>

/* One record that is taken. */
struct taking {
	struct play *play;
	uint32_t number; /* of the process */
	struct play_process *process;
	const struct vrb_record *record;
	const struct bad_at *at;
	uint64_t wall_ns;
	struct play_call *call;
};

static bool refuse_record(const struct taking *t, const char *key, const char *found,
			  const char *expected)
{
	bad(&t->play->errors, t->at, key, found, expected);
	return false;
}

static bool out_of_memory(struct play *play)
{
	play->no_memory = true;
	return false;
}

/* Room for one more of @bytes each; false: there is none. */
static bool make_room(void **list, uint32_t count, uint32_t *room, size_t bytes)
{
	const uint32_t more = *room ? *room * 2 : 64;
	void *larger;

	if (count < *room)
		return true;
	larger = realloc(*list, more * bytes);
	if (!larger)
		return false;
	*list = larger;
	*room = more;
	return true;
}

/* ---- calls and what they wait for ---- */

static struct play_call *new_call(struct play_process *process, uint8_t *bytes, uint8_t kind)
{
	void *list = process->calls;
	struct play_call *call;

	if (!make_room(&list, process->call_count, &process->call_room, sizeof(*call)))
		return NULL;
	process->calls = list;
	call = &process->calls[process->call_count++];
	*call = (struct play_call){.bytes = bytes,
				   .kind = kind,
				   .object = PLAY_NONE,
				   .peer = PLAY_NONE,
				   .peer_object = PLAY_NONE,
				   .peer_srq = PLAY_NONE,
				   .next = PLAY_NONE,
				   .first_need = process->need_count};
	return call;
}

/* Call @call of @other comes before the last one of @process. */
static bool add_need(struct play *play, struct play_process *process, uint32_t other,
		     uint32_t number)
{
	struct play_process *of = &play->processes[other];
	struct play_call *call = &process->calls[process->call_count - 1];
	void *list = process->needs;

	if (of == process || number >= of->call_count)
		return true;
	if (!make_room(&list, process->need_count, &process->need_room, sizeof(*process->needs)))
		return out_of_memory(play);
	process->needs = list;
	process->needs[process->need_count++] = (struct play_need){other, number};
	of->calls[number].is_awaited = true;
	call->need_count++;
	return true;
}

/* What @other has done so far comes before the last call of @process. */
static bool need_all(struct play *play, struct play_process *process, uint32_t other)
{
	const struct play_process *of = &play->processes[other];

	return of->call_count == 0 || add_need(play, process, other, of->call_count - 1);
}

static bool need_peers(struct play *play, struct play_process *process)
{
	for (uint32_t i = 0; i < process->peer_count; i++)
		if (!need_all(play, process, process->peers[i]))
			return false;
	return true;
}

static bool add_peer(struct play *play, struct play_process *process, uint32_t peer)
{
	uint32_t *peers;

	for (uint32_t i = 0; i < process->peer_count; i++)
		if (process->peers[i] == peer)
			return true;
	peers = realloc(process->peers, (process->peer_count + 1) * sizeof(*peers));
	if (!peers)
		return out_of_memory(play);
	process->peers = peers;
	peers[process->peer_count++] = peer;
	return true;
}

static bool join_peers(struct taking *t, uint32_t peer)
{
	return add_peer(t->play, t->process, peer) &&
	       add_peer(t->play, &t->play->processes[peer], t->number);
}

/* ---- objects ---- */

static struct play_object *add_object(struct taking *t, enum vrb_kind kind, uint32_t number)
{
	struct play_process *process = t->process;
	void *list = process->objects;
	struct play_object *object;

	if (!make_room(&list, process->object_count, &process->object_room, sizeof(*object)) ||
	    !play_map_put(&process->by_handle, t->record->object, process->object_count)) {
		t->play->no_memory = true;
		return NULL;
	}
	process->objects = list;
	t->call->object = process->object_count;
	object = &process->objects[process->object_count++];
	*object = (struct play_object){.handle = t->record->object,
				       .kind = (uint8_t)kind,
				       .number = number,
				       .peer = PLAY_NONE,
				       .peer_object = PLAY_NONE,
				       .first_send = PLAY_NONE,
				       .last_send = PLAY_NONE,
				       .last_good = PLAY_NONE,
				       .user = PLAY_NONE};
	return object;
}

/* The one of @handle, of that kind, or of any (0). NULL: refused. */
static struct play_object *find_object(struct taking *t, uint64_t handle, enum vrb_kind kind)
{
	const uint32_t at = play_map_get(&t->process->by_handle, handle);
	struct play_object *object = at == PLAY_NONE ? NULL : &t->process->objects[at];
	struct bad_text found;

	if (object && !object->is_gone && (kind == 0 || object->kind == kind))
		return object;
	refuse_record(t, "object", bad_text(&found, "%llx", (unsigned long long)handle),
		      "an object of the right kind that the process has");
	return NULL;
}

static bool note_object(struct taking *t, enum vrb_kind kind)
{
	struct play_object *object = find_object(t, t->record->object, kind);

	if (object)
		t->call->object = (uint32_t)(object - t->process->objects);
	return object != NULL;
}

/* Whoever names it must be there: of a handle that may be 0 (@may_miss), none. */
static bool has_object(struct taking *t, uint64_t handle, enum vrb_kind kind, bool may_miss)
{
	return (may_miss && handle == 0) || find_object(t, handle, kind);
}

/* ---- memory ---- */

static bool keep_slab(struct taking *t, const struct vrb_mr_init *init)
{
	struct play_process *process = t->process;
	void *list = process->slabs;
	struct bad_text found;

	if (init->is_null || init->dm != 0 || init->length == 0)
		return true;
	if (init->length > (uint64_t)1 << 46 || init->addr + init->length < init->addr)
		return refuse_record(t, "length",
				     bad_text(&found, "%llu", (unsigned long long)init->length),
				     "at most 2^46 bytes: a region of all memory is not played");
	if (!make_room(&list, process->slab_count, &process->slab_room, sizeof(*process->slabs)))
		return out_of_memory(t->play);
	process->slabs = list;
	process->slabs[process->slab_count++] = (struct play_slab){init->addr, init->length};
	return true;
}

static bool take_mr(struct taking *t)
{
	const struct vrb_record *r = t->record;

	if (!has_object(t, r->pd, VRB_PD, false) || !has_object(t, r->mr.init.dm, VRB_DM, true) ||
	    !keep_slab(t, &r->mr.init))
		return false;
	if (!add_object(t, VRB_MR, r->mr.info.rkey))
		return false;
	return play_map_put(&t->process->by_rkey, r->mr.info.rkey, t->call->object) ||
	       out_of_memory(t->play);
}

static int compare_slabs(const void *left, const void *right)
{
	const struct play_slab *a = left, *b = right;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* What overlaps is one. */
static void merge_slabs(struct play_process *process)
{
	uint32_t count = 0;

	if (process->slab_count > 0)
		qsort(process->slabs, process->slab_count, sizeof(*process->slabs), compare_slabs);
	for (uint32_t i = 0; i < process->slab_count; i++) {
		const struct play_slab slab = process->slabs[i];
		struct play_slab *last = count ? &process->slabs[count - 1] : NULL;

		if (!last || slab.addr >= last->addr + last->bytes)
			process->slabs[count++] = slab;
		else if (slab.addr + slab.bytes > last->addr + last->bytes)
			last->bytes = slab.addr + slab.bytes - last->addr;
	}
	process->slab_count = count;
}

/* ---- queue pairs and their other ends ---- */

static uint64_t place_key(uint32_t host, uint32_t qpn)
{
	return (uint64_t)host << 32 | qpn;
}

uint32_t play_process_of(const struct play *play, const struct play_process *from,
			 const uint8_t gid[16])
{
	uint32_t other = PLAY_NONE;

	for (uint32_t i = 0; i < play->process_count; i++) {
		const struct vrb_record_process *info = &play->processes[i].info;

		for (uint32_t k = 0; k < info->gid_count; k++) {
			if (memcmp(info->gids[k], gid, 16) != 0)
				continue;
			if (play->processes[i].boot == from->boot)
				return i;
			other = i;
		}
	}
	return other;
}

/* The queue pair of that address and number. False: it is in no file, which is noted. */
static bool find_end(struct taking *t, const uint8_t gid[16], uint32_t qpn, uint32_t *ret_process,
		     uint32_t *ret_object)
{
	struct play *play = t->play;
	const uint32_t on = play_process_of(play, t->process, gid);
	uint32_t at = PLAY_NONE;

	if (on != PLAY_NONE)
		at = play_map_get(&play->by_qpn, place_key(play->processes[on].host, qpn));
	if (at != PLAY_NONE) {
		*ret_process = play->qps[2 * (size_t)at];
		*ret_object = play->qps[2 * (size_t)at + 1];
		return true;
	}
	if (play->strangers++ > 0)
		return false;
	snprintf(play->stranger, sizeof(play->stranger),
		 "queue pair 0x%06x of %s (process %u) talks to queue pair 0x%06x of "
		 "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x",
		 t->process->objects[t->call->object].number, t->process->info.name,
		 t->process->info.pid, qpn, gid[0], gid[1], gid[2], gid[3], gid[4], gid[5], gid[6],
		 gid[7], gid[8], gid[9], gid[10], gid[11], gid[12], gid[13], gid[14], gid[15]);
	return false;
}

static bool publish_qp(struct taking *t)
{
	struct play *play = t->play;
	uint32_t *qps = realloc(play->qps, (play->qp_count + 1) * 2 * sizeof(*qps));

	if (!qps)
		return out_of_memory(play);
	play->qps = qps;
	qps[2 * (size_t)play->qp_count] = t->number;
	qps[2 * (size_t)play->qp_count + 1] = t->call->object;
	return (play_map_put(&play->by_qpn, place_key(t->process->host, t->record->number),
			     play->qp_count++) &&
		play_map_put(&t->process->by_qpn, t->record->number, t->call->object)) ||
	       out_of_memory(play);
}

static bool take_qp(struct taking *t)
{
	const struct vrb_qp_init *init = &t->record->qp;
	const bool is_target = init->type == HCA_QPT_XRC_RECV;
	struct play_object *object;
	struct bad_text found;

	if (init->type != HCA_QPT_RC && init->type != HCA_QPT_UC && init->type != HCA_QPT_UD &&
	    init->type != HCA_QPT_XRC_SEND && !is_target)
		return refuse_record(t, "type", bad_text(&found, "%d", (int)init->type),
				     "RC, UC, UD or XRC (2, 3, 4, 9, 10)");
	if (!has_object(t, init->pd, VRB_PD, is_target) ||
	    !has_object(t, init->send_cq, VRB_CQ, is_target) ||
	    !has_object(t, init->recv_cq, VRB_CQ, is_target || init->type == HCA_QPT_XRC_SEND) ||
	    !has_object(t, init->srq, VRB_SRQ, true) ||
	    !has_object(t, init->xrcd, VRB_XRCD, !is_target))
		return false;
	object = add_object(t, VRB_QP, t->record->number);
	if (!object)
		return false;
	object->type = (uint8_t)init->type;
	return publish_qp(t);
}

static bool take_modify(struct taking *t)
{
	const struct vrb_record *r = t->record;
	const uint32_t mask = r->modify.mask;
	struct play_object *object;

	if (!note_object(t, VRB_QP))
		return false;
	object = &t->process->objects[t->call->object];
	if (mask & HCA_QP_AV && mask & HCA_QP_DEST_QPN &&
	    find_end(t, r->modify.av.dgid, r->modify.attr.dest_qpn, &t->call->peer,
		     &t->call->peer_object)) {
		object->peer = t->call->peer;
		object->peer_object = t->call->peer_object;
		object->has_sent = false;
		return join_peers(t, object->peer);
	}
	if (mask & HCA_QP_STATE &&
	    (r->modify.attr.state == HCA_QPS_RESET || r->modify.attr.state == HCA_QPS_ERR) &&
	    object->peer != PLAY_NONE)
		return need_all(t->play, t->process, object->peer);
	return true;
}

/* What a peer still uses goes once that has done all that it had done then. */
static bool take_destroy(struct taking *t)
{
	struct play_object *object;

	if (!note_object(t, 0))
		return false;
	object = &t->process->objects[t->call->object];
	object->is_gone = true;
	if (object->kind == VRB_QP && object->type == HCA_QPT_UD)
		return need_peers(t->play, t->process);
	if (object->kind == VRB_QP && object->peer != PLAY_NONE)
		return need_all(t->play, t->process, object->peer);
	if (object->kind == VRB_MR && object->user == PLAY_MANY)
		return need_peers(t->play, t->process);
	if (object->kind == VRB_MR && object->user != PLAY_NONE)
		return need_all(t->play, t->process, object->user);
	return true;
}

/* ---- requests ---- */

static bool is_atomic_wr(enum hca_wr_opcode opcode)
{
	return opcode == HCA_WR_ATOMIC_CMP_AND_SWP || opcode == HCA_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_of_memory(enum hca_wr_opcode opcode)
{
	return opcode == HCA_WR_RDMA_WRITE || opcode == HCA_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == HCA_WR_RDMA_READ || is_atomic_wr(opcode);
}

/* What it names at the other end, as far as that is known: what is not, is no rkey there either. */
static void find_memory(struct taking *t, uint32_t peer)
{
	struct play_process *of = &t->play->processes[peer];
	const uint32_t at = play_map_get(&of->by_rkey, t->record->send.wr.rkey);
	struct play_object *region = at == PLAY_NONE ? NULL : &of->objects[at];

	if (!is_of_memory(t->record->send.wr.opcode) || !region)
		return;
	t->call->peer_object = at;
	region->user =
		region->user == PLAY_NONE || region->user == t->number ? t->number : PLAY_MANY;
}

/* The first to somebody comes after all that had been done there. */
static bool need_first(struct taking *t, struct play_object *object, uint32_t peer,
		       uint32_t peer_object)
{
	const uint64_t key = (uint64_t)t->call->object << 40 ^ (uint64_t)peer << 24 ^ peer_object;

	if (object->type != HCA_QPT_UD) {
		if (object->has_sent)
			return true;
		object->has_sent = true;
		return need_all(t->play, t->process, peer);
	}
	if (play_map_get(&t->process->sent_to, key) != PLAY_NONE)
		return true;
	return (play_map_put(&t->process->sent_to, key, 1) || out_of_memory(t->play)) &&
	       join_peers(t, peer) && need_all(t->play, t->process, peer);
}

static bool count_send(struct taking *t)
{
	const struct vrb_record *r = t->record;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < r->send.sge_kept; i++)
		bytes += r->send.sges[i].length;
	t->process->sent++;
	t->process->bytes_sent += bytes;
	return true;
}

static bool lead_send(struct taking *t, struct play_object *object)
{
	const struct hca_send_wr *wr = &t->record->send.wr;
	uint32_t peer = object->peer, peer_object = object->peer_object;

	if (object->type == HCA_QPT_UD) {
		if (!t->record->send.has_path ||
		    !find_end(t, t->record->gid, wr->dest_qpn, &peer, &peer_object))
			return true;
		t->call->peer_object = peer_object;
	}
	if (peer == PLAY_NONE)
		return true;
	t->call->peer = peer;
	if (object->type != HCA_QPT_UD)
		find_memory(t, peer);
	if (object->type == HCA_QPT_XRC_SEND)
		t->call->peer_srq = play_map_get(&t->play->processes[peer].by_srqn, wr->srqn);
	return need_first(t, object, peer, peer_object);
}

static bool take_send(struct taking *t)
{
	const enum hca_wr_opcode opcode = t->record->send.wr.opcode;
	const uint32_t number = t->process->call_count - 1;
	struct play_object *object;
	struct bad_text found;

	if (!note_object(t, VRB_QP))
		return false;
	if ((uint32_t)opcode > HCA_WR_ATOMIC_FETCH_AND_ADD)
		return refuse_record(
			t, "opcode", bad_text(&found, "%d", (int)opcode),
			"a SEND, WRITE, READ or atomic (0 to 6): windows of memory and "
			"what ends them are not played");
	object = &t->process->objects[t->call->object];
	t->call->wr_id = t->record->send.wr.wr_id;
	if (object->last_send == PLAY_NONE)
		object->first_send = number;
	else
		t->process->calls[object->last_send].next = number;
	object->last_send = number;
	return count_send(t) && lead_send(t, object);
}

/* Of the requests posted last on that queue only so many were taken. */
static bool take_refusal(struct taking *t)
{
	struct play_process *process = t->process;
	uint32_t left = t->record->flags;

	if (!note_object(t, 0))
		return false;
	for (uint32_t i = process->call_count - 1; i > 0 && left > t->record->number;) {
		struct play_call *call = &process->calls[--i];

		if (call->object != t->call->object ||
		    (call->kind != VRB_RECORD_SEND && call->kind != VRB_RECORD_RECV &&
		     call->kind != VRB_RECORD_SRQ_RECV))
			continue;
		call->is_refused = true;
		process->sent -= call->kind == VRB_RECORD_SEND;
		left--;
	}
	return true;
}

/* ---- completions ---- */

/* The half of the queue pair that it is of. Where it is no success the opcode says nothing: then it
 * is what the program calls it. */
static bool is_of_receive(struct taking *t, struct play_object *object)
{
	const struct ibv_wc *wc = &t->record->wc;
	const struct play_call *calls = t->process->calls;
	uint32_t at = object->first_send;

	if (wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV)
		return true;
	while (at != PLAY_NONE && (calls[at].wr_id != wc->wr_id || calls[at].is_refused))
		at = calls[at].next;
	if (at == PLAY_NONE)
		return wc->status != IBV_WC_SUCCESS;
	object->first_send = calls[at].next;
	if (object->first_send == PLAY_NONE)
		object->last_send = PLAY_NONE;
	return false;
}

static bool take_poll(struct taking *t)
{
	const struct ibv_wc *wc = &t->record->wc;
	uint32_t at = play_map_get(&t->process->by_qpn, wc->qp_num);
	struct play_object *object;
	struct bad_text found;

	if (!find_object(t, t->record->object, VRB_CQ))
		return false;
	if (at == PLAY_NONE)
		return refuse_record(t, "qp_num", bad_text(&found, "0x%06x", wc->qp_num),
				     "a queue pair that the process has or had");
	object = &t->process->objects[at];
	t->call->object = at;
	t->call->is_receive = is_of_receive(t, object);
	t->call->ordinal = ++object->done[t->call->is_receive];
	if (wc->status == IBV_WC_SUCCESS)
		object->last_good = t->process->call_count - 1;
	t->process->received += t->call->is_receive && wc->status == IBV_WC_SUCCESS;
	t->process->base_ns = t->wall_ns;
	return true;
}

/* ---- all ---- */

static bool take_srq(struct taking *t)
{
	const struct vrb_srq_init *init = &t->record->srq;

	if (!has_object(t, init->pd, VRB_PD, false) || !has_object(t, init->xrcd, VRB_XRCD, true) ||
	    !has_object(t, init->cq, VRB_CQ, true) || !add_object(t, VRB_SRQ, t->record->number))
		return false;
	return t->record->number == 0 ||
	       play_map_put(&t->process->by_srqn, t->record->number, t->call->object) ||
	       out_of_memory(t->play);
}

static bool take_cq(struct taking *t)
{
	return has_object(t, t->record->cq.channel, VRB_CHANNEL, true) &&
	       add_object(t, VRB_CQ, t->record->number) != NULL;
}

static bool refuse_kind(struct taking *t, const char *what)
{
	return refuse_record(t, "record", what, "calls that can be played");
}

static bool match_take(struct taking *t)
{
	switch (t->record->kind) {
	case VRB_RECORD_CREATE_PD:
		return add_object(t, VRB_PD, 0) != NULL;
	case VRB_RECORD_CREATE_MR:
		return take_mr(t);
	case VRB_RECORD_CHANGE_MR:
		return refuse_kind(t, "a region registered anew");
	case VRB_RECORD_CREATE_MW:
		return has_object(t, t->record->pd, VRB_PD, false) &&
		       add_object(t, VRB_MW, 0) != NULL;
	case VRB_RECORD_CREATE_DM:
		return add_object(t, VRB_DM, 0) != NULL;
	case VRB_RECORD_CREATE_CHANNEL:
		return add_object(t, VRB_CHANNEL, t->record->flags) != NULL;
	case VRB_RECORD_CREATE_CQ:
		return take_cq(t);
	case VRB_RECORD_OPEN_XRCD:
		return add_object(t, VRB_XRCD, 0) != NULL;
	case VRB_RECORD_CREATE_SRQ:
		return take_srq(t);
	case VRB_RECORD_CREATE_QP:
		return take_qp(t);
	case VRB_RECORD_OPEN_QP:
		return refuse_kind(t, "a queue pair opened a second time");
	case VRB_RECORD_ARM:
	case VRB_RECORD_RESIZE:
	case VRB_RECORD_MODERATE:
		return note_object(t, VRB_CQ);
	case VRB_RECORD_WAIT:
		return note_object(t, VRB_CHANNEL);
	case VRB_RECORD_MODIFY_SRQ:
		return note_object(t, VRB_SRQ);
	case VRB_RECORD_MODIFY_QP:
		return take_modify(t);
	case VRB_RECORD_DESTROY:
		return take_destroy(t);
	case VRB_RECORD_SEND:
		return take_send(t);
	case VRB_RECORD_RECV:
		return note_object(t, VRB_QP);
	case VRB_RECORD_SRQ_RECV:
		return note_object(t, VRB_SRQ);
	case VRB_RECORD_REFUSED:
		return take_refusal(t);
	case VRB_RECORD_POLL:
		return take_poll(t);
	case VRB_RECORD_END:
		t->process->has_ended = true;
		return need_peers(t->play, t->process);
	case VRB_RECORD_PROCESS:
	case VRB_RECORD_OPEN:
	case VRB_RECORD_CLOSE:
	case VRB_RECORD_AH:
	case VRB_RECORD_WHOLE:
	case VRB_RECORD_COUNT:
		break;
	}
	return true;
}

bool play_take(struct play *play, uint32_t process, const struct vrb_record *record, uint8_t *bytes,
	       uint64_t wall_ns, const struct bad_at *at)
{
	struct taking t = {.play = play,
			   .number = process,
			   .process = &play->processes[process],
			   .record = record,
			   .at = at,
			   .wall_ns = wall_ns};

	t.call = new_call(t.process, bytes, (uint8_t)record->kind);
	if (!t.call)
		return out_of_memory(play);
	if (t.process->call_count == 1)
		t.process->base_ns = wall_ns;
	t.call->after_ns = wall_ns - t.process->base_ns;
	return match_take(&t);
}

/* One that was killed was there at least until the last request of a peer's that went well. */
static bool end_killed(struct play *play, uint32_t number)
{
	struct play_process *process = &play->processes[number];
	struct play_call *call = new_call(process, NULL, VRB_RECORD_END);

	if (!call)
		return out_of_memory(play);
	call->is_bare = true;
	for (uint32_t i = 0; i < process->peer_count; i++) {
		const struct play_process *peer = &play->processes[process->peers[i]];

		for (uint32_t k = 0; k < peer->object_count; k++)
			if (peer->objects[k].peer == number &&
			    peer->objects[k].last_good != PLAY_NONE &&
			    !add_need(play, process, process->peers[i], peer->objects[k].last_good))
				return false;
	}
	return true;
}

bool play_end(struct play *play)
{
	for (uint32_t i = 0; i < play->process_count; i++) {
		merge_slabs(&play->processes[i]);
		if (!play->processes[i].has_ended && !play->is_cut && !end_killed(play, i))
			return false;
	}
	return true;
}
