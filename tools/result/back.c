/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/back.h"

#include "models/input/bad.h"
#include "tools/command.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_MAX = 2 };

static int refuse_file(const char *path, const char *found)
{
	command_line(stderr, "%s: file: found %s, expected a regular file", path, found);
	return COMMAND_BAD;
}

int back_open(const char *path, FILE **ret_file)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat stat_of;
	int ret = COMMAND_DONE;

	*ret_file = NULL;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? COMMAND_DONE
							   : refuse_file(path, strerror(errno));
	if (fstat(fd, &stat_of) != 0)
		ret = refuse_file(path, strerror(errno));
	else if (!S_ISREG(stat_of.st_mode))
		ret = refuse_file(path, S_ISFIFO(stat_of.st_mode)  ? "a FIFO"
					: S_ISDIR(stat_of.st_mode) ? "a folder"
								   : "a device");
	else if (!(*ret_file = fdopen(fd, "r")))
		ret = refuse_file(path, strerror(errno));
	if (ret)
		close(fd);
	return ret;
}

int back_load(const char *path, const char *key, const char *expected, json_t **ret_json)
{
	json_error_t error;
	FILE *file;
	int ret = back_open(path, &file);

	*ret_json = NULL;
	if (!file)
		return ret;
	*ret_json = json_loadf(file, 0, &error);
	fclose(file);
	if (*ret_json)
		return COMMAND_DONE;
	command_line(stderr, "%s:%d: %s: found %s, expected %s", path,
		     error.line > 0 ? error.line : 1, key, error.text, expected);
	return COMMAND_BAD;
}

int back_refuse(const char *path, const char *key, const json_t *found, const char *expected)
{
	char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;

	command_line(stderr, "%s:1: %s: found %.200s, expected %s", path, key,
		     text ? text : "nothing", expected);
	free(text);
	return COMMAND_BAD;
}

bool back_is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

bool back_is_hash(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == BACK_HASH_DIGITS &&
	       strspn(text, "0123456789abcdef") == BACK_HASH_DIGITS;
}

/* ---- result.json ---- */

/* Older runs do not say where the memory of their programs lay. */
static int check_programs(const char *path, const json_t *programs, bool *ret_fixed)
{
	const json_t *program;
	size_t i;

	*ret_fixed = true;
	json_array_foreach(programs, i, program)
	{
		const json_t *addresses = json_object_get(program, "addresses");
		const char *text = json_string_value(addresses);

		if (addresses && (!text || (strcmp(text, "fixed") && strcmp(text, "anywhere"))))
			return back_refuse(path, "addresses", addresses,
					   "\"fixed\" or \"anywhere\"");
		*ret_fixed = *ret_fixed && text && strcmp(text, "fixed") == 0;
	}
	return COMMAND_DONE;
}

int back_check_result(const char *path, const json_t *json, struct back_run *ret_run)
{
	const json_t *schema = json_object_get(json, "schema");
	const json_t *seed = json_object_get(json, "seed");
	const json_t *digest = json_object_get(json, "digest");
	const json_t *partial = json_object_get(json, "partial");
	const char *version = json_string_value(json_object_get(json, "version"));
	struct back_run run = {.partial = json_is_true(partial)};
	int ret;

	if (!back_is_count(schema) || json_integer_value(schema) < 1 ||
	    json_integer_value(schema) > SCHEMA_MAX)
		return back_refuse(path, "schema", schema, "1 or 2");
	if (!back_is_count(seed))
		return back_refuse(path, "seed", seed, "a number from 0 to 2^63 - 1");
	if (!back_is_hash(digest))
		return back_refuse(path, "digest", digest, "16 hexadecimal digits");
	if (partial && !json_is_boolean(partial))
		return back_refuse(path, "partial", partial, "true or false");
	ret = check_programs(path, json_object_get(json, "programs"), &run.fixed_programs);
	if (ret)
		return ret;
	run.same_version = version && strcmp(version, command_version) == 0;
	snprintf(run.digest, sizeof(run.digest), "%s", json_string_value(digest));
	*ret_run = run;
	return COMMAND_DONE;
}

