/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_bare WORK BYTES QPS MILLISECONDS CORES CORES: what the machine itself gives two processes,
 *as one number (bench/pair.h); QPS counts for nothing. ring		GB/s through a ring of
 *shared memory: copied in by one, and out by the other writev		GB/s by process_vm_writev()
 *into the other's memory tcp		GB/s through a TCP connection of the loopback interface udp
 *GB/s of datagrams of so many bytes that arrive, by sendmmsg() and recvmmsg()
 *	datagrams	millions of them a second
 *	tcp_lat		us one way of 8 bytes, where each waits in recv(), the median
 *	tcp_poll_lat	the same, where recv() is called again and again
 *	spin_lat	the same through a word of shared memory
 */
#include "bench/pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PLACES = 16, PIECE = 16384, BATCH = 32, SOCKET_BYTES = 4 << 20, DATAGRAM_MAX = 65536 };

struct shared {
	_Alignas(64) _Atomic uint64_t head; /* pieces that were put */
	_Alignas(64) _Atomic uint64_t tail; /* and taken */
	_Alignas(64) _Atomic uint64_t is_over;
	_Alignas(4096) uint8_t pieces[PLACES][PIECE];
};
_Static_assert(sizeof(struct shared) <= PAIR_SHARED_BYTES, "it fits");

static struct pair pair;
static uint8_t *bytes;

static struct shared *shared(void)
{
	return (struct shared *)(void *)pair.shared;
}

static uint64_t look(_Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void tell(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* Whole messages, as often as the time lasts; bytes a nanosecond. */
static double copy_for(uint64_t ns, void (*message)(void), void (*end)(void))
{
	const uint64_t began = pair_ns();
	uint64_t count = 0;

	do {
		message();
		count++;
	} while (pair_ns() - began < ns);
	end();
	return (double)(count * pair.bytes) / (double)(pair_ns() - began);
}

static void print_copies(void (*message)(void), void (*end)(void))
{
	copy_for(pair.ns / 5, message, end);
	printf("%.4f\n", copy_for(pair.ns, message, end));
}

static void ring_message(void)
{
	struct shared *ring = shared();
	uint64_t head = ring->head;

	for (size_t at = 0; at < pair.bytes; at += PIECE) {
		const size_t rest = pair.bytes - at;

		while (head - look(&ring->tail) == PLACES)
			;
		memcpy(ring->pieces[head % PLACES], bytes + at, rest < PIECE ? rest : PIECE);
		tell(&ring->head, ++head);
	}
}

static void ring_end(void)
{
	while (look(&shared()->tail) != shared()->head)
		;
}

static void ring_take(void)
{
	struct shared *ring = shared();
	size_t at = 0;

	for (uint64_t tail = 0; look(&ring->is_over) == 0;) {
		const size_t rest = pair.bytes - at, piece = rest < PIECE ? rest : PIECE;

		if (look(&ring->head) == tail)
			continue;
		memcpy(bytes + at, ring->pieces[tail % PLACES], piece);
		tell(&ring->tail, ++tail);
		at = piece == rest ? 0 : at + piece;
	}
}

static void run_ring(void)
{
	if (!pair.is_first) {
		ring_take();
		return;
	}
	print_copies(ring_message, ring_end);
	tell(&shared()->is_over, 1);
}

static uint64_t remote; /* the other's bytes */

static void writev_message(void)
{
	const struct iovec from = {bytes, pair.bytes};
	const struct iovec to = {(void *)(uintptr_t)remote, pair.bytes};

	pair_need(process_vm_writev(pair.child, &from, 1, &to, 1, 0) == (ssize_t)pair.bytes,
		  "process_vm_writev");
}

static void no_end(void)
{
}

static void run_writev(void)
{
	const uint64_t mine = (uintptr_t)bytes;

	pair_swap(&pair, &mine, &remote, sizeof(mine));
	if (pair.is_first)
		print_copies(writev_message, no_end);
	pair_meet(&pair);
}

/* A socket of the loopback interface. */
static int bound(int type, struct sockaddr_in *ret_addr)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(addr);
	const int fd = socket(AF_INET, type, 0);

	pair_need(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
			  getsockname(fd, (struct sockaddr *)&addr, &length) == 0,
		  "socket");
	*ret_addr = addr;
	return fd;
}

static int tcp_connected(void)
{
	const int one = 1;
	struct sockaddr_in mine, theirs;
	int fd = bound(SOCK_STREAM, &mine);

	pair_need(pair.is_first || listen(fd, 1) == 0, "listen");
	pair_swap(&pair, &mine, &theirs, sizeof(mine));
	if (pair.is_first)
		pair_need(connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)) == 0, "connect");
	else
		fd = accept(fd, NULL, NULL);
	pair_need(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0,
		  "connection");
	return fd;
}

static int stream;

static void tcp_message(void)
{
	for (size_t at = 0; at < pair.bytes;) {
		const ssize_t sent = send(stream, bytes + at, pair.bytes - at, MSG_NOSIGNAL);

		pair_need(sent > 0, "send");
		at += (size_t)sent;
	}
}

/* Until the end of the stream, which the other is told. */
static void tcp_take(void)
{
	uint8_t answer = 0;
	ssize_t got;

	while ((got = recv(stream, bytes, pair.bytes, 0)) > 0)
		;
	pair_need(got == 0 && send(stream, &answer, 1, MSG_NOSIGNAL) == 1, "receive");
}

