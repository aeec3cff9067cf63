/* SPDX-License-Identifier: BSD-2-Clause */

/* Hosts: addresses, and what becomes of a fabric when memory ends. */
#include "tests/unit/models_test.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static struct world world;

static struct wire_path path_to(const uint8_t ip[16])
{
	struct wire_path path = {0};

	memcpy(path.dst_ip, ip, 16);
	return path;
}

/* h10 comes before h2: addresses go by name. */
static void test_addresses_go_by_name(void **state)
{
	static const uint8_t second[16] = {[10] = 0xff, 0xff, 10, 0, 0, 3},
			     mac[6] = {2, 0, 0, 0, 0, 3};
	uint8_t ip[16], found[6];

	(void)state;
	world_set_up(&world, 12);
	world_open(&world);
	host_ip(world_host(&world, 10), ip);
	assert_memory_equal(ip, second, 16); /* h0, h1, h10 */
	host_mac(world_host(&world, 10), found);
	assert_memory_equal(found, mac, 6);
	assert_null(fabric_host(&world.fabric, "h12"));
	assert_null(fabric_host(&world.fabric, "s0"));
	world_close(&world);
}

static void test_ipv6_addresses(void **state)
{
	static const uint8_t first[16] = {0xfd, [15] = 1}, last[16] = {0xfd, [15] = 3},
			     other[16] = {0xfd, [8] = 1, [15] = 1};
	struct wire_path path;
	uint8_t ip[16];

	(void)state;
	world_set_up(&world, 3);
	world.params.ipv6 = true;
	world_open(&world);
	host_ip(world_host(&world, 0), ip);
	assert_memory_equal(ip, first, 16);
	path = path_to(last);
	assert_int_equal(host_resolve(world_host(&world, 0), &path, 1, 2), 0);
	assert_int_equal(path.link_dst, world_host(&world, 2)->address);
	path = path_to(other);
	assert_int_equal(host_resolve(world_host(&world, 0), &path, 1, 2), -EHOSTUNREACH);
	world_close(&world);
}

static void test_only_hosts_are_reached(void **state)
{
	static const uint8_t ips[][16] = {
		{[10] = 0xff, 0xff, 10, 0, 0, 0},   {[10] = 0xff, 0xff, 10, 0, 0, 4},
		{[10] = 0xff, 0xff, 10, 1, 0, 1},   {[10] = 0xff, 0xff, 11, 0, 0, 1},
		{[9] = 1, 0xff, 0xff, 10, 0, 0, 1}, {[0] = 0xfd, [15] = 1},
		{[10] = 0xff, 0xfe, 10, 0, 0, 1},   {[12] = 10, 0, 0, 1},
	};

	(void)state;
	world_set_up(&world, 3);
	world_open(&world);
	for (size_t i = 0; i < sizeof(ips) / sizeof(ips[0]); i++) {
		struct wire_path path = path_to(ips[i]);

		assert_int_equal(host_resolve(world_host(&world, 0), &path, 1, 2), -EHOSTUNREACH);
	}
	world_close(&world);
}

/* 0x11 * 0x22 = 0x242, which folds to itself; 0xabcdef * 0x123456 by a script. */
static void test_source_ports_are_the_kernels(void **state)
{
	static const uint8_t ip[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
	struct wire_path path = path_to(ip), back;
	uint32_t hash;

	(void)state;
	world_set_up(&world, 2);
	world_open(&world);
	assert_int_equal(host_resolve(world_host(&world, 0), &path, 0x11, 0x22), 0);
	assert_int_equal(path.udp_sport, 0xc242);
	hash = path.link_hash;
	assert_int_equal(host_resolve(world_host(&world, 0), &path, 0xabcdef, 0x123456), 0);
	assert_int_equal(path.udp_sport, 0xc3c8);
	assert_int_not_equal(path.link_hash, hash); /* what ECMP sees */
	back = path_to(path.src_ip);
	assert_int_equal(host_resolve(world_host(&world, 1), &back, 0x123456, 0xabcdef), 0);
	assert_int_equal(back.udp_sport, path.udp_sport);
	assert_memory_equal(back.src_ip, ip, 16);
	assert_memory_equal(back.dst_mac, path.src_mac, 6);
	world_close(&world);
}

static void run_out(const struct pfc_params *pfc, const struct ecn *ecn)
{
	int ret = -ENOMEM;
	unsigned n;

	for (n = 1; ret != 0; n++) {
		assert_true(n < 2000);
		world_set_up(&world, 3);
		world.params.switches.pfc = pfc;
		world.params.switches.ecn = ecn;
		util_alloc_fail_after(n);
		ret = world_try_open(&world);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	}
	assert_true(n > 20); /* or the countdown does not count */
	world_close(&world);
}

static void test_no_memory_for_a_fabric(void **state)
{
	const struct pfc_params pfc = {.lossless = 1,
				       .dynamic = true,
				       .alpha_num = 1,
				       .alpha_den = 8,
				       .resume_bytes = 8400};
	const struct ecn ecn = ecn_make(100000, 400000, 1, 5);

	(void)state;
	run_out(NULL, NULL);
	run_out(&pfc, &ecn);
}

static void idle(void *arg)
{
	(void)arg;
}

static void test_no_memory_for_a_program(void **state)
{
	int ret = -ENOMEM;

	(void)state;
	for (int backend = 0; backend < 2; backend++) {
		world_set_up(&world, 2);
		world.host.coro_backend = backend;
		world_open(&world);
		ret = -ENOMEM;
		for (unsigned n = 1; ret != 0; n++) {
			assert_true(n < 20);
			util_alloc_fail_after(n);
			ret = vb_spawn((struct vb_host *)world_host(&world, 0), "p", idle, NULL, 0);
			util_alloc_fail_after(0);
			assert_true(ret == 0 || ret == -ENOMEM);
		}
		world_run(&world);
		world_close(&world);
	}
}

RUN(T(test_addresses_go_by_name), T(test_ipv6_addresses), T(test_only_hosts_are_reached),
    T(test_source_ports_are_the_kernels), T(test_no_memory_for_a_fabric),
    T(test_no_memory_for_a_program))