int back_result(const char *run, struct back_run *ret_run)
{
	char path[PATH_MAX];
	json_t *json;
	int ret;

	*ret_run = (struct back_run){.digest = ""};
	if (snprintf(path, sizeof(path), "%s/result.json", run) >= (int)sizeof(path))
		return COMMAND_DONE;
	ret = back_load(path, "result", "the result of a run", &json);
	if (json)
		ret = back_check_result(path, json, ret_run);
	json_decref(json);
	return ret;
}

char *back_baseline_file(const char *run)
{
	struct stat stat_of;
	char *path;

	if (stat(run, &stat_of) != 0 || !S_ISDIR(stat_of.st_mode))
		return strdup(run);
	return asprintf(&path, "%s/result.json", run) < 0 ? NULL : path;
}

static int read_baseline(const struct read_source *source, const char *path, json_t **ret_json)
{
	const struct bad_at at = {.file = path, .line = 1};
	struct bad_list errors = {.lines = NULL};
	struct back_run run;
	json_error_t error;
	char *bytes;
	size_t length;
	int ret = read_file(source, path, &at, "baseline", &bytes, &length, &errors);

	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	if (ret)
		return ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
	*ret_json = json_loadb(bytes, length, 0, &error);
	util_free(bytes);
	if (!*ret_json) {
		command_line(stderr, "%s:%d: baseline: found %s, expected the result of a run",
			     path, error.line > 0 ? error.line : 1, error.text);
		return COMMAND_BAD;
	}
	ret = back_check_result(path, *ret_json, &run);
	if (ret)
		return ret;
	if (json_integer_value(json_object_get(*ret_json, "schema")) != SCHEMA_MAX)
		return back_refuse(path, "schema", json_object_get(*ret_json, "schema"), "2");
	if (run.partial)
		return back_refuse(path, "partial", json_object_get(*ret_json, "partial"),
				   "false: a run that came to its end");
	return COMMAND_DONE;
}

int back_baseline(const struct read_source *source, const char *path, json_t **ret_json)
{
	int ret;

	*ret_json = NULL;
	ret = read_baseline(source, path, ret_json);
	if (ret) {
		json_decref(*ret_json);
		*ret_json = NULL;
	}
	return ret;
}

void back_warn_of_version(const char *path, const json_t *json)
{
	const char *version = json_string_value(json_object_get(json, "version"));

	if (!version || strcmp(version, command_version) != 0)
		command_say("%s: that baseline is of version %s, and this is %s: what differs may "
			    "come from that",
			    path, version ? version : "unknown", command_version);
}

/* ---- flows.csv ---- */

struct row {
	uint64_t id;
	const char *slowdown; /* empty: none */
	size_t slowdown_length;
	bool is_ok;
};

/* Names have neither commas nor quotes in them. */
static bool read_row(char *line, struct row *ret_row, const char **ret_key, const char **ret_found)
{
	enum { SLOWDOWN = 10, STATUS = 12, COLUMNS = 13 };
	char *columns[COLUMNS], *rest = line;
	size_t count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *column; count < COLUMNS && (column = strsep(&rest, ",")) != NULL; count++)
		columns[count] = column;
	*ret_key = "id";
	*ret_found = columns[0];
	if (util_count_parse(columns[0], strlen(columns[0]), &ret_row->id) != UTIL_QUANTITY_OK ||
	    ret_row->id > INT64_MAX)
		return false;
	*ret_key = "status";
	*ret_found = "";
	if (count < COLUMNS || rest)
		return false;
	ret_row->is_ok = strcmp(columns[STATUS], "ok") == 0;
	*ret_key = "slowdown";
	*ret_found = ret_row->slowdown = columns[SLOWDOWN];
	ret_row->slowdown_length = strlen(columns[SLOWDOWN]);
	return strspn(columns[SLOWDOWN], "0123456789.") == ret_row->slowdown_length;
}

struct worst {	    /* so far */
	int64_t id; /* -1: none */
	bool is_ok;
	double slowdown;
};

/* In the order of the report. */
static void take_if_worse(struct worst *worst, const struct row *row)
{
	const double slowdown = row->slowdown_length > 0 ? strtod(row->slowdown, NULL) : 0;

	if (worst->id >= 0 &&
	    (worst->is_ok != row->is_ok ? row->is_ok : slowdown <= worst->slowdown))
		return;
	*worst = (struct worst){(int64_t)row->id, row->is_ok, slowdown};
}

