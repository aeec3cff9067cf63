/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/nic_test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { OPEN_MAX_COUNT = 8 };

static struct nic *open_nics[OPEN_MAX_COUNT];
static int open_fds[OPEN_MAX_COUNT]; /* plus one; 0: none */

static void remember_nic(struct nic *nic)
{
	int i = 0;

	while (open_nics[i])
		assert_true(++i < OPEN_MAX_COUNT);
	open_nics[i] = nic;
}

static void forget_nic(const struct nic *nic)
{
	for (int i = 0; i < OPEN_MAX_COUNT; i++)
		if (open_nics[i] == nic)
			open_nics[i] = NULL;
}

int opened(int fd)
{
	int i = 0;

	assert_true(fd >= 0);
	while (open_fds[i])
		assert_true(++i < OPEN_MAX_COUNT);
	open_fds[i] = fd + 1;
	return fd;
}

void closed(int fd)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
	    address.sun_family == AF_UNIX && address.sun_path[0] != '\0')
		unlink(address.sun_path);
	close(fd);
	for (int i = 0; i < OPEN_MAX_COUNT; i++)
		if (open_fds[i] == fd + 1)
			open_fds[i] = 0;
}

int close_leftovers(void **state)
{
	(void)state;
	for (int i = 0; i < OPEN_MAX_COUNT; i++) {
		nic_close(open_nics[i]);
		open_nics[i] = NULL;
		if (open_fds[i])
			closed(open_fds[i] - 1);
	}
	return 0;
}

static bool task_sleeps(const char *task)
{
	char path[300], stat[512], *name_end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return true; /* gone */
	got = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (got <= 0)
		return true;
	stat[got] = '\0';
	name_end = strrchr(stat, ')');
	assert_non_null(name_end);
	return name_end[2] == 'S';
}

void other_threads_sleep(void)
{
	bool all = false;

	while (!all) {
		DIR *tasks = opendir("/proc/self/task");
		struct dirent *task;

		assert_non_null(tasks);
		all = true;
		while ((task = readdir(tasks)))
			if (task->d_name[0] != '.' && atoi(task->d_name) != getpid())
				all = all && task_sleeps(task->d_name);
		closedir(tasks);
	}
}

void host_ip(unsigned k, uint8_t ret_ip[16])
{
	const unsigned pid = (unsigned)getpid();
	const uint8_t ip[16] = {[10] = 0xff,
				[11] = 0xff,
				[12] = 127,
				[13] = (uint8_t)(128 | pid >> 14),
				[14] = (uint8_t)(pid >> 6),
				[15] = (uint8_t)(pid << 2 | k)};

	memcpy(ret_ip, ip, 16);
}

static void open_objects(struct side *side, struct nic *nic, uint32_t bytes)
{
	struct hca_mr_params mr = {.ops = &hca_mem_host, .length = bytes, .access = 15};

	*side = (struct side){.nic = nic, .hca = nic_device(nic), .timeout = 10};
	assert_int_equal(nic_gid(nic, 1, side->ip), 0);
	side->memory = aligned_alloc(64, bytes);
	memset(side->memory, 0, bytes);
	mr.address = (uintptr_t)side->memory;
	mr.iova = (uintptr_t)side->memory;
	nic_lock(nic);
	assert_int_equal(hca_pd_create(side->hca, &side->pd), 0);
	assert_int_equal(hca_cq_create(side->hca, 64, side, &side->cq), 0);
	assert_int_equal(hca_mr_create(side->hca, side->pd, &mr, &side->mr), 0);
	assert_int_equal(hca_qp_create(side->hca,
				       &(struct hca_qp_init){.type = HCA_QPT_RC,
							     .pd = side->pd,
							     .send_cq = side->cq,
							     .recv_cq = side->cq,
							     .cap = {16, 16, 1, 1, 0},
							     .owner = side},
				       &side->qp),
			 0);
	nic_unlock(nic);
}

void side_open_on(struct side *side, struct nic *nic)
{
	open_objects(side, nic, SIDE_MEMORY);
}

void side_open(struct side *side, const struct nic_params *params)
{
	side_open_sized(side, params, SIDE_MEMORY);
}

