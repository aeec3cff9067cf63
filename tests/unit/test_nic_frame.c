/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame link: two NICs over two unix sockets, and a plain socket as the only neighbour. */
#include "tests/unit/nic_test.h"

#include "transport/wire/arp.h"
#include "transport/wire/frame.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 0xa}, {2, 0, 0, 0, 0, 0xb}};
static const uint8_t ipv4[3][16] = {{[10] = 0xff, 0xff, 10, 0, 0, 1},
				    {[10] = 0xff, 0xff, 10, 0, 0, 2},
				    {[10] = 0xff, 0xff, 10, 0, 0, 3}};
static const uint8_t ipv6[2][16] = {{0xfd, [15] = 1}, {0xfd, [15] = 2}};

static char folder[64];

static void path_of(unsigned k, char ret_path[NIC_PATH_MAX])
{
	snprintf(ret_path, NIC_PATH_MAX, "%s/%u", folder, k);
}

static struct nic_params frame_params(unsigned k)
{
	struct nic_params params = {.link = NIC_LINK_FRAME, .addr_count = 2};

	memcpy(params.addr[0], ipv4[k], 16);
	memcpy(params.addr[1], ipv6[k], 16);
	memcpy(params.mac, mac[k], 6);
	path_of(k, params.local_path);
	path_of(1 - k, params.remote_path);
	return params;
}

static void open_pair(struct side *a, struct side *b)
{
	struct nic_params params = frame_params(0);

	/* Resolving needs an answer from the other, which its thread gives. */
	params.progress_thread = true;
	side_open(a, &params);
	params = frame_params(1);
	params.progress_thread = true;
	side_open(b, &params);
}

