/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections and datagrams of two hosts, and what becomes of them. */
#include "tests/unit/cm_pair.h"

/* Where IBTA 12.6.5 and 13.4.3 have the fields of a REQ, and annex A11 those of its private data.
 */
static void test_a_request_byte_by_byte(void **state)
{
	static const uint8_t head[] = {1, 7, 2, 3}, service[] = {0, 0, 0, 0, 1, 6, 0x1c, 0x06};
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;
	uint32_t id;

	(void)state;
	id = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(connect_with(&a, id, 56), 0);
	assert_true(cm_output(a.cm, &path, bytes));
	assert_memory_equal(bytes, head, sizeof(head));
	assert_memory_equal(bytes + 24 + 8, service, sizeof(service));
	assert_int_equal(bytes[24 + 16 + 7], 0x35);			/* CA GUID 0x1235 */
	assert_int_equal(bytes[24 + 33] << 8 | bytes[24 + 34], 0x101);	/* QPN */
	assert_int_equal(bytes[24 + 35], 3);				/* responder resources */
	assert_int_equal(bytes[24 + 39], 5);				/* initiator depth */
	assert_int_equal(bytes[24 + 43], 20 << 3);			/* timeout, RC */
	assert_int_equal(bytes[24 + 47], 20 << 3 | 6);			/* and retries */
	assert_int_equal(bytes[24 + 48] << 8 | bytes[24 + 49], 0xffff); /* P_Key */
	assert_int_equal(bytes[24 + 50], 3 << 4 | 7);			/* MTU, RNR retries */
	assert_int_equal(bytes[24 + 51], 15 << 4);			/* CM retries */
	assert_memory_equal(bytes + 24 + 56, a.ip, 16);
	assert_memory_equal(bytes + 24 + 72, b.ip, 16);
	assert_int_equal(bytes[24 + 93], 64);	 /* hop limit */
	assert_int_equal(bytes[24 + 141], 0x40); /* IP version */
	assert_memory_equal(bytes + 24 + 144 + 12, a.ip + 12, 4);
	assert_memory_equal(bytes + 24 + 160 + 12, b.ip + 12, 4);
	assert_int_equal(bytes[24 + 176], 0x5a);
	assert_int_equal(bytes[255], 0x5a);
	/* One byte more does not fit. */
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 57), -EINVAL);
}

static void test_a_connection(void **state)
{
	uint32_t reported;
	struct rdma_ucm_event_resp event;
	struct ib_uverbs_qp_attr attr;
	uint32_t client, server;

	(void)state;
	connected(&client, &server);
	assert_int_equal(carry(&a, false), 0x14);
	assert_true(b.readable);
	event = next_event(&b);
	assert_int_equal(event.event, ESTABLISHED);
	assert_int_equal(event.uid, 0xc);
	assert_false(b.readable);
	attr = qp_attr(&a, client, 2);
	assert_int_equal(attr.dest_qp_num, 0x202);
	assert_memory_equal(attr.ah_attr.grh.dgid, b.ip, 16);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 1);
	assert_int_equal(attr.path_mtu, 3);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	assert_int_equal(attr.rq_psn, qp_attr(&b, server, 3).sq_psn);
	attr = qp_attr(&b, server, 2);
	assert_int_equal(attr.dest_qp_num, 0x101);
	assert_int_equal(attr.rq_psn, qp_attr(&a, client, 3).sq_psn);
	assert_int_equal(qp_attr(&a, client, 3).max_rd_atomic, 2);
	assert_int_equal(qp_attr(&a, client, 3).retry_cnt, 6);

	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DISCONNECT, client), 0);
	assert_int_equal(carry(&a, false), 0x15);
	assert_int_equal(next_event(&b).event, DISCONNECTED);
	assert_int_equal(carry(&b, false), 0); /* the program's turn */
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DISCONNECT, server), 0);
	assert_int_equal(carry(&b, false), 0x16);
	assert_int_equal(next_event(&a).event, DISCONNECTED);
	pass(3 * PS_S);
	assert_int_equal(next_event(&a).event, TIMEWAIT_EXIT);
	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DESTROY_ID, client), 0);
	memcpy(&reported, a.reply.bytes, sizeof(reported));
	assert_int_equal(reported, 5); /* events, with those of the route */
	assert_int_equal(carry(&a, false), 0);
}

