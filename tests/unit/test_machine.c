/* SPDX-License-Identifier: BSD-2-Clause */

/* Machines with several adapters: one order of time, one program, adapters that do not wait for
 * each other. Times by hand, as in test_task_verbs.c: at 100 Gb/s (80 ps a byte) and 1 us a link, a
 * WRITE of 8 bytes is 106 bytes and its ACK 86; calls cost nothing here. */
#include "tests/unit/task_end.h"

#include "models/machine/machine.h"
#include "models/traffic/traffic.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { NICS = 4, WRITE_PS = 106 * 80, ACK_PS = 86 * 80, LINK_PS = 1000000 };

static struct world world;

static void open_machines(uint32_t machines, uint32_t nics)
{
	world_set_up(&world, machines);
	world.nic_count = nics;
	world_open(&world);
}

/* ---- names, numbers, addresses ---- */

static void assert_address(const char *name, uint8_t last)
{
	uint8_t ip[16];

	host_ip(fabric_host(&world.fabric, name), ip);
	assert_int_equal(ip[15], last);
}

/* One adapter more changes nobody else's address: further ones come behind all machines. */
static void test_further_adapters_come_behind_all_machines(void **state)
{
	(void)state;
	open_machines(3, 2);
	assert_int_equal(world.fabric.host_count, 6);
	assert_int_equal(world.fabric.table.machine_count, 3);
	assert_address("h0", 1);
	assert_address("h1", 2);
	assert_address("h2", 3);
	assert_address("h0.nic1", 4);
	assert_address("h1.nic1", 5);
	assert_address("h2.nic1", 6);
	assert_null(fabric_host(&world.fabric, "h0.nic2"));
	assert_int_equal(world_host(&world, 1)->hca == fabric_host(&world.fabric, "h1.nic1")->hca,
			 0);
	world_close(&world);
}

/* Each is a group of links' own: to another leaf, to the same one. */
static void test_a_machine_alone_in_the_topology(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_add_node(&topology, "a", false), 0);
	assert_int_equal(topology_add_node(&topology, "s", true), 0);
	assert_int_equal(topology_add_nic(&topology, 0), 0);
	assert_int_equal(topology_find(&topology, "a.nic1"), 2);
	assert_int_equal(topology_find(&topology, "a.nic0"), 0);
	assert_int_equal(topology_find(&topology, "s.nic0"), -1);
	assert_int_equal(topology_find(&topology, ".nic0"), -1);
	assert_int_equal(topology_find(&topology, "a.nic2"), -1);
	assert_int_equal(topology.nodes[2].machine, 0);
	assert_int_equal(topology.nodes[2].nic, 1);
	assert_int_equal(topology.nodes[0].nic_count, 2);
	topology_fini(&topology);
}

/* ---- programs ---- */

static void lists_devices(void *arg)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	union ibv_gid gid;
	char name[32];

	(void)arg;
	assert_int_equal(count, NICS);
	for (int i = 0; i < count; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		snprintf(name, sizeof(name), "verbena%d", i);
		assert_string_equal(ibv_get_device_name(list[i]), name);
		assert_non_null(context);
		assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
		/* Of two machines h1 is the second; then h0.nic1, h0.nic2, h0.nic3, h1.nic1. */
		assert_int_equal(gid.raw[15], i == 0 ? 2 : 5 + i);
		assert_int_equal(ibv_close_device(context), 0);
	}
	assert_int_not_equal(ibv_get_device_guid(list[0]), ibv_get_device_guid(list[1]));
	ibv_free_device_list(list);
}

static void test_a_program_sees_all_adapters_of_its_machine(void **state)
{
	(void)state;
	open_machines(2, NICS);
	world_spawn(&world, 1, "lists", lists_devices, NULL, 0);
	world_run(&world);
	world_close(&world);
}

struct ends { /* of one program, an end on each of its adapters or on one of them */
	struct end end[NICS];
	struct address peer[NICS];
	int count;
	int device[NICS];
};

