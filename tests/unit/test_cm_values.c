/* SPDX-License-Identifier: BSD-2-Clause */
/* Where messages have their fields, what programs are told to set queue pairs to, and bounds: the
 * places are those of IBTA vol 1, 12.6 and 12.11, the masks those that Linux gives to librdmacm
 * (drivers/infiniband/core/cm.c: cm_init_qp_rtr_attr(), cm_init_qp_rts_attr()). */
#include "tests/unit/cm_pair.h"

enum { UC = 3, XRC_INI = 9, XRC_TGT = 10, INIT = 1, RTR = 2, RTS = 3 };

/* What @mad has at @byte behind the header, in the bits of @mask. */
struct place {
	uint16_t attr;
	uint8_t byte, mask, value;
};

static const struct cm_mad all = {.local_id = 0x01020304,
				  .remote_id = 0x11121314,
				  .service_id = 0x2122232425262728,
				  .ca_guid = 0x3132333435363738,
				  .qpn = 0x414243,
				  .qkey = 0x51525354,
				  .psn = 0x616263,
				  .responder_resources = 0x71,
				  .initiator_depth = 0x72,
				  .remote_timeout = 0x15,
				  .local_timeout = 0x0b,
				  .flow_control = 1,
				  .srq = 1,
				  .retry_count = 5,
				  .rnr_retry_count = 6,
				  .max_cm_retries = 9,
				  .pkey = 0x8182,
				  .mtu = 4,
				  .flow_label = 0x91929,
				  .rate = 0x2d,
				  .traffic_class = 0xa1,
				  .hop_limit = 0xa2,
				  .sl = 0xc,
				  .subnet_local = 1,
				  .ack_timeout = 0x13,
				  .message = 2,
				  .service_timeout = 0x19,
				  .reason = 0xb1b2,
				  .status = 0xc1,
				  .transport = 3,
				  .extended_transport = 1};

static const struct place places[] = {
	{CM_REQ, 28, 0xff, 0x51},      {CM_REQ, 32, 0xff, 0x41},      {CM_REQ, 34, 0xff, 0x43},
	{CM_REQ, 35, 0xff, 0x71},      {CM_REQ, 39, 0xff, 0x72},      {CM_REQ, 43, 0xf8, 0x15 << 3},
	{CM_REQ, 43, 0x06, 3 << 1},    {CM_REQ, 43, 0x01, 1},	      {CM_REQ, 44, 0xff, 0x61},
	{CM_REQ, 47, 0xf8, 0x0b << 3}, {CM_REQ, 47, 0x07, 5},	      {CM_REQ, 48, 0xff, 0x81},
	{CM_REQ, 50, 0xf0, 4 << 4},    {CM_REQ, 50, 0x07, 6},	      {CM_REQ, 51, 0xf0, 9 << 4},
	{CM_REQ, 51, 0x08, 1 << 3},    {CM_REQ, 51, 0x07, 1},	      {CM_REQ, 88, 0xff, 0x91},
	{CM_REQ, 90, 0xf0, 0x90},      {CM_REQ, 91, 0x3f, 0x2d},      {CM_REQ, 92, 0xff, 0xa1},
	{CM_REQ, 93, 0xff, 0xa2},      {CM_REQ, 94, 0xf0, 0xc << 4},  {CM_REQ, 94, 0x08, 1 << 3},
	{CM_REQ, 95, 0xf8, 0x13 << 3}, {CM_MRA, 4, 0xff, 0x11},	      {CM_MRA, 8, 0xc0, 2 << 6},
	{CM_MRA, 9, 0xf8, 0x19 << 3},  {CM_REJ, 4, 0xff, 0x11},	      {CM_REJ, 8, 0xc0, 2 << 6},
	{CM_REJ, 10, 0xff, 0xb1},      {CM_REP, 4, 0xff, 0x11},	      {CM_REP, 8, 0xff, 0x51},
	{CM_REP, 12, 0xff, 0x41},      {CM_REP, 20, 0xff, 0x61},      {CM_REP, 24, 0xff, 0x71},
	{CM_REP, 25, 0xff, 0x72},      {CM_REP, 26, 0xf8, 0x13 << 3}, {CM_REP, 26, 0x07, 1},
	{CM_REP, 27, 0xe0, 6 << 5},    {CM_REP, 27, 0x10, 1 << 4},    {CM_REP, 28, 0xff, 0x31},
	{CM_RTU, 0, 0xff, 0x01},       {CM_RTU, 4, 0xff, 0x11},	      {CM_DREQ, 8, 0xff, 0x41},
	{CM_DREP, 4, 0xff, 0x11},      {CM_SIDR_REQ, 3, 0xff, 0x04},  {CM_SIDR_REQ, 4, 0xff, 0x81},
	{CM_SIDR_REQ, 6, 0xff, 0},     {CM_SIDR_REQ, 8, 0xff, 0x21},  {CM_SIDR_REP, 0, 0xff, 0x11},
	{CM_SIDR_REP, 4, 0xff, 0xc1},  {CM_SIDR_REP, 8, 0xff, 0x41},  {CM_SIDR_REP, 12, 0xff, 0x21},
	{CM_SIDR_REP, 20, 0xff, 0x51},
};

