/* SPDX-License-Identifier: BSD-2-Clause */
/* What NVLink carries, and how what moves is spread over its links, by arithmetic. Flits and
 * packets: Foley and Danskin, IEEE Micro 37(2), 2017; rates: NVIDIA's white papers of P100, V100,
 * A100, H100 and Blackwell. */
#include "tests/nvlink_world.h"

#include <errno.h>

static void test_rates_of_generations(void **state)
{
	static const uint64_t gigabytes[] = {[1] = 20, [2] = 25, [3] = 25, [4] = 25, [5] = 50};

	(void)state;
	for (uint8_t gen = 1; gen <= 5; gen++)
		assert_int_equal(nvlink_rate(gen), gigabytes[gen] * 8 * GB);
}

static void test_sizes_in_flits(void **state)
{
	struct nvlink_link link = link_of(4, 1);

	(void)state;
	assert_int_equal(nvlink_write_bytes(&link, 256), 17 * 16);
	assert_int_equal(nvlink_write_bytes(&link, 1), 2 * 16);
	assert_int_equal(nvlink_write_bytes(&link, 257), (17 + 2) * 16);
	assert_int_equal(nvlink_write_bytes(&link, 4096), 16 * 17 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 4096), 16 * 16);
	assert_int_equal(nvlink_data_bytes(&link, 4096), 16 * 17 * 16);
	assert_int_equal(nvlink_response_bytes(&link, 4096), 16 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 0), 16);
	link.has_extension = true;
	assert_int_equal(nvlink_write_bytes(&link, 256), 18 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 256), 2 * 16);
	assert_int_equal(nvlink_data_bytes(&link, 256), 17 * 16);
	link.has_enables = true;
	assert_int_equal(nvlink_write_bytes(&link, 240), 18 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 256), 2 * 16);
	assert_int_equal(nvlink_response_bytes(&link, 256), 16);
}

/* Two GPUs, two links: bursts by turns, so that all are there after half of the time. */
static void test_neighbours_use_all_links(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);

	(void)state;
	join(w, gpu, gpu + 1, link_of(2, 2));
	open_bus(w);
	send(w, gpu, gpu + 1, 100, 4096);
	run(w);
	/* 16 packets of 17 flits at 25 GB/s: 174.08 ns. */
	assert_int_equal(w->now, 50 * 174080);
	assert_int_equal(bus_nvlink_stats(w->bus, gpu, gpu + 1).bytes, 100 * 4096);
	assert_int_equal(bus_way_stats(w->bus, 0, gpu + 1).bursts, 0);
	close_bus(w);
}

/* Over a GPU in between nothing goes: the way is that over PCI Express. */
static void test_no_way_through_a_gpu(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 3);

	(void)state;
	join(w, gpu, gpu + 1, link_of(2, 1));
	join(w, gpu + 1, gpu + 2, link_of(2, 1));
	open_bus(w);
	send(w, gpu, gpu + 2, 10, 4096);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, gpu, gpu + 1).bursts, 0);
	assert_int_equal(bus_way_stats(w->bus, 0, gpu + 2).bytes, 10 * 4096);
	close_bus(w);
}

/* A burst on each of two links: by a quarter of their time both have been taken for so long. */
static void test_figures_at_an_instant_are_of_all_links(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);
	const ps_t all = 174080; /* as above */

	(void)state;
	join(w, gpu, gpu + 1, link_of(2, 2));
	open_bus(w);
	send(w, gpu, gpu + 1, 2, 4096);
	assert_int_equal(bus_nvlink_stats_at(w->bus, gpu, gpu + 1, all / 4).busy, 2 * (all / 4));
	assert_int_equal(bus_nvlink_stats(w->bus, gpu, gpu + 1).busy, 2 * all);
	assert_int_equal(bus_busy_until(w->bus), all);
	run(w);
	assert_int_equal(bus_nvlink_stats_at(w->bus, gpu, gpu + 1, 9 * all).busy, 2 * all);
	assert_int_equal(bus_nvlink_stats_at(w->bus, gpu, gpu + 1, 9 * all).bytes, 2 * 4096);
	close_bus(w);
}

