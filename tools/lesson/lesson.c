/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena lesson: which there are, the page of one, its files, and whether its answers are right.
 */
#include "tools/lesson/lesson.h"

#include "tools/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct share_room room = {"lessons", "docs/lessons"};

static int lesson_list(void)
{
	for (uint32_t i = 1; lesson_at(i); i++)
		printf("%u  %s\n", i, lesson_at(i)->title);
	return COMMAND_DONE;
}

static FILE *lesson_open(const char *name)
{
	char path[PATH_MAX];
	FILE *file = share_find(&room, name, path) ? fopen(path, "re") : NULL;

	if (!file)
		command_say("%s: it should have come with this command", name);
	return file;
}

static bool lesson_copy(FILE *from, FILE *to)
{
	char bytes[4096];
	size_t length;

	while ((length = fread(bytes, 1, sizeof(bytes), from)) > 0)
		if (fwrite(bytes, 1, length, to) != length)
			return false;
	return !ferror(from);
}

/* What the learner has in the current folder stays as it is. */
static int lesson_give(const char *name)
{
	const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *from, *to;
	bool is_good;

	if (fd < 0 && errno == EEXIST) {
		printf("kept: %s, as it is\n", name);
		return COMMAND_DONE;
	}
	from = fd < 0 ? NULL : lesson_open(name);
	to = from ? fdopen(fd, "w") : NULL;
	is_good = to && lesson_copy(from, to);
	if (to)
		is_good = fclose(to) == 0 && is_good;
	else if (fd >= 0)
		close(fd);
	if (from)
		fclose(from);
	if (!is_good) {
		command_say("%s: it could not be written", name);
		if (fd >= 0)
			unlink(name);
		return COMMAND_BROKEN;
	}
	printf("written: %s\n", name);
	return COMMAND_DONE;
}

static int lesson_show(uint32_t number, const char *scenario, const char *answers)
{
	const char *name = lesson_at(number)->page;
	FILE *page = lesson_open(name);
	bool is_read;
	int ret;

	if (!page)
		return COMMAND_BROKEN;
	is_read = lesson_copy(page, stdout) || ferror(stdout); /* that is told at the end */
	fclose(page);
	if (!is_read) {
		command_say("%s: it could not be read", name);
		return COMMAND_BROKEN;
	}
	putchar('\n');
	ret = lesson_give(scenario);
	return ret ? ret : lesson_give(answers);
}

static int lesson_check(uint32_t number, const char *scenario, const char *answers)
{
	char path[PATH_MAX];

	if (!share_find(&room, scenario, path)) {
		command_say("%s: it should have come with this command", scenario);
		return COMMAND_BROKEN;
	}
	if (access(answers, F_OK) != 0 && errno == ENOENT) {
		command_line(stderr,
			     "%s: answers: found no such file, expected yours; type \"verbena "
			     "lesson %u\" first, which puts it here",
			     answers, number);
		return COMMAND_BAD;
	}
	return lesson_judge(number, path, answers);
}

static int lesson_usage(const char *found)
{
	struct bad_text text;

	command_line(stderr,
		     "verbena lesson: found %s, expected the number of a lesson (see \"verbena "
		     "lesson\")",
		     found ? bad_quote(&text, found, strlen(found)) : "--check alone");
	return COMMAND_BAD;
}

static int lesson_run(const struct command_options *options)
{
	const char *word = options->arg_count > 0 ? options->args[0] : NULL;
	char scenario[32], answers[32];
	uint32_t number;

	if (!word)
		return options->check ? lesson_usage(NULL) : lesson_list();
	number =
		word[0] >= '0' && word[0] <= '9' && word[1] == '\0' ? (uint32_t)(word[0] - '0') : 0;
	if (!lesson_at(number))
		return lesson_usage(word);
	snprintf(scenario, sizeof(scenario), "lesson-%u.yaml", number);
	snprintf(answers, sizeof(answers), "lesson-%u.answers.yaml", number);
	return options->check ? lesson_check(number, scenario, answers)
			      : lesson_show(number, scenario, answers);
}

const struct command command_lesson = {
	.name = "lesson",
	.arguments = "[LESSON]",
	.summary = "learn RDMA networks, a quarter of an hour each",
	.help = "Lists the lessons; or shows one and puts its scenario, lesson-N.yaml, and "
		"lesson-N.answers.yaml,\n"
		"in which answers go, into the current folder, unless they are there. --check runs "
		"the scenario of the\n"
		"lesson and judges the answers: exit status 0 passed, 1 not yet, with hints, 2 bad "
		"answers.\n",
	.options = COMMAND_CHECK,
	.args_max = 1,
	.run = lesson_run,
};
