/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that share an address: each hears what is for its own queue pairs, whoever comes and
 * however the others end. */
#include "transport/nic/group.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 47910 };

/* An address that no other test and no copy of this one has. */
static struct sockaddr_in own_address(void)
{
	const uint32_t pid = (uint32_t)getpid();
	static struct sockaddr_in address;

	if (address.sin_family == 0)
		address = (struct sockaddr_in){.sin_family = AF_INET,
					       .sin_port = htons(PORT),
					       .sin_addr.s_addr =
						       htonl(0x7f400001 + (pid & 0x3fffff))};
	return address;
}

static int new_socket(bool shares)
{
	const struct sockaddr_in own = own_address();
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), one = shares;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	if (bind(fd, (const struct sockaddr *)&own, sizeof(own)) == 0)
		return fd;
	close(fd);
	return -errno;
}

static int make(void *owner)
{
	int *count = owner;

	++*count;
	return new_socket(true);
}

static char name[32];

static int join(struct nic_group **ret_group, int *ret_made)
{
	snprintf(name, sizeof(name), "test %08x", own_address().sin_addr.s_addr);
	*ret_made = 0;
	return nic_group_join(name, make, ret_made, ret_group);
}

/* A packet for queue pair @qpn, as far as anybody looks. */
static void send_to_qp(uint32_t qpn)
{
	const struct sockaddr_in own = own_address();
	const uint8_t packet[16] = {
		[4] = 0xff, (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8), (uint8_t)qpn};
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(
		sendto(fd, packet, sizeof(packet), 0, (const struct sockaddr *)&own, sizeof(own)),
		sizeof(packet));
	close(fd);
}

static bool has_come(const struct nic_group *group)
{
	struct pollfd wait = {.fd = nic_group_socket(group), .events = POLLIN};
	uint8_t byte;

	if (poll(&wait, 1, 500) != 1)
		return false;
	assert_true(recv(wait.fd, &byte, 1, MSG_TRUNC) == 16);
	return true;
}

/* Another process of the host, which answers at its door. Says its slot, and then for each byte
 * that it gets whether a packet has come. */
struct other {
	pid_t pid;
	int fd;
	int slot;
};

static void live(int fd)
{
	struct nic_group *group;
	int made, slot = join(&group, &made);
	struct pollfd wait[2] = {{.fd = fd, .events = POLLIN}};
	uint8_t byte;

	if (slot == 0)
		slot = (int)nic_group_slot(group);
	if (write(fd, &slot, sizeof(slot)) != (ssize_t)sizeof(slot) || slot < 0)
		_exit(1);
	wait[1] = (struct pollfd){.fd = nic_group_door(group), .events = POLLIN};
	while (poll(wait, 2, -1) > 0) {
		nic_group_serve(group);
		if (!wait[0].revents)
			continue;
		if (read(fd, &byte, 1) != 1)
			break;
		byte = has_come(group) ? 1 : 0;
		if (write(fd, &byte, 1) != 1)
			break;
	}
	nic_group_leave(group);
	_exit(0);
}

static struct other start(void)
{
	struct other other;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	other.pid = fork();
	assert_true(other.pid >= 0);
	if (other.pid == 0) {
		close(fds[0]);
		live(fds[1]);
	}
	close(fds[1]);
	other.fd = fds[0];
	assert_int_equal(read(other.fd, &other.slot, sizeof(other.slot)), sizeof(other.slot));
	return other;
}

static bool other_has(const struct other *other)
{
	uint8_t byte = 0;

	assert_int_equal(write(other->fd, &byte, 1), 1);
	assert_int_equal(read(other->fd, &byte, 1), 1);
	return byte;
}

static void end(struct other *other, int number)
{
	if (number)
		kill(other->pid, number);
	shutdown(other->fd, SHUT_RDWR); /* others that were forked since hold it, too */
	close(other->fd);
	assert_int_equal(waitpid(other->pid, NULL, 0), other->pid);
}

static uint32_t qpn_of(int slot)
{
	return (uint32_t)slot << (24 - NIC_GROUP_SLOT_BITS) | 0x1234;
}

static void test_each_hears_its_own(void **state)
{
	struct other others[3];

	(void)state;
	own_address();
	for (int i = 0; i < 3; i++) {
		others[i] = start();
		assert_int_equal(others[i].slot, i);
	}
	for (int i = 0; i < 3; i++) {
		send_to_qp(qpn_of(i));
		for (int k = 0; k < 3; k++)
			assert_int_equal(other_has(&others[k]), k == i);
	}
	for (int i = 0; i < 3; i++)
		end(&others[i], 0);
}

/* The first one made the sockets; they outlive it, and its slot is the next one's. */
static void test_the_first_may_be_killed(void **state)
{
	struct other first, second, third;

	(void)state;
	own_address();
	first = start();
	second = start();
	send_to_qp(qpn_of(0)); /* nobody is going to read it */
	end(&first, SIGKILL);
	send_to_qp(qpn_of(1));
	assert_true(other_has(&second));
	third = start();
	assert_int_equal(third.slot, 0);
	assert_false(other_has(&third)); /* what was for the one before is gone */
	send_to_qp(qpn_of(0));
	assert_true(other_has(&third));
	send_to_qp(qpn_of(1));
	assert_true(other_has(&second));
	end(&second, 0);
	end(&third, SIGKILL);
}

