/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/shm_door.h"

#include "transport/nic/group.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	VERSION = 0x76620104, /* of the ring and of what is said at the door */
	BELLS_AT_ONCE = 64,
};

#define TAKES_LOANS 0x80000000u /* beside the version, in an answer */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

struct greeting {
	uint32_t version, ring_bytes;
	struct nic_door_guest guest;
};

/* ---- names ---- */

static socklen_t door_address(const struct nic_door_place *place, struct sockaddr_un *ret_address)
{
	char name[NIC_GROUP_NAME_BYTES];

	nic_group_name(place->ip, place->scope_id, name);
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1,
		 "verbena/%u/%s/ring/%u", (unsigned int)geteuid(), name, place->slot);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   strlen(ret_address->sun_path + 1));
}

static int door_socket(void)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static bool door_is_of_this_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

pid_t nic_door_pid(int connection)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

int nic_door_open(const struct nic_door_place *own)
{
	struct sockaddr_un address;
	const socklen_t length = door_address(own, &address);
	const int fd = door_socket();
	int error;

	if (fd < 0 || (bind(fd, (struct sockaddr *)&address, length) == 0 &&
		       listen(fd, NIC_GROUP_SLOTS) == 0))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

int nic_door_accept(int door)
{
	for (;;) {
		const int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return -EAGAIN;
		if (door_is_of_this_user(fd))
			return fd;
		close(fd);
	}
}

/* ---- memory ---- */

static void *door_map(int fd)
{
	void *memory = mmap(NULL, nic_ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void nic_door_unmap(void *memory)
{
	if (memory)
		munmap(memory, nic_ring_bytes());
}

static int make_memory(void **ret_memory)
{
	const int fd = memfd_create("verbena-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)nic_ring_bytes()) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0 &&
	    (*ret_memory = door_map(fd)) != NULL)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Of what nothing is known: memory that could shrink, or of a kind that may have no page when it is
 * touched, would kill who looks at it. */
static bool is_ring(int fd)
{
	struct stat status;
	struct statfs system;
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS && fstatfs(fd, &system) == 0 &&
	       system.f_type == TMPFS_MAGIC && fstat(fd, &status) == 0 &&
	       status.st_size == (off_t)nic_ring_bytes();
}

/* ---- what is said ---- */

union door_control {
	struct cmsghdr head;
	uint8_t bytes[CMSG_SPACE(sizeof(int))];
};

static int greet(int connection, const struct nic_door_guest *self, int memory_fd)
{
	struct greeting greeting = {
		.version = VERSION, .ring_bytes = (uint32_t)nic_ring_bytes(), .guest = *self};
	struct iovec part = {.iov_base = &greeting, .iov_len = sizeof(greeting)};
	union door_control control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(memory_fd));
	memcpy(CMSG_DATA(head), &memory_fd, sizeof(memory_fd));
	return sendmsg(connection, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(greeting) ? 0
											: -errno;
}

static int connect_to(const struct nic_door_place *place)
{
	struct sockaddr_un address;
	const socklen_t length = door_address(place, &address);
	const int fd = door_socket();
	int error;

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&address, length) == 0 && door_is_of_this_user(fd))
		return fd;
	error = errno ? errno : EPERM;
	close(fd);
	return -error;
}

int nic_door_ask(const struct nic_door_place *place, const struct nic_door_guest *self,
		 void **ret_memory)
{
	const int connection = connect_to(place);
	void *memory = NULL;
	int memory_fd, ret;

	if (connection < 0)
		return connection;
	memory_fd = make_memory(&memory);
	ret = memory_fd < 0 ? memory_fd : greet(connection, self, memory_fd);
	if (memory_fd >= 0)
		close(memory_fd);
	if (ret != 0) {
		nic_door_unmap(memory);
		close(connection);
		return ret;
	}
	*ret_memory = memory;
	return connection;
}

int nic_door_hear(int connection, bool *ret_takes_loans)
{
	uint32_t version;
	const ssize_t got = recv(connection, &version, sizeof(version), MSG_DONTWAIT);

	if (got == (ssize_t)sizeof(version)) {
		*ret_takes_loans = (version & TAKES_LOANS) != 0;
		return (version & ~TAKES_LOANS) == VERSION ? 0 : -EPROTO;
	}
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -ECONNREFUSED;
}

int nic_door_answer(int connection, bool takes_loans)
{
	const uint32_t version = VERSION | (takes_loans ? TAKES_LOANS : 0);

	return send(connection, &version, sizeof(version), MSG_NOSIGNAL | MSG_DONTWAIT) ==
			       (ssize_t)sizeof(version)
		       ? 0
		       : -errno;
}

/* The one descriptor that came, or -1: of more, for which there is room by alignment, none stays.
 */
static int descriptor_of(struct msghdr *message)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int fds[2] = {-1, -1};

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(fds, CMSG_DATA(head),
	       head->cmsg_len < CMSG_LEN(sizeof(fds)) ? sizeof(fds[0]) : sizeof(fds));
	if (fds[1] < 0)
		return fds[0];
	close(fds[0]);
	close(fds[1]);
	return -1;
}

int nic_door_take(int connection, struct nic_door_guest *ret_guest, void **ret_memory)
{
	struct greeting greeting;
	struct iovec part = {.iov_base = &greeting, .iov_len = sizeof(greeting)};
	union door_control control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	fd = got < 0 ? -1 : descriptor_of(&message);
	if (fd < 0)
		return -EPROTO;
	*ret_memory = got == (ssize_t)sizeof(greeting) && greeting.version == VERSION &&
				      greeting.ring_bytes == nic_ring_bytes() && is_ring(fd)
			      ? door_map(fd)
			      : NULL;
	close(fd);
	*ret_guest = greeting.guest;
	return *ret_memory ? 0 : -EPROTO;
}

/* Full: it has enough to wake it. */
void nic_door_ring(int connection)
{
	const uint8_t byte = 0;

	(void)!send(connection, &byte, sizeof(byte), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool nic_door_heard(int connection)
{
	uint8_t byte;
	ssize_t got = 1;

	for (int i = 0; i < BELLS_AT_ONCE && got > 0; i++)
		got = recv(connection, &byte, sizeof(byte), MSG_DONTWAIT);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}
