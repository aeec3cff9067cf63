/* SPDX-License-Identifier: BSD-2-Clause */
/* A NIC with live queue pairs whose peer, a process of the same machine, is hostile: it writes what
 * it likes into both rings of shared memory and says what it likes at the door, while the NIC turns
 * its loop, posts and polls. The bytes are a list of steps. After each turn what went out holds
 * nothing private; at the end memory has changed only where the peer may write or what it sends is
 * placed, each work request has completed at most once, with a status that there is, a queue pair
 * of another peer has heard nothing, and a fresh, honest peer is served. */
#include "tests/fuzz/nic_target.h"

#include "util/check.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Where things lie in a ring's memory. */
enum {
	SLEEPS_AT = 64,
	HEADS_AT = 128,
	LENGTH_AT = 4,
	HEAD_BYTES = 64,
};
enum {
	STEPS_MAX = 256,
	TURNS_MAX = 64, /* while packets move: each queue pair has but some at one instant */
	SLOT = 5,	/* of the hostile process */
	PEER_QPN = SLOT << (24 - NIC_GROUP_SLOT_BITS) | 7,
	KNOCKS_MAX = 4,
};
enum step {
	STEP_TURN,
	STEP_PACKET,
	STEP_WHOLE,
	STEP_HEAD,
	STEP_BYTE,
	STEP_INDEX,
	STEP_BELL,
	STEP_CLOSE,
	STEP_KNOCK,
	STEP_DOOR,
	STEP_TAKE,
	STEP_POST,
	STEP_RECV,
	STEP_POLL,
	STEPS
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A ring with the connection that it came by, which may be closed before it. */
struct end {
	int fd; /* -1: none */
	void *memory;
	struct nic_ring ring;
};

struct peer {
	const uint8_t *at, *end;
	struct target target;
	struct end sends, takes;
	int door, knocks[KNOCKS_MAX];
	uint32_t knock_count;
	uint32_t psn[PEER_QPS]; /* of the next request that would be in turn */
	uint8_t payload[WIRE_MTU_MAX];
};

static uint32_t take(struct peer *p, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && p->at < p->end; bytes--)
		value = value << 8 | *p->at++;
	return value;
}

static void end_close(struct end *end)
{
	if (end->fd >= 0)
		close(end->fd);
	nic_door_unmap(end->memory);
	*end = (struct end){.fd = -1};
}

/* ---- what the NIC does ---- */

static uint32_t number_at(const struct end *end, uint32_t place)
{
	uint32_t number;

	memcpy(&number, (uint8_t *)end->memory + HEADS_AT + place * HEAD_BYTES, sizeof(number));
	return number;
}

/* Of what the NIC has just written into the ring: the peer may write anything there itself. */
static void check_private(const struct end *end, const uint32_t before[NIC_RING_PLACES])
{
	for (uint32_t i = 0; i < NIC_RING_PLACES; i++) {
		const uint8_t *head = (uint8_t *)end->memory + HEADS_AT + i * HEAD_BYTES;
		const uint8_t *room = (uint8_t *)end->memory + HEADS_AT +
				      NIC_RING_PLACES * HEAD_BYTES + i * NIC_RING_ROOM;
		uint16_t length;

		if (number_at(end, i) == before[i])
			continue;
		memcpy(&length, head + LENGTH_AT, sizeof(length));
		CHECK(length <= NIC_RING_RUN);
		CHECK(memmem(room, length, target_secret, TARGET_SECRET_BYTES) == NULL);
	}
}

static void turn(struct peer *p)
{
	uint32_t before[NIC_RING_PLACES];

	for (uint32_t i = 0; p->takes.memory && i < NIC_RING_PLACES; i++)
		before[i] = number_at(&p->takes, i);
	for (int i = 0; i < TURNS_MAX && nic_turn(p->target.nic, 1000) > 0; i++)
		;
	if (p->takes.memory)
		check_private(&p->takes, before);
}

/* ---- what the peer sends ---- */

