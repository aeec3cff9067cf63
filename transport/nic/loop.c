/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves batches between link and adapter. */
#include "transport/nic/internal.h"

#include "util/check.h"

#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL_PRIORITIES 0xffu
enum {
	TURN_BATCHES = 4,    /* in one turn, so that neither direction starves the other */
	FULL_NAP_NS = 50000, /* where nothing tells that there is room again */
};

static bool tx_waits(const struct nic *nic)
{
	return nic->tx_count > 0;
}

/* Makes packets as long as the adapter has any. The clock is read for each: the adapter paces every
 * QP, so that at one instant it has but one packet of each, and making a packet takes longer than
 * the gap to the next. */
static void nic_loop_fill(struct nic *nic)
{
	nic->tx_head = 0;
	while (nic->tx_count < NIC_BATCH) {
		struct nic_slot *slot = &nic->tx[nic->tx_count];
		struct wire_pkt pkt = {.payload = nic->payload};
		const ps_t now = nic_now(nic);
		struct hca_tx tx;

		if (!hca_output(nic->hca, ALL_PRIORITIES, &pkt, &tx, now))
			break;
		slot->path = *tx.path;
		slot->path.ecn = tx.ecn;
		if (tx.priority != slot->path.priority) { /* a CNP */
			slot->path.priority = tx.priority;
			slot->path.dscp = (uint8_t)(tx.priority << 3); /* its class selector */
		}
		nic->link->ops->emit(nic->link, &pkt, slot);
		nic->tx_count++;
		if (nic->capture)
			nic_capture_pkt(nic->capture, false, &slot->path, &pkt, now);
	}
}

void nic_loop_flush(struct nic *nic, uint32_t *moved)
{
	CHECK(nic->locked);
	for (int i = 0; i < TURN_BATCHES && !nic_is_dead(nic); i++) {
		uint32_t done;

		if (!tx_waits(nic))
			nic_loop_fill(nic);
		if (!tx_waits(nic))
			return;
		done = nic->link->ops->send(nic->link, nic->tx + nic->tx_head, nic->tx_count);
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

static void input(struct nic *nic, struct nic_slot *slot, ps_t now)
{
	struct wire_pkt pkt;
	enum wire_verdict verdict = WIRE_MALFORMED;
	struct hca_rx rx = {.path = &slot->path};

	memset(&pkt, 0, sizeof(pkt));
	if (!slot->truncated)
		verdict = nic->link->ops->parse(nic->link, slot, &pkt);
	nic->stats.rx[verdict]++;
	if (verdict != WIRE_OK)
		return;
	if (nic->capture)
		nic_capture_pkt(nic->capture, true, &slot->path, &pkt, now);
	if (is_of_a_stranger(nic, &slot->path, &pkt)) {
		nic->stats.rx_stranger++;
		return;
	}
	rx.ecn = slot->path.ecn;
	hca_input(nic->hca, &pkt, &rx, now);
}

uint32_t nic_loop_turn(struct nic *nic)
{
	uint32_t moved = 0;

	CHECK(nic->locked);
	for (int i = 0; i < TURN_BATCHES && !nic_is_dead(nic); i++) {
		uint32_t got = nic->link->ops->recv(nic->link, nic->rx, NIC_BATCH);
		ps_t now = nic_now(nic);

		for (uint32_t k = 0; k < got; k++)
			input(nic, &nic->rx[k], now);
		moved += got;
		nic_loop_flush(nic, &moved);
		if (got < NIC_BATCH)
			break;
	}
	return moved;
}

/* Nanoseconds until the adapter wants to be called, at most @wait_ns; negative: never. */
static int64_t until_next(const struct nic *nic, int64_t wait_ns)
{
	const ps_t at = hca_next_at(nic->hca, ALL_PRIORITIES);
	const ps_t now = nic_now(nic);
	int64_t ns;

	if (tx_waits(nic) && !nic->link->full_is_polled)
		ns = FULL_NAP_NS;
	else if (tx_waits(nic) || at == PS_NEVER)
		return wait_ns;
	else
		ns = at <= now ? 0 : (int64_t)((at - now + PS_NS - 1) / PS_NS);
	return wait_ns < 0 || ns < wait_ns ? ns : wait_ns;
}

void nic_loop_wait(struct nic *nic, int64_t wait_ns)
{
	struct pollfd fds[2] = {{.fd = nic->link->fd, .events = POLLIN},
				{.fd = nic->wake_fd, .events = POLLIN}};
	struct timespec timeout;

	CHECK(nic->locked);
	wait_ns = until_next(nic, wait_ns);
	if (tx_waits(nic) && nic->link->full_is_polled)
		fds[0].events |= POLLOUT;
	timeout =
		(struct timespec){.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
	nic_unlock(nic);
	(void)ppoll(fds, 2, wait_ns < 0 ? NULL : &timeout, NULL);
	nic_lock(nic);
	nic_mind_epoch(nic);
}

uint32_t nic_turn(struct nic *nic, int64_t wait_ns)
{
	uint32_t moved;

	nic_lock(nic);
	nic_mind_epoch(nic);
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
	if (!tx_waits(nic) && hca_next_at(nic->hca, ALL_PRIORITIES) >= nic->asleep_until)
		return;
	nic->asleep_until = 0;
	(void)!write(nic->wake_fd, &one, sizeof(one)); /* full: it is awake already */
}

void nic_flush(struct nic *nic)
{
	uint32_t moved = 0;

	nic_loop_flush(nic, &moved);
	nic_loop_wake(nic);
}
