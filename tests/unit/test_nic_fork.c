/* SPDX-License-Identifier: BSD-2-Clause */
/* The device in processes that fork. Each test has a process of its own, since a process has one
 * device. */
#include "tests/unit/nic_verbs.h"
#include "transport/nic/internal.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#undef T
#define T(name) cmocka_unit_test(name)

static struct ibv_comp_channel *channel;
static struct ibv_cq *polled;
static atomic_bool is_polled;

static void *poll_always(void *arg)
{
	struct ibv_wc wc;

	(void)arg;
	for (;; atomic_store(&is_polled, true))
		ibv_poll_cq(polled, 1, &wc);
	return NULL;
}

/* Device memory, and nothing else, is a copy of the parent's, and there is more of it. */
static void use_device_memory(struct ibv_dm *dm)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_device_attr_ex device;
	struct ibv_dm *more = ibv_alloc_dm(t.context, &attr);
	char bytes[8] = "";

	HOLDS(ibv_query_device_ex(t.context, NULL, &device) == 0 && device.max_dm_size > 0);
	HOLDS(ibv_memcpy_from_dm(bytes, dm, 8, 8) == 0 && memcmp(bytes, "parent's", 8) == 0);
	HOLDS(ibv_memcpy_to_dm(dm, 8, "a child's", 8) == 0);
	HOLDS(more && ibv_memcpy_to_dm(more, 56, "a child's", 8) == 0);
	HOLDS(ibv_memcpy_from_dm(bytes, more, 56, 8) == 0 && memcmp(bytes, "a child'", 8) == 0);
	HOLDS(!ibv_reg_dm_mr(t.pd, more, 0, 8, IBV_ACCESS_ZERO_BASED) && errno == EIO);
	HOLDS(ibv_free_dm(more) == 0 && ibv_free_dm(dm) == 0);
}

/* The child's own, on the same host. */
static void open_another(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	union ibv_gid gid;
	struct ibv_pd *pd;

	HOLDS(context != NULL);
	HOLDS(ibv_query_gid(context, 1, 1, &gid) == 0 && gid.raw[12] == 127);
	pd = ibv_alloc_pd(context);
	HOLDS(pd && ibv_dealloc_pd(pd) == 0);
	HOLDS(ibv_close_device(context) == 0);
	ibv_free_device_list(list);
}

static void be_child(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_dm *dm)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_wc wc;

	alarm(20);
	HOLDS(thread_count() == 1);
	HOLDS(post_receive(qp, 1) == EIO && errno == EIO);
	errno = 0;
	HOLDS(ibv_poll_cq(cq, 1, &wc) < 0 && errno == EIO);
	HOLDS(ibv_req_notify_cq(cq, 0) == EIO);
	HOLDS(ibv_query_port(t.context, 1, &port) == EIO);
	HOLDS(ibv_query_gid(t.context, 1, 0, &gid) == -1 && errno == EIO);
	HOLDS(!ibv_alloc_pd(t.context) && errno == EIO);
	HOLDS(!ibv_reg_mr(t.pd, t.memory, sizeof(t.memory), 0) && errno == EIO);
	HOLDS(!ibv_create_comp_channel(t.context) && errno == EIO);
	HOLDS(!ibv_create_cq(t.context, 1, NULL, NULL, 0) && errno == EIO);
	HOLDS(!ibv_open_device(t.context->device) && errno == EIO);
	use_device_memory(dm);
	HOLDS(ibv_get_async_event(t.context, &event) == -1 && errno == EIO);
	HOLDS(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
	HOLDS(ibv_dereg_mr(t.mr) == 0 && ibv_dealloc_pd(t.pd) == 0);
	HOLDS(ibv_close_device(t.context) == 0);
	open_another();
	_exit(0);
}

/* The device's thread sleeps, and so has begun: one that begins holds the allocator of
 * AddressSanitizer, whose copy in a child then stays locked. */
