/* SPDX-License-Identifier: BSD-2-Clause */
/* The link that moves datagrams through io_uring, by itself: rings that are too small, sockets that
 * are full, forks, and a kernel that takes nothing any more. Without io_uring it is skipped. */
#include "tests/unit/nic_test.h"
#include "transport/nic/link_ring.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64, TINY = 4, MANY = 100, LONG = 200000 };

struct end {
	struct nic_params params;
	struct nic_stats stats;
	struct nic_link *link;
	int fd;
	uint8_t memory[NIC_BATCH][NIC_SLOT_BYTES];
	struct nic_slot slots[NIC_BATCH];
};

static void end_open_on(struct end *end, int fd, uint32_t entries)
{
	const struct nic_ring_sizes sizes = {.buffers = entries, .completions = entries};
	struct nic_link_params params = {.params = &end->params, .stats = &end->stats, .fd = fd};

	end->fd = opened(fd);
	end->stats = (struct nic_stats){0};
	for (uint32_t i = 0; i < NIC_BATCH; i++)
		end->slots[i] = (struct nic_slot){.buf = end->memory[i]};
	if (entries == 0)
		assert_int_equal(nic_link_uring_open(&params, &end->link), 0);
	else
		assert_int_equal(nic_link_ring_open(&params, &sizes, &end->link), 0);
	assert_true(end->link->has_ring);
}

/* @entries 0: as the NIC has it. */
static void end_open(struct end *end, unsigned k, uint32_t entries)
{
	end->params = (struct nic_params){.addr_count = 1};
	host_ip(k, end->params.addr[0]);
	end_open_on(end, nic_link_udp_socket(&end->params, false), entries);
}

static void end_close(struct end *end)
{
	end->link->ops->close(end->link);
	closed(end->fd);
}

/* A datagram that says its number. */
static void fill_slot(struct nic_slot *slot, const uint8_t to[16], uint32_t number)
{
	memset(slot->buf, 0x5a, BYTES);
	memcpy(slot->buf, &number, sizeof(number));
	slot->length = BYTES;
	memcpy(slot->path.dst_ip, to, 16);
}

static uint32_t number_in(const struct nic_slot *slot)
{
	uint32_t number;

	assert_int_equal(slot->length, BYTES);
	assert_false(slot->truncated);
	memcpy(&number, slot->bytes, sizeof(number));
	return number;
}

/* All @count that have come, numbered from @first, in order. */
static void receive(struct end *end, uint32_t first, uint32_t count)
{
	uint32_t number = first;

	while (number < first + count) {
		const uint32_t got = end->link->ops->recv(end->link, end->slots, NIC_BATCH);

		assert_in_range(got, 1, NIC_BATCH);
		for (uint32_t i = 0; i < got; i++)
			assert_int_equal(number_in(&end->slots[i]), number++);
	}
	assert_int_equal(number, first + count);
	assert_int_equal(end->link->ops->recv(end->link, end->slots, NIC_BATCH), 0);
}

static void send_all(struct end *end, const uint8_t to[16], uint32_t first, uint32_t count)
{
	uint32_t at = 0;

	assert_true(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++)
		fill_slot(&end->slots[i], to, first + i);
	while (at < count)
		at += end->link->ops->send(end->link, end->slots + at, count - at);
	assert_int_equal(at, count);
}

/* More have come than there are buffers, and than there is room for completions. */
static void a_receive_that_ran_out_of_buffers_goes_on(void **state)
{
	static struct end a, b;

	(void)state;
	end_open(&a, 0, TINY);
	end_open(&b, 1, 0);
	for (uint32_t round = 0; round < 50; round++) {
		send_all(&b, a.params.addr[0], round * 3 * MANY, NIC_BATCH);
		send_all(&b, a.params.addr[0], round * 3 * MANY + NIC_BATCH, NIC_BATCH);
		receive(&a, round * 3 * MANY, 2 * NIC_BATCH);
	}
	assert_true(a.link->has_ring);
	end_close(&a);
	end_close(&b);
}

static void completions_without_room_are_not_lost(void **state)
{
	static struct end a, b;
	const struct nic_ring_sizes sizes = {.buffers = 64, .completions = 2};
	struct nic_link_params params = {.params = &a.params, .stats = &a.stats};

	(void)state;
	end_open(&a, 0, 0);
	end_open(&b, 1, 0);
	a.link->ops->close(a.link);
	params.fd = a.fd;
	assert_int_equal(nic_link_ring_open(&params, &sizes, &a.link), 0);
	send_all(&b, a.params.addr[0], 0, NIC_BATCH);
	send_all(&b, a.params.addr[0], NIC_BATCH, NIC_BATCH);
	receive(&a, 0, 2 * NIC_BATCH);
	send_all(&a, b.params.addr[0], 7, NIC_BATCH);
	receive(&b, 7, NIC_BATCH);
	assert_int_equal(a.stats.tx_packets, NIC_BATCH);
	end_close(&a);
	end_close(&b);
}

