/* SPDX-License-Identifier: BSD-2-Clause */
/* A UDP socket through io_uring: a batch of packets is one system call each way.
 *
 * Requests never outlive the call that submits them: sends are MSG_DONTWAIT, and so is the
 * multishot receive, which takes what has come, ends with -EAGAIN, and is armed anew by the next
 * recv().
 * - A request that waits belongs to the thread that submitted it and interrupts that one's system
 *   calls: a program's epoll_wait() would return EINTR without a signal.
 * - It holds the socket until the kernel's own thread has cleaned up behind a process that was
 *   killed: the next one of that address would find it taken.
 * So the socket is what the loop waits for, as in link_udp.c. For the second reason, neither is the
 * socket registered as a file of the ring.
 *
 * And a ring that is not used any more is kept for the next device that is opened: the kernel tears
 * one down later, and for that interrupts all threads that have ever submitted to it, in the same
 * way.
 *
 * Datagrams come into a ring of buffers that is registered with the kernel, each with its sender
 * and control messages in front, and stay there until the next recv(): they are not copied again.
 *
 * A process that is forbidden io_uring while it runs (seccomp) goes on as link_udp.c does. */
#include "transport/nic/link_ring.h"
#include "transport/nic/link_udp.h"

#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BUFFERS = 2 * NIC_BATCH,     /* a batch that the loop looks at, and one that comes */
	SUBMISSIONS = 2 * NIC_BATCH, /* a batch, and the receive */
	COMPLETIONS = 4 * NIC_BATCH, /* of both, and of all buffers */
	NAME_BYTES = 32,	     /* of a sender: no less than an address */
	HEAD_BYTES = 16 + NAME_BYTES + NIC_LINK_CONTROL_BYTES,
	BUFFER_STRIDE = (HEAD_BYTES + NIC_SLOT_BYTES + 63) / 64 * 64,
	OF_RECV = 0xffff, /* user_data; less: which of a batch that is sent */
	TRIES = 8,	  /* of a submission for which there is no memory */
	KEPT = 8,	  /* devices that a program has had open at once, and more than most have */
};
_Static_assert((int)NAME_BYTES >= (int)sizeof(union nic_link_address), "it fits");
_Static_assert(sizeof(struct io_uring_recvmsg_out) == 16, "what HEAD_BYTES counts");
_Static_assert(HEAD_BYTES % 8 == 0, "control messages and packets are aligned");
_Static_assert(NIC_BATCH <= 32, "a bit each");

struct arrival {
	uint16_t buffer;
	uint32_t length; /* with all that is in front */
};

struct link_uring {
	struct link_udp udp; /* first: functions of link_udp.c take it */
	struct io_uring ring;
	bool has_ring;	/* @ring is to be closed */
	bool is_broken; /* the kernel takes nothing any more: from now on as link_udp.c */
	struct nic_ring_sizes sizes;

	/* One mapping, which a fork() shows the child empty: */
	uint8_t *memory;
	size_t memory_bytes;
	struct io_uring_buf_ring *free_ring;
	uint8_t *buffers;
	uint8_t *is_parent; /* 1; in a child 0 */

	struct msghdr shape;	    /* of what is received */
	struct arrival *arrivals;   /* a queue of sizes.buffers places */
	uint32_t first, came_count; /* in it */
	uint16_t *lent;		    /* buffers that the loop looks at */
	uint32_t lent_count;

	uint32_t flying; /* requests that are not over */
	int results[NIC_BATCH];
	uint32_t gone; /* of the slots that send() is to be called with again, those that have left:
			* bit 0 is the first */
};

static _Atomic(struct link_uring *) kept[KEPT];

static struct link_uring *to_uring(struct nic_link *link)
{
	return container_of(link, struct link_uring, udp.link);
}

static uint8_t *buffer_at(const struct link_uring *u, uint16_t buffer)
{
	return u->buffers + (size_t)buffer * BUFFER_STRIDE;
}

/* ---- requests ---- */

static void break_off(struct link_uring *u)
{
	u->is_broken = true;
	u->udp.link.has_ring = false;
}

