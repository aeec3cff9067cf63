/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_NIC_TEST_H
#define TESTS_UNIT_NIC_TEST_H

/* What the tests of transport/nic share: a NIC with one queue pair, two of them joined, and plain
 * sockets that stand in for the other end. */
#include "tests/test.h"
#include "transport/nic/nic.h"

#include <stddef.h>

/* A test that closes what a failed one leaves open, so that one fault fails one test. */
#undef T
#define T(name) cmocka_unit_test_teardown(name, close_leftovers)
int close_leftovers(void **state);
/* For the tests' own sockets. */
int opened(int fd);
void closed(int fd);

/* Waits until every other thread of the process sleeps in the kernel. */
void other_threads_sleep(void);

enum { SIDE_MEMORY = 1 << 16 };

struct side {
	struct nic *nic;
	bool owns_nic, has_thread;
	struct hca_device *hca;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *mr;
	struct hca_qp *qp;
	uint32_t psn_in, psn_out;
	uint8_t timeout; /* code; set before joining */
	uint8_t ip[16];
	struct wire_path path; /* as resolved */
	uint8_t *memory;
};

/* What VERBENA_LOOP says: the tests run once on each. */
enum nic_loop_kind loop_of_test(void);

/* Host @k, 0..3, of this process, on 127.x.y.z. */
void host_ip(unsigned k, uint8_t ret_ip[16]);
void side_open(struct side *side, const struct nic_params *params);
void side_open_sized(struct side *side, const struct nic_params *params, uint32_t bytes);
void side_open_udp(struct side *side, unsigned k);
void side_open_udp_thread(struct side *side, unsigned k);
bool side_open_udp6(struct side *side); /* false: no IPv6 here */
/* A second queue pair on a NIC that somebody else closes, later. */
void side_open_on(struct side *side, struct nic *nic);
void side_close(struct side *side);

/* To RTS, each with the other, by the GIDs of that index. */
void side_join(struct side *a, struct side *b, uint32_t gid_index);
/* To RTS, with an address at which somebody plays queue pair 0x123456. */
void side_join_plain(struct side *a, const uint8_t ip[16]);

/* Posts @wr, signalled, with one SGE at @offset of the memory; and sends it. */
void side_send(struct side *side, const struct hca_send_wr *wr, uint32_t offset, uint32_t length);
void side_recv(struct side *side, uint64_t wr_id, uint32_t offset, uint32_t length);
/* Turns both until @side has a completion. */
struct hca_wc side_wait(struct side *side, struct side *other);

struct plain {
	int fd;
	uint8_t ip[16];
	uint16_t port;
};

/* @port 0: any but 4791. */
void plain_open(struct plain *plain, unsigned k, uint16_t port);
void plain_close(struct plain *plain);
void plain_tos(const struct plain *plain, int tos);
void plain_send(const struct plain *plain, const uint8_t ip[16], const uint8_t *buf,
		size_t length); /* to port 4791 */
/* Waits for a datagram; the last two may be NULL. */
size_t plain_recv(const struct plain *plain, uint8_t *buf, size_t length, uint16_t *ret_port,
		  uint8_t *ret_tos);

#endif
