/* SPDX-License-Identifier: BSD-2-Clause */
/* Two NICs in one process, or one NIC and a plain socket that sees and says every byte. Nothing
 * sleeps; what never comes ends in the alarm, after ALARM seconds (default: 120). Addresses are
 * those of this process, so that tests may run side by side. */
#include "tests/unit/nic_test.h"
#include "transport/nic/internal.h"

#include "transport/wire/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BIG = 10000 };

static void fill(uint8_t *bytes, uint32_t count, uint32_t seed)
{
	for (uint32_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

/* All that RC does, between two joined sides. */
static void every_operation(struct side *a, struct side *b)
{
	uint64_t *counter = (uint64_t *)(void *)(b->memory + BIG * 2);
	uint64_t *old = (uint64_t *)(void *)(a->memory + BIG * 2);
	struct hca_wc wc;

	fill(a->memory, BIG, 1);
	side_recv(b, 77, 0, BIG);
	side_send(a, &(struct hca_send_wr){.wr_id = 1, .opcode = HCA_WR_SEND}, 0, BIG);
	wc = side_wait(a, b);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	wc = side_wait(b, a);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	assert_int_equal(wc.byte_len, BIG);
	assert_memory_equal(a->memory, b->memory, BIG);

	fill(a->memory, BIG, 2);
	side_send(a,
		  &(struct hca_send_wr){.wr_id = 2,
					.opcode = HCA_WR_RDMA_WRITE,
					.remote_addr = (uintptr_t)b->memory,
					.rkey = b->mr->rkey},
		  0, BIG);
	wc = side_wait(a, b);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	assert_memory_equal(a->memory, b->memory, BIG);

	fill(b->memory, BIG, 3);
	side_send(a,
		  &(struct hca_send_wr){.wr_id = 3,
					.opcode = HCA_WR_RDMA_READ,
					.remote_addr = (uintptr_t)b->memory,
					.rkey = b->mr->rkey},
		  0, BIG);
	wc = side_wait(a, b);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	assert_memory_equal(a->memory, b->memory, BIG);

	*counter = 40;
	side_send(a,
		  &(struct hca_send_wr){.wr_id = 4,
					.opcode = HCA_WR_ATOMIC_FETCH_AND_ADD,
					.remote_addr = (uintptr_t)counter,
					.rkey = b->mr->rkey,
					.compare_add = 2},
		  BIG * 2, 8);
	assert_int_equal(side_wait(a, b).status, HCA_WC_SUCCESS);
	assert_int_equal(*old, 40);
	assert_int_equal(*counter, 42);
	side_send(a,
		  &(struct hca_send_wr){.wr_id = 5,
					.opcode = HCA_WR_ATOMIC_CMP_AND_SWP,
					.remote_addr = (uintptr_t)counter,
					.rkey = b->mr->rkey,
					.compare_add = 42,
					.swap = 7},
		  BIG * 2, 8);
	assert_int_equal(side_wait(a, b).status, HCA_WC_SUCCESS);
	assert_int_equal(*old, 42);
	assert_int_equal(*counter, 7);
}

static void every_operation_over_udp_ipv4(void **state)
{
	struct side a, b;

	(void)state;
	side_open_udp(&a, 1);
	side_open_udp(&b, 2);
	side_join(&a, &b, 1);
	every_operation(&a, &b);
	assert_int_equal(a.path.udp_sport, 4791);
	side_close(&a);
	side_close(&b);
}

/* There is but one IPv6 loopback address: the NIC talks to itself, through the socket. */
static void every_operation_over_udp_ipv6(void **state)
{
	struct side a, b;
	struct nic_stats stats;

	(void)state;
	if (!side_open_udp6(&a))
		skip();
	side_open_on(&b, a.nic);
	side_join(&a, &b, 1);
	every_operation(&a, &b);
	nic_stats(a.nic, &stats);
	/* 10 SEND, 10 WRITE, 1 + 10 READ, 2 + 2 atomics, an ACK at least for SEND and WRITE. */
	assert_true(stats.tx_packets >= 37);
	assert_int_equal(stats.rx[WIRE_OK], stats.tx_packets);
	side_close(&b);
	side_close(&a);
}

static void link_local_gid_reaches_an_ipv4_peer_over_udp(void **state)
{
	struct side a, b;

	(void)state;
	side_open_udp(&a, 1);
	side_open_udp(&b, 2);
	side_join(&a, &b, 0);
	assert_true(wire_path_is_ipv4(&a.path));
	every_operation(&a, &b);
	side_close(&a);
	side_close(&b);
}

static void a_path_of_another_family_is_refused(void **state)
{
	struct side a;
	struct wire_path path = {.dst_ip = {0xfd, [15] = 1}};

	(void)state;
	side_open_udp(&a, 1);
	nic_lock(a.nic);
	assert_int_equal(nic_resolve(a.nic, &path, 1, 1, 2), -ENETUNREACH);
	assert_int_equal(nic_resolve(a.nic, &path, 2, 1, 2), -EINVAL);
	nic_unlock(a.nic);
	side_close(&a);
}

/* A datagram for a's QP as its peer would send it: RC SEND ONLY, 100 bytes, PSN 0, from a plain
 * socket. */
struct forged {
	struct wire_path path;
	struct wire_pkt pkt;
	uint8_t payload[100], buf[5000];
	size_t length;
};

static void forge(struct forged *f, const struct side *a, const struct plain *from)
{
	fill(f->payload, sizeof(f->payload), 9);
	f->path = (struct wire_path){.udp_sport = from->port, .ttl = 64};
	memcpy(f->path.src_ip, from->ip, 16);
	memcpy(f->path.dst_ip, a->ip, 16);
	f->pkt = (struct wire_pkt){.opcode = WIRE_RC | WIRE_SEND_ONLY,
				   .ack_req = true,
				   .length = sizeof(f->payload),
				   .dest_qpn = hca_qp_qpn(a->qp),
				   .psn = a->psn_in,
				   .payload = f->payload};
	f->length = wire_udp_emit(&f->path, &f->pkt, f->buf, sizeof(f->buf));
	assert_int_not_equal(f->length, 0);
}

/* What a counts for the datagram, and that nothing else moved. */
static void expect_verdict(struct side *a, const struct plain *from, const uint8_t *buf,
			   size_t length, enum wire_verdict verdict)
{
	struct nic_stats before, after;

	nic_stats(a->nic, &before);
	plain_send(from, a->ip, buf, length);
	while (nic_turn(a->nic, -1) == 0)
		;
	nic_stats(a->nic, &after);
	for (int v = 0; v < WIRE_VERDICT_COUNT; v++)
		assert_int_equal(after.rx[v] - before.rx[v], v == (int)verdict);
}

/* An adapter that waits for a message, and a socket that it takes for its peer. */
static void open_with_plain(struct side *a, struct plain *peer, uint16_t port)
{
	side_open_udp(a, 1);
	plain_open(peer, 2, port);
	side_join_plain(a, peer->ip);
	side_recv(a, 5, 0, BIG);
}

static void bad_datagrams_are_dropped_and_counted(void **state)
{
	struct side a;
	struct plain peer;
	struct forged f;
	struct hca_wc wc;

	(void)state;
	open_with_plain(&a, &peer, 0);
	forge(&f, &a, &peer);

	f.buf[12 + 50] ^= 0x04; /* one bit of the payload */
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_BAD_ICRC);
	f.buf[12 + 50] ^= 0x04;
	f.buf[7] ^= 0x01; /* the destination QP */
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_BAD_ICRC);
	f.buf[7] ^= 0x01;
	f.buf[f.length - 1] ^= 0x80; /* the ICRC itself */
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_BAD_ICRC);
	f.buf[f.length - 1] ^= 0x80;
	expect_verdict(&a, &peer, f.buf, f.length - 4, WIRE_BAD_ICRC); /* cut */
	expect_verdict(&a, &peer, f.buf, 11, WIRE_MALFORMED);
	expect_verdict(&a, &peer, f.buf, 0, WIRE_MALFORMED);
	expect_verdict(&a, &peer, f.buf, sizeof(f.buf), WIRE_MALFORMED); /* beyond any packet */

	/* As if sent from another port, or with a running IP identification. */
	f.path.udp_sport ^= 1;
	assert_int_equal(wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf)), f.length);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_BAD_ICRC);
	f.path.udp_sport ^= 1;
	f.path.ip_id = 1;
	assert_int_equal(wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf)), f.length);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_BAD_ICRC);
	f.path.ip_id = 0;

	/* None of these reached the adapter; nobody's QP is the adapter's to ignore. */
	assert_int_equal(hca_device_counters(a.hca)->rx_packets, 0);
	f.pkt.dest_qpn ^= 0x800000;
	assert_int_equal(wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf)), f.length);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	assert_int_equal(hca_device_counters(a.hca)->rx_unknown_qp, 1);
	f.pkt.dest_qpn ^= 0x800000;
	assert_true(hca_cq_is_empty(a.cq));

	/* And the right one is taken, from whatever port it comes. */
	assert_int_not_equal(peer.port, 4791);
	assert_int_equal(wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf)), f.length);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	wc = side_wait(&a, &a);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.byte_len, 100);
	assert_memory_equal(a.memory, f.payload, 100);
	plain_close(&peer);
	side_close(&a);
}