/* The neighbour that sees and says every byte; host 1. */
static int bare_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	assert_true(fd >= 0);

	path_of(1, address.sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int bare_open(void)
{
	return opened(bare_socket());
}

static void bare_send(int fd, const uint8_t *buf, size_t length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	path_of(0, address.sun_path);
	assert_int_equal(
		sendto(fd, buf, length, 0, (const struct sockaddr *)&address, sizeof(address)),
		length);
}

static void bare_ask(int fd, const struct wire_neigh *neigh)
{
	uint8_t buf[WIRE_NEIGH_MAX];

	bare_send(fd, buf, wire_neigh_emit(neigh, buf, sizeof(buf)));
}

/* Host 1, at @from, asks for @peer_ip. */
static void host_asks(struct side *a, int fd, const uint8_t from[6], const uint8_t ip[16],
		      const uint8_t peer_ip[16])
{
	struct wire_neigh question = {0};

	memcpy(question.sender_mac, from, 6);
	memcpy(question.sender_ip, ip, 16);
	memcpy(question.peer_ip, peer_ip, 16);
	bare_ask(fd, &question);
	while (nic_turn(a->nic, -1) == 0)
		;
}

static bool bare_hears(int fd, struct wire_neigh *ret_neigh)
{
	uint8_t buf[5000];
	ssize_t got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (got < 0)
		return false;
	assert_true(wire_neigh_parse(ret_neigh, buf, (size_t)got));
	return true;
}

static void write_between(struct side *a, struct side *b)
{
	for (uint32_t i = 0; i < 10000; i++)
		a->memory[i] = (uint8_t)(i * 3);
	side_send(a,
		  &(struct hca_send_wr){.opcode = HCA_WR_RDMA_WRITE,
					.remote_addr = (uintptr_t)b->memory,
					.rkey = b->mr->rkey},
		  0, 10000);
	assert_int_equal(side_wait(a, b).status, HCA_WC_SUCCESS);
	assert_memory_equal(a->memory, b->memory, 10000);
}

static void writes_over_ipv4_and_both_kinds_of_ipv6(void **state)
{
	(void)state;
	for (uint32_t gid = 0; gid < 3; gid++) {
		struct side a, b;
		struct nic_stats stats;

		open_pair(&a, &b);
		side_join(&a, &b, gid);
		assert_memory_equal(a.path.dst_mac, mac[1], 6);
		assert_memory_equal(b.path.dst_mac, mac[0], 6);
		assert_int_equal(wire_path_is_ipv4(&a.path), gid == 1);
		assert_true(a.path.udp_sport >= 0xc000);
		write_between(&a, &b);
		nic_stats(a.nic, &stats);
		assert_true(stats.rx_neigh > 0);
		side_close(&a);
		side_close(&b);
	}
}

static void a_nic_reaches_itself(void **state)
{
	struct nic_params params = frame_params(0);
	struct nic_stats stats;
	struct side a, b;

	(void)state;
	side_open(&a, &params); /* and nobody at the other end */
	side_open_on(&b, a.nic);
	side_join(&a, &b, 1);
	write_between(&a, &b);
	nic_stats(a.nic, &stats);
	assert_int_equal(stats.tx_lost, 0);
	side_close(&b);
	side_close(&a);
}

/* The formulas of linux, include/rdma/ib_verbs.h, worked out in Python:
 *	v = 0x123456 * 0x654321; v ^= v >> 20; v ^= v >> 40; v &= 0xfffff    0xa77ae
 *	0xc000 | (v & 0x3fff) ^ (v >> 14)                                    0xf787 */
static void port_spreads_pairs_as_linux_does(void **state)
{
	struct side a, b;
	struct wire_path path = {0};

	(void)state;
	open_pair(&a, &b);
	side_join(&a, &b, 1);
	memcpy(path.dst_ip, ipv4[1], 16);
	nic_lock(a.nic);
	assert_int_equal(nic_resolve(a.nic, &path, 1, 0x11, 0x12), 0);
	assert_int_equal(path.udp_sport, 0xc132);
	path.flow_label = 0xabcde; /* 0x3cde ^ 0x2a */
	assert_int_equal(nic_resolve(a.nic, &path, 1, 0x11, 0x12), 0);
	assert_int_equal(path.udp_sport, 0xc000 | (0x3cde ^ 0x2a));
	path.flow_label = 0;
	assert_int_equal(nic_resolve(a.nic, &path, 1, 0x123456, 0x654321), 0);
	assert_int_equal(path.udp_sport, 0xf787);
	nic_unlock(a.nic);
	side_close(&a);
	side_close(&b);
}

static void neighbours_are_answered_for_own_addresses_only(void **state)
{
	const uint8_t link_local[16] = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 0xa};
	const uint8_t *const own[] = {ipv4[0], ipv6[0], link_local};
	struct nic_params params = frame_params(0);
	int fd = bare_open();
	struct wire_neigh question = {0}, answer;
	struct side a;

	(void)state;
	side_open(&a, &params);
	memcpy(question.sender_mac, mac[1], 6);
	for (int i = 0; i < 3; i++) {
		memcpy(question.sender_ip, i == 0 ? ipv4[1] : ipv6[1], 16);
		memcpy(question.peer_ip, own[i], 16);
		bare_ask(fd, &question);
		while (nic_turn(a.nic, -1) == 0)
			;
		assert_true(bare_hears(fd, &answer));
		assert_true(answer.reply);
		assert_memory_equal(answer.sender_ip, own[i], 16);
		assert_memory_equal(answer.sender_mac, mac[0], 6);
		assert_memory_equal(answer.peer_mac, mac[1], 6);
		/* Somebody else's address. */
		memcpy(question.peer_ip, i == 0 ? ipv4[2] : own[i], 16);
		question.peer_ip[15] ^= 0x40;
		bare_ask(fd, &question);
		while (nic_turn(a.nic, -1) == 0)
			;
		assert_false(bare_hears(fd, &answer));
	}
	/* Who asks before it has an address of its own hears about the conflict. */
	memset(question.sender_ip, 0, 16);
	memcpy(question.peer_ip, ipv6[0], 16);
	bare_ask(fd, &question);
	while (nic_turn(a.nic, -1) == 0)
		;
	assert_true(bare_hears(fd, &answer));
	assert_memory_equal(answer.sender_ip, ipv6[0], 16);
	side_close(&a);
	closed(fd);
}

