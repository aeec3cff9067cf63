/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/code.h"

#include "tools/command.h"
#include "tools/result/back.h"
#include "util/siphash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* False: it cannot be read, or is empty. */
static bool hash_file(const char *path, uint64_t *ret_hash)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat stat_of;
	void *bytes = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &stat_of) == 0 && S_ISREG(stat_of.st_mode) && stat_of.st_size > 0)
		bytes = mmap(NULL, (size_t)stat_of.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	*ret_hash = util_hash_bytes((struct util_key){0}, bytes, (size_t)stat_of.st_size);
	munmap(bytes, (size_t)stat_of.st_size);
	return true;
}

static bool hash_program_code(const char *path, const struct scenario_program *program,
			      uint64_t *ret_hash)
{
	char name[PATH_MAX], file[PATH_MAX], error[PROGRAM_ERROR_MAX], *said = NULL;
	const bool is_there = command_program_name(path, program->run, name) &&
			      program_module(name, file, error, &said) == 0;

	free(said);
	return is_there && hash_file(file, ret_hash);
}

uint64_t code_hash(const char *path, const struct scenario *scenario)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < scenario->program_count; i++) {
		uint64_t words[] = {hash, 0};

		hash_program_code(path, &scenario->programs[i], &words[1]);
		hash = util_hash_words((struct util_key){0}, words, 2);
	}
	return hash;
}

json_t *code_describe(const char *path, const struct scenario *scenario)
{
	json_t *all = json_array();
	int ret = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < scenario->program_count && !ret; i++) {
		const struct scenario_program *program = &scenario->programs[i];
		char text[BACK_HASH_DIGITS + 1];
		uint64_t hash;
		const bool is_there = hash_program_code(path, program, &hash);

		if (is_there)
			snprintf(text, sizeof(text), "%016" PRIx64, hash);
		ret = json_array_append_new(all, json_pack("{s:s,s:s?}", "run", program->run,
							   "hash", is_there ? text : NULL));
	}
	if (!ret)
		return all;
	json_decref(all);
	return NULL;
}
