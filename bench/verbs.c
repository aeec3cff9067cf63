/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_verbs WORK BYTES QPS MILLISECONDS CORES CORES: what a program of libibverbs gets between
 * two processes, as one number (bench/pair.h).
 *	write		GB/s of RDMA WRITEs of so many bytes to one place, over all queue pairs in
 *turn send_lat	us one way of a SEND that is polled for, the median write_lat	us one way of an
 *RDMA WRITE, where both spin on memory rate		million SENDs a second, posted 64 at a time,
 *of which the last is signalled idle		ms of the processor in 10 s, of the busier process,
 *while nobody does anything
 */
#include "bench/pair.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	GID_INDEX = 1,	 /* the address */
	WINDOW = 16,	 /* WRITEs under way, or one for each queue pair */
	BATCH = 64,	 /* SENDs of which one is signalled */
	SQ_DEPTH = 1024, /* where SENDs are posted in batches */
	RQ_DEPTH = 4096,
	CREDITS = 1024, /* messages after which the receiver says how many it has taken */
	WORDS = 4096,	/* bytes in front of those that are sent */
};

/* In front of the memory of either. */
struct words {
	_Alignas(64) _Atomic uint64_t came; /* from the other */
	_Alignas(64) uint64_t goes;
};

struct place {
	union ibv_gid gid;
	uint64_t at;
	uint32_t rkey;
};

static struct {
	struct pair pair;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp **qps;
	struct place mine, theirs;
	struct words *words;
	uint8_t *bytes;
	enum ibv_mtu mtu;
} s;

static void need_zero(int error, const char *what)
{
	errno = error;
	pair_need(error == 0, what);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;

	pair_need(list && list[0], "device list");
	s.context = ibv_open_device(list[0]);
	pair_need(s.context != NULL, "device");
	ibv_free_device_list(list);
	need_zero(ibv_query_port(s.context, 1, &port), "port");
	s.mtu = port.active_mtu;
	pair_need(ibv_query_gid(s.context, 1, GID_INDEX, &s.mine.gid) == 0, "GID");
}

static void make_objects(uint32_t depth)
{
	const size_t size = WORDS + s.pair.bytes;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = depth,
						.max_recv_wr = RQ_DEPTH,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = sizeof(uint64_t)}};

	if (s.pair.qps > 1)
		init.cap.max_recv_wr = 1;
	s.words = pair_memory(size);
	s.bytes = (uint8_t *)s.words + WORDS;
	s.pd = ibv_alloc_pd(s.context);
	pair_need(s.pd != NULL, "protection domain");
	s.mr = ibv_reg_mr(s.pd, s.words, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s.send_cq = ibv_create_cq(s.context, (int)(s.pair.qps * depth), NULL, NULL, 0);
	s.recv_cq = ibv_create_cq(s.context, RQ_DEPTH, NULL, NULL, 0);
	s.qps = calloc(s.pair.qps, sizeof(struct ibv_qp *));
	pair_need(s.mr && s.send_cq && s.recv_cq && s.qps, "objects");
	init.send_cq = s.send_cq;
	init.recv_cq = s.recv_cq;
	for (uint32_t i = 0; i < s.pair.qps; i++) {
		s.qps[i] = ibv_create_qp(s.pd, &init);
		pair_need(s.qps[i] != NULL, "queue pair");
	}
	s.mine.at = (uintptr_t)s.words;
	s.mine.rkey = s.mr->rkey;
}

static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	need_zero(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		"INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = s.mtu,
		.dest_qp_num = qpn,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = s.theirs.gid, .sgid_index = GID_INDEX, .hop_limit = 64}}};
	need_zero(ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER),
		  "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	need_zero(ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		  "RTS");
}

static void connect_all(void)
{
	pair_swap(&s.pair, &s.mine, &s.theirs, sizeof(s.mine));
	for (uint32_t i = 0; i < s.pair.qps; i++) {
		uint32_t qpn;

		pair_swap(&s.pair, &s.qps[i]->qp_num, &qpn, sizeof(qpn));
		connect_to(s.qps[i], qpn);
	}
	pair_meet(&s.pair);
}

/* How many completions there are, all of them good. */
static uint32_t poll_into(struct ibv_cq *cq, struct ibv_wc wc[BATCH])
{
	const int got = ibv_poll_cq(cq, BATCH, wc);

	pair_need(got >= 0, "poll");
	for (int i = 0; i < got; i++) {
		if (wc[i].status == IBV_WC_SUCCESS)
			continue;
		fprintf(stderr, "bench: completion: %s\n", ibv_wc_status_str(wc[i].status));
		exit(1);
	}
	return (uint32_t)got;
}