/* Nor where one would be as near as NVSwitches are, or nearer. */
static void test_nvswitches_go_before_a_gpu(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 2; count++) {
		struct world *w = begin();
		const uint32_t gpu = add_gpus(w, 3), nvs = add_nvswitches(w, count);

		join(w, gpu, gpu + 1, link_of(2, 1));
		join(w, gpu + 1, gpu + 2, link_of(2, 1));
		join(w, gpu, nvs, link_of(2, 1));
		join(w, nvs + count - 1, gpu + 2, link_of(2, 1));
		if (count == 2)
			join(w, nvs, nvs + 1, link_of(2, 1));
		open_bus(w);
		send(w, gpu, gpu + 2, 10, 4096);
		run(w);
		assert_int_equal(bus_nvlink_stats(w->bus, gpu, gpu + 1).bursts, 0);
		assert_int_equal(bus_nvlink_stats(w->bus, gpu, nvs).bytes, 10 * 4096);
		close_bus(w);
	}
}

/* Two links to one NVSwitch and three to another, so 2 and 3 bursts of each 5, and each link as
 * many as any other. */
static void test_planes_take_turns(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2), nvs = add_nvswitches(w, 2);

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		join(w, gpu + i, nvs, link_of(4, 2));
		join(w, nvs + 1, gpu + i, link_of(4, 3));
	}
	open_bus(w);
	send(w, gpu, gpu + 1, 100, 4096);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, gpu, nvs).bursts, 40);
	assert_int_equal(bus_nvlink_stats(w->bus, nvs + 1, gpu + 1).bursts, 60);
	/* 20 each of 174.08 ns; of the first hop the head, a packet of 10.88 ns, is seen. */
	assert_int_equal(w->now, 20 * 174080 + 10880);
	close_bus(w);
}

static void read_from(struct world *w, uint32_t from, uint32_t to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &ops, .bytes = 4096};
		bus_read(w->bus, burst, from, to, w->now);
	}
}

/* Requests of 16 flits go one way, of which the first is seen, data the other; a GPU with one tag
 * reads as much as any, and over PCI Express one by one all the while. */
static void test_reads_ask_one_way_and_come_the_other(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);

	(void)state;
	w->parts[gpu].tags = 1;
	join(w, gpu, gpu + 1, link_of(2, 2));
	open_bus(w);
	read_from(w, gpu, gpu + 1, 100);
	run(w);
	assert_int_equal(w->now, 10240 + 50 * 174080);
	assert_int_equal(bus_nvlink_stats(w->bus, gpu, gpu + 1).wire_bytes, 100 * 256);
	assert_int_equal(bus_nvlink_stats(w->bus, gpu + 1, gpu).wire_bytes, 100 * 16 * 272);
	assert_int_equal(bus_tag_wait(w->bus, gpu), 0);
	read_from(w, gpu, gpu + 1, 1);
	read_from(w, gpu, 0, 2);
	run(w);
	assert_int_equal(bus_tag_wait(w->bus, gpu), w->at[101] - w->at[99]);
	close_bus(w);
}

/* The other GPU writes a little for each read that has come. */
static bool on_reached(struct bus_burst *burst, void *context, ps_t now)
{
	(void)burst, (void)now;
	send(context, 2, 1, 1, 16);
	return true;
}

/* What is read and what is written take turns on links each by itself: if both did together, all
 * that is large would be on one of two links. */
static void test_classes_take_turns_by_themselves(void **state)
{
	static const struct bus_burst_ops reads = {.arrived = on_arrived, .reached = on_reached};
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2), count = 100;

	(void)state;
	assert_int_equal(gpu, 1);
	join(w, gpu, gpu + 1, link_of(2, 2));
	open_bus(w);
	for (uint32_t i = 0; i < count; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &reads, .bytes = 4096};
		bus_read(w->bus, burst, gpu, gpu + 1, 0);
	}
	run(w);
	/* The first request, and on each link half of the answers and of the writes, of two flits.
	 */
	assert_in_range(w->now, 10240 + 50 * 174080, 10240 + 50 * (174080 + 1280));
	close_bus(w);
}

