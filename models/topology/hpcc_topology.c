/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/topology/hpcc_topology.h"

#include "models/input/fields.h"
#include "util/alloc.h"
#include "util/quantity.h"
#include "util/text.h"

#include <errno.h>

struct reader {
	struct fields_reader fields;
	struct topology *topology;
	struct bad_list *errors;
	uint64_t nodes, switches, links;
	bool *is_switch; /* by number */
	bool failed;
};

static void hpcc_topology_refuse(struct reader *r, const struct bad_at *at, const char *key,
				 struct field field, const char *expected)
{
	struct bad_text found;

	bad(r->errors, at, key, bad_quote(&found, field.text, field.length), expected);
	r->failed = true;
}

/* A number below @limit; UINT64_MAX: reported. */
static uint64_t hpcc_topology_number(struct reader *r, const struct bad_at *at, const char *key,
				     struct field field, uint64_t limit)
{
	struct bad_text expected;
	uint64_t value;

	if (util_count_parse(field.text, field.length, &value) == UTIL_QUANTITY_OK && value < limit)
		return value;
	hpcc_topology_refuse(r, at, key, field,
			     bad_text(&expected, "a number below %llu", (unsigned long long)limit));
	return UINT64_MAX;
}

static bool hpcc_topology_read_header(struct reader *r)
{
	struct bad_text found;
	struct fields line;

	if (!fields_next(&r->fields, &line)) {
		bad(r->errors, &r->fields.at, "header", "nothing", "NODES SWITCHES LINKS");
		return false;
	}
	if (line.count != 3) {
		bad(r->errors, &line.at, "header", bad_text(&found, "%u fields", line.count),
		    "NODES SWITCHES LINKS");
		return false;
	}
	r->nodes =
		hpcc_topology_number(r, &line.at, "nodes", line.field[0], READ_HPCC_NODES_MAX + 1);
	r->switches = hpcc_topology_number(r, &line.at, "switches", line.field[1],
					   READ_HPCC_NODES_MAX + 1);
	r->links = hpcc_topology_number(r, &line.at, "links", line.field[2],
					(uint64_t)READ_HPCC_NODES_MAX * 8);
	return !r->failed;
}

static bool read_switches(struct reader *r)
{
	struct bad_text found, expected;

	for (uint64_t i = 0; i < r->switches; i++) {
		struct field field;
		struct bad_at at;
		uint64_t id;

		if (!fields_take(&r->fields, &field, &at)) {
			bad(r->errors, &r->fields.at, "switches",
			    bad_text(&found, "%llu numbers", (unsigned long long)i),
			    bad_text(&expected, "%llu, as the header says",
				     (unsigned long long)r->switches));
			return false;
		}
		id = hpcc_topology_number(r, &at, "switch", field, r->nodes);
		if (id == UINT64_MAX)
			return false;
		if (r->is_switch[id]) {
			hpcc_topology_refuse(r, &at, "switch", field, "each switch once");
			return false;
		}
		r->is_switch[id] = true;
	}
	return true;
}

static int add_nodes(struct reader *r)
{
	char name[32];
	int ret = 0;

	for (uint64_t i = 0; i < r->nodes && !ret; i++) {
		util_text(name, sizeof(name), "n%llu", (unsigned long long)i);
		ret = topology_add_node(r->topology, name, r->is_switch[i]);
	}
	return ret;
}

static void read_rate(struct reader *r, const struct fields *line, struct topology_link *link)
{
	const struct field field = line->field[2];

	if (util_quantity_parse(field.text, field.length, UTIL_UNIT_RATE, &link->rate_bps) !=
		    UTIL_QUANTITY_OK ||
	    link->rate_bps < 1000000 || link->rate_bps > 10 * 1000000000000ull)
		hpcc_topology_refuse(r, &line->at, "rate", field,
				     "a rate such as 100Gbps, 1Mbps to 10Tbps");
}

static void read_delay(struct reader *r, const struct fields *line, struct topology_link *link)
{
	const struct field field = line->field[3];

	if (util_quantity_parse(field.text, field.length, UTIL_UNIT_TIME, &link->delay) !=
		    UTIL_QUANTITY_OK ||
	    link->delay < 1 || link->delay > PS_S)
		hpcc_topology_refuse(r, &line->at, "delay", field,
				     "a time such as 0.001ms, 1ps to 1s");
}

static void read_loss(struct reader *r, const struct fields *line, struct topology_link *link)
{
	const struct field field = line->field[4];
	uint64_t ppb = 0;

	if (util_decimal_parse(field.text, field.length, 9, &ppb) != UTIL_QUANTITY_OK ||
	    ppb > 1000000000)
		hpcc_topology_refuse(r, &line->at, "loss", field,
				     "a chance such as 0.001, in steps of 10^-9");
	link->loss_ppb = (uint32_t)ppb;
}

static int hpcc_topology_read_link(struct reader *r, const struct fields *line)
{
	struct topology_link link = {0};
	struct bad_text found;
	uint64_t a, b;

	if (line->count != 5) {
		bad(r->errors, &line->at, "link", bad_text(&found, "%u fields", line->count),
		    "A B RATE DELAY LOSS");
		r->failed = true;
		return 0;
	}
	a = hpcc_topology_number(r, &line->at, "link", line->field[0], r->nodes);
	b = hpcc_topology_number(r, &line->at, "link", line->field[1], r->nodes);
	if (a == b && a != UINT64_MAX)
		hpcc_topology_refuse(r, &line->at, "link", line->field[1], "another node");
	read_rate(r, line, &link);
	read_delay(r, line, &link);
	read_loss(r, line, &link);
	if (r->failed)
		return 0;
	link.a = (uint32_t)a;
	link.b = (uint32_t)b;
	return topology_add_link(r->topology, &link);
}

static int read_links(struct reader *r)
{
	struct bad_text found, expected;
	struct fields line;
	int ret = 0;

	for (uint64_t i = 0; i < r->links && !ret; i++) {
		if (!fields_next(&r->fields, &line)) {
			bad(r->errors, &r->fields.at, "links",
			    bad_text(&found, "%llu lines", (unsigned long long)i),
			    bad_text(&expected, "%llu, as the header says",
				     (unsigned long long)r->links));
			r->failed = true;
			break;
		}
		ret = hpcc_topology_read_link(r, &line);
	}
	return ret;
}

static void hpcc_topology_warn_of_rest(struct reader *r)
{
	const uint64_t left = fields_left(r->fields);
	struct bad_text found;
	struct fields line;

	if (left == 0 || r->failed)
		return;
	fields_next(&r->fields, &line);
	bad_warn(r->errors, &line.at, "rest",
		 bad_text(&found, "%llu more lines", (unsigned long long)left),
		 "as many links as the header says");
}

int read_hpcc_topology(const char *bytes, size_t length, const struct bad_at *at,
		       struct topology *topology, struct bad_list *errors)
{
	struct reader r = {
		.fields = {bytes, bytes + length, *at}, .topology = topology, .errors = errors};
	int ret = 0;

	if (!hpcc_topology_read_header(&r))
		return -EINVAL;
	r.is_switch = util_calloc(r.nodes + 1, sizeof(bool));
	if (!r.is_switch)
		return -ENOMEM;
	if (!read_switches(&r))
		ret = -EINVAL;
	ret = ret ? ret : add_nodes(&r);
	ret = ret ? ret : read_links(&r);
	if (!ret)
		hpcc_topology_warn_of_rest(&r);
	util_free(r.is_switch);
	return ret ? ret : r.failed ? -EINVAL : 0;
}
