/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/fault.h"

#include "gpu/bus/internal.h"
#include "util/check.h"
#include "util/siphash.h"

/* ---- whose ---- */

static struct bus_way *way_of(const struct bus *bus, const struct bus_fault *fault)
{
	struct bus_way *way = bus->ways;

	while (way->from != fault->from || way->to != fault->to || way->link != fault->link ||
	       (way->lane->link.kind == BUS_NVLINK) != fault->is_nvlink)
		CHECK(++way < bus->ways + bus->way_count);
	return way;
}

static void set_fault(struct bus *bus, const struct bus_fault *fault)
{
	struct bus_part *part = &bus->parts[fault->from];
	struct bus_way *way;

	CHECK(fault->from < bus->part_count && fault->to < bus->part_count);
	CHECK((fault->from == fault->to) == (fault->kind == BUS_LATE));
	CHECK(fault->kind != BUS_DOWN || fault->until_at != PS_NEVER || fault->is_nvlink);
	if (fault->kind == BUS_LATE) {
		part->faults = part->fault_count > 0 ? part->faults : fault;
		part->fault_count++;
		return;
	}
	way = way_of(bus, fault);
	bus->mesh.has_outages |= fault->is_nvlink && fault->kind == BUS_DOWN;
	CHECK(fault->kind != BUS_SLOWER || way->lane->link.kind == BUS_PCIE);
	way->faults = way->fault_count > 0 ? way->faults : fault;
	way->fault_count++;
}

void bus_set_faults(struct bus *bus, const struct bus_fault *faults, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		CHECK(i == 0 || bus_fault_order(&faults[i]) >= bus_fault_order(&faults[i - 1]));
		set_fault(bus, &faults[i]);
	}
}

static bool is_at(const struct bus_fault *fault, enum bus_fault_kind kind, ps_t at)
{
	return fault->kind == kind && fault->from_at <= at && at < fault->until_at;
}

/* ---- parts ---- */

ps_t bus_fault_answer_at(const struct bus_part *part, ps_t at)
{
	ps_t late = 0;

	for (uint32_t i = 0; i < part->fault_count; i++)
		if (is_at(&part->faults[i], BUS_LATE, at) && part->faults[i].late > late)
			late = part->faults[i].late;
	return at + late;
}

/* ---- lanes that are away or slower ---- */

ps_t bus_fault_up_at(const struct bus_way *way, ps_t at)
{
	for (uint32_t i = 0; i < way->fault_count;)
		if (is_at(&way->faults[i], BUS_DOWN, at)) {
			at = way->faults[i].until_at;
			i = 0;
		} else {
			i++;
		}
	return at;
}

/* When it goes down next, being up at @at, and breaks off what is on it. */
static ps_t down_at(const struct bus_way *way, ps_t at)
{
	ps_t down = PS_NEVER;

	if (way->lane->link.kind == BUS_NVLINK)
		return PS_NEVER;
	for (uint32_t i = 0; i < way->fault_count; i++)
		if (way->faults[i].kind == BUS_DOWN && way->faults[i].from_at > at &&
		    way->faults[i].from_at < down)
			down = way->faults[i].from_at;
	return down;
}

/* What the lane is then. */
static struct bus_link slower(const struct bus_way *way, ps_t at)
{
	struct bus_link link = way->lane->link;

	for (uint32_t i = 0; i < way->fault_count; i++) {
		const struct bus_fault *fault = &way->faults[i];

		if (!is_at(fault, BUS_SLOWER, at))
			continue;
		if (fault->gen > 0 && fault->gen < link.pcie.gen)
			link.pcie.gen = fault->gen;
		if (fault->width > 0 && fault->width < link.pcie.width)
			link.pcie.width = fault->width;
	}
	return link;
}

ps_t bus_fault_time(const struct bus_way *way, uint64_t wire_bytes, ps_t at)
{
	const struct bus_link link = slower(way, at);

	return bus_link_time(&link, wire_bytes);
}

/* ---- wrong bits ---- */

static uint64_t errors_at(const struct bus_way *way, ps_t at)
{
	uint64_t ppt = 0;

	for (uint32_t i = 0; i < way->fault_count; i++)
		ppt += is_at(&way->faults[i], BUS_ERRORS, at) ? way->faults[i].errors_ppt : 0;
	return ppt < BUS_ERRORS_MAX ? ppt : BUS_ERRORS_MAX;
}

/* The chance, in 2^-63, that all of so many bytes are right: (1 - errors) to the power of their
 * bits, each product rounded down. */