/* Room for one burst at the end of each link: the next follows when its credits are back. */
static void test_credits_are_those_of_a_link(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);
	struct bus_lane_params *lane = join(w, gpu, gpu + 1, link_of(2, 2));

	(void)state;
	lane->delay = 100 * PS_NS;
	lane->room[BUS_POSTED] = (struct bus_credits){16, 256};
	open_bus(w);
	send(w, gpu, gpu + 1, 100, 4096);
	run(w);
	assert_int_equal(w->now, 49 * (174080 + 200 * PS_NS) + 174080 + 100 * PS_NS);
	close_bus(w);
}

static int create_with(const struct bus_lane_params *lane)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);

	(void)add_nvswitches(w, 1);
	join(w, gpu, gpu + 1, link_of(2, 2));
	w->lanes[w->lane_count++] = *lane;
	sim_local_init(&w->local, 1, 2);
	return bus_create(&w->local, w, w->parts, w->part_count, w->lanes, w->lane_count, &w->bus);
}

/* Part 3 is an NVSwitch, and 1 and 2 are joined by NVLink. */
static void test_what_is_no_lane_is_refused(void **state)
{
	struct bus_lane_params good = {
		.a = 1, .b = 3, .link = {.kind = BUS_NVLINK, .nvlink = link_of(2, 18)}};
	struct bus_lane_params lane = good;

	(void)state;
	assert_int_equal(create_with(&lane), 0);
	bus_destroy(world.bus);
	lane.b = 2;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane.a = 2;
	lane.b = 1;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane = good;
	lane.link = (struct bus_link){.pcie = {.gen = 3, .width = 16, .mps = 256, .mrrs = 512}};
	assert_int_equal(create_with(&lane), -EINVAL);
	lane = good;
	lane.link.nvlink.links = 19;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane.link.nvlink.links = 0;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane = good;
	lane.link.nvlink.gen = 6;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane = good;
	lane.link.nvlink.payload = 272;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane.link.nvlink.payload = 24;
	assert_int_equal(create_with(&lane), -EINVAL);
	lane = good;
	lane.link.nvlink.rate_bps = 0;
	assert_int_equal(create_with(&lane), -EINVAL);
}

/* ---- what others have published, in bytes of payload a second ---- */

/* Of @bytes that all have come at the end of the run, in MB. */
static uint64_t mb_per_second(const struct world *w, uint64_t bytes)
{
	return (uint64_t)((u128)bytes * 1000000 / w->now);
}

static void assert_near(uint64_t found, uint64_t wanted, uint64_t per_mille)
{
	assert_in_range(found, wanted - wanted * per_mille / 1000,
			wanted + wanted * per_mille / 1000);
}

/* What a pair of neighbours with that link moves, in one direction or in both at once together. */
static uint64_t pair_rate(struct nvlink_link link, bool both)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2), count = 1800;
	uint32_t bytes;
	uint64_t rate;

	join(w, gpu, gpu + 1, link);
	open_bus(w);
	bytes = bus_burst_most(w->bus, gpu, gpu + 1);
	send(w, gpu, gpu + 1, count, bytes);
	if (both)
		send(w, gpu + 1, gpu, count, bytes);
	run(w);
	rate = mb_per_second(w, (both ? 2ull : 1ull) * count * bytes);
	close_bus(w);
	return rate;
}

/* One link of 100 GB/s: 256 of 272 bytes, and of 288: 16 packets of 2.72 and of 2.88 ns a burst, so
 * 94.1176 and 88.8889 GB/s. */
static void test_17_and_18_flits(void **state)
{
	struct nvlink_link link = link_of(4, 1);

	(void)state;
	for (uint32_t flits = 17; flits <= 18; flits++) {
		struct world *w = begin();
		const uint32_t gpu = add_gpus(w, 2);

		link.rate_bps = 800 * GB;
		link.has_extension = flits == 18;
		join(w, gpu, gpu + 1, link);
		open_bus(w);
		send(w, gpu, gpu + 1, 1000, 4096);
		run(w);
		assert_int_equal(w->now, 1000 * 16 * 160 * flits);
		assert_int_equal(mb_per_second(w, 1000 * 4096), flits == 17 ? 94117 : 88888);
		close_bus(w);
	}
}

/* P / (P + 16), in thousandths: 1/2, 2/3, 4/5, 8/9, 16/17. */
static void test_payload_has_its_share(void **state)
{
	static const struct {
		uint16_t payload;
		uint64_t share;
	} rows[] = {{16, 500}, {32, 667}, {64, 800}, {128, 889}, {256, 941}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvlink_link link = link_of(2, 1);

		link.payload = rows[i].payload;
		assert_near(pair_rate(link, false), 25 * rows[i].share, 2);
	}
}