static int read_rows(const char *path, FILE *file, int64_t *ret_flow)
{
	char *line = NULL;
	size_t room = 0;
	unsigned number = 1; /* the first has the names */
	struct worst worst = {.id = -1};
	int ret = COMMAND_DONE;

	if (getline(&line, &room, file) < 0 || strncmp(line, "id,class,", 9) != 0) {
		command_line(stderr, "%s:1: id: found nothing, expected the flows of a run", path);
		ret = COMMAND_BAD;
	}
	while (!ret && getline(&line, &room, file) >= 0) {
		const char *key, *found;
		struct bad_text quoted;
		struct row row;

		number++;
		if (!read_row(line, &row, &key, &found)) {
			command_line(stderr, "%s:%u: %s: found %s, expected %s", path, number, key,
				     bad_quote(&quoted, found, strlen(found)),
				     strcmp(key, "id") == 0	  ? "the number of a flow"
				     : strcmp(key, "status") == 0 ? "a row of 13 columns"
								  : "a number, or nothing");
			ret = COMMAND_BAD;
		} else {
			take_if_worse(&worst, &row);
		}
	}
	*ret_flow = worst.id;
	free(line);
	return ret;
}

/* The row of a table of the run that @read chooses; -1: there is no such table, or no row. */
static int back_row(const char *run, const char *name,
		    int (*read)(const char *path, FILE *file, int64_t *ret_row), int64_t *ret_row)
{
	char path[PATH_MAX];
	FILE *file = NULL;
	int ret = COMMAND_DONE;

	*ret_row = -1;
	if (snprintf(path, sizeof(path), "%s/%s", run, name) < (int)sizeof(path))
		ret = back_open(path, &file);
	if (file) {
		ret = read(path, file, ret_row);
		fclose(file);
	}
	return ret;
}

int back_worst(const char *run, int64_t *ret_flow)
{
	return back_row(run, "flows.csv", read_rows, ret_flow);
}

/* ---- requests.csv ---- */

/* "wr17", ..., and in column 13 the time, which is empty where it has not ended. */
static bool read_request(char *line, uint64_t *ret_number, uint64_t *ret_time)
{
	enum { TIME = 12, COLUMNS = 15 };
	char *columns[COLUMNS], *rest = line;
	size_t count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *column; count < COLUMNS && (column = strsep(&rest, ",")) != NULL; count++)
		columns[count] = column;
	*ret_time = 0;
	return count == COLUMNS && !rest && strncmp(columns[0], "wr", 2) == 0 &&
	       util_count_parse(columns[0] + 2, strlen(columns[0] + 2), ret_number) ==
		       UTIL_QUANTITY_OK &&
	       *ret_number <= INT64_MAX &&
	       (columns[TIME][0] == '\0' || util_count_parse(columns[TIME], strlen(columns[TIME]),
							     ret_time) == UTIL_QUANTITY_OK);
}

static int read_requests(const char *path, FILE *file, int64_t *ret_request)
{
	uint64_t most = 0, number, time;
	int ret = COMMAND_DONE;
	unsigned at = 1; /* the first has the names */
	char *line = NULL;
	size_t room = 0;

	if (getline(&line, &room, file) < 0 || strncmp(line, "id,program,", 11) != 0) {
		command_line(stderr, "%s:1: id: found nothing, expected the work requests of a run",
			     path);
		ret = COMMAND_BAD;
	}
	while (!ret && getline(&line, &room, file) >= 0) {
		at++;
		if (!read_request(line, &number, &time)) {
			command_line(stderr,
				     "%s:%u: id: found another row, expected 15 columns, with wrN "
				     "first and a number as time_ps, or nothing",
				     path, at);
			ret = COMMAND_BAD;
		} else if (time > most) {
			most = time;
			*ret_request = (int64_t)number;
		}
	}
	free(line);
	return ret;
}

int back_slowest_request(const char *run, int64_t *ret_request)
{
	return back_row(run, "requests.csv", read_requests, ret_request);
}
