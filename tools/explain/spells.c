/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/spells.h"

#include "tools/result/output.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK PS_US /* from look to look, while anything happens */
#define GAP (100 * PS_US)

/* ---- one spell ---- */

static int spell_init(struct spell *spell, const struct machine_seen *machine)
{
	const int ret = machine_watch_init(&spell->now, machine);

	return ret ? ret : machine_watch_init(&spell->most, machine);
}

static void spell_fini(struct spell *spell)
{
	machine_watch_fini(&spell->now);
	machine_watch_fini(&spell->most);
}

/* Of the two the one that counts is kept. */
static void spell_close(struct spell *spell)
{
	const struct machine_watch ended = spell->now;

	if (spell->now_weight <= spell->most_weight)
		return;
	spell->now = spell->most;
	spell->most = ended;
	spell->most_weight = spell->now_weight;
}

/* The adapters of a machine mostly end together: *last is the spell there that did so last. */
static void spell_end(struct spell *spell, const struct spell **last, ps_t at)
{
	if (!spell->is_due)
		return;
	if (*last && *last != spell && (*last)->now.until == at)
		machine_watch_end_as(&spell->now, &(*last)->now);
	else
		machine_watch_end(&spell->now, at);
	spell->is_due = false;
	*last = spell;
}

static void spell_look(struct spell *spell, const struct spell **last, uint64_t weight, ps_t now)
{
	if (weight == 0) {
		spell_end(spell, last, now);
		return;
	}
	if (spell->count == 0 || now - spell->last_at > GAP) {
		spell_close(spell);
		machine_watch_begin(&spell->now, now);
		spell->now_weight = 0;
		spell->count++;
	}
	spell->now_weight += weight;
	spell->last_at = now;
	spell->is_due = true;
}

/* ---- all of them ---- */

static const struct spell **last_of(const struct spells *spells, const struct spell *spell)
{
	return &spells->last[spell->now.machine - spells->machines.all];
}

static struct host *spells_host_at(const struct spells *spells, uint32_t i)
{
	return spells->events->fabric->table.hosts[i];
}

static void spells_look(struct spells *spells, ps_t now)
{
	for (uint32_t i = 0; i < spells->machines.count; i++) {
		spell_look(&spells->pausing[i], &spells->last[i], spells->is_touched[i], now);
		spells->is_touched[i] = false;
	}
	for (uint32_t i = 0; i < spells->events->fabric->table.count; i++) {
		const uint64_t sent = spells_host_at(spells, i)->node.ports[0].sent_bytes;
		struct spell *spell = &spells->sending[i];

		if (!spell->now.machine)
			continue;
		spell_look(spell, last_of(spells, spell), sent - spells->sent_bytes[i], now);
		spells->sent_bytes[i] = sent;
	}
}

static void end_all(struct spells *spells, ps_t at)
{
	for (uint32_t i = 0; spells->pausing && i < spells->machines.count; i++)
		spell_end(&spells->pausing[i], &spells->last[i], at);
	for (uint32_t i = 0; spells->sending && i < spells->events->fabric->table.count; i++)
		if (spells->sending[i].is_due)
			spell_end(&spells->sending[i], last_of(spells, &spells->sending[i]), at);
}

static int spells_on_event(struct events_listener *listener, const struct event *event)
{
	struct spells *spells = container_of(listener, struct spells, listener);
	const struct events_port *port = &spells->events->ports[event->port];
	const bool is_lost = event->kind == EVENT_DROP && event->reason == SIM_LOSS_ROOM;
	const struct machine_seen *machine;

	if (!port->is_host || (event->kind != EVENT_XOFF && event->kind != EVENT_XON && !is_lost))
		return 0;
	machine = machines_of(&spells->machines, fabric_host(spells->events->fabric, port->node));
	if (!machine)
		return 0;
	spells->is_touched[machine - spells->machines.all] = true;
	spells->has_lost[machine - spells->machines.all] |= is_lost;
	return 0;
}

static int spells_on_window(struct events_listener *listener, ps_t at)
{
	struct spells *spells = container_of(listener, struct spells, listener);
	struct sim *sim = spells->events->fabric->sim;
	const ps_t next = sim_next_at(sim);

	(void)at;
	if (next >= spells->due) {
		spells_look(spells, spells->due);
		if (next - spells->due >= LOOK)
			end_all(spells, spells->due);
		spells->due = next == PS_NEVER ? PS_NEVER : (next / LOOK + 1) * LOOK;
	}
	if (spells->due != PS_NEVER)
		sim_cut(sim, spells->due);
	return 0;
}

