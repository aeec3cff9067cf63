/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/machine.h"

#include "sim/order.h"
#include "sim/sim.h"
#include "util/check.h"

struct turn {		  /* what comes next: the bus, an adapter, or a step of a program */
	struct host *nic; /* NULL: the bus or a program, if anything */
	ps_t at;
	bool is_inside;	       /* the bus, which has its turn until ... */
	ps_t other_at;	       /* ... something is due at an adapter */
	bool is_alone;	       /* no other adapter has anything to do then */
	enum host_phase phase; /* of what the adapter does, where others have something, too */
};

/* When something is due at the @place-th adapter. @arrival: the next of the machine; NULL: none. */
static ps_t machine_due_at(const struct machine *machine, uint32_t place,
			   const struct sim_pkt *arrival)
{
	const ps_t due = machine->due_at[place], at = due > machine->now ? due : machine->now;

	return arrival && arrival->port == place && arrival->at < at ? arrival->at : at;
}

static bool goes_before(const struct machine *machine, const struct host *a, const struct host *b,
			ps_t at)
{
	const uint64_t key = machine->nics[0]->node.tie_key;

	return sim_tie(key, a->node.id, at) < sim_tie(key, b->node.id, at);
}

/* Of several adapters that have something to do at @at: by phase, then by chance. */
static __attribute__((noinline)) struct turn
first_of_several(const struct machine *machine, const struct sim_pkt *arrival, ps_t at)
{
	struct turn first = {.at = at};

	for (uint32_t i = 0; i < machine->count; i++) {
		const bool frame = arrival && arrival->port == i && arrival->at == at;
		struct host *nic = machine->nics[i];
		enum host_phase phase;

		if (machine_due_at(machine, i, arrival) != at)
			continue;
		phase = host_due_phase(nic, frame, at);
		if (!first.nic || phase < first.phase ||
		    (phase == first.phase && goes_before(machine, nic, first.nic, at))) {
			first.nic = nic;
			first.phase = phase;
		}
	}
	return first;
}

/* Whether a frame of that instant is for another adapter. */
static bool frames_for_others(struct sim_pkt *const *arrivals, uint32_t count, ps_t at)
{
	for (uint32_t i = 1; i < count && arrivals[i]->at == at; i++)
		if (arrivals[i]->port != arrivals[0]->port)
			return true;
	return false;
}

/* Of the adapters, at one of which something is due at @at: the next turn. */
static struct turn nic_turn(const struct machine *machine, struct sim_pkt *const *arrivals,
			    uint32_t count, ps_t at)
{
	const struct sim_pkt *arrival = count > 0 ? arrivals[0] : NULL;
	struct turn turn = {.at = at, .is_alone = true};

	for (uint32_t i = 0; i < machine->count; i++) {
		if (machine_due_at(machine, i, arrival) != at)
			continue;
		if (turn.nic)
			return first_of_several(machine, arrival, at);
		turn.nic = machine->nics[i];
	}
	return frames_for_others(arrivals, count, at) ? first_of_several(machine, arrival, at)
						      : turn;
}

/* @arrivals: what is left of them. */
static struct turn next_turn(const struct machine *machine, struct sim_pkt *const *arrivals,
			     uint32_t count)
{
	const struct sim_local_event *inside = machine->inside.root,
				     *program = machine->programs.root;
	ps_t at = machine->first_at > machine->now ? machine->first_at : machine->now;

	if (count > 0 && arrivals[0]->at < at)
		at = arrivals[0]->at;
	if (inside && inside->at <= at && !(program && program->at < inside->at))
		return (struct turn){.at = inside->at, .is_inside = true, .other_at = at};
	if (program && program->at < at)
		return (struct turn){.at = program->at};
	return at == PS_NEVER ? (struct turn){.at = at} : nic_turn(machine, arrivals, count, at);
}

static void on_pause(struct sim_local_event *event, void *context)
{
	struct host *nic = context;

	(void)event;
	nic->now = nic->th->until;
}

/* While it is the first of those that have something to do: what a start or a frame makes due at
 * once is of an earlier phase than what the others wait with. */
static void play_first(struct machine *machine, struct sim_thread *th, const struct turn *turn,
		       struct sim_pkt *const *arrivals, uint32_t count)
{
	struct sim_local *local = &turn->nic->local;

	if (turn->phase != HOST_START && turn->phase != HOST_FRAME) {
		host_play_event(turn->nic, th, turn->at);
		return;
	}
	sim_local_schedule(local, &machine->pause, turn->at);
	host_play(turn->nic, th, arrivals, count);
	if (machine->pause.pending)
		sim_local_cancel(local, &machine->pause); /* host_give_up() */
	else
		turn->nic->now = turn->at;
}

/* Its part of this instant, or of this phase of it. Returns how many of @arrivals it takes. */
static uint32_t play_nic(struct machine *machine, struct sim_thread *th, const struct turn *turn,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	const uint32_t place = turn->nic->place;
	const bool takes_frames = turn->is_alone || turn->phase == HOST_FRAME;
	const ps_t until = th->until;
	uint32_t taken = 0;

	host_touch(turn->nic);
	for (; takes_frames && taken < count && arrivals[taken]->at == turn->at &&
	       arrivals[taken]->port == place;
	     taken++)
		arrivals[taken]->port = 0; /* of its own */
	th->until = turn->at + 1;
	turn->nic->asked_at = th->until; /* it is the machine that asks */
	if (turn->is_alone)
		host_play(turn->nic, th, arrivals, taken);
	else
		play_first(machine, th, turn, arrivals, taken);
	th->until = until;
	turn->nic->th = th;
	return taken;
}

