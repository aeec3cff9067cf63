/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions, keys and the one check, completion queues, protection domains. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static int wc_count, cq_event_count, async_count;

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
	wc_count++;
}

static void on_cq_event(void *world, void *owner, ps_t now)
{
	(void)world, (void)owner, (void)now;
	cq_event_count++;
}

static void on_async(void *world, void *owner, int event, ps_t now)
{
	(void)world, (void)owner, (void)event, (void)now;
	async_count++;
}

static const struct hca_observer observer = {on_wc, on_cq_event, unheard_place, on_async};
static struct hca_device *dev;
static struct hca_pd *pd;
static uint8_t bytes[64];

static struct hca_device_params device_params(uint64_t key)
{
	return (struct hca_device_params){
		.key = {key, 7},
		.observer = &observer,
		.profile = {.line_rate_bps = 1000000000,
			    .mtu_max = 4096,
			    .psn_window = 16,
			    .ack_every = 64,
			    .cc = &cc_none,
			    .qp_max = 16,
			    .cq_max = 3,
			    .mr_max = 3000,
			    .pd_max = 2,
			    .wr_max = 64,
			    .sge_max = 4,
			    .cqe_max = 64,
			    .inline_max = 64,
			    .rd_atomic_max = 4},
	};
}

static struct hca_device *device(uint64_t key)
{
	const struct hca_device_params params = device_params(key);

	return hca_device_create(&params);
}

static int setup(void **state)
{
	(void)state;
	dev = device(1);
	return !dev || hca_pd_create(dev, &pd);
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(dev);
	return 0;
}

static struct hca_mr *region(uint64_t iova, uint64_t length, uint32_t access)
{
	const struct hca_mr_params params = {.ops = &hca_mem_host,
					     .iova = iova,
					     .length = length,
					     .access = access,
					     .address = (uintptr_t)bytes};
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_create(dev, pd, &params, &mr), 0);
	return mr;
}

static void test_keys_are_unique_and_tell_no_order(void **state)
{
	static struct hca_mr *mrs[3000];
	uint32_t rising = 0, neighbours = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		mrs[i] = region(0, 64, 0);
		assert_int_equal(mrs[i]->number, i);
		rising += i && mrs[i]->rkey > mrs[i - 1]->rkey;
		neighbours += i && (mrs[i]->rkey >> 8) - (mrs[i - 1]->rkey >> 8) + 1 <= 2;
	}
	for (int i = 0; i < 3000; i++)
		assert_ptr_equal(hca_mr_find(dev, pd, mrs[i]->rkey, 0, 1, 0), mrs[i]);
	assert_in_range(rising, 1350, 1650); /* half of them, +- 5 sigma */
	assert_in_range(neighbours, 0, 4);
}

static void test_keys_depend_on_the_device_key(void **state)
{
	uint32_t key = region(0, 64, 0)->rkey;

	(void)state;
	hca_device_destroy(dev);
	dev = device(2);
	assert_int_equal(hca_pd_create(dev, &pd), 0);
	assert_int_not_equal(region(0, 64, 0)->rkey, key);
	hca_device_destroy(dev);
	dev = device(1);
	assert_int_equal(hca_pd_create(dev, &pd), 0);
	assert_int_equal(region(0, 64, 0)->rkey, key);
}

static void test_an_old_key_does_not_open_the_next_region(void **state)
{
	struct hca_mr *mr = region(0, 64, 0);
	uint32_t old = mr->rkey;

	(void)state;
	assert_int_equal(hca_mr_destroy(dev, mr), 0);
	assert_null(hca_mr_find(dev, pd, old, 0, 1, 0));
	mr = region(0, 64, 0);
	assert_int_equal(mr->rkey >> 8, old >> 8); /* the same place, another tag */
	assert_null(hca_mr_find(dev, pd, old, 0, 1, 0));
	assert_ptr_equal(hca_mr_find(dev, pd, mr->rkey, 0, 1, 0), mr);
}

static void test_every_wrong_bit_of_a_key_is_refused(void **state)
{
	struct hca_mr *mr = region(0, 64, 0);

	(void)state;
	for (int i = 0; i < 32; i++)
		assert_null(hca_mr_find(dev, pd, mr->rkey ^ 1u << i, 0, 1, 0));
}

static void test_the_one_check(void **state)
{
	struct hca_mr *mr = region(1000, 64, HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ);
	struct hca_pd *other;

	(void)state;
	assert_int_equal(hca_pd_create(dev, &other), 0);
	assert_non_null(hca_mr_find(dev, pd, mr->rkey, 1000, 64, HCA_ACCESS_REMOTE_READ));
	assert_non_null(hca_mr_find(dev, pd, mr->rkey, 1063, 1, 0));
	assert_non_null(hca_mr_find(dev, pd, mr->rkey, 5, 0, 0)); /* nothing is within any bounds */
	assert_null(hca_mr_find(dev, pd, mr->rkey, 1000, 65, 0));
	assert_null(hca_mr_find(dev, pd, mr->rkey, 999, 1, 0));
	assert_null(hca_mr_find(dev, pd, mr->rkey, 1064, 1, 0));
	assert_null(hca_mr_find(dev, pd, mr->rkey, 1063, UINT64_MAX, 0));
	assert_null(hca_mr_find(dev, pd, mr->rkey, 1000, 1, HCA_ACCESS_REMOTE_WRITE));
	assert_null(hca_mr_find(dev, pd, mr->rkey, 1000, 1,
				HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE));
	assert_null(hca_mr_find(dev, other, mr->rkey, 1000, 1, 0));
	assert_null(hca_mr_find(dev, pd, 0, 0, 0, 0));
}

