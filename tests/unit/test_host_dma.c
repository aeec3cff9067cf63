/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts with a bus between adapter and memory: what is placed takes 2 us or as a test
 * says, all else 100 ns a way. */
#include "tests/hca_connect.h"
#include "tests/unit/models_test.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum {
	ROOM = 32768,
	IOVA = 0x100000,
};

struct end { /* a host */
	struct host *host;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *mr, *other; /* two regions of the same size */
	_Alignas(64) uint8_t memory[ROOM], apart[ROOM];
	struct host_client client;
	struct sim_local_event event;
	uint32_t completions;
	ps_t completed_at;     /* the last of them */
	uint64_t placed_bytes; /* then */
	bool was_there;	       /* what @looks_at was waited for, at the last completion */
	const uint8_t *looks_at;
};

static struct world world;
static uint64_t packet_bytes_max; /* 0: enough */
static struct end ends[3];
static ps_t place_delay, first_delay; /* first: at the beginning of a region */

static ps_t delay(const struct host_bus *bus, const struct host *host, const struct hca_dma *dma,
		  enum host_bus_leg leg)
{
	(void)bus, (void)host;
	if (dma->kind != HCA_DMA_PLACE && leg != HOST_BUS_AGAIN)
		return 100 * PS_NS;
	return dma->kind == HCA_DMA_PLACE && dma->offset == 0 ? first_delay : place_delay;
}

static const struct host_bus_ops ops = {.name = "fixed", .delay = delay};
static const struct host_bus bus = {.ops = &ops, .tx_bytes = 8000};
static const struct host_bus even = {.way = 2 * PS_US, .tx_bytes = 8000};
static const struct host_bus *bus_at_hand = &bus;

static void on_completion(struct host_client *client, ps_t now)
{
	struct end *e = container_of(client, struct end, client);

	e->completions++;
	e->completed_at = now;
	e->placed_bytes = e->host->placed_bytes;
	e->was_there = e->looks_at && *e->looks_at == 'x';
}

static struct hca_mr *region(struct end *e, uint8_t *bytes, uint64_t iova)
{
	const struct hca_mr_params params = {.ops = &hca_mem_host,
					     .access = 15,
					     .address = (uintptr_t)bytes,
					     .iova = iova,
					     .length = ROOM};
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_create(e->host->hca, e->pd, &params, &mr), 0);
	return mr;
}

static void open_ends(uint32_t count)
{
	world_set_up(&world, count);
	world.host.bus = bus_at_hand;
	if (packet_bytes_max)
		world.params.packet_bytes_max = packet_bytes_max;
	world_open(&world);
	memset(ends, 0, sizeof(ends));
	place_delay = first_delay = 2 * PS_US;
	for (uint32_t i = 0; i < count; i++) {
		struct end *e = &ends[i];

		e->host = world_host(&world, i);
		assert_int_equal(hca_pd_create(e->host->hca, &e->pd), 0);
		assert_int_equal(hca_cq_create(e->host->hca, 64, NULL, &e->cq), 0);
		e->mr = region(e, e->memory, IOVA);
		e->other = region(e, e->apart, 2 * IOVA);
		e->client = (struct host_client){.cq = e->cq, .on_completion = on_completion};
		e->host->client = &e->client;
	}
}

static struct hca_qp *make(struct end *e, struct end *peer, uint32_t qpn, uint32_t peer_qpn,
			   uint8_t priority)
{
	struct hca_device *hca = e->host->hca;
	const struct hca_qp_init init = {.type = HCA_QPT_RC,
					 .pd = e->pd,
					 .send_cq = e->cq,
					 .recv_cq = e->cq,
					 .signal_all = true,
					 .qpn = qpn,
					 .cap = {16, 16, 4, 4, 0}};
	struct hca_qp_attr attr = {.access = 14,
				   .mtu = 4096,
				   .dest_qpn = peer_qpn,
				   .timeout = 10,
				   .retry_cnt = 7,
				   .max_rd_atomic = 16,
				   .max_dest_rd_atomic = 16,
				   .port = 1,
				   .path = {.ttl = 64, .priority = priority}};
	struct hca_qp *qp = NULL;

	host_ip(peer->host, attr.path.dst_ip);
	assert_int_equal(host_resolve(e->host, &attr.path, qpn, peer_qpn), 0);
	assert_int_equal(hca_qp_create(hca, &init, &qp), 0);
	assert_int_equal(hca_connect_rc(hca, qp, attr), 0);
	return qp;
}

