/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/host.h"

#include "models/machine/machine.h"
#include "models/machine/through_wire.h"
#include "models/program/task.h"
#include "sim/port.h"
#include "sim/route.h"
#include "sim/sim.h"
#include "transport/wire/bth.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/fold.h"
#include "util/siphash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FACT_COMPLETION = 1, FACT_PLACED = 2, FACT_PLACED_SYNTHETIC = 3, FACT_FINAL = 4 };

static ps_t host_later(ps_t a, ps_t b)
{
	return a > b ? a : b;
}

static ps_t host_earlier(ps_t a, ps_t b)
{
	return a < b ? a : b;
}

static void host_on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	struct host *host = world;
	const bool has_length = wc->opcode >= HCA_WC_RECV || wc->opcode == HCA_WC_RDMA_READ;
	const uint32_t length = wc->status == HCA_WC_SUCCESS && has_length ? wc->byte_len : 0;

	host->stats.completions++;
	host->stats.completions_failed += wc->status != HCA_WC_SUCCESS;
	sim_digest_add(&host->node, now, (uint64_t)FACT_COMPLETION << 56 | wc->qpn,
		       (uint64_t)wc->status << 56 |
			       (uint64_t)(wc->status == HCA_WC_SUCCESS ? wc->opcode : 0) << 40 |
			       length);
	if (wc->status == HCA_WC_SUCCESS && (wc->flags & HCA_WC_WITH_IMM))
		sim_digest_add(&host->node, now, FACT_COMPLETION, util_from_be32(wc->imm));
	if (host->client && host->client->cq == cq)
		host->client->on_completion(host->client, now);
	else
		task_on_wc(host, cq, now);
}

static void host_on_cq_event(void *world, void *cq_owner, ps_t now)
{
	(void)world, (void)now;
	task_on_cq_event(cq_owner);
}

/* The bytes at @host; those of a word as a little-endian machine has them, so that the digest is
 * the same everywhere. */
static uint64_t fold_placed(const uint8_t *host, uint32_t length, bool is_word)
{
	uint64_t value;
	uint8_t word[sizeof(value)];

	if (!is_word)
		return util_fold_bytes(host, length);
	memcpy(&value, host, sizeof(value));
	for (uint32_t i = 0; i < sizeof(word); i++)
		word[i] = (uint8_t)(value >> 8 * i);
	return util_fold_bytes(word, sizeof(word));
}

static void placed_synthetic(struct host *host, uint64_t stream, uint64_t offset, uint32_t length,
			     ps_t now)
{
	sim_digest_add(&host->node, now, (uint64_t)FACT_PLACED_SYNTHETIC << 56 | length, stream);
	sim_digest_add(&host->node, now, offset, length);
}

static void placed_bytes(struct host *host, uint32_t region, uint64_t offset, uint32_t length,
			 uint64_t fold, ps_t now)
{
	sim_digest_add(&host->node, now, (uint64_t)FACT_PLACED << 56 | region,
		       (uint64_t)length << 40 | (offset & 0xffffffffffu));
	sim_digest_add(&host->node, now, length, fold);
	if (host->memory_tap)
		host->memory_tap->on_place(host->memory_tap, host, region, offset, length, fold,
					   now);
}

static void host_on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
			  bool is_word, ps_t now)
{
	struct host *host = world;

	host->placed_bytes += length;
	if (__builtin_expect(host->placement_waiters > 0, 0))
		task_on_place(host, now);
	if (mr->ops == &hca_mem_synthetic)
		placed_synthetic(host, mr->stream, offset, length, now);
	else
		placed_bytes(host, mr->number, offset, length,
			     fold_placed(hca_mem_host_at(mr->address + offset), length, is_word),
			     now);
}

void host_note_pattern(struct host *host, uint64_t stream, uint64_t offset, uint32_t length,
		       ps_t at)
{
	host->placed_bytes += length;
	if (__builtin_expect(host->placement_waiters > 0, 0))
		task_on_place(host, at);
	placed_synthetic(host, stream, offset, length, at);
}

