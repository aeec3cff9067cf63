/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids, what programs are told, and the ports of this process. */
#include "transport/cm/cm.h"

#include "transport/cm/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

struct cm *cm_create(const struct cm_params *params)
{
	struct cm *cm = util_zalloc(sizeof(*cm));

	if (!cm)
		return NULL;
	cm->params = *params;
	cm->rand.seed = params->seed;
	cm->next_at = PS_NEVER;
	cm->outbox = util_zalloc(CM_OUTBOX * sizeof(cm->outbox[0]));
	if (!cm->outbox) {
		util_free(cm);
		return NULL;
	}
	return cm;
}

void cm_destroy(struct cm *cm)
{
	if (!cm)
		return;
	CHECK(!cm->files);
	CHECK(cm->ids_count == 0);
	util_free(cm->ids);
	util_free(cm->outbox);
	util_free(cm);
}

void cm_set_slot(struct cm *cm, uint32_t slot)
{
	cm->slot = slot & ((1u << CM_SLOT_BITS) - 1);
}

/* ---- ids ---- */

static bool ids_grow(struct cm *cm)
{
	const uint32_t size = cm->ids_size ? 2 * cm->ids_size : 64;
	struct cm_id **ids = util_realloc(cm->ids, size, sizeof(ids[0]));

	if (!ids)
		return false;
	memset(ids + cm->ids_size, 0, (size - cm->ids_size) * sizeof(ids[0]));
	cm->ids = ids;
	cm->ids_size = size;
	return true;
}

/* A handle that is free, not soon again the one that was last. */
static uint32_t free_handle(struct cm *cm)
{
	while (cm->ids[cm->ids_hint % cm->ids_size])
		cm->ids_hint++;
	return cm->ids_hint++ % cm->ids_size;
}

struct cm_id *cm_id_create(struct cm *cm, struct cm_file *file)
{
	struct cm_id *id;

	if (cm->ids_count == CM_IDS_MAX || (cm->ids_count == cm->ids_size && !ids_grow(cm)))
		return NULL;
	id = util_zalloc(sizeof(*id));
	if (!id)
		return NULL;
	id->handle = free_handle(cm);
	id->comm_id = cm->slot << (32 - CM_SLOT_BITS) |
		      (++cm->generation << CM_INDEX_BITS & 0x03ffffff) | id->handle;
	id->cm = cm;
	id->file = file;
	id->timer_at = PS_NEVER;
	id->tid = util_rand_next(&cm->rand);
	id->rq_psn = util_rand_next(&cm->rand) & 0xffffff;
	id->mtu = cm->params.mtu;
	cm->ids[id->handle] = id;
	cm->ids_count++;
	return id;
}

static void unlink_event(struct cm_file *file, struct cm_event **at)
{
	struct cm_event *event = *at;

	*at = event->next;
	if (!*at)
		file->last = at;
	if (!file->first)
		file->cm->params.ops->readable(file->owner, false);
}

/* The request that it came with, where nobody has been told of it yet. */
static void forget_request(struct cm_id *id)
{
	struct cm_event **at = id->file ? &id->file->first : NULL;

	while (at && *at && (*at)->child != id)
		at = &(*at)->next;
	if (at && *at) {
		struct cm_event *event = *at;

		unlink_event(id->file, at);
		util_free(event);
	}
}

/* What is still to be told of @mcast. */
static void forget_join(struct cm_file *file, const struct cm_mcast *mcast)
{
	struct cm_event **at = file ? &file->first : NULL;

	while (at && *at && (*at)->mcast != mcast)
		at = &(*at)->next;
	if (at && *at) {
		struct cm_event *event = *at;

		unlink_event(file, at);
		util_free(event);
	}
}

void cm_leave(struct cm_id *id, struct cm_mcast *mcast)
{
	struct cm_mcast **at = &id->mcasts;

	while (*at != mcast)
		at = &(*at)->next;
	*at = mcast->next;
	id->mcast_count--;
	forget_join(id->file, mcast);
	util_free(mcast);
}

void cm_id_free(struct cm_id *id)
{
	struct cm *cm = id->cm;

	if (id->is_passive)
		forget_request(id);
	while (id->mcasts)
		cm_leave(id, id->mcasts);
	cm_events_move(id, NULL);
	cm_port_give(id);
	cm->ids[id->handle] = NULL;
	cm->ids_count--;
	util_free(id);
}

struct cm_id *cm_id_find(const struct cm *cm, uint32_t handle)
{
	return handle < cm->ids_size ? cm->ids[handle] : NULL;
}

struct cm_id *cm_id_of_comm(const struct cm *cm, uint32_t comm_id)
{
	struct cm_id *id = cm_id_find(cm, comm_id & (CM_IDS_MAX - 1));

	return id && id->comm_id == comm_id ? id : NULL;
}

ps_t cm_timeout(uint32_t exponent)
{
	return (ps_t)4096000 << exponent;
}

struct cm_id *cm_id_listening(const struct cm *cm, uint16_t space, uint16_t port)
{
	for (uint32_t i = 0; i < cm->ids_size; i++) {
		struct cm_id *id = cm->ids[i];

		if (id && id->state == CM_LISTEN && id->space == space && id->src.port == port)
			return id;
	}
	return NULL;
}

