/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static int play_map_file(struct play *play, struct play_file *file)
{
	const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct bad_at at = {.file = file->path, .line = 1};
	struct stat stat_of = {.st_size = 0};
	struct bad_text found;
	int error = fd < 0 || fstat(fd, &stat_of) != 0 ? errno : 0;

	if (!error && !S_ISREG(stat_of.st_mode))
		error = EINVAL;
	if (!error && stat_of.st_size > 0) {
		file->bytes = mmap(NULL, (size_t)stat_of.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file->bytes == MAP_FAILED) {
			file->bytes = NULL;
			error = errno;
		}
		file->length = (size_t)stat_of.st_size;
	}
	if (fd >= 0)
		close(fd);
	if (!error)
		return 0;
	bad(&play->errors, &at, "file", bad_text(&found, "%s", strerror(error)),
	    "a recording that can be read");
	return -EINVAL;
}

/* A machine's clocks; of one that was seen already those are taken, which its first process had. */
static uint32_t boot_of(struct play *play, const struct vrb_record *record)
{
	const struct vrb_record_process *info = &record->process_of;
	uint64_t *boots;

	for (uint32_t i = 0; i < play->process_count; i++)
		if (memcmp(play->processes[i].info.boot, info->boot, sizeof(info->boot)) == 0)
			return play->processes[i].boot;
	boots = realloc(play->boots, (play->boot_count + 1) * sizeof(*boots));
	if (!boots) {
		play->no_memory = true;
		return 0;
	}
	play->boots = boots;
	boots[play->boot_count] = info->wall_ns - record->at_ns;
	return play->boot_count++;
}

static uint32_t host_of(struct play *play, const struct vrb_record_process *info, uint32_t boot)
{
	for (uint32_t i = 0; i < play->process_count; i++) {
		const struct play_process *other = &play->processes[i];

		if (other->boot == boot && other->info.guid == info->guid)
			return other->host;
	}
	return play->host_count++;
}

static void recording_add_process(struct play *play, struct play_file *file)
{
	const struct vrb_record *record = &file->record;
	const uint32_t in_file = file->reader.process_count;
	struct play_process *all =
		realloc(play->processes, (play->process_count + 1) * sizeof(*all));
	uint32_t *numbers = realloc(file->processes, in_file * sizeof(*numbers));
	struct play_process process = {.info = record->process_of, .file = file->path};

	if (all)
		play->processes = all;
	if (numbers)
		file->processes = numbers;
	if (!all || !numbers) {
		play->no_memory = true;
		return;
	}
	process.boot = boot_of(play, record);
	process.host = host_of(play, &process.info, process.boot);
	numbers[in_file - 1] = play->process_count;
	all[play->process_count++] = process;
}

/* The next record of @file, if there is one. */
static void recording_step(struct play *play, struct play_file *file)
{
	uint32_t boot;

	file->at = NULL;
	if (vbt_next(&file->reader, &file->record, &file->at, &play->errors) != 1) {
		file->at = NULL;
		if (file->reader.is_cut) {
			play->is_cut = true;
			if (file->wall_ns < play->cut_ns)
				play->cut_ns = file->wall_ns;
		}
		return;
	}
	if (file->record.kind == VRB_RECORD_WHOLE) {
		file->at = NULL;
		return;
	}
	if (file->record.kind == VRB_RECORD_PROCESS)
		recording_add_process(play, file);
	if (play->no_memory)
		return;
	boot = play->processes[file->processes[file->record.process]].boot;
	file->wall_ns = file->record.at_ns + play->boots[boot];
}

static struct play_file *recording_first(struct play *play)
{
	struct play_file *first = NULL;

	for (uint32_t i = 0; i < play->file_count; i++)
		if (play->files[i].at && (!first || play->files[i].wall_ns < first->wall_ns))
			first = &play->files[i];
	return first;
}

static int open_files(struct play *play, char *const *paths, uint32_t count)
{
	int ret = 0;

	play->files = calloc(count, sizeof(*play->files));
	if (!play->files)
		return -ENOMEM;
	for (; play->file_count < count; play->file_count++) {
		struct play_file *file = &play->files[play->file_count];

		file->path = strdup(paths[play->file_count]);
		if (!file->path)
			return -ENOMEM;
		if (play_map_file(play, file) != 0 ||
		    vbt_open(&file->reader, file->path, file->bytes, file->length, &play->errors) !=
			    0)
			ret = -EINVAL;
	}
	return ret;
}

static int play_read_all(struct play *play)
{
	struct play_file *file;

	for (uint32_t i = 0; i < play->file_count; i++)
		recording_step(play, &play->files[i]);
	while (!play->no_memory && play->errors.error_count == 0 &&
	       (file = recording_first(play))) {
		/* What one process did after another one's record ends may follow from what is not
		 * there. */
		if (play->is_cut && file->wall_ns > play->cut_ns)
			break;
		if (!play_take(play, file->processes[file->record.process], &file->record, file->at,
			       file->wall_ns, &file->reader.at))
			break;
		recording_step(play, file);
	}
	if (play->no_memory)
		return -ENOMEM;
	if (play->errors.error_count > 0)
		return -EINVAL;
	return play_end(play) ? 0 : -ENOMEM;
}

int play_read(struct play *play, char *const *paths, uint32_t count)
{
	int ret;

	*play = (struct play){.cut_ns = UINT64_MAX};
	ret = open_files(play, paths, count);
	ret = ret ? ret : play_read_all(play);
	if (!ret && play->process_count == 0) {
		const struct bad_at at = {.file = play->files[0].path, .line = 1};

		bad(&play->errors, &at, "file", "no process",
		    "at least one, which has opened the device");
		ret = -EINVAL;
	}
	return ret;
}

static void unmap_memory(struct play_process *process)
{
	for (uint32_t i = 0; process->memory && i < process->slab_count; i++)
		if (process->memory[i])
			munmap(process->memory[i], process->slabs[i].bytes);
	free(process->memory);
}

void play_fini(struct play *play)
{
	for (uint32_t i = 0; i < play->process_count; i++) {
		struct play_process *process = &play->processes[i];

		unmap_memory(process);
		free(process->calls);
		free(process->objects);
		free(process->needs);
		free(process->slabs);
		free(process->peers);
		play_map_fini(&process->by_handle);
		play_map_fini(&process->by_rkey);
		play_map_fini(&process->by_qpn);
		play_map_fini(&process->by_srqn);
		play_map_fini(&process->sent_to);
	}
	for (uint32_t i = 0; play->files && i < play->file_count; i++) {
		if (play->files[i].bytes)
			munmap(play->files[i].bytes, play->files[i].length);
		free(play->files[i].path);
		free(play->files[i].processes);
	}
	free(play->files);
	free(play->processes);
	free(play->boots);
	free(play->qps);
	play_map_fini(&play->by_qpn);
	bad_list_fini(&play->errors);
}