/* Somebody who knows number and PSN, and sends from another address than the peer's. */
static void a_connected_queue_pair_hears_its_peer_alone(void **state)
{
	struct side a;
	struct plain peer, stranger;
	struct nic_stats stats;
	struct forged f;

	(void)state;
	side_open_udp(&a, 1);
	plain_open(&peer, 2, 0);
	plain_open(&stranger, 3, 0);
	side_join_plain(&a, peer.ip);
	side_recv(&a, 5, 0, BIG);
	forge(&f, &a, &stranger);
	expect_verdict(&a, &stranger, f.buf, f.length, WIRE_OK);
	nic_stats(a.nic, &stats);
	assert_int_equal(stats.rx_stranger, 1);
	assert_true(hca_cq_is_empty(a.cq));
	f.pkt = (struct wire_pkt){.opcode = WIRE_CNP, .dest_qpn = hca_qp_qpn(a.qp)};
	f.length = wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf));
	expect_verdict(&a, &stranger, f.buf, f.length, WIRE_OK);
	assert_int_equal(hca_device_counters(a.hca)->rx_packets, 0);
	forge(&f, &a, &peer);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	assert_int_equal(side_wait(&a, &a).wr_id, 5);
	plain_close(&stranger);
	plain_close(&peer);
	side_close(&a);
}

