/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/oracle.h"

#include "sim/fault.h"
#include "util/check.h"
#include "util/rand.h"

/* The streams have the numbers of sim/fault.c. */
enum purpose { LOSS, CORRUPT, BIT, DUPLICATE, REORDER, JITTER, BITS };

struct trip { /* of one frame over one link */
	const struct net *net;
	struct sim_port *port;
	struct sim_fault *count; /* the first fault counts for all */
	struct sim_thread th;
};

static struct util_rand stream(const struct trip *trip, const struct sim_fault *fault,
			       enum purpose purpose)
{
	return (struct util_rand){trip->net->params.seed, trip->port->link_id,
				  purpose | (uint64_t)fault->place << 8, fault->number};
}

static bool happens(const struct trip *trip, const struct sim_fault *fault, enum purpose purpose,
		    uint32_t ppb)
{
	struct util_rand rand = stream(trip, fault, purpose);

	return ppb > 0 && util_rand_below(&rand, 1000000000) < ppb;
}

static bool is_lost(const struct trip *trip, const struct sim_fault *fault)
{
	for (uint32_t i = 0; i < fault->params.lost_count; i++)
		if (fault->params.lost_numbers[i] == fault->number)
			return true;
	return happens(trip, fault, LOSS, fault->params.loss_ppb);
}

/* All bits right: (1 - p)^bits in parts of 2^64, by squaring, each product rounded down. */
static bool has_wrong_bit(const struct trip *trip, const struct sim_fault *fault, uint32_t bytes)
{
	const u128 one = (u128)1 << 64;
	const u128 p = one * fault->params.bit_error_ppt / 1000000000000u;
	struct util_rand rand = stream(trip, fault, BITS);
	u128 power = one - p, right = one;

	for (uint32_t bit = 0; p > 0 && bytes * 8u >> bit > 0; bit++) {
		if (bytes * 8u >> bit & 1)
			right = right == one ? power : right * power >> 64;
		power = power * power >> 64;
	}
	return p > 0 && util_rand_next(&rand) >= right;
}

/* Whether it gets through with wrong bits. */
static bool corrupt(struct trip *trip, const struct sim_fault *fault, struct sim_pkt *pkt)
{
	struct util_rand bit = stream(trip, fault, BIT);

	trip->count->corrupted++;
	if (pkt->frame == SIM_DATA &&
	    trip->net->body->corrupt(&trip->th, pkt, util_rand_next(&bit)))
		return true;
	trip->count->refused++;
	return false;
}

static ps_t delay_of(struct trip *trip, const struct sim_fault *fault)
{
	struct util_rand jitter = stream(trip, fault, JITTER);
	ps_t delay = fault->params.delay;

	if (fault->params.jitter > 0)
		delay += util_rand_below(&jitter, fault->params.jitter + 1);
	if (happens(trip, fault, REORDER, fault->params.reorder_ppb)) {
		trip->count->reordered++;
		delay += fault->params.reorder_delay;
	}
	return delay;
}

static bool applies(const struct sim_fault *fault, const struct sim_pkt *pkt, ps_t start)
{
	return (pkt->frame == SIM_DATA || fault->params.control) && start >= fault->params.from &&
	       start < fault->params.until;
}

uint32_t oracle_faults(const struct net *net, struct sim_port *port, struct sim_pkt *pkt,
		       ps_t start, struct oracle_copy *ret_copies)
{
	struct trip trip = {net, port, port->fault, {.sim = net->sim}};
	uint32_t count = 0;
	ps_t delay = 0, behind = 0;

	for (struct sim_fault *f = port->fault; f; f = f->next)
		f->number += pkt->frame == SIM_DATA || f->params.control;
	for (struct sim_fault *f = port->fault; f; f = f->next) {
		bool lost, wrong;

		if (!applies(f, pkt, start))
			continue;
		lost = is_lost(&trip, f);
		wrong = happens(&trip, f, CORRUPT, f->params.corrupt_ppb) ||
			has_wrong_bit(&trip, f, pkt->bytes);
		trip.count->lost += lost;
		if (lost || (wrong && !corrupt(&trip, f, pkt))) {
			if (pkt->frame == SIM_DATA)
				net->body->release(&trip.th, pkt);
			return 0;
		}
		delay += delay_of(&trip, f);
	}
	for (struct sim_fault *f = port->fault; f; f = f->next) {
		struct oracle_copy *copy = &ret_copies[count];

		if (!applies(f, pkt, start) ||
		    !happens(&trip, f, DUPLICATE, f->params.duplicate_ppb))
			continue;
		behind += f->params.duplicate_delay;
		trip.count->duplicated++;
		*copy = (struct oracle_copy){*pkt, delay + behind};
		CHECK(count < ORACLE_COPIES - 1);
		count += pkt->frame != SIM_DATA || net->body->duplicate(&trip.th, pkt, &copy->pkt);
	}
	ret_copies[count++] = (struct oracle_copy){*pkt, delay};
	return count;
}
