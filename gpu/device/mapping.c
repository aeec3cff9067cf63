/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/mapping.h"

#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

struct mapping_line {
	struct bus_burst burst;
	struct sim_local_event event; /* the CPU has done with it */
	struct mapping *mapping;
	struct mapping_access *access; /* of a load */
	uint8_t *gpu, *host;	       /* where its bytes are or will be */
	uint8_t bytes[MAPPING_LINE];
	struct mapping_line *next; /* among those that are spare */
};

struct mapping {
	struct mapping_params params;
	struct mapping_access *first, *last;
	struct mapping_line *spare;
	struct mapping_line lines[MAPPING_LINES];
};

static void start_more(struct mapping *mapping, ps_t now);

static void count_over(struct mapping *mapping, struct mapping_access *access, uint32_t bytes,
		       ps_t now)
{
	access->over += bytes;
	if (access->over < access->bytes)
		return;
	CHECK(mapping->first == access);
	mapping->first = access->next;
	access->on_over(access, now);
}

static void make_spare(struct mapping_line *line, ps_t now)
{
	struct mapping *mapping = line->mapping;

	line->next = mapping->spare;
	mapping->spare = line;
	start_more(mapping, now);
}

/* ---- stores ---- */

static void store_left(struct bus_burst *burst, void *context, ps_t now)
{
	struct mapping_line *line = container_of(burst, struct mapping_line, burst);

	(void)context;
	if (!line->access)
		return; /* it was on its way already */
	count_over(line->mapping, line->access, burst->bytes, now);
	line->access = NULL;
}

static void store_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct mapping_line *line = container_of(burst, struct mapping_line, burst);

	(void)context;
	memcpy(line->gpu, line->bytes, burst->bytes);
	make_spare(line, now);
}

/* ---- loads ---- */

static bool load_reached(struct bus_burst *burst, void *context, ps_t now)
{
	struct mapping_line *line = container_of(burst, struct mapping_line, burst);

	(void)context, (void)now;
	memcpy(line->bytes, line->gpu, burst->bytes);
	return true;
}

static void load_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct mapping_line *line = container_of(burst, struct mapping_line, burst);

	(void)context;
	sim_local_schedule(line->mapping->params.local, &line->event,
			   now + line->mapping->params.load);
}

static void load_over(struct sim_local_event *event, void *context)
{
	struct mapping_line *line = container_of(event, struct mapping_line, event);

	(void)context;
	memcpy(line->host, line->bytes, line->burst.bytes);
	line->access->under_way--;
	count_over(line->mapping, line->access, line->burst.bytes, event->at);
	make_spare(line, event->at);
}

/* ---- lines ---- */

static const struct bus_burst_ops store_ops = {.arrived = store_arrived, .left = store_left};
static const struct bus_burst_ops load_ops = {.arrived = load_arrived, .reached = load_reached};

static void start_line(struct mapping *mapping, struct mapping_access *access, ps_t now)
{
	const struct mapping_params *params = &mapping->params;
	const uint64_t at = access->started, left = access->bytes - at;
	const uint64_t room = MAPPING_LINE - (access->address + at) % MAPPING_LINE;
	struct mapping_line *line = mapping->spare;

	mapping->spare = line->next;
	line->burst = (struct bus_burst){.ops = access->is_store ? &store_ops : &load_ops,
					 .bytes = (uint32_t)(left < room ? left : room),
					 .packet = MAPPING_LINE};
	line->access = access;
	line->gpu = access->gpu + at;
	line->host = access->host + at;
	access->started += line->burst.bytes;
	access->under_way++;
	if (!access->is_store) {
		bus_read(params->bus, &line->burst, params->host_part, params->gpu_part, now);
		return;
	}
	memcpy(line->bytes, line->host, line->burst.bytes);
	bus_write(params->bus, &line->burst, params->host_part, params->gpu_part, now);
}

static void start_more(struct mapping *mapping, ps_t now)
{
	struct mapping_access *access;

	while ((access = mapping->first) && mapping->spare && access->started < access->bytes &&
	       (access->is_store || access->under_way < mapping->params.loads))
		start_line(mapping, access, now);
}

struct mapping *mapping_create(const struct mapping_params *params)
{
	struct mapping *mapping = util_calloc(1, sizeof(*mapping));

	CHECK(params->loads >= 1 && params->loads <= MAPPING_LINES);
	if (!mapping)
		return NULL;
	mapping->params = *params;
	for (uint32_t i = 0; i < MAPPING_LINES; i++) {
		struct mapping_line *line = &mapping->lines[i];

		line->mapping = mapping;
		line->event = (struct sim_local_event){
			.key = params->key + i, .phase = SIM_LOCAL_ARRIVAL, .fn = load_over};
		line->next = mapping->spare;
		mapping->spare = line;
	}
	return mapping;
}

void mapping_destroy(struct mapping *mapping)
{
	util_free(mapping);
}

void mapping_take(struct mapping *mapping, struct mapping_access *access, ps_t now)
{
	CHECK(access->bytes > 0);
	access->started = access->over = 0;
	access->under_way = 0;
	access->next = NULL;
	*(mapping->first ? &mapping->last->next : &mapping->first) = access;
	mapping->last = access;
	start_more(mapping, now);
}