static void silence_is_unreachable(void **state)
{
	struct nic_params params = frame_params(0);
	struct wire_path path = {0};
	struct nic_stats stats;
	struct wire_neigh question;
	struct side a;
	int fd;

	(void)state;
	params.resolve_ms = 1;
	side_open(&a, &params);
	memcpy(path.dst_ip, ipv4[1], 16);
	nic_lock(a.nic);
	assert_int_equal(nic_resolve(a.nic, &path, 1, 1, 2), -EHOSTUNREACH); /* nobody there */
	assert_int_equal(nic_resolve(a.nic, &path, 2, 1, 2), -ENETUNREACH);
	assert_int_equal(nic_resolve(a.nic, &path, 3, 1, 2), -EINVAL);
	nic_unlock(a.nic);
	nic_stats(a.nic, &stats);
	assert_int_equal(stats.tx_lost, 1);
	fd = bare_open(); /* there, and dumb */
	nic_lock(a.nic);
	assert_int_equal(nic_resolve(a.nic, &path, 1, 1, 2), -EHOSTUNREACH);
	nic_unlock(a.nic);
	assert_true(bare_hears(fd, &question));
	assert_false(question.reply);
	assert_memory_equal(question.peer_ip, ipv4[1], 16);
	assert_memory_equal(question.sender_ip, ipv4[0], 16);
	side_close(&a);
	closed(fd);
}

/* Where a packet of @a to @ip would go; it asks, in vain, where it does not know. */
static int mac_known(struct side *a, int fd, uint32_t gid, const uint8_t ip[16], uint8_t ret_mac[6])
{
	struct wire_path path = {0};
	struct wire_neigh question;
	bool asked = false;
	int ret;

	memcpy(path.dst_ip, ip, 16);
	nic_lock(a->nic);
	ret = nic_resolve(a->nic, &path, gid, 1, 2);
	nic_unlock(a->nic);
	while (bare_hears(fd, &question))
		asked = true;
	assert_true(asked == (ret != 0));
	memcpy(ret_mac, path.dst_mac, 6);
	return ret;
}

/* RFC 826: what others say to each other renews an address that is known and adds none. */
static void what_others_say_adds_no_neighbour(void **state)
{
	static const uint8_t other_ipv6[16] = {0xfd, [15] = 3}, moved[6] = {2, 0, 0, 0, 0, 0xc};
	struct nic_params params = frame_params(0);
	int fd = bare_open();
	struct side a;

	(void)state;
	params.resolve_ms = 1;
	side_open(&a, &params);
	for (uint32_t gid = 1; gid <= 2; gid++) {
		const uint8_t *ip = gid == 1 ? ipv4[1] : ipv6[1];
		const uint8_t *own = gid == 1 ? ipv4[0] : ipv6[0];
		const uint8_t *other = gid == 1 ? ipv4[2] : other_ipv6;
		struct wire_neigh answer;
		uint8_t heard[6];

		host_asks(&a, fd, mac[1], ip, other);
		assert_int_equal(mac_known(&a, fd, gid, ip, heard), -EHOSTUNREACH);
		host_asks(&a, fd, mac[1], ip, own);
		assert_true(bare_hears(fd, &answer));
		assert_int_equal(mac_known(&a, fd, gid, ip, heard), 0);
		assert_memory_equal(heard, mac[1], 6);
		host_asks(&a, fd, moved, ip, other);
		assert_int_equal(mac_known(&a, fd, gid, ip, heard), 0);
		assert_memory_equal(heard, moved, 6);
	}
	side_close(&a);
	closed(fd);
}

struct late {
	struct nic *asker;
	struct side side;
};

