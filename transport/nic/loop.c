/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves batches between link and adapter. */
#include "transport/hca/run.h"
#include "transport/nic/internal.h"
#include "transport/nic/shm_loan.h"
#include "transport/nic/shm_ring.h"

#include "util/check.h"

#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL_PRIORITIES 0xffu
enum {
	TURN_BATCHES = 4,    /* in one turn, so that neither direction starves the other */
	DRAIN_TURNS = 64,    /* more than any socket or ring holds */
	FULL_NAP_NS = 50000, /* where nothing tells that there is room again */
	LENT_WINDOW = 2 * NIC_RING_PLACES, /* packets: of runs, a place holds fifteen */
};
#define LINK_LOOK (20 * PS_US)
#define LINK_REST (1 * PS_MS)
#define AHEAD (1 * PS_US)

static bool tx_waits(const struct nic *nic)
{
	return nic->tx_count > 0;
}

/* It leaves: a capture has it as it was, whatever became of its bits. */
static void commit(struct nic *nic, const struct wire_pkt *pkt, const struct nic_fate *fate,
		   ps_t now)
{
	struct nic_slot *slot = &nic->tx[nic->tx_count++];

	nic->stats.tx_bytes += slot->length;
	if (nic->capture)
		nic_capture_pkt(nic->capture, false, &slot->path, pkt, now);
	if (fate)
		nic_impair_corrupt(fate, slot);
}

/* True: it stays behind, to be released later or never. */
static bool is_impaired(struct nic *nic, struct nic_slot *slot, const struct wire_pkt *pkt,
			struct nic_fate *ret_fate, ps_t now)
{
	nic_impair_decide(nic->impair, pkt, &slot->path, now, ret_fate);
	if (ret_fate->lost)
		return true;
	nic->link->ops->emit(nic->link, pkt, slot);
	return nic_impair_hold(nic->impair, ret_fate, slot, pkt, now);
}

/* Rules are for the bytes of the wire: with them all packets are in slots first. */
static bool goes_by_ring(struct nic *nic, struct wire_path *path, const struct wire_pkt *pkt,
			 uint32_t packets, ps_t now)
{
	enum nic_shm_way way;

	if (!nic->shm || nic->impair || nic->ring_waits)
		return false;
	way = nic_shm_put(nic->shm, path, pkt, packets, now);
	nic->ring_waits = way == NIC_SHM_LATER;
	if (way != NIC_SHM_GONE)
		return false;
	nic->ring_count++;
	nic->stats.tx_bytes += hca_run_bytes(pkt, packets);
	return true;
}

static void nic_loop_made(struct nic *nic, const struct wire_pkt *pkt, uint32_t packets, ps_t now);

/* It was to be lent to somebody, and is for another. */
static void made_apart(struct nic *nic, const struct wire_pkt *pkt, ps_t now)
{
	struct wire_pkt here = *pkt;

	here.apart = false;
	here.payload = nic->payload;
	if (nic_loan_read_own(pkt->address, nic->payload, pkt->length))
		nic_loop_made(nic, &here, 1, now);
	else
		nic->stats.tx_lost++;
}

/* A run that goes by no ring after all; there are as many free slots. */
static void made_singly(struct nic *nic, const struct wire_pkt *run, uint32_t packets, ps_t now)
{
	const struct wire_path path = nic->tx[nic->tx_count].path;

	for (uint32_t i = 0; i < packets; i++) {
		const struct wire_pkt part = hca_run_part(run, packets, i);

		nic->tx[nic->tx_count].path = path;
		nic_loop_made(nic, &part, 1, now);
	}
}

/* A packet that was made in the first free slot, or a run: it is the next to leave, or is held up
 * or lost. */
static void nic_loop_made(struct nic *nic, const struct wire_pkt *pkt, uint32_t packets, ps_t now)
{
	struct nic_slot *slot = &nic->tx[nic->tx_count];
	struct nic_fate fate = {.rule = -1};

	if (hca_device_port_is_down(nic->hca)) {
		nic->stats.tx_lost += packets;
		return;
	}
	if (goes_by_ring(nic, &slot->path, pkt, packets, now))
		return;
	if (packets > 1) {
		made_singly(nic, pkt, packets, now);
		return;
	}
	if (__builtin_expect(pkt->apart, false)) {
		made_apart(nic, pkt, now);
		return;
	}
	if (!nic->impair)
		nic->link->ops->emit(nic->link, pkt, slot);
	else if (is_impaired(nic, slot, pkt, &fate, now))
		return;
	commit(nic, pkt, nic->impair ? &fate : NULL, now);
}