static void test_fields_have_their_places(void **state)
{
	uint8_t bytes[CM_MAD_BYTES], again[CM_MAD_BYTES];
	struct cm_mad back;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *p = &places[i];
		struct cm_mad mad = all;

		mad.attr = p->attr;
		cm_mad_emit(&mad, bytes);
		if ((bytes[24 + p->byte] & p->mask) != p->value)
			fail_msg("attribute %#x, byte %u: %#x", p->attr, p->byte,
				 bytes[24 + p->byte]);
		assert_true(cm_mad_parse(&back, bytes, sizeof(bytes)));
		cm_mad_emit(&back, again);
		assert_memory_equal(again, bytes, sizeof(bytes));
	}
}

/* Annex A11: version 0 of it, then 4 or 6, the port, and both addresses. */
static void test_addresses_in_private_data(void **state)
{
	uint8_t bytes[CM_IP_BYTES] = {0, 0x60, 0x12, 0x34};
	struct cm_ip ip;

	(void)state;
	for (uint8_t i = 4; i < CM_IP_BYTES; i++)
		bytes[i] = i;
	assert_true(cm_ip_parse(&ip, bytes));
	assert_true(ip.is_ipv6);
	assert_int_equal(ip.port, 0x1234);
	assert_memory_equal(ip.src, bytes + 4, 16);
	assert_memory_equal(ip.dst, bytes + 20, 16);
	bytes[1] = 0x40;
	assert_true(cm_ip_parse(&ip, bytes));
	assert_false(ip.is_ipv6);
	assert_int_equal(ip.src[11] << 8 | ip.src[12], 0xff00 | 16);
	bytes[1] = 0x50;
	assert_false(cm_ip_parse(&ip, bytes));
	bytes[1] = 0x40;
	bytes[0] = 0x10;
	assert_false(cm_ip_parse(&ip, bytes));
}

/* The two ends of a connection of this kind, accepted. */
static void connect_kinds(uint8_t active, uint8_t passive, uint32_t *ret_client,
			  uint32_t *ret_server)
{
	(void)listener(TCP, passive, 1);
	*ret_client = route_to(&a, TCP, active, &b, PORT);
	assert_int_equal(connect_with(&a, *ret_client, 4), 0);
	assert_int_equal(carry(&a, false), CM_REQ);
	*ret_server = next_event(&b).id;
	assert_int_equal(accept_with(&b, *ret_server, 0xc, 0x202), 0);
	assert_int_equal(carry(&b, false), CM_REP);
	assert_int_equal(next_event(&a).event, CONNECT_RESPONSE);
}

static void assert_masks(struct host *host, uint32_t id, uint32_t rtr, uint32_t rts)
{
	const uint32_t base = 1 << 0 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 20;
	const struct ib_uverbs_qp_attr attr = qp_attr(host, id, RTR);

	assert_int_equal(attr.qp_attr_mask, base | rtr);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 1);
	assert_int_equal(attr.path_mtu, 3);
	assert_int_equal(qp_attr(host, id, RTS).qp_attr_mask, 1 << 0 | 1 << 16 | rts);
}

