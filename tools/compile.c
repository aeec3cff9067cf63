/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/compile.h"

#include "tools/share.h"
#include "util/siphash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, TEXT_MAX = 4096, SAID_MAX = 1 << 20 };

/* What a compiler is told: words that point into @text. */
struct words {
	char *all[WORDS_MAX + 1];
	int count;
	char text[TEXT_MAX], include[PATH_MAX + 8];
};

static const struct kind {
	const char *suffix, *variable, *compiler, *flags;
} kinds[] = {{".c", "CC", "cc", "CFLAGS"},
	     {".cc", "CXX", "c++", "CXXFLAGS"},
	     {".cpp", "CXX", "c++", "CXXFLAGS"},
	     {".cxx", "CXX", "c++", "CXXFLAGS"}};

static const struct kind *compile_kind(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(dot, kinds[i].suffix) == 0)
			return &kinds[i];
	return NULL;
}

bool compile_is_source(const char *path)
{
	return compile_kind(path) != NULL;
}

/* ---- words ---- */

static bool add_word(struct words *words, char *word)
{
	if (words->count == WORDS_MAX)
		return false;
	words->all[words->count++] = word;
	words->all[words->count] = NULL;
	return true;
}

/* The words of @value, copied to words->text + @at. Behind them; 0: there is no room. */
static size_t add_words(struct words *words, size_t at, const char *value)
{
	const size_t bytes = strlen(value) + 1;
	char *rest = NULL;

	if (bytes > sizeof(words->text) - at)
		return 0;
	memcpy(words->text + at, value, bytes);
	for (char *word = strtok_r(words->text + at, " \t\n", &rest); word;
	     word = strtok_r(NULL, " \t\n", &rest))
		if (!add_word(words, word))
			return 0;
	return at + bytes;
}

static const char *compile_variable(const char *name, const char *fallback)
{
	const char *value = getenv(name);

	return value && value[strspn(value, " \t\n")] ? value : fallback;
}

/* Up to what is told of input and output. False: more words than there is room for. */
static bool begin_words(struct words *words, const struct kind *kind)
{
	static const struct share_room headers = {"../../include", "include"};
	static char shared[] = "-shared", pic[] = "-fPIC", optimised[] = "-O2", lines[] = "-g";
	char path[PATH_MAX];
	size_t at;

	words->count = 0;
	at = add_words(words, 0, compile_variable(kind->variable, kind->compiler));
	if (at == 0 || !add_word(words, shared) || !add_word(words, pic) ||
	    !add_word(words, optimised) || !add_word(words, lines))
		return false;
	if (share_find(&headers, "verbena/program.h", path)) {
		*strrchr(path, '/') = '\0';
		*strrchr(path, '/') = '\0';
		snprintf(words->include, sizeof(words->include), "-I%s", path);
		if (!add_word(words, words->include))
			return false;
	}
	return add_words(words, at, compile_variable(kind->flags, "")) != 0;
}

/* ---- the compiler ---- */

/* Both may be -1: nowhere. The status of wait(), or -errno. */
static int run_compiler(struct words *words, int output, int errors)
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		const int away = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(away, STDIN_FILENO);
		dup2(output < 0 ? away : output, STDOUT_FILENO);
		dup2(errors < 0 ? away : errors, STDERR_FILENO);
		execvp(words->all[0], words->all);
		_exit(127);
	}
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

/* A file without a name, which ends with the process. */
static int open_nameless(void)
{
	char path[] = "/tmp/verbena-XXXXXX";
	const int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	return fd;
}

/* All of it from its begin, a zero behind; NULL: no memory, or it is too long. */
static char *read_nameless(int fd, size_t most, size_t *ret_length)
{
	struct stat stat_of;
	char *bytes;
	ssize_t got;

	if (fstat(fd, &stat_of) != 0)
		return NULL;
	*ret_length = (uint64_t)stat_of.st_size < most ? (size_t)stat_of.st_size : most;
	bytes = malloc(*ret_length + 1);
	got = bytes ? pread(fd, bytes, *ret_length, 0) : -1;
	if (got != (ssize_t)*ret_length) {
		free(bytes);
		return NULL;
	}
	bytes[got] = '\0';
	return bytes;
}

/* By all words that are told, and all that is read: what the preprocessor makes of it. */
static int compile_hash(struct words *words, char *path, int errors, uint64_t *ret_hash)
{
	static char only[] = "-E";
	const int fd = open_nameless(), count = words->count;
	size_t length;
	char *bytes = NULL;
	int status = fd < 0 ? -errno : 0;

	if (status == 0 && (!add_word(words, only) || !add_word(words, path)))
		status = -E2BIG;
	if (status == 0)
		status = run_compiler(words, fd, errors);
	words->count = count;
	if (status == 0) {
		bytes = read_nameless(fd, SSIZE_MAX, &length);
		status = bytes ? 0 : -ENOMEM;
	}
	if (status == 0) {
		uint64_t word[] = {util_hash_bytes((struct util_key){0}, bytes, length), 0};

		for (int i = 0; i < count; i++) {
			word[1] = util_hash_name(words->all[i]);
			word[0] = util_hash_words((struct util_key){0}, word, 2);
		}
		*ret_hash = word[0];
	}
	free(bytes);
	if (fd >= 0)
		close(fd);
	return status;
}