void host_note_placement(struct host *host, const struct hca_dma *dma)
{
	if (dma->synthetic) {
		host_note_pattern(host, dma->stream, dma->offset, dma->length, host->now);
		return;
	}
	host->placed_bytes += dma->length;
	if (__builtin_expect(host->placement_waiters > 0, 0))
		task_on_place(host, host->now);
	placed_bytes(host, dma->region, dma->offset, dma->length,
		     fold_placed(hca_mem_host_at(dma->address), dma->length, dma->is_word),
		     host->now);
}

static void host_on_async(void *world, void *qp_owner, int event, ps_t now)
{
	(void)now;
	task_on_async(world, qp_owner, event);
}

static const struct hca_observer observer = {
	.on_wc = host_on_wc,
	.on_cq_event = host_on_cq_event,
	.on_place = host_on_place,
	.on_async = host_on_async,
};
static const struct hca_observer observer_with_bus = {
	.on_wc = host_on_wc,
	.on_cq_event = host_on_cq_event,
	.on_place = host_dma_on_place,
	.on_async = host_on_async,
};

static void host_through_wire(const struct host *host, const struct wire_path *path, uint8_t ecn,
			      uint8_t priority, struct wire_pkt *pkt)
{
	struct wire_path sent = *path;

	host_path_of_frame(host, priority, &sent);
	sent.ecn = ecn;
	packet_through_wire(&sent, pkt);
}

static struct packet_sender sender_of(const struct host *host, const struct wire_path *path)
{
	struct packet_sender sender = {.host = host->number,
				       .flow_label = path->flow_label,
				       .udp_sport = path->udp_sport,
				       .dscp = path->dscp,
				       .priority = path->priority};

	if (sim_address_is_mcast(path->link_dst))
		memcpy(sender.group_ip, path->dst_ip, sizeof(sender.group_ip));
	return sender;
}

static void host_measure(struct host *host, const struct wire_pkt *pkt)
{
	const struct hca_framing *framing = &host->params.profile.framing;

	if (hca_framing_is_set(framing)) /* 16 bits, which wrap back in the sum */
		host->wire_overhead =
			(uint16_t)(hca_framing_bytes(framing, pkt) - wire_pkt_bytes(pkt));
}

static __attribute__((noinline, cold)) void look_closer(struct host *host,
							const struct wire_path *path, uint8_t ecn,
							uint8_t priority, struct wire_pkt *pkt)
{
	if (host->params.through_wire)
		host_through_wire(host, path, ecn, priority, pkt);
	host_measure(host, pkt);
}

/* @frame becomes that of @pkt, whose slab goes along with it. */
static inline __attribute__((always_inline)) void fill_frame(struct host *host,
							     const struct wire_pkt *pkt,
							     const struct hca_tx *tx,
							     struct sim_pkt *frame)
{
	frame->dst = tx->path->link_dst;
	frame->flow_hash = tx->path->link_hash;
	frame->bytes = (uint16_t)(wire_pkt_bytes(pkt) + host->wire_overhead);
	sim_pkt_set_priority(frame, tx->priority);
	frame->ecn = tx->ecn & 3u;
	frame->frame = SIM_DATA;
	frame->ttl = tx->path->ttl;
	packet_pack(pkt, host->room, frame);
	if (packet_uses_slab(pkt)) {
		if (pkt->has_rare)
			host->room->from = sender_of(host, tx->path);
		host->room = NULL;
	}
}

void host_give_up(struct host *host)
{
	host->now = host->th->until;
	if (host->machine)
		host_machine(host)->given_up = true;
	if (host->dma)
		host->dma->tx.open = 0;
	packet_pools_exhaust(packet_pools_of(host->th));
}

/* What few hosts do with a frame that starts. */
static __attribute__((noinline)) void start_closely(struct host *host, const struct sim_pkt *frame,
						    const struct wire_path *path)
{
	if (host->tapped)
		host->tap->on_frame(host->tap, host, true, frame, path, host->now);
	if (host->in_groups)
		host_copy_to_groups(host, frame, path);
}