void side_open_sized(struct side *side, const struct nic_params *params, uint32_t bytes)
{
	struct nic *nic;

	assert_int_equal(nic_open(params, &nic), 0);
	remember_nic(nic);
	open_objects(side, nic, bytes);
	side->owns_nic = true;
	side->has_thread = params->progress_thread;
}

enum nic_loop_kind loop_of_test(void)
{
	static const char *const names[] = {"auto", "io_uring", "epoll"};
	const char *word = getenv("VERBENA_LOOP");

	for (int i = 1; word && i < 3; i++)
		if (strcmp(word, names[i]) == 0)
			return (enum nic_loop_kind)i;
	return NIC_LOOP_AUTO;
}

/* Before anything is tested: skipped where there is no such loop. */
__attribute__((constructor)) static void needs_loop(void)
{
	if (nic_loop_check(loop_of_test()) == 0)
		return;
	puts("no io_uring here");
	fflush(stdout);
	_exit(77);
}

void side_open_udp(struct side *side, unsigned k)
{
	struct nic_params params = {.addr_count = 1, .loop = loop_of_test()};

	host_ip(k, params.addr[0]);
	side_open(side, &params);
}

void side_open_udp_thread(struct side *side, unsigned k)
{
	struct nic_params params = {
		.addr_count = 1, .progress_thread = true, .loop = loop_of_test()};

	host_ip(k, params.addr[0]);
	side_open(side, &params);
}

bool side_open_udp6(struct side *side)
{
	struct nic_params params = {.addr = {{[15] = 1}}, .addr_count = 1, .loop = loop_of_test()};
	struct nic *nic;
	int ret;

	/* Another test may have the only address for a moment. */
	while ((ret = nic_open(&params, &nic)) == -EADDRINUSE)
		sched_yield();
	if (ret == -EADDRNOTAVAIL || ret == -EAFNOSUPPORT)
		return false;
	assert_int_equal(ret, 0);
	remember_nic(nic);
	side_open_on(side, nic);
	side->owns_nic = true;
	return true;
}

void side_close(struct side *side)
{
	nic_lock(side->nic);
	hca_qp_destroy(side->hca, side->qp);
	assert_int_equal(hca_mr_destroy(side->hca, side->mr), 0);
	assert_int_equal(hca_cq_destroy(side->hca, side->cq), 0);
	assert_int_equal(hca_pd_destroy(side->hca, side->pd), 0);
	nic_unlock(side->nic);
	if (side->owns_nic) {
		forget_nic(side->nic);
		nic_close(side->nic);
	}
	free(side->memory);
}

static void to_rts(struct side *side, const uint8_t dst_ip[16], uint32_t gid_index, uint32_t qpn,
		   uint32_t psn_in, uint32_t psn_out)
{
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT, .access = 15, .port = 1};
	struct wire_path path = {.dscp = 26, .ttl = 64, .priority = 3};

	memcpy(path.dst_ip, dst_ip, 16);
	side->psn_in = psn_in;
	side->psn_out = psn_out;
	nic_lock(side->nic);
	assert_int_equal(nic_resolve(side->nic, &path, gid_index, hca_qp_qpn(side->qp), qpn), 0);
	side->path = path;
	assert_int_equal(
		hca_qp_modify(side->hca, side->qp, &attr,
			      HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
			      nic_now(side->nic)),
		0);
	attr = (struct hca_qp_attr){.state = HCA_QPS_RTR,
				    .mtu = 1024,
				    .dest_qpn = qpn,
				    .rq_psn = psn_in,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .path = path};
	assert_int_equal(hca_qp_modify(side->hca, side->qp, &attr,
				       HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU |
					       HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
					       HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
				       nic_now(side->nic)),
			 0);
	/* 10: 2T = 8.4 ms; a slow machine may repeat a packet, and that is right too. */
	attr = (struct hca_qp_attr){.state = HCA_QPS_RTS,
				    .timeout = side->timeout,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .sq_psn = psn_out,
				    .max_rd_atomic = 4};
	assert_int_equal(hca_qp_modify(side->hca, side->qp, &attr,
				       HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT |
					       HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN |
					       HCA_QP_MAX_QP_RD_ATOMIC,
				       nic_now(side->nic)),
			 0);
	nic_unlock(side->nic);
}