static void *open_late(void *arg)
{
	struct late *late = arg;
	struct nic_params params = frame_params(1);
	struct nic_stats stats;

	do {
		sched_yield();
		nic_stats(late->asker, &stats);
	} while (stats.tx_lost == 0); /* asked, and nobody was there */
	params.progress_thread = true;
	side_open(&late->side, &params);
	return NULL;
}

static void a_peer_may_come_late(void **state)
{
	struct nic_params params = frame_params(0);
	struct wire_path path = {0};
	struct side a;
	struct late late;
	pthread_t thread;

	(void)state;
	params.resolve_ms = 60000;
	side_open(&a, &params);
	late.asker = a.nic;
	assert_int_equal(pthread_create(&thread, NULL, open_late, &late), 0);
	memcpy(path.dst_ip, ipv6[1], 16);
	nic_lock(a.nic);
	assert_int_equal(nic_resolve(a.nic, &path, 2, 1, 2), 0);
	nic_unlock(a.nic);
	assert_memory_equal(path.dst_mac, mac[1], 6);
	pthread_join(thread, NULL);
	side_join(&a, &late.side, 2);
	write_between(&a, &late.side);
	side_close(&a);
	side_close(&late.side);
}

/* Brings a to RTS with the bare neighbour. */
static void join_bare(struct side *a, int fd)
{
	struct wire_neigh answer;

	host_asks(a, fd, mac[1], ipv4[1], ipv4[0]);
	assert_true(bare_hears(fd, &answer));
	side_join_plain(a, ipv4[1]); /* learnt from the question */
}

/* A full socket holds packets up; none is lost, none is said twice, none overtakes. */
static void a_full_socket_loses_nothing(void **state)
{
	enum { PACKETS = 4000 };
	struct nic_params params = frame_params(0);
	struct nic_stats stats;
	struct side a;
	int fd = bare_open();

	(void)state;
	params.profile = nic_profile_default(1024, false);
	params.profile.psn_window = PACKETS + 1;
	params.profile.ack_every = 0;
	side_open_sized(&a, &params, PACKETS * 1024);
	a.timeout = 0; /* never: the neighbour is dumb */
	join_bare(&a, fd);
	side_send(
		&a,
		&(struct hca_send_wr){.opcode = HCA_WR_RDMA_WRITE, .remote_addr = 4096, .rkey = 1},
		0, PACKETS * 1024);
	for (uint32_t psn = 8; psn < 8 + PACKETS;) {
		struct wire_path path;
		struct wire_pkt pkt;
		uint8_t buf[5000];
		ssize_t got;

		nic_turn(a.nic, 0);
		while ((got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) >= 0) {
			assert_int_equal(wire_frame_parse(&path, &pkt, buf, (size_t)got), WIRE_OK);
			assert_int_equal(pkt.psn, psn);
			psn++;
		}
	}
	nic_stats(a.nic, &stats);
	assert_true(stats.tx_full > 0);
	assert_int_equal(stats.tx_lost, 0);
	side_close(&a);
	closed(fd);
}

static void turn_for(struct side *a, struct nic_stats *ret_before, struct nic_stats *ret_after,
		     int fd, const uint8_t *buf, size_t length)
{
	nic_stats(a->nic, ret_before);
	bare_send(fd, buf, length);
	while (nic_turn(a->nic, -1) == 0)
		;
	nic_stats(a->nic, ret_after);
}

