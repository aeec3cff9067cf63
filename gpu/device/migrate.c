/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/migrate.h"

#include "util/alloc.h"

/* Bursts that hide the latency of the bus. What a program begins is behind what arrives at its
 * time, so it begins later, in ps. */
enum { LEG_BURSTS = 32, LEG_START = 1 };

struct gpu_leg {
	struct gpu_leg *next;
	struct gpu_migration *migration;
	struct gpu *gpu; /* whose engine moves it */
	bool reads;
	struct copy_engine engine;
	struct copy_job job;
};

static struct gpu_moves *moves_of(const struct gpu_leg *leg)
{
	return &leg->gpu->moves[leg->reads ? 0 : 1];
}

static void moves_begin(struct gpu_moves *moves, ps_t now)
{
	if (moves->under_way++ == 0)
		moves->busy_from = now;
}

static void moves_end(struct gpu_moves *moves, uint64_t bytes, ps_t now)
{
	moves->stats.copies++;
	moves->stats.bytes += bytes;
	if (--moves->under_way == 0)
		moves->stats.busy += now - moves->busy_from;
}

static void on_leg(struct copy_job *job, ps_t now)
{
	const struct gpu_leg *leg = container_of(job, struct gpu_leg, job);
	struct gpu_migration *migration = leg->migration;

	moves_end(moves_of(leg), job->bytes, now);
	if (--migration->under_way > 0)
		return;
	gpu_migration_fini(migration);
	migration->on_done(migration, now);
}

/* Of so many bytes between @gpu and the part @other; none: nothing to be done. */
static bool add_leg(struct gpu_migration *migration, struct gpu *gpu, uint32_t other, bool reads,
		    uint64_t bytes)
{
	struct gpu_leg *leg;

	if (bytes == 0)
		return true;
	leg = util_calloc(1, sizeof(*leg));
	if (!leg)
		return false;
	leg->next = migration->legs;
	migration->legs = leg;
	leg->migration = migration;
	leg->gpu = gpu;
	leg->job = (struct copy_job){.bytes = bytes, .other = other, .on_done = on_leg};
	leg->reads = reads;
	migration->under_way++;
	return copy_engine_init(&leg->engine, gpu->bus, gpu->local, gpu->part, reads, gpu_key(gpu),
				LEG_BURSTS) == 0;
}

static bool add_peer(struct gpu_migration *migration, struct gpu *to, struct gpu *from,
		     uint64_t bytes)
{
	if (bus_may_read(to->bus, to->part, from->part))
		return add_leg(migration, to, from->part, true, bytes);
	if (bus_may_write(to->bus, from->part, to->part))
		return add_leg(migration, from, to->part, false, bytes);
	return add_leg(migration, from, from->host_part, false, bytes) &&
	       add_leg(migration, to, to->host_part, true, bytes);
}

/* False: no memory. */
static bool add_legs(struct gpu_migration *migration, const struct gpu_touch *touch)
{
	struct gpu *const *gpus = touch->managed->gpus;
	struct gpu *own = gpus[touch->who];
	bool has = true;

	if (own)
		has = add_leg(migration, own, own->host_part, true,
			      touch->from[GPU_CPU] + touch->read_there) &&
		      add_leg(migration, own, own->host_part, false, touch->written_there);
	for (uint32_t who = 1; who < GPU_MANAGED_OWNERS && gpus[who] && has; who++)
		has = add_leg(migration, gpus[who], gpus[who]->host_part, false,
			      touch->to_host[who]) &&
		      (!touch->from[who] || add_peer(migration, own, gpus[who], touch->from[who]));
	return has;
}

bool gpu_migrate(struct gpu_migration *migration, const struct gpu_touch *touch, ps_t time,
		 ps_t now)
{
	if (!add_legs(migration, touch) || !migration->legs) {
		gpu_migration_fini(migration);
		return false;
	}
	for (struct gpu_leg *leg = migration->legs; leg; leg = leg->next) {
		leg->job.start = LEG_START;
		leg->job.least = time > LEG_START ? time - LEG_START : 0;
		leg->job.spread = time / 8 * 7; /* the last ones have a way to go */
		moves_begin(moves_of(leg), now);
		copy_engine_take(&leg->engine, &leg->job, now);
	}
	return true;
}

void gpu_migration_fini(struct gpu_migration *migration)
{
	while (migration->legs) {
		struct gpu_leg *leg = migration->legs;

		migration->legs = leg->next;
		copy_engine_fini(&leg->engine);
		util_free(leg);
	}
	migration->under_way = 0;
}
