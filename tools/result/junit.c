/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/junit.h"

#include "tools/command.h"
#include "tools/result/part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- XML ---- */

/* XML 1.0 (2.2) has no control characters but three, not even escaped, and neither U+FFFE nor
 * U+FFFF. The rest is UTF-8 already. */
static void junit_put_text(const char *text, FILE *file)
{
	for (const char *c = text; *c; c++) {
		const unsigned char byte = (unsigned char)*c;

		if (byte == '&')
			fputs("&amp;", file);
		else if (byte == '<')
			fputs("&lt;", file);
		else if (byte == '>')
			fputs("&gt;", file);
		else if (byte == '"')
			fputs("&quot;", file);
		else if (byte == '\t' || byte == '\n' || byte == '\r')
			fprintf(file, "&#%d;", byte);
		else if (byte < ' ')
			fputs("\xef\xbf\xbd", file);
		else if (strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0)
			fputs("\xef\xbf\xbd", file), c += 2;
		else
			fputc(byte, file);
	}
}

static void put_attribute(const char *name, const char *value, FILE *file)
{
	fprintf(file, " %s=\"", name);
	junit_put_text(value, file);
	fputc('"', file);
}

/* ---- the document ---- */

struct counts {
	uint32_t tests, failures, errors;
};

static bool has_failed(const struct result_program *program, const struct result *result)
{
	return program->failed > 0 || (program->unfinished > 0 && !result->cut);
}

/* A partial run of a scenario that expects nothing has still something to tell. */
static bool is_alone(const struct result *result)
{
	return result->partial && result->expect_count == 0 && result->program_count == 0;
}

static struct counts junit_count(const struct result *result)
{
	struct counts counts = {.tests = result->expect_count + result->program_count +
					 is_alone(result)};

	if (result->partial) {
		counts.errors = counts.tests;
		return counts;
	}
	for (uint32_t i = 0; i < result->expect_count; i++)
		counts.failures += !result->expects[i].held;
	for (uint32_t i = 0; i < result->program_count; i++)
		counts.failures += has_failed(&result->programs[i], result);
	return counts;
}

static void put_counts(const struct counts *counts, const struct result *result, FILE *file)
{
	fprintf(file, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"0\" time=\"%.3f\"",
		counts->tests, counts->failures, counts->errors, result->wall_s);
}

/* @found NULL: it is as it should be, and then @remark, unless NULL, is told beside it. */
static void put_case(const struct result *result, const char *name, const char *found,
		     const char *remark, FILE *file)
{
	const char *kind = result->partial ? "error" : "failure";

	fputs("    <testcase", file);
	put_attribute("classname", result->scenario->name, file);
	put_attribute("name", name, file);
	if (!found && !result->partial && remark) {
		fputs(" time=\"0\">\n      <system-out>", file);
		junit_put_text(remark, file);
		fputs("</system-out>\n    </testcase>\n", file);
		return;
	}
	if (!found && !result->partial) {
		fputs(" time=\"0\"/>\n", file);
		return;
	}
	fprintf(file, " time=\"0\">\n      <%s type=\"%s\"", kind,
		result->partial ? "partial" : "expectation");
	put_attribute("message", result->partial ? "the run ended early" : found, file);
	fprintf(file, "/>\n    </testcase>\n");
}

static void put_cases(const struct result *result, FILE *file)
{
	for (uint32_t i = 0; i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		put_case(result, expect->text, expect->held ? NULL : expect->found,
			 expect->is_remarked ? expect->found : NULL, file);
	}
	for (uint32_t i = 0; i < result->program_count; i++) {
		const struct result_program *program = &result->programs[i];
		struct bad_text name, found;

		bad_text(&found, "%u of %u ranks failed, %u never ended", program->failed,
			 program->rank_count, program->unfinished);
		put_case(result, bad_text(&name, "program %s", program->name),
			 has_failed(program, result) ? found.text : NULL, NULL, file);
	}
	if (is_alone(result))
		put_case(result, "the run", NULL, NULL, file);
}

