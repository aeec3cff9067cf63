/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena devices: what there is now, and what there can be. */
#include "tools/command.h"
#include "tools/live/live.h"
#include "transport/nic/kind.h"
#include "util/quantity.h"

#include <jansson.h>
#include <time.h>

static uint64_t age_s(const struct nic_board *board)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec - board->since_ns / 1000000000;
}

static void print_devices(const struct live *live)
{
	if (live->count == 0)
		puts("no program has an emulated device now");
	else
		command_line(stdout, "%-16s %-10s %8s %-15s %4s %6s %8s  %s", "HOST", "DEVICE",
			     "PID", "COMMAND", "SLOT", "QPS", "AGE", "PROFILE");
	for (uint32_t i = 0; i < live->count; i++) {
		const struct nic_board *board = &live->devices[i].board;

		command_line(stdout, "%-16s %-10s %8d %-15s %4u %6u %7llus  %s", board->host,
			     board->device, live->devices[i].pid, board->command, board->slot,
			     board->qp_count, (unsigned long long)age_s(board), board->profile);
		for (uint32_t k = 0; k < board->gid_count; k++) {
			char gid[40];

			live_gid_text(board->gids[k], gid);
			command_line(stdout, "%-16s GID %u %s", "", k, gid);
		}
	}
	puts("\nfor \"verbena exec --profile KIND\":");
	for (uint32_t i = 0; nic_kind_at(i); i++)
		command_line(stdout, "%-16s %s", nic_kind_at(i)->name, nic_kind_at(i)->summary);
}

static json_t *device_json(const struct live_device *device)
{
	const struct nic_board *board = &device->board;
	json_t *gids = json_array();

	for (uint32_t k = 0; k < board->gid_count; k++) {
		char gid[40];

		live_gid_text(board->gids[k], gid);
		json_array_append_new(gids, json_string(gid));
	}
	return json_pack("{s:s, s:s, s:i, s:s, s:i, s:i, s:I, s:s, s:o}", "host", board->host,
			 "device", board->device, "pid", device->pid, "command", board->command,
			 "slot", (int)board->slot, "qps", (int)board->qp_count, "age_s",
			 (json_int_t)age_s(board), "profile", board->profile, "gids", gids);
}

static json_t *kind_json(const struct nic_kind *kind)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
			 "name", kind->name, "summary", kind->summary, "fw_ver", kind->fw_ver,
			 "board_id", kind->board_id, "rate_bps", (json_int_t)kind->rate_bps,
			 "max_qp", (int)kind->qp_max, "max_qp_wr", (int)kind->wr_max, "max_sge",
			 (int)kind->sge_max, "max_cq", (int)kind->cq_max, "max_cqe",
			 (int)kind->cqe_max, "max_mr", (int)kind->mr_max, "max_pd",
			 (int)kind->pd_max, "max_srq", (int)kind->srq_max, "max_qp_rd_atom",
			 (int)kind->rd_atomic_max);
}

static int print_devices_json(const struct live *live)
{
	json_t *devices = json_array(), *kinds = json_array(), *all;
	int ret = COMMAND_BROKEN;

	for (uint32_t i = 0; i < live->count; i++)
		json_array_append_new(devices, device_json(&live->devices[i]));
	for (uint32_t i = 0; nic_kind_at(i); i++)
		json_array_append_new(kinds, kind_json(nic_kind_at(i)));
	all = json_pack("{s:o, s:o}", "devices", devices, "profiles", kinds);
	if (all && json_dumpf(all, stdout, JSON_INDENT(1)) == 0)
		ret = COMMAND_DONE;
	putchar('\n');
	json_decref(all);
	return ret;
}

static int devices_run(const struct command_options *options)
{
	struct live live;
	int ret = live_read(&live);

	if (ret == COMMAND_DONE && options->json)
		ret = print_devices_json(&live);
	else if (ret == COMMAND_DONE)
		print_devices(&live);
	live_free(&live);
	return ret;
}

const struct command command_devices = {
	.name = "devices",
	.arguments = "",
	.summary = "emulated devices that are open now, and which there can be",
	.help = "Lists the devices that programs of this user have open on this machine now: host, "
		"name,\n"
		"process, slot on the host, queue pairs, profile and GIDs; and the profiles of "
		"verbena exec.\n",
	.options = COMMAND_JSON,
	.run = devices_run,
};
