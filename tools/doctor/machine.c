/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/doctor/doctor.h"
#include "tools/exec/target.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static void add_text(char *text, size_t room,
							   const char *format, ...)
{
	const size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, room - length, format, args);
	va_end(args);
}

void doctor_devices(struct doctor_row *row)
{
	DIR *dir = opendir("/sys/class/infiniband");
	char all[DOCTOR_TEXT_MAX / 2] = "";
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char path[512], state[32];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/state",
			 entry->d_name);
		doctor_read(path, state, sizeof(state));
		add_text(all, sizeof(all), "%s%s%s%s%s", all[0] ? ", " : "", entry->d_name,
			 state[0] ? " (" : "", state[0] ? state : "", state[0] ? ")" : "");
	}
	if (dir)
		closedir(dir);
	if (all[0])
		doctor_found(row, DOCTOR_OK,
			     "real ones: %s. Programs under exec see Verbena's alone; VERBENA=off "
			     "is without it",
			     all);
	else
		doctor_found(row, DOCTOR_OK, "no real RDMA device");
}

/* Whether there is such a module for this kernel, built in or to be loaded. */
static bool can_load(const char *name)
{
	struct utsname kernel;
	char path[256], line[512], file_name[64];
	bool found = false;
	FILE *file;

	if (uname(&kernel) != 0)
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", kernel.release);
	snprintf(file_name, sizeof(file_name), "/%s.ko", name);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, file_name) != NULL;
	if (file)
		fclose(file);
	return found;
}

void doctor_modules(struct doctor_row *row)
{
	static const char *const names[] = {"rdma_rxe", "siw"};
	char all[DOCTOR_TEXT_MAX / 2] = "";
	bool any = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];
		bool is_loaded;

		snprintf(path, sizeof(path), "/sys/module/%s", names[i]);
		is_loaded = access(path, F_OK) == 0;
		any = any || is_loaded;
		add_text(all, sizeof(all), "%s%s %s", i > 0 ? ", " : "", names[i],
			 is_loaded	      ? "is loaded"
			 : can_load(names[i]) ? "could be loaded"
					      : "is not there");
	}
	doctor_found(row, DOCTOR_OK, "%s; exec needs none", all);
	if (any && access("/sys/module/rdma_rxe", F_OK) == 0)
		doctor_fix(row, "should \"udp\" be refused: \"modprobe -r rdma_rxe\"");
}

void doctor_tools(struct doctor_row *row)
{
	static const struct {
		const char *program, *package;
	} tools[] = {{"ibv_devinfo", "ibverbs-utils"},
		     {"ib_write_bw", "perftest"},
		     {"rping", "rdmacm-utils"},
		     {"ucx_perftest", "ucx-utils"},
		     {"fi_pingpong", "libfabric-bin"},
		     {"mpirun", "openmpi-bin"},
		     {"tshark", "tshark"}};
	char there[DOCTOR_TEXT_MAX / 2] = "", missing[DOCTOR_TEXT_MAX / 2] = "";

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		char name[32], reason[TARGET_REASON_MAX];
		char *const argv[] = {name, NULL};
		struct target target;

		snprintf(name, sizeof(name), "%s", tools[i].program);
		if (target_find(argv, &target, reason) == 0)
			add_text(there, sizeof(there), "%s%s", there[0] ? ", " : "", name);
		else
			add_text(missing, sizeof(missing), " %s", tools[i].package);
	}
	doctor_found(row, there[0] ? DOCTOR_OK : DOCTOR_NOTE, "%s",
		     there[0] ? there : "none of the clients that are known");
	if (missing[0])
		doctor_fix(row, "for more of them (Debian, Ubuntu): apt install%s", missing);
}