/* The end of @a. */
static struct hca_qp *join(struct end *a, struct end *b, uint32_t number, uint8_t priority)
{
	make(b, a, 0x200 + number, 0x100 + number, priority);
	return make(a, b, 0x100 + number, 0x200 + number, priority);
}

static void post(struct end *e, struct hca_qp *qp, enum hca_wr_opcode opcode, uint32_t at,
		 uint32_t length, uint64_t remote, uint32_t rkey)
{
	const struct hca_sge sge = {.addr = IOVA + at, .length = length, .lkey = e->mr->lkey};
	const struct hca_send_wr wr = {.opcode = opcode,
				       .sge = &sge,
				       .sge_count = 1,
				       .remote_addr = remote,
				       .rkey = rkey,
				       .compare_add = 1};

	assert_int_equal(hca_qp_post_send(e->host->hca, qp, &wr, 0), 0);
}

/* The end of the first host; the second one has a receive of @length bytes, apart. */
static struct hca_qp *join_to_receive(uint32_t length)
{
	const struct hca_sge own = {
		.addr = 2 * IOVA, .length = length, .lkey = ends[1].other->lkey};
	struct hca_qp *peer = make(&ends[1], &ends[0], 0x200, 0x100, 0);

	assert_int_equal(hca_qp_post_recv(ends[1].host->hca, peer,
					  &(struct hca_recv_wr){.sge = &own, .sge_count = 1}, 0),
			 0);
	return make(&ends[0], &ends[1], 0x100, 0x200, 0);
}

static uint64_t packets_sent(uint32_t i)
{
	return hca_device_counters(ends[i].host->hca)->tx_packets;
}

/* Three packets of a priority that is paused fill its share; one of a lower one is sent. */
static void test_a_paused_priority_stops_no_other(void **state)
{
	struct hca_qp *paused, *open;

	(void)state;
	open_ends(2);
	paused = join(&ends[0], &ends[1], 0, 3);
	open = join(&ends[0], &ends[1], 1, 1);
	ends[0].host->node.ports[0].paused |= 1u << 3;
	memset(ends[0].memory, 'x', ROOM);
	post(&ends[0], paused, HCA_WR_RDMA_WRITE, 0, 12288, IOVA, ends[1].mr->rkey);
	post(&ends[0], open, HCA_WR_RDMA_WRITE, 0, 4096, IOVA + 16384, ends[1].mr->rkey);
	world_run(&world);
	assert_int_equal(ends[1].memory[0], 0);
	assert_int_equal(ends[1].memory[16384 + 4095], 'x');
	assert_int_equal(packets_sent(0), 1);
	assert_int_equal(ends[0].completions, 1);
	world_close(&world); /* what waits comes home */
}

static void write_letter(struct sim_local_event *event, void *context)
{
	struct end *e = container_of(event, struct end, event);
	const bool is_ooo = e->host->now < 100 * PS_NS;

	(void)context;
	memset(e->memory, is_ooo ? 'y' : 'z', 64);
	if (is_ooo)
		sim_local_schedule(&e->host->local, event, 150 * PS_NS);
}

/* Posted at 0, and read at 100 ns. */
static void test_memory_is_read_when_the_read_reaches_it(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	qp = join(&ends[0], &ends[1], 0, 0);
	memset(ends[0].memory, 'x', 64);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, IOVA, ends[1].mr->rkey);
	ends[0].event =
		(struct sim_local_event){.key = 77, .phase = SIM_LOCAL_PROGRAM, .fn = write_letter};
	sim_local_schedule(&ends[0].host->local, &ends[0].event, 50 * PS_NS);
	world_run(&world);
	assert_int_equal(ends[0].memory[0], 'z');
	assert_int_equal(ends[1].memory[0], 'y');
	world_close(&world);
}

/* The data takes 2 us, the completion 100 ns: it is seen behind it. */
static void test_a_completion_is_behind_its_data(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	qp = join_to_receive(64);
	memset(ends[0].memory, 'x', 64);
	ends[1].looks_at = &ends[1].apart[63];
	ends[0].looks_at = &ends[1].apart[63];
	post(&ends[0], qp, HCA_WR_SEND, 0, 64, 0, 0);
	world_run(&world);
	assert_int_equal(ends[1].completions, 1);
	assert_true(ends[1].was_there);
	assert_int_equal(ends[0].completions, 1);
	world_close(&world);
}