static void test_what_is_lost_is_said_again(void **state)
{
	uint32_t client, server;

	(void)state;
	(void)listener(TCP, RC, 1);
	client = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(connect_with(&a, client, 0), 0);
	assert_int_equal(carry(&a, true), 0x10);
	pass(OVERDUE - 1);
	assert_int_equal(carry(&a, false), 0);
	pass(1);
	assert_int_equal(carry(&a, false), 0x10);
	server = next_event(&b).id;
	assert_int_equal(accept_with(&b, server, 0xc, 0x202), 0);
	assert_int_equal(carry(&b, true), 0x13);
	pass(OVERDUE); /* both: the request finds a connection, and no new one */
	assert_int_equal(carry(&a, false), 0x10);
	assert_int_equal(next_event(&b).event, UINT32_MAX);
	assert_int_equal(carry(&b, false), 0x13);
	assert_int_equal(next_event(&a).event, CONNECT_RESPONSE);
	assert_int_equal(carry(&b, false), 0x13); /* twice: it is being thought about */
	assert_int_equal(carry(&a, false), 0x11);
	assert_int_equal(accept_with(&a, client, 0, 0), 0);
	assert_int_equal(carry(&a, true), 0x14);
	pass(25 * cm_next_at(b.cm)); /* the delay that was asked for, and more */
	assert_int_equal(carry(&b, false), 0x13);
	assert_int_equal(carry(&a, false), 0x14);
	assert_int_equal(next_event(&b).event, ESTABLISHED);
}

static void test_nobody_answers(void **state)
{
	struct rdma_ucm_event_resp event;

	(void)state;
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(carry(&a, true), 0x10);
		pass(OVERDUE);
	}
	assert_int_equal(carry(&a, true), 0x12);
	event = next_event(&a);
	assert_int_equal(event.event, UNREACHABLE);
	assert_int_equal((int)event.status, -ETIMEDOUT);
}

static void test_refusals(void **state)
{
	const struct rdma_ucm_reject no = {.private_data = "no", .private_data_len = 2};
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_reject r = no;
	uint32_t id;

	(void)state;
	/* Nobody listens. */
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	assert_int_equal(carry(&b, false), 0x12);
	event = next_event(&a);
	assert_int_equal(event.event, REJECTED);
	assert_int_equal(event.status, 8);
	/* The program does not want it. */
	(void)listener(TCP, RC, 1);
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	r.id = next_event(&b).id;
	assert_int_equal(COMMAND(&b, REJECT, r), 0);
	assert_int_equal(carry(&b, false), 0x12);
	event = next_event(&a);
	assert_int_equal(event.event, REJECTED);
	assert_int_equal(event.status, 28);
	assert_string_equal((const char *)event.param.conn.private_data, "no");
	/* Two at a time are one too many, until the first is taken note of. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
		assert_int_equal(carry(&a, false), 0x10);
	}
	assert_int_equal(carry(&b, false), 0x12);
	assert_int_equal(next_event(&a).status, 28);
	id = next_event(&b).id;
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	assert_int_equal(next_event(&b).event, CONNECT_REQUEST);
	/* Who goes without an answer refuses. */
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DESTROY_ID, id), 0);
	assert_int_equal(carry(&b, false), 0x12);
	assert_int_equal(next_event(&a).event, REJECTED);
	/* A queue pair of another kind. */
	assert_int_equal(connect_with(&a, route_to(&a, TCP, 3, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	assert_int_equal(carry(&b, false), 0x12);
}

static void test_requests_go_with_who_listens(void **state)
{
	const uint32_t id = listener(TCP, RC, 4);

	(void)state;
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	assert_true(b.readable);
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DESTROY_ID, id), 0);
	assert_false(b.readable);
	assert_int_equal(carry(&b, false), 0x12);
	assert_int_equal(next_event(&a).event, REJECTED);
}

