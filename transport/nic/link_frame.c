/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole Ethernet frames, one a datagram, between two unix sockets: the format of QEMU's
 * "-netdev dgram,id=N,local.type=unix,local.path=A,remote.type=unix,remote.path=B". A link of two
 * stations with no switch between them, so frames for other stations are ignored.
 *
 * The peer's socket may come later, or go and come back: a frame sent meanwhile is lost like on a
 * cable without a far end, and counted. Questions for addresses are asked again by who resolves. */
#include "transport/nic/link.h"

#include "transport/wire/arp.h"
#include "transport/wire/mcast.h"
#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NEIGH_MAX = 64, BUFFER_BYTES = 4 << 20 };

struct neigh {
	uint8_t ip[16], mac[6];
	bool known;
};

struct link_frame {
	struct nic_link link;
	bool bound;
	struct sockaddr_un local, remote;
	uint8_t mac[6];
	uint8_t gids[NIC_GID_MAX][16];
	uint32_t gid_count;
	uint8_t groups[NIC_MCAST_MAX][16]; /* that are heard */
	uint32_t group_count;
	struct neigh neighs[NEIGH_MAX];
	uint32_t neigh_next; /* the slot that the next new one takes */
	struct mmsghdr messages[NIC_BATCH];
	struct iovec iovecs[NIC_BATCH];
};

static struct link_frame *to_frame(struct nic_link *link)
{
	return container_of(link, struct link_frame, link);
}

static bool link_frame_is_own(const struct link_frame *frame, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < frame->gid_count; i++)
		if (memcmp(frame->gids[i], ip, 16) == 0)
			return true;
	return false;
}

/* Where it is in the list; group_count: nowhere. */
static uint32_t group_place(const struct link_frame *frame, const uint8_t ip[16])
{
	uint32_t i = 0;

	while (i < frame->group_count && memcmp(frame->groups[i], ip, 16) != 0)
		i++;
	return i;
}

static bool hears_group(const struct link_frame *frame, const uint8_t ip[16])
{
	return group_place(frame, ip) < frame->group_count;
}

static struct neigh *neigh_find(struct link_frame *frame, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < NEIGH_MAX; i++)
		if (frame->neighs[i].known && memcmp(frame->neighs[i].ip, ip, 16) == 0)
			return &frame->neighs[i];
	return NULL;
}

static void neigh_learn(struct link_frame *frame, const uint8_t ip[16], const uint8_t mac[6])
{
	static const uint8_t unspecified[16], unspecified_ipv4[16] = {[10] = 0xff, [11] = 0xff};
	struct neigh *neigh = neigh_find(frame, ip);

	if (memcmp(ip, unspecified, 16) == 0 || memcmp(ip, unspecified_ipv4, 16) == 0)
		return;
	if (link_frame_is_own(frame, ip))
		return;
	if (!neigh) {
		neigh = &frame->neighs[frame->neigh_next];
		frame->neigh_next = (frame->neigh_next + 1) % NEIGH_MAX;
	}
	memcpy(neigh->ip, ip, 16);
	memcpy(neigh->mac, mac, 6);
	neigh->known = true;
}

/* 0, -EAGAIN: no room, -ENOTCONN: lost and counted. */
static int send_one(struct link_frame *frame, const struct sockaddr_un *to, const uint8_t *buf,
		    size_t length)
{
	for (;;) {
		if (sendto(frame->link.fd, buf, length, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (const struct sockaddr *)to, sizeof(*to)) >= 0)
			return 0;
		if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
			return -EAGAIN;
		if (errno != EINTR)
			break;
	}
	frame->link.stats->tx_lost++;
	return -ENOTCONN;
}

static void send_neigh(struct link_frame *frame, const struct wire_neigh *neigh)
{
	uint8_t buf[WIRE_NEIGH_MAX];
	size_t length = wire_neigh_emit(neigh, buf, sizeof(buf));

	CHECK(length > 0);
	if (send_one(frame, &frame->remote, buf, length) == -EAGAIN)
		frame->link.stats->tx_lost++; /* who asked asks again */
}