static uint32_t poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc[BATCH];

	return poll_into(cq, wc);
}

static void await(struct ibv_cq *cq)
{
	while (poll_cq(cq) == 0)
		;
}

/* Of the bytes, or of words->goes, by the queue pair of that number, which its completion says. */
static void post_write(uint32_t number, bool is_word, bool is_signalled)
{
	struct ibv_sge sge = {(uintptr_t)s.bytes, (uint32_t)s.pair.bytes, s.mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = number,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_RDMA_WRITE,
				       .send_flags = is_signalled ? IBV_SEND_SIGNALED : 0,
				       .wr.rdma = {s.theirs.at + WORDS, s.theirs.rkey}};

	if (is_word) {
		sge.addr = (uintptr_t)&s.words->goes;
		sge.length = sizeof(s.words->goes);
		wr.send_flags |= IBV_SEND_INLINE;
		wr.wr.rdma.remote_addr = s.theirs.at;
	}
	need_zero(ibv_post_send(s.qps[number], &wr, &bad), "post");
}

static void post_recvs(uint32_t count)
{
	struct ibv_sge sge = {(uintptr_t)&s.words->came, sizeof(s.words->came), s.mr->lkey};
	struct ibv_recv_wr *bad, wrs[BATCH];

	for (uint32_t i = 0; i < count; i++)
		wrs[i] = (struct ibv_recv_wr){
			.next = i + 1 < count ? &wrs[i + 1] : NULL, .sg_list = &sge, .num_sge = 1};
	need_zero(ibv_post_recv(s.qps[0], wrs, &bad), "post of receives");
}

/* SENDs of words->goes, the last of them signalled or none. */
static void post_sends(uint32_t count, bool is_signalled)
{
	struct ibv_sge sge = {(uintptr_t)&s.words->goes, sizeof(s.words->goes), s.mr->lkey};
	struct ibv_send_wr *bad, wrs[BATCH];

	for (uint32_t i = 0; i < count; i++)
		wrs[i] = (struct ibv_send_wr){.next = i + 1 < count ? &wrs[i + 1] : NULL,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_INLINE};
	if (is_signalled)
		wrs[count - 1].send_flags |= IBV_SEND_SIGNALED;
	need_zero(ibv_post_send(s.qps[0], wrs, &bad), "post");
}

/* Bytes a nanosecond. What has ended is posted again where it was. */
static double write_for(uint64_t ns)
{
	const uint32_t window = s.pair.qps > WINDOW ? s.pair.qps : WINDOW;
	const uint64_t began = pair_ns();
	uint64_t posted = 0, done = 0;

	for (; posted < window; posted++)
		post_write((uint32_t)posted % s.pair.qps, false, true);
	while (done < posted) {
		struct ibv_wc wc[BATCH];
		const uint32_t got = poll_into(s.send_cq, wc);
		const bool goes_on = pair_ns() - began < ns;

		done += got;
		for (uint32_t i = 0; i < got && goes_on; i++, posted++)
			post_write((uint32_t)wc[i].wr_id, false, true);
	}
	return (double)(done * s.pair.bytes) / (double)(pair_ns() - began);
}

static void run_write(void)
{
	if (s.pair.is_first) {
		memset(s.bytes, 0x5a, s.pair.bytes);
		write_for(s.pair.ns / 5); /* rings, caches */
		printf("%.4f\n", write_for(s.pair.ns));
	}
	pair_meet(&s.pair);
	errno = EIO;
	pair_need(s.bytes[0] == 0x5a && memcmp(s.bytes, s.bytes + 1, s.pair.bytes - 1) == 0,
		  "what was written");
}

/* There and back until words->goes of the first says 0. */
static void run_send_lat(void)
{
	struct pair_trips trips = {.count = 0};
	const uint64_t until = pair_ns() + s.pair.ns;
	uint64_t rounds = 0;

	s.words->goes = 1;
	post_recvs(BATCH);
	pair_meet(&s.pair);
	do {
		const uint64_t began = pair_ns();

		if (s.pair.is_first) {
			s.words->goes = began < until;
		} else {
			await(s.recv_cq);
			post_recvs(1);
			s.words->goes = s.words->came;
		}
		post_sends(1, rounds % BATCH == 0);
		if (s.pair.is_first) {
			await(s.recv_cq);
			pair_trips_add(&trips, pair_ns() - began);
			post_recvs(1);
		}
		if (rounds++ % BATCH == 0)
			await(s.send_cq);
	} while (s.words->goes != 0);
	if (s.pair.is_first)
		pair_trips_print(&trips);
	pair_meet(&s.pair);
}