/* Messages of queue pair 1 go first: there are few. */
static void nic_loop_fill_gsi(struct nic *nic)
{
	while (nic->tx_count < NIC_BATCH) {
		struct wire_pkt pkt = {.payload = nic->payload};

		if (!nic_gsi_output(nic->gsi, &nic->tx[nic->tx_count].path, &pkt))
			break;
		nic_loop_made(nic, &pkt, 1, nic_now(nic));
	}
}

/* A frame that a program has made: it leaves as it is, past all impairments, which are those of
 * packets. On a link that has no frames it is lost, as on a cable without a far end. */
static void nic_loop_frame(struct nic *nic, const struct wire_pkt *pkt, ps_t now)
{
	struct nic_slot *slot = &nic->tx[nic->tx_count];

	if (!nic->link->carries_frames || pkt->length < WIRE_ETH_BYTES) {
		nic->stats.tx_lost++;
		return;
	}
	slot->path = (struct wire_path){.ttl = 0};
	memcpy(slot->path.dst_mac, pkt->payload, sizeof(slot->path.dst_mac));
	memcpy(slot->buf, pkt->payload, pkt->length);
	slot->length = pkt->length;
	nic->tx_count++;
	if (nic->capture)
		nic_capture_frame(nic->capture, false, slot->buf, slot->length, now);
}

/* Where the next packet's payload is to be; in a ring if it goes by *ret_path, NULL: in none, and
 * is *ret_qp's then. */
static uint8_t *payload_place(struct nic *nic, const struct wire_path **ret_path,
			      struct hca_qp **ret_qp, ps_t now)
{
	const struct wire_path *path;
	uint8_t *place = NULL;
	uint32_t qpn;

	nic->lender.lends = false;
	*ret_path = NULL;
	if (nic->shm && !nic->impair && !nic->ring_waits) {
		path = hca_output_path(nic->hca, ALL_PRIORITIES, ret_qp, &qpn, now);
		place = path ? nic_shm_place(nic->shm, path->dst_ip, qpn) : NULL;
	}
	if (!place)
		return nic->payload;
	hca_qp_widen(*ret_qp, nic->lender.lends ? LENT_WINDOW : NIC_RING_PLACES);
	*ret_path = path;
	return place;
}

/* What a rule has held until now leaves by @slot. */
static bool take_released(struct nic *nic, struct nic_slot *slot, struct wire_pkt *pkt, ps_t now)
{
	struct nic_fate fate = {.rule = -1};

	if (!nic_impair_release(nic->impair, slot, pkt, &fate, now))
		return false;
	commit(nic, pkt, &fate, now);
	return true;
}

/* The instant of the next packet. The adapter paces every QP, so that at one instant it has but one
 * packet of each, and to look at the clock keeps a processor from copying the next payload beside
 * the last one: so packets may be made up to AHEAD before their time, and the device's time does
 * not go back behind them. */
static ps_t next_instant(struct nic *nic, ps_t *clock_at)
{
	const ps_t at = hca_next_at(nic->hca, ALL_PRIORITIES);

	if (at <= nic->seen_at && !nic->impair)
		return nic->seen_at;
	if (at - *clock_at <= AHEAD && !nic->impair) {
		atomic_store_explicit(&nic->ahead_at, at, memory_order_relaxed);
		return at;
	}
	*clock_at = nic_clock(nic);
	return nic_now_from(nic, *clock_at);
}