static void look_for_none(struct sim_local_event *event, void *context)
{
	struct end *e = container_of(event, struct end, event);

	(void)context;
	assert_int_equal(e->completions, 0);
	e->looks_at = &e->apart[63];
}

/* Data of one queue pair takes 20 us; another one's message has none, and its completion, behind
 * that of the first in their queue, waits as well. */
static void test_completions_of_a_queue_are_in_order(void **state)
{
	struct hca_qp *first, *second, *peer;

	(void)state;
	open_ends(2);
	first_delay = 20 * PS_US;
	first = join_to_receive(64);
	peer = make(&ends[1], &ends[0], 0x201, 0x101, 0);
	second = make(&ends[0], &ends[1], 0x101, 0x201, 0);
	assert_int_equal(
		hca_qp_post_recv(ends[1].host->hca, peer, &(struct hca_recv_wr){.sge_count = 0}, 0),
		0);
	memset(ends[0].memory, 'x', 64);
	post(&ends[0], first, HCA_WR_SEND, 0, 64, 0, 0);
	post(&ends[0], second, HCA_WR_SEND, 0, 0, 0, 0);
	ends[1].event = (struct sim_local_event){
		.key = 77, .phase = SIM_LOCAL_PROGRAM, .fn = look_for_none};
	sim_local_schedule(&ends[1].host->local, &ends[1].event, 15 * PS_US);
	world_run(&world);
	assert_int_equal(ends[1].completions, 2);
	assert_true(ends[1].was_there);
	world_close(&world);
}

/* An ACK says no more than that memory will have it. */
static void test_an_ack_does_not_wait_for_memory(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	first_delay = 20 * PS_US;
	qp = join(&ends[0], &ends[1], 0, 0);
	memset(ends[0].memory, 'x', 64);
	ends[0].looks_at = &ends[1].memory[63];
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, IOVA, ends[1].mr->rkey);
	world_run(&world);
	assert_int_equal(ends[0].completions, 1);
	assert_false(ends[0].was_there);
	assert_int_equal(ends[1].memory[63], 'x');
	world_close(&world);
}

/* A READ of anything, by the same queue pair, makes sure of it. */
static void test_a_read_waits_for_the_write_before_it(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	first_delay = 20 * PS_US;
	qp = join(&ends[0], &ends[1], 0, 0);
	memset(ends[0].memory, 'x', 64);
	memset(ends[1].apart, 'r', 64);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, IOVA, ends[1].mr->rkey);
	post(&ends[0], qp, HCA_WR_RDMA_READ, 4096, 8, 2 * IOVA, ends[1].other->rkey);
	ends[0].looks_at = &ends[1].memory[63];
	world_run(&world);
	assert_int_equal(ends[0].completions, 2);
	assert_true(ends[0].was_there);
	assert_int_equal(ends[0].memory[4096], 'r');
	world_close(&world);
}

static void look(struct sim_local_event *event, void *context)
{
	struct end *e = container_of(event, struct end, event);

	(void)context;
	assert_int_equal(e->memory[0], 0);
	assert_int_equal(e->memory[8191], 0);
	e->was_there = true;
}

/* Of two packets the first takes 20 us to memory and the second 2: its last bytes are seen last. */
static void test_last_bytes_are_placed_last(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	first_delay = 20 * PS_US;
	qp = join(&ends[0], &ends[1], 0, 0);
	memset(ends[0].memory, 'x', ROOM);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 8192, IOVA, ends[1].mr->rkey);
	ends[1].event = (struct sim_local_event){.key = 77, .phase = SIM_LOCAL_PROGRAM, .fn = look};
	sim_local_schedule(&ends[1].host->local, &ends[1].event, 15 * PS_US);
	world_run(&world);
	assert_true(ends[1].was_there);
	assert_int_equal(ends[1].memory[0], 'x');
	assert_int_equal(ends[1].memory[8191], 'x');
	world_close(&world);
}