static void test_each_kind_of_queue_pair_is_told_its_own(void **state)
{
	const uint32_t answers = 1 << 17 | 1 << 15, asks = 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13;
	uint32_t client, server;

	(void)state;
	connect_kinds(RC, RC, &client, &server);
	assert_masks(&a, client, answers, asks);
	assert_masks(&b, server, answers, asks);
	assert_int_equal(qp_attr(&b, server, INIT).qp_access_flags, 2 | 4 | 8);
	(void)tear_down(state);
	(void)set_up(state);
	connect_kinds(UC, UC, &client, &server);
	assert_masks(&a, client, 0, 0);
	(void)tear_down(state);
	(void)set_up(state);
	connect_kinds(XRC_INI, XRC_TGT, &client, &server);
	assert_masks(&a, client, 0, asks);
	assert_masks(&b, server, answers, 1 << 9);
}

/* The smaller of both, where the other says one. */
static void test_the_smaller_mtu_is_agreed(void **state)
{
	static const uint8_t said[] = {2, 3, 5, 0}, agreed[] = {2, 3, 3, 3};
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;

	(void)state;
	(void)listener(TCP, RC, 8);
	for (int i = 0; i < 4; i++) {
		uint32_t client = route_to(&a, TCP, RC, &b, PORT), server;

		assert_int_equal(connect_with(&a, client, 0), 0);
		assert_true(cm_output(a.cm, &path, bytes));
		bytes[24 + 50] = (uint8_t)((bytes[24 + 50] & 0xf) | said[i] << 4);
		cm_input(b.cm, &path, bytes, sizeof(bytes), now);
		server = next_event(&b).id;
		assert_int_equal(qp_attr(&b, server, RTR).path_mtu, agreed[i]);
	}
}

/* Three bits hold no more than 7; those of the answer are the server's. */
static void test_retries_have_three_bits(void **state)
{
	struct rdma_ucm_connect c = {
		.conn_param = {.qp_num = 1, .retry_count = 9, .rnr_retry_count = 12, .valid = 1}};
	struct rdma_ucm_accept accept = {
		.uid = 0xc, .conn_param = {.qp_num = 2, .rnr_retry_count = 5, .valid = 1}};

	(void)state;
	(void)listener(TCP, RC, 1);
	c.id = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(COMMAND(&a, CONNECT, c), 0);
	assert_int_equal(carry(&a, false), CM_REQ);
	assert_int_equal(carried[24 + 47] & 7, 7);
	assert_int_equal(carried[24 + 50] & 7, 7);
	accept.id = next_event(&b).id;
	assert_int_equal(COMMAND(&b, ACCEPT, accept), 0);
	assert_int_equal(carry(&b, false), CM_REP);
	assert_int_equal(qp_attr(&a, c.id, RTS).retry_cnt, 7);
	assert_int_equal(qp_attr(&a, c.id, RTS).rnr_retry, 5);
}

/* One is the same only if its sender, its adapter and its numbers are. */
static void test_the_same_request_once_more(void **state)
{
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;
	const uint32_t client = route_to(&a, TCP, RC, &b, PORT);

	(void)state;
	(void)listener(TCP, RC, 8);
	assert_int_equal(connect_with(&a, client, 0), 0);
	assert_true(cm_output(a.cm, &path, bytes));
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(next_event(&b).event, CONNECT_REQUEST);
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(next_event(&b).event, UINT32_MAX);
	assert_int_equal(carry(&b, true), CM_MRA);
	bytes[24 + 16]++; /* another adapter's */
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(next_event(&b).event, CONNECT_REQUEST);
	path.src_ip[15]++;
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(next_event(&b).event, CONNECT_REQUEST);
}