/* Makes packets as long as the adapter has any. */
static void nic_loop_fill(struct nic *nic)
{
	ps_t clock_at = nic_clock(nic);

	nic->seen_at = nic_now_from(nic, clock_at);
	nic->tx_head = 0;
	nic->ring_count = 0;
	nic->ring_waits = false;
	if (nic->gsi && nic_gsi_has_output(nic->gsi))
		nic_loop_fill_gsi(nic);
	while (nic->tx_count + nic->ring_count < NIC_BATCH) {
		struct nic_slot *slot = &nic->tx[nic->tx_count];
		const ps_t now = nic->seen_at = next_instant(nic, &clock_at);
		const struct wire_path *ring_path;
		struct hca_qp *ring_qp;
		uint32_t packets = 1;
		struct wire_pkt pkt;
		struct hca_tx tx;

		pkt.payload = payload_place(nic, &ring_path, &ring_qp, now);
		if (nic->impair && take_released(nic, slot, &pkt, now))
			continue;
		if (!hca_output(nic->hca, ALL_PRIORITIES, &pkt, &tx, now))
			break;
		if (pkt.opcode == WIRE_RAW_FRAME) {
			nic_loop_frame(nic, &pkt, now);
			continue;
		}
		if (tx.path == ring_path && hca_has_runs(pkt.opcode) &&
		    nic->tx_count + HCA_RUN_MAX <= NIC_BATCH)
			packets = hca_output_run(ring_qp, &pkt, nic_shm_run(nic->shm), now);
		slot->path = *tx.path;
		slot->path.ecn = tx.ecn;
		if (tx.priority != slot->path.priority) { /* a CNP */
			slot->path.priority = tx.priority;
			slot->path.dscp = (uint8_t)(tx.priority << 3); /* its class selector */
		}
		nic_loop_made(nic, &pkt, packets, now);
	}
}

static uint32_t nic_loop_send(struct nic *nic, const struct nic_slot *slots, uint32_t count)
{
	uint32_t done = 0;

	if (!nic->shm)
		return nic->link->ops->send(nic->link, slots, count);
	if (count > 0)
		done = nic_shm_send(nic->shm, slots, count);
	nic_shm_flush(nic->shm);
	return done;
}

/* Known without a look at the clock, which takes as long as a poll does otherwise: at seen_at there
 * was none, and nothing has come to be sent since. */
static bool has_nothing_to_send(const struct nic *nic)
{
	return !tx_waits(nic) && !nic->impair && !(nic->gsi && nic_gsi_has_output(nic->gsi)) &&
	       hca_next_at(nic->hca, ALL_PRIORITIES) > nic->seen_at;
}

void nic_loop_flush(struct nic *nic, uint32_t *moved)
{
	CHECK(nic->locked);
	for (int i = 0; i < TURN_BATCHES && !nic_is_dead(nic) && !has_nothing_to_send(nic); i++) {
		uint32_t done;

		if (!tx_waits(nic)) {
			nic_loop_fill(nic);
			*moved += nic->ring_count;
			if (!tx_waits(nic) && nic->ring_count == 0)
				return;
		}
		done = nic_loop_send(nic, nic->tx + nic->tx_head, nic->tx_count);
		CHECK(done <= nic->tx_count);
		nic->tx_head += done;
		nic->tx_count -= done;
		*moved += done;
		if (tx_waits(nic)) {
			nic->stats.tx_full++;
			return;
		}
	}
}

/* A connected queue pair hears its peer alone; whom a datagram is from, its receiver is told. The
 * ICRC proves nothing about who sent a packet: numbers and PSNs are all that there is to guess. */
static bool is_of_a_stranger(const struct nic *nic, const struct wire_path *path,
			     const struct wire_pkt *pkt)
{
	const struct wire_path *way;

	if ((pkt->opcode & 0xe0) == WIRE_UD)
		return false;
	way = hca_qp_path(nic->hca, pkt->dest_qpn);
	return way && memcmp(way->dst_ip, path->src_ip, sizeof(way->dst_ip)) != 0;
}

static void nic_loop_raw(struct nic *nic, const struct nic_slot *slot, ps_t now)
{
	if (slot->length > WIRE_FRAME_MAX)
		return;
	if (hca_raw_input(nic->hca, slot->bytes, slot->length, now) && nic->capture)
		nic_capture_frame(nic->capture, true, slot->bytes, slot->length, now);
}