/* @frame starts now. */
static inline __attribute__((always_inline)) void
start(struct host *host, struct sim_pkt *frame, const struct wire_path *path, uint8_t priority)
{
	if (frame->dst == host->address) {
		host_loop_send(host, frame);
		sim_frame_put(host->th, frame);
		return;
	}
	if (host->tapped || host->in_groups)
		start_closely(host, frame, path);
	host->stats.sent[priority].bytes += frame->bytes;
	host->stats.sent[priority].packets++;
	if (host->fc_heads)
		sim_fc_sent(host->fc, 0, frame);
	sim_port_forward(host->th, host->node.ports, frame, host->now);
}

static void transmit(struct host *host, uint32_t priorities)
{
	struct sim_pkt *frame;
	struct wire_pkt pkt;
	struct hca_tx tx;

	if (!host->room)
		host->room = packet_slab_get(host->th);
	if (!host->room) {
		host_give_up(host);
		return;
	}
	pkt.payload = host->room->bytes;
	if (!hca_output(host->hca, priorities, &pkt, &tx, host->now)) {
		CHECK(hca_next_at(host->hca, priorities) > host->now);
		return;
	}
	if (host->parses_frames)
		look_closer(host, tx.path, tx.ecn, tx.priority, &pkt);
	frame = sim_frame_get(host->th);
	if (!frame) {
		host_give_up(host);
		return;
	}
	fill_frame(host, &pkt, &tx, frame);
	start(host, frame, tx.path, tx.priority);
}

/* Where credits decide. */
static __attribute__((noinline)) uint32_t open_by_heads(const struct host *host, uint32_t open)
{
	for (uint8_t i = 0; i < host->fc->priority_count; i++)
		if (!host->fc->ops->may_send(host->fc, 0, i, host->packet_bytes_max))
			open &= ~(1u << i);
	return open;
}

/* Priorities whose next packet, however long, may start. */
static inline uint32_t open_priorities(const struct host *host, const struct sim_port *port)
{
	const uint32_t open = ~(uint32_t)port->paused & 0xffff;

	return host->fc_heads ? open_by_heads(host, open) : open;
}

/* ---- with a bus: a packet is decided, waits, and starts ---- */

static void host_drop(struct host *host, const struct sim_pkt *frame)
{
	struct packet_slab *slab = packet_slab_of(frame);

	if (slab)
		packet_slab_put(host->th, slab);
}

static __attribute__((noinline, cold)) void
decided_through_wire(struct host *host, const struct tx_packet *packet, struct sim_pkt *frame)
{
	struct wire_pkt pkt;

	packet_unpack(frame, &pkt);
	host_through_wire(host, &packet->path, frame->ecn, packet->priority, &pkt);
	packet_pack(&pkt, packet_slab_of(frame), frame);
}

static void start_decided(struct host *host, const struct tx_packet *packet)
{
	struct sim_pkt *frame = sim_frame_get(host->th);

	if (!frame || !hca_dma_start(host->hca, &packet->ticket, host->now)) {
		host_drop(host, &packet->frame);
		if (frame)
			sim_frame_put(host->th, frame);
		else
			host_give_up(host);
		return;
	}
	*frame = packet->frame;
	if (__builtin_expect(host->params.through_wire, false))
		decided_through_wire(host, packet, frame);
	start(host, frame, &packet->path, packet->priority);
}

/* Whether at this instant nothing can go before a packet that is decided. */
static inline bool is_idle(const struct host *host, uint8_t priority)
{
	const struct sim_port *port = host->node.ports;

	return port->free_at <= host->now && host->dma->tx.waiting == 0 &&
	       host->loop_open_at <= host->now && host->control_count == 0 &&
	       host->fc_timer_at > host->now &&
	       (!host->local.root || host->local.root->at > host->now) &&
	       open_priorities(host, port) >> priority & 1;
}

/* When @packet, which is @pkt, has its bytes. Over an even bus nobody tells of a reference. */
static inline ps_t bytes_at(const struct host *host, const struct tx_packet *packet,
			    const struct wire_pkt *pkt)
{
	if (packet->fetches)
		return PS_NEVER;
	return pkt->synthetic ? host->now + 2 * host->dma->way : host->now;
}