static void await_sleep(void)
{
	char path[64], state;
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	FILE *file;

	HOLDS(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", entry->d_name);
		do {
			file = fopen(path, "r");
			HOLDS(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
			fclose(file);
		} while (state != 'S' && sched_yield() == 0);
	}
	closedir(dir);
}

/* Many times, while other threads are at it: some fork() meets a lock that is held. */
static void fork_often(void)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	char bytes[8] = "";
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_dm *dm;
	pthread_t thread;

	nic_verbs_open(NULL);
	dm = ibv_alloc_dm(t.context, &attr);
	HOLDS(dm && ibv_memcpy_to_dm(dm, 8, "parent's", 8) == 0);
	polled = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	qp = open_qp(cq);
	await_sleep();
	HOLDS(pthread_create(&thread, NULL, poll_always, NULL) == 0);
	while (!atomic_load(&is_polled))
		sched_yield();
	write_to_self(qp, 0xff);
	expect_write(cq, 0xff);
	for (uint8_t i = 1; i <= 50; i++) {
		int status;
		pid_t child;

		write_to_self(qp, i);
		child = fork();
		HOLDS(child >= 0);
		if (child == 0)
			be_child(qp, cq, dm);
		expect_write(cq, i);
		HOLDS(waitpid(child, &status, 0) == child && status == 0);
		HOLDS(ibv_memcpy_from_dm(bytes, dm, 8, 8) == 0 &&
		      memcmp(bytes, "parent's", 8) == 0);
	}
}

static void a_fork_leaves_both_sane(void **state)
{
	(void)state;
	assert_all_holds(fork_often);
}

static void fork_often_and_abort(void)
{
	setenv("VERBENA_ABORT", "1", 1);
	fork_often();
}

/* Which chooses how a failed CHECK ends, and nothing else. */
static void a_fork_leaves_both_sane_with_verbena_abort(void **state)
{
	(void)state;
	assert_all_holds(fork_often_and_abort);
}