/* A message that is not of the peer's host, or not of its connection. */
static void test_strangers(void **state)
{
	uint8_t bytes[CM_MAD_BYTES];
	struct wire_path path;
	uint32_t client, server;

	(void)state;
	connected(&client, &server);
	assert_int_equal(carry(&a, false), 0x14);
	(void)next_event(&b);
	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DISCONNECT, client), 0);
	assert_true(cm_output(a.cm, &path, bytes));
	path.src_ip[15] ^= 1;
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	path.src_ip[15] ^= 1;
	bytes[27] ^= 1; /* the sender's id */
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	bytes[27] ^= 1;
	bytes[24 + 10] ^= 1; /* the queue pair */
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	bytes[24 + 10] ^= 1;
	cm_input(b.cm, &path, bytes, sizeof(bytes) - 1, now);
	assert_false(b.readable);
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(next_event(&b).event, DISCONNECTED);
	/* Of a connection that has gone: it ends well. */
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DESTROY_ID, server), 0);
	assert_int_equal(carry(&b, true), 0x16);
	cm_input(b.cm, &path, bytes, sizeof(bytes), now);
	assert_int_equal(carry(&b, false), 0x16);
	assert_int_equal(next_event(&a).event, DISCONNECTED);
}

static void test_datagrams(void **state)
{
	struct rdma_ucm_event_resp event;
	uint32_t id;

	(void)state;
	(void)listener(UDP, UD, 1);
	id = route_to(&a, UDP, UD, &b, PORT);
	assert_int_equal(connect_with(&a, id, 180), 0);
	assert_int_equal(carry(&a, false), 0x17);
	event = next_event(&b);
	assert_int_equal(event.event, CONNECT_REQUEST);
	assert_int_equal(event.param.ud.private_data_len, 180);
	assert_int_equal(event.param.ud.private_data[179], 0x5a);
	assert_int_equal(accept_with(&b, event.id, 0xc, 0x303), 0);
	assert_int_equal(carry(&b, false), 0x18);
	event = next_event(&a);
	assert_int_equal(event.event, ESTABLISHED);
	assert_int_equal(event.param.ud.qp_num, 0x303);
	assert_int_equal(event.param.ud.qkey, 0x77);
	assert_memory_equal(event.param.ud.ah_attr.grh.dgid, b.ip, 16);
	assert_int_equal(event.param.ud.ah_attr.is_global, 1);
	/* Nobody there. */
	assert_int_equal(connect_with(&a, route_to(&a, UDP, UD, &b, PORT + 1), 0), 0);
	assert_int_equal(carry(&a, false), 0x17);
	assert_int_equal(carry(&b, false), 0x18);
	event = next_event(&a);
	assert_int_equal(event.event, UNREACHABLE);
	assert_int_equal(event.status, 1);
}