static void meet(struct ends *ends, const char *own, const char *other)
{
	char key[32];

	for (int i = 0; i < ends->count; i++) {
		const struct address self = end_open(&ends->end[i], ends->device[i]);

		snprintf(key, sizeof(key), "%s %d", own, i);
		assert_int_equal(vb_put(key, &self, sizeof(self)), 0);
	}
	for (int i = 0; i < ends->count; i++) {
		snprintf(key, sizeof(key), "%s %d", other, i);
		assert_int_equal(vb_get(key, &ends->peer[i], sizeof(ends->peer[i])),
				 sizeof(ends->peer[i]));
		end_connect(&ends->end[i], &ends->peer[i]);
	}
	snprintf(key, sizeof(key), "%s is ready", own);
	assert_int_equal(vb_put(key, NULL, 0), 0);
	snprintf(key, sizeof(key), "%s is ready", other);
	assert_int_equal(vb_get(key, NULL, 0), 0);
}

static void close_all(struct ends *ends)
{
	for (int i = 0; i < ends->count; i++)
		end_close(&ends->end[i]);
}

static ps_t came_at[NICS];

/* Waits for each word in its turn, as it is the same memory for all adapters. */
static void receives(void *arg)
{
	struct ends ends = *(const struct ends *)arg;
	uint64_t before = 0;

	meet(&ends, "receiver", "sender");
	for (int i = 0; i < ends.count; i++) {
		vb_wait_mem(&ends.end[i].words[1], &before, 8);
		came_at[i] = vb_now_ps() - ends.end[i].words[1];
	}
	assert_int_equal(vb_get("done", NULL, 0), 0);
	close_all(&ends);
}

static ps_t answered_at[NICS];

static void sends(void *arg)
{
	struct ends ends = *(const struct ends *)arg;
	const ps_t at = vb_now_ps();
	struct ibv_wc wc;
	ps_t start;

	(void)at;
	meet(&ends, "sender", "receiver");
	start = vb_now_ps();
	for (int i = 0; i < ends.count; i++) {
		ends.end[i].words[0] = start;
		end_write(&ends.end[i], &ends.peer[i]);
	}
	for (int i = 0; i < ends.count; i++) {
		while (ibv_poll_cq(ends.end[i].cq, 1, &wc) == 0)
			;
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		answered_at[i] = vb_now_ps() - start;
	}
	assert_int_equal(vb_put("done", NULL, 0), 0);
	close_all(&ends);
}

static uint64_t send_over(const struct ends *from, const struct ends *to, uint32_t threads)
{
	uint64_t digest;

	world_set_up(&world, 2);
	world.nic_count = NICS;
	world.params.thread_count = threads;
	world_open(&world);
	world_spawn(&world, 0, "sends", sends, (void *)(uintptr_t)from, 0);
	world_spawn(&world, 1, "receives", receives, (void *)(uintptr_t)to, 0);
	digest = world_run(&world);
	world_close(&world);
	return digest;
}

/* Four adapters: all four words come as if each were alone. One adapter: each waits for those
 * before it. */
static void test_adapters_send_at_once_and_one_adapter_in_turn(void **state)
{
	static const struct ends all = {.count = NICS, .device = {0, 1, 2, 3}};
	static const struct ends one = {.count = NICS, .device = {2, 2, 2, 2}};
	const ps_t alone = 2 * (WRITE_PS + LINK_PS), answered = alone + 2 * (ACK_PS + LINK_PS);
	const uint64_t digest = send_over(&all, &all, 1);

	(void)state;
	for (int i = 0; i < NICS; i++) {
		assert_int_equal(came_at[i], alone);
		assert_int_equal(answered_at[i], answered);
	}
	assert_int_equal(send_over(&all, &all, 2), digest);
	send_over(&one, &one, 1);
	for (int i = 0; i < NICS; i++) {
		assert_int_equal(came_at[i], alone + (ps_t)i * WRITE_PS);
		assert_int_equal(answered_at[i], answered + (ps_t)i * WRITE_PS);
	}
}

