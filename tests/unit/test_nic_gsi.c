/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pair 1 of a host that processes share: whose a port is, and who gets a message. The test is
 * the other processes, and the wire. */
#include "transport/nic/gsi.h"

#include "tests/unit/cm_test.h"
#include "tests/unit/nic_test.h"
#include "transport/cm/mad.h"
#include "transport/nic/internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/un.h>

enum { LETTER_ROOM = 1024 };

static struct nic *nic;
static struct nic_gsi *gsi;
static struct host us;
static struct nic_cm_file file;

/* A message as it is on the wire. */
static struct wire_path path;
static struct wire_pkt pkt;
static uint8_t mad[CM_MAD_BYTES];

static int set_up(void **state)
{
	struct nic_params params = {
		.addr_count = 1, .shares = true, .loop = loop_of_test(), .mtu = 2048};

	(void)state;
	memset(&us, 0, sizeof(us));
	host_ip(0, params.addr[0]);
	memcpy(us.ip, params.addr[0], 16);
	assert_int_equal(nic_open(&params, &nic), 0);
	assert_int_equal(nic_start(nic), 0);
	nic_lock(nic); /* its own thread takes no part */
	now = nic_now(nic);
	gsi = nic->gsi;
	us.cm = nic_gsi_cm(gsi);
	file.fd = opened(eventfd(0, EFD_NONBLOCK));
	us.file = cm_file_create(us.cm, &file);
	assert_non_null(us.file);
	return 0;
}

static int tear_down(void **state)
{
	cm_file_destroy(us.file, now);
	nic_unlock(nic);
	nic_stop(nic);
	nic_close(nic);
	return close_leftovers(state);
}

/* Another process of the host, which takes letters at this name; -EADDRINUSE: somebody else does.
 */
static int other_at(const char *name)
{
	struct sockaddr_un address;
	const socklen_t length = nic_group_address(nic->group, name, &address);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&address, length) == 0)
		return opened(fd);
	error = errno;
	close(fd);
	return -error;
}

static bool is_held(const char *name)
{
	const int fd = other_at(name);

	if (fd >= 0)
		closed(fd);
	return fd == -EADDRINUSE;
}

static uint32_t bound(uint16_t space, uint8_t qp_type, uint16_t port)
{
	const uint32_t id = create(&us, space, qp_type, 1);

	assert_int_equal(bind_to(&us, id, port), 0);
	return id;
}

static void destroy(uint32_t id)
{
	const struct rdma_ucm_destroy_id c = {.id = id, .response = 1};

	assert_int_equal(COMMAND(&us, DESTROY_ID, c), 0);
}

/* The attribute of the next message that is sent; 0: none. */
static uint16_t next_sent(void)
{
	pkt = (struct wire_pkt){.payload = mad};
	if (!nic_gsi_output(gsi, &path, &pkt))
		return 0;
	return (uint16_t)(mad[16] << 8 | mad[17]);
}

/* A request for that port of this host is on the wire. */
static void request(uint16_t port)
{
	assert_int_equal(connect_with(&us, route_to(&us, TCP, RC, &us, port), 4), 0);
	assert_int_equal(next_sent(), CM_REQ);
}

/* It has come. */
static void take(const struct wire_pkt *packet)
{
	nic_gsi_input(gsi, &path, packet);
	nic_gsi_deliver(gsi);
}

static ssize_t post(const char *name, const uint8_t *bytes, size_t length)
{
	struct sockaddr_un address;
	const socklen_t address_length = nic_group_address(nic->group, name, &address);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const ssize_t sent =
		sendto(fd, bytes, length, 0, (struct sockaddr *)&address, address_length);

	close(fd);
	return sent;
}

static void post_letter(const char *name, const uint8_t *bytes, size_t length)
{
	assert_int_equal(post(name, bytes, length), length);
	(void)nic_gsi_take(gsi);
	nic_gsi_deliver(gsi);
}

/* From a process of another user, which only root can make. */
static void post_as_nobody(const char *name, const uint8_t *bytes, size_t length)
{
	pid_t child;
	int status;

	if (geteuid() != 0)
		return;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(setuid(65534) != 0 || post(name, bytes, length) != (ssize_t)length);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)nic_gsi_take(gsi);
	nic_gsi_deliver(gsi);
}