/* All of it is taken. */
static void tcp_end(void)
{
	uint8_t answer;

	pair_need(shutdown(stream, SHUT_WR) == 0 && recv(stream, &answer, 1, 0) == 1, "the end");
}

static void run_tcp(void)
{
	stream = tcp_connected();
	if (pair.is_first) {
		copy_for(pair.ns / 5, tcp_message, no_end);
		printf("%.4f\n", copy_for(pair.ns, tcp_message, tcp_end));
	} else {
		tcp_take();
	}
}

/* 8 bytes there and back until the first sends 0. */
static void tcp_trips(int flags)
{
	struct pair_trips trips = {.count = 0};
	const uint64_t until = pair_ns() + pair.ns;
	uint64_t word;

	do {
		const uint64_t began = pair_ns();
		ssize_t got;

		word = began < until;
		for (int i = 0; i < 2; i++) {
			if ((i == 0) == pair.is_first) {
				pair_need(send(stream, &word, sizeof(word), MSG_NOSIGNAL) == 8,
					  "send");
				continue;
			}
			do
				got = recv(stream, &word, sizeof(word), flags);
			while (got < 0 && errno == EAGAIN);
			pair_need(got == sizeof(word), "receive");
		}
		if (pair.is_first)
			pair_trips_add(&trips, pair_ns() - began);
	} while (word != 0);
	if (pair.is_first)
		pair_trips_print(&trips);
}

static void run_tcp_lat(void)
{
	stream = tcp_connected();
	tcp_trips(0);
}

static void run_tcp_poll_lat(void)
{
	stream = tcp_connected();
	tcp_trips(MSG_DONTWAIT);
}

static void run_spin_lat(void)
{
	struct pair_trips trips = {.count = 0};
	const uint64_t until = pair_ns() + pair.ns;
	struct shared *words = shared();

	for (uint64_t round = 1; look(&words->is_over) == 0; round++) {
		const uint64_t began = pair_ns();

		if (!pair.is_first) {
			while (look(&words->head) < round && look(&words->is_over) == 0)
				;
			tell(&words->tail, round);
			continue;
		}
		tell(&words->head, round);
		while (look(&words->tail) < round)
			;
		pair_trips_add(&trips, pair_ns() - began);
		if (began >= until)
			tell(&words->is_over, 1);
	}
	if (pair.is_first)
		pair_trips_print(&trips);
}

static void prepare(struct mmsghdr messages[BATCH], struct iovec iovecs[BATCH])
{
	memset(messages, 0, BATCH * sizeof(messages[0]));
	for (int i = 0; i < BATCH; i++) {
		iovecs[i] = (struct iovec){pair.is_first ? bytes : bytes + i * DATAGRAM_MAX,
					   pair.bytes};
		messages[i].msg_hdr.msg_iov = &iovecs[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

/* How many have come, from the first to the last; none for so long: that was all. */
static double take_datagrams(int fd, struct mmsghdr messages[BATCH])
{
	const struct timeval patience = {.tv_usec = 200000};
	uint64_t first = 0, last = 0, count = 0;
	int got;

	pair_need(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0,
		  "patience");
	while ((got = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL)) > 0) {
		last = pair_ns();
		if (first == 0)
			first = last;
		else
			count += (uint64_t)got;
	}
	return last > first ? (double)count / (double)(last - first) : 0;
}

static double datagrams_a_ns(void)
{
	static struct mmsghdr messages[BATCH];
	static struct iovec iovecs[BATCH];
	const int size = SOCKET_BYTES;
	struct sockaddr_in mine, theirs;
	const int fd = bound(SOCK_DGRAM, &mine);
	uint64_t began;
	double rate = 0, come;

	bytes = pair_memory((size_t)BATCH * DATAGRAM_MAX);
	prepare(messages, iovecs);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	pair_swap(&pair, &mine, &theirs, sizeof(mine));
	pair_need(connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)) == 0, "connect");
	pair_meet(&pair);
	began = pair_ns();
	if (pair.is_first)
		while (pair_ns() - began < pair.ns)
			pair_need(sendmmsg(fd, messages, BATCH, 0) > 0, "sendmmsg");
	else
		rate = take_datagrams(fd, messages);
	pair_swap(&pair, &rate, &come, sizeof(rate));
	errno = ENODATA;
	pair_need(rate + come > 0, "datagrams");
	return come;
}

static void run_udp(void)
{
	const double come = datagrams_a_ns();

	if (pair.is_first)
		printf("%.4f\n", come * (double)pair.bytes);
}

static void run_datagrams(void)
{
	const double come = datagrams_a_ns();

	if (pair.is_first)
		printf("%.4f\n", come * 1000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} works[] = {{"ring", run_ring},
		     {"writev", run_writev},
		     {"tcp", run_tcp},
		     {"udp", run_udp},
		     {"datagrams", run_datagrams},
		     {"tcp_lat", run_tcp_lat},
		     {"spin_lat", run_spin_lat},
		     {"tcp_poll_lat", run_tcp_poll_lat}};
	size_t k = 0;

	pair_begin(&pair, argc, argv);
	while (k < sizeof(works) / sizeof(works[0]) && strcmp(works[k].name, pair.work) != 0)
		k++;
	errno = EINVAL;
	pair_need(k < sizeof(works) / sizeof(works[0]) && pair.bytes <= 64 << 20, pair.work);
	bytes = pair_memory(pair.bytes);
	pair_meet(&pair);
	works[k].run();
	return pair_end(&pair);
}
