/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_TOY_H
#define TESTS_PROGRAMS_TOY_H

/* The smallest world that the verbs front can live in: adapters in one process, and a function that
 * carries what one sends into another. Time is a counter that moves when a packet does, or to the
 * next timer when none does. For tests of the front and of programs, not a fabric. */
#include "transport/verbs/world.h"

#include <pthread.h>

enum { TOY_MAX = 16 };
/* What its adapters' clock and its day are ahead of their time. */
enum { TOY_RAW_NS = 7000000, TOY_WALL_NS = 9000000 };

struct toy_host {
	struct vrb_world world;
	struct toy *toy;
	struct hca_device *hca;
	uint32_t index;
	uint32_t passed[TOY_MAX]; /* to each host since one was lost */
	uint8_t gid[2][16];	  /* fe80::N, ::ffff:10.0.0.N */
	int heard;		  /* multicast groups */
	char name[16];
};

struct toy {
	struct toy_host hosts[TOY_MAX];
	uint32_t count;
	uint32_t drop_every; /* one of n packets is lost; 1: all; 0: none */
	pthread_mutex_t lock;
	ps_t now;
	ps_t resolve_takes; /* to find a peer */
	uint64_t packets, calls[VRB_CALL_COUNT], amounts[VRB_CALL_COUNT];
	struct wire_path path; /* the last that was resolved */
	bool idle;
	int frames_allowed; /* 0, or -EXXX: no queue pairs of raw packets */
};

/* Of those that are made from now on: every call of their programs goes to bytes and back. */
extern bool toy_through_bytes;
/* Theirs, too: the priorities of the fabric; 0: eight. */
extern uint32_t toy_priority_count;
extern bool toy_mw_is_2a; /* as in struct hca_profile */
void toy_init(struct toy *toy, uint32_t count);
void toy_fini(struct toy *toy);
/* Carries every packet there is to carry now; false: there was none. Inside a call or without
 * other threads. */
bool toy_pump(struct toy *toy);
/* Moves the clock to the next timer; false: there is none. */
bool toy_skip(struct toy *toy);
/* What vrb_provider() lists for the calling thread: one host, or all where @index is @count. */
void toy_show(struct toy *toy, uint32_t index);

#endif
