/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the command: where it was built, where it was installed. */
static const char *const folders[] = {"transport/dropin", DROPIN_FROM_BIN};

bool folder_find(char ret_folder[PATH_MAX])
{
	char exe[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (length <= 0)
		return false;
	exe[length] = '\0';
	strrchr(exe, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char at[PATH_MAX], library[PATH_MAX + sizeof(FOLDER_LIBRARY)];

		if (snprintf(at, sizeof(at), "%s%s", exe, folders[i]) >= (int)sizeof(at) ||
		    !realpath(at, ret_folder))
			continue;
		snprintf(library, sizeof(library), "%s/" FOLDER_LIBRARY, ret_folder);
		if (access(library, R_OK) == 0)
			return true;
	}
	return false;
}
