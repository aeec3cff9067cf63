/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/quantity.h"

#include <string.h>

/* --set KEY=VALUE: the value replaces what the file says, or is put where it says nothing. */

static const enum scenario_key called[] = {KEY_TRAFFIC_CLASS, KEY_PROGRAMS_NAME, KEY_PROGRAMS_RUN,
					   KEY_FAULTS_LINK, KEY_FAULTS_SWITCH};

/* The part of a list that is meant: by number, or by the name that it has. */
static struct yaml_node *in_list(struct yaml_node *list, const char *part, size_t length)
{
	uint64_t number;
	const bool numbered = util_count_parse(part, length, &number) == UTIL_QUANTITY_OK;

	for (struct yaml_node *child = list->child; child; child = child->next) {
		if (numbered && number-- == 0)
			return child;
		for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++) {
			const struct yaml_node *name = scenario_node(child, called[i]);

			if (name && name->kind == YAML_SCALAR && name->length == length &&
			    memcmp(name->text, part, length) == 0)
				return child;
		}
	}
	return NULL;
}

static struct yaml_node *child_of(struct yaml_node *node, const char *part, size_t length)
{
	if (node->kind == YAML_LIST)
		return in_list(node, part, length);
	for (struct yaml_node *child = node->child; child; child = child->next)
		if (strlen(child->key) == length && memcmp(child->key, part, length) == 0)
			return child;
	return NULL;
}

static void set_put(struct scenario_reader *r, struct yaml_node *map, const char *key,
		    size_t length, struct yaml_node *value)
{
	struct yaml_node *old = child_of(map, key, length);

	value->key = util_alloc(length + 1);
	if (!value->key) {
		yaml_free(value);
		r->no_memory = true;
		return;
	}
	memcpy(value->key, key, length);
	value->key[length] = '\0';
	if (old) {
		yaml_unlink(map, old);
		yaml_free(old);
	}
	yaml_append(map, value);
}

/* @part is the number behind the last one of a list of maps: there it goes on. */
static bool is_behind_last(const struct yaml_node *node, const char *part, size_t length)
{
	struct bad_text next;
	uint32_t count = 0;

	if (node->kind != YAML_LIST || !node->child || node->child->kind != YAML_MAP)
		return false;
	for (const struct yaml_node *child = node->child; child; child = child->next)
		count++;
	bad_text(&next, "%u", count);
	return strlen(next.text) == length && memcmp(next.text, part, length) == 0;
}

/* The map that @part leads to, made where there is none; NULL: reported, or no memory. */
static struct yaml_node *set_step(struct scenario_reader *r, struct yaml_node *node,
				  const char *part, size_t length, const struct bad_at *at)
{
	struct yaml_node *child = node->kind == YAML_SCALAR ? NULL : child_of(node, part, length);
	struct bad_text key;

	if (!child && (node->kind == YAML_MAP || is_behind_last(node, part, length))) {
		child = yaml_new(YAML_MAP, at);
		if (!child) {
			r->no_memory = true;
			return NULL;
		}
		if (node->kind == YAML_LIST)
			yaml_append(node, child);
		else
			set_put(r, node, part, length, child);
		return r->no_memory ? NULL : child;
	}
	if (child)
		return child;
	bad(r->errors, at, bad_quote(&key, part, length), "nothing of that name",
	    "a key of the scenario, or the number or name of a part of a list");
	return NULL;
}

static void set_value(struct scenario_reader *r, const char *key, size_t length,
		      struct yaml_node *value, const struct bad_at *at)
{
	struct yaml_node *node = r->root;
	const char *dot;

	while (node && (dot = memchr(key, '.', length))) {
		node = set_step(r, node, key, (size_t)(dot - key), at);
		/* Of "machine: NAME" something else is said. */
		if (node && node == yaml_find(r->root, scenario_path(KEY_MACHINE)))
			scenario_unfold_name(r, node);
		length -= (size_t)(dot - key) + 1;
		key = dot + 1;
	}
	if (node && node->kind == YAML_MAP) {
		set_put(r, node, key, length, value);
		return;
	}
	yaml_free(value);
	if (node)
		bad(r->errors, at, "--set", "a key inside of what is no map",
		    "KEY=VALUE such as switch.ecn.kmin=100KB");
}

/* "traffic[0].size" is "traffic.0.size", as messages have it. */
static void set_dot_numbers(char *key)
{
	char *to = key;

	for (const char *from = key; *from; from++) {
		const size_t digits = *from == '[' ? strspn(from + 1, "0123456789") : 0;

		if (digits > 0 && from[digits + 1] == ']') {
			*to++ = '.';
			memmove(to, from + 1, digits);
			to += digits;
			from += digits + 1;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static bool is_path(const char *key, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (key[i] == '.' && (i == 0 || i + 1 == length || key[i + 1] == '.'))
			return false;
	return length > 0;
}

void scenario_set(struct scenario_reader *r, const char *set, uint32_t number)
{
	const struct bad_at at = {.file = "--set", .line = number};
	const char *equals = strchr(set, '=');
	const size_t length = equals ? (size_t)(equals - set) : 0;
	char *key = util_alloc(length + 1);
	struct yaml_node *value = NULL;
	struct bad_text found;

	if (!key) {
		r->no_memory = true;
		return;
	}
	memcpy(key, set, length);
	key[length] = '\0';
	set_dot_numbers(key);
	if (!equals || !is_path(key, strlen(key)))
		bad(r->errors, &at, "--set", bad_quote(&found, set, strlen(set)),
		    "KEY=VALUE such as switch.ecn.kmin=100KB");
	else if (equals[1 + strspn(equals + 1, " \t")] == '\0')
		bad(r->errors, &at, key, "nothing", "a value");
	else if (yaml_parse(equals + 1, strlen(equals + 1), &at, true, &value, r->errors) == 0)
		set_value(r, key, strlen(key), value, &at);
	util_free(key);
}