static void put_property(const char *name, const char *value, FILE *file)
{
	fprintf(file, "      <property name=\"%s\"", name);
	put_attribute("value", value, file);
	fputs("/>\n", file);
}

static void put_document(const struct result *result, FILE *file)
{
	const struct counts counts = junit_count(result);
	char text[32];

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"verbena\"", file);
	put_counts(&counts, result, file);
	fputs(">\n  <testsuite", file);
	put_attribute("name", result->scenario->name, file);
	put_counts(&counts, result, file);
	fputs(">\n    <properties>\n", file);
	snprintf(text, sizeof(text), "%" PRIu64, result->scenario->seed);
	put_property("seed", text, file);
	snprintf(text, sizeof(text), "%016" PRIx64, result->digest);
	put_property("digest", text, file);
	put_property("version", result->version, file);
	fputs("    </properties>\n", file);
	put_cases(result, file);
	fputs("  </testsuite>\n</testsuites>\n", file);
}

/* ---- the file ---- */

/* What is no file of the folder that it seems to lie in, such as /dev/stdout or a link, is written
 * as it stands. */
static bool is_special(const char *path)
{
	struct stat stat_of;

	return lstat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode);
}

/* Of this process, and nothing that another may find later. */
static bool is_stream(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/* Which somebody would have to read for it to be opened. */
static bool is_fifo(const char *path)
{
	struct stat stat_of;

	return stat(path, &stat_of) == 0 && S_ISFIFO(stat_of.st_mode) && !is_stream(path);
}

static int junit_refuse(const char *path, int error)
{
	command_say("%s: %s", path, strerror(error));
	return COMMAND_BROKEN;
}

int junit_clear(const char *path)
{
	struct stat stat_of;
	int ret = 0;

	if (!is_special(path))
		ret = unlink(path);
	else if (stat(path, &stat_of) == 0 && S_ISREG(stat_of.st_mode) && !is_stream(path))
		ret = truncate(path, 0);
	return ret == 0 || errno == ENOENT || errno == ENOTDIR ? COMMAND_DONE
							       : junit_refuse(path, errno);
}

/* As a file of its folder that appears whole. @result NULL: it does not. */
static int write_part(const char *path, const struct result *result)
{
	const char *name;
	const int folder = part_folder_of(path, &name);
	struct part part = {.trouble = PART_OF_FILE};
	int ret = folder < 0 ? folder : part_open(&part, folder, name);

	if (!ret) {
		if (result)
			put_document(result, part.file);
		part_note(&part);
		ret = part_close(&part, result != NULL);
	}
	if (folder >= 0)
		close(folder);
	if (ret)
		part_say(&part, path, -ret);
	return ret ? COMMAND_BROKEN : COMMAND_DONE;
}

int junit_try(const char *path)
{
	struct stat stat_of;

	if (!is_special(path))
		return write_part(path, NULL);
	if (is_fifo(path)) {
		command_say("--junit: found the FIFO %s, expected a file", path);
		return COMMAND_BAD;
	}
	if (stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode))
		return junit_refuse(path, EISDIR);
	return access(path, W_OK) == 0 ? COMMAND_DONE : junit_refuse(path, errno);
}

int junit_write(const char *path, const struct result *result)
{
	FILE *file;
	int error = 0, fd;

	if (!is_special(path))
		return write_part(path, result);
	fflush(stdout); /* which it may be */
	/* A pipe that nobody reads any more is no reason to wait. */
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | (is_stream(path) ? O_APPEND : O_TRUNC));
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file || fcntl(fd, F_SETFL, is_stream(path) ? O_APPEND : 0) != 0) {
		error = errno;
		if (file)
			fclose(file);
		else if (fd >= 0)
			close(fd);
		return junit_refuse(path, error);
	}
	errno = 0;
	put_document(result, file);
	if (ferror(file) || fflush(file) != 0)
		error = errno ? errno : EIO;
	if (fclose(file) != 0 && !error)
		error = errno;
	return error ? junit_refuse(path, error) : COMMAND_DONE;
}
