/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/shm.h"

#include "transport/hca/run.h"
#include "transport/nic/internal.h"
#include "transport/nic/shm_door.h"
#include "transport/nic/shm_loan.h"
#include "util/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	BUCKETS = 256,
	GUESTS_MAX = 1024, /* rings that others send into */
	EVENTS = 16,
	GSI_QPN = 1,
	SLOT_SHIFT = 24 - NIC_GROUP_SLOT_BITS,
};
#define IS_ANSWER 0x80000000u /* beside a QPN */
#define MS_NS UINT64_C(1000000)
#define ANSWER_NS (1000 * MS_NS) /* that the other end has for an answer */
#define AGAIN_NS (100 * MS_NS)	 /* until a door where nobody was is tried again */
#define STALL_NS (100 * MS_NS)	 /* longer than a process waits for a core of a busy machine */

enum to_state { TO_NOBODY, TO_ASKED, TO_OPEN };

/* What an event of the connection is about. */
struct end {
	bool sends;
	int fd; /* -1: none */
};

/* A process that this one sends to. */
struct to {
	struct end end;
	struct to *next_in_bucket, *next_due;
	struct nic_door_place place;
	enum to_state state;
	bool is_due; /* it has something new, and may sleep */
	void *memory;
	struct nic_ring ring;
	uint64_t until_ns; /* TO_NOBODY: nobody is asked; TO_ASKED: an answer is waited for */
	uint64_t full_ns;  /* since when the ring is full; 0: it is not */
	bool takes_loans;
	uint32_t loans[NIC_RING_PLACES]; /* what was lent last in a place: QPN, IS_ANSWER */
};

/* A process that sends to this one. */
struct from {
	struct end end;
	struct nic_door_guest guest;
	void *memory; /* NULL: it has said nothing yet */
	struct nic_ring ring;
	struct wire_path path; /* of all that comes, but for the traffic class */
	bool is_new, is_seen;  /* nothing was taken yet; but something was there */
	uint32_t left;	       /* its end is gone: that many packets are taken still */
	struct nic_loan_from loans;
};

struct nic_shm {
	struct nic *nic;
	struct end door;
	int epoll;
	struct nic_door_guest self;
	struct to *buckets[BUCKETS], *last, *due;
	struct from *guests[GUESTS_MAX];
	uint32_t guest_count;
	uint32_t sleepers;	/* threads */
	uint64_t word;		/* of struct nic_loan_from, for others */
	struct nic_loans loans; /* of whose packet is at hand */
	bool has_complained;
};

/* Of the clock, which does not begin anew. */
static uint64_t shm_now_ns(const struct nic_shm *shm)
{
	return shm->nic->epoch_ns + nic_now(shm->nic) / PS_NS;
}

static int shm_watch(struct nic_shm *shm, struct end *end)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = end};

	return epoll_ctl(shm->epoll, EPOLL_CTL_ADD, end->fd, &event);
}

/* ---- out ---- */

/* Packets for all have no one's address. */
static bool is_for_many(const uint8_t ip[16])
{
	return ip[0] == 0xff || (wire_ip_is_ipv4(ip) && ip[12] >= 224);
}

static bool shm_is_of(const struct to *to, const uint8_t ip[16], uint32_t slot)
{
	return to->place.slot == slot && memcmp(to->place.ip, ip, 16) == 0;
}

static struct to *find_to(struct nic_shm *shm, const uint8_t ip[16], uint32_t slot)
{
	const uint32_t hash = (ip[13] * 31u + ip[14] * 17u + ip[15] * 7u + slot) % BUCKETS;
	struct to *to = shm->buckets[hash];

	while (to && !shm_is_of(to, ip, slot))
		to = to->next_in_bucket;
	if (to)
		return to;
	to = calloc(1, sizeof(*to));
	if (!to)
		return NULL;
	to->end = (struct end){.sends = true, .fd = -1};
	to->place.scope_id = shm->nic->params.scope_id;
	to->place.slot = slot;
	memcpy(to->place.ip, ip, 16);
	to->next_in_bucket = shm->buckets[hash];
	shm->buckets[hash] = to;
	return to;
}

/* NULL: nobody's, or no memory. */
static struct to *to_of(struct nic_shm *shm, const uint8_t ip[16], uint32_t qpn)
{
	const uint32_t slot = qpn >> SLOT_SHIFT;