/* The ports of TCP and UDP (service ids 0106 and 0111) are names, each of which one process has. */
static void a_port_is_held_until_its_own_id_goes(void **state)
{
	const uint32_t first = bound(TCP, RC, 7001), second = bound(TCP, RC, 7002),
		       third = bound(UDP, UD, 7001);
	int other;

	(void)state;
	assert_true(is_held("cm/port/0106/7001"));
	assert_true(is_held("cm/port/0106/7002"));
	assert_true(is_held("cm/port/0111/7001"));
	assert_false(is_held("cm/port/0111/7002"));
	destroy(first);
	assert_false(is_held("cm/port/0106/7001"));
	assert_true(is_held("cm/port/0106/7002"));
	assert_true(is_held("cm/port/0111/7001"));
	destroy(third);
	assert_true(is_held("cm/port/0106/7002"));
	assert_false(is_held("cm/port/0111/7001"));
	destroy(second);
	assert_false(is_held("cm/port/0106/7002"));

	other = other_at("cm/port/0106/7001");
	assert_true(other >= 0);
	assert_int_equal(bind_to(&us, create(&us, TCP, RC, 1), 7001), -EADDRINUSE);
	closed(other);
	(void)bound(TCP, RC, 7001);
}

static void a_request_goes_to_the_process_that_has_its_port(void **state)
{
	const int other = other_at("cm/port/0106/7003");
	uint8_t letter[LETTER_ROOM];
	ssize_t length;

	(void)state;
	assert_true(is_held("cm/slot/0"));
	assert_false(is_held("cm/slot/1"));
	request(7003);
	/* IBTA 3.5.3 and 9.6: a datagram between both queue pairs 1, with their key. */
	assert_int_equal(pkt.opcode, 0x64);
	assert_int_equal(pkt.dest_qpn, 1);
	assert_int_equal(pkt.length, 256);
	assert_int_equal(pkt.rare.qkey, 0x80010000);
	assert_int_equal(pkt.rare.src_qpn, 1);
	assert_int_equal(pkt.rare.pkey, 0xffff);
	assert_int_equal(mad[24 + 50] >> 4, 4); /* IBTA 12.6.5: 2048 */
	take(&pkt);
	length = recv(other, letter, sizeof(letter), 0);
	assert_true(length > CM_MAD_BYTES && length < LETTER_ROOM);
	assert_non_null(memmem(letter, (size_t)length, mad, CM_MAD_BYTES));
	assert_non_null(memmem(letter, (size_t)length, path.src_ip, 16));
	assert_int_equal(next_sent(), 0);
	closed(other);

	/* What another process hands on is heard here as if it came by the wire, ... */
	assert_int_equal(listen_at(&us, bound(TCP, RC, 7003), 1), 0);
	letter[0] ^= 1; /* ... unless it is of another version ... */
	post_letter("cm/port/0106/7003", letter, (size_t)length);
	letter[0] ^= 1;
	post_letter("cm/port/0106/7003", letter, (size_t)length - 1); /* ... or length. */
	post_letter("cm/port/0106/7003", letter, (size_t)length + 1);
	post_letter("cm/slot/0", mad, CM_MAD_BYTES);
	post_as_nobody("cm/port/0106/7003", letter, (size_t)length);
	while (next_event(&us).event != UINT32_MAX)
		;
	post_letter("cm/port/0106/7003", letter, (size_t)length);
	assert_int_equal(next_event(&us).event, CONNECT_REQUEST);
}

/* Each of these breaks only one rule. */
static void what_is_no_message_of_queue_pair_1_goes_nowhere(void **state)
{
	const int other = other_at("cm/port/0106/7004");
	struct wire_pkt whole;
	uint8_t byte;

	(void)state;
	request(7004);
	whole = pkt;
	pkt.opcode = 0x65; /* with immediate data */
	take(&pkt);
	pkt = whole;
	pkt.length = 252;
	take(&pkt);
	pkt = whole;
	pkt.has_rare = false;
	take(&pkt);
	pkt = whole;
	pkt.rare.qkey = 0x80010001;
	take(&pkt);
	pkt = whole;
	pkt.rare.src_qpn = 2;
	take(&pkt);
	assert_int_equal(recv(other, &byte, 1, 0), -1);
	take(&whole);
	assert_int_equal(recv(other, &byte, 1, 0), 1);
}