/* Two hosts add to one word at once, eight times each: no addition is lost. */
static void test_an_atomic_holds_its_word(void **state)
{
	uint64_t word, seen = 0, before;

	(void)state;
	open_ends(3);
	for (uint32_t i = 1; i < 3; i++) {
		struct hca_qp *qp = join(&ends[i], &ends[0], i, 0);

		for (uint32_t n = 0; n < 8; n++)
			post(&ends[i], qp, HCA_WR_ATOMIC_FETCH_AND_ADD, 8 * n, 8, IOVA,
			     ends[0].mr->rkey);
	}
	world_run(&world);
	memcpy(&word, ends[0].memory, sizeof(word));
	assert_int_equal(word, 16);
	for (uint32_t i = 1; i < 3; i++)
		for (uint32_t n = 0; n < 8; n++) {
			memcpy(&before, ends[i].memory + 8 * (size_t)n, sizeof(before));
			seen |= 1ull << before;
		}
	assert_int_equal(seen, 0xffff);
	world_close(&world);
}

static void deregister(struct sim_local_event *event, void *context)
{
	struct end *e = container_of(event, struct end, event);

	(void)context;
	assert_int_equal(e->memory[63], 0);
	assert_int_equal(hca_mr_destroy(e->host->hca, e->mr), 0);
	assert_int_equal(e->memory[63], 'x');
	memset(e->memory, 'z', 64); /* the program's own again */
}

/* 200 ns for the fetch, 2 us on two links, 2 us to memory: at 3 us it is on its way there. */
static void test_what_is_under_way_happens_before_its_region_goes(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	qp = join(&ends[0], &ends[1], 0, 0);
	memset(ends[0].memory, 'x', 64);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, IOVA, ends[1].mr->rkey);
	ends[1].event =
		(struct sim_local_event){.key = 77, .phase = SIM_LOCAL_PROGRAM, .fn = deregister};
	sim_local_schedule(&ends[1].host->local, &ends[1].event, 3 * PS_US);
	world_run(&world);
	assert_int_equal(ends[1].memory[63], 'z');
	assert_int_equal(ends[0].completions, 1);
	world_close(&world);
}

static struct hca_mr *region_without_bytes(struct end *e)
{
	const struct hca_mr_params params = {.ops = &hca_mem_synthetic,
					     .access = 15,
					     .iova = 4 * IOVA,
					     .length = ROOM,
					     .stream = 7};
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_create(e->host->hca, e->pd, &params, &mr), 0);
	return mr;
}

struct times {
	ps_t sent_at, received_at;
};

/* A SEND of three packets. Neither end is told before its bytes are where they belong. */
static struct times send_three(bool has_bytes, ps_t first)
{
	struct hca_sge from, to;
	struct hca_qp *qp, *peer;
	struct times times;

	open_ends(2);
	first_delay = first;
	peer = make(&ends[1], &ends[0], 0x200, 0x100, 0);
	qp = make(&ends[0], &ends[1], 0x100, 0x200, 0);
	from = (struct hca_sge){.addr = IOVA, .length = 12288, .lkey = ends[0].mr->lkey};
	to = (struct hca_sge){.addr = IOVA, .length = 12288, .lkey = ends[1].mr->lkey};
	if (!has_bytes) {
		from.addr = to.addr = 4 * IOVA;
		from.lkey = region_without_bytes(&ends[0])->lkey;
		to.lkey = region_without_bytes(&ends[1])->lkey;
	}
	assert_int_equal(hca_qp_post_recv(ends[1].host->hca, peer,
					  &(struct hca_recv_wr){.sge = &to, .sge_count = 1}, 0),
			 0);
	assert_int_equal(
		hca_qp_post_send(
			ends[0].host->hca, qp,
			&(struct hca_send_wr){.opcode = HCA_WR_SEND, .sge = &from, .sge_count = 1},
			0),
		0);
	world_run(&world);
	assert_int_equal(ends[0].completions, 1);
	assert_int_equal(ends[1].completions, 1);
	assert_int_equal(ends[1].placed_bytes, 12288);
	times = (struct times){ends[0].completed_at, ends[1].completed_at};
	world_close(&world);
	return times;
}

/* Of memory without bytes times are known in advance; they are the same. Where the first placement
 * takes 20 us and the others 2, all are there when the first is; where it takes none, 2 us after
 * the last packet. */