	if (qpn == GSI_QPN || is_for_many(ip))
		return NULL;
	if (!shm->last || !shm_is_of(shm->last, ip, slot))
		shm->last = find_to(shm, ip, slot);
	return shm->last;
}

static void revoke_loans(struct to *to, bool (*is_meant)(uint32_t loan, uint32_t which),
			 uint32_t which)
{
	if (!to->takes_loans)
		return;
	for (uint32_t i = 0; i < NIC_RING_PLACES; i++)
		if (is_meant(to->loans[(to->ring.next - 1 - i) % NIC_RING_PLACES], which))
			nic_ring_revoke(&to->ring, to->ring.next - 1 - i);
}

static bool is_any(uint32_t loan, uint32_t which)
{
	(void)loan, (void)which;
	return true;
}

static bool is_answer(uint32_t loan, uint32_t which)
{
	(void)which;
	return (loan & IS_ANSWER) != 0;
}

static bool is_for(uint32_t loan, uint32_t which)
{
	return (loan & ~IS_ANSWER) == which;
}

void nic_shm_revoke(struct nic_shm *shm, const struct wire_path *path, uint32_t dest_qpn)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct to *to = shm->buckets[i]; to; to = to->next_in_bucket)
			if (!path)
				revoke_loans(to, is_answer, 0);
			else if (shm_is_of(to, path->dst_ip, dest_qpn >> SLOT_SHIFT))
				revoke_loans(to, is_for, dest_qpn);
}

static void give_up(struct nic_shm *shm, struct to *to)
{
	revoke_loans(to, is_any, 0);
	to->takes_loans = false;
	if (to->end.fd >= 0)
		close(to->end.fd);
	nic_door_unmap(to->memory);
	to->end.fd = -1;
	to->memory = NULL;
	to->ring = (struct nic_ring){.shared = NULL};
	to->state = TO_NOBODY;
	to->full_ns = 0;
	to->until_ns = shm_now_ns(shm) + AGAIN_NS;
}

static void ask_at_door(struct nic_shm *shm, struct to *to)
{
	const int fd = nic_door_ask(&to->place, &shm->self, &to->memory);

	if (fd >= 0) {
		to->end.fd = fd;
		nic_ring_init(&to->ring, to->memory);
		to->state = TO_ASKED;
		to->until_ns = shm_now_ns(shm) + ANSWER_NS;
	}
	if (fd < 0 || shm_watch(shm, &to->end) != 0)
		give_up(shm, to);
}

/* The ring has no room. */
static enum nic_shm_way way_of_full(struct nic_shm *shm, struct to *to)
{
	const uint64_t now = shm_now_ns(shm);

	if (to->ring.is_bad) {
		give_up(shm, to);
		return NIC_SHM_ELSEWHERE;
	}
	if (to->full_ns == 0)
		to->full_ns = now;
	if (now - to->full_ns < STALL_NS)
		return NIC_SHM_LATER;
	shm->nic->stats.tx_lost++;
	return NIC_SHM_GONE;
}

static enum nic_shm_way way_without_ring(struct nic_shm *shm, struct to *to)
{
	if (shm_now_ns(shm) >= to->until_ns) {
		if (to->state == TO_ASKED)
			give_up(shm, to);
		else
			ask_at_door(shm, to);
	}
	if (shm->nic->params.path != NIC_PATH_SHM)
		return NIC_SHM_ELSEWHERE;
	if (to->state == TO_ASKED)
		return NIC_SHM_LATER;
	shm->nic->stats.tx_lost++;
	return NIC_SHM_GONE;
}

/* NIC_SHM_GONE: where *ret_room is NULL, it is lost; else there is that room. */
static enum nic_shm_way way_to(struct nic_shm *shm, struct to *to, uint8_t **ret_room)
{
	*ret_room = NULL;
	if (!to)
		return NIC_SHM_ELSEWHERE;
	if (to->state != TO_OPEN)
		return way_without_ring(shm, to);
	*ret_room = nic_ring_room(&to->ring);
	if (!*ret_room)
		return way_of_full(shm, to);
	to->full_ns = 0;
	return NIC_SHM_GONE;
}

