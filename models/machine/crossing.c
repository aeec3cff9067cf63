/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/crossing.h"

#include "models/machine/packet.h"

struct crossing_piece {
	struct bus_burst burst;
	struct crossing *of;
	struct crossing_piece *next;
};
_Static_assert(sizeof(struct crossing_piece) <= PACKET_SLAB_LEAST, "it is in the bytes of a slab");

static struct packet_slab *piece_slab(struct crossing_piece *piece)
{
	return container_of((uint8_t *)piece, struct packet_slab, bytes[0]);
}

/* The first burst belongs to the crossing itself, and says so by what it is for. */
static struct crossing *crossing_of(struct bus_burst *burst)
{
	return burst->is_part ? container_of(burst, struct crossing_piece, burst)->of
			      : container_of(burst, struct crossing, first);
}

static void crossing_note(struct bus_burst *burst, ps_t now)
{
	struct crossing *crossing = crossing_of(burst);

	crossing->under_way--;
	if (crossing->under_way == 0)
		crossing->ops->arrived(crossing, now);
}

static void crossing_on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context;
	crossing_note(burst, now);
}

static bool crossing_on_reached(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context;
	crossing_note(burst, now);
	return false;
}

static void crossing_on_left(struct bus_burst *burst, void *context, ps_t now)
{
	struct crossing *crossing = crossing_of(burst);

	(void)context;
	if (crossing->ops->left)
		crossing->ops->left(crossing, now);
}

static const struct bus_burst_ops crossing_burst_ops = {
	.arrived = crossing_on_arrived, .reached = crossing_on_reached, .left = crossing_on_left};

bool crossing_init(struct crossing *crossing, struct sim_thread *th, uint32_t bytes, uint32_t most)
{
	struct crossing_piece **end = &crossing->more;

	crossing->first = (struct bus_burst){.ops = &crossing_burst_ops,
					     .bytes = bytes < most ? bytes : most};
	crossing->more = NULL;
	for (uint32_t done = most; done < bytes; done += most) {
		struct packet_slab *slab = packet_slab_get(th);
		struct crossing_piece *piece = slab ? (void *)slab->bytes : NULL;

		if (!piece) {
			crossing_fini(crossing, th);
			return false;
		}
		*piece = (struct crossing_piece){
			.burst = {.ops = &crossing_burst_ops,
				  .bytes = bytes - done < most ? bytes - done : most,
				  .is_part = true},
			.of = crossing};
		*end = piece;
		end = &piece->next;
	}
	return true;
}

static uint32_t count_of(const struct crossing *crossing)
{
	uint32_t count = 1;

	for (const struct crossing_piece *piece = crossing->more; piece; piece = piece->next)
		count++;
	return count;
}

void crossing_write(struct crossing *crossing, uint32_t from, uint32_t to, ps_t now)
{
	crossing->under_way = count_of(crossing);
	bus_write(crossing->bus, &crossing->first, from, to, now);
	for (struct crossing_piece *piece = crossing->more; piece; piece = piece->next)
		bus_write(crossing->bus, &piece->burst, from, to, now);
}

void crossing_read(struct crossing *crossing, uint32_t from, uint32_t to, ps_t now)
{
	crossing->under_way = count_of(crossing);
	bus_read(crossing->bus, &crossing->first, from, to, now);
	for (struct crossing_piece *piece = crossing->more; piece; piece = piece->next)
		bus_read(crossing->bus, &piece->burst, from, to, now);
}

void crossing_answer(struct crossing *crossing, ps_t now)
{
	crossing->under_way = count_of(crossing);
	bus_answer(crossing->bus, &crossing->first, now);
	for (struct crossing_piece *piece = crossing->more; piece; piece = piece->next)
		bus_answer(crossing->bus, &piece->burst, now);
}

void crossing_fini(struct crossing *crossing, struct sim_thread *th)
{
	while (crossing->more) {
		struct crossing_piece *piece = crossing->more;

		crossing->more = piece->next;
		packet_slab_put(th, piece_slab(piece));
	}
}

void crossing_drain(struct crossing *crossing, struct packet_pools *pools)
{
	while (crossing->more) {
		struct crossing_piece *piece = crossing->more;

		crossing->more = piece->next;
		packet_slab_return(pools, piece_slab(piece));
	}
}