static void test_memory_without_bytes_takes_as_long(void **state)
{
	static const ps_t firsts[] = {0, 2 * PS_US, 20 * PS_US};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const struct times bytes = send_three(true, firsts[i]);
		const struct times none = send_three(false, firsts[i]);

		assert_int_equal(bytes.sent_at, none.sent_at);
		assert_int_equal(bytes.received_at, none.received_at);
		assert_true(bytes.received_at > 2 * PS_US + firsts[i]);
	}
}

/* Two ways for the fetch, one to memory. */
static void test_memory_without_bytes_takes_as_long_over_an_even_bus(void **state)
{
	struct times bytes, none;

	(void)state;
	bus_at_hand = &even;
	bytes = send_three(true, 0);
	none = send_three(false, 0);
	bus_at_hand = &bus;
	assert_int_equal(bytes.sent_at, none.sent_at);
	assert_int_equal(bytes.received_at, none.received_at);
	assert_true(bytes.received_at > 6 * PS_US);
}

/* What needs no fetch stays behind what does: or its PSN would come too early. */
static void test_a_packet_without_bytes_overtakes_none(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	qp = join(&ends[0], &ends[1], 0, 0);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, IOVA, ends[1].mr->rkey);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 0, IOVA, ends[1].mr->rkey);
	world_run(&world);
	assert_int_equal(ends[0].completions, 2);
	assert_int_equal(hca_device_counters(ends[1].host->hca)->out_of_sequence, 0);
	world_close(&world);
}

static void test_a_packet_without_bytes_waits_while_its_priority_is_paused(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_ends(2);
	qp = join(&ends[0], &ends[1], 0, 3);
	ends[0].host->node.ports[0].paused |= 1u << 3;
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 0, IOVA, ends[1].mr->rkey);
	world_run(&world);
	assert_int_equal(packets_sent(0), 0);
	world_close(&world);
}

static void deregister_without_bytes(struct sim_local_event *event, void *context)
{
	struct end *e = container_of(event, struct end, event);

	(void)context;
	assert_int_equal(e->host->placed_bytes, 0);
	assert_int_equal(hca_mr_destroy(e->host->hca, e->other), 0);
	assert_int_equal(e->host->placed_bytes, 64);
}

/* 4 us for the fetch, 2 us on two links: at 7 us it is on its way there. */
static void test_what_is_known_to_come_happens_before_its_region_goes(void **state)
{
	struct hca_qp *qp;

	(void)state;
	bus_at_hand = &even;
	open_ends(2);
	bus_at_hand = &bus;
	qp = join(&ends[0], &ends[1], 0, 0);
	ends[1].other = region_without_bytes(&ends[1]);
	post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 64, 4 * IOVA, ends[1].other->rkey);
	ends[1].event = (struct sim_local_event){
		.key = 77, .phase = SIM_LOCAL_PROGRAM, .fn = deregister_without_bytes};
	sim_local_schedule(&ends[1].host->local, &ends[1].event, 7 * PS_US);
	world_run(&world);
	assert_int_equal(ends[1].host->placed_bytes, 64);
	assert_int_equal(ends[0].completions, 1);
	world_close(&world);
}

/* A slab more each time, and never enough. */
static void test_the_run_ends_where_memory_does(void **state)
{
	(void)state;
	for (uint32_t slabs = 1; slabs < 8; slabs++) {
		struct hca_qp *qp;

		packet_bytes_max = slabs * packet_slab_bytes(4096);
		open_ends(2);
		packet_bytes_max = 0;
		qp = join(&ends[0], &ends[1], 0, 0);
		for (int i = 0; i < 4; i++)
			post(&ends[0], qp, HCA_WR_RDMA_WRITE, 0, 12288, IOVA, ends[1].mr->rkey);
		assert_int_equal(fabric_run(&world.fabric, PS_S), -ENOMEM);
		world_close(&world);
	}
}

static void no_memory_with(const struct host_bus *with)
{
	int ret = -ENOMEM;

	for (unsigned n = 1; ret != 0; n++) {
		assert_true(n < 2000);
		world_set_up(&world, 2);
		world.host.bus = with;
		util_alloc_fail_after(n);
		ret = world_try_open(&world);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	}
	world_close(&world);
}

/* ---- a bus of parts ---- */

enum { NIC, BRIDGE, SOCKET, PARTS };
#define CABLE (3 * PS_NS)
#define BRIDGE_TIME (110 * PS_NS)
#define MEMORY_TIME (90 * PS_NS)

