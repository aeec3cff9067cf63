/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/request_log.h"

#include "tools/observe/host_index.h"
#include "transport/hca/watch.h"
#include "transport/wire/psn.h"
#include "util/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct entry {
	struct request request;
	uint64_t number;  /* once it is settled */
	uint32_t address; /* of the host that it goes to */
	uint32_t before;  /* of the same queue; NONE: the first */
	uint32_t next;	  /* NONE: the last so far */
};

struct queue {			 /* of the queue pairs that have had this number */
	uint32_t oldest, newest; /* entries; oldest: of those that have not ended; NONE: none */
};

struct answer { /* to a READ of queue pair @qpn of the host with @address, sent again */
	uint32_t address, qpn, psn;
	ps_t at;
};

/* Written by the thread that runs the host. */
struct host_log {
	struct hca_watcher watcher;
	const struct host *host;
	struct request_log *log;
	struct entry *entries;
	uint32_t count, room, settled; /* settled: so many have numbers */
	struct util_idmap queues;      /* by QPN */
	struct answer *answers;	       /* not settled yet */
	uint32_t answer_count, answer_room;
};

struct place {
	uint32_t host, entry;
};

struct target { /* a queue pair, and one whose requests go there */
	uint32_t host, qpn;
	uint32_t from_host, from_qpn;
};

struct request_log {
	bool (*whose)(struct request_rank *ret_rank);
	struct host_index addresses;
	struct host_log *hosts;
	uint32_t host_count;
	uint64_t *left_out; /* by program; written by all threads */
	struct place *order;
	uint64_t count, room;
	struct target *targets; /* sorted */
	size_t target_count, target_room;
};

/* ---- in the window ---- */

static bool has_psn(const struct request *request, uint32_t psn)
{
	return (uint32_t)wire_psn_diff(psn, request->first_psn) < request->packets;
}

static struct queue *queue_of(struct host_log *own, uint32_t qpn)
{
	struct queue *queue = util_idmap_find(&own->queues, qpn);

	if (queue || util_idmap_reserve(&own->queues) != 0)
		return queue;
	queue = malloc(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct queue){.oldest = NONE, .newest = NONE};
	util_idmap_add(&own->queues, qpn, queue);
	return queue;
}

/* NULL: there is no place for it. */
static struct entry *new_entry(struct host_log *own)
{
	if (own->count == REQUESTS_MAX)
		return NULL;
	if (own->count == own->room) {
		const uint32_t room = own->room ? 2 * own->room : 64;
		struct entry *entries = realloc(own->entries, room * sizeof(*entries));

		if (!entries)
			return NULL;
		own->entries = entries;
		own->room = room;
	}
	return &own->entries[own->count];
}

static void request_log_on_post(struct hca_watcher *watcher, const struct hca_posted *posted,
				ps_t now)
{
	struct host_log *own = container_of(watcher, struct host_log, watcher);
	const struct host_client *flows = own->host->client;
	struct request_rank whose;
	struct queue *queue;
	struct entry *entry;

	if ((flows && flows->cq == posted->send_cq) || !own->log->whose(&whose))
		return;
	queue = queue_of(own, posted->qpn);
	entry = queue ? new_entry(own) : NULL;
	if (!entry) {
		__atomic_fetch_add(&own->log->left_out[whose.program], 1, __ATOMIC_RELAXED);
		return;
	}
	*entry = (struct entry){
		.request = {.src = own->host->number,
			    .program = whose.program,
			    .rank = whose.rank,
			    .qpn = posted->qpn,
			    .dest_qpn = posted->dest_qpn,
			    .wr_id = posted->wr_id,
			    .opcode = posted->opcode,
			    .is_answered = posted->answered,
			    .priority = posted->path->priority,
			    .bytes = posted->bytes,
			    .first_psn = posted->first_psn,
			    .packets = posted->packets,
			    .posted_at = now},
		.address = posted->path->link_dst,
		.before = queue->newest,
		.next = NONE,
	};
	if (queue->newest != NONE)
		own->entries[queue->newest].next = own->count;
	if (queue->oldest == NONE)
		queue->oldest = own->count;
	queue->newest = own->count++;
}