/* Messages of queue pair 1 come to a socket that all have, and to no slot's own. */
static void test_queue_pair_1_is_of_all(void **state)
{
	struct nic_group *group;
	struct pollfd wait = {.events = POLLIN};
	struct other first;
	uint8_t bytes[16];
	int made;

	(void)state;
	own_address();
	first = start();
	assert_int_equal(first.slot, 0);
	assert_int_equal(join(&group, &made), 0);
	send_to_qp(1);
	wait.fd = nic_group_gsi_socket(group);
	assert_int_equal(poll(&wait, 1, 1000), 1);
	assert_true(recv(wait.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0);
	assert_false(other_has(&first));
	send_to_qp(2); /* that is of the first slot */
	assert_true(other_has(&first));
	assert_int_equal(recv(wait.fd, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
	end(&first, 0);
	nic_group_leave(group);
}

static void test_nothing_is_left(void **state)
{
	struct nic_group *group;
	struct other other;
	int made, fd;

	(void)state;
	own_address();
	other = start();
	assert_int_equal(other.slot, 0);
	end(&other, SIGKILL);
	assert_int_equal(join(&group, &made), 0);
	assert_int_equal(made, NIC_GROUP_SLOTS + 1); /* nobody had any */
	nic_group_leave(group);
	fd = new_socket(false);
	assert_true(fd >= 0);
	close(fd);
}

static void test_strangers_at_the_address(void **state)
{
	struct nic_group *group;
	int made, fd;

	(void)state;
	own_address();
	fd = new_socket(false);
	assert_int_equal(join(&group, &made), -EADDRINUSE);
	close(fd);
	/* It shares, and is no member: packets would be another's. */
	fd = new_socket(true);
	assert_int_equal(join(&group, &made), -EADDRINUSE);
	close(fd);
	assert_int_equal(join(&group, &made), 0);
	nic_group_leave(group);
}

/* A process that has the first slot's name, and hands out as many sockets and that word to who
 * comes; of another user where @is_foreign. It ends when it has. */
static pid_t pretend(uint32_t word, bool is_foreign)
{
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(NIC_GROUP_SOCKETS * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {.iov_base = &word, .iov_len = sizeof(word)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int ready[2], length, door, fd;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			  "verbena/%u/test %08x/0", (unsigned)geteuid(),
			  own_address().sin_addr.s_addr);
	child = fork();
	assert_true(child >= 0);
	if (child > 0) {
		close(ready[1]);
		assert_int_equal(read(ready[0], &fd, 1), 1);
		close(ready[0]);
		return child;
	}
	alarm(20);
	if (is_foreign && setuid(65534) != 0)
		_exit(1);
	door = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(door, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0 ||
	    listen(door, 1) != 0 || write(ready[1], "", 1) != 1)
		_exit(1);
	fd = accept(door, NULL, NULL);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(NIC_GROUP_SOCKETS * sizeof(int));
	for (int i = 0; i < NIC_GROUP_SOCKETS; i++)
		memcpy(CMSG_DATA(&control.head) + (size_t)i * sizeof(int), &door, sizeof(int));
	_exit(sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(word));
}

static void assert_not_believed(uint32_t word, bool is_foreign)
{
	struct nic_group *group;
	const pid_t child = pretend(word, is_foreign);
	int made;

	assert_int_equal(join(&group, &made), -EADDRINUSE);
	assert_int_equal(made, 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Whoever has the name of a member and is none, of this version and this user, is not believed. */
static void test_who_only_has_the_name(void **state)
{
	const uint32_t word = 0x76620002; /* of this version */

	(void)state;
	own_address();
	assert_not_believed(word + 1, false);
	if (geteuid() == 0)
		assert_not_believed(word, true);
}

/* Sockets of the host are for processes of its user; only root can be another one. */
static void test_sockets_are_for_one_user(void **state)
{
	struct nic_group *group;
	struct sockaddr_un address;
	socklen_t length;
	uint32_t word;
	int made, status;
	pid_t child;

	(void)state;
	own_address();
	if (geteuid() != 0)
		return;
	assert_int_equal(join(&group, &made), 0);
	length = nic_group_door_address(group, &address);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const int fd = setuid(65534) == 0 ? socket(AF_UNIX, SOCK_SEQPACKET, 0) : -1;

		alarm(20);
		if (connect(fd, (struct sockaddr *)&address, length) != 0)
			_exit(2);
		_exit(recv(fd, &word, sizeof(word), 0) > 0);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		nic_group_serve(group);
	assert_int_equal(status, 0);
	nic_group_leave(group);
}

static void test_a_name_says_the_interface(void **state)
{
	const uint8_t ip[16] = {0xfe, 0x80, [15] = 0x1a};
	char text[NIC_GROUP_NAME_BYTES];

	(void)state;
	nic_group_name(ip, 3, text);
	assert_string_equal(text, "fe80000000000000000000000000001a%3");
}

static void test_as_many_as_there_are_slots(void **state)
{
	struct other others[NIC_GROUP_SLOTS], more;

	(void)state;
	own_address();
	for (int i = 0; i < NIC_GROUP_SLOTS; i++) {
		others[i] = start();
		assert_int_equal(others[i].slot, i);
	}
	more = start();
	assert_int_equal(more.slot, -EUSERS);
	end(&more, 0);
	send_to_qp(qpn_of(NIC_GROUP_SLOTS - 1));
	assert_true(other_has(&others[NIC_GROUP_SLOTS - 1]));
	for (int i = 0; i < NIC_GROUP_SLOTS; i++)
		end(&others[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_hears_its_own),
		cmocka_unit_test(test_the_first_may_be_killed),
		cmocka_unit_test(test_queue_pair_1_is_of_all),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_strangers_at_the_address),
		cmocka_unit_test(test_who_only_has_the_name),
		cmocka_unit_test(test_sockets_are_for_one_user),
		cmocka_unit_test(test_a_name_says_the_interface),
		cmocka_unit_test(test_as_many_as_there_are_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