/* -ENOMEM. */
static int init_spells(struct spells *spells)
{
	const uint32_t hosts = spells->events->fabric->table.count;
	int ret = 0;

	spells->host_count = hosts;
	spells->pausing = calloc((size_t)spells->machines.count + 1, sizeof(*spells->pausing));
	spells->is_touched =
		calloc((size_t)spells->machines.count + 1, sizeof(*spells->is_touched));
	spells->has_lost = calloc((size_t)spells->machines.count + 1, sizeof(*spells->has_lost));
	spells->last = calloc((size_t)spells->machines.count + 1, sizeof(const struct spell *));
	spells->sending = calloc((size_t)hosts + 1, sizeof(*spells->sending));
	spells->sent_bytes = calloc((size_t)hosts + 1, sizeof(*spells->sent_bytes));
	if (!spells->pausing || !spells->is_touched || !spells->has_lost || !spells->last ||
	    !spells->sending || !spells->sent_bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < spells->machines.count && !ret; i++)
		ret = spell_init(&spells->pausing[i], &spells->machines.all[i]);
	for (uint32_t i = 0; i < hosts && !ret; i++)
		ret = spell_init(&spells->sending[i],
				 machines_of(&spells->machines, spells_host_at(spells, i)));
	return ret;
}

int spells_start(struct spells *spells, struct events *events)
{
	int ret;

	*spells = (struct spells){.events = events, .due = LOOK};
	ret = machines_init(&spells->machines, events->scenario, events->fabric);
	if (ret || spells->machines.count == 0)
		return ret;
	ret = init_spells(spells);
	if (ret)
		return ret;
	spells->listener = (struct events_listener){.on_event = spells_on_event,
						    .on_window = spells_on_window};
	events_listen(events, &spells->listener);
	sim_cut(events->fabric->sim, spells->due);
	return 0;
}

void spells_end(struct spells *spells)
{
	if (spells->events)
		end_all(spells, sim_now(spells->events->fabric->sim));
}

void spells_fini(struct spells *spells)
{
	for (uint32_t i = 0; spells->pausing && i < spells->machines.count; i++)
		spell_fini(&spells->pausing[i]);
	for (uint32_t i = 0; spells->sending && i < spells->host_count; i++)
		spell_fini(&spells->sending[i]);
	free(spells->pausing);
	free(spells->is_touched);
	free(spells->has_lost);
	free(spells->last);
	free(spells->sending);
	free(spells->sent_bytes);
	machines_fini(&spells->machines);
	*spells = (struct spells){.events = NULL};
}

/* ---- what they tell ---- */

static const struct spell *spell_of(const struct spells *spells, struct host *host, bool sends)
{
	const struct machine_seen *machine;

	if (!spells || !spells->events || spells->machines.count == 0)
		return NULL;
	machine = machines_of(&spells->machines, host);
	if (!machine)
		return NULL;
	return sends ? &spells->sending[host->number]
		     : &spells->pausing[machine - spells->machines.all];
}

/* The one that lasts at the end may be it. */
static const struct machine_watch *watch_of(const struct spell *spell)
{
	return spell->now_weight > spell->most_weight ? &spell->now : &spell->most;
}

static bool spells_limit_of(const struct spells *spells, struct host *host, bool sends,
			    struct limit *ret_limit)
{
	const struct spell *spell = spell_of(spells, host, sends);

	return spell && spell->count > 0 && limit_find(watch_of(spell), host, sends, ret_limit);
}

bool spells_limit_of_sender(const struct spells *spells, struct host *host, struct limit *ret_limit)
{
	return spells_limit_of(spells, host, true, ret_limit);
}

bool spells_limit_of_receiver(const struct spells *spells, struct host *host,
			      struct limit *ret_limit)
{
	return spells_limit_of(spells, host, false, ret_limit);
}

uint64_t spells_sent(const struct spells *spells, struct host *host)
{
	const struct spell *spell = spell_of(spells, host, true);

	return spell->now_weight > spell->most_weight ? spell->now_weight : spell->most_weight;
}

const char *spells_time(const struct spells *spells, const struct limit *limit,
			struct bad_text *ret_text)
{
	const struct spell *spell =
		spell_of(spells, spells_host_at(spells, limit->host->number), limit->sends);
	const struct machine_watch *watch = watch_of(spell);
	const bool is_lost = spells->has_lost[limit->machine - spells->machines.all];
	char span[OUTPUT_TEXT_MAX], from[OUTPUT_TEXT_MAX];

	if (spell->count > 1)
		return bad_text(ret_text, "the %s from %s on, in which it %s most",
				output_time(watch->until - watch->from, span),
				output_time(watch->from, from),
				limit->sends ? "sent"
				: is_lost    ? "lost"
					     : "paused");
	return bad_text(ret_text, "the time from its first %s to its last",
			limit->sends ? "packet"
			: is_lost    ? "loss"
				     : "pause");
}
