/* SPDX-License-Identifier: BSD-2-Clause */
/* What PCI Express links carry, against figures from outside: sizes and rates of the base
 * specification, and those that the model of Neugebauer et al., SIGCOMM 2018
 * (github.com/pcie-bench/pcie-model), prints. */
#include "gpu/bus/pcie.h"

#include "tests/test.h"

static struct pcie_link link_of(uint8_t gen, uint8_t width, uint16_t mps)
{
	return (struct pcie_link){.gen = gen, .width = width, .mps = mps, .mrrs = 512};
}

/* Bytes of payload a second, in MB, of writes without end. */
static uint64_t write_rate(const struct pcie_link *link)
{
	const uint32_t payload = 1 << 20;
	const uint64_t count = 1000;

	return payload * count * 1000000 / pcie_time(link, count * pcie_write_bytes(link, payload));
}

static void assert_near(uint64_t found, uint64_t wanted, uint64_t per_mille)
{
	assert_in_range(found, wanted - wanted * per_mille / 1000,
			wanted + wanted * per_mille / 1000);
}

/* A gigabyte over one lane: 250, 500, 984.6, 1969.2, 3938.5 MB/s; and flits of 256 bytes, 236 of
 * which are TLPs, at 8000 and 16000. */
static void test_rates(void **state)
{
	static const uint64_t ps[] = {
		[1] = 4000000000000, [2] = 2000000000000, [3] = 1015625000000, [4] = 507812500000,
		[5] = 253906250000,  [6] = 135593220339,  [7] = 67796610170};

	(void)state;
	for (uint8_t gen = 1; gen <= 7; gen++) {
		const struct pcie_link one = link_of(gen, 1, 256), sixteen = link_of(gen, 16, 256);

		assert_int_equal(pcie_time(&one, 1000000000), ps[gen]);
		assert_int_equal(pcie_time(&sixteen, 1000000000), (ps[gen] + 15) / 16);
	}
}

static void test_sizes(void **state)
{
	struct pcie_link link = link_of(3, 8, 256);

	(void)state;
	assert_int_equal(pcie_write_bytes(&link, 1), 1 + 24);
	assert_int_equal(pcie_write_bytes(&link, 256), 256 + 24);
	assert_int_equal(pcie_write_bytes(&link, 257), 257 + 2 * 24);
	assert_int_equal(pcie_write_bytes(&link, 4096), 4096 + 16 * 24);
	assert_int_equal(pcie_completion_bytes(&link, 512), 512 + 2 * 20);
	assert_int_equal(pcie_request_bytes(&link, 512), 24);
	assert_int_equal(pcie_request_bytes(&link, 513), 48);
	assert_int_equal(pcie_request_bytes(&link, 0), 24);
	link.has_32_bits = true;
	assert_int_equal(pcie_write_bytes(&link, 256), 256 + 20);
	assert_int_equal(pcie_completion_bytes(&link, 256), 256 + 20);
	assert_int_equal(pcie_request_bytes(&link, 256), 20);
	link.has_ecrc = true;
	assert_int_equal(pcie_write_bytes(&link, 512), 512 + 2 * 24);
	link = link_of(6, 16, 256);
	assert_int_equal(pcie_write_bytes(&link, 256), 256 + 16);
}

/* Shares of the wire, in thousandths of a per cent: P/(P+24), and P/(P+20) with short addresses. */
static void test_headers_take_their_share(void **state)
{
	static const struct {
		uint16_t mps;
		uint32_t with_64, with_32;
	} rows[] = {
		{64, 72727, 76190}, {128, 84211, 86486}, {256, 91429, 92754}, {512, 95522, 96241}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pcie_link link = link_of(3, 8, rows[i].mps);

		assert_near(write_rate(&link) * 100000 / 7877, rows[i].with_64, 1);
		link.has_32_bits = true;
		assert_near(write_rate(&link) * 100000 / 7877, rows[i].with_32, 1);
	}
}

static void test_acks_and_credits_take_their_share(void **state)
{
	static const struct {
		uint8_t width;
		uint16_t mps;
		uint64_t rate;
	} rows[] = {{8, 128, 5965},   {8, 256, 6615},	{8, 512, 6843},
		    {16, 128, 11758}, {16, 256, 12994}, {16, 512, 13686}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pcie_link link = link_of(3, rows[i].width, rows[i].mps);

		link.dllps = PCIE_DLLPS_BY_BYTES;
		assert_near(write_rate(&link), rows[i].rate, 1);
	}
}