/* Writes of 128 bytes both ways: 128 / (128 + 16 + 16), so 20 of 25 GB/s of a link. Twelve links of
 * an A100 have 240 GB/s, which is what NCCL plans with (src/graph/topo.h, 20 a link). */
static void test_responses_take_the_other_direction(void **state)
{
	struct nvlink_link link = link_of(3, 12);

	(void)state;
	link.payload = 128;
	assert_near(pair_rate(link, true), 2 * 240000, 10);
	link.payload = 256;
	assert_near(pair_rate(link, true), 2ull * 300000 * 256 / 288, 10);
}

/* Two links of 25 GB/s between V100s, of which Dell has published what copies by engines reach
 * (p2pBandwidthLatencyTest, four SXM2): 47.88 to 47.93 GB/s, and 143.71 to three at once. */
static void test_v100(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 4), count = 1200;

	(void)state;
	assert_near(pair_rate(link_of(2, 2), false), 47900, 30);
	w = begin();
	(void)add_gpus(w, 4);
	for (uint32_t i = 1; i < 4; i++)
		join(w, gpu, gpu + i, link_of(2, 2));
	open_bus(w);
	for (uint32_t i = 1; i < 4; i++)
		send(w, gpu, gpu + i, count, 4096);
	run(w);
	assert_near(mb_per_second(w, 3ull * count * 4096), 143710, 30);
	close_bus(w);
}

/* Two links of 20 GB/s between P100s of a POWER8 (p2pBandwidthLatencyTest): 35.33 to 35.35 GB/s one
 * way and 70.4 to 70.6 both, which packets of 18 flits come to within 5 %. That they have an
 * extension of the address is fitted. */
static void test_p100(void **state)
{
	struct nvlink_link link = link_of(1, 2);

	(void)state;
	link.has_extension = true;
	assert_near(pair_rate(link, false), 35350, 50);
	assert_near(pair_rate(link, true), 70500, 50);
}

/* ---- NVSwitches ---- */

/* @count GPUs with @links[i] links to switch i; and from each of the first @senders to that @step
 * on, all at once: what each moves. */
static uint64_t switched_rate(uint32_t count, const uint8_t *links, uint32_t nvswitch_count,
			      struct nvlink_link link, uint32_t step, uint32_t senders)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, count), nvs = add_nvswitches(w, nvswitch_count);
	uint64_t rate;

	for (uint32_t g = 0; g < count; g++)
		for (uint32_t s = 0; s < nvswitch_count; s++) {
			link.links = links[s];
			join(w, gpu + g, nvs + s, link);
		}
	open_bus(w);
	for (uint32_t g = 0; g < senders; g++)
		send(w, gpu + g, gpu + (g + step) % count, 720, 4096);
	run(w);
	rate = mb_per_second(w, 720 * 4096);
	close_bus(w);
	return rate;
}

static const uint8_t of_a100[] = {2, 2, 2, 2, 2, 2}, of_h100[] = {5, 4, 4, 5};

/* Stores of SMs, 128 bytes each, over two links to each of six switches: all 56 pairs 265 to 276
 * GB/s one way, both ways together 416 to 521 (p2pBandwidthLatencyTest on two HGX A100). */
static void test_a100(void **state)
{
	struct nvlink_link link = link_of(3, 2);

	(void)state;
	link.payload = 128;
	assert_in_range(switched_rate(2, of_a100, 6, link, 1, 1), 265000 * 96 / 100,
			276000 * 104 / 100);
	assert_in_range(2 * switched_rate(2, of_a100, 6, link, 1, 2), 416000, 521000);
}

/* 371 to 377 GB/s one way, 740 to 773 both (github.com/NVIDIA/nccl/issues/1264). Fitted: links that
 * carry nine tenths of their 25 GB/s. */
static void test_h100(void **state)
{
	struct nvlink_link link = link_of(4, 1);

	(void)state;
	link.rate_bps = link.rate_bps * 9 / 10;
	assert_in_range(switched_rate(2, of_h100, 4, link, 1, 1), 371000 * 95 / 100,
			377000 * 105 / 100);
	assert_in_range(2 * switched_rate(2, of_h100, 4, link, 1, 2), 740000 * 95 / 100,
			773000 * 105 / 100);
}

