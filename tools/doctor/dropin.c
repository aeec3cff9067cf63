/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/doctor/doctor.h"
#include "tools/exec/folder.h"
#include "tools/exec/target.h"
#include "tools/exec/tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void doctor_dropin(struct doctor_row *row)
{
	char folder[PATH_MAX];

	if (folder_find(folder)) {
		doctor_found(row, DOCTOR_OK, "%s/" FOLDER_LIBRARY, folder);
		return;
	}
	doctor_found(row, DOCTOR_NO, "no " FOLDER_LIBRARY " of ours beside the command");
	doctor_fix(row, "install all of it: \"meson install\", or the packages verbena and "
			"libverbena0");
}

/* What a child that is @argv prints, at most @room - 1 bytes; its exit status, or -1. */
static int output_of(char *const *argv, char *ret_text, size_t room)
{
	size_t length = 0;
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	ret_text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		const int nothing = open("/dev/null", O_RDWR);

		dup2(nothing, 0);
		dup2(ends[1], 1);
		dup2(nothing, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	while (length + 1 < room && (got = read(ends[0], ret_text + length, room - 1 - length)) > 0)
		length += (size_t)got;
	ret_text[length] = '\0';
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* A program whose files are those of our device has been reached. */
void doctor_preload(struct doctor_row *row)
{
	char *argv[] = {(char[]){"/proc/self/exe"},
			(char[]){"exec"},
			(char[]){"--"},
			(char[]){"cat"},
			(char[]){"/sys/class/infiniband/verbena0/node_type"},
			NULL};
	char text[64];
	const int status = output_of(argv, text, sizeof(text));

	if (status == 0 && strcmp(text, "1: CA\n") == 0) {
		doctor_found(row, DOCTOR_OK, "cat(1) finds verbena0 under /sys/class/infiniband");
		return;
	}
	doctor_found(row, DOCTOR_NO, "cat(1) finds no verbena0 (exit status %d)", status);
	doctor_fix(row,
		   access("/proc/self/exe", F_OK) != 0
			   ? "mount /proc"
			   : "see what \"verbena exec -- cat "
			     "/sys/class/infiniband/verbena0/node_type\" says; LD_PRELOAD may be "
			     "cut off by a security module, or libc is none of glibc's");
}

/* In a child, since it stays once it is loaded. */
static void print_library(int fd)
{
	char path[PATH_MAX];
	struct link_map *map;
	void *handle;

	unsetenv("LD_LIBRARY_PATH");
	handle = dlopen(FOLDER_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path))
		(void)!write(fd, path, strlen(path));
	_exit(0);
}

void doctor_system_library(struct doctor_row *row)
{
	static const char of_version[] = FOLDER_LIBRARY ".";
	char path[PATH_MAX] = "";
	const char *version;
	ssize_t got = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return doctor_found(row, DOCTOR_NOTE, "%s", strerror(errno));
	pid = fork();
	if (pid == 0)
		print_library(ends[1]);
	close(ends[1]);
	if (pid > 0) {
		got = read(ends[0], path, sizeof(path) - 1);
		(void)waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	path[got > 0 ? got : 0] = '\0';
	version = strstr(path, of_version);
	if (!path[0])
		return doctor_found(row, DOCTOR_OK, "none of the system's: exec needs none");
	if (version) /* 1.14.44.0 is of rdma-core 44 */
		version = strchr(version + strlen(of_version), '.');
	if (version)
		doctor_found(row, DOCTOR_OK, "%s, of rdma-core %s: exec puts its own in front",
			     path, version + 1);
	else
		doctor_found(row, DOCTOR_OK, "%s: exec puts its own in front", path);
}

void doctor_folder(struct doctor_row *row)
{
	struct tree tree;
	const int ret = tree_make(&tree);

	if (ret == 0) {
		doctor_found(row, DOCTOR_OK, "a folder for the device's files: %s", tree.path);
	} else {
		doctor_found(row, DOCTOR_NO, "no folder for the device's files: %s",
			     strerror(-ret));
		doctor_fix(row, "TMPDIR=DIR, a folder that you may write to");
	}
	tree_remove(&tree);
}

void doctor_command(struct doctor_row *row, char *const *argv)
{
	char reason[TARGET_REASON_MAX];
	struct target target;
	const int ret = target_find(argv, &target, reason);

	if (ret == -ENOEXEC) {
		doctor_found(row, DOCTOR_NO, "%s", reason);
		doctor_fix(row, "%s",
			   strstr(reason, "setuid")	? "a copy of it without these rights"
			   : strstr(reason, "static")	? "link it dynamically"
			   : strstr(reason, "musl")	? "build it for glibc"
			   : strstr(reason, "machine:") ? "build it for this machine"
							: "as it says");
	} else if (ret) {
		doctor_found(row, DOCTOR_NO, "%s: %s", argv[0], strerror(-ret));
		doctor_fix(row, "install it, or give its path");
	} else if (target.rpath[0]) {
		doctor_found(row, DOCTOR_NOTE,
			     "%s: its DT_RPATH %s has a libibverbs.so: opened by that name, "
			     "without a version, it is not ours",
			     target.path, target.rpath);
		doctor_fix(row, "link it with DT_RUNPATH instead (-Wl,--enable-new-dtags)");
	} else {
		doctor_found(row, DOCTOR_OK, "%s%s%s", target.path,
			     target.sanitizer[0] ? ", which begins with " : "", target.sanitizer);
	}
}