/* After so many bytes each: tables 3-7 to 3-9 of revision 3.0 of the base specification (those of
 * x1 to x8 and x16 are 3-10 to 3-12 of revision 6.3 as well). Of those
 * 16 are an Ack and an UpdateFC, and 4 of 1538 symbols a skip ordered set. */
static void test_acks_are_by_generation(void **state)
{
	static const struct {
		uint8_t gen, width;
		uint16_t mps;
		uint64_t bytes;
	} rows[] = {{1, 1, 128, 237},  {1, 8, 256, 107},  {2, 4, 256, 169},  {2, 8, 512, 137},
		    {3, 4, 256, 214},  {3, 16, 256, 168}, {4, 8, 4096, 630}, {5, 16, 128, 144},
		    {1, 2, 128, 128},  {2, 2, 512, 340},  {3, 2, 256, 313},  {3, 2, 4096, 2177},
		    {1, 12, 128, 58},  {2, 12, 256, 141}, {3, 12, 512, 205}, {1, 12, 4096, 706},
		    {1, 32, 256, 45},  {2, 32, 512, 103}, {3, 32, 128, 129}, {5, 32, 1024, 180},
		    {4, 1, 1024, 1167}};
	const uint64_t bytes = 1000000000;
	uint64_t rows_bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pcie_link link = link_of(rows[i].gen, rows[i].width, rows[i].mps);
		const uint64_t plain = pcie_time(&link, bytes) / 1000000;

		link.dllps = PCIE_DLLPS_BY_BYTES;
		assert_near(pcie_time(&link, bytes) / 1000000,
			    plain * rows[i].bytes * 1538 / ((rows[i].bytes - 16) * 1534), 1);
		/* Or after so many symbol times, of which each has a byte of every lane. */
		link.dllps = PCIE_DLLPS_BY_TIMERS;
		rows_bytes = rows[i].bytes * rows[i].width;
		assert_near(pcie_time(&link, bytes) / 1000000,
			    plain * rows_bytes * 1538 / ((rows_bytes - 16) * 1534), 1);
	}
}

/* 236/256 of 128 GB/s, before headers, with the DLLPs that have their place in the flit or not. */
static void test_flits(void **state)
{
	struct pcie_link link = link_of(6, 16, 256);

	(void)state;
	assert_near(1000000ull * 1000000 / pcie_time(&link, 1000000), 118000, 1);
	link.dllps = PCIE_DLLPS_BY_BYTES;
	assert_near(1000000ull * 1000000 / pcie_time(&link, 1000000), 118000, 1);
}

/* Each but the first two differs in one thing from a link. */
static void test_what_is_no_link(void **state)
{
	static const struct {
		struct pcie_link link;
		bool is_valid;
	} rows[] = {
		{{.gen = 4, .width = 16, .mps = 256, .mrrs = 512}, true},
		{{.gen = 7, .width = 12, .mps = 4096, .mrrs = 64}, true},
		{{.gen = 0, .width = 16, .mps = 256, .mrrs = 512}, false},
		{{.gen = 8, .width = 16, .mps = 256, .mrrs = 512}, false},
		{{.gen = 4, .width = 3, .mps = 256, .mrrs = 512}, false},
		{{.gen = 4, .width = 0, .mps = 256, .mrrs = 512}, false},
		{{.gen = 4, .width = 64, .mps = 256, .mrrs = 512}, false},
		{{.gen = 4, .width = 32, .mps = 200, .mrrs = 512}, false},
		{{.gen = 4, .width = 32, .mps = 8192, .mrrs = 512}, false},
		{{.gen = 4, .width = 32, .mps = 32, .mrrs = 512}, false},
		{{.gen = 4, .width = 12, .mps = 4096, .mrrs = 100}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(pcie_link_is_valid(&rows[i].link), rows[i].is_valid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_headers_take_their_share),
		cmocka_unit_test(test_acks_and_credits_take_their_share),
		cmocka_unit_test(test_acks_are_by_generation),
		cmocka_unit_test(test_flits),
		cmocka_unit_test(test_what_is_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