/* More may follow unless the flags say no: then the request is over. */
static void take_received(struct link_uring *u, const struct io_uring_cqe *cqe)
{
	if (!(cqe->flags & IORING_CQE_F_MORE))
		u->flying--;
	if (cqe->flags & IORING_CQE_F_BUFFER) {
		const uint16_t buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
		const uint32_t at = (u->first + u->came_count) % u->sizes.buffers;

		CHECK(buffer < u->sizes.buffers);
		CHECK(u->came_count < u->sizes.buffers);
		u->arrivals[at] = (struct arrival){.buffer = buffer,
						   .length = cqe->res > 0 ? (uint32_t)cqe->res : 0};
		u->came_count++;
	} else if (cqe->res == -EINVAL || cqe->res == -EOPNOTSUPP || cqe->res == -EBADF) {
		break_off(u); /* it will stay so */
	}
	/* -EAGAIN: no more has come. -ENOBUFS: all buffers are full. Others are the socket's and
	 * told once, such as -ECONNREFUSED. */
}

static void take_results(struct link_uring *u)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		count++;
		if (cqe->user_data == OF_RECV) {
			take_received(u, cqe);
		} else {
			u->results[cqe->user_data] = cqe->res;
			u->flying--;
		}
	}
	io_uring_cq_advance(&u->ring, count);
}

/* Until all requests are over: at once, since none of them waits; more calls are made only where
 * completions have had no room. False: the kernel takes none. */
static bool submit(struct link_uring *u)
{
	int ret = io_uring_submit(&u->ring);

	for (int i = 0;; i++) {
		take_results(u);
		if (u->flying == 0)
			return true;
		if (ret < 0 && ret != -EINTR && (i >= TRIES || ret == -EPERM || ret == -ENOSYS))
			break;
		ret = io_uring_submit_and_wait(&u->ring, 1);
	}
	break_off(u);
	return false;
}

/* ---- receiving ---- */

/* What the loop has looked at is free again. */
static void give_back(struct link_uring *u)
{
	const int mask = io_uring_buf_ring_mask(u->sizes.buffers);

	if (u->lent_count == 0)
		return;
	for (uint32_t i = 0; i < u->lent_count; i++)
		io_uring_buf_ring_add(u->free_ring, buffer_at(u, u->lent[i]), BUFFER_STRIDE,
				      u->lent[i], mask, (int)i);
	io_uring_buf_ring_advance(u->free_ring, (int)u->lent_count);
	u->lent_count = 0;
}

static void request_recv(struct link_uring *u, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	CHECK(sqe); /* all of those before are over */
	io_uring_prep_recvmsg_multishot(sqe, fd, &u->shape, MSG_DONTWAIT);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	sqe->user_data = OF_RECV;
	u->flying++;
}

/* Lends the next one that has come; false: it is none. */
static bool lend(struct link_uring *u, struct nic_slot *slot)
{
	const struct arrival arrival = u->arrivals[u->first];
	uint8_t *at = buffer_at(u, arrival.buffer);
	struct io_uring_recvmsg_out *out =
		io_uring_recvmsg_validate(at, (int)arrival.length, &u->shape);
	union nic_link_address from;
	struct msghdr message = {.msg_controllen = 0};

	u->first = (u->first + 1) % u->sizes.buffers;
	u->came_count--;
	u->lent[u->lent_count++] = arrival.buffer;
	if (!out)
		return false;
	memcpy(&from, io_uring_recvmsg_name(out), sizeof(from));
	message.msg_control = at + sizeof(*out) + NAME_BYTES;
	message.msg_controllen =
		out->controllen < NIC_LINK_CONTROL_BYTES ? out->controllen : NIC_LINK_CONTROL_BYTES;
	nic_link_udp_path(&from, u->udp.ip, &message, &slot->path);
	slot->bytes = at + HEAD_BYTES;
	slot->length = arrival.length - HEAD_BYTES;
	slot->truncated = (out->flags & MSG_TRUNC) != 0;
	return true;
}

static uint32_t uring_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	struct link_uring *u = to_uring(link);
	uint32_t got = 0;

	CHECK(count <= NIC_BATCH);
	if (!u->is_broken)
		give_back(u);
	if (u->came_count == 0 && !u->is_broken) {
		request_recv(u, link->fd);
		(void)submit(u);
	}
	if (u->came_count == 0 && u->is_broken)
		return nic_link_udp_recv(link, slots, count);
	while (got < count && u->came_count > 0)
		got += lend(u, &slots[got]);
	return got;
}