/* Generation 3 x8, payloads of 256 bytes and requests of 512: a byte takes 126.953125 ps. */
#define LANE(from, to)                                                                             \
	{                                                                                          \
		.a = from, .b = to, .delay = CABLE, .link.pcie = {                                 \
			.gen = 3,                                                                  \
			.width = 8,                                                                \
			.mps = 256,                                                                \
			.mrrs = 512                                                                \
		}                                                                                  \
	}
static const struct bus_part_params bus_parts[PARTS] = {
	[BRIDGE] = {.latency = BRIDGE_TIME}, [SOCKET] = {.latency = MEMORY_TIME}};
static const struct bus_lane_params bus_lanes[] = {LANE(NIC, BRIDGE), LANE(BRIDGE, SOCKET)};
static const struct host_parts tree = {
	.parts = bus_parts, .lanes = bus_lanes, .part_count = PARTS, .lane_count = 2};
static const struct host_bus lanes = {
	.parts = &tree, .nic = NIC, .memory = SOCKET, .tx_bytes = 8000};

static ps_t lane_time(uint64_t bytes)
{
	return (bytes * 126953125 + 999999) / 1000000;
}

/* From one end to the other, where both lanes cut through. */
static ps_t through(uint64_t head, uint64_t all)
{
	return lane_time(head) + lane_time(all) + 2 * CABLE + BRIDGE_TIME;
}

/* Where there are doorbells somebody posts while the host runs. */
struct later {
	struct sim_local_event event;
	struct end *end;
	struct hca_qp *qp;
	enum hca_wr_opcode opcode;
	uint32_t at, length;
};
static struct later laters[2];

static void on_later(struct sim_local_event *event, void *context)
{
	const struct later *l = (const struct later *)event;

	(void)context;
	post(l->end, l->qp, l->opcode, l->at, l->length, IOVA, ends[1].mr->rkey);
}

static void post_later(uint32_t n, struct hca_qp *qp, enum hca_wr_opcode opcode, uint32_t at,
		       uint32_t length)
{
	laters[n] = (struct later){.event = {.key = n, .phase = SIM_LOCAL_PROGRAM, .fn = on_later},
				   .end = &ends[0],
				   .qp = qp,
				   .opcode = opcode,
				   .at = at,
				   .length = length};
	sim_local_schedule(&ends[0].host->local, &laters[n].event, 0);
}

static void open_with(const struct host_bus *with)
{
	bus_at_hand = with;
	open_ends(2);
	bus_at_hand = &bus;
}

/* A SEND of 4096 bytes: when both ends see that it is done. */
static void send_page(const struct host_bus *with, ps_t ret_at[2])
{
	struct hca_qp *qp;

	open_with(with);
	qp = join_to_receive(4096);
	memset(ends[0].memory, 'x', 4096);
	ends[1].looks_at = &ends[1].apart[4095];
	post_later(0, qp, HCA_WR_SEND, 0, 4096);
	world_run(&world);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ends[i].completions, 1);
		ret_at[i] = ends[i].completed_at;
	}
	assert_true(ends[1].was_there);
	world_close(&world);
}

/* Eight requests of 24 bytes there, sixteen completions of 276 back; sixteen writes of 280, and
 * right behind them a CQE of 88. The ACK waits for none of it. */
static void test_pcie_takes_what_it_takes(void **state)
{
	const ps_t fetch = through(24, 8 * 24) + MEMORY_TIME + through(276, 16 * 276);
	const ps_t place = through(280, 16 * 280) + lane_time(88) + MEMORY_TIME;
	/* A doorbell of 8 bytes, and the request of 64 is asked for; or both at once. */
	const ps_t told = through(32, 32) + through(24, 24) + MEMORY_TIME + through(84, 84);
	const ps_t at_once = through(88, 88);
	struct host_bus with_request = lanes;
	ps_t without[2], with[2];

	(void)state;
	send_page(NULL, without);
	send_page(&lanes, with);
	assert_int_equal(with[1], without[1] + told + fetch + place);
	assert_int_equal(with[0], without[0] + told + fetch + through(88, 88) + MEMORY_TIME);
	with_request.blueflame = 64;
	send_page(&with_request, with);
	assert_int_equal(with[1], without[1] + at_once + fetch + place);
	with_request.blueflame = 63;
	send_page(&with_request, with);
	assert_int_equal(with[1], without[1] + told + fetch + place);
}

