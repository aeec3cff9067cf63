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

static void put_counts(const struct junit_suite *suite, FILE *file)
{
	uint32_t counts[3] = {0};

	for (uint32_t i = 0; i < suite->case_count; i++)
		counts[suite->cases[i].verdict]++;
	fprintf(file, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"0\" time=\"%.3f\"",
		suite->case_count, counts[JUNIT_FAILURE], counts[JUNIT_ERROR], suite->seconds);
}

static void put_case(const struct junit_suite *suite, const struct junit_case *c, FILE *file)
{
	const char *kind = c->verdict == JUNIT_ERROR ? "error" : "failure";

	fputs("    <testcase", file);
	put_attribute("classname", suite->name, file);
	put_attribute("name", c->name, file);
	fprintf(file, " time=\"%.3f\"", c->seconds);
	if (c->verdict == JUNIT_GOOD && !c->message) {
		fputs("/>\n", file);
		return;
	}
	if (c->verdict == JUNIT_GOOD) {
		fputs(">\n      <system-out>", file);
		junit_put_text(c->message, file);
		fputs("</system-out>", file);
	} else {
		fprintf(file, ">\n      <%s type=\"%s\"", kind, c->type);
		put_attribute("message", c->message, file);
		fputs("/>", file);
	}
	fputs("\n    </testcase>\n", file);
}

static void put_document(const struct junit_suite *suite, FILE *file)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"verbena\"", file);
	put_counts(suite, file);
	fputs(">\n  <testsuite", file);
	put_attribute("name", suite->name, file);
	put_counts(suite, file);
	fputs(">\n    <properties>\n", file);
	for (uint32_t i = 0; i < suite->property_count; i++) {
		fputs("      <property", file);
		put_attribute("name", suite->properties[i].name, file);
		put_attribute("value", suite->properties[i].value, file);
		fputs("/>\n", file);
	}
	fputs("    </properties>\n", file);
	for (uint32_t i = 0; i < suite->case_count; i++)
		put_case(suite, &suite->cases[i], file);
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

/* As a file of its folder that appears whole. @suite NULL: it does not. */
static int write_part(const char *path, const struct junit_suite *suite)
{
	const char *name;
	const int folder = part_folder_of(path, &name);
	struct part part = {.trouble = PART_OF_FILE};
	int ret = folder < 0 ? folder : part_open(&part, folder, name);

	if (!ret) {
		if (suite)
			put_document(suite, part.file);
		part_note(&part);
		ret = part_close(&part, suite != NULL);
	}
	if (folder >= 0)
		close(folder);
	if (ret)
		part_say(&part, path, -ret);
	return ret ? COMMAND_BROKEN : COMMAND_DONE;
}

void junit_warn_of_nothing(const char *path, const char *scenario)
{
	command_say("%s: nothing is expected of it: %s will have no test, which is green whatever "
		    "happens",
		    scenario, path);
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

int junit_write(const char *path, const struct junit_suite *suite)
{
	FILE *file;
	int error = 0, fd;

	if (!is_special(path))
		return write_part(path, suite);
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
	put_document(suite, file);
	if (ferror(file) || fflush(file) != 0)
		error = errno ? errno : EIO;
	if (fclose(file) != 0 && !error)
		error = errno;
	return error ? junit_refuse(path, error) : COMMAND_DONE;
}