/* ---- sending ---- */

static bool found_no_room(int result)
{
	return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM || result == -EINTR;
}

/* Where some found no room and others behind them did, the latter have gone, and are not sent again
 * with the former. */
static uint32_t count_gone(struct link_uring *u, uint32_t count)
{
	uint32_t gone = u->gone, done = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (gone >> i & 1 || found_no_room(u->results[i]))
			continue;
		gone |= 1u << i;
		if (u->results[i] >= 0)
			u->udp.link.stats->tx_packets++;
		else
			u->udp.link.stats->tx_lost++; /* the adapter's timers know */
	}
	while (done < count && gone >> done & 1)
		done++;
	u->gone = done < 32 ? gone >> done : 0;
	return done;
}

static uint32_t uring_send(struct nic_link *link, const struct nic_slot *slots, uint32_t count)
{
	struct link_uring *u = to_uring(link);

	CHECK(count <= NIC_BATCH);
	if (u->is_broken)
		return nic_link_udp_send(link, slots, count);
	for (uint32_t i = 0; i < count; i++) {
		struct io_uring_sqe *sqe;

		u->results[i] = -EAGAIN;
		sqe = u->gone >> i & 1 ? NULL : io_uring_get_sqe(&u->ring);
		if (!sqe)
			continue;
		nic_link_udp_prepare(&u->udp, i, &slots[i]);
		io_uring_prep_sendmsg(sqe, link->fd, &u->udp.messages[i].msg_hdr, MSG_DONTWAIT);
		sqe->user_data = i;
		u->flying++;
	}
	(void)submit(u);
	return count_gone(u, count);
}

/* ---- opening, closing ---- */

/* In a child of the process that opened it, the ring is left as it is. */
static void tear_down(struct link_uring *u)
{
	if (u->has_ring && *u->is_parent) {
		(void)io_uring_unregister_buf_ring(&u->ring, 0);
		io_uring_queue_exit(&u->ring);
	} else if (u->has_ring) {
		close(u->ring.ring_fd);
	}
	if (u->memory)
		munmap(u->memory, u->memory_bytes);
	free(u->arrivals);
	free(u->lent);
	free(u);
}

/* False: it is none of the usual ones, or as many are kept already. */
static bool keep(struct link_uring *u)
{
	if (u->sizes.buffers != BUFFERS || u->sizes.completions != COMPLETIONS)
		return false;
	for (int i = 0; i < KEPT; i++) {
		struct link_uring *none = NULL;

		if (atomic_compare_exchange_strong(&kept[i], &none, u))
			return true;
	}
	return false;
}

/* One that is kept, with all its buffers free; NULL: there is none. */
static struct link_uring *take_kept(const struct nic_ring_sizes *sizes)
{
	if (sizes->buffers != BUFFERS || sizes->completions != COMPLETIONS)
		return NULL;
	for (int i = 0; i < KEPT; i++) {
		struct link_uring *u = atomic_exchange(&kept[i], NULL);

		if (!u)
			continue;
		if (*u->is_parent) {
			CHECK(u->flying == 0);
			for (; u->came_count > 0; u->came_count--) {
				u->lent[u->lent_count++] = u->arrivals[u->first].buffer;
				u->first = (u->first + 1) % u->sizes.buffers;
			}
			u->gone = 0;
			return u;
		}
		tear_down(u); /* the parent's */
	}
	return NULL;
}

static void uring_close(struct nic_link *link)
{
	struct link_uring *u = to_uring(link);

	nic_link_udp_fini(&u->udp);
	if (!u->has_ring || u->is_broken || !*u->is_parent || !keep(u))
		tear_down(u);
}

static const struct nic_link_ops uring_ops = {
	.name = "uring",
	.recv = uring_recv,
	.parse = nic_link_udp_parse,
	.emit = nic_link_udp_emit,
	.send = uring_send,
	.resolve = nic_link_udp_resolve,
	.hear = nic_link_udp_hear,
	.recv_mcast = nic_link_udp_recv_mcast,
	.close = uring_close,
};

