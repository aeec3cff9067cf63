/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/copies.h"

#include "tools/command.h"
#include "tools/result/back.h"
#include "util/alloc.h"
#include "util/siphash.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char inputs[] = "inputs";

/* A name in a folder: no byte of @path but those that mean nothing to anybody. */
static const char *copy_name(uint32_t number, const char *path, char ret_name[NAME_MAX])
{
	enum { SHOWN_MAX = 100 };
	const char *slash = strrchr(path, '/');
	int at = snprintf(ret_name, NAME_MAX, "%" PRIu32 "-", number);

	for (const char *c = slash ? slash + 1 : path; *c && at < SHOWN_MAX; c++) {
		const bool good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				  (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';

		ret_name[at++] = good ? *c : '_';
	}
	ret_name[at] = '\0';
	return ret_name;
}

static uint64_t copy_hash(const char *bytes, size_t length)
{
	return util_hash_bytes((struct util_key){0}, bytes, length);
}

static const char *hash_text(uint64_t hash, char ret_text[BACK_HASH_DIGITS + 1])
{
	snprintf(ret_text, BACK_HASH_DIGITS + 1, "%016" PRIx64, hash);
	return ret_text;
}

char *copies_text(const char *path)
{
	json_t *is_text = json_string(path);
	char *shown = is_text ? strdup(path) : malloc(strlen(path) * 4 + 1);
	size_t length = 0;

	for (const char *c = path; !is_text && shown && *c; length += strlen(shown + length))
		c += util_text_show(c, shown + length);
	json_decref(is_text);
	return shown;
}

static struct copy *copies_find(const struct copies *copies, const char *path)
{
	for (uint32_t i = 0; i < copies->count; i++)
		if (strcmp(copies->all[i].path, path) == 0)
			return &copies->all[i];
	return NULL;
}

/* NULL: no memory. */
static struct copy *copies_add(struct copies *copies, const char *path)
{
	struct copy *all = realloc(copies->all, ((size_t)copies->count + 1) * sizeof(*all));
	char *own = strdup(path), *text = copies_text(path);

	if (all)
		copies->all = all;
	if (!all || !own || !text) {
		free(own);
		free(text);
		return NULL;
	}
	all[copies->count] = (struct copy){.path = own, .text = text};
	return &all[copies->count++];
}

static int give_copy(const struct copy *copy, char **ret_bytes, size_t *ret_length)
{
	char *bytes = util_alloc(copy->length + 1);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, copy->bytes, copy->length);
	*ret_bytes = bytes;
	*ret_length = copy->length;
	return 0;
}

void copies_fini(struct copies *copies)
{
	for (uint32_t i = 0; i < copies->count; i++) {
		free(copies->all[i].path);
		free(copies->all[i].text);
		util_free(copies->all[i].bytes);
	}
	free(copies->all);
	free(copies->folder);
	*copies = (struct copies){.all = NULL};
}

/* ---- of a run ---- */

/* What is named twice is read once: nobody edits it in between. */
static int read_and_keep(void *owner, const char *path, char **ret_bytes, size_t *ret_length)
{
	struct copies *copies = owner;
	struct copy *copy = copies_find(copies, path);
	size_t length;
	char *bytes;
	int ret;

	if (copy && copy->bytes)
		return give_copy(copy, ret_bytes, ret_length);
	ret = copies->before ? copies->before->read(copies->before->owner, path, &bytes, &length)
			     : ENOENT;
	if (ret == ENOENT)
		ret = read_file_bytes(path, &bytes, &length);
	if (ret)
		return ret;
	copy = copy ? copy : copies_add(copies, path);
	if (!copy) {
		util_free(bytes);
		return -ENOMEM;
	}
	copy->length = length;
	copy->hash = copy_hash(bytes, length);
	if (length > COPIES_BYTES_MAX - copies->bytes) {
		*ret_bytes = bytes;
		*ret_length = length;
		return 0;
	}
	copy->bytes = bytes;
	copies->bytes += length;
	return give_copy(copy, ret_bytes, ret_length);
}

int copies_init(struct copies *copies)
{
	*copies = (struct copies){.source = {read_and_keep, copies}};
	copies->folder = getcwd(NULL, 0);
	return copies->folder || errno != ENOMEM ? 0 : -ENOMEM;
}

int copies_init_again(struct copies *copies, const struct copies *kept)
{
	*copies = (struct copies){.source = {read_and_keep, copies}, .before = &kept->source};
	copies->folder = kept->folder ? strdup(kept->folder) : NULL;
	return copies->folder || !kept->folder ? 0 : -ENOMEM;
}

/* Those that the run.json there names, which is that of an older run; whatever else lies there is
 * somebody's. */