static void a_congestion_mark_reaches_the_adapter(void **state)
{
	struct side a;
	struct plain peer;
	struct forged f;

	(void)state;
	open_with_plain(&a, &peer, 0);
	forge(&f, &a, &peer);
	plain_tos(&peer, 26 << 2 | WIRE_ECT0);
	f.pkt.dest_qpn ^= 0x800000;
	assert_int_equal(wire_udp_emit(&f.path, &f.pkt, f.buf, sizeof(f.buf)), f.length);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	assert_int_equal(hca_device_counters(a.hca)->np_ecn_marked_roce_packets, 0);
	plain_tos(&peer, 26 << 2 | WIRE_CE);
	forge(&f, &a, &peer);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	assert_int_equal(hca_device_counters(a.hca)->np_ecn_marked_roce_packets, 1);
	plain_close(&peer);
	side_close(&a);
}

/* What the peer of a marked packet gets back: the ACK in the class of the data, the CNP in the one
 * of its priority, 6, whose class selector is 48 (RFC 2474). */
static void a_cnp_travels_in_its_own_class(void **state)
{
	bool has_ack = false, has_cnp = false;
	struct side a;
	struct plain peer;
	struct forged f;

	(void)state;
	open_with_plain(&a, &peer, 4791);
	plain_tos(&peer, 26 << 2 | WIRE_CE);
	forge(&f, &a, &peer);
	expect_verdict(&a, &peer, f.buf, f.length, WIRE_OK);
	while (!has_ack || !has_cnp) {
		struct wire_path path = {.udp_sport = 4791};
		struct wire_pkt pkt;
		uint8_t buf[5000], tos;
		size_t length = plain_recv(&peer, buf, sizeof(buf), NULL, &tos);

		memcpy(path.src_ip, a.ip, 16);
		memcpy(path.dst_ip, peer.ip, 16);
		assert_int_equal(wire_udp_parse(&path, &pkt, buf, length), WIRE_OK);
		assert_int_equal(tos >> 2, pkt.opcode == WIRE_CNP ? 48 : 26);
		has_ack |= pkt.opcode == (WIRE_RC | WIRE_ACKNOWLEDGE);
		has_cnp |= pkt.opcode == WIRE_CNP;
	}
	plain_close(&peer);
	side_close(&a);
}

