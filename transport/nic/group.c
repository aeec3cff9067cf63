/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/group.h"

#include "util/check.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	ANSWER_MS = 1000, /* that a member has, which may have lost its core, for an answer */
	QUEUE_MS = 10000, /* that a newcomer waits for others who come at the same time */
	QPN_BITS = 24,	  /* of which the highest are the slot */
	BTH_QPN_WORD = 4, /* IBTA 9.2: the queue pair is the low three bytes of this word */
	GSI_QPN = 1,
	PROBE_BYTES = 12,    /* what a packet has at least */
	VERSION = 0x76620002 /* what a member says with the sockets */
};

struct nic_group {
	char name[80];
	uint32_t slot;
	int door; /* a unix socket that listens; -1 */
	int sockets[NIC_GROUP_SOCKETS];
};

/* ---- names ---- */

void nic_group_name(const uint8_t ip[16], uint32_t scope_id, char ret_name[NIC_GROUP_NAME_BYTES])
{
	int at = 0;

	for (int i = 0; i < 16; i++)
		at += snprintf(ret_name + at, NIC_GROUP_NAME_BYTES - (size_t)at, "%02x", ip[i]);
	snprintf(ret_name + at, NIC_GROUP_NAME_BYTES - (size_t)at, "%%%u", scope_id);
}

socklen_t nic_group_address(const struct nic_group *group, const char *suffix,
			    struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1, "%s/%s", group->name,
		 suffix);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   strlen(ret_address->sun_path + 1));
}

/* The namespace goes with the network's. @slot NIC_GROUP_SLOTS: that of the queue of newcomers. */
static socklen_t group_address(const struct nic_group *group, uint32_t slot,
			       struct sockaddr_un *ret_address)
{
	char suffix[16];

	snprintf(suffix, sizeof(suffix), "%u", slot);
	return nic_group_address(group, suffix, ret_address);
}

socklen_t nic_group_door_address(const struct nic_group *group, struct sockaddr_un *ret_address)
{
	return group_address(group, group->slot, ret_address);
}

static int unix_socket(void)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* A socket of that name, -EADDRINUSE or another -errno. */
static int take_name(const struct nic_group *group, uint32_t slot)
{
	struct sockaddr_un address;
	const socklen_t length = group_address(group, slot, &address);
	const int fd = unix_socket();
	int error;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static void group_pause(void)
{
	const struct timespec time = {.tv_nsec = 1000000};

	(void)nanosleep(&time, NULL);
}

/* One newcomer at a time. A socket to be closed, or -errno. */
static int queue_up(const struct nic_group *group)
{
	int fd = -EADDRINUSE;

	for (int i = 0; i < QUEUE_MS && fd == -EADDRINUSE; i++) {
		if (i > 0)
			group_pause();
		fd = take_name(group, NIC_GROUP_SLOTS);
	}
	return fd;
}

/* ---- sockets from one to another ---- */

static bool is_of_this_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

union control {
	struct cmsghdr head;
	uint8_t bytes[CMSG_SPACE(NIC_GROUP_SOCKETS * sizeof(int))];
};

void nic_group_serve(struct nic_group *group)
{
	const uint32_t version = VERSION;
	int fd;

	while ((fd = accept4(group->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct iovec part = {.iov_base = (void *)(uintptr_t)&version,
				     .iov_len = sizeof(version)};
		union control control = {.bytes = {0}};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control.bytes,
					 .msg_controllen = sizeof(control.bytes)};
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(group->sockets));
		memcpy(CMSG_DATA(head), group->sockets, sizeof(group->sockets));
		if (is_of_this_user(fd))
			(void)sendmsg(fd, &message, MSG_NOSIGNAL);
		close(fd);
	}
}

static void group_close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* What a member said: 0, or -EPROTO, when nothing of it is kept. */
static int take_sockets(struct nic_group *group, struct msghdr *message, uint32_t version)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	size_t count;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (count > NIC_GROUP_SOCKETS)
		count = NIC_GROUP_SOCKETS;
	memcpy(group->sockets, CMSG_DATA(head), count * sizeof(int));
	if (version == VERSION && count == NIC_GROUP_SOCKETS && !(message->msg_flags & MSG_CTRUNC))
		return 0;
	group_close_all(group->sockets, count);
	memset(group->sockets, -1, sizeof(group->sockets));
	return -EPROTO;
}

/* The sockets of the member with that slot. -ECONNREFUSED: there is none. -ETIMEDOUT, -EPROTO:
 * there is something that says nothing of use. */
