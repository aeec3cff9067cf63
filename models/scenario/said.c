/* SPDX-License-Identifier: BSD-2-Clause */

/* What a scenario says, key by key, as text: for comparisons of two. */
#include "models/scenario/internal.h"

#include <string.h>

struct said { /* NULL: only how long it is */
	char *text;
	size_t length;
	const char *keys[YAML_DEPTH_MAX + 1]; /* on the way to the node; NULL: @places has it */
	uint32_t places[YAML_DEPTH_MAX + 1];
};

static void say_char(struct said *said, char c)
{
	if (said->text)
		said->text[said->length] = (unsigned char)c < ' ' ? ' ' : c;
	said->length++;
}

static void say_text(struct said *said, const char *text)
{
	for (; *text; text++)
		say_char(said, *text);
}

static void say_number(struct said *said, uint32_t number)
{
	char digits[10];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (count > 0)
		say_char(said, digits[--count]);
}

static void say_end(struct said *said, char c)
{
	if (said->text)
		said->text[said->length] = c;
	said->length++;
}

static void say_scalar(struct said *said, const struct yaml_node *node, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		if (i > 0)
			say_char(said, '.');
		if (said->keys[i])
			say_text(said, said->keys[i]);
		else
			say_number(said, said->places[i]);
	}
	say_end(said, '\t');
	say_text(said, node->text);
	say_end(said, '\n');
}

/* No deeper than a text can be: aliases are followed in it, too. */
static void say_node(struct said *said, const struct yaml_node *node, uint32_t depth)
{
	uint32_t place = 0;

	if (node->kind == YAML_SCALAR) {
		say_scalar(said, node, depth);
		return;
	}
	for (const struct yaml_node *child = node->child; child && depth < YAML_DEPTH_MAX;
	     child = child->next) {
		said->keys[depth] = node->kind == YAML_MAP ? child->key : NULL;
		said->places[depth] = place++;
		say_node(said, child, depth + 1);
	}
}

char *scenario_said(struct scenario_reader *r)
{
	struct said said = {.text = NULL};

	say_node(&said, r->root, 0);
	said.text = scenario_alloc(r, said.length + 1, 1);
	said.length = 0;
	if (said.text)
		say_node(&said, r->root, 0);
	return said.text;
}
