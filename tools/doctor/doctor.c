/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena doctor: what can run here, why not, and what helps. */
#include "tools/doctor/doctor.h"

#include "tools/command.h"

#include <jansson.h>
#include <string.h>

static const struct {
	const char *name;
	doctor_look_fn *look;
	bool needed;
} looks[] = {
	{"drop-in", doctor_dropin, true},
	{"preload", doctor_preload, true},
	{"files", doctor_folder, true},
	{"udp", doctor_udp, true},
	{"group", doctor_group, true},
	{"unix", doctor_unix, true},
	{"libibverbs", doctor_system_library, false},
	{"io_uring", doctor_io_uring, false},
	{"memfd", doctor_memfd, false},
	{"process_vm", doctor_process_memory, false},
	{"memlock", doctor_memlock, false},
	{"hugepages", doctor_huge, false},
	{"userns", doctor_namespaces, false},
	{"devices", doctor_devices, false},
	{"modules", doctor_modules, false},
	{"tools", doctor_tools, false},
};
enum { LOOK_COUNT = sizeof(looks) / sizeof(looks[0]) };

static const char *state_word(const struct doctor_row *row)
{
	static const char *const words[] = {"ok", "note", "no"};

	return words[row->state];
}

static void print_row(const struct doctor_row *row)
{
	command_line(stdout, "%-4s %-11s %s", state_word(row), row->name, row->found);
	if (row->fix[0])
		command_line(stdout, "     %-11s fix: %s", "", row->fix);
}

static int print_rows_json(const struct doctor_row *rows, uint32_t count, bool can_run)
{
	json_t *list = json_array(), *all;
	int ret = COMMAND_BROKEN;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:s}", "name",
						      rows[i].name, "state", state_word(&rows[i]),
						      "needed", rows[i].needed, "found",
						      rows[i].found, "fix", rows[i].fix));
	all = json_pack("{s:s, s:b, s:o}", "version", command_version, "can_run", can_run, "checks",
			list);
	if (all && json_array_size(list) == count && json_dumpf(all, stdout, JSON_INDENT(1)) == 0)
		ret = COMMAND_DONE;
	putchar('\n');
	json_decref(all);
	return ret;
}

static int doctor_run(const struct command_options *options)
{
	struct doctor_row rows[LOOK_COUNT + 1];
	uint32_t count = 0;
	bool can_run = true;

	memset(rows, 0, sizeof(rows));
	for (; count < LOOK_COUNT; count++) {
		rows[count].name = looks[count].name;
		rows[count].needed = looks[count].needed;
		looks[count].look(&rows[count]);
	}
	if (options->arg_count > 0) {
		rows[count].name = "command";
		rows[count].needed = true;
		doctor_command(&rows[count++], options->args);
	}
	for (uint32_t i = 0; i < count; i++)
		can_run = can_run && !(rows[i].needed && rows[i].state == DOCTOR_NO);
	if (options->json) {
		const int ret = print_rows_json(rows, count, can_run);

		return ret != COMMAND_DONE ? ret : can_run ? COMMAND_DONE : COMMAND_FAILED;
	}
	for (uint32_t i = 0; i < count; i++)
		print_row(&rows[i]);
	puts(can_run ? "verbena exec can run here" : "verbena exec cannot run here");
	return can_run ? COMMAND_DONE : COMMAND_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.arguments = "[-- COMMAND [ARGUMENT...]]",
	.summary = "what can run here, why not, and what helps",
	.help = "Looks at this machine, a line for each thing that verbena exec or its clients can "
		"use:\n"
		"\"ok\", \"note\" (exec does without it) or \"no\", and what would change it. With "
		"COMMAND also\n"
		"whether exec could serve that. Exit status 0 where exec can run, 1 where it "
		"cannot.\n",
	.options = COMMAND_JSON,
	.args_max = UINT32_MAX,
	.takes_command = true,
	.run = doctor_run,
};