/* What lies in a buffer stays until the next recv(), whatever comes. */
static void buffers_that_are_looked_at_are_not_filled(void **state)
{
	static struct end a, b;
	uint32_t got;

	(void)state;
	end_open(&a, 0, TINY);
	end_open(&b, 1, 0);
	send_all(&b, a.params.addr[0], 0, TINY);
	got = a.link->ops->recv(a.link, a.slots, NIC_BATCH);
	send_all(&b, a.params.addr[0], MANY, NIC_BATCH);
	for (uint32_t i = 0; i < got; i++)
		assert_int_equal(number_in(&a.slots[i]), i);
	receive(&a, got == TINY ? MANY : got, NIC_BATCH + (got == TINY ? 0 : TINY - got));
	end_close(&a);
	end_close(&b);
}

static void a_datagram_tells_whence_and_how_it_came(void **state)
{
	static struct end a, b;
	struct plain plain;
	uint8_t tos, bytes[NIC_SLOT_BYTES + 100] = {0};
	uint16_t port;

	(void)state;
	end_open(&a, 0, 0);
	end_open(&b, 1, 0);
	fill_slot(&b.slots[0], a.params.addr[0], 1);
	b.slots[0].path.dscp = 26;
	b.slots[0].path.ecn = 3;
	fill_slot(&b.slots[1], a.params.addr[0], 2);
	b.slots[1].path.dscp = 48;
	b.slots[1].path.ecn = 0;
	assert_int_equal(b.link->ops->send(b.link, b.slots, 2), 2);
	assert_int_equal(a.link->ops->recv(a.link, a.slots, NIC_BATCH), 2);
	assert_int_equal(a.slots[0].path.dscp, 26);
	assert_int_equal(a.slots[0].path.ecn, 3);
	assert_int_equal(a.slots[0].path.priority, 26 >> 3);
	assert_int_equal(a.slots[0].path.udp_sport, 4791);
	assert_memory_equal(a.slots[0].path.src_ip, b.params.addr[0], 16);
	assert_memory_equal(a.slots[0].path.dst_ip, a.params.addr[0], 16);
	assert_int_equal(a.slots[1].path.dscp, 48);
	assert_int_equal(a.slots[1].path.ecn, 0);

	plain_open(&plain, 2, 0);
	plain_tos(&plain, 0xb9);
	plain_send(&plain, a.params.addr[0], bytes, sizeof(bytes));
	plain_send(&plain, a.params.addr[0], bytes, 0);
	assert_int_equal(a.link->ops->recv(a.link, a.slots, NIC_BATCH), 2);
	assert_int_equal(a.slots[0].path.dscp << 2 | a.slots[0].path.ecn, 0xb9);
	assert_int_equal(a.slots[0].path.udp_sport, plain.port);
	assert_true(a.slots[0].truncated);
	assert_int_equal(a.slots[1].length, 0);
	assert_false(a.slots[1].truncated);

	/* On the wire, too. */
	fill_slot(&a.slots[0], plain.ip, 3);
	a.slots[0].path.dscp = 34;
	a.slots[0].path.ecn = 2;
	plain_close(&plain);
	plain_open(&plain, 2, 4791);
	assert_int_equal(a.link->ops->send(a.link, a.slots, 1), 1);
	assert_int_equal(plain_recv(&plain, bytes, sizeof(bytes), &port, &tos), BYTES);
	assert_int_equal(tos, 34 << 2 | 2);
	assert_int_equal(port, 4791);
	plain_close(&plain);
	end_close(&a);
	end_close(&b);
}

/* One that the system refuses is counted, and keeps none back. */
static void a_refused_packet_is_lost_alone(void **state)
{
	static struct end a, b;
	const uint8_t multicast_source[16] = {[10] = 0xff, 0xff, 255, 255, 255, 255};

	(void)state;
	end_open(&a, 0, 0);
	end_open(&b, 1, 0);
	for (uint32_t i = 0; i < 3; i++)
		fill_slot(&b.slots[i], i == 1 ? multicast_source : a.params.addr[0], i / 2);
	assert_int_equal(b.link->ops->send(b.link, b.slots, 3), 3);
	assert_int_equal(b.stats.tx_packets, 2);
	assert_int_equal(b.stats.tx_lost, 1);
	receive(&a, 0, 2);
	end_close(&a);
	end_close(&b);
}

struct reader {
	int fd;
	uint8_t seen[LONG];
	uint32_t doubled;
};