bool cm_listens(const struct cm *cm, uint16_t space, uint16_t port)
{
	return cm_id_listening(cm, space, port) != NULL;
}

void cm_timer_set(struct cm_id *id, ps_t at)
{
	id->timer_at = at;
	if (at < id->cm->next_at)
		id->cm->next_at = at;
}

void cm_move_epoch(struct cm *cm, ps_t by)
{
	for (uint32_t i = 0; i < cm->ids_size; i++) {
		struct cm_id *id = cm->ids[i];

		if (id && id->timer_at != PS_NEVER)
			id->timer_at = id->timer_at > by ? id->timer_at - by : 1;
	}
	if (cm->next_at != PS_NEVER)
		cm->next_at = cm->next_at > by ? cm->next_at - by : 1;
}

/* ---- what programs are told ---- */

struct cm_event *cm_event_new(struct cm_id *id, uint32_t event, int status)
{
	struct cm_event *e = id->file ? util_zalloc(sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	e->id = id;
	e->said.uid = id->uid;
	e->said.id = id->handle;
	e->said.event = event;
	e->said.status = (uint32_t)status;
	return e;
}

void cm_event_put(struct cm_event *event)
{
	struct cm_file *file = event->id->file;
	const bool was_empty = !file->first;

	event->next = NULL;
	*file->last = event;
	file->last = &event->next;
	if (was_empty)
		file->cm->params.ops->readable(file->owner, true);
}

/* Nobody is told of what has not been accepted: that will fail. */
void cm_tell(struct cm_id *id, uint32_t event, int status)
{
	struct cm_event *e = id->uid != 0 ? cm_event_new(id, event, status) : NULL;

	if (e)
		cm_event_put(e);
}

struct cm_event *cm_event_take(struct cm_file *file)
{
	struct cm_event *event = file->first;

	if (event)
		unlink_event(file, &file->first);
	return event;
}

struct cm_id *cm_id_untold(const struct cm_id *listener)
{
	const struct cm_event *event = listener->file->first;

	while (event && (event->id != listener || !event->child))
		event = event->next;
	return event ? event->child : NULL;
}

/* What is still to be told of @id: elsewhere, or (NULL) never. */
void cm_events_move(struct cm_id *id, struct cm_file *to)
{
	struct cm_file *from = id->file;
	struct cm_event **at = from ? &from->first : NULL;

	while (at && *at) {
		struct cm_event *event = *at;

		if (event->id != id) {
			at = &event->next;
			continue;
		}
		unlink_event(from, at);
		if (to) {
			id->file = to;
			if (event->child)
				event->child->file = to;
			cm_event_put(event);
			id->file = from;
			continue;
		}
		util_free(event);
	}
}

struct cm_file *cm_file_create(struct cm *cm, void *file_owner)
{
	struct cm_file *file = util_zalloc(sizeof(*file));

	if (!file)
		return NULL;
	file->cm = cm;
	file->owner = file_owner;
	file->last = &file->first;
	file->next = cm->files;
	cm->files = file;
	return file;
}

/* ---- ports ---- */

static struct cm_port *port_find(const struct cm *cm, uint16_t space, uint16_t port)
{
	struct cm_port *p = cm->ports;

	while (p && (p->space != space || p->port != port))
		p = p->next;
	return p;
}

/* Those who share a port all said that they would, and none of them listens there. */
static bool may_share(const struct cm_id *asking, uint16_t port)
{
	const struct cm *cm = asking->cm;

	for (uint32_t i = 0; i < cm->ids_size; i++) {
		const struct cm_id *id = cm->ids[i];

		if (id && id->has_port && id->space == asking->space && id->src.port == port &&
		    (!id->reuses_addr || id->state == CM_LISTEN))
			return false;
	}
	return asking->reuses_addr;
}

int cm_port_take(struct cm_id *id, uint16_t port)
{
	struct cm *cm = id->cm;
	struct cm_port *p = port_find(cm, id->space, port);
	int ret;

	if (p && !may_share(id, port))
		return -EADDRINUSE;
	if (!p) {
		p = util_zalloc(sizeof(*p));
		ret = p ? cm->params.ops->take_port(cm->params.owner, id->space, port) : -ENOMEM;
		if (ret != 0) {
			util_free(p);
			return ret;
		}
		*p = (struct cm_port){.next = cm->ports, .space = id->space, .port = port};
		cm->ports = p;
	}
	p->users++;
	id->has_port = true;
	id->src.port = port;
	return 0;
}

void cm_port_give(struct cm_id *id)
{
	struct cm *cm = id->cm;
	struct cm_port **at = &cm->ports, *p;

	if (!id->has_port)
		return;
	id->has_port = false;
	while ((*at)->space != id->space || (*at)->port != id->src.port)
		at = &(*at)->next;
	p = *at;
	if (--p->users > 0)
		return;
	*at = p->next;
	cm->params.ops->give_port(cm->params.owner, p->space, p->port);
	util_free(p);
}