static uint64_t chance_of_none(uint64_t errors_ppt, uint64_t bytes)
{
	const uint64_t one = 1ull << 63, all = 1000000000000;
	u128 base = (u128)(all - errors_ppt) * one / all, chance = one;

	for (uint64_t bits = bytes * 8; bits > 0; bits >>= 1) {
		if (bits & 1)
			chance = chance * base >> 63;
		base = base * base >> 63;
	}
	return (uint64_t)chance;
}

/* In 2^-63; @of tells draws for one burst apart. */
static uint64_t draw_by(const struct bus_way *way, uint64_t burst, uint64_t of)
{
	const struct sim_local *local = way->bus->local;
	const uint64_t words[] = {local->node, burst, of};

	return util_hash_words((struct util_key){local->seed, way->faults[0].id}, words, 3) >> 1;
}

/* When the sender begins anew with the packet that had a wrong bit and left at @sent_at. */
static ps_t naked_at(const struct bus_way *way, const struct bus_link *link, uint32_t attempt,
		     ps_t sent_at)
{
	const struct bus_way *back = bus_way_back(way);
	const ps_t nak_at = sent_at + 2 * way->lane->delay;
	uint64_t errors;

	if (link->kind != BUS_PCIE)
		return nak_at;
	errors = errors_at(back, sent_at + way->lane->delay);
	if (errors > 0 && draw_by(back, way->crossed, UINT32_MAX + (uint64_t)attempt) >=
				  chance_of_none(errors, PCIE_DLLP))
		return sent_at + pcie_replay_time(&link->pcie);
	return nak_at + pcie_time(&link->pcie, PCIE_DLLP);
}

/* ---- all of it ---- */

/* A burst as packets of a link: of the first @count all bytes. */
static uint32_t bytes_of(const struct bus_link *link, const struct bus_burst *burst,
			 uint32_t packets)
{
	const uint32_t most =
		burst->kind == BUS_NON_POSTED ? bus_link_request(link) : bus_link_payload(link);
	const uint64_t bytes = (uint64_t)most * packets;

	if (packets == 0)
		return 0;
	return bus_link_bytes(link, (enum bus_class)burst->kind,
			      bytes < burst->bytes ? (uint32_t)bytes : burst->bytes);
}

struct attempt {
	uint32_t taken; /* packets, of all */
	ps_t ended_at;	/* the last of them, or the first that was not taken, has left */
	bool is_wrong;	/* that one has a wrong bit; else the lane went down */
};

/* From packet @first of @count on, at @at. */
static struct attempt try_from(const struct bus_way *way, const struct bus_link *link,
			       const struct bus_burst *burst, uint32_t first, uint32_t count,
			       uint32_t number, ps_t at)
{
	const uint64_t errors = errors_at(way, at);
	const uint64_t draw = errors > 0 ? draw_by(way, way->crossed, number) : 0;
	const uint32_t before = bytes_of(link, burst, first);
	const ps_t down = down_at(way, at);
	struct attempt attempt = {.taken = first};

	for (; attempt.taken < count; attempt.taken++) {
		const uint32_t bytes = bytes_of(link, burst, attempt.taken + 1) - before;

		attempt.ended_at = at + bus_fault_time(way, bytes, at);
		if (attempt.ended_at > down)
			break;
		attempt.is_wrong = errors > 0 && draw >= chance_of_none(errors, bytes);
		if (attempt.is_wrong)
			break;
	}
	return attempt;
}

struct bus_crossing bus_fault_cross(const struct bus_way *way, const struct bus_link *link,
				    const struct bus_burst *burst, ps_t now)
{
	const uint32_t most =
		burst->kind == BUS_NON_POSTED ? bus_link_request(link) : bus_link_payload(link);
	const uint32_t count = pcie_tlps(burst->bytes, most), all = bytes_of(link, burst, count);
	const struct bus_link own = slower(way, now);
	struct bus_crossing crossing = {0};
	uint32_t first = 0;
	ps_t at = bus_fault_up_at(way, now);

	for (;;) {
		const struct attempt attempt =
			try_from(way, link, burst, first, count, crossing.replays, at);

		if (first == 0 && attempt.taken > 0)
			crossing.head_at = at + bus_fault_time(way, bytes_of(link, burst, 1), at);
		if (attempt.taken == count) {
			crossing.tail_at = attempt.ended_at;
			return crossing;
		}
		at = attempt.is_wrong ? naked_at(way, &own, crossing.replays, attempt.ended_at)
				      : down_at(way, at);
		if (link->kind != BUS_NVLINK)
			at = bus_fault_up_at(way, at);
		first = attempt.taken;
		crossing.replays++;
		crossing.replayed_bytes += all - bytes_of(link, burst, first);
	}
}
