/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CM_TEST_H
#define TESTS_UNIT_CM_TEST_H

/* What the tests of communication management share: the commands of a program on one host. */
#include "tests/test.h"
#include "transport/cm/cm.h"

#include <arpa/inet.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/socket.h>

enum { TCP = 0x0106, UDP = 0x0111, RC = 2, UD = 4, PORT = 7174 };
enum { ADDR_RESOLVED = 0, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4, CONNECT_RESPONSE = 5 };
enum { UNREACHABLE = 7 };
enum { REJECTED = 8, ESTABLISHED = 9, DISCONNECTED = 10, TIMEWAIT_EXIT = 15 };
/* IBTA 12.7.27 with 20: 4.096 us * 2^20. */
#define OVERDUE (ps_t)4294967296000

struct host {
	uint8_t ip[16];
	struct cm *cm;
	struct cm_file *file;
	bool readable, port_is_taken, peers_are_gone;
	struct cm_reply reply;
};

static ps_t now;

static inline int command(struct host *host, uint32_t number, const void *body, uint16_t bytes,
			  uint16_t out)
{
	uint8_t all[1024];
	const struct rdma_ucm_cmd_hdr header = {.cmd = number, .in = bytes, .out = out};

	memcpy(all, &header, sizeof(header));
	memcpy(all + sizeof(header), body, bytes);
	return cm_command(host->file, all, sizeof(header) + bytes, &host->reply, now);
}
#define COMMAND(host, name, body) command(host, RDMA_USER_CM_CMD_##name, &(body), sizeof(body), 512)

static inline uint32_t create(struct host *host, uint16_t space, uint8_t qp_type, uint64_t uid)
{
	const struct rdma_ucm_create_id c = {
		.uid = uid, .response = 1, .ps = space, .qp_type = qp_type};
	uint32_t id;

	assert_int_equal(COMMAND(host, CREATE_ID, c), 0);
	memcpy(&id, host->reply.bytes, sizeof(id));
	return id;
}

static inline struct sockaddr_in6 address(const struct host *host, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 room = {0};

	if (host)
		memcpy(&v4.sin_addr, host->ip + 12, 4);
	memcpy(&room, &v4, sizeof(v4));
	return room;
}

static inline int bind_to(struct host *host, uint32_t id, uint16_t port)
{
	const struct rdma_ucm_bind_ip c = {.id = id, .addr = address(host, port)};

	return COMMAND(host, BIND_IP, c);
}

static inline int listen_at(struct host *host, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen c = {.id = id, .backlog = backlog};

	return COMMAND(host, LISTEN, c);
}

static inline struct rdma_ucm_event_resp next_event(struct host *host)
{
	const struct rdma_ucm_get_event c = {.response = 1};
	struct rdma_ucm_event_resp resp = {.event = UINT32_MAX};

	if (COMMAND(host, GET_EVENT, c) == 0)
		memcpy(&resp, host->reply.bytes, sizeof(resp));
	return resp;
}

static inline uint32_t route_to(struct host *host, uint16_t space, uint8_t qp_type,
				const struct host *to, uint16_t port)
{
	const uint32_t id = create(host, space, qp_type, 0xa);
	const struct rdma_ucm_resolve_ip ip = {.id = id, .dst_addr = address(to, port)};
	const struct rdma_ucm_resolve_route route = {.id = id};

	assert_int_equal(COMMAND(host, RESOLVE_IP, ip), 0);
	assert_int_equal(next_event(host).event, ADDR_RESOLVED);
	assert_int_equal(COMMAND(host, RESOLVE_ROUTE, route), 0);
	assert_int_equal(next_event(host).event, ROUTE_RESOLVED);
	return id;
}

static inline int connect_with(struct host *host, uint32_t id, uint8_t private_bytes)
{
	struct rdma_ucm_connect c = {.id = id,
				     .conn_param = {.qp_num = 0x101,
						    .responder_resources = 3,
						    .initiator_depth = 5,
						    .retry_count = 6,
						    .rnr_retry_count = 7,
						    .private_data_len = private_bytes,
						    .valid = 1}};

	memset(c.conn_param.private_data, 0x5a, private_bytes);
	return COMMAND(host, CONNECT, c);
}

#endif
