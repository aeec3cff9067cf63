/* SPDX-License-Identifier: BSD-2-Clause */

/* Which operation met which fault, and that every packet is accounted for. A tap hears of a frame
 * before the fault does; what became of the frame shows in the fault's counters when the next one
 * starts. */
#include "sim/port.h"
#include "sim/sim.h"
#include "sim/switch.h"
#include "tests/swarm/run.h"
#include "transport/wire/pkt.h"
#include "util/check.h"

#include <string.h>

/* The operation that a packet belongs to, -1: none. */
static int kind_of(const struct plan *plan, const struct sim_pkt *frame)
{
	struct wire_pkt pkt;
	const struct wire_op *op;
	const struct side *side;
	uint32_t number, psn;

	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	op = wire_op_find(pkt.opcode);
	number = pkt.dest_qpn - plan->sides[0].qpn;
	if (!op || op->cnp || number >= plan->side_count)
		return -1;
	side = &plan->sides[op->request ? plan->sides[number].peer : number];
	psn = (pkt.psn - side->sq_psn) & 0xffffff;
	for (uint32_t i = 0; i < side->op_count; i++)
		if (psn - side->ops[i].psn < side->ops[i].packets)
			return (int)side->ops[i].kind;
	return -1;
}

static void count(struct tally *t, enum fault_kind fault, uint64_t times)
{
	if (t->data && t->kind >= 0)
		t->matrix.hits[t->kind][fault] += times;
}

static void settle(struct tally *t)
{
	const struct sim_fault *now = t->port->fault;
	const struct sim_fault *seen = &t->seen;
	uint64_t lost;

	if (!now)
		return;
	lost = now->lost - seen->lost;
	count(t, t->down ? FAULT_DOWN : t->listed ? FAULT_DROP : FAULT_LOSS, lost);
	count(t, FAULT_CORRUPT, now->corrupted - seen->corrupted);
	count(t, FAULT_DUPLICATE, now->duplicated - seen->duplicated);
	count(t, FAULT_REORDER, now->reordered - seen->reordered);
	lost += now->refused - seen->refused;
	if (t->delayed && lost == 0)
		count(t, FAULT_DELAY, 1);
	if (t->data) {
		t->lost += lost;
		t->duplicated += now->duplicated - seen->duplicated;
	}
	t->seen = *now;
}

static void on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		     const struct sim_pkt *pkt, ps_t start)
{
	struct tally *t = container_of(tap, struct tally, tap);
	const struct sim_fault *fault = port->fault;

	settle(t);
	t->data = pkt->frame == SIM_DATA;
	t->frames += t->data;
	if (t->frames == RUN_FRAMES_MAX) {
		run_violation(t->run, "more than %u frames on %s", (unsigned)RUN_FRAMES_MAX,
			      port->link_name);
		sim_stop(th->sim);
	}
	if (!fault)
		return;
	t->kind = t->data ? kind_of(t->run->plan, pkt) : -1;
	t->delayed = (fault->params.delay > 0 || fault->params.jitter > 0) &&
		     start >= fault->params.from && start < fault->params.until;
	t->listed = t->down = false;
	for (const struct sim_fault *f = fault; f; f = f->next)
		t->down |= f->params.loss_ppb == 1000000000 && start >= f->params.from &&
			   start < f->params.until;
	for (uint32_t i = 0; i < fault->params.lost_count; i++)
		t->listed |= fault->params.lost_numbers[i] == fault->number + 1;
}

void tally_attach(struct run *run)
{
	const struct sim *sim = run->fabric.sim;

	for (uint32_t i = 0; i < sim_node_count(sim); i++)
		for (uint32_t p = 0; p < sim_node_at(sim, i)->port_count; p++) {
			struct sim_port *port = &sim_node_at(sim, i)->ports[p];
			struct tally *t = &run->tallies[run->tally_count++];

			CHECK(run->tally_count <= RUN_PORTS_MAX);
			*t = (struct tally){
				.tap = {.on_start = on_start}, .run = run, .port = port};
			sim_tap_attach(&t->tap, port);
		}
}

void tally_finish(struct run *run)
{
	for (uint32_t i = 0; i < run->tally_count; i++)
		settle(&run->tallies[i]);
}

static uint64_t switch_drops(struct run *run)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < run->fabric.switch_count; i++) {
		const struct sim_switch_stats *s = sim_switch_stats(run->fabric.switches[i]);
		const struct sim_fc *fc = sim_switch_fc(run->fabric.switches[i]);

		drops += s->dropped_route + s->dropped_ttl + s->dropped_unknown + s->not_mine +
			 fc->dropped_buffer + fc->dropped_headroom;
		/* Of a flood each copy takes room. */
		if (fc->dropped_headroom > 0 && run->plan->fault_count == 0 &&
		    run->plan->down_count == 0 && s->flooded == 0)
			run_violation(run, "headroom overflows at %s", fc->node->name);
		if (run->plan->fc == PLAN_FC_CREDIT && fc->dropped_buffer > 0)
			run_violation(run, "a frame with credit is dropped at %s", fc->node->name);
	}
	return drops;
}

/* Slabs of packets that are nowhere any more. */
static uint64_t leaked(const struct run *run)
{
	const struct packet_pools *pools = &run->fabric.pools;
	uint64_t taken = 0, home = 0;

	for (uint32_t i = 0; i < pools->thread_count; i++) {
		taken += pools->slabs[i].fresh_count;
		home += pools->slabs[i].free_count;
	}
	for (uint32_t i = 0; i < run->fabric.host_count; i++)
		home += run->fabric.hosts[i].room != NULL;
	return taken - home;
}

void tally_check(struct run *run)
{
	uint64_t sent = 0, received = 0, lost = switch_drops(run), more = 0;

	for (uint32_t i = 0; i < run->fabric.host_count; i++) {
		const struct hca_counters *c = hca_device_counters(run->fabric.hosts[i].hca);

		sent += c->tx_packets;
		received += c->rx_packets;
		lost += run->fabric.hosts[i].stats.not_mine;
	}
	for (uint32_t i = 0; i < run->fabric.switch_count; i++) {
		const struct sim_conweave_stats stats =
			sim_switch_conweave_stats(run->fabric.switches[i]);

		more += sim_switch_stats(run->fabric.switches[i])->flood_copies;
		sent += stats.notes_sent;
		received += stats.notes_heard;
	}
	for (uint32_t i = 0; i < run->tally_count; i++) {
		lost += run->tallies[i].lost;
		more += run->tallies[i].duplicated;
	}
	if (sent + more != received + lost)
		run_violation(run, "packets: %llu sent + %llu copies, %llu received + %llu lost",
			      (unsigned long long)sent, (unsigned long long)more,
			      (unsigned long long)received, (unsigned long long)lost);
	if (leaked(run) != 0)
		run_violation(run, "%llu slabs are gone", (unsigned long long)leaked(run));
}
