/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/quantity.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

struct expand {
	bool (*each)(void *owner, const char *name);
	void *owner;
	struct bad_text *why;
	uint32_t count;
	char name[NAME_MAX_BYTES];
};

static bool scenario_names_refuse(struct expand *e, const char *what)
{
	bad_text(e->why, "%s", what);
	return false;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

static bool expand(struct expand *e, size_t at, const char *rest, const char *end);

/* "7" or "3-9" of a bracket: each number in its turn, then the rest of the pattern. Numbers written
 * with a zero in front keep their width. */
static bool expand_range(struct expand *e, size_t at, const char *from, const char *to,
			 const char *rest, const char *end)
{
	const char *dash = memchr(from, '-', (size_t)(to - from));
	const size_t low_length = (size_t)((dash ? dash : to) - from);
	const unsigned width = low_length > 1 && from[0] == '0' ? (unsigned)low_length : 1;
	uint64_t low, high;

	if (width > 9 || util_count_parse(from, low_length, &low) != UTIL_QUANTITY_OK)
		return scenario_names_refuse(e, "a range that is none");
	high = low;
	if (dash && util_count_parse(dash + 1, (size_t)(to - dash - 1), &high) != UTIL_QUANTITY_OK)
		return scenario_names_refuse(e, "a range that is none");
	if (memchr(from, '.', (size_t)(to - from)))
		return scenario_names_refuse(e, "a range that is none");
	if (high < low || high > UINT32_MAX)
		return scenario_names_refuse(e, "a range that ends before it begins, or too far");
	for (uint64_t i = low; i <= high; i++) {
		char digits[24];

		util_text(digits, sizeof(digits), "%0*llu", (int)width, (unsigned long long)i);
		if (at + strlen(digits) >= NAME_MAX_BYTES)
			return scenario_names_refuse(e, "a name of more than 63 letters");
		memcpy(e->name + at, digits, strlen(digits));
		if (!expand(e, at + strlen(digits), rest, end))
			return false;
	}
	return true;
}

static bool expand_bracket(struct expand *e, size_t at, const char *open, const char *end)
{
	const char *close = memchr(open, ']', (size_t)(end - open));

	if (!close)
		return scenario_names_refuse(e, "a \"[\" without \"]\"");
	for (const char *from = open + 1, *to; from <= close; from = to + 1) {
		to = memchr(from, ',', (size_t)(close - from));
		to = to ? to : close;
		if (!expand_range(e, at, from, to, close + 1, end))
			return false;
	}
	return true;
}

/* e->name[0..at) is done. */
static bool expand(struct expand *e, size_t at, const char *rest, const char *end)
{
	for (; rest < end; rest++) {
		if (*rest == '[')
			return expand_bracket(e, at, rest, end);
		if (!is_name_char(*rest))
			return scenario_names_refuse(e, "a letter that names do not have");
		if (at + 1 >= NAME_MAX_BYTES)
			return scenario_names_refuse(e, "a name of more than 63 letters");
		e->name[at++] = *rest;
	}
	if (at == 0)
		return scenario_names_refuse(e, "an empty name");
	if (++e->count > SCENARIO_NAMES_MAX)
		return scenario_names_refuse(e, "more than 200000 names");
	e->name[at] = '\0';
	return e->each(e->owner, e->name);
}

bool scenario_names(const char *pattern, size_t length, bool (*each)(void *owner, const char *name),
		    void *owner, struct bad_text *ret_why)
{
	struct expand e = {.each = each, .owner = owner, .why = ret_why};
	const char *end = pattern + length, *from = pattern;
	int brackets = 0, brackets_max = 0;

	bad_text(ret_why, "nothing");
	for (const char *at = pattern; at < end; at++)
		brackets_max += *at == '[';
	if (brackets_max > 64)
		return scenario_names_refuse(&e, "too many brackets");
	for (const char *at = pattern; at <= end; at++) {
		if (at < end)
			brackets += (*at == '[') - (*at == ']');
		if (at < end && (*at != ',' || brackets != 0))
			continue;
		if (!expand(&e, 0, from, at))
			return false;
		from = at + 1;
	}
	return true;
}

/* ---- hosts ---- */

static int scenario_names_compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Runs of digits by their value: h2 before h10. */
static int compare_natural(const char *a, const char *b)
{
	while (*a && *b) {
		if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
			size_t n, m;

			for (; *a == '0'; a++)
				;
			for (; *b == '0'; b++)
				;
			n = strspn(a, "0123456789");
			m = strspn(b, "0123456789");
			if (n != m)
				return n < m ? -1 : 1;
			if (memcmp(a, b, n) != 0)
				return memcmp(a, b, n);
			a += n;
			b += m;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return *a ? 1 : *b ? -1 : 0;
}

struct counted {
	const char *name;
	uint32_t position;
	bool is_further;
};

static int compare_counted(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;
	const int order = x->is_further != y->is_further ? x->is_further - y->is_further
							 : compare_natural(x->name, y->name);

	return order ? order : strcmp(x->name, y->name);
}

void scenario_hosts_index(struct scenario_reader *r)
{
	const struct topology *topology = &r->scenario->topology;
	struct counted *counted = scenario_alloc(r, topology->node_count, sizeof(*counted));

	r->hosts = scenario_alloc(r, topology->node_count, sizeof(char *));
	r->natural = scenario_alloc(r, topology->node_count, sizeof(*r->natural));
	if (!counted || !r->hosts || !r->natural) {
		util_free(counted);
		return;
	}
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (topology->nodes[i].nic_count > 0)
			r->hosts[r->host_count++] = topology->nodes[i].name;
	r->machine_count = r->host_count;
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (topology->nodes[i].nic > 0)
			r->hosts[r->host_count++] = topology->nodes[i].name;
	qsort(r->hosts, r->machine_count, sizeof(char *), scenario_names_compare_names);
	qsort(r->hosts + r->machine_count, r->host_count - r->machine_count, sizeof(char *),
	      scenario_names_compare_names);
	for (uint32_t i = 0; i < r->host_count; i++)
		counted[i] = (struct counted){r->hosts[i], i, i >= r->machine_count};
	qsort(counted, r->host_count, sizeof(*counted), compare_counted);
	for (uint32_t i = 0; i < r->host_count; i++)
		r->natural[i] = counted[i].position;
	util_free(counted);
}

static int64_t scenario_names_find_in(const struct scenario_reader *r, uint32_t low, uint32_t high,
				      const char *name)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const int order = strcmp(name, r->hosts[middle]);

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

int64_t scenario_host_find(const struct scenario_reader *r, const char *name)
{
	const struct topology *topology = &r->scenario->topology;
	const int64_t node = topology_find(topology, name); /* which knows other names, too */

	if (node < 0 || topology->nodes[node].is_switch)
		return -1;
	name = topology->nodes[node].name;
	return topology->nodes[node].nic == 0
		       ? scenario_names_find_in(r, 0, r->machine_count, name)
		       : scenario_names_find_in(r, r->machine_count, r->host_count, name);
}

struct collect {
	struct scenario_reader *r;
	struct scenario_hosts found;
	bool *taken; /* by position */
	uint32_t room;
	bool once;
	struct bad_text why;
};

static bool take_host(void *owner, const char *name)
{
	struct collect *c = owner;
	const int64_t position = scenario_host_find(c->r, name);

	if (position < 0 || (c->once && c->taken[position])) {
		bad_text(&c->why, position < 0 ? "%s, which is no host" : "%s a second time", name);
		return false;
	}
	if (c->found.count == c->room) {
		bad_text(&c->why, "more than %u names", c->room);
		return false;
	}
	c->taken[position] = true;
	c->found.hosts[c->found.count++] = (uint32_t)position;
	return true;
}

static void take_pattern(struct collect *c, const struct yaml_node *node, const char *key)
{
	struct bad_text why;

	if (!node->meaning)
		return; /* reported already */
	bad_text(&c->why, "%s", "");
	if (scenario_names(node->text, node->length, take_host, c, &why))
		return;
	bad(c->r->errors, &node->at, key, c->why.text[0] ? c->why.text : why.text,
	    c->once ? "hosts of the topology, each once" : "hosts of the topology");
}

struct scenario_hosts scenario_hosts_of(struct scenario_reader *r, const struct yaml_node *node,
					const char *key, bool once)
{
	struct collect c = {.r = r, .once = once};

	c.room = once ? r->host_count : 16 * r->host_count;
	c.found.hosts = scenario_alloc(r, c.room + 1, sizeof(uint32_t));
	c.taken = scenario_alloc(r, r->host_count + 1, sizeof(bool));
	if (!c.found.hosts || !c.taken) {
		util_free(c.taken);
		return c.found;
	}
	if (!node)
		for (uint32_t i = 0; i < r->host_count; i++)
			c.found.hosts[c.found.count++] = i;
	else if (node->kind == YAML_SCALAR)
		take_pattern(&c, node, key);
	else if (node->kind == YAML_LIST)
		for (const struct yaml_node *child = node->child; child; child = child->next)
			take_pattern(&c, child, key);
	util_free(c.taken);
	return c.found;
}