void side_join(struct side *a, struct side *b, uint32_t gid_index)
{
	uint8_t a_ip[16], b_ip[16];

	assert_int_equal(nic_gid(a->nic, gid_index, a_ip), 0);
	assert_int_equal(nic_gid(b->nic, gid_index, b_ip), 0);
	to_rts(b, a_ip, gid_index, hca_qp_qpn(a->qp), 0xfffffe, 100);
	to_rts(a, b_ip, gid_index, hca_qp_qpn(b->qp), 100, 0xfffffe);
}

void side_join_plain(struct side *a, const uint8_t ip[16])
{
	to_rts(a, ip, 1, 0x123456, 7, 8);
}

void side_send(struct side *side, const struct hca_send_wr *wr, uint32_t offset, uint32_t length)
{
	const struct hca_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
	struct hca_send_wr one = *wr;

	one.flags |= HCA_SEND_SIGNALED;
	one.sge = &sge;
	one.sge_count = 1;
	nic_lock(side->nic);
	assert_int_equal(hca_qp_post_send(side->hca, side->qp, &one, nic_now(side->nic)), 0);
	nic_flush(side->nic);
	nic_unlock(side->nic);
}

void side_recv(struct side *side, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	const struct hca_sge sge = {(uintptr_t)side->memory + offset, length, side->mr->lkey};
	const struct hca_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_count = 1};

	nic_lock(side->nic);
	assert_int_equal(hca_qp_post_recv(side->hca, side->qp, &wr, nic_now(side->nic)), 0);
	nic_unlock(side->nic);
}

struct hca_wc side_wait(struct side *side, struct side *other)
{
	struct hca_wc wc;

	for (;;) {
		uint32_t count;

		nic_lock(side->nic);
		count = hca_cq_poll(side->cq, 1, &wc);
		nic_unlock(side->nic);
		if (count == 1)
			return wc;
		if (nic_turn(side->nic, 0) + nic_turn(other->nic, 0) == 0)
			nic_turn(side->nic, 100000);
	}
}

static void to_address(const uint8_t ip[16], uint16_t port, struct sockaddr_in *ret_address)
{
	*ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	memcpy(&ret_address->sin_addr, ip + 12, 4);
}

void plain_open(struct plain *plain, unsigned k, uint16_t port)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	const int one = 1;

	host_ip(k, plain->ip);
	to_address(plain->ip, port, &address);
	plain->fd = opened(socket(AF_INET, SOCK_DGRAM, 0));
	assert_int_equal(setsockopt(plain->fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)), 0);
	assert_int_equal(bind(plain->fd, (const struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(plain->fd, (struct sockaddr *)&address, &length), 0);
	plain->port = ntohs(address.sin_port);
}

void plain_close(struct plain *plain)
{
	closed(plain->fd);
}

void plain_tos(const struct plain *plain, int tos)
{
	assert_int_equal(setsockopt(plain->fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
}

void plain_send(const struct plain *plain, const uint8_t ip[16], const uint8_t *buf, size_t length)
{
	struct sockaddr_in address;

	to_address(ip, 4791, &address);
	assert_int_equal(sendto(plain->fd, buf, length, 0, (const struct sockaddr *)&address,
				sizeof(address)),
			 length);
}

size_t plain_recv(const struct plain *plain, uint8_t *buf, size_t length, uint16_t *ret_port,
		  uint8_t *ret_tos)
{
	struct sockaddr_in address;
	struct iovec iov = {buf, length};
	_Alignas(struct cmsghdr) uint8_t control[64];
	struct msghdr message = {.msg_name = &address,
				 .msg_namelen = sizeof(address),
				 .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(plain->fd, &message, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	assert_true(got >= 0);
	assert_non_null(c);
	if (ret_port)
		*ret_port = ntohs(address.sin_port);
	if (ret_tos)
		*ret_tos = *(const uint8_t *)CMSG_DATA(c);
	return (size_t)got;
}