/* It never sleeps, so as to run at the same time. */
static void *read_numbers(void *arg)
{
	struct reader *reader = arg;
	uint8_t bytes[BYTES];
	uint32_t number;
	ssize_t got;

	while ((got = recv(reader->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) != 0) {
		if (got != BYTES)
			continue;
		memcpy(&number, bytes, sizeof(number));
		reader->doubled += reader->seen[number]++;
	}
	return NULL;
}

/* A socket that holds some ten messages and is emptied meanwhile: some find room where others
 * before them did not. Each goes once. */
static void where_there_is_no_room_each_goes_once(void **state)
{
	static struct end a;
	static struct reader reader;
	uint32_t next = 0, waiting = 0, full = 0;
	const int least = 1;
	pthread_t thread;
	int pair[2];

	(void)state;
	memset(&reader, 0, sizeof(reader));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
	reader.fd = opened(pair[1]);
	a.params = (struct nic_params){.addr_count = 1};
	host_ip(0, a.params.addr[0]);
	end_open_on(&a, pair[0], 0);
	assert_int_equal(pthread_create(&thread, NULL, read_numbers, &reader), 0);
	while (next < LONG || waiting > 0) {
		struct pollfd room = {.fd = a.fd, .events = POLLOUT};
		uint32_t done;

		for (; waiting < NIC_BATCH && next < LONG && waiting == 0;)
			for (uint32_t i = 0; i < NIC_BATCH && next < LONG; i++, waiting++)
				fill_slot(&a.slots[i], a.params.addr[0], next++);
		done = a.link->ops->send(a.link, a.slots, waiting);
		waiting -= done;
		for (uint32_t i = 0; i < waiting && done > 0; i++) {
			const struct nic_slot left = a.slots[i + done];

			a.slots[i + done] = a.slots[i];
			a.slots[i] = left;
		}
		if (waiting > 0) {
			full++;
			assert_int_equal(poll(&room, 1, 10000), 1);
		}
	}
	end_close(&a);
	assert_int_equal(pthread_join(thread, NULL), 0);
	closed(reader.fd);
	assert_true(full > 0);
	assert_int_equal(reader.doubled, 0);
	for (uint32_t i = 0; i < LONG; i++)
		assert_int_equal(reader.seen[i], 1);
	assert_int_equal(a.stats.tx_packets, LONG);
	assert_int_equal(a.stats.tx_lost, 0);
}

static void wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The child closes what it has of the parent's ring, and hears and sends nothing through it. */
static void a_fork_leaves_the_ring_to_the_parent(void **state)
{
	static struct end a, b;
	pid_t child;

	(void)state;
	end_open(&a, 0, 0);
	end_open(&b, 1, 0);
	send_all(&b, a.params.addr[0], 0, 3);
	child = fork();
	if (child == 0) {
		a.link->ops->close(a.link);
		_exit(0);
	}
	wait_for(child);
	receive(&a, 0, 3);
	for (uint32_t i = 0; i < 4; i++) {
		send_all(&b, a.params.addr[0], i * NIC_BATCH, NIC_BATCH);
		receive(&a, i * NIC_BATCH, NIC_BATCH);
		send_all(&a, b.params.addr[0], i, NIC_BATCH);
		receive(&b, i, NIC_BATCH);
	}
	assert_true(a.link->has_ring);
	end_close(&a);
	end_close(&b);
}

static uint32_t count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint32_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static uint32_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint32_t count = 0;
	int c;

	assert_non_null(maps);
	while ((c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

/* Nor does the kernel hold the socket: its address is free at once. */
static void closing_leaves_nothing(void **state)
{
	static struct end a, b;
	uint32_t fds = 0, mappings = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		end_open(&a, 0, 0);
		end_open(&b, 1, 0);
		send_all(&b, a.params.addr[0], 0, 10);
		receive(&a, 0, 10);
		end_close(&a);
		end_close(&b);
		if (i == 0) {
			fds = count_fds();
			mappings = count_mappings();
		}
	}
	assert_int_equal(count_fds(), fds);
	assert_in_range(count_mappings(), 1, mappings + 2);
}

/* What the kernel cleans up later it does in the threads that have used it. */
static void closing_interrupts_nobody(void **state)
{
	static struct end a;
	const int nothing = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	(void)state;
	assert_true(nothing >= 0);
	end_open(&a, 0, 0);
	send_all(&a, a.params.addr[0], 0, 10);
	receive(&a, 0, 10);
	end_close(&a);
	assert_int_equal(epoll_wait(nothing, &event, 1, 200), 0);
	close(nothing);
}

/* In a child what the parent keeps is of no use. */
static void a_child_opens_a_ring_of_its_own(void **state)
{
	static struct end a;
	pid_t child;

	(void)state;
	end_open(&a, 0, 0);
	end_close(&a);
	child = fork();
	if (child == 0) {
		end_open(&a, 0, 0);
		send_all(&a, a.params.addr[0], 0, 10);
		receive(&a, 0, 10);
		end_close(&a);
		_exit(0);
	}
	wait_for(child);
	end_open(&a, 0, 0);
	send_all(&a, a.params.addr[0], 20, 10);
	receive(&a, 20, 10);
	end_close(&a);
}

/* What has come and was not looked at is not for the next one. */
static void a_ring_that_is_kept_is_empty(void **state)
{
	static struct end a;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		end_open(&a, 0, 0);
		send_all(&a, a.params.addr[0], i * NIC_BATCH, NIC_BATCH);
		assert_int_equal(a.link->ops->recv(a.link, a.slots, 1), 1);
		end_close(&a);
		end_open(&a, 0, 0);
		assert_int_equal(a.link->ops->recv(a.link, a.slots, NIC_BATCH), 0);
		end_close(&a);
	}
}

/* What a sandbox does that a program enters when it has begun. */
static bool forbid_io_uring(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, __NR_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, __NR_io_uring_register, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]),
				       .filter = program};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

