/* SPDX-License-Identifier: BSD-2-Clause */

/* What libibverbs' calls do to virtual time. Every time here is worked out by hand from the table
 *of costs, 100 Gb/s (80 ps a byte), 1 us a link and frames of 86 bytes and payload (8 preamble, 14
 * Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC, 4 FCS, 12 gap make 82; RETH is 16 more, AETH 4):
 *	a WRITE of 8 bytes	106 bytes	 8480 ps
 *	an ACK			 86 bytes	 6880 ps */
#include "tests/unit/task_end.h"

#include <string.h>

enum { WRITE_PS = 8480, ACK_PS = 6880, LINK_PS = 1000000, LOOP_PS = 70000 };
/* There and back, to the requester's completion. */
enum {
	STAR_PS = 2 * (WRITE_PS + LINK_PS) + 2 * (ACK_PS + LINK_PS),
	SELF_PS = WRITE_PS + LOOP_PS + ACK_PS + LOOP_PS
};

static struct world world;

static ps_t since(ps_t *from)
{
	const ps_t before = *from;

	*from = vb_now_ps();
	return *from - before;
}

/* ---- costs ---- */

static void pays(void *arg)
{
	struct end end = {0};
	struct ibv_recv_wr recvs[3] = {{.next = &recvs[1]}, {.next = &recvs[2]}, {0}}, *bad;
	const struct address self = end_open(&end, 0);
	struct ibv_wc wc;
	ps_t at = vb_now_ps();

	(void)arg;
	end_connect(&end, &self);
	assert_int_equal(since(&at), 6000000); /* three times 2 us */
	assert_int_equal(ibv_post_recv(end.qp, recvs, &bad), 0);
	assert_int_equal(since(&at), 110000); /* 20 ns and three times 30 */
	assert_int_equal(ibv_req_notify_cq(end.cq, 0), 0);
	assert_int_equal(since(&at), 50000);
	end_write(&end, &self);
	assert_int_equal(since(&at), 100000); /* 50 ns and 50 for the one */
	vb_sleep_ns(1000);
	assert_int_equal(since(&at), 1000000);
	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 1);
	assert_int_equal(since(&at), 20000);
	assert_int_equal(ibv_dereg_mr(ibv_reg_mr(end.pd, end.words, 8, 0)), 0);
	assert_int_equal(since(&at), 12000000); /* 10 us, and 2 for taking it away */
	end_close(&end);
}

/* Every kind of call has a price of its own, and each unit one on top. */
static void pays_odd_prices(void *arg)
{
	struct end end = {0};
	struct ibv_recv_wr recvs[3] = {{.next = &recvs[1]}, {.next = &recvs[2]}, {0}}, *bad;
	const struct address self = end_open(&end, 0);
	struct ibv_wc wc[5];
	ps_t at = vb_now_ps();

	(void)arg;
	end_connect(&end, &self);
	assert_int_equal(since(&at), 3 * 1001);
	assert_int_equal(ibv_post_recv(end.qp, recvs, &bad), 0);
	assert_int_equal(since(&at), 4001 + 3 * 41);
	assert_int_equal(ibv_req_notify_cq(end.cq, 0), 0);
	assert_int_equal(since(&at), 6001);
	end_write(&end, &self);
	assert_int_equal(since(&at), 3001 + 31);
	vb_sleep_ns(1000);
	since(&at);
	assert_int_equal(ibv_poll_cq(end.cq, 5, wc), 1);
	assert_int_equal(since(&at), 5001 + 5 * 51);
	end.mr = (ibv_dereg_mr(end.mr), ibv_reg_mr(end.pd, end.words, 24, 0));
	assert_int_equal(since(&at), 1001 + 2001 + 24 * 21);
	end_close(&end);
}