/* Each GPU sends to another and receives from another, all at once: as fast as one pair alone that
 * sends both ways. */
static void test_switches_do_not_block(void **state)
{
	const struct nvlink_link of_gen_3 = link_of(3, 1), of_gen_4 = link_of(4, 1);

	(void)state;
	for (uint32_t step = 1; step < 8; step++) {
		assert_near(switched_rate(8, of_a100, 6, of_gen_3, step, 8), 300000 * 256 / 288,
			    20);
		assert_near(switched_rate(8, of_h100, 4, of_gen_4, step, 8), 450000 * 256 / 288,
			    20);
	}
}

/* A DGX-2: 16 GPUs on two boards of six switches, with a link to each of their board and eight
 * between two of them. What crosses takes two switches. */
static void test_two_boards_do_not_block(void **state)
{
	(void)state;
	for (uint32_t step = 1; step < 16; step += 7) {
		struct world *w = begin();
		const uint32_t gpu = add_gpus(w, 16), nvs = add_nvswitches(w, 12);

		for (uint32_t s = 0; s < 6; s++) {
			for (uint32_t g = 0; g < 16; g++)
				join(w, gpu + g, nvs + s + (g < 8 ? 0 : 6), link_of(2, 1));
			join(w, nvs + s, nvs + s + 6, link_of(2, 8));
		}
		open_bus(w);
		for (uint32_t g = 0; g < 16; g++)
			send(w, gpu + g, gpu + (g + step) % 16, 480, 4096);
		run(w);
		assert_near(mb_per_second(w, 480 * 4096), 150000 * 256 / 288, 20);
		close_bus(w);
	}
}

/* ---- a ring of 8 GPUs at 4 NVSwitches ---- */

enum { RING = 8, STEPS = 2 * (RING - 1) };

/* Of an all-reduce: each GPU sends a part of @count bursts to the next, which it sends on once all
 * of it is there, 2(n-1) times. */
static struct {
	uint32_t gpu, count, steps[RING], left[RING];
} ring;

static void on_ring(struct bus_burst *burst, void *context, ps_t now);
static const struct bus_burst_ops ring_ops = {.arrived = on_ring};

static void send_part(struct world *w, uint32_t place, ps_t now)
{
	const uint32_t next = (place + 1) % RING;

	ring.left[next] += ring.count;
	for (uint32_t i = 0; i < ring.count; i++) {
		struct bus_burst *burst =
			&w->bursts[place * ring.count * 2 + ring.steps[place] % 2 * ring.count + i];

		*burst = (struct bus_burst){.ops = &ring_ops, .bytes = 4096};
		w->burst_count++;
		bus_write(w->bus, burst, ring.gpu + place, ring.gpu + next, now);
	}
	ring.steps[place]++;
}

static void on_ring(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;
	const uint32_t place = burst->to - ring.gpu;

	w->arrived_count++;
	ring.left[place]--;
	if (ring.left[place] % ring.count == 0 && ring.steps[place] < STEPS)
		send_part(w, place, now);
}

/* 2(n-1)/n S/B + 2(n-1) a, where all n parts of S go round at the rate of a pair that sends both
 * ways, and a is what the last burst of a part takes beyond it: the way of a packet over the first
 * lane, and both latencies. The bus bandwidth comes to B. */
static void test_a_ring_reduces_as_its_links_go(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, RING), nvs = add_nvswitches(w, 4);
	const uint32_t count = 504;
	const ps_t part = (ps_t)count / 18 * 16 * 18 * 640,
		   each = 150 * PS_NS + 100 * PS_NS + 10880;

	(void)state;
	memset(&ring, 0, sizeof(ring));
	ring.gpu = gpu;
	ring.count = count;
	for (uint32_t g = 0; g < RING; g++) {
		w->parts[gpu + g].latency = 150 * PS_NS;
		for (uint32_t s = 0; s < 4; s++)
			join(w, gpu + g, nvs + s, link_of(4, of_h100[s]));
	}
	for (uint32_t s = 0; s < 4; s++)
		w->parts[nvs + s].latency = 100 * PS_NS;
	open_bus(w);
	for (uint32_t g = 0; g < RING; g++)
		send_part(w, g, 0);
	run(w);
	assert_near(w->now, STEPS * (part + each), 10);
	assert_near(mb_per_second(w, (uint64_t)STEPS * count * 4096), 450000 * 256 / 288, 60);
	close_bus(w);
}