static size_t whole_pages(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int map_buffers(struct link_uring *u)
{
	const size_t ring_bytes = u->sizes.buffers * sizeof(struct io_uring_buf);
	const size_t buffers_at = whole_pages(ring_bytes + 1);

	u->memory_bytes = buffers_at + whole_pages((size_t)u->sizes.buffers * BUFFER_STRIDE);
	u->memory = mmap(NULL, u->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (u->memory == MAP_FAILED) {
		u->memory = NULL;
		return -errno;
	}
	if (madvise(u->memory, u->memory_bytes, MADV_WIPEONFORK) != 0)
		return -errno;
	u->free_ring = (struct io_uring_buf_ring *)(void *)u->memory;
	u->is_parent = u->memory + ring_bytes;
	u->buffers = u->memory + buffers_at;
	*u->is_parent = 1;
	u->arrivals = calloc(u->sizes.buffers, sizeof(u->arrivals[0]));
	u->lent = calloc(u->sizes.buffers, sizeof(u->lent[0]));
	return u->arrivals && u->lent ? 0 : -ENOMEM;
}

static int offer_buffers(struct link_uring *u)
{
	struct io_uring_buf_reg reg = {.ring_addr = (uintptr_t)u->free_ring,
				       .ring_entries = u->sizes.buffers};
	const int ret = io_uring_register_buf_ring(&u->ring, &reg, 0);

	if (ret != 0)
		return ret;
	io_uring_buf_ring_init(u->free_ring);
	for (uint32_t i = 0; i < u->sizes.buffers; i++)
		u->lent[i] = (uint16_t)i;
	u->lent_count = u->sizes.buffers;
	give_back(u);
	return 0;
}

/* On a socket to which nothing comes: is this kind of receive known? */
static int try_recv(struct link_uring *u)
{
	int pair[2];
	bool ok;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	request_recv(u, pair[0]);
	ok = submit(u) && !u->is_broken;
	close(pair[0]);
	close(pair[1]);
	return ok ? 0 : -ENOSYS;
}

static int set_up_ring(struct link_uring *u)
{
	struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP |
					     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,
				    .cq_entries = u->sizes.completions};
	const uint32_t most = u->sizes.completions;
	int ret = map_buffers(u);

	if (ret == 0)
		ret = io_uring_queue_init_params(most < SUBMISSIONS ? most : SUBMISSIONS, &u->ring,
						 &p);
	if (ret != 0)
		return ret;
	u->has_ring = true;
	ret = io_uring_ring_dontfork(&u->ring);
	if (ret == 0)
		ret = offer_buffers(u);
	return ret == 0 ? try_recv(u) : ret;
}

int nic_link_ring_open(const struct nic_link_params *params, const struct nic_ring_sizes *sizes,
		       struct nic_link **ret_link)
{
	struct link_uring *u = take_kept(sizes);
	int ret = 0;

	if (u && try_recv(u) != 0) { /* it is forbidden now */
		tear_down(u);
		u = NULL;
	}
	if (!u) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return -ENOMEM;
		u->sizes = *sizes;
		u->shape = (struct msghdr){.msg_namelen = NAME_BYTES,
					   .msg_controllen = NIC_LINK_CONTROL_BYTES};
		ret = set_up_ring(u);
	}
	if (ret != 0) {
		tear_down(u);
		return ret;
	}
	nic_link_udp_init(&u->udp, params, &uring_ops);
	u->udp.link.has_ring = true;
	*ret_link = &u->udp.link;
	return 0;
}

int nic_link_uring_open(const struct nic_link_params *params, struct nic_link **ret_link)
{
	const struct nic_ring_sizes sizes = {.buffers = BUFFERS, .completions = COMPLETIONS};

	return nic_link_ring_open(params, &sizes, ret_link);
}

int nic_link_uring_check(void)
{
	struct nic_stats stats;
	const struct nic_params params = {.addr_count = 0};
	const struct nic_link_params link_params = {.params = &params, .stats = &stats, .fd = -1};
	struct nic_link *link;
	const int ret = nic_link_uring_open(&link_params, &link);

	if (ret == 0)
		link->ops->close(link);
	return ret;
}