static void foreign_and_damaged_frames_are_ignored(void **state)
{
	struct nic_params params = frame_params(0);
	struct nic_stats before, after;
	struct side a;
	uint8_t payload[64] = {1, 2, 3}, buf[5000] = {0};
	struct wire_path path = {.udp_sport = 0xc001, .ttl = 64}, wrong;
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_SEND_ONLY,
			       .length = sizeof(payload),
			       .psn = 7,
			       .ack_req = true,
			       .payload = payload};
	size_t length;
	int fd = bare_open();

	(void)state;
	side_open(&a, &params);
	join_bare(&a, fd);
	side_recv(&a, 6, 0, 100);
	pkt.dest_qpn = hca_qp_qpn(a.qp);
	memcpy(path.src_mac, mac[1], 6);
	memcpy(path.dst_mac, mac[0], 6);
	memcpy(path.src_ip, ipv4[1], 16);
	memcpy(path.dst_ip, ipv4[0], 16);

	wrong = path; /* another station */
	wrong.dst_mac[5] ^= 1;
	length = wire_frame_emit(&wrong, &pkt, buf, sizeof(buf));
	turn_for(&a, &before, &after, fd, buf, length);
	assert_int_equal(after.rx_not_ours - before.rx_not_ours, 1);
	wrong = path; /* another host's address */
	memcpy(wrong.dst_ip, ipv4[2], 16);
	length = wire_frame_emit(&wrong, &pkt, buf, sizeof(buf));
	turn_for(&a, &before, &after, fd, buf, length);
	assert_int_equal(after.rx_not_ours - before.rx_not_ours, 1);

	length = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
	buf[36] ^= 1; /* UDP port 4790: another protocol */
	buf[37] ^= 1;
	turn_for(&a, &before, &after, fd, buf, length);
	assert_int_equal(after.rx[WIRE_NOT_ROCE] - before.rx[WIRE_NOT_ROCE], 1);
	assert_int_equal(after.rx_not_ours, before.rx_not_ours);
	length = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
	buf[60] ^= 1;
	turn_for(&a, &before, &after, fd, buf, length);
	assert_int_equal(after.rx[WIRE_BAD_ICRC] - before.rx[WIRE_BAD_ICRC], 1);
	turn_for(&a, &before, &after, fd, buf, sizeof(buf)); /* longer than any frame */
	assert_int_equal(after.rx[WIRE_MALFORMED] - before.rx[WIRE_MALFORMED], 1);
	turn_for(&a, &before, &after, fd, buf, 13);
	assert_int_equal(after.rx[WIRE_OK], 0);
	assert_int_equal(hca_device_counters(a.hca)->rx_packets, 0);
	assert_true(hca_cq_is_empty(a.cq));

	length = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
	turn_for(&a, &before, &after, fd, buf, length);
	assert_int_equal(after.rx[WIRE_OK], 1);
	assert_int_equal(side_wait(&a, &a).wr_id, 6);
	assert_memory_equal(a.memory, payload, sizeof(payload));
	side_close(&a);
	closed(fd);
}

static void a_dead_socket_is_replaced_a_live_one_is_not(void **state)
{
	struct nic_params params = frame_params(1);
	struct nic *nic, *second;
	struct stat st;
	int fd = bare_socket();

	(void)state;
	assert_int_equal(nic_open(&params, &nic), -EADDRINUSE);
	close(fd); /* its file stays */
	assert_int_equal(nic_open(&params, &nic), 0);
	assert_int_equal(nic_open(&params, &second), -EADDRINUSE);
	nic_close(nic);
	assert_int_not_equal(stat(params.local_path, &st), 0); /* tidied up */
	params.local_path[0] = '\0';
	assert_int_equal(nic_open(&params, &nic), -EINVAL);
}

/* To IP multicast go the addresses of RFC 1112, 6.4 and RFC 2464, 7; nobody is asked. */
static void multicast_needs_no_neighbour(void **state)
{
	static const uint8_t group[2][16] = {{[10] = 0xff, 0xff, 239, 0x81, 2, 3},
					     {0xff, 0x0e, [12] = 9, 8, 7, 6}};
	static const uint8_t to[2][6] = {{1, 0, 0x5e, 1, 2, 3}, {0x33, 0x33, 9, 8, 7, 6}};
	struct nic_params params = frame_params(0);
	int fd = bare_open();
	struct side a;

	(void)state;
	params.resolve_ms = 1;
	side_open(&a, &params);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t heard[6];

		assert_int_equal(mac_known(&a, fd, i + 1, group[i], heard), 0);
		assert_memory_equal(heard, to[i], 6);
	}
	side_close(&a);
	closed(fd);
}

