/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_RECORDING_H
#define PLAY_RECORDING_H

/* Recordings (transport/verbs/record.h) in memory, all of one program of a scenario: what each
 * process did, call by call, and for each call what it has to wait for in the fabric. */
#include "models/trace/vbt.h"
#include "tools/play/map.h"

#include <stdio.h>

struct play_call {
	uint8_t *bytes;	   /* the record */
	uint64_t after_ns; /* the completion that was polled last, or the process's beginning */
	uint64_t wr_id;	   /* of a request */
	uint32_t object;   /* of the process: what the call is about; PLAY_NONE */
	/* To whom it leads: a queue pair (MODIFY_QP, UD), or what a request names there, memory and
	 * a shared receive queue. */
	uint32_t peer, peer_object, peer_srq;
	uint32_t first_need, need_count; /* of the process's needs */
	uint32_t next;			 /* request of the same send queue */
	/* POLL: which completion of that half of the queue pair it is, from 1. */
	uint32_t ordinal;
	uint8_t kind;
	bool is_receive; /* POLL */
	bool is_awaited; /* by another process */
	bool is_refused; /* a request that was not taken */
	bool is_bare;	 /* no record: the process is gone */
};

/* That a call of another process has been made. */
struct play_need {
	uint32_t process, call;
};

struct play_object {
	uint64_t handle;
	uint8_t kind; /* enum vrb_kind */
	uint8_t type; /* of a queue pair */
	bool is_gone, has_sent;
	uint32_t number;  /* QPN, number of a shared receive queue; rkey */
	uint32_t done[2]; /* completions: sent, received */
	uint32_t peer, peer_object;
	uint32_t first_send, last_send; /* calls that have not ended */
	uint32_t last_good;		/* call that polled a completion of success */
	uint32_t user;			/* who reaches this region: a process, or PLAY_MANY */
};

enum { PLAY_MANY = UINT32_MAX - 1 };

/* Memory that regions lie in, as it was addressed. */
struct play_slab {
	uint64_t addr, bytes;
};

struct play_process {
	struct vrb_record_process info;
	const char *file;
	uint32_t host; /* from 0, by order of appearance */
	uint32_t boot;
	struct play_call *calls;
	uint32_t call_count, call_room;
	struct play_object *objects;
	uint32_t object_count, object_room;
	struct play_need *needs;
	uint32_t need_count, need_room;
	struct play_slab *slabs;
	uint32_t slab_count, slab_room;
	/* Where they are while it is played, and as long as the fabric is there: what is under way
	 * may still be placed. */
	uint8_t **memory;
	uint32_t *peers;
	uint32_t peer_count;
	struct play_map by_handle, by_rkey, by_qpn, by_srqn, sent_to;
	uint64_t base_ns; /* of delays, as the reading goes */
	bool has_ended;
	uint64_t sent, received, bytes_sent; /* requests that were posted and taken; messages got */
};

struct play_file {
	char *path;
	uint8_t *bytes;
	size_t length;
	struct vbt_reader reader;
	struct vrb_record record; /* the next */
	uint8_t *at;		  /* NULL: no more */
	uint64_t wall_ns;	  /* when that was, for all files alike */
	uint32_t *processes;	  /* by number in the file */
};

struct play {
	struct play_file *files;
	uint32_t file_count;
	struct play_process *processes;
	uint32_t process_count, host_count, boot_count;
	uint64_t
		*boots; /* CLOCK_REALTIME less CLOCK_MONOTONIC, as the first process of each says */
	struct play_map by_qpn; /* of all, by host and number: process and object */
	uint32_t *qps;		/* pairs of these */
	uint32_t qp_count;
	bool is_cut; /* a file is not whole: what is here is the part before it ends */
	uint64_t cut_ns;
	bool no_memory;
	/* Of requests and queue pairs whose other end is in no file: how many, and the first. */
	uint32_t strangers;
	char stranger[256];
	struct bad_list errors;
};

/* All of @paths, together. 0; -EINVAL: lines are in play->errors; -ENOMEM. play_free() in any
 * case. */
int play_read(struct play *play, char *const *paths, uint32_t count);
void play_fini(struct play *play);

/* match.c: one record more of @process, which @play keeps. False: it is refused, or no memory. */
bool play_take(struct play *play, uint32_t process, const struct vrb_record *record, uint8_t *bytes,
	       uint64_t wall_ns, const struct bad_at *at);
/* A process on the host that has @gid, as @from sees it; PLAY_NONE: none. */
uint32_t play_process_of(const struct play *play, const struct play_process *from,
			 const uint8_t gid[16]);
/* All were taken. */
bool play_end(struct play *play);

#endif