static int ask(struct nic_group *group, uint32_t slot)
{
	struct sockaddr_un address;
	const socklen_t length = group_address(group, slot, &address);
	const int fd = unix_socket();
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	uint32_t version = 0;
	struct iovec part = {.iov_base = &version, .iov_len = sizeof(version)};
	union control control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got = 0;
	int ret = 0;

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&address, length) != 0)
		ret = -errno;
	else if (!is_of_this_user(fd))
		ret = -EPROTO;
	else if (poll(&wait, 1, ANSWER_MS) != 1)
		ret = -ETIMEDOUT;
	else if ((got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC)) != (ssize_t)sizeof(version))
		ret = got > 0 ? -EPROTO : -ECONNREFUSED; /* it has left meanwhile */
	else
		ret = take_sockets(group, &message, version);
	close(fd);
	return ret;
}

/* ---- the first ---- */

static int attach_program(int fd)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, BTH_QPN_WORD),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (1 << QPN_BITS) - 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GSI_QPN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, NIC_GROUP_SLOTS),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, QPN_BITS - NIC_GROUP_SLOT_BITS),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]),
				       .filter = program};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &all, sizeof(all)) == 0
		       ? 0
		       : -errno;
}

static void drain(int fd)
{
	uint8_t byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0)
		;
}

/* Whether what is for the last slot comes there: not so where sockets of before are in the same
 * group, which count first. */
static bool hears_its_own(const struct nic_group *group)
{
	const int last = group->sockets[NIC_GROUP_SLOTS - 1];
	const uint8_t probe[PROBE_BYTES] = {[BTH_QPN_WORD + 1] = 0xff};
	struct pollfd wait = {.fd = last, .events = POLLIN};
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);
	bool heard;

	heard = getsockname(last, (struct sockaddr *)&own, &length) == 0 &&
		sendto(group->sockets[0], probe, sizeof(probe), 0, (struct sockaddr *)&own,
		       length) == (ssize_t)sizeof(probe) &&
		poll(&wait, 1, ANSWER_MS) == 1;
	drain(last);
	return heard;
}

static int found(struct nic_group *group, nic_group_socket_fn *make, void *owner)
{
	int ret;

	for (uint32_t i = 0; i < NIC_GROUP_SOCKETS; i++) {
		group->sockets[i] = make(owner);
		if (group->sockets[i] < 0)
			return group->sockets[i];
	}
	ret = attach_program(group->sockets[0]);
	return ret == 0 && !hears_its_own(group) ? -EADDRINUSE : ret;
}

/* ---- in and out ---- */

static int get_sockets(struct nic_group *group, nic_group_socket_fn *make, void *owner)
{
	int silent = 0;

	for (uint32_t i = 0; i < NIC_GROUP_SLOTS; i++) {
		const int ret = ask(group, i);

		if (ret == 0)
			return 0;
		if (ret != -ECONNREFUSED)
			silent = -EADDRINUSE;
	}
	return silent ? silent : found(group, make, owner);
}

static int take_slot(struct nic_group *group)
{
	for (uint32_t i = 0; i < NIC_GROUP_SLOTS; i++) {
		group->door = take_name(group, i);
		if (group->door == -EADDRINUSE)
			continue;
		if (group->door < 0)
			return group->door;
		if (listen(group->door, NIC_GROUP_SLOTS) != 0)
			return -errno;
		group->slot = i;
		drain(group->sockets[i]); /* what was for the one before */
		return 0;
	}
	return -EUSERS;
}

int nic_group_join(const char *name, nic_group_socket_fn *make, void *owner,
		   struct nic_group **ret_group)
{
	struct nic_group *group = calloc(1, sizeof(*group));
	int queue, ret;

	if (!group)
		return -ENOMEM;
	group->door = -1;
	memset(group->sockets, -1, sizeof(group->sockets));
	snprintf(group->name, sizeof(group->name), "verbena/%u/%s", (unsigned int)geteuid(), name);
	queue = queue_up(group);
	ret = queue < 0 ? queue : get_sockets(group, make, owner);
	if (ret == 0)
		ret = take_slot(group);
	if (queue >= 0)
		close(queue);
	if (ret != 0) {
		nic_group_leave(group);
		return ret;
	}
	*ret_group = group;
	return 0;
}

void nic_group_leave(struct nic_group *group)
{
	if (!group)
		return;
	/* In this order: where there is no door any more, there are no sockets, either. */
	group_close_all(group->sockets, NIC_GROUP_SOCKETS);
	if (group->door >= 0)
		close(group->door);
	free(group);
}

uint32_t nic_group_slot(const struct nic_group *group)
{
	return group->slot;
}

int nic_group_socket(const struct nic_group *group)
{
	return group->sockets[group->slot];
}

int nic_group_gsi_socket(const struct nic_group *group)
{
	return group->sockets[NIC_GROUP_SLOTS];
}

int nic_group_door(const struct nic_group *group)
{
	return group->door;
}