/* Who says where it will listen, and does so a little later, is waited for: half a second. */
static void a_request_waits_for_who_listens(void **state)
{
	ps_t before, after;
	uint8_t byte;
	int other;

	(void)state;
	request(7005);
	before = nic_now(nic);
	take(&pkt);
	after = nic_now(nic);
	assert_in_range(nic_gsi_next_at(gsi), before + 1, after + 10 * PS_MS);
	nic_gsi_advance(gsi, before + 499 * PS_MS);
	assert_int_equal(next_sent(), 0);
	nic_gsi_advance(gsi, after + 502 * PS_MS);
	assert_int_equal(next_sent(), CM_REJ);
	assert_int_equal(mad[24 + 10] << 8 | mad[24 + 11], CM_REASON_SERVICE_ID);

	request(7006);
	take(&pkt);
	other = other_at("cm/port/0106/7006");
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	assert_int_equal(recv(other, &byte, 1, 0), 1);
	nic_gsi_advance(gsi, nic_now(nic) + 502 * PS_MS);
	assert_int_equal(recv(other, &byte, 1, 0), -1);
	assert_int_equal(next_sent(), 0);

	request(7007);
	take(&pkt);
	assert_int_equal(listen_at(&us, bound(TCP, RC, 7007), 1), 0);
	while (next_event(&us).event != UINT32_MAX)
		;
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	assert_int_equal(next_event(&us).event, CONNECT_REQUEST);
}

/* Who has bound a port and does not listen yet is not asked by a letter from itself, which it would
 * refuse. */
static void a_request_waits_between_bind_and_listen(void **state)
{
	uint32_t id;

	(void)state;
	request(7009);
	take(&pkt);
	id = bound(TCP, RC, 7009);
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	(void)nic_gsi_take(gsi);
	nic_gsi_deliver(gsi);
	assert_int_equal(next_sent(), 0);
	assert_int_equal(listen_at(&us, id, 1), 0);
	while (next_event(&us).event != UINT32_MAX)
		;
	nic_gsi_advance(gsi, nic_now(nic) + 20 * PS_MS);
	assert_int_equal(next_event(&us).event, CONNECT_REQUEST);

	/* Half a second in all. */
	request(7011);
	take(&pkt);
	(void)bound(TCP, RC, 7011);
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	(void)nic_gsi_take(gsi);
	nic_gsi_deliver(gsi);
	nic_gsi_advance(gsi, nic_now(nic) + 502 * PS_MS);
	assert_int_equal(next_sent(), CM_REJ);
}

/* A request that another process has handed on, too. */
static void a_letter_waits_between_bind_and_listen(void **state)
{
	const int other = other_at("cm/port/0106/7010");
	uint8_t letter[LETTER_ROOM];
	ssize_t length;
	uint32_t id;

	(void)state;
	request(7010);
	take(&pkt);
	length = recv(other, letter, sizeof(letter), 0);
	assert_true(length > CM_MAD_BYTES);
	closed(other);
	id = bound(TCP, RC, 7010);
	post_letter("cm/port/0106/7010", letter, (size_t)length);
	assert_int_equal(next_sent(), 0);
	assert_int_equal(listen_at(&us, id, 1), 0);
	while (next_event(&us).event != UINT32_MAX)
		;
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	assert_int_equal(next_event(&us).event, CONNECT_REQUEST);
}

/* Time begins anew every 200 days: what waits then has waited long enough. */
static void what_waits_when_time_begins_anew_is_answered(void **state)
{
	(void)state;
	request(7008);
	take(&pkt);
	nic_gsi_move_epoch(gsi, nic_now(nic));
	nic_gsi_advance(gsi, 1);
	assert_int_equal(next_sent(), CM_REJ);
}

static void send_from(const struct plain *from, const struct wire_pkt *packet)
{
	uint8_t bytes[1024];
	size_t length;

	memcpy(path.src_ip, from->ip, 16);
	memcpy(path.dst_ip, us.ip, 16);
	path.udp_sport = from->port;
	length = wire_udp_emit(&path, packet, bytes, sizeof(bytes));
	assert_true(length > 0);
	plain_send(from, us.ip, bytes, length);
}

/* It comes by another socket than data, and whatever was sent before it is looked at before: the
 * last acknowledgement of a connection before its end. */