static void test_calls_cost_what_the_table_says(void **state)
{
	static const struct host_cost odd = {
		.call = {[VRB_CALL_CONTROL] = 1001,
			 [VRB_CALL_REG_MR] = 2001,
			 [VRB_CALL_POST_SEND] = 3001,
			 [VRB_CALL_POST_RECV] = 4001,
			 [VRB_CALL_POLL_CQ] = 5001,
			 [VRB_CALL_REQ_NOTIFY] = 6001,
			 [VRB_CALL_CHANNEL] = 7001},
		.each = {[VRB_CALL_REG_MR] = 21,
			 [VRB_CALL_POST_SEND] = 31,
			 [VRB_CALL_POST_RECV] = 41,
			 [VRB_CALL_POLL_CQ] = 51},
		.poll_quantum = PS_US,
	};

	(void)state;
	for (int which = 0; which < 2; which++) {
		world_set_up(&world, 2);
		world.host.cost = which ? odd : host_cost_generic();
		world_open(&world);
		world_spawn(&world, 0, "pays", which ? pays_odd_prices : pays, NULL, 0);
		world_run(&world);
		world_close(&world);
	}
}

/* ---- an empty poll ---- */

static void polls_itself(void *arg)
{
	struct end end = {0};
	const struct address self = end_open(&end, 0);
	struct ibv_wc wc;
	ps_t at;

	(void)arg;
	end_connect(&end, &self);
	at = end_write(&end, &self);
	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 1);
	/* The completion, 200 ns to the program, 20 for the poll that finds it. */
	assert_int_equal(since(&at), SELF_PS + 200000 + 20000);
	assert_int_equal(end.words[1], end.words[0]);
	/* Nothing comes: 20 for the poll, the quantum, 20 for another. */
	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 0);
	assert_int_equal(since(&at), 20000 + 100000000 + 20000);
	end_close(&end);
}

static void test_an_empty_poll_waits_for_a_completion_or_the_quantum(void **state)
{
	(void)state;
	for (int backend = 0; backend < 2; backend++) {
		world_set_up(&world, 2);
		world.host.cost = host_cost_generic();
		world.host.loop_delay = LOOP_PS;
		world.host.coro_backend = backend;
		world_open(&world);
		world_spawn(&world, 0, "polls", polls_itself, NULL, 0);
		world_run(&world);
		assert_int_equal(world_slabs_out(&world), 0);
		world_close(&world);
	}
}

/* ---- between two hosts ---- */

static void peer(void *arg)
{
	struct end end = {0};
	struct address self = end_open(&end, 0), other;
	uint64_t before = 0;

	(void)arg;
	assert_int_equal(vb_put("peer", &self, sizeof(self)), 0);
	assert_int_equal(vb_get("us", &other, sizeof(other)), sizeof(other));
	end_connect(&end, &other);
	assert_int_equal(vb_put("peer is ready", NULL, 0), 0);
	/* The word that comes is the time at which it was posted. */
	vb_wait_mem(&end.words[1], &before, 8);
	assert_int_equal(vb_now_ps() - end.words[1], 2 * (WRITE_PS + LINK_PS));
	assert_int_equal(vb_get("us is done", NULL, 0), 0);
	end_close(&end);
}

static void connect_to_peer(struct end *end, struct address *ret_peer)
{
	struct address self = end_open(end, 0);

	assert_int_equal(vb_put("us", &self, sizeof(self)), 0);
	assert_int_equal(vb_get("peer", ret_peer, sizeof(*ret_peer)), sizeof(*ret_peer));
	end_connect(end, ret_peer);
	assert_int_equal(vb_get("peer is ready", NULL, 0), 0);
}

static void done(struct end *end)
{
	end_close(end);
	assert_int_equal(vb_put("us is done", NULL, 0), 0);
}

static void wait_asleep(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(end->channel, &cq, &context), 0);
	assert_ptr_equal(cq, end->cq);
}

static void polls_peer(void *arg)
{
	struct end end = {0};
	struct address other;
	struct ibv_wc wc;
	ps_t at;

	(void)arg;
	connect_to_peer(&end, &other);
	end.words[0] = vb_now_ps() + 100000;
	at = end_write(&end, &other);
	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 1);
	assert_int_equal(since(&at), STAR_PS + 200000 + 20000);
	done(&end);
}

