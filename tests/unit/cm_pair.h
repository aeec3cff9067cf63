/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CM_PAIR_H
#define TESTS_UNIT_CM_PAIR_H

/* Two hosts with communication management, and a wire between them that the test is. */
#include "tests/unit/cm_test.h"

#include <errno.h>

static struct host a, b;
static uint8_t carried[CM_MAD_BYTES]; /* last */

static inline int take_port(void *owner, uint16_t space, uint16_t port)
{
	(void)space, (void)port;
	return ((struct host *)owner)->port_is_taken ? -EADDRINUSE : 0;
}

static inline void give_port(void *owner, uint16_t space, uint16_t port)
{
	(void)owner, (void)space, (void)port;
}

static inline int resolve_path(void *owner, struct wire_path *path)
{
	memcpy(path->src_ip, ((struct host *)owner)->ip, 16);
	return 0;
}

static inline void readable(void *owner, bool is_readable)
{
	((struct host *)owner)->readable = is_readable;
}

static inline struct cm_file *file_of(void *owner, int fd)
{
	return fd == 3 ? ((struct host *)owner)->file : NULL;
}

static inline int read_program(void *owner, uint64_t address, uint8_t *ret_bytes, uint32_t count)
{
	(void)owner;
	memcpy(ret_bytes, (const void *)(uintptr_t)address, count);
	return 0;
}

static inline bool is_gone(void *owner, const uint8_t ip[16])
{
	const struct host *host = owner, *peer = host == &a ? &b : &a;

	assert_memory_equal(ip, peer->ip, sizeof(peer->ip));
	return host->peers_are_gone;
}

static const struct cm_ops ops = {take_port, give_port,	   resolve_path, readable,
				  file_of,   read_program, is_gone};

static inline void set_up_host(struct host *host, uint8_t last)
{
	struct cm_params params = {.ops = &ops,
				   .owner = host,
				   .ip = {[10] = 0xff, 0xff, 10, 0, 0, last},
				   .guid = 0x1234 + last,
				   .gid_index = 1,
				   .mtu = 3,
				   .seed = last};

	memset(host, 0, sizeof(*host));
	memcpy(host->ip, params.ip, 16);
	host->cm = cm_create(&params);
	assert_non_null(host->cm);
	cm_set_slot(host->cm, last);
	host->file = cm_file_create(host->cm, host);
	assert_non_null(host->file);
}

static inline int set_up(void **state)
{
	(void)state;
	now = PS_S;
	set_up_host(&a, 1);
	set_up_host(&b, 2);
	return 0;
}

/* Everything that was made goes with the files: cm_destroy() looks. */
static inline int tear_down(void **state)
{
	(void)state;
	cm_file_destroy(a.file, now);
	cm_file_destroy(b.file, now);
	cm_destroy(a.cm);
	cm_destroy(b.cm);
	return 0;
}

static inline int accept_with(struct host *host, uint32_t id, uint64_t uid, uint32_t qpn)
{
	const struct rdma_ucm_accept c = {.id = id,
					  .uid = uid,
					  .conn_param = {.qp_num = qpn,
							 .qkey = 0x77,
							 .responder_resources = 2,
							 .initiator_depth = 1,
							 .private_data = "yes",
							 .private_data_len = 3,
							 .valid = uid != 0}};

	return COMMAND(host, ACCEPT, c);
}

static inline int with_id(struct host *host, uint32_t number, uint32_t id)
{
	const struct rdma_ucm_destroy_id c = {.id = id, .response = 1};
	const struct rdma_ucm_disconnect d = {.id = id};

	if (number == RDMA_USER_CM_CMD_DISCONNECT)
		return command(host, number, &d, sizeof(d), 0);
	return command(host, number, &c, sizeof(c), 512);
}

static inline struct ib_uverbs_qp_attr qp_attr(struct host *host, uint32_t id, uint32_t qp_state)
{
	const struct rdma_ucm_init_qp_attr c = {.id = id, .response = 1, .qp_state = qp_state};
	struct ib_uverbs_qp_attr attr;

	assert_int_equal(COMMAND(host, INIT_QP_ATTR, c), 0);
	memcpy(&attr, host->reply.bytes, sizeof(attr));
	return attr;
}

/* ---- the wire ---- */

/* The next message of @from; 0: none. It goes to the other one, unless it is @lost. */
static inline uint16_t carry(struct host *from, bool lost)
{
	struct host *to = from == &a ? &b : &a;
	struct wire_path path;

	if (!cm_output(from->cm, &path, carried))
		return 0;
	assert_memory_equal(path.dst_ip, to->ip, 16);
	if (!lost)
		cm_input(to->cm, &path, carried, sizeof(carried), now);
	return (uint16_t)(carried[16] << 8 | carried[17]);
}

static inline void pass(ps_t after)
{
	now += after;
	cm_advance(a.cm, now);
	cm_advance(b.cm, now);
	assert_true(cm_next_at(a.cm) > now && cm_next_at(b.cm) > now);
}

static inline uint32_t listener(uint16_t space, uint8_t qp_type, uint32_t backlog)
{
	const uint32_t id = create(&b, space, qp_type, 0xb);

	assert_int_equal(bind_to(&b, id, PORT), 0);
	assert_int_equal(listen_at(&b, id, backlog), 0);
	return id;
}

/* Up to the server's half of an accepted connection. */
static inline void connected(uint32_t *ret_client, uint32_t *ret_server)
{
	(void)listener(TCP, RC, 1);
	*ret_client = route_to(&a, TCP, RC, &b, PORT);
	assert_int_equal(connect_with(&a, *ret_client, 4), 0);
	assert_int_equal(carry(&a, false), 0x10);
	*ret_server = next_event(&b).id;
	assert_int_equal(accept_with(&b, *ret_server, 0xc, 0x202), 0);
	assert_int_equal(carry(&b, false), 0x13);
	/* What a message has for a PSN is where its receiver begins. */
	assert_int_equal(qp_attr(&b, *ret_server, 2).rq_psn,
			 carried[24 + 20] << 16 | carried[24 + 21] << 8 | carried[24 + 22]);
	assert_int_equal(next_event(&a).event, CONNECT_RESPONSE);
	assert_int_equal(accept_with(&a, *ret_client, 0, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