static void test_ports(void **state)
{
	const int32_t yes = 1;
	struct rdma_ucm_set_option reuse = {.optval = (uintptr_t)&yes, .optname = 1, .optlen = 4};
	uint32_t ids[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		ids[i] = create(&b, TCP, RC, 1);
	assert_int_equal(bind_to(&b, ids[0], PORT), 0);
	assert_int_equal(bind_to(&b, ids[1], PORT), -EADDRINUSE);
	assert_int_equal(bind_to(&b, ids[1], PORT + 1), 0);
	assert_int_equal(bind_to(&a, create(&a, TCP, RC, 1), PORT), 0);
	struct rdma_ucm_bind_ip other = {.id = create(&b, TCP, RC, 1), .addr = address(&a, 9)};
	assert_int_equal(COMMAND(&b, BIND_IP, other), -EADDRNOTAVAIL);
	const struct host loopback = {.ip = {[12] = 127, 0, 0, 1}};
	other.addr = address(&loopback, 9); /* that is here */
	assert_int_equal(COMMAND(&b, BIND_IP, other), 0);
	/* Whoever asks for any has one at once, and can tell others of it. */
	uint32_t any = create(&b, TCP, RC, 1);
	struct rdma_ucm_query_route_resp route;
	const struct rdma_ucm_query query = {.response = 1, .id = any};
	assert_int_equal(bind_to(&b, any, 0), 0);
	assert_int_equal(COMMAND(&b, QUERY_ROUTE, query), 0);
	memcpy(&route, b.reply.bytes, sizeof(route));
	assert_int_equal(route.src_addr.sin6_family, AF_INET);
	assert_in_range(ntohs(route.src_addr.sin6_port), 32768, 60999);
	b.port_is_taken = true; /* by another process */
	assert_int_equal(bind_to(&b, create(&b, TCP, RC, 1), 0), -EADDRINUSE);
	assert_int_equal(bind_to(&b, ids[2], PORT + 2), -EADDRINUSE);
	b.port_is_taken = false;
	assert_int_equal(with_id(&b, RDMA_USER_CM_CMD_DESTROY_ID, ids[0]), 0);
	for (int i = 0; i < 2; i++) {
		ids[i] = create(&b, TCP, RC, 1);
		reuse.id = ids[i];
		assert_int_equal(COMMAND(&b, SET_OPTION, reuse), 0);
		assert_int_equal(bind_to(&b, ids[i], PORT), 0);
	}
	assert_int_equal(bind_to(&b, create(&b, TCP, RC, 1), PORT),
			 -EADDRINUSE); /* it has not said so */
	assert_int_equal(listen_at(&b, ids[0], 1), 0);
	assert_int_equal(listen_at(&b, ids[1], 1), -EADDRINUSE);
	assert_true(cm_listens(b.cm, TCP, PORT));
	assert_false(cm_listens(b.cm, UDP, PORT));
}

static void test_who_a_message_is_for(void **state)
{
	uint8_t bytes[CM_MAD_BYTES];
	struct cm_target target;
	struct wire_path path;
	uint32_t client, server;

	(void)state;
	connected(&client, &server);
	assert_true(cm_output(a.cm, &path, bytes)); /* to host 2, which has that slot */
	target = cm_target_of(bytes, sizeof(bytes));
	assert_int_equal(target.kind, CM_FOR_SLOT);
	assert_int_equal(target.slot, 2);
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, 99), 0), 0);
	assert_true(cm_output(a.cm, &path, bytes));
	target = cm_target_of(bytes, sizeof(bytes));
	assert_int_equal(target.kind, CM_FOR_PORT);
	assert_int_equal(target.space, TCP);
	assert_int_equal(target.port, 99);
	bytes[3] = 1; /* no method of the class */
	assert_int_equal(cm_target_of(bytes, sizeof(bytes)).kind, CM_FOR_NOBODY);
}