uint8_t *nic_shm_place(struct nic_shm *shm, const uint8_t ip[16], uint32_t qpn)
{
	struct to *to = to_of(shm, ip, qpn);

	if (!to || to->state != TO_OPEN)
		return NULL;
	shm->nic->lender.lends = to->takes_loans && !shm->nic->capture;
	return nic_ring_room(&to->ring);
}

_Static_assert((int)HCA_RUN_MAX *(int)WIRE_MTU_MAX <= (int)NIC_RING_RUN, "any run that is lent");

uint32_t nic_shm_run(struct nic_shm *shm)
{
	return shm->nic->capture ? 0 : nic_ring_run(&shm->last->ring);
}

static void mark_due(struct nic_shm *shm, struct to *to, uint32_t packets)
{
	shm->nic->stats.tx_packets += packets;
	shm->nic->stats.tx_rings += packets;
	if (to->is_due)
		return;
	to->is_due = true;
	to->next_due = shm->due;
	shm->due = to;
}

static uint8_t traffic_class_of(const struct wire_path *path)
{
	return (uint8_t)(path->dscp << 2 | path->ecn);
}

enum nic_shm_way nic_shm_put(struct nic_shm *shm, struct wire_path *path,
			     const struct wire_pkt *pkt, uint32_t packets, ps_t now)
{
	struct to *to = to_of(shm, path->dst_ip, pkt->dest_qpn);
	uint8_t *room;
	enum nic_shm_way way;

	if (pkt->apart && (!to || !to->takes_loans))
		return NIC_SHM_ELSEWHERE;
	way = way_to(shm, to, &room);
	if (!room)
		return way;
	if (pkt->apart)
		to->loans[to->ring.next % NIC_RING_PLACES] =
			pkt->dest_qpn | (wire_ops[pkt->opcode].response ? IS_ANSWER : 0);
	if (shm->nic->capture) {
		path->udp_sport = WIRE_UDP_PORT;
		path->ip_id = 0;
		nic_capture_pkt(shm->nic->capture, false, path, pkt, now);
	}
	nic_ring_put(&to->ring, pkt, traffic_class_of(path));
	mark_due(shm, to, packets);
	return NIC_SHM_GONE;
}

/* One that was emitted: BTH begins it. */
static enum nic_shm_way put_slot(struct nic_shm *shm, const struct nic_slot *slot)
{
	const uint32_t qpn =
		(uint32_t)slot->buf[5] << 16 | (uint32_t)slot->buf[6] << 8 | slot->buf[7];
	struct to *to = to_of(shm, slot->path.dst_ip, qpn);
	uint8_t *room;
	const enum nic_shm_way way = way_to(shm, to, &room);

	if (!room)
		return way;
	nic_ring_put_whole(&to->ring, slot->buf, slot->length, traffic_class_of(&slot->path));
	mark_due(shm, to, 1);
	return NIC_SHM_GONE;
}

uint32_t nic_shm_send(struct nic_shm *shm, const struct nic_slot *slots, uint32_t count)
{
	struct nic_link *link = shm->nic->link;
	uint32_t done = 0;

	while (done < count) {
		enum nic_shm_way way = NIC_SHM_ELSEWHERE;
		uint32_t run = 0, sent;

		while (done + run < count) {
			way = put_slot(shm, &slots[done + run]);
			if (way != NIC_SHM_ELSEWHERE)
				break;
			run++;
		}
		sent = run > 0 ? link->ops->send(link, slots + done, run) : 0;
		done += sent;
		if (sent < run || way == NIC_SHM_LATER)
			break;
		done += way == NIC_SHM_GONE;
	}
	return done;
}

void nic_shm_flush(struct nic_shm *shm)
{
	while (shm->due) {
		struct to *to = shm->due;

		shm->due = to->next_due;
		to->is_due = false;
		if (to->state == TO_OPEN && nic_ring_wakes(&to->ring))
			nic_door_ring(to->end.fd);
	}
}

static void serve_to(struct nic_shm *shm, struct to *to)
{
	int ret;

	if (to->state == TO_OPEN) {
		if (!nic_door_heard(to->end.fd))
			give_up(shm, to);
		return;
	}
	ret = nic_door_hear(to->end.fd, &to->takes_loans);
	if (ret == 0)
		to->state = TO_OPEN;
	else if (ret != -EAGAIN)
		give_up(shm, to);
}

