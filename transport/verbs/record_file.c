/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* What is mapped at a time, and behind it room for a record that begins in it; there is as much on
 * the disk before anything is written. */
enum { WINDOW_BYTES = 1 << 20, MAPPED_BYTES = WINDOW_BYTES + 4096, NAMES_MAX = 1000 };
_Static_assert(MAPPED_BYTES - WINDOW_BYTES >= VRB_RECORD_BYTES_MAX, "a record fits");

struct vrb_record_file {
	struct vrb_record_file *next;
	char *folder;
	struct vrb_record_process process;
	pthread_mutex_t lock; /* of all below */
	int fd;
	uint8_t *window;
	uint64_t window_at, bytes; /* in the file; so far */
	uint64_t at_ns;		   /* of the call whose records come */
	int contexts;
	bool is_open, is_off;
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vrb_record_file *files;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

/* ---- one file ---- */

static void stop(struct vrb_record_file *file, const char *what, int error)
{
	if (error)
		fprintf(stderr, "verbena: no more calls are recorded: %s: %s: %s\n", file->folder,
			what, strerror(error));
	file->is_off = true;
}

static void unmap_window(struct vrb_record_file *file)
{
	if (file->window)
		munmap(file->window, MAPPED_BYTES);
	file->window = NULL;
}

/* That at @at; with room for it, since to write to what is mapped and not there kills. */
static bool map_window(struct vrb_record_file *file, uint64_t at)
{
	const int error = posix_fallocate(file->fd, (off_t)at, MAPPED_BYTES);
	void *window;

	unmap_window(file);
	if (error) {
		stop(file, "room", error);
		return false;
	}
	window = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, (off_t)at);
	if (window == MAP_FAILED) {
		stop(file, "memory", errno);
		return false;
	}
	file->window = window;
	file->window_at = at;
	return true;
}

/* Where the next bytes go; NULL: nowhere any more. */
static uint8_t *record_place(struct vrb_record_file *file)
{
	if (file->bytes - file->window_at >= WINDOW_BYTES &&
	    !map_window(file, file->window_at + WINDOW_BYTES))
		return NULL;
	return file->window + (file->bytes - file->window_at);
}

static bool open_named(struct vrb_record_file *file)
{
	char path[4096];

	file->fd = -1;
	for (int i = 0; i < NAMES_MAX && file->fd < 0; i++) {
		if (snprintf(path, sizeof(path), "%s/%d.%d", file->folder, (int)getpid(), i) >=
		    (int)sizeof(path))
			return false;
		file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (file->fd < 0 && errno != EEXIST)
			return false;
	}
	return file->fd >= 0;
}

static void write_record(struct vrb_record_file *file, struct vrb_record *record);

static void record_open_file(struct vrb_record_file *file)
{
	struct vrb_record first = {.kind = VRB_RECORD_PROCESS, .process_of = file->process};

	file->is_open = true;
	file->bytes = 0;
	if (!open_named(file)) {
		stop(file, "its file", errno);
		return;
	}
	if (!map_window(file, 0))
		return;
	vrb_record_emit_file(file->window);
	file->bytes = VRB_RECORD_FILE_BYTES;
	snprintf((char *)first.process_of.name, VRB_RECORD_NAME, "%s",
		 program_invocation_short_name);
	first.process_of.pid = (uint32_t)getpid();
	first.process_of.wall_ns =
		clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - file->at_ns);
	write_record(file, &first);
}

/* The length comes last: before it is there nothing is. */
static void write_record(struct vrb_record_file *file, struct vrb_record *record)
{
	uint8_t bytes[VRB_RECORD_BYTES_MAX], *to;
	uint32_t length, first;

	record->at_ns = file->at_ns;
	length = vrb_record_emit(record, bytes);
	to = record_place(file);
	if (!to)
		return;
	memcpy(&first, bytes, sizeof(first));
	memcpy(to + sizeof(first), bytes + sizeof(first), length - sizeof(first));
	__atomic_store_n((uint32_t *)(void *)to, first, __ATOMIC_RELEASE);
	file->bytes += length;
}

