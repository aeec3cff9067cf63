/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of programs that run. */
#include "tools/command.h"
#include "tools/live/live.h"
#include "transport/nic/host.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of one device of a host, in all processes that have it, or in one. */
struct sum {
	const struct nic_board *board; /* the first of them */
	int pid;		       /* 0: of several */
	uint32_t processes, qp_count;
	uint64_t values[NIC_COUNTER_COUNT];
};

struct wanted {
	int pid;	  /* 0: none in particular */
	const char *host; /* an address; NULL: any */
	char address[NIC_HOST_TEXT_MAX];
};

static struct wanted parse_who(const char *who)
{
	struct wanted wanted = {.pid = 0};

	if (!who)
		return wanted;
	if (who[strspn(who, "0123456789")] == '\0')
		wanted.pid = atoi(who);
	else if (nic_host_address(who, wanted.address))
		wanted.host = wanted.address;
	return wanted;
}

static bool is_wanted(const struct live_device *device, const struct wanted *wanted)
{
	return (wanted->pid == 0 || device->pid == wanted->pid) &&
	       (!wanted->host || strcmp(device->board.host, wanted->address) == 0);
}

/* As many as there are devices at most. */
static uint32_t sum_up(const struct live *live, const struct wanted *wanted, struct sum *ret_sums)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < live->count; i++) {
		const struct live_device *device = &live->devices[i];
		struct sum *sum = count > 0 ? &ret_sums[count - 1] : NULL;

		if (!is_wanted(device, wanted))
			continue;
		if (!sum || strcmp(sum->board->host, device->board.host) != 0 ||
		    strcmp(sum->board->device, device->board.device) != 0) {
			sum = &ret_sums[count++];
			*sum = (struct sum){.board = &device->board, .pid = device->pid};
		}
		sum->processes++;
		sum->pid = sum->processes > 1 ? 0 : sum->pid;
		sum->qp_count += device->board.qp_count;
		for (uint32_t k = 0; k < NIC_COUNTER_COUNT; k++)
			sum->values[k] += device->board.values[k];
	}
	return count;
}

static void print_sum(const struct sum *sum)
{
	command_line(stdout, "%s/1 %s %s, %u process%s, %u queue pair%s", sum->board->device,
		     sum->board->host, sum->board->command, sum->processes,
		     sum->processes == 1 ? "" : "es", sum->qp_count, sum->qp_count == 1 ? "" : "s");
	for (uint32_t k = 0; k < NIC_COUNTER_COUNT; k++)
		if (sum->values[k] != 0)
			printf("  %-32s %" PRIu64 "\n", nic_counter_at(k)->name, sum->values[k]);
}

/* As rdma statistic. */
static void print_sum_hw(const struct sum *sum)
{
	printf("link %s/1", sum->board->device);
	for (uint32_t k = 0; k < NIC_COUNTER_COUNT; k++)
		if (nic_counter_at(k)->is_hw)
			printf(" %s %" PRIu64, nic_counter_at(k)->name, sum->values[k]);
	putchar('\n');
}

static json_t *sum_json(const struct sum *sum)
{
	json_t *object = json_pack("{s:s, s:i, s:s, s:i, s:i, s:i}", "ifname", sum->board->device,
				   "port", 1, "host", sum->board->host, "pid", sum->pid,
				   "processes", (int)sum->processes, "qps", (int)sum->qp_count);

	for (uint32_t k = 0; object && k < NIC_COUNTER_COUNT; k++)
		json_object_set_new(object, nic_counter_at(k)->name,
				    json_integer((json_int_t)sum->values[k]));
	return object;
}

/* With --watch a line each time. */
static int print_sums_json(const struct sum *sums, uint32_t count, bool is_line)
{
	json_t *array = json_array();
	int ret = COMMAND_BROKEN;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, sum_json(&sums[i]));
	if (array && json_array_size(array) == count &&
	    json_dumpf(array, stdout, is_line ? JSON_COMPACT : JSON_INDENT(1)) == 0)
		ret = COMMAND_DONE;
	putchar('\n');
	json_decref(array);
	return ret;
}

static int print_sums(const struct command_options *options, const struct sum *sums, uint32_t count)
{
	if (options->json)
		return print_sums_json(sums, count, options->watch_ms != 0);
	for (uint32_t i = 0; i < count; i++)
		(options->hw ? print_sum_hw : print_sum)(&sums[i]);
	if (options->watch_ms && !options->hw)
		putchar('\n');
	return COMMAND_DONE;
}

/* COMMAND_FAILED: nobody is there. */
static int stat_once(const struct command_options *options, const struct wanted *wanted)
{
	struct sum *sums = NULL;
	struct live live;
	uint32_t count;
	int ret = live_read(&live);

	if (ret == COMMAND_DONE && live.count > 0) {
		sums = calloc(live.count, sizeof(*sums));
		ret = sums ? COMMAND_DONE : COMMAND_BROKEN;
	}
	if (ret == COMMAND_DONE) {
		count = sums ? sum_up(&live, wanted, sums) : 0;
		if (count == 0 && (wanted->pid != 0 || wanted->host || options->watch_ms))
			ret = COMMAND_FAILED;
		else
			ret = print_sums(options, sums, count);
	}
	free(sums);
	live_free(&live);
	return ret;
}

int live_stat(const struct command_options *options, const char *who)
{
	const struct wanted wanted = parse_who(who);
	const struct timespec pause = {.tv_sec = (time_t)(options->watch_ms / 1000),
				       .tv_nsec = (long)(options->watch_ms % 1000 * 1000000)};
	int ret = stat_once(options, &wanted);

	if (ret != COMMAND_DONE || !options->watch_ms)
		return ret;
	while (ret == COMMAND_DONE && fflush(stdout) == 0 && !ferror(stdout)) {
		(void)nanosleep(&pause, NULL);
		ret = stat_once(options, &wanted);
	}
	return ret == COMMAND_FAILED ? COMMAND_DONE : ret; /* it has ended */
}