/* Into a NIC that has not heard of it, or not lately. */
static bool has_ring(struct peer *p)
{
	/* Another kind of address, and one that is nobody's, are lies. */
	const uint32_t lie = p->sends.memory ? 0 : take(p, 1);
	struct nic_door_guest self = {.slot = lie >> 4};
	struct nic_door_place place = {.slot = nic_group_slot(p->target.nic->group)};

	if (p->sends.memory)
		return true;
	target_ip(lie % 16 == 15 ? 3 : 1, self.ip);
	if (lie % 16 == 14)
		self.ip[0] = 0x20;
	target_ip(0, place.ip);
	p->sends.fd = nic_door_ask(&place, &self, &p->sends.memory);
	if (p->sends.fd < 0) {
		p->sends.memory = NULL;
		return false;
	}
	nic_ring_init(&p->sends.ring, p->sends.memory);
	for (int i = 0; i < 2; i++) /* it hears of it, and maps it */
		turn(p);
	return true;
}

/* Room for the next packet, whatever was written over the other's index. */
static bool has_room(struct peer *p)
{
	if (!has_ring(p))
		return false;
	p->sends.ring.is_bad = false;
	return nic_ring_room(&p->sends.ring) != NULL;
}

/* Mostly a place that is in a region. */
static void choose_memory(struct peer *p, struct wire_pkt *pkt)
{
	const uint32_t choice = take(p, 1), at = take(p, 2);

	pkt->rkey = p->target.rkeys[choice % TARGET_AREAS] ^ (choice >> 7);
	pkt->va = target_va(&p->target, choice % TARGET_AREAS, 0) + at % (TARGET_MIDDLE + 256) -
		  (choice & 0x40 ? 128u : 0);
}

static void choose_packet(struct peer *p, struct wire_pkt *pkt)
{
	static const uint16_t lengths[] = {
		0, 8, TARGET_MTU, TARGET_MTU + 1, TARGET_MTU - 1, WIRE_MTU_MAX, 64, 1};
	const uint32_t opcode = take(p, 1), flags = take(p, 1), qp = take(p, 1);
	const struct wire_op *op;

	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = (uint8_t)opcode;
	if (!wire_op_find(pkt->opcode))
		pkt->opcode = WIRE_RC | WIRE_SEND_ONLY;
	op = wire_op_find(pkt->opcode);
	pkt->dest_qpn = target_qpn(&p->target, qp % PEER_QPS);
	if (qp >= 0xf0)
		pkt->dest_qpn = qp & 1 ? 1 : take(p, 3);
	pkt->length = op->payload ? lengths[flags & 7] : 0;
	pkt->solicited = flags & 8;
	pkt->ack_req = flags & 16;
	pkt->becn = pkt->opcode == WIRE_CNP;
	if (op->response)
		pkt->psn = (TARGET_SQ_PSN + take(p, 1)) & WIRE_U24_MAX;
	else if (flags & 32)
		pkt->psn = (TARGET_RQ_PSN + take(p, 1) - 16) & WIRE_U24_MAX;
	else
		pkt->psn = p->psn[qp % PEER_QPS]++ & WIRE_U24_MAX;
	if (op->reth || op->atomiceth)
		choose_memory(p, pkt);
	if (op->seth || op->sacketh) {
		pkt->rkey = take(p, 2);
		pkt->va = take(p, 2);
	}
	pkt->dma_length = flags & 64 ? take(p, 2) : pkt->length;
	pkt->word = op->aeth || op->imm || op->ieth || op->feth ? take(p, 4) : 0;
	if (op->ieth && flags & 128)
		pkt->word = p->target.rkeys[flags % TARGET_AREAS];
	pkt->has_rare = op->atomiceth || op->deth || op->rdeth || op->xrceth;
	if (pkt->has_rare)
		pkt->rare = (struct wire_rare){.pkey = WIRE_PKEY_DEFAULT,
					       .qkey = flags & 128 ? take(p, 4) : TARGET_QKEY,
					       .swap_add = take(p, 1),
					       .src_qpn = PEER_QPN,
					       .xrc_srqn = flags};
	pkt->payload = p->payload;
}

static void send_packet(struct peer *p)
{
	struct wire_pkt pkt;

	choose_packet(p, &pkt);
	if (has_room(p))
		nic_ring_put(&p->sends.ring, &pkt, (uint8_t)take(p, 1));
}