/* A receiver that sees the kernel's headers. */
static void packets_leave_as_the_icrc_has_them(void **state)
{
	struct side a;
	struct plain peer;
	struct wire_path path;
	struct wire_pkt pkt;
	uint8_t buf[5000], tos;
	uint16_t port;
	size_t length;

	(void)state;
	side_open_udp(&a, 1);
	plain_open(&peer, 2, 4791);
	side_join_plain(&a, peer.ip);
	fill(a.memory, 100, 1);
	side_send(
		&a,
		&(struct hca_send_wr){.opcode = HCA_WR_RDMA_WRITE, .remote_addr = 4096, .rkey = 1},
		0, 100);
	length = plain_recv(&peer, buf, sizeof(buf), &port, &tos);
	assert_int_equal(port, 4791);
	assert_int_equal(tos >> 2, 26);
	path = (struct wire_path){.udp_sport = 4791};
	memcpy(path.src_ip, a.ip, 16);
	memcpy(path.dst_ip, peer.ip, 16);
	assert_int_equal(wire_udp_parse(&path, &pkt, buf, length), WIRE_OK);
	assert_int_equal(pkt.opcode, WIRE_RC | WIRE_WRITE_ONLY);
	assert_memory_equal(pkt.payload, a.memory, 100);
	plain_close(&peer);
	side_close(&a);
}

/* Seen by a raw socket, where that is allowed: identification 0 and "don't fragment". */
static void ip_identification_is_always_zero(void **state)
{
	struct side a, b;
	uint8_t buf[5000];
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_UDP), seen = 0;

	(void)state;
	if (fd < 0)
		skip();
	host_ip(2, buf); /* of all that passes here, what goes to b */
	memcpy(&address.sin_addr, buf + 12, 4);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	side_open_udp(&a, 1);
	side_open_udp(&b, 2);
	side_join(&a, &b, 1);
	every_operation(&a, &b);
	for (ssize_t got; (got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0;) {
		if (got < 28 || memcmp(buf + 12, a.ip + 12, 4) != 0)
			continue;
		seen++;
		assert_int_equal(buf[4] << 8 | buf[5], 0);
		assert_int_equal(buf[6] << 8 | buf[7], 0x4000);
	}
	assert_true(seen >= 20);
	close(fd);
	side_close(&a);
	side_close(&b);
}