static void on_neigh(struct link_frame *frame, const struct wire_neigh *neigh)
{
	struct wire_neigh answer;

	/* As RFC 826 has it for ARP, and here for both kinds: what is known is renewed by all that
	 * pass, what is new is learnt from who speaks to us. */
	if (!link_frame_is_own(frame, neigh->peer_ip)) {
		if (neigh_find(frame, neigh->sender_ip))
			neigh_learn(frame, neigh->sender_ip, neigh->sender_mac);
		return;
	}
	neigh_learn(frame, neigh->sender_ip, neigh->sender_mac);
	if (neigh->reply)
		return;
	wire_neigh_answer(neigh, frame->mac, &answer);
	send_neigh(frame, &answer);
}

static uint32_t frame_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	struct link_frame *frame = to_frame(link);
	int got;

	CHECK(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++) {
		frame->iovecs[i] = (struct iovec){slots[i].buf, NIC_SLOT_BYTES};
		frame->messages[i].msg_hdr =
			(struct msghdr){.msg_iov = &frame->iovecs[i], .msg_iovlen = 1};
	}
	got = recvmmsg(link->fd, frame->messages, count, MSG_DONTWAIT, NULL);
	if (got <= 0)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		slots[i].bytes = slots[i].buf;
		slots[i].length = frame->messages[i].msg_len;
		slots[i].truncated = (frame->messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
	}
	return (uint32_t)got;
}

static enum wire_verdict frame_parse(struct nic_link *link, struct nic_slot *slot,
				     struct wire_pkt *pkt)
{
	struct link_frame *frame = to_frame(link);
	enum wire_verdict verdict = wire_frame_parse(&slot->path, pkt, slot->bytes, slot->length);
	struct wire_neigh neigh;

	if (verdict == WIRE_NOT_ROCE && wire_neigh_parse(&neigh, slot->bytes, slot->length)) {
		link->stats->rx_neigh++;
		on_neigh(frame, &neigh);
	}
	if (verdict != WIRE_OK)
		return verdict;
	if (memcmp(slot->path.dst_mac, frame->mac, 6) == 0 &&
	    link_frame_is_own(frame, slot->path.dst_ip))
		return WIRE_OK;
	if (slot->path.dst_mac[0] & 1 && hears_group(frame, slot->path.dst_ip))
		return WIRE_OK;
	link->stats->rx_not_ours++;
	return WIRE_NOT_ROCE;
}

static void frame_emit(struct nic_link *link, const struct wire_pkt *pkt, struct nic_slot *slot)
{
	(void)link;
	slot->length = (uint32_t)wire_frame_emit(&slot->path, pkt, slot->buf, NIC_SLOT_BYTES);
	CHECK(slot->length > 0);
}

static uint32_t frame_send(struct nic_link *link, const struct nic_slot *slots, uint32_t count)
{
	struct link_frame *frame = to_frame(link);

	for (uint32_t i = 0; i < count; i++) {
		/* To itself: not by way of the wire. To a group that it hears: both. */
		bool to_self = memcmp(slots[i].path.dst_mac, frame->mac, 6) == 0;
		int ret = send_one(frame, to_self ? &frame->local : &frame->remote, slots[i].buf,
				   slots[i].length);

		if (ret == -EAGAIN)
			return i;
		if (hears_group(frame, slots[i].path.dst_ip))
			(void)send_one(frame, &frame->local, slots[i].buf, slots[i].length);
		if (ret == 0)
			link->stats->tx_packets++;
	}
	return count;
}

static int frame_resolve(struct nic_link *link, struct wire_path *path, bool ask)
{
	struct link_frame *frame = to_frame(link);
	struct neigh *neigh;
	struct wire_neigh question = {.vlan = path->vlan};

	if (wire_ip_is_ipv4(path->src_ip) != wire_ip_is_ipv4(path->dst_ip))
		return -ENETUNREACH;
	if (link_frame_is_own(frame, path->dst_ip)) {
		memcpy(path->dst_mac, frame->mac, 6);
		return 0;
	}
	if (wire_ip_is_multicast(path->dst_ip)) {
		wire_mcast_mac(path->dst_ip, path->dst_mac);
		return 0;
	}
	neigh = neigh_find(frame, path->dst_ip);
	if (neigh) {
		memcpy(path->dst_mac, neigh->mac, 6);
		return 0;
	}
	if (!ask)
		return -EAGAIN;
	memcpy(question.sender_mac, frame->mac, 6);
	memcpy(question.sender_ip, path->src_ip, 16);
	memcpy(question.peer_ip, path->dst_ip, 16);
	send_neigh(frame, &question);
	return -EAGAIN;
}