static void test_bad_commands(void **state)
{
	const struct rdma_ucm_cmd_hdr none = {.cmd = 99};
	const uint32_t id = create(&a, TCP, RC, 1);
	struct rdma_ucm_bind ib = {.id = id, .addr_size = 48};
	struct rdma_ucm_create_id c = {.uid = 1, .response = 1, .ps = 7, .qp_type = RC};
	struct rdma_ucm_get_event get = {.response = 1};
	const uint16_t af_ib = 27;
	struct {
		struct rdma_ucm_cmd_hdr head;
		uint32_t id, rest;
	} all = {{0}, 0, 0};

	(void)state;
	assert_int_equal(cm_command(a.file, &none, sizeof(none), &a.reply, now), -EINVAL);
	assert_int_equal(cm_command(a.file, &none, 7, &a.reply, now), -EINVAL);
	all.head.cmd = RDMA_USER_CM_CMD_DISCONNECT;
	all.head.in = 4; /* four bytes, but there are three */
	assert_int_equal(cm_command(a.file, &all, 11, &a.reply, now), -EINVAL);
	all.id = 77;
	assert_int_equal(cm_command(a.file, &all, 12, &a.reply, now), -ENOENT);
	all.head.cmd = RDMA_USER_CM_CMD_DESTROY_ID;
	all.head.in = 8; /* none of the id, and there is one of number 0 */
	all.id = 0;
	assert_int_equal(cm_command(a.file, &all, 16, &a.reply, now), -EINVAL);
	memcpy(&ib.addr, &af_ib, sizeof(af_ib));
	assert_int_equal(COMMAND(&a, BIND, ib), -EAFNOSUPPORT);
	ib.addr_size = 200;
	assert_int_equal(COMMAND(&a, BIND, ib), -EINVAL);
	assert_int_equal(COMMAND(&a, CREATE_ID, c), -EPROTONOSUPPORT);
	c.ps = TCP;
	c.qp_type = 8;
	assert_int_equal(COMMAND(&a, CREATE_ID, c), -EINVAL);
	assert_int_equal(COMMAND(&a, GET_EVENT, get), -EAGAIN);
	assert_int_equal(command(&a, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get), 8), -ENOSPC);
	assert_int_equal(connect_with(&a, id, 0), -EINVAL);
	assert_int_equal(accept_with(&a, id, 1, 1), -EINVAL);
	assert_int_equal(listen_at(&a, id, 1), 0);
	assert_int_equal(with_id(&a, RDMA_USER_CM_CMD_DISCONNECT, id), -EINVAL);
}

static void test_an_id_moves_with_its_events(void **state)
{
	struct rdma_ucm_migrate_id move = {.response = 1, .fd = 3};
	struct cm_file *first = a.file, *second = cm_file_create(a.cm, &b);
	const struct rdma_ucm_get_event get = {.response = 1};

	(void)state;
	assert_non_null(second);
	move.id = create(&a, TCP, RC, 9);
	const struct rdma_ucm_resolve_ip ip = {.id = move.id, .dst_addr = address(&b, PORT)};
	assert_int_equal(COMMAND(&a, RESOLVE_IP, ip), 0);
	assert_true(a.readable);
	struct {
		struct rdma_ucm_cmd_hdr header;
		struct rdma_ucm_migrate_id move;
	} all = {{RDMA_USER_CM_CMD_MIGRATE_ID, sizeof(move), 8}, move};
	assert_int_equal(cm_command(second, &all, sizeof(all), &a.reply, now), 0);
	assert_false(a.readable);
	assert_true(b.readable);
	assert_int_equal(COMMAND(&a, GET_EVENT, get), -EAGAIN);
	a.file = second;
	assert_int_equal(next_event(&a).event, ADDR_RESOLVED);
	cm_file_destroy(second, now);
	a.file = first;
}

static struct ib_user_path_rec way(struct host *host, uint32_t id)
{
	const struct rdma_ucm_query c = {.id = id, .response = 1};
	struct rdma_ucm_query_route_resp resp;

	assert_int_equal(COMMAND(host, QUERY_ROUTE, c), 0);
	memcpy(&resp, host->reply.bytes, sizeof(resp));
	return resp.ib_route[0];
}

static int set_option(struct host *host, uint32_t id, uint32_t name, uint8_t value)
{
	const struct rdma_ucm_set_option c = {
		.optval = (uintptr_t)&value, .id = id, .optname = name, .optlen = 1};

	return COMMAND(host, SET_OPTION, c);
}