static void request_log_on_end(struct hca_watcher *watcher, uint32_t qpn, enum hca_wc_status status,
			       ps_t now)
{
	struct host_log *own = container_of(watcher, struct host_log, watcher);
	struct queue *queue = util_idmap_find(&own->queues, qpn);
	struct entry *entry;

	if (!queue || queue->oldest == NONE)
		return;
	entry = &own->entries[queue->oldest];
	entry->request.state = REQUEST_ENDED;
	entry->request.status = status;
	entry->request.end_at = now;
	queue->oldest = entry->next;
}

static void request_log_on_gone(struct hca_watcher *watcher, uint32_t qpn)
{
	struct host_log *own = container_of(watcher, struct host_log, watcher);
	struct queue *queue = util_idmap_find(&own->queues, qpn);

	if (!queue)
		return;
	for (; queue->oldest != NONE; queue->oldest = own->entries[queue->oldest].next)
		own->entries[queue->oldest].request.state = REQUEST_GONE;
}

/* What there is no memory for counts nowhere. */
static void keep_answer(struct host_log *own, const struct hca_again *again)
{
	if (own->answer_count == own->answer_room) {
		const uint32_t room = own->answer_room ? 2 * own->answer_room : 64;
		struct answer *answers = realloc(own->answers, room * sizeof(*answers));

		if (!answers)
			return;
		own->answers = answers;
		own->answer_room = room;
	}
	own->answers[own->answer_count++] =
		(struct answer){again->path->link_dst, again->dest_qpn, again->psn, own->host->now};
}

/* Nothing that has ended is sent again, but answers, which other hosts have asked for. */
static void request_log_on_again(struct hca_watcher *watcher, const struct hca_again *again)
{
	struct host_log *own = container_of(watcher, struct host_log, watcher);
	struct queue *queue = util_idmap_find(&own->queues, again->qpn);

	if (again->is_answer) {
		keep_answer(own, again);
		return;
	}
	for (uint32_t place = queue ? queue->oldest : NONE; place != NONE;
	     place = own->entries[place].next)
		if (has_psn(&own->entries[place].request, again->psn)) {
			own->entries[place].request.packets_retransmitted++;
			break;
		}
}

/* ---- between windows ---- */

static const struct entry *entry_at(const struct request_log *log, struct place place)
{
	return &log->hosts[place.host].entries[place.entry];
}

static int request_log_compare(const void *a, const void *b, void *owner)
{
	const struct place *x = a, *y = b;
	const struct request *p = &entry_at(owner, *x)->request, *q = &entry_at(owner, *y)->request;

	if (p->posted_at != q->posted_at)
		return p->posted_at < q->posted_at ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (p->qpn != q->qpn)
		return p->qpn < q->qpn ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->qpn != y->qpn)
		return x->qpn < y->qpn ? -1 : 1;
	if (x->from_host != y->from_host)
		return x->from_host < y->from_host ? -1 : 1;
	return x->from_qpn < y->from_qpn ? -1 : x->from_qpn > y->from_qpn;
}

static int add_target(struct request_log *log, const struct request *request)
{
	if (log->target_count == log->target_room) {
		const size_t room = log->target_room ? 2 * log->target_room : 64;
		struct target *targets = realloc(log->targets, room * sizeof(*targets));

		if (!targets)
			return -ENOMEM;
		log->targets = targets;
		log->target_room = room;
	}
	log->targets[log->target_count++] =
		(struct target){request->dst, request->dest_qpn, request->src, request->qpn};
	return 0;
}

static void unite_targets(struct request_log *log)
{
	size_t count = 0;

	qsort(log->targets, log->target_count, sizeof(*log->targets), compare_targets);
	for (size_t i = 0; i < log->target_count; i++)
		if (count == 0 || compare_targets(&log->targets[count - 1], &log->targets[i]) != 0)
			log->targets[count++] = log->targets[i];
	log->target_count = count;
}