static void run_write_lat(void)
{
	struct pair_trips trips = {.count = 0};
	const uint64_t until = pair_ns() + s.pair.ns;
	uint64_t round = 0;
	bool is_last = false;

	pair_meet(&s.pair);
	while (!is_last) {
		const uint64_t began = pair_ns();

		round++;
		if (s.pair.is_first) {
			is_last = began >= until;
			s.words->goes = is_last ? UINT64_MAX : round;
		} else {
			while (atomic_load_explicit(&s.words->came, memory_order_acquire) < round)
				;
			s.words->goes = s.words->came;
			is_last = s.words->goes == UINT64_MAX;
		}
		post_write(0, true, round % BATCH == 0 || is_last);
		if (s.pair.is_first) {
			while (atomic_load_explicit(&s.words->came, memory_order_acquire) < round)
				;
			pair_trips_add(&trips, pair_ns() - began);
		}
		if (round % BATCH == 0 || is_last)
			await(s.send_cq);
	}
	if (s.pair.is_first)
		pair_trips_print(&trips);
	pair_meet(&s.pair);
}

/* words->came is how many the other has taken: none is sent for which no receive is posted. */
static uint64_t send_for(uint64_t ns)
{
	const uint64_t began = pair_ns();
	uint64_t sent = 0, done = 0, full;

	do {
		full = sent - atomic_load_explicit(&s.words->came, memory_order_relaxed);
		if (sent - done <= SQ_DEPTH - BATCH && full <= RQ_DEPTH - BATCH) {
			post_sends(BATCH, true);
			sent += BATCH;
		}
		done += poll_cq(s.send_cq) * BATCH;
	} while (pair_ns() - began < ns);
	while (done < sent)
		done += poll_cq(s.send_cq) * BATCH;
	printf("%.4f\n", (double)sent * 1000 / (double)(pair_ns() - began));
	return sent;
}

static void take_all(void)
{
	uint64_t taken = 0, told = 0;

	while (atomic_load_explicit(&s.words->came, memory_order_relaxed) != 0) {
		const uint32_t got = poll_cq(s.recv_cq);

		taken += got;
		if (got > 0)
			post_recvs(got);
		if (taken - told < CREDITS)
			continue;
		s.words->goes = told = taken;
		post_write(0, true, true);
		await(s.send_cq);
	}
	errno = EIO;
	pair_need(taken > 0, "messages");
}

static void run_rate(void)
{
	uint64_t mine = 0, theirs;

	if (!s.pair.is_first) {
		s.words->came = 1;
		for (uint32_t i = 0; i < RQ_DEPTH; i += BATCH)
			post_recvs(BATCH);
	}
	s.words->goes = 1;
	pair_meet(&s.pair);
	if (s.pair.is_first) {
		mine = send_for(s.pair.ns);
		s.words->goes = 0;
		post_sends(1, true);
		await(s.send_cq);
	} else {
		take_all();
	}
	pair_swap(&s.pair, &mine, &theirs, sizeof(mine));
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void run_idle(void)
{
	const struct timespec rest = {.tv_nsec = 200000000};
	const struct timespec time = {(time_t)(s.pair.ns / 1000000000),
				      (long)(s.pair.ns % 1000000000)};
	uint64_t mine, theirs;

	for (uint32_t i = 0; i < s.pair.qps; i++) { /* both have sent something over each */
		post_write(i, false, true);
		await(s.send_cq);
	}
	pair_meet(&s.pair);
	nanosleep(&rest, NULL);
	mine = cpu_ns();
	nanosleep(&time, NULL);
	mine = cpu_ns() - mine;
	pair_swap(&s.pair, &mine, &theirs, sizeof(mine));
	if (s.pair.is_first)
		printf("%.4f\n",
		       (double)(mine > theirs ? mine : theirs) / 1e6 * 1e10 / (double)s.pair.ns);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		uint32_t depth;
	} works[] = {{"write", run_write, WINDOW},
		     {"send_lat", run_send_lat, 2 * BATCH},
		     {"write_lat", run_write_lat, 2 * BATCH},
		     {"rate", run_rate, SQ_DEPTH},
		     {"idle", run_idle, WINDOW}};
	size_t k = 0;

	pair_begin(&s.pair, argc, argv);
	while (k < sizeof(works) / sizeof(works[0]) && strcmp(works[k].name, s.pair.work) != 0)
		k++;
	errno = EINVAL;
	pair_need(k < sizeof(works) / sizeof(works[0]), s.pair.work);
	open_device();
	make_objects(works[k].depth);
	connect_all();
	works[k].run();
	return pair_end(&s.pair);
}
