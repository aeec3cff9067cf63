/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs front over a NIC: the device that the environment describes, a queue pair joined with
 * itself, and completion channels as descriptors. */
#include "tests/unit/nic_verbs.h"
#include "transport/nic/internal.h"
#include "transport/verbs/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

enum { GONE_BYTES = 3 * 4096 };

static bool readable(const struct ibv_comp_channel *channel)
{
	struct pollfd pfd = {.fd = channel->fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void polling_moves_packets(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	struct ibv_qp *qp = open_qp(cq);

	(void)state;
	for (uint8_t i = 1; i < 100; i++) {
		write_to_self(qp, i);
		expect_write(cq, i);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The program waits in its own code, for its memory: only the progress thread can move packets. */
static void memory_changes_while_nobody_polls(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	struct ibv_qp *qp = open_qp(cq);
	const uint8_t *last = t.memory + 2 * BYTES - 1;

	(void)state;
	write_to_self(qp, 201);
	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != 201)
		;
	expect_write(cq, 201);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void an_event_ends_a_blocking_wait(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(t.context);
	struct ibv_cq *cq = ibv_create_cq(t.context, 8, &t, channel, 0), *event_cq;
	struct ibv_qp *qp = open_qp(cq);
	void *event_context;

	(void)state;
	for (uint8_t i = 1; i < 20; i++) {
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		write_to_self(qp, i);
		assert_int_equal(ibv_get_cq_event(channel, &event_cq, &event_context), 0);
		assert_ptr_equal(event_cq, cq);
		assert_ptr_equal(event_context, &t);
		ibv_ack_cq_events(cq, 1);
		expect_write(cq, i);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void the_descriptor_is_readable_while_an_event_waits(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(t.context);
	struct ibv_cq *cq = ibv_create_cq(t.context, 8, NULL, channel, 0), *event_cq;
	struct ibv_qp *qp = open_qp(cq);
	struct pollfd pfd = {.fd = channel->fd, .events = POLLIN};
	void *event_context;

	(void)state;
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_false(readable(channel));
	assert_int_equal(ibv_get_cq_event(channel, &event_cq, &event_context), -1);
	assert_int_equal(errno, EAGAIN);

	write_to_self(qp, 1); /* not armed: no event */
	expect_write(cq, 1);
	assert_false(readable(channel));

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	write_to_self(qp, 2);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(ibv_get_cq_event(channel, &event_cq, &event_context), 0);
	assert_false(readable(channel));
	assert_int_equal(ibv_get_cq_event(channel, &event_cq, &event_context), -1);
	assert_int_equal(errno, EAGAIN);
	ibv_ack_cq_events(cq, 1);
	expect_write(cq, 2);

	/* An event that nobody read goes with its queue. */
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	write_to_self(qp, 3);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_false(readable(channel));
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static struct ibv_wc wait_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	return wc;
}

/* How @opcode between @here and @addr ends, on queue pairs of its own. */
static enum ibv_wc_status status_of(enum ibv_wr_opcode opcode, struct ibv_sge here,
				    const struct ibv_mr *there, const void *addr)
{
	struct ibv_cq *cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	struct ibv_qp *qp = create_qp(cq), *peer = create_qp(cq);
	struct ibv_send_wr wr = {.opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &here,
				 .num_sge = 1},
			   *bad;
	enum ibv_wc_status status;

	connect_to(qp, peer);
	connect_to(peer, qp);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)addr;
		wr.wr.atomic.rkey = there->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)addr;
		wr.wr.rdma.rkey = there->rkey;
	}
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	status = wait_one(cq).status;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(peer), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	return status;
}

static sigjmp_buf caught;

static void on_own_fault(int number)
{
	siglongjmp(caught, number);
}

static bool own_fault_is_heard(volatile uint8_t *page)
{
	if (sigsetjmp(caught, 1) != 0)
		return true;
	page[0] = 1;
	return false;
}

/* A peer asks for memory that the program has unmapped since: an error on the wire, and the program
 * goes on, whatever it does about signals; faults of its own it hears as before. */
static void unmapped_memory_is_an_error_of_the_request(void **state)
{
	const struct sigaction action = {.sa_handler = on_own_fault},
			       standard = {.sa_handler = SIG_DFL};
	uint8_t *gone =
		mmap(NULL, GONE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(t.pd, gone, GONE_BYTES, ALL_RIGHTS);
	struct ibv_sge here = {(uintptr_t)t.memory, 5000, t.mr->lkey},
		       word = {(uintptr_t)t.memory, 8, t.mr->lkey},
		       lost = {(uintptr_t)gone, 100, mr->lkey};
	sigset_t faults;

	(void)state;
	assert_non_null(mr);
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_SUCCESS);
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	assert_int_equal(munmap(gone, GONE_BYTES), 0);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(status_of(IBV_WR_ATOMIC_FETCH_AND_ADD, word, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(status_of(IBV_WR_RDMA_READ, here, mr, gone), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(status_of(IBV_WR_SEND, lost, mr, gone), IBV_WC_LOC_PROT_ERR);
	assert_true(signal(SIGSEGV, on_own_fault) != SIG_ERR);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &faults, NULL), 0);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &faults, NULL), 0);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(sigprocmask(SIG_BLOCK, &faults, NULL), 0);
	assert_int_equal(status_of(IBV_WR_RDMA_WRITE, here, mr, gone), IBV_WC_REM_OP_ERR);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &faults, NULL), 0);
	assert_true(own_fault_is_heard(gone));
	assert_int_equal(sigaction(SIGSEGV, &standard, NULL), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void gids_are_those_of_the_nic(void **state)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(ibv_query_gid_ex(t.context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.ndev_ifindex, if_nametoindex("lo"));
	assert_true(entry.ndev_ifindex > 0);
	assert_int_equal(ibv_query_gid(t.context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0] << 8 | gid.raw[1], 0xfe80);
	assert_int_equal(ibv_query_gid(t.context, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[12], 127);
}

/* On a link of IPv4 the link-local form of an IPv4 address is one, and no other of IPv6 is. */
static void addresses_of_another_family_are_refused(void **state)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1, .hop_limit = 64}};
	static const uint8_t others[][16] = {
		{0xfd, [15] = 1},
		{0xfe, 0x80, [15] = 1},
		{0xfe, 0x80, [8] = 2, 0, 127, 0xff, 0xfe, 0, 0, 1}, /* that bit is turned */
		{0xfe, 0x80, [10] = 127, 0xff, 0xff, 0, 0, 1},
	};
	struct ibv_ah *ah;

	(void)state;
	assert_int_equal(ibv_query_gid(t.context, 1, 0, &attr.grh.dgid), 0);
	ah = ibv_create_ah(t.pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		memcpy(attr.grh.dgid.raw, others[i], 16);
		errno = 0;
		assert_null(ibv_create_ah(t.pd, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec at;

	assert_int_equal(clock_gettime(clock, &at), 0);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

/* A stamp is of the machine's own clock, and by the time of day as far from it as the clocks are
 * from one another; also when the adapter is no longer new. The two are read one after the other,
 * and somebody else may have the core in between. */
static void stamps_are_of_the_clocks_of_the_machine(void **state)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 8,
					   .wc_flags =
						   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
						   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(t.context, &init);
	struct ibv_qp *qp = open_qp(ibv_cq_ex_to_cq(cq));
	const int64_t began = ns_of(CLOCK_MONOTONIC), old_ns = 200000000, slack_ns = 50000000;
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	int64_t before, stamp, apart;

	(void)state;
	do {
		struct ibv_poll_cq_attr none = {0};

		before = ns_of(CLOCK_MONOTONIC);
		write_to_self(qp, 1);
		while (ibv_start_poll(cq, &none) == ENOENT)
			;
		stamp = (int64_t)ibv_wc_read_completion_ts(cq);
		assert_in_range(stamp, before, ns_of(CLOCK_MONOTONIC));
		apart = (int64_t)ibv_wc_read_completion_wallclock_ns(cq) - stamp;
		ibv_end_poll(cq);
	} while (before - began < old_ns);
	apart -= ns_of(CLOCK_REALTIME) - ns_of(CLOCK_MONOTONIC);
	assert_true(apart > -slack_ns && apart < slack_ns);
	before = ns_of(CLOCK_MONOTONIC);
	assert_int_equal(ibv_query_rt_values_ex(t.context, &values), 0);
	stamp = values.raw_clock.tv_sec * 1000000000ll + values.raw_clock.tv_nsec;
	assert_in_range(stamp, before, ns_of(CLOCK_MONOTONIC));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* The adapter's time may be ahead of the clock, and what is made then is stamped all the same with
 * what the program can have seen. The last of the tests: its device stays ahead. */
static void stamps_are_never_ahead_of_the_clock(void **state)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 8,
					   .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(t.context, &init);
	struct ibv_qp *qp = open_qp(ibv_cq_ex_to_cq(cq));
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct nic *nic = nic_world_nic(vrb_device(t.context)->world);
	struct ibv_poll_cq_attr none = {0};

	(void)state;
	nic_lock(nic);
	atomic_store(&nic->ahead_at, nic_clock(nic) + 60 * PS_S);
	nic_unlock(nic);
	write_to_self(qp, 1);
	while (ibv_start_poll(cq, &none) == ENOENT)
		;
	assert_in_range(ibv_wc_read_completion_ts(cq), 0, ns_of(CLOCK_MONOTONIC));
	ibv_end_poll(cq);
	assert_int_equal(ibv_query_rt_values_ex(t.context, &values), 0);
	assert_in_range(values.raw_clock.tv_sec * 1000000000ll + values.raw_clock.tv_nsec, 0,
			ns_of(CLOCK_MONOTONIC));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(polling_moves_packets),
		T(memory_changes_while_nobody_polls),
		T(an_event_ends_a_blocking_wait),
		T(the_descriptor_is_readable_while_an_event_waits),
		T(unmapped_memory_is_an_error_of_the_request),
		T(gids_are_those_of_the_nic),
		T(addresses_of_another_family_are_refused),
		T(stamps_are_of_the_clocks_of_the_machine),
		T(stamps_are_never_ahead_of_the_clock),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0) {
		printf("no sockets here\n");
		return 77;
	}
	close(fd);
	alarm(120);
	return cmocka_run_group_tests(tests, nic_verbs_open, nic_verbs_close);
}