static __attribute__((noinline)) void decide(struct host *host)
{
	struct tx_buffer *buffer = &host->dma->tx;
	struct tx_packet *packet = tx_buffer_next(buffer);
	struct wire_pkt pkt;
	struct hca_tx tx;

	if (!host->room)
		host->room = packet_slab_get(host->th);
	if (!host->room || !packet) {
		host_give_up(host);
		return;
	}
	pkt.payload = host->room->bytes;
	if (!hca_dma_output(host->hca, buffer->open, &pkt, &tx, &packet->ticket, host->now)) {
		CHECK(packet->fetches == 0);
		return;
	}
	if (__builtin_expect(host->tapped || host->parses_frames, false)) {
		if (host->parses_frames)
			host_measure(host, &pkt);
		packet->path = *tx.path;
	}
	packet->ready_at = bytes_at(host, packet, &pkt);
	packet->priority = tx.priority;
	fill_frame(host, &pkt, &tx, &packet->frame);
	if (packet->ready_at <= host->now && is_idle(host, tx.priority))
		start_decided(host, packet);
	else
		tx_buffer_keep(buffer);
}

/* All that there is room for. */
static inline void decide_all(struct host *host)
{
	while (hca_next_at(host->hca, host->dma->tx.open) == 0)
		decide(host);
}

/* What its receiver has to know of how a packet with @slab came; only datagrams tell. False: it is
 * for a group that nobody here is in, whose MAC the adapter does not take. */
static __attribute__((noinline)) bool find_path(struct host *host, const struct sim_pkt *frame,
						const struct wire_pkt *pkt,
						const struct packet_slab *slab, struct hca_rx *rx,
						struct wire_path *path)
{
	if (!wire_op_find(pkt->opcode)->deth)
		return true;
	*path = host_path_from(host, frame, &slab->from);
	rx->path = path;
	if (!sim_address_is_mcast(frame->dst) || hca_mcast_count(host->hca, path->dst_ip) > 0)
		return true;
	host->stats.not_joined++;
	return false;
}

void host_deliver(struct host *host, const struct sim_pkt *frame)
{
	struct hca_rx rx = {.ecn = frame->ecn};
	struct packet_slab *slab = NULL;
	struct wire_path path;
	struct wire_pkt pkt;
	bool is_mine = true;

	packet_unpack(frame, &pkt);
	if (packet_uses_slab(&pkt)) {
		slab = packet_slab_of(frame);
		if (pkt.has_rare)
			is_mine = find_path(host, frame, &pkt, slab, &rx, &path);
	}
	/* The only call, and so a part of this function: bench/run W1 shows another one. */
	if (__builtin_expect(is_mine, true))
		hca_input(host->hca, &pkt, &rx, host->now);
	if (slab)
		packet_slab_put(host->th, slab);
}

/* Control frames, and what a host has beside its adapter. */
static __attribute__((noinline)) void receive_otherwise(struct host *host,
							const struct sim_pkt *frame)
{
	if (host->tapped)
		host->tap->on_frame(host->tap, host, false, frame, NULL, host->now);
	if (frame->frame == SIM_CONTROL || (host->fc_all && !host->rx)) {
		sim_fc_receive(host->fc, host->th, frame);
		host->fc_timer_at = host->fc->timer_at;
	}
	if (frame->frame != SIM_DATA)
		return;
	if (frame->dst != host->address && !sim_address_is_mcast(frame->dst)) {
		host->stats.not_mine++;
		sim_tell_loss(&host->node, 0, frame, HOST_LOSS_OTHERS, host->now);
		host_drop(host, frame);
	} else if (host->rx) {
		host_rx_take(host, frame);
	} else {
		host_hand_over(host, frame);
	}
}

static inline void receive(struct host *host, const struct sim_pkt *frame)
{
	const bool plain = !(host->fc_all || host->tapped || host->sifts);

	if (__builtin_expect(plain && frame->frame != SIM_CONTROL, 1))
		host_deliver(host, frame);
	else
		receive_otherwise(host, frame);
}

