/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_PLAYER_H
#define PLAY_PLAYER_H

/* A rank that plays a process. Inside of this folder. */
#include "include/verbena/program.h"
#include "tools/play/recording.h"

/* What an object of the recording is here. */
struct player_object {
	void *ibv; /* NULL: not any more */
	uint32_t done[2];
};

struct player_ah {
	uint8_t gid[16]; /* as it was recorded */
	uint32_t process;
	struct ibv_ah *ah;
};

struct player {
	const struct vb_prog *prog;
	const struct play *play;
	struct play_process *process;  /* of which only the memory changes */
	struct player_object *objects; /* as the process has them */
	struct play_map by_lkey;       /* as it was recorded: object */
	struct play_map by_qpn;	       /* as it is here: object */
	struct ibv_context *context;
	struct ibv_pd *pd; /* any: for address handles */
	union ibv_gid gid;
	enum ibv_mtu mtu_max;
	uint8_t rd_atomic_max;
	struct player_ah *ahs;
	uint32_t ah_count;
	uint8_t *scratch; /* what inline requests send */
	/* By process and object: what an address there became, less what it was. */
	struct play_map deltas; /* places in @remote */
	struct player_remote {
		uint64_t delta;
		uint32_t number; /* rkey, QPN, number of a shared queue */
	} * remote;
	uint32_t remote_count;
	uint64_t base_ps; /* of delays */
	uint32_t at;	  /* the call that is played */
	bool differs;	  /* a completion's status is not what it was */
	struct vrb_record record;
};

/* player_fail.c: a line about the call that is played. Returns 1. */
__attribute__((format(printf, 2, 3))) int player_fail(struct player *player, const char *format,
						      ...);

/* player_make.c: what is created, changed and destroyed. 0, or 1 with a line. */
int player_begin(struct player *player); /* the device */
int player_make(struct player *player, const struct play_call *call);
int player_modify(struct player *player, const struct play_call *call);
int player_destroy(struct player *player, const struct play_call *call);
void player_end(struct player *player); /* all that is left */
/* What the other end has told of its object: its number here, and for memory how far it moved. */
int player_remote(struct player *player, uint32_t process, uint32_t object,
		  struct player_remote *ret_remote);
/* Where a recorded address is here; NULL: in no region. */
uint8_t *player_memory(const struct player *player, uint64_t addr);

#endif