/* From adapter 3 to adapter 1: any way that the switch goes. */
static void test_any_adapter_reaches_any_other(void **state)
{
	static const struct ends from = {.count = 1, .device = {3}};
	static const struct ends to = {.count = 1, .device = {1}};

	(void)state;
	send_over(&from, &to, 1);
	assert_int_equal(came_at[0], 2 * (WRITE_PS + LINK_PS));
	assert_int_equal(answered_at[0], 2 * (WRITE_PS + LINK_PS) + 2 * (ACK_PS + LINK_PS));
}

/* ---- between adapters of one machine ---- */

/* A word goes out of adapter 0, over the switch and in at adapter 1, while its other end is the
 * same program. */
static void sends_to_itself(void *arg)
{
	struct end out = {0}, in = {0};
	const struct address from = end_open(&out, 0), to = end_open(&in, 1);
	uint64_t before = 0;
	ps_t at;

	(void)arg;
	end_connect(&out, &to);
	end_connect(&in, &from);
	out.words[0] = 1;
	at = end_write(&out, &to);
	vb_wait_mem(&in.words[1], &before, 8);
	assert_int_equal(vb_now_ps() - at, 2 * (WRITE_PS + LINK_PS));
	vb_sleep_ns(100000);
	end_close(&in);
	end_close(&out);
}

static void test_between_two_adapters_of_one_machine_lies_the_switch(void **state)
{
	(void)state;
	open_machines(1, 2);
	world_spawn(&world, 0, "itself", sends_to_itself, NULL, 0);
	world_run(&world);
	world_close(&world);
}

/* ---- events ---- */

static void sleeps_on_the_last(void *arg)
{
	struct ends ends = {.count = 2, .device = {0, 3}};
	struct ibv_cq *cq;
	void *context;

	(void)arg;
	meet(&ends, "sender", "receiver");
	assert_int_equal(ibv_req_notify_cq(ends.end[1].cq, 0), 0);
	ends.end[1].words[0] = vb_now_ps();
	end_write(&ends.end[1], &ends.peer[1]);
	assert_int_equal(ibv_get_cq_event(ends.end[1].channel, &cq, &context), 0);
	assert_ptr_equal(cq, ends.end[1].cq);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(vb_now_ps() - ends.end[1].words[0],
			 2 * (WRITE_PS + LINK_PS) + 2 * (ACK_PS + LINK_PS));
	ends.end[0].words[0] = vb_now_ps();
	end_write(&ends.end[0], &ends.peer[0]);
	assert_int_equal(vb_put("done", NULL, 0), 0);
	vb_sleep_ns(100000);
	close_all(&ends);
}

static void test_a_channel_of_another_adapter_wakes_the_program(void **state)
{
	static const struct ends both = {.count = 2, .device = {0, 3}};

	(void)state;
	open_machines(2, NICS);
	world_spawn(&world, 0, "sleeps", sleeps_on_the_last, NULL, 0);
	world_spawn(&world, 1, "receives", receives, (void *)(uintptr_t)&both, 0);
	world_run(&world);
	world_close(&world);
}

/* ---- at one instant ---- */

enum { OLD = 7, NEW = 9, FILLERS = 4, FRAME = 98 /* without the bytes of a WRITE */ };