static void transmit_control(struct host *host)
{
	if (host->tapped)
		host->tap->on_frame(host->tap, host, true, &host->control[0], NULL, host->now);
	sim_port_send(host->th, host->node.ports, &host->control[0], host->now);
	host->control_count--;
	memmove(host->control, host->control + 1, host->control_count * sizeof(host->control[0]));
}

static void run_local(struct host *host, enum sim_local_phase phase)
{
	struct sim_local_event *event = sim_local_pop(&host->local, host->now, phase);

	event->fn(event, host);
}

static void run_timers(struct host *host)
{
	if (host->fc_timer_at <= host->now) {
		host->fc->ops->on_timer(host->fc, host->th, host->now);
		host->fc_timer_at = host->fc->timer_at;
	} else {
		hca_advance(host->hca, host->now);
	}
}

struct due { /* next, at a host: the earliest of these times and of the first local event */
	ps_t at, arrival_at, timer_at, start_at;
	ps_t other_at;			     /* the earliest of these three */
	const struct sim_local_event *local; /* NULL: none */
	uint32_t priorities;		     /* whose next packet may start */
};

static inline __attribute__((always_inline)) struct due
look_ahead(const struct host *host, ps_t arrival_at, const bool has_bus)
{
	const struct hca_device *hca = host->hca;
	const struct sim_port *port = host->node.ports;
	const ps_t adapter_at = hca_next_at(hca, 0);
	struct due due = {.local = host->local.root,
			  .priorities = open_priorities(host, port),
			  .arrival_at = arrival_at,
			  .timer_at = host->fc_timer_at,
			  .start_at = PS_NEVER};

	due.timer_at = host_earlier(adapter_at, due.timer_at);
	/* A packet whose rate does not let it go yet is a timer so far. */
	if (host->control_count)
		due.start_at = port->free_at;
	else if (has_bus && host->dma->tx.waiting)
		due.start_at = host_later(tx_buffer_ready_at(&host->dma->tx, due.priorities),
					  host_later(port->free_at, host->loop_open_at));
	else if (!has_bus && hca_next_at(hca, due.priorities) == 0)
		due.start_at = host_later(port->free_at, host->loop_open_at);
	due.at = arrival_at < due.timer_at ? arrival_at : due.timer_at;
	due.at = due.start_at < due.at ? due.start_at : due.at;
	due.other_at = due.at;
	if (due.local && due.local->at < due.at)
		due.at = due.local->at;
	due.at = host_later(due.at, host->now);
	return due;
}

/* One thing at a time, the earliest; at one instant timers, starts, arrivals, programs. */
static inline __attribute__((always_inline)) void run(struct sim_thread *th, struct sim_node *node,
						      struct sim_pkt *const *arrivals,
						      uint32_t count, const bool has_bus)
{
	struct host *host = container_of(node, struct host, node);
	uint32_t i = 0;

	host->th = th;
	for (;;) {
		if (has_bus)
			decide_all(host);
		const struct due due =
			look_ahead(host, i < count ? arrivals[i]->at : PS_NEVER, has_bus);

		if (has_bus && host->dma->known_at <= due.at &&
		    host_dma_tell(host, host_earlier(due.at, th->until - 1)))
			continue;
		if (has_bus && due.local && due.local->is_inside &&
		    due.local->at < host_earlier(due.other_at, th->until)) {
			host_dma_play(host, host_earlier(due.other_at, th->until));
			continue;
		}
		if (due.at >= th->until) {
			const ps_t at =
				has_bus ? host_earlier(due.at, host->dma->known_at) : due.at;

			if (at != PS_NEVER)
				host_ask(host, at);
			break;
		}
		host->now = due.at;
		if (due.local && due.local->at == due.at && due.local->phase == SIM_LOCAL_TIMER)
			run_local(host, SIM_LOCAL_TIMER);
		else if (due.timer_at <= due.at)
			run_timers(host);
		else if (due.start_at <= due.at && host->control_count)
			transmit_control(host);
		else if (due.start_at <= due.at && has_bus)
			start_decided(host,
				      tx_buffer_take(&host->dma->tx, due.priorities, host->now));
		else if (due.start_at <= due.at)
			transmit(host, due.priorities);
		else if (due.arrival_at == due.at)
			receive(host, arrivals[i++]);
		else
			run_local(host, due.local->phase);
	}
	host->th = NULL;
}