/* ---- a DGX-1 of V100s ---- */

static const uint8_t hybrid_cube[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
					  {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
					  {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
					  {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

static uint32_t relay, relayed;

static void on_relayed(struct bus_burst *burst, void *context, ps_t now);
static const struct bus_burst_ops relay_ops = {.arrived = on_relayed};

/* At the relay it goes on, as another write of the same bytes. */
static void on_relayed(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	burst->ops = &ops;
	bus_write(w->bus, burst, relay, relayed, now);
}

static struct world *begin_dgx1(uint32_t *ret_gpu)
{
	struct world *w = begin();

	*ret_gpu = add_gpus(w, 8);
	for (uint32_t a = 0; a < 8; a++)
		for (uint32_t b = a + 1; b < 8; b++)
			if (hybrid_cube[a][b] > 0)
				join(w, *ret_gpu + a, *ret_gpu + b, link_of(2, hybrid_cube[a][b]));
	open_bus(w);
	return w;
}

/* A pair has what its links have: of one half of that of two. */
static void test_pairs_of_a_dgx1(void **state)
{
	(void)state;
	for (uint32_t b = 1; b < 5; b++) {
		uint32_t gpu;
		struct world *w = begin_dgx1(&gpu);

		send(w, gpu, gpu + b, 600, 4096);
		run(w);
		assert_near(mb_per_second(w, 600 * 4096), 25000 * hybrid_cube[0][b] * 16 / 17, 5);
		close_bus(w);
	}
}

/* From GPU 0 to GPU 5, which have no link: by GPU 4, two links and one, as fast as the one; over
 * PCI Express, generation 3 x16, 15.754 GB/s by 256 of 280. */
static void test_a_relay_is_as_fast_as_its_slower_half(void **state)
{
	uint32_t gpu;
	struct world *w = begin_dgx1(&gpu);

	(void)state;
	relay = gpu + 4;
	relayed = gpu + 5;
	for (uint32_t i = 0; i < 600; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &relay_ops, .bytes = 4096};
		bus_write(w->bus, burst, gpu, relay, 0);
	}
	run(w);
	assert_near(mb_per_second(w, 600 * 4096), 25000 * 16 / 17, 5);
	close_bus(w);
	w = begin_dgx1(&gpu);
	send(w, gpu, gpu + 5, 600, 4096);
	run(w);
	assert_near(mb_per_second(w, 600 * 4096), 15754 * 256 / 280, 5);
	close_bus(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_of_generations),
		cmocka_unit_test(test_sizes_in_flits),
		cmocka_unit_test(test_neighbours_use_all_links),
		cmocka_unit_test(test_figures_at_an_instant_are_of_all_links),
		cmocka_unit_test(test_no_way_through_a_gpu),
		cmocka_unit_test(test_nvswitches_go_before_a_gpu),
		cmocka_unit_test(test_planes_take_turns),
		cmocka_unit_test(test_reads_ask_one_way_and_come_the_other),
		cmocka_unit_test(test_classes_take_turns_by_themselves),
		cmocka_unit_test(test_credits_are_those_of_a_link),
		cmocka_unit_test(test_what_is_no_lane_is_refused),
		cmocka_unit_test(test_17_and_18_flits),
		cmocka_unit_test(test_payload_has_its_share),
		cmocka_unit_test(test_responses_take_the_other_direction),
		cmocka_unit_test(test_v100),
		cmocka_unit_test(test_p100),
		cmocka_unit_test(test_a100),
		cmocka_unit_test(test_h100),
		cmocka_unit_test(test_switches_do_not_block),
		cmocka_unit_test(test_two_boards_do_not_block),
		cmocka_unit_test(test_a_ring_reduces_as_its_links_go),
		cmocka_unit_test(test_pairs_of_a_dgx1),
		cmocka_unit_test(test_a_relay_is_as_fast_as_its_slower_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