/* "I am at it" gives time to the message that it is about, and to no other. */
static void test_more_time_is_of_one_message(void **state)
{
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;
	const uint32_t client = route_to(&a, TCP, RC, &b, PORT);

	(void)state;
	(void)listener(TCP, RC, 1);
	assert_int_equal(connect_with(&a, client, 0), 0);
	assert_int_equal(carry(&a, false), CM_REQ);
	now += OVERDUE;
	cm_advance(a.cm, now);
	assert_int_equal(carry(&a, false), CM_REQ);
	assert_true(cm_output(b.cm, &path, bytes)); /* MRA, which names the request */
	assert_int_equal(bytes[24 + 8] >> 6, 0);
	bytes[24 + 8] = 1 << 6;
	cm_input(a.cm, &path, bytes, sizeof(bytes), now);
	now += OVERDUE;
	cm_advance(a.cm, now);
	assert_int_equal(carry(&a, true), CM_REQ);
	bytes[24 + 8] = 0;
	cm_input(a.cm, &path, bytes, sizeof(bytes), now);
	cm_advance(a.cm, now + OVERDUE);
	assert_int_equal(carry(&a, true), 0);
	assert_true(cm_next_at(a.cm) == now + OVERDUE + 16 * OVERDUE); /* 4.096 us * 2^24 */
}

/* Who refuses says what: 0 the request, 1 the answer to it. */
static void test_a_refusal_names_its_message(void **state)
{
	struct rdma_ucm_reject r = {.private_data_len = 0};
	uint32_t client, server;

	(void)state;
	connect_kinds(RC, RC, &client, &server);
	r.id = client;
	assert_int_equal(COMMAND(&a, REJECT, r), 0);
	assert_int_equal(carry(&a, false), CM_REJ);
	assert_int_equal(carried[24 + 8] >> 6, 1);
}

static void test_the_answer_names_the_service(void **state)
{
	static const uint8_t service[] = {0, 0, 0, 0, 1, 0x11, 0x1c, 0x06};
	struct rdma_ucm_accept c = {.uid = 0xc, .conn_param = {.qp_num = 0x303, .valid = 1}};
	struct rdma_ucm_event_resp event;

	(void)state;
	(void)listener(UDP, UD, 1);
	assert_int_equal(connect_with(&a, route_to(&a, UDP, UD, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), CM_SIDR_REQ);
	c.id = next_event(&b).id;
	assert_int_equal(COMMAND(&b, ACCEPT, c), 0);
	assert_int_equal(carry(&b, false), CM_SIDR_REP);
	assert_memory_equal(carried + 24 + 12, service, sizeof(service));
	event = next_event(&a);
	assert_int_equal(event.param.ud.qp_num, 0x303);
	assert_int_equal(event.param.ud.qkey,
			 0x01234567); /* include/rdma/rdma_cm.h, RDMA_UDP_QKEY */
}

/* All that fits goes out in order, and what does not is lost. */
static void test_messages_wait_in_a_row(void **state)
{
	enum { MANY = CM_OUTBOX + 10 };
	uint32_t last = 0;
	int count = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	while (carry(&a, true) == CM_REQ) {
		const uint32_t number =
			carried[24] << 24 | carried[25] << 16 | carried[26] << 8 | carried[27];

		assert_true(count == 0 || number > last);
		last = number;
		count++;
	}
	assert_int_equal(count, CM_OUTBOX);
}

static void test_ids_have_an_end(void **state)
{
	const struct rdma_ucm_create_id c = {.uid = 1, .response = 1, .ps = TCP, .qp_type = RC};

	(void)state;
	for (int i = 0; i < CM_IDS_MAX; i++)
		(void)create(&a, TCP, RC, 1);
	assert_int_equal(COMMAND(&a, CREATE_ID, c), -ENOMEM);
}

static void test_time_begins_anew(void **state)
{
	const ps_t by = now - 1;
	const uint32_t client = route_to(&a, TCP, RC, &b, PORT);

	(void)state;
	assert_int_equal(connect_with(&a, client, 0), 0);
	assert_int_equal(carry(&a, true), CM_REQ);
	cm_move_epoch(a.cm, by);
	now -= by;
	assert_true(cm_next_at(a.cm) == now + OVERDUE);
	cm_advance(a.cm, now + OVERDUE - 1);
	assert_int_equal(carry(&a, true), 0);
	cm_advance(a.cm, now + OVERDUE);
	assert_int_equal(carry(&a, true), CM_REQ);
}

/* listen(2) with 0 is no refusal of all. */
static void test_a_backlog_of_nothing_is_the_most(void **state)
{
	(void)state;
	(void)listener(TCP, RC, 0);
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), CM_REQ);
	assert_int_equal(next_event(&b).event, CONNECT_REQUEST);
}