static void await_child(pid_t child)
{
	int status;

	HOLDS(child > 0);
	HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* The child has copies of the descriptors that the parent waits at, of @channel and of @cq's
 * event that nobody has read. */
static void ask_for_events(struct ibv_cq *cq, struct ibv_qp *qp)
{
	struct ibv_async_event event;
	struct ibv_cq *got;
	void *context;

	(void)cq, (void)qp;
	for (int again = 0; again < 2; again++) {
		HOLDS(ibv_get_cq_event(channel, &got, &context) == -1 && errno == EIO);
		HOLDS(ibv_get_async_event(t.context, &event) == -1 && errno == EIO);
	}
}

static void destroy_all(struct ibv_cq *cq, struct ibv_qp *qp)
{
	HOLDS(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
	HOLDS(ibv_destroy_comp_channel(channel) == 0);
	HOLDS(ibv_dereg_mr(t.mr) == 0 && ibv_dealloc_pd(t.pd) == 0);
	HOLDS(ibv_close_device(t.context) == 0);
}

static void fork_at_events(void)
{
	static void (*const children[])(struct ibv_cq *, struct ibv_qp *) = {ask_for_events,
									     destroy_all};
	struct ibv_cq *cq, *got;
	struct ibv_qp *qp;
	void *context;

	nic_verbs_open(NULL);
	channel = ibv_create_comp_channel(t.context);
	cq = ibv_create_cq(t.context, 8, NULL, channel, 0);
	qp = open_qp(cq);
	/* The second child finds one that the parent has got and not acknowledged, too. */
	for (uint8_t i = 0; i < 2; i++) {
		pid_t child;

		HOLDS(ibv_req_notify_cq(cq, 0) == 0);
		write_to_self(qp, i + 1);
		expect_write(cq, i + 1);
		HOLDS(readable(channel->fd));
		child = fork();
		if (child == 0) {
			alarm(20);
			children[i](cq, qp);
			_exit(0);
		}
		await_child(child);
		HOLDS(readable(channel->fd));
		HOLDS(ibv_get_cq_event(channel, &got, &context) == 0 && got == cq);
		HOLDS(!readable(channel->fd));
	}
	ibv_ack_cq_events(cq, 2);
	destroy_all(cq, qp);
}

static void a_child_takes_no_event_of_its_parent(void **state)
{
	(void)state;
	assert_all_holds(fork_at_events);
}

/* As main() of a child would: it is shown devices anew, in place of those that are its parent's. */
static void be_child_with_two(struct ibv_device **parents, struct ibv_context *open)
{
	struct ibv_context *own[2];
	struct ibv_device **list;
	int count;

	HOLDS(!ibv_alloc_pd(open) && errno == EIO);
	list = ibv_get_device_list(&count);
	HOLDS(list && count == 2);
	HOLDS(list[0] == parents[0] && list[1] != parents[1]);
	HOLDS(strcmp(ibv_get_device_name(list[0]), "verbena0") == 0);
	HOLDS(strcmp(ibv_get_device_name(list[1]), "verbena1") == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_pd *pd;

		own[i] = ibv_open_device(list[i]);
		HOLDS(own[i]);
		pd = ibv_alloc_pd(own[i]);
		HOLDS(pd && ibv_dealloc_pd(pd) == 0 && ibv_close_device(own[i]) == 0);
	}
	ibv_free_device_list(list);
}

/* Of two devices the second one is open. The child of a child that has asked for none has them,
 * too. */
static void fork_with_two(void)
{
	struct ibv_device **list;
	struct ibv_context *open;
	struct ibv_pd *pd;
	pid_t child;
	int count;

	nic_verbs_addresses(2);
	list = ibv_get_device_list(&count);
	HOLDS(list && count == 2);
	open = ibv_open_device(list[1]);
	HOLDS(open);
	other_threads_sleep();
	child = fork();
	if (child == 0) {
		alarm(20);
		child = fork();
		if (child == 0) {
			alarm(20);
			be_child_with_two(list, open);
			_exit(0);
		}
		await_child(child);
		be_child_with_two(list, open);
		_exit(0);
	}
	await_child(child);
	pd = ibv_alloc_pd(open);
	HOLDS(pd && ibv_dealloc_pd(pd) == 0 && ibv_close_device(open) == 0);
	ibv_free_device_list(list);
}

static void of_several_devices_a_child_is_left_those_not_open(void **state)
{
	(void)state;
	assert_all_holds(fork_with_two);
}

static const char *captured;

/* Blocks of pcapng: type, length, content, length again. */
static void count_blocks(uint32_t *ret_sections, uint32_t *ret_packets)
{
	enum { SECTION = 0x0a0d0d0a, ENHANCED_PACKET = 6 };
	FILE *file = fopen(captured, "rb");
	uint32_t head[2];

	HOLDS(file);
	*ret_sections = *ret_packets = 0;
	while (fread(head, sizeof(head), 1, file) == 1) {
		*ret_sections += head[0] == SECTION;
		*ret_packets += head[0] == ENHANCED_PACKET;
		HOLDS(head[1] >= sizeof(head));
		HOLDS(fseek(file, (long)(head[1] - sizeof(head)), SEEK_CUR) == 0);
	}
	fclose(file);
}

/* Nothing moves from the close on, so that the file is what it will be. */
static void fork_at_capture(void)
{
	uint32_t sections, packets, before;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	pid_t child;

	setenv("VERBENA_PCAP", captured, 1);
	nic_verbs_open(NULL);
	cq = ibv_create_cq(t.context, 8, NULL, NULL, 0);
	qp = open_qp(cq);
	write_to_self(qp, 1);
	expect_write(cq, 1);
	HOLDS(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
	nic_verbs_close(NULL);
	count_blocks(&sections, &before);
	HOLDS(sections == 1);
	HOLDS(before >= 4); /* a request and an answer, out and in */
	child = fork();
	if (child == 0) {
		fflush(NULL); /* as exit() does */
		_exit(0);
	}
	await_child(child);
	count_blocks(&sections, &packets);
	HOLDS(sections == 1 && packets == before);
}

static void a_capture_is_there_at_once_and_only_once(void **state)
{
	char name[] = "/tmp/verbena-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	captured = name;
	assert_all_holds(fork_at_capture);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_fork_leaves_both_sane),
		T(a_fork_leaves_both_sane_with_verbena_abort),
		T(a_child_takes_no_event_of_its_parent),
		T(of_several_devices_a_child_is_left_those_not_open),
		T(a_capture_is_there_at_once_and_only_once),
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
