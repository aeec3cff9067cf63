/* SPDX-License-Identifier: BSD-2-Clause */

/* Whether a lesson has been learnt. */
#include "tools/lesson/lesson.h"

#include <errno.h>
#include <string.h>

/* Tables round times to three digits: @truth may be told no more exactly, but not less so. */
static bool time_is_right(ps_t given, ps_t truth)
{
	const ps_t apart = given > truth ? given - truth : truth - given;
	ps_t third = 1; /* of the digits */

	while (truth / third >= 1000)
		third *= 10;
	return apart <= third / 2;
}

static bool is_right(enum lesson_type type, const struct lesson_value *given,
		     const struct lesson_value *truth)
{
	switch (type) {
	case LESSON_COUNT:
		return given->number == truth->number;
	case LESSON_TIME:
		return time_is_right(given->number, truth->number);
	case LESSON_NAME:
		return strcmp(given->name, truth->name) == 0;
	}
	return false;
}

/* Settings that the reader of scenarios refuses are told of the lines that have them. */
static int check_sets(const struct lesson_ask *ask, const struct lesson_answers *answers,
		      const char *file)
{
	const struct scenario_overrides overrides = {.sets = ask->sets,
						     .set_count = ask->set_count};
	struct bad_list errors = {.lines = NULL};
	struct scenario scenario;
	const int error = scenario_read(ask->path, &overrides, &scenario, &errors);

	command_name_sets(&errors, file, 0, answers->lines, answers->set_count);
	command_print_bad(&errors, false);
	bad_list_fini(&errors);
	if (error == -ENOMEM)
		command_say("no memory");
	if (error)
		return error == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
	scenario_fini(&scenario);
	return COMMAND_DONE;
}

static void say_one(uint32_t number, const char *key, const char *hint)
{
	command_line(stdout, "lesson %u: %-12s %s%s", number, key, hint ? "not yet: " : "right",
		     hint ? hint : "");
}

static int judge_answers(uint32_t number, const struct lesson_ask *ask,
			 const struct lesson_answers *answers)
{
	const struct lesson *lesson = lesson_at(number);
	struct lesson_value truths[LESSON_QUESTIONS_MAX];
	uint32_t right = 0;
	const char *hint = "nothing is set yet";
	int ret = lesson->find(ask->path, truths);

	if (!ret && ask->set_count > 0)
		ret = lesson->judge(ask, &hint);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < lesson->question_count; i++) {
		const struct lesson_question *question = &lesson->questions[i];
		const bool is_good = answers->given[i] &&
				     is_right(question->type, &answers->values[i], &truths[i]);

		say_one(number, question->key, is_good ? NULL : question->hint);
		right += is_good;
	}
	say_one(number, "set", hint);
	right += !hint;
	if (right == lesson->question_count + 1)
		command_line(stdout, "lesson %u: passed", number);
	else
		command_line(stdout, "lesson %u: %u of %u", number, right,
			     lesson->question_count + 1);
	return right == lesson->question_count + 1 ? COMMAND_DONE : COMMAND_FAILED;
}

int lesson_judge(uint32_t number, const char *scenario, const char *file)
{
	struct lesson_answers answers;
	struct lesson_ask ask = {.path = scenario};
	int ret = lesson_answers_read(lesson_at(number), file, &answers);

	if (!ret) {
		ask.sets = (const char *const *)answers.sets;
		ask.set_count = answers.set_count;
		ret = check_sets(&ask, &answers, file);
	}
	ret = ret ? ret : judge_answers(number, &ask, &answers);
	lesson_answers_free(&answers);
	return ret;
}