static int settle_entry(struct request_log *log, struct host_log *own, struct entry *entry)
{
	const struct entry *before = entry->before == NONE ? NULL : &own->entries[entry->before];
	struct request *request = &entry->request;

	if (!before || before->address != entry->address) {
		request->dst = host_index_find(&log->addresses, entry->address);
		return add_target(log, request);
	}
	request->dst = before->request.dst;
	return before->request.dest_qpn == request->dest_qpn ? 0 : add_target(log, request);
}

static int settle_host(struct request_log *log, uint32_t number)
{
	struct host_log *own = &log->hosts[number];
	int ret = 0;

	for (; own->settled < own->count && !ret; own->settled++) {
		ret = settle_entry(log, own, &own->entries[own->settled]);
		log->order[log->count++] = (struct place){number, own->settled};
	}
	return ret;
}

static int number_entries(struct request_log *log)
{
	const uint64_t before = log->count;
	const size_t targets = log->target_count;
	uint64_t more = 0;
	int ret = 0;

	for (uint32_t i = 0; i < log->host_count; i++)
		more += log->hosts[i].count - log->hosts[i].settled;
	if (more == 0)
		return 0;
	if (log->count + more > log->room) {
		const uint64_t room = 2 * (log->count + more);
		struct place *order = realloc(log->order, room * sizeof(*order));

		if (!order)
			return -ENOMEM;
		log->order = order;
		log->room = room;
	}
	for (uint32_t i = 0; i < log->host_count && !ret; i++)
		ret = settle_host(log, i);
	qsort_r(&log->order[before], log->count - before, sizeof(*log->order), request_log_compare,
		log);
	for (uint64_t i = before; i < log->count; i++)
		log->hosts[log->order[i].host].entries[log->order[i].entry].number = i;
	if (log->target_count > targets)
		unite_targets(log);
	return ret;
}

/* ---- for those who ask ---- */

uint64_t request_log_count(const struct request_log *log)
{
	return log->count;
}

uint64_t request_log_left_out(const struct request_log *log, uint32_t program)
{
	return log->left_out[program];
}

const struct request *request_log_at(const struct request_log *log, uint64_t number)
{
	return number < log->count ? &entry_at(log, log->order[number])->request : NULL;
}

/* Of those that @host posts to @qpn, and that are for @dest; PSNs come round again in time. */
static const struct entry *find_posted(const struct request_log *log, uint32_t host, uint32_t qpn,
				       const struct target *dest, uint32_t psn, ps_t at)
{
	const struct host_log *own = &log->hosts[host];
	const struct queue *queue = util_idmap_find(&own->queues, qpn);
	uint32_t place = queue ? queue->newest : NONE;

	for (; place != NONE; place = own->entries[place].before) {
		const struct request *request = &own->entries[place].request;

		if (place < own->settled && request->posted_at <= at && has_psn(request, psn) &&
		    (!dest || (request->dst == dest->host && request->dest_qpn == dest->qpn)))
			return &own->entries[place];
	}
	return NULL;
}

static void settle_answers(struct request_log *log, struct host_log *own)
{
	for (uint32_t i = 0; i < own->answer_count; i++) {
		const struct answer *answer = &own->answers[i];
		const uint32_t host = host_index_find(&log->addresses, answer->address);
		const struct entry *entry =
			find_posted(log, host, answer->qpn, NULL, answer->psn, answer->at);

		if (entry)
			log->hosts[host]
				.entries[entry - log->hosts[host].entries]
				.request.packets_retransmitted++;
	}
	own->answer_count = 0;
}

int request_log_settle(struct request_log *log)
{
	const int ret = number_entries(log);

	for (uint32_t i = 0; i < log->host_count && !ret; i++)
		settle_answers(log, &log->hosts[i]);
	return ret;
}