void nic_loop_input(struct nic *nic, const struct wire_path *path, const struct wire_pkt *pkt,
		    uint32_t packets, enum wire_verdict verdict, ps_t now)
{
	const struct hca_rx rx = {.path = path, .ecn = path->ecn};

	if (hca_device_port_is_down(nic->hca))
		return;
	nic->stats.rx[verdict] += packets;
	if (verdict != WIRE_OK)
		return;
	if (nic->capture)
		nic_capture_pkt(nic->capture, true, path, pkt, now);
	if (pkt->dest_qpn == CM_QPN) {
		if (nic->gsi)
			nic_gsi_input(nic->gsi, path, pkt);
		if (nic->gsi && !nic_gsi_link(nic->gsi)) /* in its order */
			nic_gsi_deliver(nic->gsi);
		return;
	}
	if (is_of_a_stranger(nic, path, pkt)) {
		nic->stats.rx_stranger += packets;
		return;
	}
	hca_input_run(nic->hca, pkt, packets, &rx, now);
}

static void input(struct nic *nic, struct nic_slot *slot, ps_t now)
{
	struct wire_pkt pkt;
	enum wire_verdict verdict = WIRE_MALFORMED;

	memset(&pkt, 0, sizeof(pkt));
	if (!slot->truncated)
		verdict = nic->link->ops->parse(nic->link, slot, &pkt);
	if (verdict == WIRE_NOT_ROCE && nic->link->carries_frames)
		nic_loop_raw(nic, slot, now);
	if (verdict == WIRE_OK)
		nic->stats.rx_bytes += slot->length;
	nic_loop_input(nic, &slot->path, &pkt, 1, verdict, now);
}

/* Where packets come by rings, the system is asked for others less often: each 20 us, unless there
 * were any of late. */
static bool asks_link(struct nic *nic, ps_t now)
{
	if (!nic->shm || !nic_shm_has_guests(nic->shm))
		return true;
	if (!nic_shm_looks(nic->shm) && now - nic->link_heard_at >= LINK_REST &&
	    now - nic->link_looked_at < LINK_LOOK)
		return false;
	nic->link_looked_at = now;
	return true;
}

/* Up to a batch; the link is empty where *ret_empty. */
static uint32_t take_link(struct nic *nic, ps_t now, bool *ret_empty)
{
	uint32_t got;

	*ret_empty = false;
	if (!asks_link(nic, now))
		return 0;
	got = nic->link->ops->recv(nic->link, nic->rx, NIC_BATCH);
	for (uint32_t k = 0; k < got; k++)
		input(nic, &nic->rx[k], now);
	if (got > 0)
		nic->link_heard_at = now;
	*ret_empty = got < NIC_BATCH;
	return got;
}

static uint32_t take_mcast(struct nic *nic)
{
	const uint32_t got = nic->link->ops->recv_mcast(nic->link, nic->rx, NIC_BATCH);

	for (uint32_t i = 0; i < got; i++)
		input(nic, &nic->rx[i], nic_now(nic));
	return got;
}

uint32_t nic_loop_turn(struct nic *nic)
{
	uint32_t moved = 0;

	CHECK(nic->locked);
	if (nic->link->mcast_fd >= 0 && !nic_is_dead(nic))
		moved += take_mcast(nic);
	for (int i = 0; i < TURN_BATCHES && !nic_is_dead(nic); i++) {
		bool is_empty;
		uint32_t got = take_link(nic, nic->seen_at = nic_now(nic), &is_empty);
		const uint32_t by_ring = nic->shm ? nic_shm_input(nic->shm, is_empty) : 0;

		moved += got + by_ring;
		nic_loop_flush(nic, &moved);
		if (got < NIC_BATCH && by_ring < NIC_BATCH)
			break;
	}
	return moved;
}

/* What is for queue pair 1 of a host that several processes share. */
static void take_gsi_packets(struct nic *nic)
{
	struct nic_link *link = nic_gsi_link(nic->gsi);
	const uint32_t got = link->ops->recv(link, nic->rx, NIC_BATCH);

	for (uint32_t i = 0; i < got; i++)
		input(nic, &nic->rx[i], nic_now(nic));
}

/* All that has come. */
static void look_at_all(struct nic *nic)
{
	nic->link_looked_at = 0;
	for (int i = 0; i < DRAIN_TURNS && nic_loop_turn(nic) > 0; i++)
		;
}