/* ---- in ---- */

static void drop_guest(struct nic_shm *shm, uint32_t i)
{
	struct from *from = shm->guests[i];

	if (from->end.fd >= 0)
		close(from->end.fd);
	nic_door_unmap(from->memory);
	free(from);
	shm->guests[i] = shm->guests[--shm->guest_count];
}

static void let_in(struct nic_shm *shm)
{
	int fd;

	while ((fd = nic_door_accept(shm->door.fd)) >= 0) {
		struct from *from = shm->guest_count < GUESTS_MAX ? calloc(1, sizeof(*from)) : NULL;

		if (!from) {
			close(fd);
			continue;
		}
		from->end.fd = fd;
		shm->guests[shm->guest_count++] = from;
		if (shm_watch(shm, &from->end) != 0)
			drop_guest(shm, shm->guest_count - 1);
	}
}

/* Both ends want it, and this one may read. */
static bool may_borrow(struct nic_shm *shm, struct from *from)
{
	struct nic_loan_from *loans = &from->loans;
	int ret;

	*loans = (struct nic_loan_from){.word_at = from->guest.word_at, .word = from->guest.word};
	if (shm->word == 0 || loans->word_at == 0 ||
	    hca_device_profile(shm->nic->hca)->retransmit == HCA_SELECTIVE)
		return false;
	loans->pid = nic_door_pid(from->end.fd);
	ret = loans->pid > 0 ? nic_loan_check(loans) : -ESRCH;
	if (ret == 0)
		return true;
	if (!shm->has_complained)
		fprintf(stderr,
			"verbena: --direct: memory of process %d: %s: its payloads are copied (see "
			"\"verbena doctor\")\n",
			(int)loans->pid, strerror(-ret));
	shm->has_complained = true;
	loans->pid = 0;
	return false;
}

/* 0, or the connection is of no use. */
static int greet_guest(struct nic_shm *shm, struct from *from)
{
	const int ret = nic_door_take(from->end.fd, &from->guest, &from->memory);

	if (ret != 0)
		return ret == -EAGAIN ? 0 : ret;
	nic_ring_init(&from->ring, from->memory);
	from->is_new = true;
	from->path = (struct wire_path){.ttl = 64, .udp_sport = WIRE_UDP_PORT};
	memcpy(from->path.src_ip, from->guest.ip, 16);
	memcpy(from->path.dst_ip, shm->self.ip, 16);
	if (wire_ip_is_ipv4(from->guest.ip) != wire_ip_is_ipv4(shm->self.ip))
		return -EPROTO;
	nic_ring_sleep(&from->ring, shm->sleepers > 0);
	return nic_door_answer(from->end.fd, may_borrow(shm, from));
}

/* What it sent before it ended is in the ring, and was sent. */
static void serve_guest(struct nic_shm *shm, struct from *from)
{
	if (from->memory ? nic_door_heard(from->end.fd) : greet_guest(shm, from) == 0)
		return;
	close(from->end.fd);
	from->end.fd = -1;
	from->left = from->memory ? (uint32_t)NIC_RING_PLACES : 0;
}

bool nic_shm_pull(struct nic_shm *shm, uint64_t address, uint8_t *to, uint32_t length,
		  uint8_t *tail, uint32_t follows)
{
	return nic_loans_pull(&shm->loans, address, to, length, tail, follows);
}

const uint8_t *nic_shm_at_hand(struct nic_shm *shm, uint64_t address, uint32_t length,
			       const uint8_t *to)
{
	return nic_loans_at_hand(&shm->loans, address, length, to);
}

/* Who looks at a payload itself has it here. */
static bool bring_here(struct nic_shm *shm, struct wire_pkt *pkt)
{
	const uint32_t body = pkt->length - HCA_LOAN_TAIL;
	uint8_t *to = shm->nic->payload;

	if (pkt->length < HCA_LOAN_TAIL || !nic_shm_pull(shm, pkt->address, to, body, to + body, 0))
		return false;
	pkt->apart = false;
	pkt->payload = to;
	return true;
}

/* A packet that is apart: whether it is one that may be, and its payload is here if it has to be.
 */