/* Its place, or that of the next one. */
static size_t first_target(const struct request_log *log, uint32_t host, uint32_t qpn)
{
	const struct target wanted = {.host = host, .qpn = qpn};
	size_t low = 0, high = log->target_count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (compare_targets(&log->targets[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_target(const struct request_log *log, size_t place, uint32_t host, uint32_t qpn)
{
	return place < log->target_count && log->targets[place].host == host &&
	       log->targets[place].qpn == qpn;
}

const struct request *request_log_find(const struct request_log *log, uint32_t host, uint32_t qpn,
				       bool is_answer, uint32_t psn, ps_t at, uint64_t *ret_number)
{
	const struct entry *best = NULL;

	if (is_answer)
		best = find_posted(log, host, qpn, NULL, psn, at);
	for (size_t i = first_target(log, host, qpn); !is_answer && is_target(log, i, host, qpn);
	     i++) {
		const struct target *target = &log->targets[i];
		const struct entry *entry =
			find_posted(log, target->from_host, target->from_qpn, target, psn, at);

		if (entry && (!best || entry->request.posted_at > best->request.posted_at))
			best = entry;
	}
	if (!best)
		return NULL;
	*ret_number = best->number;
	return &best->request;
}

const char *request_opcode_name(enum hca_wr_opcode opcode)
{
	switch (opcode) {
	case HCA_WR_RDMA_WRITE:
		return "write";
	case HCA_WR_RDMA_WRITE_WITH_IMM:
		return "write_imm";
	case HCA_WR_SEND:
		return "send";
	case HCA_WR_SEND_WITH_IMM:
		return "send_imm";
	case HCA_WR_RDMA_READ:
		return "read";
	case HCA_WR_ATOMIC_CMP_AND_SWP:
		return "cmp_and_swp";
	case HCA_WR_ATOMIC_FETCH_AND_ADD:
		return "fetch_and_add";
	case HCA_WR_LOCAL_INV:
		return "local_inv";
	case HCA_WR_BIND_MW:
		return "bind_mw";
	case HCA_WR_SEND_WITH_INV:
		return "send_inv";
	case HCA_WR_FLUSH:
		return "flush";
	case HCA_WR_ATOMIC_WRITE:
		return "atomic_write";
	}
	return "unknown";
}

/* ---- begin and end ---- */

int request_log_create(const struct scenario *scenario, struct fabric *fabric,
		       bool (*whose)(struct request_rank *ret_rank), struct request_log **ret_log)
{
	static const struct hca_watcher watcher = {request_log_on_post, request_log_on_end,
						   request_log_on_again, request_log_on_gone};
	struct request_log *log = calloc(1, sizeof(*log));

	*ret_log = log;
	if (!log)
		return -ENOMEM;
	log->whose = whose;
	log->hosts = calloc((size_t)fabric->host_count + 1, sizeof(*log->hosts));
	log->left_out = calloc((size_t)scenario->program_count + 1, sizeof(*log->left_out));
	if (!log->hosts || !log->left_out || host_index_init(&log->addresses, fabric) != 0)
		return -ENOMEM;
	for (; log->host_count < fabric->host_count; log->host_count++) {
		struct host_log *own = &log->hosts[log->host_count];

		own->watcher = watcher;
		own->log = log;
		own->host = fabric->table.hosts[log->host_count];
		hca_device_watch(own->host->hca, &own->watcher);
	}
	return 0;
}

void request_log_destroy(struct request_log *log)
{
	if (!log)
		return;
	for (uint32_t i = 0; i < log->host_count; i++) {
		struct host_log *own = &log->hosts[i];

		for (uint32_t k = 0; own->queues.slots && k <= own->queues.mask; k++)
			free(own->queues.slots[k].object);
		util_idmap_fini(&own->queues);
		free(own->entries);
		free(own->answers);
	}
	host_index_fini(&log->addresses);
	free(log->hosts);
	free(log->left_out);
	free(log->order);
	free(log->targets);
	free(log);
}