static void a_message_overtakes_no_data(void **state)
{
	struct wire_pkt data = {.opcode = WIRE_UD | WIRE_SEND_ONLY,
				.dest_qpn = 0x1234,
				.length = 4,
				.payload = mad,
				.has_rare = true,
				.rare = {.qkey = 1, .src_qpn = 2, .pkey = 0xffff}};
	struct plain from;

	(void)state;
	plain_open(&from, 1, 4791);
	assert_int_equal(listen_at(&us, bound(TCP, RC, 7009), 1), 0);
	request(7009);
	while (next_event(&us).event != UINT32_MAX)
		;
	for (int i = 0; i < 500; i++)
		send_from(&from, &data);
	send_from(&from, &pkt);
	assert_int_equal(hca_device_counters(nic->hca)->rx_packets, 0);
	nic_loop_mind_gsi(nic, true);
	assert_int_equal(hca_device_counters(nic->hca)->rx_packets, 500);
	assert_int_equal(next_event(&us).event, CONNECT_REQUEST);
	plain_close(&from);
}

/* A queue pair with one completion that nobody has polled: a receive that was flushed. */
static struct hca_qp *with_a_completion(struct hca_cq **ret_cq)
{
	const struct hca_sge none = {.length = 0};
	const struct hca_qp_attr init = {.state = HCA_QPS_INIT, .port = 1},
				 failed = {.state = HCA_QPS_ERR};
	struct hca_qp_init params = {.type = HCA_QPT_UD, .cap = {1, 1, 1, 1, 0}};
	struct hca_pd *pd;
	struct hca_qp *qp;

	assert_int_equal(hca_pd_create(nic->hca, &pd), 0);
	assert_int_equal(hca_cq_create(nic->hca, 4, NULL, ret_cq), 0);
	params.pd = pd;
	params.send_cq = params.recv_cq = *ret_cq;
	assert_int_equal(hca_qp_create(nic->hca, &params, &qp), 0);
	assert_int_equal(hca_qp_modify(nic->hca, qp, &init,
				       HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY,
				       now),
			 0);
	assert_int_equal(hca_qp_post_recv(nic->hca, qp,
					  &(struct hca_recv_wr){.sge = &none, .sge_count = 0}, now),
			 0);
	assert_int_equal(hca_qp_modify(nic->hca, qp, &failed, HCA_QP_STATE, now), 0);
	return qp;
}

/* The end of the connection of @qpn is asked for; nobody knows it, and so it is answered at once.
 */
static void take_dreq(uint32_t qpn)
{
	const struct cm_mad dreq = {.attr = CM_DREQ, .local_id = 7, .remote_id = 5, .qpn = qpn};

	request(7013);
	cm_mad_emit(&dreq, mad);
	take(&pkt);
}

/* Until its completions are polled, or for a twentieth of a second. */
static void the_end_waits_for_who_polls(void **state)
{
	struct hca_cq *cq;
	const uint32_t qpn = hca_qp_qpn(with_a_completion(&cq));
	struct hca_wc wc;
	ps_t before;

	(void)state;
	take_dreq(qpn ^ 1);
	assert_int_equal(next_sent(), CM_DREP);
	before = nic_now(nic);
	take_dreq(qpn);
	nic_gsi_advance(gsi, before + 49 * PS_MS);
	assert_int_equal(next_sent(), 0);
	nic_gsi_advance(gsi, nic_now(nic) + 60 * PS_MS);
	assert_int_equal(next_sent(), CM_DREP);

	take_dreq(qpn);
	nic_gsi_advance(gsi, nic_now(nic) + 10 * PS_MS);
	assert_int_equal(next_sent(), 0);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	nic_gsi_advance(gsi, nic_now(nic) + 20 * PS_MS);
	assert_int_equal(next_sent(), CM_DREP);
	take_dreq(qpn);
	assert_int_equal(next_sent(), CM_DREP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_port_is_held_until_its_own_id_goes),
		TEST(a_request_goes_to_the_process_that_has_its_port),
		TEST(what_is_no_message_of_queue_pair_1_goes_nowhere),
		TEST(a_request_waits_for_who_listens),
		TEST(a_request_waits_between_bind_and_listen),
		TEST(a_letter_waits_between_bind_and_listen),
		TEST(what_waits_when_time_begins_anew_is_answered),
		TEST(a_message_overtakes_no_data),
		TEST(the_end_waits_for_who_polls),
	};
	const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0) {
		printf("no sockets here\n");
		return 77;
	}
	close(fd);
	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