/* In a child, since nothing takes it back: what is being looked at stays, and all that follows goes
 * through the socket alone. */
static void forbidden_later_it_goes_on_without(void **state)
{
	static struct end a, b;
	const pid_t child = fork();

	(void)state;
	if (child == 0) {
		end_open(&a, 0, 0);
		end_open(&b, 1, 0);
		send_all(&b, a.params.addr[0], 0, 10);
		receive(&a, 0, 10);
		if (!forbid_io_uring())
			_exit(1);
		for (uint32_t i = 0; i < 4; i++) {
			send_all(&b, a.params.addr[0], i * NIC_BATCH, NIC_BATCH);
			receive(&a, i * NIC_BATCH, NIC_BATCH);
			send_all(&a, b.params.addr[0], i, NIC_BATCH);
			receive(&b, i, NIC_BATCH);
		}
		assert_false(a.link->has_ring);
		assert_false(b.link->has_ring);
		assert_int_equal(b.stats.tx_packets, 10 + 4 * NIC_BATCH);
		end_close(&a);
		end_close(&b);
		assert_int_equal(nic_loop_check(NIC_LOOP_URING), -EPERM);
		assert_int_equal(nic_loop_check(NIC_LOOP_AUTO), 0);
		assert_int_equal(nic_loop_check(NIC_LOOP_EPOLL), 0);
		_exit(0);
	}
	wait_for(child);
}

static void open_with(enum nic_loop_kind loop, int expected, enum nic_loop_kind in_use)
{
	struct nic_params params = {.addr_count = 1, .loop = loop};
	struct nic *nic;

	host_ip(3, params.addr[0]);
	assert_int_equal(nic_open(&params, &nic), expected);
	if (expected != 0)
		return;
	assert_int_equal(nic_loop_in_use(nic), in_use);
	nic_close(nic);
}

/* What is asked for is what there is, or nothing. */
static void the_loop_is_the_one_of_the_parameters(void **state)
{
	const pid_t child = fork();

	(void)state;
	if (child == 0) {
		open_with(NIC_LOOP_URING, 0, NIC_LOOP_URING);
		open_with(NIC_LOOP_EPOLL, 0, NIC_LOOP_EPOLL);
		open_with(NIC_LOOP_AUTO, 0, NIC_LOOP_EPOLL);
		if (!forbid_io_uring())
			_exit(1);
		open_with(NIC_LOOP_URING, -EPERM, NIC_LOOP_AUTO);
		open_with(NIC_LOOP_EPOLL, 0, NIC_LOOP_EPOLL);
		open_with(NIC_LOOP_AUTO, 0, NIC_LOOP_EPOLL);
		_exit(0);
	}
	wait_for(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_receive_that_ran_out_of_buffers_goes_on),
		T(completions_without_room_are_not_lost),
		T(buffers_that_are_looked_at_are_not_filled),
		T(a_datagram_tells_whence_and_how_it_came),
		T(a_refused_packet_is_lost_alone),
		T(where_there_is_no_room_each_goes_once),
		T(a_fork_leaves_the_ring_to_the_parent),
		T(closing_leaves_nothing),
		T(closing_interrupts_nobody),
		T(a_child_opens_a_ring_of_its_own),
		T(a_ring_that_is_kept_is_empty),
		T(forbidden_later_it_goes_on_without),
		T(the_loop_is_the_one_of_the_parameters),
	};

	if (nic_loop_check(NIC_LOOP_URING) != 0) {
		puts("no io_uring here");
		return 77;
	}
	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
