/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/recorded.h"

#include "models/trace/vbt.h"
#include "tools/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What one process has written. */
struct part {
	char path[PATH_MAX];
	uint8_t *bytes;
	size_t length;
	struct vbt_reader reader;
	struct vrb_record record; /* the next one */
	uint8_t *at;		  /* where it is; NULL: there are no more */
	uint64_t began_ns;
	uint16_t number;
};

struct parts {
	struct part **all;
	uint32_t count;
	struct bad_list errors;
};

/* ---- the beginning ---- */

int recorded_begin(struct recorded *ret_recorded, const char *file)
{
	struct stat stat_of;
	char *absolute;

	ret_recorded->file[0] = '\0';
	if (stat(file, &stat_of) == 0 && !S_ISREG(stat_of.st_mode)) {
		command_say("exec: --record: found \"%s\", expected a file or nothing yet", file);
		return COMMAND_BAD;
	}
	if (snprintf(ret_recorded->folder, PATH_MAX, "%s.XXXXXX", file) >= PATH_MAX ||
	    !mkdtemp(ret_recorded->folder)) {
		command_say("exec: --record: found \"%s\", expected a file in a folder that can be "
			    "written to (%s)",
			    file, strerror(errno));
		return COMMAND_BAD;
	}
	absolute = realpath(ret_recorded->folder, NULL);
	if (!absolute || setenv("VERBENA_RECORD", absolute, 1) != 0) {
		free(absolute);
		rmdir(ret_recorded->folder);
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	free(absolute);
	snprintf(ret_recorded->file, PATH_MAX, "%s", file);
	return COMMAND_DONE;
}

/* ---- the end ---- */

static bool recorded_map(struct part *part)
{
	const int fd = open(part->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat stat_of;
	void *bytes = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &stat_of) == 0 && S_ISREG(stat_of.st_mode) && stat_of.st_size > 0)
		bytes = mmap(NULL, (size_t)stat_of.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	part->bytes = bytes;
	part->length = (size_t)stat_of.st_size;
	return true;
}

static void step_part(struct part *part, struct bad_list *errors)
{
	if (vbt_next(&part->reader, &part->record, &part->at, errors) != 1)
		part->at = NULL;
}

static int recorded_add(struct parts *parts, const char *folder, const char *name)
{
	struct part **all = realloc(parts->all, (parts->count + 1) * sizeof(struct part *));
	struct part *part = calloc(1, sizeof(*part));

	if (all)
		parts->all = all;
	if (!all || !part || parts->count >= UINT16_MAX) {
		free(part);
		return -ENOMEM;
	}
	all[parts->count++] = part;
	if (snprintf(part->path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!recorded_map(part)) /* of a process that was killed before it wrote anything */
		return 0;
	if (vbt_open(&part->reader, part->path, part->bytes, part->length, &parts->errors) == 0)
		step_part(part, &parts->errors);
	part->began_ns = part->record.at_ns;
	return 0;
}

static int read_parts(struct parts *parts, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int ret = dir ? 0 : -errno;

	while (!ret && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			ret = recorded_add(parts, folder, entry->d_name);
	if (dir)
		closedir(dir);
	return ret;
}

static int recorded_compare_parts(const void *left, const void *right)
{
	const struct part *const *a = left, *const *b = right;

	if ((*a)->began_ns != (*b)->began_ns)
		return (*a)->began_ns < (*b)->began_ns ? -1 : 1;
	return strcmp((*a)->path, (*b)->path);
}

static bool write_next(struct part *part, FILE *to)
{
	uint8_t bytes[VRB_RECORD_BYTES_MAX];
	uint32_t length;

	part->record.process = part->number;
	length = vrb_record_emit(&part->record, bytes);
	return fwrite(bytes, length, 1, to) == 1;
}

/* The one whose next record is the earliest; NULL: none has any. */
static struct part *earliest(const struct parts *parts)
{
	struct part *first = NULL;

	for (uint32_t i = 0; i < parts->count; i++) {
		struct part *part = parts->all[i];

		if (part->at && (!first || part->record.at_ns < first->record.at_ns))
			first = part;
	}
	return first;
}

/* Behind it nothing is missing. */
static bool write_whole(uint64_t last_ns, FILE *to)
{
	struct vrb_record whole = {.kind = VRB_RECORD_WHOLE, .at_ns = last_ns};
	uint8_t bytes[VRB_RECORD_BYTES_MAX];
	const uint32_t length = vrb_record_emit(&whole, bytes);

	return fwrite(bytes, length, 1, to) == 1 && fflush(to) == 0;
}

static int write_all(struct parts *parts, FILE *to)
{
	uint8_t head[VRB_RECORD_FILE_BYTES];
	uint64_t last_ns = 0;
	uint16_t number = 0;
	struct part *part;

	qsort(parts->all, parts->count, sizeof(*parts->all), recorded_compare_parts);
	for (uint32_t i = 0; i < parts->count; i++)
		if (parts->all[i]->at)
			parts->all[i]->number = number++;
	vrb_record_emit_file(head);
	if (fwrite(head, sizeof(head), 1, to) != 1)
		return -EIO;
	while ((part = earliest(parts))) {
		last_ns = part->record.at_ns;
		if (!write_next(part, to))
			return -EIO;
		step_part(part, &parts->errors);
	}
	return write_whole(last_ns, to) ? 0 : -EIO;
}

static int pack(const struct recorded *recorded, struct parts *parts)
{
	char path[PATH_MAX];
	int ret = read_parts(parts, recorded->folder);
	FILE *to = NULL;

	if (!ret && snprintf(path, sizeof(path), "%s/all", recorded->folder) >= (int)sizeof(path))
		ret = -ENAMETOOLONG;
	if (!ret)
		to = fopen(path, "we");
	if (!ret && !to)
		ret = -errno;
	ret = ret ? ret : write_all(parts, to);
	if (to && fclose(to) != 0)
		ret = -EIO;
	if (!ret && rename(path, recorded->file) != 0)
		ret = -errno;
	return ret;
}

static void parts_fini(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		if (parts->all[i]->bytes)
			munmap(parts->all[i]->bytes, parts->all[i]->length);
		free(parts->all[i]);
	}
	free(parts->all);
	bad_list_fini(&parts->errors);
}

int recorded_end(struct recorded *recorded)
{
	struct parts parts = {.all = NULL};
	bool is_bad;
	int ret;

	if (!recorded->file[0])
		return COMMAND_DONE;
	ret = pack(recorded, &parts);
	is_bad = parts.errors.error_count > 0;
	command_print_bad(&parts.errors, false);
	if (!ret && parts.count == 0)
		command_say("exec: %s: no process has opened the device: nothing is recorded",
			    recorded->file);
	for (uint32_t i = 0; !ret && !is_bad && i < parts.count; i++)
		unlink(parts.all[i]->path);
	if (!ret && !is_bad)
		rmdir(recorded->folder);
	else
		command_say(
			"exec: %s: not all is recorded (%s); what processes have written is in %s",
			recorded->file, ret ? strerror(-ret) : "see above", recorded->folder);
	parts_fini(&parts);
	recorded->file[0] = '\0';
	return ret || is_bad ? COMMAND_BROKEN : COMMAND_DONE;
}
