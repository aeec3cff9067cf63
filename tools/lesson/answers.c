/* SPDX-License-Identifier: BSD-2-Clause */

/* What a learner has found, as YAML. */
#include "models/input/file.h"
#include "models/input/yaml.h"
#include "tools/lesson/lesson.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct answers_reader {
	const struct lesson *lesson;
	struct lesson_answers *answers;
	struct bad_list *errors;
	bool no_memory;
};

static void answers_refuse(struct answers_reader *r, const struct yaml_node *node,
			   const char *expected)
{
	struct bad_text found;

	bad(r->errors, &node->at, node->key, yaml_content(&found, node), expected);
}

/* As the command prints them, with a space before the unit, too. */
static bool read_time(const char *text, uint64_t *ret_time)
{
	char plain[64];
	size_t length = 0;

	for (; *text && length < sizeof(plain); text++)
		if (*text != ' ')
			plain[length++] = *text;
	return length < sizeof(plain) &&
	       util_quantity_parse(plain, length, UTIL_UNIT_TIME, ret_time) == UTIL_QUANTITY_OK;
}

static void answers_read_value(struct answers_reader *r, const struct yaml_node *node,
			       uint32_t question)
{
	static const char *const expected[] = {
		[LESSON_COUNT] = "a whole number",
		[LESSON_TIME] = "a time such as 1.5us",
		[LESSON_NAME] = "the name of a host or switch",
	};
	const enum lesson_type type = r->lesson->questions[question].type;
	struct lesson_value *value = &r->answers->values[question];
	bool is_good = node->kind == YAML_SCALAR;

	if (is_good && node->length == 0)
		return;
	if (is_good && type == LESSON_COUNT)
		is_good = util_count_parse(node->text, node->length, &value->number) ==
			  UTIL_QUANTITY_OK;
	else if (is_good && type == LESSON_TIME)
		is_good = read_time(node->text, &value->number);
	else if (is_good)
		is_good = node->length < sizeof(value->name);
	if (!is_good) {
		answers_refuse(r, node, expected[type]);
		return;
	}
	if (type == LESSON_NAME)
		memcpy(value->name, node->text, node->length + 1);
	r->answers->given[question] = true;
}

static bool may_be_set(const struct lesson *lesson, const char *key)
{
	for (uint32_t i = 0; i < LESSON_SETS_MAX && lesson->keys[i]; i++)
		if (strcmp(lesson->keys[i], key) == 0)
			return true;
	return false;
}

static const char *keys_of(const struct lesson *lesson, struct bad_text *text)
{
	size_t used = 0;

	text->text[0] = '\0';
	for (uint32_t i = 0; i < LESSON_SETS_MAX && lesson->keys[i]; i++) {
		const bool is_last = i + 1 == LESSON_SETS_MAX || !lesson->keys[i + 1];

		used += (size_t)snprintf(text->text + used, sizeof(text->text) - used, "%s%s",
					 i == 0	   ? ""
					 : is_last ? " or "
						   : ", ",
					 lesson->keys[i]);
	}
	return text->text;
}

static void read_sets(struct answers_reader *r, const struct yaml_node *map)
{
	struct lesson_answers *answers = r->answers;
	struct bad_text keys;

	keys_of(r->lesson, &keys);
	if (map->kind == YAML_SCALAR && map->length == 0)
		return;
	if (map->kind != YAML_MAP) {
		answers_refuse(r, map, "a map of keys");
		return;
	}
	for (const struct yaml_node *node = map->child; node; node = node->next) {
		if (!may_be_set(r->lesson, node->key)) {
			bad(r->errors, &node->at, "set", node->key, keys.text);
		} else if (node->kind != YAML_SCALAR) {
			answers_refuse(r, node, "a value");
		} else if (node->length > 0) {
			char **set = &answers->sets[answers->set_count];

			if (asprintf(set, "%s=%s", node->key, node->text) < 0) {
				*set = NULL;
				r->no_memory = true;
				return;
			}
			answers->lines[answers->set_count++] = node->at.line;
		}
	}
}

static void read_answers(struct answers_reader *r, const struct yaml_node *root)
{
	for (const struct yaml_node *node = root->child; node; node = node->next) {
		uint32_t i = 0;

		while (i < r->lesson->question_count &&
		       strcmp(r->lesson->questions[i].key, node->key) != 0)
			i++;
		if (i < r->lesson->question_count)
			answers_read_value(r, node, i);
		else if (strcmp(node->key, "set") == 0)
			read_sets(r, node);
		else
			answers_refuse(r, node, "no such key: the lesson does not ask this");
	}
}

int lesson_answers_read(const struct lesson *lesson, const char *file,
			struct lesson_answers *ret_answers)
{
	struct bad_list errors = {.lines = NULL};
	const struct bad_at at = {.file = file, .line = 1};
	struct answers_reader reader = {lesson, ret_answers, &errors, false};
	struct yaml_node *root = NULL;
	char *bytes = NULL;
	size_t length;
	int error;

	*ret_answers = (struct lesson_answers){.set_count = 0};
	error = read_file(NULL, file, &at, "answers", &bytes, &length, &errors);
	error = error ? error : yaml_parse(bytes, length, &at, false, &root, &errors);
	if (!error)
		read_answers(&reader, root);
	yaml_free(root);
	util_free(bytes);
	command_print_bad(&errors, false);
	if (error == -ENOMEM || reader.no_memory || errors.no_memory) {
		command_say("no memory");
		error = -ENOMEM;
	} else if (errors.error_count > 0) {
		error = -EINVAL;
	}
	bad_list_fini(&errors);
	return error == 0 ? COMMAND_DONE : error == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

void lesson_answers_free(struct lesson_answers *answers)
{
	for (uint32_t i = 0; i < answers->set_count; i++)
		free(answers->sets[i]);
	answers->set_count = 0;
}