static uint64_t word_at(const struct end *e, uint32_t at)
{
	uint64_t word;

	memcpy(&word, e->memory + at, sizeof(word));
	return word;
}

/* The word is read and written over the bus, and what comes back is what it was. */
static void test_an_atomic_goes_over_lanes(void **state)
{
	const uint64_t seven = 7;
	struct hca_qp *qp;

	(void)state;
	open_with(&lanes);
	qp = join(&ends[0], &ends[1], 0, 0);
	memcpy(ends[1].memory, &seven, 8);
	post_later(0, qp, HCA_WR_ATOMIC_FETCH_AND_ADD, 64, 8);
	post_later(1, qp, HCA_WR_ATOMIC_FETCH_AND_ADD, 72, 8);
	world_run(&world);
	assert_int_equal(ends[0].completions, 2);
	assert_int_equal(word_at(&ends[0], 64), 7);
	assert_int_equal(word_at(&ends[0], 72), 8);
	assert_int_equal(word_at(&ends[1], 0), 9);
	world_close(&world);
}

/* What is on lanes, or waits for them, comes home with everything else. */
static void test_a_run_may_end_while_lanes_are_taken(void **state)
{
	struct hca_qp *qp;

	(void)state;
	open_with(&lanes);
	qp = join(&ends[0], &ends[1], 0, 0);
	post_later(0, qp, HCA_WR_RDMA_WRITE, 0, 12288);
	assert_int_equal(fabric_run(&world.fabric, 1200 * PS_NS), 0);
	assert_int_equal(ends[0].completions, 0);
	world_close(&world);
}

/* Room for 64 headers is enough for two bursts of 2 KiB, which arrive as the one of 4 KiB does. */
static void test_little_room_takes_more_bursts(void **state)
{
	struct bus_lane_params narrow[] = {LANE(NIC, BRIDGE), LANE(BRIDGE, SOCKET)};
	const struct host_parts parts = {
		.parts = bus_parts, .lanes = narrow, .part_count = PARTS, .lane_count = 2};
	struct host_bus with_room = lanes;
	ps_t one[2], two[2];

	(void)state;
	with_room.parts = &parts;
	for (int i = 0; i < 2; i++)
		narrow[i].room[BUS_POSTED] = narrow[i].room[BUS_COMPLETION] =
			(struct bus_credits){.headers = 64, .data = 4096};
	send_page(&lanes, one);
	send_page(&with_room, two);
	for (int i = 0; i < 2; i++)
		assert_in_range(two[i], one[i],
				one[i] + 4); /* each burst is rounded up, on each lane */
}

static void test_what_is_no_bus_is_refused(void **state)
{
	struct host_parts parts = tree;
	struct host_bus bad = lanes;

	(void)state;
	parts.lane_count = 1;
	bad.parts = &parts;
	world_set_up(&world, 2);
	world.host.bus = &bad;
	assert_int_equal(world_try_open(&world), -EINVAL);
}

static void test_no_memory_for_a_host(void **state)
{
	(void)state;
	no_memory_with(&bus);
	no_memory_with(&lanes);
}

RUN(T(test_a_paused_priority_stops_no_other), T(test_memory_is_read_when_the_read_reaches_it),
    T(test_a_completion_is_behind_its_data), T(test_completions_of_a_queue_are_in_order),
    T(test_an_ack_does_not_wait_for_memory), T(test_a_read_waits_for_the_write_before_it),
    T(test_last_bytes_are_placed_last), T(test_an_atomic_holds_its_word),
    T(test_what_is_under_way_happens_before_its_region_goes),
    T(test_memory_without_bytes_takes_as_long),
    T(test_memory_without_bytes_takes_as_long_over_an_even_bus),
    T(test_a_packet_without_bytes_overtakes_none),
    T(test_a_packet_without_bytes_waits_while_its_priority_is_paused),
    T(test_what_is_known_to_come_happens_before_its_region_goes),
    T(test_the_run_ends_where_memory_does), T(test_no_memory_for_a_host),
    T(test_pcie_takes_what_it_takes), T(test_an_atomic_goes_over_lanes),
    T(test_a_run_may_end_while_lanes_are_taken), T(test_little_room_takes_more_bursts),
    T(test_what_is_no_bus_is_refused))