/* What is behind the last record goes. */
static void close_file(struct vrb_record_file *file)
{
	unmap_window(file);
	if (file->is_open && file->fd >= 0) {
		(void)!ftruncate(file->fd, (off_t)file->bytes);
		close(file->fd);
	}
	file->is_open = false;
}

void vrb_record_begin(struct vrb_record_file *file)
{
	pthread_mutex_lock(&file->lock);
	file->at_ns = clock_ns(CLOCK_MONOTONIC);
	if (!file->is_off && !file->is_open)
		record_open_file(file);
}

void vrb_record_add(struct vrb_record_file *file, struct vrb_record *record)
{
	if (!file->is_off)
		write_record(file, record);
}

void vrb_record_done(struct vrb_record_file *file)
{
	pthread_mutex_unlock(&file->lock);
}

void vrb_record_contexts(struct vrb_record_file *file, int change)
{
	pthread_mutex_lock(&file->lock);
	file->contexts += change;
	pthread_mutex_unlock(&file->lock);
}

/* ---- all of the process: forks, and its end ---- */

static void record_before_fork(void)
{
	pthread_mutex_lock(&files_lock);
	for (struct vrb_record_file *file = files; file; file = file->next)
		pthread_mutex_lock(&file->lock);
}

static void record_after_fork(void)
{
	for (struct vrb_record_file *file = files; file; file = file->next)
		pthread_mutex_unlock(&file->lock);
	pthread_mutex_unlock(&files_lock);
}

static void record_after_fork_child(void)
{
	for (struct vrb_record_file *file = files; file; file = file->next) {
		unmap_window(file);
		if (file->is_open && file->fd >= 0)
			close(file->fd);
		file->is_open = false;
		file->is_off = file->is_off || file->contexts > 0;
	}
	record_after_fork();
}

static void record_mind_forks(void)
{
	pthread_atfork(record_before_fork, record_after_fork, record_after_fork_child);
}

static void end_file(struct vrb_record_file *file)
{
	struct vrb_record end = {.kind = VRB_RECORD_END};

	pthread_mutex_lock(&file->lock);
	if (file->is_open && !file->is_off) {
		file->at_ns = clock_ns(CLOCK_MONOTONIC);
		write_record(file, &end);
	}
	close_file(file);
	file->is_off = true;
	pthread_mutex_unlock(&file->lock);
}

__attribute__((destructor)) static void end_files(void)
{
	pthread_mutex_lock(&files_lock);
	for (struct vrb_record_file *file = files; file; file = file->next)
		end_file(file);
	pthread_mutex_unlock(&files_lock);
}

static void read_boot(uint8_t ret_boot[VRB_RECORD_BOOT])
{
	FILE *from = fopen("/proc/sys/kernel/random/boot_id", "re");
	char *text = (char *)ret_boot;

	if (from && !fgets(text, VRB_RECORD_BOOT, from))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (from)
		fclose(from);
}

struct vrb_record_file *vrb_record_file_create(const char *folder,
					       const struct vrb_record_process *process)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vrb_record_file *file = calloc(1, sizeof(*file));

	pthread_once(&once, record_mind_forks);
	if (file)
		file->folder = strdup(folder);
	if (!file || !file->folder) {
		free(file);
		return NULL;
	}
	file->process = *process;
	read_boot(file->process.boot);
	pthread_mutex_init(&file->lock, NULL);
	pthread_mutex_lock(&files_lock);
	file->next = files;
	files = file;
	pthread_mutex_unlock(&files_lock);
	return file;
}

void vrb_record_file_destroy(struct vrb_record_file *file)
{
	struct vrb_record_file **at = &files;

	if (!file)
		return;
	pthread_mutex_lock(&files_lock);
	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	pthread_mutex_unlock(&files_lock);
	end_file(file);
	pthread_mutex_destroy(&file->lock);
	free(file->folder);
	free(file);
}