/* A datagram with its ICRC, some bytes of which may be others. */
static void send_whole(struct peer *p)
{
	struct wire_path path = {.ttl = 64, .udp_sport = WIRE_UDP_PORT};
	uint8_t bytes[NIC_RING_ROOM] = {0};
	uint32_t damage, length;
	struct wire_pkt pkt;

	choose_packet(p, &pkt);
	target_ip(1, path.src_ip);
	target_ip(0, path.dst_ip);
	length = (uint32_t)wire_udp_emit(&path, &pkt, bytes, sizeof(bytes));
	damage = take(p, 1);
	if (damage & 1)
		bytes[take(p, 1) % length] ^= (uint8_t)damage;
	if (damage & 2)
		length = take(p, 2) % (sizeof(bytes) + 1);
	if (has_room(p))
		nic_ring_put_whole(&p->sends.ring, bytes, length, (uint8_t)(damage & 4));
}

/* A head as the bytes have it; its number is right, or nobody would look. */
static void send_head(struct peer *p)
{
	uint8_t head[HEAD_BYTES] = {0};
	uint32_t number;

	if (!has_room(p))
		return;
	number = p->sends.ring.next + 1;
	memcpy(head, &number, sizeof(number));
	for (uint32_t i = LENGTH_AT; i < HEAD_BYTES && p->at < p->end; i++)
		head[i] = *p->at++;
	memcpy((uint8_t *)p->sends.memory + HEADS_AT +
		       p->sends.ring.next % NIC_RING_PLACES * HEAD_BYTES,
	       head, sizeof(head));
	p->sends.ring.next++;
}

/* ---- what the peer writes into the memory ---- */

static struct end *choose_end(struct peer *p, uint32_t choice)
{
	return choice & 1 && p->takes.memory ? &p->takes : &p->sends;
}

static void write_byte(struct peer *p)
{
	const uint32_t value = take(p, 1), at = take(p, 3);
	const struct end *end = choose_end(p, value);

	if (end->memory)
		((uint8_t *)end->memory)[at % nic_ring_bytes()] = (uint8_t)value;
}

/* What the other end may believe: how many were taken, who sleeps, numbers of packets. */
static void write_index(struct peer *p)
{
	const uint32_t choice = take(p, 1);
	const struct end *end = choose_end(p, choice);
	uint32_t value = end->ring.next + (choice >> 3) - 16, at = 0;

	if (!end->memory)
		return;
	if (choice & 4)
		value = take(p, 4);
	if (choice & 2)
		at = choice & 8 ? SLEEPS_AT : HEADS_AT + take(p, 1) % NIC_RING_PLACES * HEAD_BYTES;
	memcpy((uint8_t *)end->memory + at, &value, sizeof(value));
}

/* ---- what the peer says at doors ---- */

static void say(struct peer *p)
{
	const uint32_t choice = take(p, 1);
	const struct end *end = choose_end(p, choice);
	uint8_t bytes[8];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = choice & 2 ? (uint8_t)take(p, 1) : 0;
	for (uint32_t i = 0; end->fd >= 0 && i <= choice >> 6; i++)
		(void)!send(end->fd, bytes, choice >> 2 & 7, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The memory stays, and with it whoever scribbles there; or all ends. */
static void end_ring(struct peer *p)
{
	const uint32_t choice = take(p, 1);
	struct end *end = choose_end(p, choice);

	if (choice & 2) {
		end_close(end);
	} else if (end->fd >= 0) {
		close(end->fd);
		end->fd = -1;
	}
}

static int strange_memory(uint32_t choice)
{
	const int fd = memfd_create("verbena-ring", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(ftruncate(fd, choice & 1 ? (off_t)nic_ring_bytes() : 4096) == 0);
	return fd;
}

/* A guest that does not even know how to greet. It stays. */
static void knock(struct peer *p)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const uint32_t choice = take(p, 1);
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))] = {0};
	uint8_t bytes[32], ip[16];
	struct iovec part = {bytes, choice >> 2 & 31};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	char name[NIC_GROUP_NAME_BYTES];
	int fd, memory = strange_memory(choice);

	target_ip(0, ip);
	nic_group_name(ip, 0, name);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "verbena/%u/%s/ring/%u",
		 (unsigned)geteuid(), name, nic_group_slot(p->target.nic->group));
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)take(p, 1);
	if (choice & 2) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
							    .cmsg_level = SOL_SOCKET,
							    .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &memory, sizeof(memory));
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(fd >= 0);
	if (p->knock_count < KNOCKS_MAX &&
	    connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				strlen(address.sun_path + 1))) == 0) {
		(void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		p->knocks[p->knock_count++] = fd;
	} else {
		close(fd);
	}
	close(memory);
}