void nic_loop_mind_gsi(struct nic *nic, bool takes)
{
	if (!nic->gsi)
		return;
	if (takes && nic_gsi_take(nic->gsi))
		take_gsi_packets(nic);
	if (nic_gsi_has_mail(nic->gsi)) {
		look_at_all(nic);
		nic_gsi_deliver(nic->gsi);
	}
	if (nic_gsi_next_at(nic->gsi) <= nic_now(nic))
		nic_gsi_advance(nic->gsi, nic_now(nic));
}

ps_t nic_loop_next_at(const struct nic *nic)
{
	const ps_t at = hca_next_at(nic->hca, ALL_PRIORITIES);
	const ps_t held_at = nic->impair ? nic_impair_next_at(nic->impair) : PS_NEVER;
	const ps_t gsi_at = nic->gsi ? nic_gsi_next_at(nic->gsi) : PS_NEVER;
	const ps_t earlier_at = at < held_at ? at : held_at;

	return earlier_at < gsi_at ? earlier_at : gsi_at;
}

/* Nanoseconds until the adapter wants to be called, at most @wait_ns; negative: never. */
static int64_t until_next(const struct nic *nic, int64_t wait_ns)
{
	const ps_t at = nic_loop_next_at(nic);
	const ps_t now = nic_now(nic);
	int64_t ns;

	if (tx_waits(nic) && (nic->shm || !nic->link->full_is_polled))
		ns = FULL_NAP_NS;
	else if (tx_waits(nic) || at == PS_NEVER)
		return wait_ns;
	else
		ns = at <= now ? 0 : (int64_t)((at - now + PS_NS - 1) / PS_NS);
	return wait_ns < 0 || ns < wait_ns ? ns : wait_ns;
}

void nic_loop_wait(struct nic *nic, int64_t wait_ns)
{
	struct pollfd fds[6] = {
		{.fd = nic->link->fd, .events = POLLIN},
		{.fd = nic->wake_fd, .events = POLLIN},
		{.fd = nic->group ? nic_group_door(nic->group) : -1, .events = POLLIN},
		{.fd = nic->gsi ? nic_gsi_fd(nic->gsi) : -1, .events = POLLIN},
		{.fd = nic->link->mcast_fd, .events = POLLIN},
		{.fd = nic->shm ? nic_shm_fd(nic->shm) : -1, .events = POLLIN}};
	struct timespec timeout;

	CHECK(nic->locked);
	wait_ns = until_next(nic, wait_ns);
	if (nic->shm && nic_shm_sleep(nic->shm))
		wait_ns = 0;
	if (tx_waits(nic) && nic->link->full_is_polled)
		fds[0].events |= POLLOUT;
	timeout =
		(struct timespec){.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
	nic_unlock(nic);
	(void)ppoll(fds, 6, wait_ns < 0 ? NULL : &timeout, NULL);
	nic_lock(nic);
	nic_mind_epoch(nic);
	if (nic->shm)
		nic_shm_wake(nic->shm);
	if (fds[5].revents)
		nic_shm_serve(nic->shm);
	if (fds[0].revents)
		nic->link_looked_at = 0;
	if (fds[2].revents) {
		nic_board_publish(nic);
		nic_group_serve(nic->group);
	}
	nic_loop_mind_gsi(nic, fds[3].revents != 0);
}

uint32_t nic_turn(struct nic *nic, int64_t wait_ns)
{
	uint32_t moved;

	nic_lock(nic);
	nic_mind_epoch(nic);
	nic_loop_mind_gsi(nic, true);
	moved = nic_loop_turn(nic);
	if (moved == 0 && wait_ns != 0) {
		nic_loop_wait(nic, wait_ns);
		moved = nic_loop_turn(nic);
	}
	nic_unlock(nic);
	return moved;
}

void nic_loop_wake(struct nic *nic)
{
	const uint64_t one = 1;

	CHECK(nic->locked);
	if (nic->asleep_until == 0 || nic_is_dead(nic))
		return;
	if (!tx_waits(nic) && nic_loop_next_at(nic) >= nic->asleep_until)
		return;
	nic->asleep_until = 0;
	(void)!write(nic->wake_fd, &one, sizeof(one)); /* full: it is awake already */
}

void nic_flush(struct nic *nic)
{
	uint32_t moved = 0;

	nic->seen_at = nic_now(nic);
	nic_loop_flush(nic, &moved);
	nic_loop_wake(nic);
}
