/* SPDX-License-Identifier: BSD-2-Clause */
/* The device in other people's processes: threads, and a CHECK that fails. Each test has a process
 * of its own, since a process has one device. */
#include "tests/unit/nic_verbs.h"
#include "transport/nic/internal.h"
#include "util/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#undef T
#define T(name) cmocka_unit_test(name)

static uint32_t lines(const char *text)
{
	uint32_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void *do_nothing(void *arg)
{
	return arg;
}

/* A sanitizer has a thread of its own from the first thread on: what counts is how many more there
 * are. */
static uint32_t threads_before(void)
{
	pthread_t first;

	HOLDS(pthread_create(&first, NULL, do_nothing, NULL) == 0 &&
	      pthread_join(first, NULL) == 0);
	return thread_count();
}

static struct vrb_world *world_of_environment(void)
{
	struct vrb_world *world = NULL;

	HOLDS(vrb_provider()->list(&world, 1) == 1);
	return world;
}

static void threads(void)
{
	const uint32_t before = threads_before();
	struct ibv_device **list;
	struct ibv_context *context[2];
	struct ibv_cq *cq;

	nic_verbs_addresses(1);
	list = ibv_get_device_list(NULL);
	HOLDS(list && list[0]);
	HOLDS(thread_count() == before);
	for (int again = 0; again < 2; again++) {
		context[0] = ibv_open_device(list[0]);
		HOLDS(thread_count() == before + 1);
		context[1] = ibv_open_device(list[0]);
		HOLDS(thread_count() == before + 1);
		HOLDS(ibv_close_device(context[0]) == 0);
		HOLDS(thread_count() == before + 1);
		cq = ibv_create_cq(context[1], 1, NULL, NULL, 0);
		HOLDS(ibv_close_device(context[1]) == 0);
		HOLDS(thread_count() == before + 1); /* the context waits for its objects */
		HOLDS(ibv_destroy_cq(cq) == 0);
		HOLDS(thread_count() == before);
	}
}

static void a_thread_only_while_a_context_is_open(void **state)
{
	char said[1000];

	(void)state;
	assert_int_equal(in_process(threads, said, sizeof(said)), 0);
	assert_string_equal(said, "");
}

/* In use: the thread that comes after open() moves packets. */
static void use(void)
{
	for (int again = 0; again < 2; again++) {
		struct ibv_cq *cq;
		struct ibv_qp *qp;

		nic_verbs_open(NULL);
		cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
		qp = open_qp(cq);
		write_to_self(qp, 9);
		while (__atomic_load_n(t.memory + 2 * BYTES - 1, __ATOMIC_ACQUIRE) != 9)
			;
		expect_write(cq, 9);
		memset(t.memory, 0, sizeof(t.memory));
		HOLDS(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
		nic_verbs_close(NULL);
	}
}

static void a_device_opened_again_works(void **state)
{
	char said[1000];

	(void)state;
	assert_int_equal(in_process(use, said, sizeof(said)), 0);
}

static const bool planted_fault; /* is not */

/* A fault of ours in the middle of a call, with the lock held. */
static int broken_gid(struct vrb_world *world, uint32_t index, uint8_t ret_gid[16])
{
	(void)world, (void)index, (void)ret_gid;
	CHECK(planted_fault);
	return 0;
}

static struct ibv_comp_channel *channel;

static void *wait_for_completions(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	(void)arg;
	HOLDS(ibv_get_cq_event(channel, &cq, &context) == -1 && errno == EIO);
	return NULL;
}

static uint32_t descriptors(void)
{
	uint32_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void fail_in_call(void)
{
	const uint32_t before = threads_before();
	pthread_t waiter;
	struct vrb_world *world;
	struct vrb_world_ops broken;
	struct ibv_async_event event;
	struct ibv_wc wc[4];
	union ibv_gid gid;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint32_t open;

	nic_verbs_open(NULL);
	nic_verbs_close(NULL);
	open = descriptors();
	nic_verbs_open(NULL);
	channel = ibv_create_comp_channel(t.context);
	cq = ibv_create_cq(t.context, 8, NULL, channel, 0);
	qp = open_qp(cq);
	HOLDS(post_receive(qp, 71) == 0 && post_receive(qp, 72) == 0);
	world = world_of_environment();
	broken = *world->ops;
	broken.gid = broken_gid;
	world->ops = &broken;
	HOLDS(pthread_create(&waiter, NULL, wait_for_completions, NULL) == 0);
	other_threads_sleep();
	fcntl(t.context->async_fd, F_SETFL, O_NONBLOCK);
	for (int again = 0; again < 2; again++) {
		errno = 0;
		HOLDS(ibv_query_gid(t.context, 1, 0, &gid) == -1 && errno == EIO);
	}
	HOLDS(post_receive(qp, 73) == EIO && errno == EIO);
	HOLDS(!ibv_create_cq(t.context, 1, NULL, NULL, 0) && errno == EIO);
	HOLDS(ibv_poll_cq(cq, 4, wc) == 2);
	HOLDS(wc[0].wr_id == 71 && wc[0].status == IBV_WC_WR_FLUSH_ERR);
	HOLDS(wc[1].wr_id == 72 && wc[1].status == IBV_WC_WR_FLUSH_ERR);
	HOLDS(ibv_poll_cq(cq, 4, wc) == 0);
	HOLDS(ibv_get_async_event(t.context, &event) == 0);
	HOLDS(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	HOLDS(ibv_get_async_event(t.context, &event) == -1 && errno == EAGAIN);
	fcntl(t.context->async_fd, F_SETFL, 0);
	HOLDS(ibv_get_async_event(t.context, &event) == -1 && errno == EIO);
	HOLDS(pthread_join(waiter, NULL) == 0);
	HOLDS(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
	HOLDS(ibv_destroy_comp_channel(channel) == 0);
	HOLDS(ibv_dereg_mr(t.mr) == 0 && ibv_dealloc_pd(t.pd) == 0);
	HOLDS(ibv_close_device(t.context) == 0);
	HOLDS(thread_count() == before);
	HOLDS(descriptors() == open);
	HOLDS(!ibv_open_device(ibv_get_device_list(NULL)[0]) && errno == EIO);
}

static void a_failed_check_makes_the_device_dead(void **state)
{
	char said[1000];

	(void)state;
	assert_int_equal(in_process(fail_in_call, said, sizeof(said)), 0);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "planted_fault"));
	assert_non_null(strstr(said, "device verbena0 is dead"));
}

static void fail_and_abort(void)
{
	setenv("VERBENA_ABORT", "1", 1);
	fail_in_call();
}

static void verbena_abort_wants_the_core_dump(void **state)
{
	char said[1000];
	int status;

	(void)state;
	status = in_process(fail_and_abort, said, sizeof(said));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(said, "planted_fault"));
}

static uint32_t broken_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	(void)link, (void)slots, (void)count;
	CHECK(planted_fault);
	return 0;
}

static bool told;

static void tell(void *world)
{
	HOLDS(world == &told);
	__atomic_store_n(&told, true, __ATOMIC_RELEASE);
}

static void fail_in_thread(void)
{
	struct nic_params params = {
		.addr_count = 1, .progress_thread = true, .on_fatal = tell, .world = &told};
	const uint32_t before = threads_before();
	const uint64_t one = 1;
	struct nic_link_ops broken;
	struct nic *nic;

	host_ip(2, params.addr[0]);
	HOLDS(nic_open(&params, &nic) == 0);
	nic_lock(nic);
	broken = *nic->link->ops;
	broken.recv = broken_recv;
	nic->link->ops = &broken;
	nic_unlock(nic);
	HOLDS(write(nic->wake_fd, &one, sizeof(one)) == sizeof(one));
	while (!__atomic_load_n(&told, __ATOMIC_ACQUIRE))
		sched_yield();
	HOLDS(nic_is_dead(nic));
	HOLDS(nic_trylock(nic));
	nic_unlock(nic);
	HOLDS(nic_turn(nic, 0) == 0);
	nic_close(nic);
	HOLDS(thread_count() == before);
}

static void a_failed_check_of_the_thread_leaves_no_lock(void **state)
{
	char said[1000];

	(void)state;
	assert_int_equal(in_process(fail_in_thread, said, sizeof(said)), 0);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "planted_fault"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_only_while_a_context_is_open),
		T(a_device_opened_again_works),
		T(a_failed_check_makes_the_device_dead),
		T(verbena_abort_wants_the_core_dump),
		T(a_failed_check_of_the_thread_leaves_no_lock),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0) {
		printf("no sockets here\n");
		return 77;
	}
	close(fd);
	alarm(140);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