/* The NIC asks for a ring; it is told yes, something else, or nothing. */
static void answer_door(struct peer *p)
{
	const uint32_t choice = take(p, 1);
	struct nic_door_guest guest;
	const int fd = nic_door_accept(p->door);

	if (fd < 0)
		return;
	end_close(&p->takes);
	p->takes.fd = fd;
	if (nic_door_take(fd, &guest, &p->takes.memory) != 0) {
		p->takes.memory = NULL;
		return;
	}
	nic_ring_init(&p->takes.ring, p->takes.memory);
	if (choice % 8 == 7)
		(void)!send(fd, &choice, sizeof(choice), MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (choice % 8 < 6)
		(void)nic_door_answer(fd, choice % 2);
}

static void take_packets(struct peer *p)
{
	struct nic_ring_got got;

	for (uint32_t i = take(p, 1) % 64; p->takes.memory && i > 0; i--) {
		p->takes.ring.is_bad = false;
		if (!nic_ring_get(&p->takes.ring, &got))
			break;
		nic_ring_release(&p->takes.ring);
	}
}

/* ---- what the program does with its queue pairs ---- */

static void post(struct peer *p)
{
	static const enum hca_wr_opcode opcodes[] = {
		HCA_WR_SEND,	  HCA_WR_RDMA_WRITE,	       HCA_WR_RDMA_WRITE_WITH_IMM,
		HCA_WR_RDMA_READ, HCA_WR_ATOMIC_FETCH_AND_ADD, HCA_WR_SEND_WITH_IMM,
		HCA_WR_FLUSH,	  HCA_WR_ATOMIC_CMP_AND_SWP};
	const uint32_t choice = take(p, 1);

	target_post(&p->target, (choice & 15) % PEER_QPS, opcodes[choice >> 4 & 7],
		    1 + take(p, 1) % 16, PEER_QPN);
}

static void step(struct peer *p)
{
	switch ((enum step)(take(p, 1) % STEPS)) {
	case STEP_PACKET:
		send_packet(p);
		break;
	case STEP_WHOLE:
		send_whole(p);
		break;
	case STEP_HEAD:
		send_head(p);
		break;
	case STEP_BYTE:
		write_byte(p);
		break;
	case STEP_INDEX:
		write_index(p);
		break;
	case STEP_BELL:
		say(p);
		break;
	case STEP_CLOSE:
		end_ring(p);
		break;
	case STEP_KNOCK:
		knock(p);
		break;
	case STEP_DOOR:
		answer_door(p);
		break;
	case STEP_TAKE:
		take_packets(p);
		break;
	case STEP_POST:
		post(p);
		break;
	case STEP_RECV:
		target_post_recv(&p->target, take(p, 1) % PEER_QPS);
		break;
	case STEP_POLL:
		target_poll(&p->target);
		break;
	case STEP_TURN:
	case STEPS:
		turn(p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer p = {.at = data, .end = data + size, .sends.fd = -1, .takes.fd = -1};
	struct nic_door_place own = {.slot = SLOT};

	memset(p.payload, 'x', sizeof(p.payload));
	for (uint32_t i = 0; i < PEER_QPS; i++)
		p.psn[i] = TARGET_RQ_PSN;
	target_open(&p.target, PEER_QPN);
	target_ip(1, own.ip);
	p.door = nic_door_open(&own);
	CHECK(p.door >= 0);
	for (int i = 0; i < STEPS_MAX && p.at < p.end; i++)
		step(&p);
	for (int i = 0; i < 4; i++)
		turn(&p);
	target_serve_another(&p.target); /* while the hostile one is still there */
	close(p.door);
	end_close(&p.sends);
	end_close(&p.takes);
	for (uint32_t i = 0; i < p.knock_count; i++)
		close(p.knocks[i]);
	target_close(&p.target);
	return 0;
}