static int drop_older(const struct folder *folder, const struct folder *sub)
{
	const int fd =
		openat(folder->fd, "run.json", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	json_t *origin = NULL;
	const json_t *files, *file;
	struct stat stat_of;
	int ret = COMMAND_DONE;
	size_t i;

	if (fd < 0)
		return COMMAND_DONE;
	if (fstat(fd, &stat_of) == 0 && S_ISREG(stat_of.st_mode))
		origin = json_loadfd(fd, 0, NULL);
	close(fd);
	files = json_object_get(origin, "files");
	json_array_foreach(files, i, file)
	{
		const char *path = json_string_value(json_object_get(file, "path"));
		char name[NAME_MAX];

		if (path && !ret)
			ret = folder_drop(sub, copy_name((uint32_t)i, path, name));
	}
	json_decref(origin);
	return ret;
}

static int write_copy(FILE *file, const void *owner)
{
	const struct copy *copy = owner;

	return fwrite(copy->bytes, 1, copy->length, file) == copy->length ? 0 : -EIO;
}

int copies_drop(const struct folder *folder)
{
	struct folder sub;
	int ret = folder_open_in(folder, inputs, &sub);

	ret = ret ? ret : drop_older(folder, &sub);
	folder_close(&sub);
	return ret ? ret : folder_drop(folder, "run.json");
}

int copies_write(const struct copies *copies, const struct folder *folder)
{
	struct folder sub;
	char name[NAME_MAX];
	int ret = folder_open_in(folder, inputs, &sub);

	for (uint32_t i = 0; i < copies->count && !ret; i++)
		if (copies->all[i].bytes)
			ret = folder_put(&sub, copy_name(i, copies->all[i].text, name), write_copy,
					 &copies->all[i]);
	folder_close(&sub);
	return ret;
}

static json_t *describe_copy(const struct copy *copy, uint32_t number)
{
	char name[NAME_MAX], place[NAME_MAX + sizeof(inputs)], hash[BACK_HASH_DIGITS + 1];

	snprintf(place, sizeof(place), "%s/%s", inputs, copy_name(number, copy->text, name));
	return json_pack("{s:s,s:o,s:I,s:s}", "path", copy->text, "copy",
			 copy->bytes ? json_string(place) : json_null(), "bytes",
			 (json_int_t)copy->length, "hash", hash_text(copy->hash, hash));
}

int copies_name(const struct copies *copies, json_t *origin)
{
	json_t *files = json_array(), *folder = copies->folder ? json_string(copies->folder) : NULL;
	int ret = json_object_set_new(origin, "folder", folder ? folder : json_null());

	for (uint32_t i = 0; i < copies->count && !ret; i++)
		ret = json_array_append_new(files, describe_copy(&copies->all[i], i));
	if (ret)
		json_decref(files);
	else
		ret = json_object_set_new(origin, "files", files);
	return ret ? -ENOMEM : 0;
}

void copies_warn_of_limit(const struct copies *copies, const struct folder *folder)
{
	for (uint32_t i = 0; i < copies->count; i++)
		if (!copies->all[i].bytes)
			command_say("%s: %s is too large to be kept there beside the others (%d "
				    "MiB in all): to have this run again takes that file where it "
				    "lies",
				    folder->path, copies->all[i].path, COPIES_BYTES_MAX >> 20);
}

/* ---- of a folder ---- */

char *copies_path_of(const struct copies *copies, const char *path)
{
	char *whole;

	if (path[0] == '/' || !copies->folder)
		return strdup(path);
	return asprintf(&whole, "%s/%s", copies->folder, path) < 0 ? NULL : whole;
}

static int read_kept(void *owner, const char *path, char **ret_bytes, size_t *ret_length)
{
	const struct copies *copies = owner;
	const struct copy *copy = copies_find(copies, path);
	char *whole;
	int ret;

	if (!copy)
		return ENOENT;
	if (copy->bytes)
		return give_copy(copy, ret_bytes, ret_length);
	whole = copies_path_of(copies, path);
	if (!whole)
		return -ENOMEM;
	ret = read_file_bytes(whole, ret_bytes, ret_length);
	free(whole);
	return ret;
}

/* Of a regular file that is open as @fd, -1 allowed, its bytes where it has @length of them, for
 * util_free(); otherwise NULL. Closes it. */
static char *read_length(int fd, size_t length)
{
	struct stat stat_of;
	char *bytes = NULL;
	size_t at = 0;

	if (fd >= 0 && fstat(fd, &stat_of) == 0 && S_ISREG(stat_of.st_mode) &&
	    (uint64_t)stat_of.st_size == length)
		bytes = util_alloc(length + 1);
	while (bytes && at < length) {
		const ssize_t got = read(fd, bytes + at, length - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			util_free(bytes);
			bytes = NULL;
		} else {
			at += (size_t)got;
		}
	}
	if (fd >= 0)
		close(fd);
	return bytes;
}

/* The copy itself, which somebody may have edited, or replaced by whatever. */
static int load_copy(struct copies *copies, uint32_t number)
{
	struct copy *copy = &copies->all[number];
	char place[PATH_MAX + NAME_MAX], name[NAME_MAX];
	struct bad_text quoted;
	int folder, fd = -1;

	copy_name(number, copy->text, name);
	snprintf(place, sizeof(place), "%s/%s", copies->run, inputs);
	folder = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0) {
		fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		close(folder);
	}
	snprintf(place, sizeof(place), "%s/%s/%s", copies->run, inputs, name);
	if (fd < 0) {
		command_line(stderr,
			     "%s: file: found %s, expected the copy of %s that the run "
			     "has kept",
			     place, errno == ELOOP ? "a link" : strerror(errno),
			     bad_quote(&quoted, copy->path, strlen(copy->path)));
		return COMMAND_BAD;
	}
	copy->bytes = read_length(fd, copy->length);
	if (copy->bytes && copy_hash(copy->bytes, copy->length) == copy->hash)
		return COMMAND_DONE;
	command_line(stderr,
		     "%s:1: hash: found another file, expected the copy of %s that the run "
		     "has kept, unchanged",
		     place, bad_quote(&quoted, copy->path, strlen(copy->path)));
	return COMMAND_BAD;
}