static void host_run(struct sim_thread *th, struct sim_node *node, struct sim_pkt *const *arrivals,
		     uint32_t count)
{
	run(th, node, arrivals, count, false);
}

static void host_run_with_bus(struct sim_thread *th, struct sim_node *node,
			      struct sim_pkt *const *arrivals, uint32_t count)
{
	run(th, node, arrivals, count, true);
}

ps_t host_due_at(const struct host *host)
{
	if (!host->dma)
		return look_ahead(host, PS_NEVER, false).at;
	if (hca_next_at(host->hca, host->dma->tx.open) == 0)
		return host->now; /* to be decided */
	return host_earlier(look_ahead(host, PS_NEVER, true).at, host->dma->known_at);
}

enum host_phase host_due_phase(const struct host *host, bool frame, ps_t at)
{
	const struct host_dma *dma = host->dma;
	const struct due due =
		dma ? look_ahead(host, PS_NEVER, true) : look_ahead(host, PS_NEVER, false);
	const bool has_local = due.local && due.local->at <= at;

	if (due.timer_at <= at || (has_local && due.local->phase == SIM_LOCAL_TIMER) ||
	    (dma && dma->known_at <= at))
		return HOST_TIMER;
	if (due.start_at <= at || (dma && hca_next_at(host->hca, dma->tx.open) == 0))
		return HOST_START;
	if (frame)
		return HOST_FRAME;
	CHECK(has_local);
	return due.local->phase == SIM_LOCAL_PROGRAM ? HOST_PROGRAM : HOST_ARRIVAL;
}

void host_play_event(struct host *host, struct sim_thread *th, ps_t at)
{
	const struct due due = look_ahead(host, PS_NEVER, false);
	const bool is_local = due.local && due.local->at == at;

	host->th = th;
	host->now = at;
	if (host->dma && host->dma->known_at <= at)
		host_dma_tell(host, at);
	else if (due.timer_at <= at && !(is_local && due.local->phase == SIM_LOCAL_TIMER))
		run_timers(host);
	else
		run_local(host, due.local->phase);
}

void host_play(struct host *host, struct sim_thread *th, struct sim_pkt *const *arrivals,
	       uint32_t count)
{
	if (host->dma)
		host_run_with_bus(th, &host->node, arrivals, count);
	else
		host_run(th, &host->node, arrivals, count);
}

void host_finish(struct sim_node *node)
{
	struct host *host = container_of(node, struct host, node);
	const struct hca_counters *c = hca_device_counters(host->hca);

	sim_digest_add(node, FACT_FINAL, c->tx_packets, c->rx_packets);
	sim_digest_add(node, FACT_FINAL, c->packets_retransmitted, c->np_cnp_sent);
	sim_digest_add(node, FACT_FINAL, host->stats.completions, host->placed_bytes);
	if (host->stats.not_mine > 0)
		sim_digest_add(node, FACT_FINAL, host->stats.not_mine, 0);
	if (host->stats.not_joined > 0)
		sim_digest_add(node, FACT_FINAL, host->stats.not_joined, 1);
}

static const struct sim_node_ops host_ops = {
	.kind = "host",
	.run = host_run,
	.finish = host_finish,
};
static const struct sim_node_ops host_ops_with_bus = {
	.kind = "host",
	.run = host_run_with_bus,
	.finish = host_finish,
};

