/* SPDX-License-Identifier: BSD-2-Clause */
/* What NVSwitches pass on to several GPUs, and what they read of several, by arithmetic: a packet
 * of 256 bytes takes 17 flits of 16 bytes, 10.88 ns at 25 GB/s, so 4096 bytes 174.08; a request of
 * 4096 bytes 16 flits, 10.24. */
#include "gpu/bus/multicast.h"
#include "tests/nvlink_world.h"

enum { BURST_PS = 174080, REQUEST_PS = 10240, RESPONSE_PS = 10240 };

/* @count GPUs with links[i] links to switch i, and what the first sends to all of them. */
static uint32_t open_team(struct world *w, uint32_t count, uint8_t gen, const uint8_t *links,
			  uint32_t nvswitch_count, uint32_t *ret_members)
{
	const uint32_t gpu = add_gpus(w, count), nvs = add_nvswitches(w, nvswitch_count);

	for (uint32_t i = 0; i < nvswitch_count; i++)
		for (uint32_t k = 0; k < count; k++)
			join(w, gpu + k, nvs + i, link_of(gen, links[i]));
	for (uint32_t k = 0; k < count; k++)
		ret_members[k] = gpu + k;
	open_bus(w);
	return nvs;
}

static struct bus_multicast *multicast_of(struct world *w, uint32_t from, const uint32_t *members,
					  uint32_t count)
{
	struct bus_multicast *multicast;

	assert_int_equal(bus_multicast_create(w->bus, from, members, count, BURSTS, &multicast), 0);
	return multicast;
}

static void start(struct world *w, struct bus_multicast *multicast, bool reads, uint32_t count,
		  uint32_t bytes, uint16_t packet)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &ops, .bytes = bytes, .packet = packet};
		if (reads)
			bus_multicast_read(multicast, burst, w->now);
		else
			bus_multicast_write(multicast, burst, w->now);
	}
}

/* Once to the switch and from there to each, itself among them. */
static void test_a_write_comes_to_each(void **state)
{
	struct world *w = begin();
	uint32_t members[3];
	const uint32_t nvs = open_team(w, 3, 4, (uint8_t[]){1}, 1, members);
	struct bus_multicast *multicast = multicast_of(w, members[0], members, 3);

	(void)state;
	start(w, multicast, false, 1, 4096, 0);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, members[0], nvs).bytes, 4096);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(bus_nvlink_stats(w->bus, nvs, members[i]).bytes, 4096);
	assert_int_equal(bus_nvlink_stats(w->bus, members[1], nvs).bytes, 0);
	/* To the sender it goes behind the responses to what it has sent. */
	assert_int_equal(w->now, BURST_PS + RESPONSE_PS + BURST_PS);
	assert_false(w->bursts[0].is_lost);
	bus_multicast_destroy(multicast);
	close_bus(w);
}

/* A request to the switch, from there to each, and so much back from each; then one answer. */
static void test_a_read_has_one_answer(void **state)
{
	struct world *w = begin();
	uint32_t members[3];
	const uint32_t nvs = open_team(w, 3, 4, (uint8_t[]){1}, 1, members);
	struct bus_multicast *multicast = multicast_of(w, members[0], members, 3);

	(void)state;
	start(w, multicast, true, 1, 4096, 0);
	run(w);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(bus_nvlink_stats(w->bus, members[i], nvs).bytes, 4096);
		assert_int_equal(bus_nvlink_stats(w->bus, nvs, members[i]).bytes,
				 i == 0 ? 4096 : 0);
	}
	assert_int_equal(w->now, 2 * (REQUEST_PS + BURST_PS));
	bus_multicast_destroy(multicast);
	close_bus(w);
}

/* Somebody who is none of the team, as a GPU may be that only writes. */
static void test_a_sender_may_be_no_member(void **state)
{
	struct world *w = begin();
	uint32_t members[3];
	const uint32_t nvs = open_team(w, 3, 4, (uint8_t[]){1}, 1, members);
	struct bus_multicast *multicast = multicast_of(w, members[2], members, 2);

	(void)state;
	start(w, multicast, false, 1, 4096, 0);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, nvs, members[2]).bytes, 0);
	assert_int_equal(w->now, 2 * BURST_PS);
	bus_multicast_destroy(multicast);
	close_bus(w);
}

/* As many bursts on a switch as it has links of each, of 18. */
static void test_switches_take_turns_by_their_links(void **state)
{
	static const uint8_t links[] = {5, 4, 4, 5};
	struct world *w = begin();
	uint32_t members[2];
	const uint32_t nvs = open_team(w, 2, 4, links, 4, members);
	struct bus_multicast *multicast = multicast_of(w, members[0], members, 2);

	(void)state;
	start(w, multicast, true, 180, 1024, 0);
	run(w);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(bus_nvlink_stats(w->bus, members[1], nvs + i).bursts,
				 10 * links[i]);
	bus_multicast_destroy(multicast);
	close_bus(w);
}