static int read_one_copy(struct copies *copies, const char *origin, const json_t *file)
{
	const json_t *path = json_object_get(file, "path"), *place = json_object_get(file, "copy");
	const json_t *bytes = json_object_get(file, "bytes"), *hash = json_object_get(file, "hash");
	char name[NAME_MAX], expected[NAME_MAX + sizeof(inputs) + 2];
	const uint32_t number = copies->count;
	struct copy *copy;

	if (!json_is_string(path))
		return back_refuse(origin, "path", path, "a file");
	if (!back_is_count(bytes) || json_integer_value(bytes) > COPIES_BYTES_MAX + 1)
		return back_refuse(origin, "bytes", bytes, "a number of at most 64 MiB");
	if (!back_is_hash(hash))
		return back_refuse(origin, "hash", hash, "16 hexadecimal digits");
	copy = copies_add(copies, json_string_value(path));
	if (!copy)
		return COMMAND_BROKEN;
	copy->length = (size_t)json_integer_value(bytes);
	copy->hash = strtoull(json_string_value(hash), NULL, 16);
	if (json_is_null(place))
		return COMMAND_DONE;
	snprintf(expected, sizeof(expected), "\"%s/%s\"", inputs,
		 copy_name(number, copy->text, name));
	if (!json_is_string(place) ||
	    strncmp(json_string_value(place), expected + 1, strlen(expected) - 2) != 0 ||
	    json_string_length(place) != strlen(expected) - 2)
		return back_refuse(origin, "copy", place, expected);
	return load_copy(copies, number);
}

int copies_open(struct copies *copies, const char *run, const json_t *origin)
{
	const json_t *files = json_object_get(origin, "files"), *file;
	const json_t *folder = json_object_get(origin, "folder");
	char path[PATH_MAX];
	int ret = COMMAND_DONE;
	size_t i;

	*copies = (struct copies){.run = run, .source = {read_kept, copies}};
	if (!files)
		return COMMAND_DONE;
	snprintf(path, sizeof(path), "%s/run.json", run);
	if (json_array_size(files) == 0)
		return back_refuse(path, "files", files, "a list of files, the scenario first");
	if (!json_is_null(folder) && (!json_is_string(folder) || *json_string_value(folder) != '/'))
		return back_refuse(path, "folder", folder, "null or the path of a folder");
	if (json_is_string(folder)) {
		copies->folder = strdup(json_string_value(folder));
		ret = copies->folder ? COMMAND_DONE : COMMAND_BROKEN;
	}
	json_array_foreach(files, i, file)
	{
		const int one = ret == COMMAND_BROKEN ? ret : read_one_copy(copies, path, file);

		ret = ret ? ret : one;
	}
	return ret;
}

void copies_warn_of_edits(const struct copies *copies)
{
	for (uint32_t i = 0; i < copies->count; i++) {
		const struct copy *copy = &copies->all[i];
		char *path = copy->bytes ? copies_path_of(copies, copy->path) : NULL, *now;
		const int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

		if (fd >= 0) {
			now = read_length(fd, copy->length);
			if (!now || memcmp(now, copy->bytes, copy->length) != 0)
				command_say("%s: %s was edited since; this is of the run as it was",
					    copies->run, path);
			util_free(now);
		}
		free(path);
	}
}