/* The loop wakes for the adapter's timers although nothing comes: the peer stays silent. */
static void a_lost_packet_is_sent_again_in_time(void **state)
{
	struct side a;
	struct plain peer;
	uint8_t first[5000], second[5000];
	size_t length;

	(void)state;
	side_open_udp(&a, 1);
	plain_open(&peer, 2, 4791);
	side_join_plain(&a, peer.ip);
	side_send(
		&a,
		&(struct hca_send_wr){.opcode = HCA_WR_RDMA_WRITE, .remote_addr = 4096, .rkey = 1},
		0, 100);
	length = plain_recv(&peer, first, sizeof(first), NULL, NULL);
	while (nic_turn(a.nic, -1) == 0)
		;
	assert_int_equal(plain_recv(&peer, second, sizeof(second), NULL, NULL), length);
	assert_memory_equal(first, second, length);
	assert_int_equal(hca_device_counters(a.hca)->local_ack_timeout_err, 1);
	plain_close(&peer);
	side_close(&a);
}

/* b's program does nothing at all: its progress thread answers. */
static void progress_thread_answers_for_an_idle_program(void **state)
{
	struct side a, b;

	(void)state;
	side_open_udp(&a, 1);
	side_open_udp_thread(&b, 2);
	fill(b.memory, BIG, 3); /* before calls that its thread sees */
	side_join(&a, &b, 1);
	side_send(&a,
		  &(struct hca_send_wr){.opcode = HCA_WR_RDMA_READ,
					.remote_addr = (uintptr_t)b.memory,
					.rkey = b.mr->rkey},
		  0, BIG);
	assert_int_equal(side_wait(&a, &a).status, HCA_WC_SUCCESS);
	assert_memory_equal(a.memory, b.memory, BIG);
	side_close(&a);
	side_close(&b);
}

/* One that stands in for the requester: posts and never turns the loop. Without a wake the thread
 * sleeps on timers as they were before the post, which is for ever. */
static void progress_thread_repeats_for_an_idle_program(void **state)
{
	struct side a;
	struct plain peer;
	uint8_t buf[5000];

	(void)state;
	side_open_udp_thread(&a, 1);
	plain_open(&peer, 2, 4791);
	side_join_plain(&a, peer.ip);
	other_threads_sleep();
	side_send(
		&a,
		&(struct hca_send_wr){.opcode = HCA_WR_RDMA_WRITE, .remote_addr = 4096, .rkey = 1},
		0, 100);
	for (int i = 0; i < 3; i++)
		plain_recv(&peer, buf, sizeof(buf), NULL, NULL);
	plain_close(&peer);
	side_close(&a);
}

/* As if it had been opened 200 days less a second ago. */
static void make_old(struct nic *nic)
{
	nic_lock(nic);
	nic->epoch_ns -= (200 * 86400 - 1) * (uint64_t)1000000000;
	nic_unlock(nic);
}

static bool is_old(struct nic *nic)
{
	bool old;

	nic_lock(nic);
	old = nic_now(nic) > 86400 * PS_S;
	nic_unlock(nic);
	return old;
}

static void messages_pass_the_200th_day(void **state)
{
	struct side a, b;
	uint32_t young = 0;

	(void)state;
	side_open_udp(&a, 1);
	side_open_udp(&b, 2);
	make_old(a.nic);
	make_old(b.nic);
	side_join(&a, &b, 1);
	assert_true(is_old(a.nic) && is_old(b.nic));
	while (young < 100) {
		side_recv(&b, 7, 0, BIG);
		side_send(&a, &(struct hca_send_wr){.opcode = HCA_WR_SEND}, 0, BIG);
		assert_int_equal(side_wait(&a, &b).status, HCA_WC_SUCCESS);
		assert_int_equal(side_wait(&b, &a).status, HCA_WC_SUCCESS);
		young += !is_old(a.nic) && !is_old(b.nic);
	}
	side_close(&b);
	side_close(&a);
}

/* Eight times 268 ms without an answer, from a second before the 200th day is over: the timer that
 * was set in the old time fires in the new one, in the thread that sleeps on it meanwhile. */