static bool has_multicast(uint8_t gen, uint8_t links_of_last)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 3), nvs = add_nvswitches(w, 1);
	bool has;

	for (uint32_t k = 0; k < 3; k++)
		if (k < 2 || links_of_last > 0)
			join(w, gpu + k, nvs, link_of(gen, 1));
	join(w, gpu, gpu + 1, link_of(gen, 1));
	open_bus(w);
	has = bus_has_multicast(w->bus, (uint32_t[]){gpu, gpu + 1, gpu + 2}, 3);
	close_bus(w);
	return has;
}

static void test_who_has_it(void **state)
{
	struct world *w;
	uint32_t gpu;

	(void)state;
	assert_true(has_multicast(4, 1));
	assert_true(has_multicast(5, 1));
	assert_false(has_multicast(3, 1));
	assert_false(has_multicast(4, 0));
	w = begin();
	gpu = add_gpus(w, 2);
	open_bus(w);
	assert_false(bus_has_multicast(w->bus, &gpu, 1));
	close_bus(w);
}

static struct bus_fault down(uint32_t from, uint32_t to, ps_t from_at)
{
	return (struct bus_fault){.from = (uint16_t)from,
				  .to = (uint16_t)to,
				  .is_nvlink = true,
				  .kind = BUS_DOWN,
				  .from_at = from_at,
				  .until_at = PS_NEVER};
}

/* A switch without a link to one of them is none for the team, and without any all is lost. */
static void test_a_lost_link_is_gone_round(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 2; count++) {
		struct world *w = begin();
		uint32_t members[2];
		const uint32_t nvs = open_team(w, 2, 4, (uint8_t[]){1, 1}, 2, members);
		const struct bus_fault faults[] = {down(nvs, members[1], 0),
						   down(nvs + 1, members[1], 0)};
		struct bus_multicast *multicast = multicast_of(w, members[0], members, 2);

		bus_set_faults(w->bus, faults, count);
		start(w, multicast, false, 3, 1024, 0);
		start(w, multicast, true, 3, 1024, 0);
		run(w);
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(w->bursts[i].is_lost, count == 2);
		assert_int_equal(bus_nvlink_stats(w->bus, nvs + 1, members[1]).bursts,
				 count == 2 ? 0 : 6);
		assert_true(count == 2 || bus_nvlink_stats(w->bus, nvs, members[0]).bursts == 0);
		bus_multicast_destroy(multicast);
		close_bus(w);
	}
}

/* It goes down under what is on its way: that is lost, and what comes later is not. */
static void test_a_link_goes_down_meanwhile(void **state)
{
	struct world *w = begin();
	uint32_t members[2], lost = 0;
	const uint32_t nvs = open_team(w, 2, 4, (uint8_t[]){1, 1}, 2, members);
	const struct bus_fault fault = down(nvs, members[1], 10 * BURST_PS);
	struct bus_multicast *multicast = multicast_of(w, members[0], members, 2);

	(void)state;
	bus_set_faults(w->bus, &fault, 1);
	start(w, multicast, false, 40, 4096, 0);
	run(w);
	for (uint32_t i = 0; i < 40; i++)
		lost += w->bursts[i].is_lost;
	/* Of the 20 that take that switch, those that are there by then. */
	assert_in_range(lost, 10, 12);
	start(w, multicast, false, 40, 4096, 0);
	run(w);
	for (uint32_t i = 40; i < 80; i++)
		assert_false(w->bursts[i].is_lost);
	bus_multicast_destroy(multicast);
	close_bus(w);
}

/* Each of eight makes the sum of an eighth and writes it to all. Of 1024 bytes that it sums, each
 * sends and receives 9216 of data, in packets of 128 of 144 bytes on the wire, and in either
 * direction as many requests, or responses, of 16 bytes as those have: 9216 * 160 / 128 = 11,520
 * bytes on 18 links of 25 GB/s. So 8192 bytes are summed for each 25.6 ns: 320 GB/s. */
static void test_sums_of_eight(void **state)
{
	static const uint8_t links[] = {5, 4, 4, 5};
	enum { COUNT = 400 };
	struct world *w = begin();
	struct bus_multicast *multicasts[8];
	uint32_t members[8];

	(void)state;
	(void)open_team(w, 8, 4, links, 4, members);
	for (uint32_t i = 0; i < 8; i++) {
		multicasts[i] = multicast_of(w, members[i], members, 8);
		start(w, multicasts[i], true, COUNT, 1024, 128);
		start(w, multicasts[i], false, COUNT, 1024, 128);
	}
	run(w);
	assert_in_range((u128)COUNT * 8192 * 1000000 / w->now, 310000, 320000);
	for (uint32_t i = 0; i < 8; i++)
		bus_multicast_destroy(multicasts[i]);
	close_bus(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_comes_to_each),
		cmocka_unit_test(test_a_read_has_one_answer),
		cmocka_unit_test(test_a_sender_may_be_no_member),
		cmocka_unit_test(test_switches_take_turns_by_their_links),
		cmocka_unit_test(test_who_has_it),
		cmocka_unit_test(test_a_lost_link_is_gone_round),
		cmocka_unit_test(test_a_link_goes_down_meanwhile),
		cmocka_unit_test(test_sums_of_eight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