static bool is_fair(struct nic_shm *shm, struct from *from, struct wire_pkt *pkt)
{
	if (from->loans.pid == 0 || (pkt->opcode & 0xe0) != WIRE_RC || pkt->length == 0)
		return false;
	return (!shm->nic->capture && pkt->dest_qpn != GSI_QPN) || bring_here(shm, pkt);
}

/* @pkt, which is @packets packets. */
static void shm_hand_over(struct nic_shm *shm, const struct from *from, const struct wire_pkt *pkt,
			  uint32_t packets, enum wire_verdict verdict, ps_t now)
{
	shm->nic->stats.rx_rings += packets;
	if (verdict == WIRE_OK)
		shm->nic->stats.rx_bytes += hca_run_bytes(pkt, packets);
	nic_loop_input(shm->nic, &from->path, pkt, packets, verdict, now);
}

static void take_packets(struct nic_shm *shm, struct from *from, struct wire_pkt *pkt,
			 uint32_t packets, ps_t now)
{
	const bool is_good = !pkt->apart || is_fair(shm, from, pkt);

	shm_hand_over(shm, from, pkt, packets, is_good ? WIRE_OK : WIRE_BAD_TRANSPORT, now);
}

/* All bytes of a datagram. */
static void take_whole(struct nic_shm *shm, struct from *from, const struct nic_ring_got *got,
		       ps_t now)
{
	struct nic_slot *slot = &shm->nic->rx[0];
	struct wire_pkt pkt = {.payload = NULL};
	enum wire_verdict verdict;

	/* What is checked must not change behind the check. */
	memcpy(slot->buf, got->bytes, got->length);
	verdict = wire_udp_parse(&from->path, &pkt, slot->buf, got->length);
	shm_hand_over(shm, from, &pkt, 1, verdict, now);
}

static void take_packet(struct nic_shm *shm, struct from *from, struct nic_ring_got *got, ps_t now)
{
	struct wire_pkt pkt = {.payload = NULL};
	uint32_t packets = 0;

	from->path.dscp = got->traffic_class >> 2;
	from->path.ecn = got->traffic_class & 3;
	from->path.priority = got->traffic_class >> 5;
	if (got->is_whole) {
		take_whole(shm, from, got, now);
		return;
	}
	if (nic_ring_parse(got, &pkt))
		packets = hca_run_packets(shm->nic->hca, &pkt);
	if (packets == 0) {
		shm_hand_over(shm, from, &pkt, 1, WIRE_BAD_TRANSPORT, now);
	} else if (packets == 1 || !shm->nic->capture) {
		take_packets(shm, from, &pkt, packets, now);
	} else {
		for (uint32_t i = 0; i < packets; i++) {
			struct wire_pkt part = hca_run_part(&pkt, packets, i);

			take_packets(shm, from, &part, 1, now);
		}
	}
}

/* Returns how many. */
static uint32_t shm_take_from(struct nic_shm *shm, struct from *from)
{
	struct nic_ring_got got;
	const ps_t now = nic_now(shm->nic);
	uint32_t count = 0;

	nic_loans_begin(&shm->loans, &from->ring, &from->loans);
	while ((count < NIC_BATCH || (int32_t)(shm->loans.rest_end - from->ring.next) > 0) &&
	       !nic_is_dead(shm->nic) && nic_ring_get(&from->ring, &got)) {
		shm->loans.behind = count < NIC_BATCH ? NIC_BATCH - 1 - count : 0;
		take_packet(shm, from, &got, now);
		nic_ring_release(&from->ring);
		count++;
	}
	shm->loans.ring = NULL;
	return count;
}

static bool is_over(const struct from *from)
{
	if (from->ring.is_bad)
		return true;
	return from->end.fd < 0 && (from->left == 0 || !nic_ring_has(&from->ring));
}

bool nic_shm_has_guests(const struct nic_shm *shm)
{
	return shm->guest_count > 0;
}

bool nic_shm_looks(struct nic_shm *shm)
{
	bool has = false;

	for (uint32_t i = 0; i < shm->guest_count; i++) {
		struct from *from = shm->guests[i];

		if (from->is_new && nic_ring_has(&from->ring))
			has = from->is_seen = true;
	}
	return has;
}