static int frame_hear(struct nic_link *link, const uint8_t ip[16], bool hears)
{
	struct link_frame *frame = to_frame(link);
	const uint32_t place = group_place(frame, ip);

	if (!hears && place < frame->group_count)
		memcpy(frame->groups[place], frame->groups[--frame->group_count], 16);
	if (!hears)
		return 0;
	if (frame->group_count == NIC_MCAST_MAX)
		return -ENOSPC;
	memcpy(frame->groups[frame->group_count++], ip, 16);
	return 0;
}

/* All comes by the one socket. */
static uint32_t frame_recv_mcast(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	(void)link, (void)slots, (void)count;
	return 0;
}

static void frame_close(struct nic_link *link)
{
	struct link_frame *frame = to_frame(link);

	if (link->fd >= 0)
		close(link->fd);
	if (frame->bound)
		unlink(frame->local.sun_path);
	free(frame);
}

static const struct nic_link_ops frame_ops = {
	.name = "frame",
	.recv = frame_recv,
	.parse = frame_parse,
	.emit = frame_emit,
	.send = frame_send,
	.resolve = frame_resolve,
	.hear = frame_hear,
	.recv_mcast = frame_recv_mcast,
	.close = frame_close,
};

static int set_path(struct sockaddr_un *address, const char *path)
{
	_Static_assert(sizeof(address->sun_path) >= NIC_PATH_MAX, "paths fit");
	if (path[0] == '\0' || strlen(path) >= sizeof(address->sun_path))
		return -EINVAL;
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return 0;
}

/* A socket file that a dead process left is in the way, one that lives is not touched. */
static int bind_local(struct link_frame *frame)
{
	const struct sockaddr *local = (const struct sockaddr *)&frame->local;
	const socklen_t length = sizeof(frame->local);

	if (bind(frame->link.fd, local, length) == 0)
		goto bound;
	if (errno != EADDRINUSE)
		return -errno;
	if (sendto(frame->link.fd, NULL, 0, MSG_DONTWAIT, local, length) >= 0 ||
	    errno != ECONNREFUSED)
		return -EADDRINUSE;
	if (unlink(frame->local.sun_path) != 0 || bind(frame->link.fd, local, length) != 0)
		return -errno;
bound:
	frame->bound = true;
	return 0;
}

static void set_buffer(int fd, int option, int force)
{
	const int bytes = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes));
}

int nic_link_frame_open(const struct nic_link_params *params, struct nic_link **ret_link)
{
	struct link_frame *frame = calloc(1, sizeof(*frame));
	int ret;

	if (!frame)
		return -ENOMEM;
	frame->link = (struct nic_link){.ops = &frame_ops,
					.stats = params->stats,
					.fd = -1,
					.mcast_fd = -1,
					.carries_frames = true};
	memcpy(frame->mac, params->mac, 6);
	memcpy(frame->gids, params->gids, params->gid_count * 16);
	frame->gid_count = params->gid_count;
	ret = set_path(&frame->local, params->params->local_path);
	if (ret == 0)
		ret = set_path(&frame->remote, params->params->remote_path);
	if (ret != 0)
		goto err;
	ret = -EINVAL;
	if (frame->mac[0] & 1)
		goto err;
	frame->link.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (frame->link.fd < 0) {
		ret = -errno;
		goto err;
	}
	set_buffer(frame->link.fd, SO_RCVBUF, SO_RCVBUFFORCE);
	set_buffer(frame->link.fd, SO_SNDBUF, SO_SNDBUFFORCE);
	ret = bind_local(frame);
	if (ret != 0)
		goto err;
	*ret_link = &frame->link;
	return 0;
err:
	frame_close(&frame->link);
	return ret;
}