static void test_loopback_is_of_the_hosts_family(void **state)
{
	struct rdma_ucm_bind_ip c = {.id = create(&a, TCP, RC, 1)};

	(void)state;
	c.addr.sin6_family = AF_INET6;
	c.addr.sin6_addr.s6_addr[15] = 1;
	assert_int_equal(COMMAND(&a, BIND_IP, c), -EADDRNOTAVAIL);
}

static void test_a_route_says_how_long_packets_live(void **state)
{
	const struct rdma_ucm_query query = {.response = 1, .id = route_to(&a, TCP, RC, &b, PORT)};
	struct rdma_ucm_query_route_resp route;

	(void)state;
	assert_int_equal(COMMAND(&a, QUERY_ROUTE, query), 0);
	memcpy(&route, a.reply.bytes, sizeof(route));
	assert_int_equal(route.num_paths, 1);
	assert_int_equal(route.ib_route[0].packet_life_time,
			 16); /* linux: CMA_IBOE_PACKET_LIFETIME */
	assert_int_equal(route.ib_route[0].hop_limit, 64);
}

static void test_an_address_has_its_size(void **state)
{
	struct rdma_ucm_query query = {.response = 1, .option = RDMA_USER_CM_QUERY_ADDR};
	struct rdma_ucm_query_addr_resp said;

	(void)state;
	query.id = create(&a, TCP, RC, 1);
	assert_int_equal(bind_to(&a, query.id, PORT), 0);
	assert_int_equal(COMMAND(&a, QUERY, query), 0);
	memcpy(&said, a.reply.bytes, sizeof(said));
	assert_int_equal(said.src_size, 16);
	assert_int_equal(said.dst_size, 0);
	query.id = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(COMMAND(&a, QUERY, query), 0);
	memcpy(&said, a.reply.bytes, sizeof(said));
	assert_int_equal(said.dst_size, 16);
}

static int join(struct host *host, uint32_t id, uint8_t first)
{
	struct host group = {.ip = {[10] = 0xff, 0xff, first, 1, 2, 3}};
	struct sockaddr_in6 to = address(&group, 0);
	struct rdma_ucm_join_mcast c = {.response = 1,
					.uid = 0x77,
					.id = id,
					.addr_size = sizeof(struct sockaddr_in),
					.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER};

	memcpy(&c.addr, &to, sizeof(to));
	return COMMAND(host, JOIN_MCAST, c);
}

/* Linux: cma_iboe_join_multicast() asks nobody; the group's GID is its address. */
static void test_groups_are_joined(void **state)
{
	const uint32_t id = create(&a, UDP, UD, 1), rc = create(&a, TCP, RC, 1);
	struct rdma_ucm_resolve_ip ip = {.id = create(&a, UDP, UD, 1),
					 .dst_addr = address(&b, PORT)};
	struct rdma_ucm_event_resp event;

	(void)state;
	assert_int_equal(join(&a, id, 239), -EINVAL); /* it has no device yet */
	assert_int_equal(bind_to(&a, id, PORT), 0);
	assert_int_equal(bind_to(&a, rc, PORT), 0);
	assert_int_equal(join(&a, rc, 239), -EINVAL);
	assert_int_equal(join(&a, id, 10), -EINVAL); /* no group's address */
	assert_int_equal(join(&a, id, 239), 0);
	event = next_event(&a);
	assert_int_equal(event.event, 12); /* RDMA_CM_EVENT_MULTICAST_JOIN */
	assert_int_equal(event.uid, 0x77);
	assert_int_equal(event.param.ud.qp_num, 0xffffff);
	assert_int_equal(event.param.ud.qkey, 0x01234567);
	assert_memory_equal(event.param.ud.ah_attr.grh.dgid,
			    "\0\0\0\0\0\0\0\0\0\0\xff\xff\xef\x01\x02\x03", 16);
	assert_int_equal(COMMAND(&a, RESOLVE_IP, ip), 0);
	assert_int_equal(next_event(&a).event, ADDR_RESOLVED);
	assert_int_equal(join(&a, ip.id, 239), 0);
	for (int i = 1; i < 1024; i++)
		assert_int_equal(join(&a, id, 239), 0);
	assert_int_equal(join(&a, id, 239), -ENOMEM);
}