/* It is as late for them as there, ... */
static void bring_up_to_date(const struct machine *machine)
{
	for (uint32_t i = 0; i < machine->count; i++)
		if (machine->nics[i]->now < machine->now)
			machine->nics[i]->now = machine->now;
}

/* ... and as far as @machine knows anything may be due at them. */
static void touch_all(struct machine *machine)
{
	bring_up_to_date(machine);
	machine->changed = UINT64_MAX >> (MACHINE_NICS_MAX - machine->count);
}

/* Programs call any of the adapters, who tell each of them of anything. */
static void play_program(struct machine *machine, ps_t at)
{
	struct sim_local_event *event = sim_local_pop(&machine->programs, at, SIM_LOCAL_PROGRAM);

	touch_all(machine);
	event->fn(event, machine->nics[0]);
}

/* What happens on the bus before anything that is due elsewhere at @other_at, and before @until.
 * Whoever reaches an adapter by it touches it: host_touch(). */
static void play_inside(struct machine *machine, ps_t other_at, ps_t until)
{
	const struct sim_local *programs = &machine->programs;

	do {
		struct sim_local_event *event = machine->inside.root;

		if (!event || event->at > other_at || event->at >= until ||
		    (programs->root && programs->root->at < event->at))
			break;
		machine->now = machine->nics[0]->now = event->at;
		event = sim_local_pop(&machine->inside, event->at, event->phase);
		event->fn(event, machine);
	} while (!machine->changed && !machine->given_up);
}

static void look_at_changed(struct machine *machine)
{
	for (; machine->changed; machine->changed &= machine->changed - 1) {
		const uint32_t place = (uint32_t)__builtin_ctzll(machine->changed);

		machine->due_at[place] = host_due_at(machine->nics[place]);
	}
	machine->first_at = PS_NEVER;
	for (uint32_t i = 0; i < machine->count; i++)
		if (machine->due_at[i] < machine->first_at)
			machine->first_at = machine->due_at[i];
}

/* Between windows anything may have happened to any of them. */
static void machine_begin(struct machine *machine, struct sim_thread *th)
{
	for (uint32_t i = 0; i < machine->count; i++)
		machine->nics[i]->th = th;
	machine->given_up = false;
	touch_all(machine);
}

static void machine_end(struct machine *machine)
{
	bring_up_to_date(machine);
	for (uint32_t i = 0; i < machine->count; i++)
		machine->nics[i]->th = NULL;
}

static void machine_run(struct sim_thread *th, struct sim_node *node,
			struct sim_pkt *const *arrivals, uint32_t count)
{
	struct host *lead = container_of(node, struct host, node);
	struct machine *machine = host_machine(lead);
	uint32_t i = 0;
	ps_t asked_at = lead->asked_at;

	machine_begin(machine, th);
	while (!machine->given_up) {
		struct turn turn;

		if (machine->changed)
			look_at_changed(machine);
		turn = next_turn(machine, arrivals + i, count - i);
		if (turn.at >= th->until) {
			if (turn.at == PS_NEVER)
				break;
			lead->asked_at = asked_at;
			host_ask(lead, turn.at);
			asked_at = lead->asked_at;
			break;
		}
		machine->now = lead->now = turn.at;
		if (turn.nic)
			i += play_nic(machine, th, &turn, arrivals + i, count - i);
		else if (turn.is_inside)
			play_inside(machine, turn.other_at, th->until);
		else
			play_program(machine, turn.at);
	}
	lead->asked_at = asked_at;
	machine_end(machine);
}

static const struct sim_node_ops machine_ops = {
	.kind = "host",
	.run = machine_run,
	.finish = host_finish,
};

static int create_inside(struct machine *machine)
{
	const struct host_bus *bus = machine->nics[0]->params.bus;
	int ret;

	if (!bus || !bus->is_of_machine)
		return 0;
	ret = bus_create(&machine->inside, machine, bus->parts->parts, bus->parts->part_count,
			 bus->parts->lanes, bus->parts->lane_count, &machine->bus);
	if (ret == 0)
		bus_set_faults(machine->bus, bus->parts->faults, bus->parts->fault_count);
	for (uint32_t i = 0; i < machine->count && !ret; i++) {
		CHECK(machine->nics[i]->params.bus->parts == bus->parts);
		host_dma_set_bus(machine->nics[i], machine->bus);
	}
	return ret;
}

int machine_join(struct machine *machine, uint32_t place, struct sim *sim)
{
	const struct sim_local *of_lead = &machine->nics[0]->local;
	int ret = 0;

	sim_local_init(&machine->programs, of_lead->seed, of_lead->node);
	sim_local_init(&machine->inside, of_lead->seed, of_lead->node);
	sim_local_set_wheel(&machine->inside, &machine->wheel);
	machine->pause = (struct sim_local_event){.phase = SIM_LOCAL_PAUSE, .fn = on_pause};
	CHECK(machine->count >= 2);
	CHECK(machine->count <= MACHINE_NICS_MAX);
	for (uint32_t i = 0; i < machine->count; i++) {
		machine->nics[i]->machine = place + 1;
		machine->nics[i]->place = i;
		machine->nics[i]->node.ops = &machine_ops;
	}
	for (uint32_t i = 1; i < machine->count && !ret; i++)
		ret = sim_add_part(sim, &machine->nics[0]->node, &machine->nics[i]->node);
	return ret ? ret : create_inside(machine);
}

void machine_fini(struct machine *machine)
{
	bus_destroy(machine->bus);
}