static void post(struct end *end, const struct address *peer, uint64_t addr, uint32_t lkey,
		 uint32_t length, uint32_t offset)
{
	struct ibv_sge sge = {addr, length, lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;

	wr.wr.rdma.remote_addr = peer->addr + offset;
	wr.wr.rdma.rkey = peer->rkey;
	assert_int_equal(ibv_post_send(end->qp, &wr, &bad), 0);
}

/* Adapter 0 hears of NEW at @at, and at @at adapter 1 starts a packet from the same place, since
 * those before it on its port, which are of zeros, take until then. */
static void starts_at(struct ends *ends, struct ibv_mr *shared, ps_t at)
{
	struct end *end = &ends->end[1];
	const struct address *peer = &ends->peer[1];
	uint32_t words = FILLERS; /* of 4 bytes, in all of the first packets */

	while ((at - vb_now_ps() - 80 * (FILLERS * FRAME + 4 * words)) % 1000 != 0)
		words++;
	assert_true(words <= FILLERS * 8);
	vb_sleep_ns((at - vb_now_ps() - 80 * (FILLERS * FRAME + 4 * words)) / 1000);
	for (uint32_t left = FILLERS, length; left > 0; left--, words -= length) {
		length = (words + left - 1) / left;
		post(end, peer, (uintptr_t)end->words, end->mr->lkey, 4 * length, 0);
	}
	post(end, peer, (uintptr_t)&ends->end[0].words[1], shared->lkey, 8, 8);
}

struct look { /* for itself an adapter looks at a word */
	struct sim_local_event event;
	const uint64_t *at;
	uint64_t seen;
};
static struct look look[2][2]; /* by adapter and word */

static void looks(struct sim_local_event *event, void *context)
{
	struct look *of = container_of(event, struct look, event);

	(void)context;
	of->seen = *of->at;
}

/* What the adapter @nic of h1 has for itself at @at is later than frames to any adapter. */
static void looks_at(int nic, int word, const uint64_t *place, ps_t at)
{
	struct look *of = &look[nic][word];

	*of = (struct look){
		{.key = 77 + (uint64_t)word, .phase = SIM_LOCAL_ARRIVAL, .fn = looks}, place, 0};
	sim_local_schedule(&fabric_host(&world.fabric, nic == 0 ? "h1" : "h1.nic1")->local,
			   &of->event, at);
}

static void hears_and_starts(void *arg)
{
	struct ends ends = *(const struct ends *)arg;
	struct ibv_mr *shared;
	ps_t at;

	meet(&ends, "receiver", "sender");
	ends.end[0].words[1] = OLD;
	shared = ibv_reg_mr(ends.end[1].pd, &ends.end[0].words[1], 8, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(shared);
	assert_int_equal(vb_get("at", &at, sizeof(at)), sizeof(at));
	at += 2 * (WRITE_PS + LINK_PS);
	looks_at(1, 0, &ends.end[0].words[1], at);
	starts_at(&ends, shared, at);
	assert_int_equal(vb_get("done", NULL, 0), 0);
	assert_int_equal(ends.end[0].words[1], NEW);
	assert_int_equal(ibv_dereg_mr(shared), 0);
	close_all(&ends);
}

/* Tells the other program when this one will write, and waits until then. */
static void agree_and_wait(void)
{
	const ps_t at = vb_now_ps() + 100 * PS_US;

	assert_int_equal(vb_put("at", &at, sizeof(at)), 0);
	vb_sleep_ns(100000);
}

/* Over both adapters of two machines. */
static void tell_and_hear(uint64_t seed, void (*tells)(void *arg), void (*hears)(void *arg))
{
	static const struct ends both = {.count = 2, .device = {0, 1}};

	world_set_up(&world, 2);
	world.nic_count = 2;
	world.params.seed = seed;
	world_open(&world);
	world_spawn(&world, 0, "tells", tells, (void *)(uintptr_t)&both, 0);
	world_spawn(&world, 1, "hears", hears, (void *)(uintptr_t)&both, 0);
	world_run(&world);
	world_close(&world);
}

static uint64_t went_out;

static void tells_and_hears(void *arg)
{
	struct ends ends = *(const struct ends *)arg;
	const uint64_t nothing = 0;

	meet(&ends, "sender", "receiver");
	agree_and_wait();
	ends.end[0].words[0] = NEW;
	end_write(&ends.end[0], &ends.peer[0]);
	vb_wait_mem(&ends.end[1].words[1], &nothing, 8);
	went_out = ends.end[1].words[1];
	vb_sleep_ns(100000);
	assert_int_equal(vb_put("done", NULL, 0), 0);
	close_all(&ends);
}

/* Whatever the seed, starts of all adapters come before frames to any, and these before the rest.
 */
static void test_at_one_instant_all_start_before_any_hears(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 16; seed++) {
		tell_and_hear(seed, tells_and_hears, hears_and_starts);
		assert_int_equal(went_out, OLD);
		assert_int_equal(look[1][0].seen, NEW);
	}
}

static void tells_both(void *arg)
{
	struct ends ends = *(const struct ends *)arg;

	meet(&ends, "sender", "receiver");
	agree_and_wait();
	for (int i = 0; i < 2; i++) {
		ends.end[i].words[0] = NEW;
		end_write(&ends.end[i], &ends.peer[i]);
	}
	vb_sleep_ns(100000);
	assert_int_equal(vb_put("done", NULL, 0), 0);
	close_all(&ends);
}

static int looking_nic;

static void hears_both(void *arg)
{
	struct ends ends = *(const struct ends *)arg;
	ps_t at;

	meet(&ends, "receiver", "sender");
	assert_int_equal(vb_get("at", &at, sizeof(at)), sizeof(at));
	for (int word = 0; word < 2; word++)
		looks_at(looking_nic, word, &ends.end[word].words[1],
			 at + 2 * (WRITE_PS + LINK_PS));
	assert_int_equal(vb_get("done", NULL, 0), 0);
	close_all(&ends);
}

/* Frames of one instant to several adapters: whichever comes first, its adapter does not go on
 * before the others have heard. */
static void test_at_one_instant_all_hear_before_any_goes_on(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 16; seed++) {
		looking_nic = seed % 2;
		tell_and_hear(seed, tells_both, hears_both);
		assert_int_equal(look[looking_nic][0].seen, NEW);
		assert_int_equal(look[looking_nic][1].seen, NEW);
	}
}