static uint32_t longest_frame(const struct hca_profile *profile)
{
	const bool has_int = profile->cc->takes_int;

	if (hca_framing_is_set(&profile->framing))
		return profile->mtu_max + profile->framing.data[has_int];
	return profile->mtu_max + profile->wire_overhead + (uint32_t)WIRE_DATA_HEADERS_MAX +
	       (has_int ? (uint32_t)WIRE_INT_BYTES : 0) + (uint32_t)WIRE_ICRC_BYTES;
}

int host_init(struct host *host, const char *name, uint64_t seed, const struct host_params *params,
	      const struct host_memory *memory)
{
	const uint64_t id = util_hash_name(name);
	const struct hca_device_params device = {
		.key = {seed, id},
		.qpn_slot_bits = 1, /* the other half of the numbers is for flows */
		.priority_count = params->priority_count,
		.profile = params->profile,
		.observer = params->bus ? &observer_with_bus : &observer,
		.dma = params->bus ? host_dma_ops(params->bus) : NULL,
		.room = memory->room,
		.world = host,
	};
	int ret;

	*host = (struct host){
		.node = {.ops = params->bus ? &host_ops_with_bus : &host_ops, .name = name},
		.params = *params,
		.control = memory->frames,
		.stats.sent = memory->sent,
		.packet_bytes_max = longest_frame(&params->profile),
		.wire_overhead = (uint16_t)params->profile.wire_overhead,
		.parses_frames =
			params->through_wire || hca_framing_is_set(&params->profile.framing),
	};
	sim_local_init(&host->local, seed, id);
	host_loop_init(host, memory->frames + HOST_CONTROLS);
	host->hca = hca_device_create(&device);
	if (!host->hca)
		return -ENOMEM;
	ret = params->bus ? host_dma_create(host) : 0;
	if (ret)
		host_fini(host);
	return ret;
}

/* Waits for the port; a later value of the same kind takes the place of an earlier one. */
static void on_control(struct sim_thread *th, struct sim_node *node, uint32_t port,
		       const struct sim_pkt *pkt, ps_t at)
{
	struct host *host = container_of(node, struct host, node);
	uint32_t i = 0;

	(void)th;
	(void)port;
	(void)at;
	while (i < host->control_count && host->control[i].body_words[0] != pkt->body_words[0])
		i++;
	CHECK(i < HOST_CONTROLS);
	host->control[i] = *pkt;
	if (i == host->control_count)
		host->control_count++;
}

static void host_on_gate(struct sim_thread *th, struct sim_node *node, uint32_t port, ps_t at)
{
	(void)th;
	(void)node;
	(void)port;
	(void)at; /* host_run() looks at the gate before each step */
}

void host_attach(struct host *host, struct sim_fc *fc)
{
	static const struct sim_fc_user user = {.control = on_control, .gate = host_on_gate};

	host->fc = fc;
	host->fc_timer_at = fc->timer_at;
	host->fc_heads = fc->ops->heads;
	host->fc_all = fc->ops->all;
	fc->user = &user;
}

void host_set_memory_tap(struct host *host, struct host_memory_tap *tap)
{
	host->memory_tap = tap;
}

void host_set_overhears(struct host *host)
{
	host->sifts = true;
}

void host_set_tap(struct host *host, struct host_tap *tap)
{
	host->tap = tap;
	host->tapped = true;
}

void host_drain(struct host *host, struct packet_pools *pools)
{
	struct host_loop *loop = &host->loop;

	for (; loop->count > 0; loop->count--, loop->first = (loop->first + 1) % HOST_LOOP_FRAMES) {
		struct packet_slab *slab = packet_slab_of(&loop->frames[loop->first]);

		if (slab)
			packet_slab_return(pools, slab);
	}
	host_rx_drain(host->rx, pools);
	host_dma_drain(host->dma, pools);
	if (host->room)
		packet_slab_return(pools, host->room);
	host->room = NULL;
}

void host_fini(struct host *host)
{
	host_rx_destroy(host->rx);
	sim_fc_destroy(host->fc);
	task_destroy_all(host);
	hca_device_destroy(host->hca);
	host_dma_destroy(host);
	host_gpus_destroy(host);
	util_free(host->local.wheel);
	host->local.wheel = NULL;
	host->hca = NULL;
}