/* ---- the cache ---- */

/* And all above it. */
static bool make_folder(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool ok;

		*slash = '\0';
		ok = mkdir(path, 0700) == 0 || errno == EEXIST;
		*slash = '/';
		if (!ok)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* The folder for modules of @hash, which is nobody else's. 0 or -errno. */
static int cache_folder(uint64_t hash, char ret_path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat stat_of;
	int length;

	if (cache && cache[0] == '/')
		length = snprintf(ret_path, PATH_MAX, "%s/verbena/programs/%016" PRIx64, cache,
				  hash);
	else if (home && home[0] == '/')
		length = snprintf(ret_path, PATH_MAX, "%s/.cache/verbena/programs/%016" PRIx64,
				  home, hash);
	else
		length = snprintf(ret_path, PATH_MAX, "/tmp/verbena-%u/programs/%016" PRIx64,
				  (unsigned)getuid(), hash);
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!make_folder(ret_path) || stat(ret_path, &stat_of) != 0)
		return -errno;
	return stat_of.st_uid == getuid() && (stat_of.st_mode & 022) == 0 ? 0 : -EPERM;
}

/* "kv.so" of "kv.c": where a module lies in memory follows from the name of its file. */
static bool name_module(const char *folder, const char *source, char ret_path[PATH_MAX])
{
	const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;

	return snprintf(ret_path, PATH_MAX, "%s/%.*s.so", folder, (int)(strrchr(name, '.') - name),
			name) < PATH_MAX;
}

/* Under a name of its own first: others may be at it. */
static int make_module(struct words *words, char *source, const char *path, int errors)
{
	static char output[] = "-o";
	char own[PATH_MAX + 16];
	int status;

	snprintf(own, sizeof(own), "%s.%ld", path, (long)getpid());
	if (!add_word(words, output) || !add_word(words, own) || !add_word(words, source))
		return -E2BIG;
	status = run_compiler(words, -1, errors);
	if (status == 0 && rename(own, path) != 0)
		status = -errno;
	if (status != 0)
		unlink(own);
	return status;
}

/* ---- what is asked ---- */

static bool is_there(const char *compiler)
{
	const char *path = getenv("PATH");
	char place[PATH_MAX];

	if (strchr(compiler, '/'))
		return access(compiler, X_OK) == 0;
	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		const size_t length = strcspn(at, ":");

		if (snprintf(place, sizeof(place), "%.*s/%s", (int)length, at, compiler) <
			    (int)sizeof(place) &&
		    access(place, X_OK) == 0)
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

static int say_trouble(int status, const struct words *words, const struct kind *kind,
		       char *ret_error, size_t room)
{
	if (status < 0) {
		snprintf(ret_error, room, "it cannot be compiled: %s", strerror(-status));
		return status;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		snprintf(ret_error, room, "no compiler \"%s\", which %s names", words->all[0],
			 kind->variable);
		return -ENOENT;
	}
	snprintf(ret_error, room, "%s refuses it", words->all[0]);
	return -ENOEXEC;
}

int compile_check(const char *path, char *ret_error, size_t room)
{
	const struct kind *kind = compile_kind(path);
	struct words words;

	if (!begin_words(&words, kind))
		return say_trouble(-E2BIG, &words, kind, ret_error, room);
	if (access(path, R_OK) != 0)
		return say_trouble(-errno, &words, kind, ret_error, room);
	if (is_there(words.all[0]))
		return 0;
	return say_trouble(127 << 8, &words, kind, ret_error, room);
}

int compile_source(const char *path, char *ret_path, char *ret_error, size_t room, char **ret_said)
{
	const struct kind *kind = compile_kind(path);
	const int errors = open_nameless();
	char folder[PATH_MAX], source[PATH_MAX];
	struct words words;
	size_t length;
	uint64_t hash = 0;
	int status = errors < 0 ? -errno : 0;

	*ret_said = NULL;
	/* One file is one module, from wherever it is named. */
	if (!realpath(path, source))
		status = -errno;
	status = status ? status : begin_words(&words, kind) ? 0 : -E2BIG;
	status = status ? status : compile_hash(&words, source, errors, &hash);
	status = status ? status : cache_folder(hash, folder);
	if (status == 0 && !name_module(folder, source, ret_path))
		status = -ENAMETOOLONG;
	if (status == 0 && access(ret_path, R_OK) != 0)
		status = make_module(&words, source, ret_path, errors);
	if (status > 0)
		*ret_said = read_nameless(errors, SAID_MAX, &length);
	if (errors >= 0)
		close(errors);
	return status ? say_trouble(status, &words, kind, ret_error, room) : 0;
}