/* Both want to end at once: both have ended, and wait for what may still be on its way. */
static void test_both_disconnect_at_once(void **state)
{
	uint32_t client, server;

	(void)state;
	connected(&client, &server);
	assert_int_equal(carry(&a, false), CM_RTU);
	assert_int_equal(next_event(&b).event, ESTABLISHED);
	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DISCONNECT, client), 0);
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DISCONNECT, server), 0);
	assert_int_equal(carry(&a, false), CM_DREQ);
	assert_int_equal(next_event(&b).event, DISCONNECTED);
	now += OVERDUE / 2; /* longer than 4.096 us * 2^17 */
	cm_advance(b.cm, now);
	assert_int_equal(next_event(&b).event, TIMEWAIT_EXIT);
}

/* Who has answered may end before it has heard that the answer came. */
static void test_who_has_answered_may_disconnect(void **state)
{
	uint32_t client, server;

	(void)state;
	connect_kinds(RC, RC, &client, &server);
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DISCONNECT, server), 0);
	assert_int_equal(carry(&b, false), CM_DREQ);
}

/* A process of the peer's has ended with the answer on its way, and with it all of its host: that
 * is an answer. While others are there, one of them would answer. */
static void test_who_is_gone_has_disconnected(void **state)
{
	uint32_t client, server;
	struct rdma_ucm_event_resp event;

	(void)state;
	connected(&client, &server);
	assert_int_equal(carry(&a, false), CM_RTU);
	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DISCONNECT, client), 0);
	assert_int_equal(carry(&a, true), CM_DREQ);
	pass(OVERDUE);
	assert_int_equal(carry(&a, true), CM_DREQ);
	assert_int_equal(next_event(&a).event, UINT32_MAX);
	a.peers_are_gone = true;
	pass(OVERDUE);
	assert_int_equal(carry(&a, true), 0);
	event = next_event(&a);
	assert_int_equal(event.event, DISCONNECTED);
	assert_int_equal(event.status, 0);
}

/* Who asks for a connection waits for somebody to come. */
static void test_nobody_is_there_yet(void **state)
{
	(void)state;
	a.peers_are_gone = true;
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, true), CM_REQ);
	pass(OVERDUE);
	assert_int_equal(carry(&a, true), CM_REQ);
	assert_int_equal(next_event(&a).event, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fields_have_their_places),
		TEST(test_addresses_in_private_data),
		TEST(test_each_kind_of_queue_pair_is_told_its_own),
		TEST(test_the_smaller_mtu_is_agreed),
		TEST(test_retries_have_three_bits),
		TEST(test_the_same_request_once_more),
		TEST(test_more_time_is_of_one_message),
		TEST(test_a_refusal_names_its_message),
		TEST(test_the_answer_names_the_service),
		TEST(test_messages_wait_in_a_row),
		TEST(test_ids_have_an_end),
		TEST(test_time_begins_anew),
		TEST(test_a_backlog_of_nothing_is_the_most),
		TEST(test_loopback_is_of_the_hosts_family),
		TEST(test_a_route_says_how_long_packets_live),
		TEST(test_an_address_has_its_size),
		TEST(test_groups_are_joined),
		TEST(test_both_disconnect_at_once),
		TEST(test_who_has_answered_may_disconnect),
		TEST(test_who_is_gone_has_disconnected),
		TEST(test_nobody_is_there_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