static enum sim_local_phase order[6];
static uint32_t order_length;

static void notes_phase(struct sim_local_event *event, void *context)
{
	(void)context;
	assert_true(order_length < 6);
	order[order_length++] = event->phase;
}

/* With nothing but events of their own, too, adapters go by phase. */
static void test_at_one_instant_adapters_go_by_phase(void **state)
{
	static const enum sim_local_phase phases[] = {SIM_LOCAL_TIMER, SIM_LOCAL_ARRIVAL,
						      SIM_LOCAL_PROGRAM};
	struct sim_local_event events[6];

	(void)state;
	open_machines(1, 2);
	order_length = 0;
	for (uint32_t i = 0; i < 6; i++) {
		struct host *host = fabric_host(&world.fabric, i < 3 ? "h0" : "h0.nic1");

		events[i] = (struct sim_local_event){
			.key = i, .phase = phases[i % 3], .fn = notes_phase};
		sim_local_schedule(&host->local, &events[i], PS_US);
	}
	world_run(&world);
	assert_int_equal(order_length, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(order[i], phases[i / 2]);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_further_adapters_come_behind_all_machines),
		cmocka_unit_test(test_a_machine_alone_in_the_topology),
		cmocka_unit_test(test_a_program_sees_all_adapters_of_its_machine),
		cmocka_unit_test(test_adapters_send_at_once_and_one_adapter_in_turn),
		cmocka_unit_test(test_any_adapter_reaches_any_other),
		cmocka_unit_test(test_between_two_adapters_of_one_machine_lies_the_switch),
		cmocka_unit_test(test_a_channel_of_another_adapter_wakes_the_program),
		cmocka_unit_test(test_at_one_instant_all_start_before_any_hears),
		cmocka_unit_test(test_at_one_instant_all_hear_before_any_goes_on),
		cmocka_unit_test(test_at_one_instant_adapters_go_by_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