uint32_t nic_shm_input(struct nic_shm *shm, bool is_empty)
{
	uint32_t moved = 0;

	for (uint32_t i = shm->guest_count; i-- > 0;) {
		struct from *from = shm->guests[i];
		uint32_t count = 0;

		if (from->memory && nic_ring_has(&from->ring) &&
		    (!from->is_new || (from->is_seen && is_empty))) {
			from->is_new = false;
			count = shm_take_from(shm, from);
			moved += count;
		}
		if (from->end.fd < 0)
			from->left -= count < from->left ? count : from->left;
		if (from->memory ? is_over(from) : from->end.fd < 0)
			drop_guest(shm, i);
	}
	return moved;
}

/* ---- both ---- */

void nic_shm_serve(struct nic_shm *shm)
{
	struct epoll_event events[EVENTS];
	const int count = epoll_wait(shm->epoll, events, EVENTS, 0);

	CHECK(shm->nic->locked);
	/* Nothing that an event may be about is freed here. */
	for (int i = 0; i < count; i++) {
		struct end *end = events[i].data.ptr;

		if (end == &shm->door)
			let_in(shm);
		else if (end->fd < 0)
			continue;
		else if (end->sends)
			serve_to(shm, container_of(end, struct to, end));
		else
			serve_guest(shm, container_of(end, struct from, end));
	}
}

bool nic_shm_sleep(struct nic_shm *shm)
{
	bool has = false;

	shm->sleepers++;
	for (uint32_t i = 0; i < shm->guest_count; i++) {
		struct from *from = shm->guests[i];

		if (!from->memory)
			continue;
		nic_ring_sleep(&from->ring, true);
		has = has || nic_ring_has(&from->ring);
	}
	return has;
}

void nic_shm_wake(struct nic_shm *shm)
{
	CHECK(shm->sleepers > 0);
	if (--shm->sleepers > 0)
		return;
	for (uint32_t i = 0; i < shm->guest_count; i++)
		if (shm->guests[i]->memory)
			nic_ring_sleep(&shm->guests[i]->ring, false);
}

int nic_shm_fd(const struct nic_shm *shm)
{
	return shm->epoll;
}

static int open_door(struct nic_shm *shm)
{
	const struct nic_door_place own = {.scope_id = shm->nic->params.scope_id,
					   .slot = shm->self.slot};
	struct nic_door_place place = own;
	int error;

	memcpy(place.ip, shm->self.ip, 16);
	shm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (shm->epoll < 0)
		return -errno;
	shm->door.fd = nic_door_open(&place);
	if (shm->door.fd < 0)
		return shm->door.fd;
	error = shm_watch(shm, &shm->door);
	return error ? -errno : 0;
}

int nic_shm_open(struct nic *nic, struct nic_shm **ret_shm)
{
	struct nic_shm *shm = calloc(1, sizeof(*shm));
	int ret;

	CHECK(nic->group != NULL);
	if (!shm)
		return -ENOMEM;
	shm->nic = nic;
	shm->epoll = shm->door.fd = -1;
	shm->self.slot = nic_group_slot(nic->group);
	memcpy(shm->self.ip, nic->params.addr[0], 16);
	if (nic->params.path == NIC_PATH_DIRECT &&
	    getrandom(&shm->word, sizeof(shm->word), 0) == (ssize_t)sizeof(shm->word)) {
		shm->word |= 1;
		shm->self.word = shm->word;
		shm->self.word_at = (uintptr_t)&shm->word;
	}
	ret = open_door(shm);
	if (ret != 0) {
		nic_shm_close(shm);
		return ret;
	}
	*ret_shm = shm;
	return 0;
}

static void close_to(struct to *to)
{
	revoke_loans(to, is_any, 0);
	if (to->end.fd >= 0)
		close(to->end.fd);
	nic_door_unmap(to->memory);
	free(to);
}

void nic_shm_close(struct nic_shm *shm)
{
	if (!shm)
		return;
	while (shm->guest_count > 0)
		drop_guest(shm, shm->guest_count - 1);
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (shm->buckets[i]) {
			struct to *to = shm->buckets[i];

			shm->buckets[i] = to->next_in_bucket;
			close_to(to);
		}
	if (shm->door.fd >= 0)
		close(shm->door.fd);
	if (shm->epoll >= 0)
		close(shm->epoll);
	free(shm);
}