static void a_timer_passes_the_200th_day(void **state)
{
	struct plain silent;
	struct timespec began, ended;
	struct hca_wc wc;
	uint32_t count = 0;
	struct side a;

	(void)state;
	plain_open(&silent, 2, WIRE_UDP_PORT);
	side_open_udp_thread(&a, 1);
	make_old(a.nic);
	a.timeout = 15;
	side_join_plain(&a, silent.ip);
	clock_gettime(CLOCK_MONOTONIC, &began);
	side_send(&a, &(struct hca_send_wr){.opcode = HCA_WR_SEND}, 0, 8);
	while (count == 0) {
		nic_lock(a.nic);
		nic_mind_epoch(a.nic); /* as calls of a program do */
		count = hca_cq_poll(a.cq, 1, &wc);
		nic_unlock(a.nic);
		usleep(1000);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	assert_int_equal(wc.status, HCA_WC_RETRY_EXC_ERR);
	assert_true(ended.tv_sec - began.tv_sec >= 1);
	assert_true(ended.tv_sec - began.tv_sec <= 20);
	assert_false(is_old(a.nic));
	side_close(&a);
	plain_close(&silent);
}

static void a_control_that_remembers_times_is_refused(void **state)
{
	struct nic_params params = {.addr_count = 1, .profile = nic_profile_default(1024, false)};
	struct nic *nic;

	(void)state;
	host_ip(1, params.addr[0]);
	params.profile.cc = &cc_swift;
	assert_int_equal(nic_open(&params, &nic), -EINVAL);
}

static void an_address_belongs_to_one(void **state)
{
	struct side a;
	struct nic_params params = {.addr_count = 1};
	struct nic *nic;

	(void)state;
	side_open_udp(&a, 1);
	memcpy(params.addr[0], a.ip, 16);
	assert_int_equal(nic_open(&params, &nic), -EADDRINUSE);
	memset(params.addr[0] + 12, 0, 4);
	assert_int_equal(nic_open(&params, &nic), -EINVAL); /* no address */
	memset(params.addr[0], 0, 16);
	assert_int_equal(nic_open(&params, &nic), -EINVAL);
	memset(params.addr[0] + 10, 0xff, 2);
	memset(params.addr[0] + 12, 192, 4);
	assert_int_equal(nic_open(&params, &nic), -EADDRNOTAVAIL);
	params.addr_count = 0;
	assert_int_equal(nic_open(&params, &nic), -EINVAL);
	side_close(&a);
}

static void gids_name_the_address(void **state)
{
	const uint8_t tail[8] = {0, 0, 127, 0xff, 0xfe};
	struct side a;
	uint8_t gid[16];

	(void)state;
	side_open_udp(&a, 1);
	assert_int_equal(nic_gid(a.nic, 1, gid), 0);
	assert_memory_equal(gid, a.ip, 16);
	assert_int_equal(nic_gid(a.nic, 0, gid), 0);
	assert_int_equal(gid[0] << 8 | gid[1], 0xfe80);
	assert_memory_equal(gid + 8, tail, 5);
	assert_memory_equal(gid + 13, a.ip + 13, 3);
	assert_int_equal(nic_gid(a.nic, 2, gid), -ENOENT);
	assert_string_equal(nic_netdev(a.nic), "lo");
	assert_int_equal(hca_device_profile(a.hca)->mtu_max, 4096);
	side_close(&a);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* pcapng: a section, a port, and a block of type 6 for every packet, its frame 28 bytes in. */
static void a_capture_has_every_packet_as_a_frame(void **state)
{
	struct nic_params params = {.addr_count = 1};
	struct nic_stats stats;
	struct side a, b;
	uint8_t file[100000];
	size_t length, at;
	uint64_t packets = 0;
	FILE *f;

	(void)state;
	snprintf(params.pcap, sizeof(params.pcap), "/tmp/test_nic.%d.pcapng", (int)getpid());
	host_ip(1, params.addr[0]);
	side_open(&a, &params);
	side_open_udp(&b, 2);
	side_join(&a, &b, 1);
	every_operation(&a, &b);
	nic_stats(a.nic, &stats);
	side_close(&a);
	side_close(&b);
	f = fopen(params.pcap, "rb");
	assert_non_null(f);
	length = fread(file, 1, sizeof(file), f);
	fclose(f);
	unlink(params.pcap);
	for (at = 0; at + 8 <= length; at += get32(file + at + 4)) {
		struct wire_path path;
		struct wire_pkt pkt;

		if (get32(file + at) != 6)
			continue;
		packets++;
		assert_int_equal(
			wire_frame_parse(&path, &pkt, file + at + 28, get32(file + at + 20)),
			WIRE_OK);
		assert_true(memcmp(path.src_ip, a.ip, 16) == 0 ||
			    memcmp(path.src_ip, b.ip, 16) == 0);
	}
	assert_int_equal(at, length);
	assert_int_equal(packets, stats.tx_packets + stats.rx[WIRE_OK]);
	assert_true(packets >= 37);
}

static void environment_is_read_or_refused(void **state)
{
	static const struct {
		const char *name, *value;
		bool good;
	} cases[] = {
		{"VERBENA_LINK", "udp", true},
		{"VERBENA_LINK", "frame:/a,/b", true},
		{"VERBENA_LINK", "frame:/a", false},
		{"VERBENA_LINK", "frame:,/b", false},
		{"VERBENA_LINK", "frame:/a,", false},
		{"VERBENA_LINK", "tcp", false},
		{"VERBENA_ADDR", "127.0.0.9", true},
		{"VERBENA_ADDR", "::1", true},
		{"VERBENA_ADDR", "fe80::1%lo", true},
		{"VERBENA_ADDR", "fe80::1%nosuchdev", false},
		{"VERBENA_ADDR", "127.0.0.256", false},
		{"VERBENA_ADDR", "127.0.0.1 ", false},
		{"VERBENA_ADDR", ",", false},
		{"VERBENA_ADDR", "host", false},
		{"VERBENA_ADDR", "127.0.0.2,127.0.0.3", true}, /* two devices */
		{"VERBENA_ADDR", "127.0.0.2,127.0.0.2", false},
		{"VERBENA_ADDR", "::1,::2,::3,::4,::5,::6,::7,::8", true},
		{"VERBENA_ADDR", "::1,::2,::3,::4,::5,::6,::7,::8,::9", false},
		{"VERBENA_PROFILE", "generic", true},
		{"VERBENA_PROFILE", "connectx6dx", true},
		{"VERBENA_PROFILE", "generic2a", true},
		{"VERBENA_PROFILE", "connectx", false},
		{"VERBENA_MAC", "02:00:00:00:00:01", true},
		{"VERBENA_MAC", "01:00:00:00:00:01", false}, /* a group */
		{"VERBENA_MAC", "02:00:00:00:00", false},
		{"VERBENA_MAC", "02:00:00:00:00:01:02", false},
		{"VERBENA_MTU", "1024", true},
		{"VERBENA_MTU", "1025", false},
		{"VERBENA_MTU", "0", false},
		{"VERBENA_STATUSES", "hardware", true},
		{"VERBENA_STATUSES", "mlx5", false},
		{"VERBENA_STATUSES", "rxe", true},
		{"VERBENA_PCAP", "/tmp/x", true},
		{"VERBENA_LOOP", "io_uring", true},
		{"VERBENA_LOOP", "epoll", true},
		{"VERBENA_LOOP", "auto", true},
		{"VERBENA_LOOP", "uring", false},
		{"VERBENA_LOOP", "EPOLL", false},
	};
	struct nic_params params;
	const char *bad;

	(void)state;
	unsetenv("VERBENA_LOOP");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret;

		setenv("VERBENA_ADDR", "127.0.0.1", 1);
		setenv(cases[i].name, cases[i].value, 1);
		bad = NULL;
		ret = nic_params_from_env(&params, &bad);
		if (ret != (cases[i].good ? 0 : -EINVAL))
			fail_msg("%s=%s: %d", cases[i].name, cases[i].value, ret);
		if (ret != 0)
			assert_string_equal(bad, cases[i].name);
		unsetenv(cases[i].name);
	}
	unsetenv("VERBENA_ADDR");
	assert_int_equal(nic_params_from_env(&params, &bad), 0);
	assert_int_equal(params.link, NIC_LINK_UDP);
	assert_int_equal(params.addr[0][12] << 8 | params.addr[0][15], 127 << 8 | 1);
	assert_true(params.progress_thread);
	/* A frame link cannot guess. */
	setenv("VERBENA_LINK", "frame:/a,/b", 1);
	assert_int_equal(nic_params_from_env(&params, &bad), -EINVAL);
	setenv("VERBENA_ADDR", "10.0.0.1,fd00::1", 1);
	setenv("VERBENA_MAC", "02:0a:0b:0c:0d:ff", 1);
	assert_int_equal(nic_params_from_env(&params, &bad), 0);
	assert_int_equal(params.link, NIC_LINK_FRAME);
	assert_string_equal(params.local_path, "/a");
	assert_string_equal(params.remote_path, "/b");
	assert_int_equal(params.addr_count, 2);
	setenv("VERBENA_LOOP", "io_uring", 1); /* of UDP sockets only */
	assert_int_equal(nic_params_from_env(&params, &bad), -EINVAL);
	assert_string_equal(bad, "VERBENA_LOOP");
	setenv("VERBENA_LOOP", "auto", 1);
	assert_int_equal(nic_params_from_env(&params, &bad), 0);
	unsetenv("VERBENA_LOOP");
	assert_int_equal(params.addr[1][0] << 8 | params.addr[1][15], 0xfd01);
	assert_memory_equal(params.mac, "\x02\x0a\x0b\x0c\x0d\xff", 6);
	/* Four, and no more. */
	setenv("VERBENA_ADDR", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4", 1);
	assert_int_equal(nic_params_from_env(&params, &bad), 0);
	assert_int_equal(params.addr_count, 4);
	assert_int_equal(params.addr[3][15], 4);
	setenv("VERBENA_ADDR", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5", 1);
	bad = NULL;
	assert_int_equal(nic_params_from_env(&params, &bad), -EINVAL);
	assert_non_null(bad);
	assert_string_equal(bad, "VERBENA_ADDR");
	unsetenv("VERBENA_LINK");
	unsetenv("VERBENA_ADDR");
	unsetenv("VERBENA_MAC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_operation_over_udp_ipv4),
		T(every_operation_over_udp_ipv6),
		T(link_local_gid_reaches_an_ipv4_peer_over_udp),
		T(a_path_of_another_family_is_refused),
		T(bad_datagrams_are_dropped_and_counted),
		T(a_connected_queue_pair_hears_its_peer_alone),
		T(a_congestion_mark_reaches_the_adapter),
		T(a_cnp_travels_in_its_own_class),
		T(packets_leave_as_the_icrc_has_them),
		T(ip_identification_is_always_zero),
		T(a_lost_packet_is_sent_again_in_time),
		T(progress_thread_answers_for_an_idle_program),
		T(progress_thread_repeats_for_an_idle_program),
		T(messages_pass_the_200th_day),
		T(a_timer_passes_the_200th_day),
		T(a_control_that_remembers_times_is_refused),
		T(an_address_belongs_to_one),
		T(gids_name_the_address),
		T(a_capture_has_every_packet_as_a_frame),
		T(environment_is_read_or_refused),
	};
	const char *seconds = getenv("ALARM");
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0) {
		printf("no sockets here\n");
		return 77;
	}
	close(fd);
	alarm(seconds ? (unsigned)strtoul(seconds, NULL, 10) : 120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
