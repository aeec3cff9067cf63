/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_loops [ROUNDS]: the CPU time that a packet takes through a socket of the loopback
 * interface, there and out again, on each loop of the NIC; one JSON object a line. Both take turns,
 * TURNS times, and the cheapest turn of each counts: noise only adds. Nothing but the link is at
 * work. */
#include "transport/nic/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 9, LOOPS = 2 };

static struct nic_stats stats;
static uint8_t memory[NIC_BATCH][NIC_SLOT_BYTES];

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct nic_link *open_link(bool rings, uint8_t last)
{
	static struct nic_params params = {.addr_count = 1};
	const uint8_t ip[16] = {[10] = 0xff, 0xff, 127, 79, 0, last};
	struct nic_link_params link_params = {.params = &params, .stats = &stats};
	struct nic_link *link;

	memcpy(params.addr[0], ip, sizeof(ip));
	link_params.fd = nic_link_udp_socket(&params, false);
	if (link_params.fd < 0 || (rings ? nic_link_uring_open(&link_params, &link)
					 : nic_link_udp_open(&link_params, &link)) != 0) {
		fprintf(stderr, "bench_loops: no %s\n", rings ? "io_uring" : "socket");
		exit(2);
	}
	return link;
}

/* To itself, in batches; nanoseconds. What is empty is looked at once more for each batch. */
static uint64_t turn(struct nic_link *link, uint8_t last, uint32_t batch, uint32_t bytes,
		     uint32_t rounds)
{
	struct nic_slot slots[NIC_BATCH] = {{.length = 0}}, came[NIC_BATCH] = {{.length = 0}};
	const uint8_t ip[16] = {[10] = 0xff, 0xff, 127, 79, 0, last};
	const uint64_t began = cpu_ns();

	for (uint32_t i = 0; i < NIC_BATCH; i++) {
		slots[i] = (struct nic_slot){.buf = memory[i], .length = bytes};
		came[i].buf = memory[i];
		memcpy(slots[i].path.dst_ip, ip, sizeof(ip));
	}
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t got = 0, more;

		if (link->ops->send(link, slots, batch) != batch)
			exit(3);
		while ((more = link->ops->recv(link, came, NIC_BATCH)) > 0)
			got += more;
		if (got != batch)
			exit(3);
	}
	return cpu_ns() - began;
}

/* Nothing is there. */
static uint64_t look(struct nic_link *link, uint32_t rounds)
{
	struct nic_slot came[NIC_BATCH] = {{.length = 0}};
	const uint64_t began = cpu_ns();

	for (uint32_t i = 0; i < NIC_BATCH; i++)
		came[i].buf = memory[i];
	for (uint32_t round = 0; round < rounds; round++)
		if (link->ops->recv(link, came, NIC_BATCH) != 0)
			exit(3);
	return cpu_ns() - began;
}

static void one_work(struct nic_link *const links[LOOPS], uint32_t batch, uint32_t bytes,
		     uint32_t rounds)
{
	uint64_t least[LOOPS] = {UINT64_MAX, UINT64_MAX};
	const uint32_t each = batch == 0 ? rounds : rounds / batch;

	for (uint32_t i = 0; i < TURNS * LOOPS; i++) {
		const uint32_t k = i % LOOPS;
		const uint64_t ns = batch == 0
					    ? look(links[k], each)
					    : turn(links[k], (uint8_t)(1 + k), batch, bytes, each);

		if (ns < least[k])
			least[k] = ns;
	}
	fflush(stdout);
	printf("{\"work\": \"%s\", \"batch\": %" PRIu32 ", \"bytes\": %" PRIu32
	       ", \"epoll_ns\": %.0f, \"io_uring_ns\": %.0f}\n",
	       batch == 0 ? "look" : "packet", batch, bytes,
	       (double)least[0] / (batch ? each * batch : each),
	       (double)least[1] / (batch ? each * batch : each));
}

int main(int argc, char **argv)
{
	static const uint32_t batches[] = {1, 4, 16, 32}, sizes[] = {64, 1100, 4150};
	const uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 4000;
	struct nic_link *const links[LOOPS] = {open_link(false, 1), open_link(true, 2)};

	one_work(links, 0, 0, rounds);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(batches) / sizeof(batches[0]); k++)
			one_work(links, batches[k], sizes[i], rounds);
	return 0;
}