static void test_regions_that_cannot_be(void **state)
{
	static const struct hca_mr_params bad[] = {
		{.ops = &hca_mem_host, .iova = 2, .length = UINT64_MAX},
		{.ops = &hca_mem_host, .length = 1, .access = HCA_ACCESS_REMOTE_WRITE},
		{.ops = &hca_mem_host, .length = 1, .access = HCA_ACCESS_REMOTE_ATOMIC},
	};
	struct hca_mr *mr = NULL;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(hca_mr_create(dev, pd, &bad[i], &mr), -EINVAL);
	assert_null(mr);
	region(UINT64_MAX, 1, 0); /* the last byte that there is */
}

static void test_limits_and_busy_objects(void **state)
{
	struct hca_pd *third, *second;
	struct hca_cq *cq;
	struct hca_mr *mr = region(0, 1, 0);

	(void)state;
	assert_int_equal(hca_pd_create(dev, &second), 0);
	assert_int_equal(hca_pd_create(dev, &third), -ENOMEM);
	assert_int_equal(hca_pd_destroy(dev, pd), -EBUSY);
	assert_int_equal(hca_mr_destroy(dev, mr), 0);
	assert_int_equal(hca_pd_destroy(dev, pd), 0);
	assert_int_equal(hca_cq_create(dev, 0, NULL, &cq), -EINVAL);
	assert_int_equal(hca_cq_create(dev, 65, NULL, &cq), -EINVAL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hca_cq_create(dev, 5, NULL, &cq), 0);
	assert_true(hca_cq_depth(cq) >= 5);
	assert_int_equal(hca_cq_create(dev, 5, NULL, &cq), -ENOMEM);
	assert_int_equal(hca_cq_destroy(dev, cq), 0);
	assert_int_equal(hca_cq_create(dev, 5, NULL, &cq), 0);
}

static void test_host_atomics_at_any_address(void **state)
{
	for (uint64_t offset = 0; offset < 9; offset++) {
		struct hca_mr *mr = region(0, 64, 15);
		uint64_t value = 40, original;

		memcpy(bytes + offset, &value, 8);
		hca_mem_host.atomic(mr, offset, false, 2, 0, &original);
		assert_int_equal(original, 40);
		hca_mem_host.atomic(mr, offset, true, 9, 41, &original);
		assert_int_equal(original, 42);
		memcpy(&value, bytes + offset, 8);
		assert_int_equal(value, 42);
		hca_mem_host.atomic(mr, offset, true, 9, 42, &original);
		memcpy(&value, bytes + offset, 8);
		assert_int_equal(value, 9);
	}
	(void)state;
}

/* The last bytes go in one store, as wide as the end allows: every byte, and no other one. */
static void test_placement_at_any_address(void **state)
{
	uint8_t from[32], want[64];

	(void)state;
	for (uint32_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	for (uint64_t offset = 0; offset < 16; offset++) {
		for (uint32_t length = 0; length <= sizeof(from); length++) {
			struct hca_mr *mr = region(0, 64, HCA_ACCESS_LOCAL_WRITE);

			memset(bytes, 0xee, sizeof(bytes));
			memset(want, 0xee, sizeof(want));
			memcpy(want + offset, from, length);
			hca_mem_host.write(mr, offset, from, length);
			assert_memory_equal(bytes, want, sizeof(bytes));
			assert_int_equal(hca_mr_destroy(dev, mr), 0);
		}
	}
}

/* Whatever allocation fails, what was made before is given back (the leak checker sees it), and
 * the same call succeeds afterwards. */
static void test_no_memory_at_any_point(void **state)
{
	const struct hca_mr_params params = {
		.ops = &hca_mem_host, .length = 64, .address = (uintptr_t)bytes};
	bool done = false;

	(void)state;
	for (unsigned n = 1; !done; n++) {
		struct hca_device *other;
		struct hca_qp_init init = {.type = HCA_QPT_RC, .cap = {4, 4, 2, 2, 8}};
		struct hca_cq *cq = NULL;
		struct hca_mr *mr;
		struct hca_qp *qp;

		assert_true(n < 200);
		util_alloc_fail_after(n);
		other = device(3);
		done = other && hca_pd_create(other, &init.pd) == 0 &&
		       hca_cq_create(other, 4, NULL, &cq) == 0 &&
		       hca_mr_create(other, init.pd, &params, &mr) == 0;
		init.send_cq = init.recv_cq = cq;
		for (int i = 0; done && i < 5; i++) /* the map and the heaps grow */
			done = hca_qp_create(other, &init, &qp) == 0;
		for (int i = 0; done && i < 10; i++) { /* and so do slabs */
			init.half = i % 2 ? HCA_REQUESTER : HCA_RESPONDER;
			init.cap =
				(struct hca_qp_cap){.send_depth = i % 2, .recv_depth = 1 - i % 2};
			done = hca_qp_create(other, &init, &qp) == 0;
		}
		util_alloc_fail_after(0);
		if (other && !init.pd)
			assert_int_equal(hca_pd_create(other, &init.pd), 0);
		if (other)
			assert_int_equal(hca_mr_create(other, init.pd, &params, &mr), 0);
		hca_device_destroy(other);
	}
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_keys_are_unique_and_tell_no_order), S(test_keys_depend_on_the_device_key),
    S(test_an_old_key_does_not_open_the_next_region), S(test_every_wrong_bit_of_a_key_is_refused),
    S(test_the_one_check), S(test_regions_that_cannot_be), S(test_limits_and_busy_objects),
    S(test_host_atomics_at_any_address), S(test_placement_at_any_address),
    S(test_no_memory_at_any_point))
