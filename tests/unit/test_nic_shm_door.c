/* SPDX-License-Identifier: BSD-2-Clause */
/* The door through which a ring comes that two processes share, and who may stand at it. */
#include "transport/nic/shm_door.h"

#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { VERSION = 0x76620104 };

/* An address that no other test and no copy of this one has. */
static struct nic_door_place own_place(void)
{
	struct nic_door_place place = {.slot = 5};
	const uint32_t pid = (uint32_t)getpid();

	place.ip[10] = place.ip[11] = 0xff;
	memcpy(place.ip + 12, &pid, 4);
	place.ip[0] = 0x99; /* of no host */
	return place;
}

static int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void test_a_ring_comes_through_the_door(void **state)
{
	const struct nic_door_place place = own_place();
	const struct nic_door_guest self = {.ip = {1, 2, 3}, .slot = 17};
	const int before = count_files();
	void *sent = NULL, *taken = NULL;
	struct nic_door_guest guest;
	struct nic_ring in, out;
	struct nic_ring_got got;
	struct wire_pkt pkt;
	uint8_t byte = 4;
	int door, there, here;
	bool lends = false;

	(void)state;
	assert_int_equal(nic_door_ask(&place, &self, &sent), -ECONNREFUSED);
	door = nic_door_open(&place);
	assert_true(door >= 0);
	assert_int_equal(nic_door_open(&place), -EADDRINUSE);
	assert_int_equal(nic_door_accept(door), -EAGAIN);
	there = nic_door_ask(&place, &self, &sent);
	assert_true(there >= 0);
	assert_int_equal(nic_door_hear(there, &lends), -EAGAIN);
	here = nic_door_accept(door);
	assert_true(here >= 0);
	assert_int_equal(nic_door_take(here, &guest, &taken), 0);
	assert_int_equal(guest.slot, 17);
	assert_memory_equal(guest.ip, self.ip, 16);
	assert_int_equal(nic_door_answer(here, true), 0);
	assert_int_equal(nic_door_hear(there, &lends), 0);
	assert_true(lends);
	assert_int_equal(nic_door_pid(here), getpid());
	assert_ptr_not_equal(sent, taken);
	nic_ring_init(&in, sent);
	nic_ring_init(&out, taken);
	pkt = (struct wire_pkt){
		.opcode = WIRE_RC | WIRE_SEND_ONLY, .psn = 1, .length = 1, .payload = &byte};
	assert_non_null(nic_ring_room(&in));
	nic_ring_put(&in, &pkt, 0);
	assert_true(nic_ring_get(&out, &got));
	nic_door_ring(there);
	assert_true(nic_door_heard(here));
	close(there);
	assert_false(nic_door_heard(here));
	assert_true(nic_ring_has(&out)); /* what was sent is there */
	close(here);
	close(door);
	nic_door_unmap(sent);
	nic_door_unmap(taken);
	assert_int_equal(count_files(), before);
}

struct said {
	uint32_t version, ring_bytes;
	struct nic_door_guest guest;
};

/* Says it with so many descriptors, and returns what becomes of it. */
static int say(const struct said *said, size_t bytes, const int *fds, size_t count)
{
	const struct nic_door_place place = own_place();
	const int door = nic_door_open(&place), there = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct iovec part = {.iov_base = (void *)(uintptr_t)said, .iov_len = bytes};
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct sockaddr_un address;
	socklen_t length = sizeof(address);
	struct nic_door_guest guest;
	void *memory = NULL;
	int here, ret;

	assert_true(door >= 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(there, (struct sockaddr *)&address, length), 0);
	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(there, &message, 0), (ssize_t)bytes);
	here = nic_door_accept(door);
	assert_true(here >= 0);
	ret = nic_door_take(here, &guest, &memory);
	nic_door_unmap(memory);
	close(here);
	close(there);
	close(door);
	return ret;
}

static int memory_of(size_t bytes, int seals)
{
	const int fd = memfd_create("test", MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void test_the_door_takes_nothing_that_could_hurt(void **state)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const size_t bytes = nic_ring_bytes();
	const struct said right = {.version = VERSION, .ring_bytes = (uint32_t)bytes};
	const struct said other = {.version = VERSION + 1, .ring_bytes = (uint32_t)bytes};
	const struct said longer = {.version = VERSION, .ring_bytes = (uint32_t)bytes + 4096};
	const int before = count_files();
	char name[] = "/tmp/verbena-ring.XXXXXX";
	int good[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		good[i] = memory_of(bytes, all);
	assert_int_equal(say(&right, sizeof(right), good, 1), 0);
	assert_int_equal(say(&right, sizeof(right), good, 0), -EPROTO);
	assert_int_equal(say(&right, sizeof(right), good, 2), -EPROTO);
	assert_int_equal(say(&right, sizeof(right), good, 4), -EPROTO);
	assert_int_equal(say(&right, sizeof(right) - 1, good, 1), -EPROTO);
	assert_int_equal(say(&other, sizeof(other), good, 1), -EPROTO);
	assert_int_equal(say(&longer, sizeof(longer), good, 1), -EPROTO);
	for (int i = 0; i < 4; i++)
		close(good[i]);
	for (int i = 0; i < 5; i++) {
		/* One seal less; a page more or less, which may not be. */
		const int fd = i == 0	? memory_of(bytes, F_SEAL_GROW | F_SEAL_SEAL)
			       : i == 1 ? memory_of(bytes, F_SEAL_SHRINK | F_SEAL_SEAL)
			       : i == 2 ? memory_of(bytes, F_SEAL_SHRINK | F_SEAL_GROW)
			       : i == 3 ? memory_of(bytes - 4096, all)
					: mkstemp(name);

		assert_true(fd >= 0);
		if (i == 4)
			assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
		assert_int_equal(say(&right, sizeof(right), &fd, 1), -EPROTO);
		close(fd);
	}
	unlink(name);
	assert_int_equal(count_files(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_ring_comes_through_the_door),
		cmocka_unit_test(test_the_door_takes_nothing_that_could_hurt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