/* IBTA 12.7.27 has five bits for the timeout. */
static void test_what_a_program_may_choose(void **state)
{
	enum { TOS = 0, ACK_TIMEOUT = 3 };
	uint32_t id = create(&a, TCP, RC, 1), server;

	(void)state;
	assert_int_equal(set_option(&a, id, ACK_TIMEOUT, 32), -EINVAL);
	assert_int_equal(set_option(&a, id, ACK_TIMEOUT, 31), 0);
	assert_int_equal(set_option(&a, create(&a, UDP, UD, 1), ACK_TIMEOUT, 5), -EINVAL);
	assert_int_equal(set_option(&a, id, 99, 5), -ENOSYS);
	(void)listener(TCP, RC, 1);
	id = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(set_option(&a, id, TOS, 0x68), 0);
	assert_int_equal(set_option(&a, id, ACK_TIMEOUT, 9), 0);
	assert_int_equal(way(&a, id).hop_limit, 64);
	assert_int_equal(way(&a, id).traffic_class, 0x68);
	assert_int_equal(way(&a, id).mtu, 3);
	assert_int_equal(connect_with(&a, id, 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	server = next_event(&b).id;
	assert_int_equal(accept_with(&b, server, 0xc, 0x1000202), 0);
	assert_int_equal(carry(&b, false), 0x13);
	assert_int_equal(qp_attr(&b, server, 3).timeout, 9);
	assert_int_equal(qp_attr(&a, id, 3).timeout, 9);
	assert_int_equal(qp_attr(&a, id, 2).dest_qp_num, 0x202); /* 24 bits */
}

/* A message that had a mark on its way is answered by one without, with the hops of a new one. */
static void test_the_way_back(void **state)
{
	struct wire_path path, back;

	(void)state;
	(void)listener(TCP, RC, 1);
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT + 5), 0), 0);
	assert_true(cm_output(a.cm, &path, carried));
	path.ecn = WIRE_CE;
	path.ttl = 3;
	path.ip_id = 77;
	cm_input(b.cm, &path, carried, sizeof(carried), now);
	assert_true(cm_output(b.cm, &back, carried));
	assert_int_equal(back.ecn, WIRE_NOT_ECT);
	assert_int_equal(back.ttl, 64);
	assert_int_equal(back.ip_id, 0);
	assert_memory_equal(back.src_ip, b.ip, 16);
}

/* As long as the message has room, not one more (IBTA 12.6.7, 12.11.1.3); and then it is over. */
static void test_a_refusal_with_words(void **state)
{
	struct rdma_ucm_reject r = {.private_data = "no"};

	(void)state;
	(void)listener(TCP, RC, 1);
	assert_int_equal(connect_with(&a, route_to(&a, TCP, RC, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x10);
	r.id = next_event(&b).id;
	assert_int_equal(accept_with(&b, r.id, 0xc, 0x202), 0); /* it thinks better of it */
	assert_int_equal(carry(&b, true), 0x13);
	r.private_data_len = 149;
	assert_int_equal(COMMAND(&b, REJECT, r), -EINVAL);
	r.private_data_len = 148;
	assert_int_equal(COMMAND(&b, REJECT, r), 0);
	assert_int_equal(carry(&b, false), 0x12);
	assert_int_equal(next_event(&a).event, REJECTED);
	pass(OVERDUE); /* what was said before is not said again */
	assert_int_equal(carry(&b, false), 0);
	assert_int_equal(COMMAND(&b, REJECT, r), -EINVAL);

	const uint32_t id = create(&b, UDP, UD, 0xb);
	assert_int_equal(bind_to(&b, id, PORT), 0);
	assert_int_equal(listen_at(&b, id, 1), 0);
	assert_int_equal(connect_with(&a, route_to(&a, UDP, UD, &b, PORT), 0), 0);
	assert_int_equal(carry(&a, false), 0x17);
	r.id = next_event(&b).id;
	r.private_data_len = 137;
	assert_int_equal(COMMAND(&b, REJECT, r), -EINVAL);
	r.private_data_len = 136;
	assert_int_equal(COMMAND(&b, REJECT, r), 0);
	assert_int_equal(carry(&b, false), 0x18);
	assert_int_equal(next_event(&a).event, UNREACHABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_request_byte_by_byte),
		TEST(test_a_connection),
		TEST(test_what_is_lost_is_said_again),
		TEST(test_nobody_answers),
		TEST(test_refusals),
		TEST(test_requests_go_with_who_listens),
		TEST(test_strangers),
		TEST(test_datagrams),
		TEST(test_ports),
		TEST(test_who_a_message_is_for),
		TEST(test_bad_commands),
		TEST(test_an_id_moves_with_its_events),
		TEST(test_what_a_program_may_choose),
		TEST(test_the_way_back),
		TEST(test_a_refusal_with_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
