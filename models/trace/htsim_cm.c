/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/trace/htsim_cm.h"

#include "models/input/fields.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>

struct reader {
	struct fields_reader fields;
	struct bad_list *errors;
	uint64_t nodes, connections; /* as the header says */
	bool has_nodes, has_connections, warned;
	struct read_flow *flows;
	uint64_t count, room;
	bool failed;
};

static void htsim_cm_refuse(struct reader *r, const struct bad_at *at, const char *key,
			    struct field field, const char *expected)
{
	struct bad_text found;

	bad(r->errors, at, key, bad_quote(&found, field.text, field.length), expected);
	r->failed = true;
}

/* The value behind word @i of the line, from @least to @most. */
static uint64_t value(struct reader *r, const struct fields *line, uint32_t i, const char *key,
		      uint64_t least, uint64_t most)
{
	const struct field none = {"", 0};
	const struct field field = i + 1 < line->count ? line->field[i + 1] : none;
	struct bad_text expected;
	uint64_t number = 0;

	if (util_count_parse(field.text, field.length, &number) != UTIL_QUANTITY_OK ||
	    number < least || number > most)
		htsim_cm_refuse(r, &line->at, key, field,
				bad_text(&expected, "a number, %llu to %llu",
					 (unsigned long long)least, (unsigned long long)most));
	return number;
}

static void read_header_word(struct reader *r, const struct fields *line)
{
	const bool is_nodes = fields_is(line->field[0], "nodes");
	bool *seen = is_nodes ? &r->has_nodes : &r->has_connections;

	if (*seen) {
		htsim_cm_refuse(r, &line->at, "header", line->field[0], "each line of it once");
		return;
	}
	*seen = true;
	if (is_nodes)
		r->nodes = value(r, line, 0, "Nodes", 2, UINT32_MAX);
	else
		r->connections = value(r, line, 0, "Connections", 0, READ_FLOWS_MAX);
}

/* Where it says "->"; NULL: nowhere. */
static const char *arrow_in(struct field field)
{
	for (size_t i = 0; i + 1 < field.length; i++)
		if (field.text[i] == '-' && field.text[i + 1] == '>')
			return field.text + i;
	return NULL;
}

/* "12->7" */
static void read_pair(struct reader *r, const struct fields *line, struct read_flow *flow)
{
	const struct field f = line->field[0];
	const char *arrow = arrow_in(f);
	const size_t before = (size_t)(arrow - f.text);
	struct bad_text expected;
	uint64_t src, dst;

	if (util_count_parse(f.text, before, &src) != UTIL_QUANTITY_OK ||
	    util_count_parse(arrow + 2, f.length - before - 2, &dst) != UTIL_QUANTITY_OK ||
	    src >= r->nodes || dst >= r->nodes || src == dst) {
		htsim_cm_refuse(r, &line->at, "connection", f,
				bad_text(&expected, "SRC->DST, two nodes below %llu",
					 (unsigned long long)r->nodes));
		return;
	}
	flow->src = (uint32_t)src;
	flow->dst = (uint32_t)dst;
}

static void warn_of_prio(struct reader *r, const struct fields *line)
{
	if (!r->warned)
		bad_warn(r->errors, &line->at, "prio", "priorities",
			 "none: traffic[].priority holds for all");
	r->warned = true;
}

/* Word @i of a connection and what belongs to it. Returns how many words that were. */
static uint32_t htsim_cm_read_word(struct reader *r, const struct fields *line, uint32_t i,
				   struct read_flow *flow, bool *has_start)
{
	const struct field word = line->field[i];

	if (fields_is(word, "start")) {
		flow->start_at = value(r, line, i, "start", 0, 1000 * PS_S);
		*has_start = true;
	} else if (fields_is(word, "size")) {
		flow->bytes = value(r, line, i, "size", 1, READ_FLOW_BYTES_MAX);
	} else if (fields_is(word, "id")) {
		value(r, line, i, "id", 1, UINT32_MAX);
	} else if (fields_is(word, "prio")) {
		value(r, line, i, "prio", 0, UINT32_MAX);
		warn_of_prio(r, line);
	} else {
		htsim_cm_refuse(r, &line->at, "connection", word,
				"id, start, size or prio: no triggers here");
		return line->count;
	}
	return 2;
}

static int htsim_cm_add(struct reader *r, const struct read_flow *flow)
{
	if (r->count == r->room) {
		const uint64_t more = r->room ? r->room * 2 : 64;
		struct read_flow *bigger = util_realloc(r->flows, more, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		r->flows = bigger;
		r->room = more;
	}
	r->flows[r->count++] = *flow;
	return 0;
}

static int read_connection(struct reader *r, const struct fields *line)
{
	const uint32_t errors = r->errors->error_count;
	struct read_flow flow = {.line = line->at.line};
	bool has_start = false;
	struct bad_text found;

	if (line->count > FIELDS_MAX) {
		bad(r->errors, &line->at, "connection", bad_text(&found, "%u words", line->count),
		    "SRC->DST id N start PS size BYTES");
		r->failed = true;
		return 0;
	}
	read_pair(r, line, &flow);
	for (uint32_t i = 1; i < line->count;)
		i += htsim_cm_read_word(r, line, i, &flow, &has_start);
	if (r->errors->error_count == errors && (!has_start || flow.bytes == 0)) {
		bad(r->errors, &line->at, has_start ? "size" : "start", "nothing",
		    "a number behind it");
		r->failed = true;
	}
	return r->count < READ_FLOWS_MAX ? htsim_cm_add(r, &flow) : 0;
}

static int htsim_cm_read_line(struct reader *r, const struct fields *line)
{
	const struct field first = line->field[0];

	if (first.text[0] == '#')
		return 0;
	if (arrow_in(first)) {
		if (r->has_nodes)
			return read_connection(r, line);
		if (!r->failed)
			htsim_cm_refuse(r, &line->at, "connection", first, "\"Nodes N\" before it");
	} else if (fields_is(first, "nodes") || fields_is(first, "connections")) {
		read_header_word(r, line);
	} else if (fields_is(first, "triggers") || fields_is(first, "failures")) {
		if (value(r, line, 0, "header", 0, UINT32_MAX) > 0)
			htsim_cm_refuse(r, &line->at, "header", first,
					"none of them: flows start by time");
	} else {
		htsim_cm_refuse(r, &line->at, "line", first, "Nodes, Connections or SRC->DST");
	}
	return 0;
}

int read_htsim_flow(const struct read_flow_file *file, struct read_flow **ret_flows,
		    uint64_t *ret_count, struct bad_list *errors)
{
	struct reader r = {.fields = {file->bytes, file->bytes + file->length, file->at},
			   .errors = errors};
	struct bad_text found, expected;
	struct fields line;
	int ret = 0;

	while (!ret && fields_next(&r.fields, &line))
		ret = htsim_cm_read_line(&r, &line);
	if (!ret && !r.failed && (!r.has_nodes || !r.has_connections)) {
		bad(errors, &r.fields.at, "header", "no such line",
		    r.has_nodes ? "\"Connections N\"" : "\"Nodes N\"");
		r.failed = true;
	}
	if (!ret && !r.failed && r.count != r.connections) {
		bad(errors, &r.fields.at, "Connections",
		    bad_text(&found, "%llu lines", (unsigned long long)r.count),
		    bad_text(&expected, "%llu, as the header says",
			     (unsigned long long)r.connections));
		r.failed = true;
	}
	if (ret || r.failed) {
		util_free(r.flows);
		return ret ? ret : -EINVAL;
	}
	*ret_flows = r.flows;
	*ret_count = r.count;
	return 0;
}