static void sleeps_on_a_channel(void *arg)
{
	struct end end = {0};
	struct address other;
	struct ibv_wc wc;
	ps_t at;

	(void)arg;
	connect_to_peer(&end, &other);
	assert_int_equal(ibv_req_notify_cq(end.cq, 0), 0);
	end.words[0] = vb_now_ps() + 100000;
	at = end_write(&end, &other);
	wait_asleep(&end);
	assert_int_equal(since(&at), STAR_PS + 3000000); /* the interrupt */
	ibv_ack_cq_events(end.cq, 1);
	assert_int_equal(since(&at), 1000000);
	assert_int_equal(ibv_poll_cq(end.cq, 1, &wc), 1);
	/* Not armed any more: the second one is not told, but for the one armed before it. */
	assert_int_equal(ibv_req_notify_cq(end.cq, 0), 0);
	since(&at);
	end_write(&end, &other);
	vb_sleep_ns(20000);
	since(&at);
	wait_asleep(&end); /* it waits there already: the call alone */
	assert_int_equal(since(&at), 1000000);
	ibv_ack_cq_events(end.cq, 1);
	done(&end);
}

/* What has left is not ours to change: its bytes are those of the instant at which it left. */
static void overwrites_what_is_under_way(void *arg)
{
	struct end end = {0};
	struct address other;
	struct ibv_wc wc;

	(void)arg;
	connect_to_peer(&end, &other);
	end.words[0] = vb_now_ps() + 100000;
	end_write(&end, &other);
	vb_sleep_ns(1000); /* on the first of two links */
	end.words[0] = 0;
	while (ibv_poll_cq(end.cq, 1, &wc) == 0)
		;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	done(&end);
}

static void test_programs_wait_for_the_fabric(void **state)
{
	static vb_fn *const ways[] = {polls_peer, sleeps_on_a_channel,
				      overwrites_what_is_under_way};

	(void)state;
	for (int way = 0; way < 3; way++) {
		uint64_t digests[3];

		for (int run = 0; run < 3; run++) {
			world_set_up(&world, 2);
			world.host.cost = host_cost_generic();
			world.host.coro_backend = run == 1 ? CORO_THREAD : CORO_STACK;
			world.params.thread_count = run == 2 ? 2 : 1;
			world_open(&world);
			world_spawn(&world, 0, "us", ways[way], NULL, 0);
			world_spawn(&world, 1, "peer", peer, NULL, 0);
			digests[run] = world_run(&world);
			world_close(&world);
		}
		assert_int_equal(digests[0], digests[1]);
		assert_int_equal(digests[0], digests[2]);
	}
}

/* ---- identities ---- */

static uint32_t qpns[2][2];

static void opens_two(void *arg)
{
	struct end ends[2] = {{0}};
	uint32_t *qpn = arg;

	for (int i = 0; i < 2; i++)
		qpn[i] = end_open(&ends[i], 0).qpn;
	for (int i = 0; i < 2; i++)
		end_close(&ends[i]);
}

static void test_queue_pair_numbers_follow_from_names(void **state)
{
	uint32_t first[2][2];

	(void)state;
	for (int run = 0; run < 3; run++) {
		world_set_up(&world, 2);
		world.params.seed = run == 2 ? 2 : 1;
		world_open(&world);
		for (int i = 0; i < 2; i++) {
			const int k = run == 1 ? 1 - i : i; /* spawned, and begun, the other way */

			world_spawn(&world, 0, k ? "b" : "a", opens_two, qpns[k], 10 * i);
		}
		world_run(&world);
		world_close(&world);
		if (run == 0)
			memcpy(first, qpns, sizeof(first));
		if (run == 1)
			assert_memory_equal(first, qpns, sizeof(first));
		if (run == 2)
			assert_memory_not_equal(first, qpns, sizeof(first));
	}
	assert_int_not_equal(first[0][0], first[1][0]);
	assert_int_not_equal(first[0][0], first[0][1]);
}

RUN(T(test_calls_cost_what_the_table_says),
    T(test_an_empty_poll_waits_for_a_completion_or_the_quantum),
    T(test_programs_wait_for_the_fabric), T(test_queue_pair_numbers_follow_from_names))