/* Of no packet of RoCE, in both ways: as they are. */
static void frames_of_raw_packets(void **state)
{
	static const uint8_t frame[60] = {2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 0x88, 0xb5, 'h'};
	static const struct wire_path no_way;
	const struct nic_params params = frame_params(0);
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT, .port = 1};
	struct hca_qp_init init = {.type = HCA_QPT_RAW_PACKET, .cap = {2, 2, 1, 1, 0}};
	struct hca_qp_init is;
	int fd = bare_open();
	uint8_t buf[5000];
	struct hca_wc wc;
	struct side a;

	(void)state;
	side_open(&a, &params);
	hca_qp_destroy(a.hca, a.qp);
	init.pd = a.pd;
	init.send_cq = init.recv_cq = a.cq;
	init.signal_all = true;
	assert_int_equal(hca_qp_create(a.hca, &init, &a.qp), 0);
	assert_int_equal(hca_qp_modify(a.hca, a.qp, &attr, HCA_QP_STATE | HCA_QP_PORT, 0), 0);
	side_recv(&a, 5, 0, 100);
	bare_send(fd, frame, sizeof(frame)); /* nobody hears it yet */
	while (nic_turn(a.nic, -1) == 0)
		;
	assert_int_equal(hca_cq_poll(a.cq, 1, &wc), 0);
	side_recv(&a, 6, 1000, 30);
	attr.state = HCA_QPS_RTR;
	assert_int_equal(hca_qp_modify(a.hca, a.qp, &attr, HCA_QP_STATE, 0), 0);
	attr.state = HCA_QPS_RTS;
	assert_int_equal(hca_qp_modify(a.hca, a.qp, &attr, HCA_QP_STATE, 0), 0);
	bare_send(fd, frame, sizeof(frame));
	while (hca_cq_poll(a.cq, 1, &wc) == 0)
		nic_turn(a.nic, -1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	assert_int_equal(wc.byte_len, sizeof(frame));
	assert_memory_equal(a.memory, frame, sizeof(frame));
	bare_send(fd, frame, sizeof(frame)); /* longer than the receive at hand */
	while (nic_turn(a.nic, -1) == 0)
		;
	assert_int_equal(hca_cq_poll(a.cq, 1, &wc), 0);
	assert_int_equal(hca_device_counters(a.hca)->resp_local_length_error, 1);
	memset(a.memory, 0x5b, 70);
	side_send(&a, &(struct hca_send_wr){.wr_id = 7, .opcode = HCA_WR_SEND, .path = &no_way}, 0,
		  70);
	nic_turn(a.nic, 0);
	assert_int_equal(recv(fd, buf, sizeof(buf), 0), 70);
	assert_memory_equal(buf, a.memory, 70);
	assert_int_equal(hca_cq_poll(a.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	hca_qp_query(a.qp, &attr, &is);
	assert_int_equal(is.type, HCA_QPT_RAW_PACKET);
	side_close(&a);
	closed(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(writes_over_ipv4_and_both_kinds_of_ipv6),
		T(a_nic_reaches_itself),
		T(port_spreads_pairs_as_linux_does),
		T(neighbours_are_answered_for_own_addresses_only),
		T(silence_is_unreachable),
		T(multicast_needs_no_neighbour),
		T(frames_of_raw_packets),
		T(what_others_say_adds_no_neighbour),
		T(a_peer_may_come_late),
		T(a_full_socket_loses_nothing),
		T(foreign_and_damaged_frames_are_ignored),
		T(a_dead_socket_is_replaced_a_live_one_is_not),
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), ret;

	if (fd < 0) {
		printf("no sockets here\n");
		return 77;
	}
	close(fd);
	strcpy(folder, "/tmp/test_nic.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	alarm(120);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return ret;
}
