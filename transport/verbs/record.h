/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_RECORD_H
#define VERBS_RECORD_H

/* What a program asks of its adapter, and which completions it has polled, one record after the
 * other: what "verbena exec --record" keeps and "verbena replay" plays. docs/recording.md has the
 * format for people. No bytes of payload are in it.
 *
 * A record is its length in bytes (32 bits; all of it, a multiple of 8), its kind (16), the process
 * (16), the time in ns of CLOCK_MONOTONIC (64), what its kind demands (vrb_record_pass()), and up
 * to 7 zeros. All is little-endian. A length of 0 ends what a process has written so far. Calls
 * that were refused are not there but for requests: these are written before they are made, so
 * that no completion comes before what it is of, and VRB_RECORD_REFUSED says where one was not
 * taken.
 *
 * Objects have the handles of transport/verbs/backend.h, which are unique in a process. */
#include "transport/verbs/backend.h"
#include "transport/verbs/cursor.h"

enum vrb_record_kind {
	VRB_RECORD_PROCESS = 1, /* the first of each process */
	VRB_RECORD_END,		/* the process has ended by itself */
	VRB_RECORD_OPEN,	/* a context more, and less */
	VRB_RECORD_CLOSE,
	VRB_RECORD_CREATE_PD, /* object */
	VRB_RECORD_DESTROY,   /* object, of any kind */
	VRB_RECORD_CREATE_MR, /* object pd mr */
	VRB_RECORD_CHANGE_MR,
	VRB_RECORD_CREATE_MW,	   /* object pd number (rkey) flags (type) */
	VRB_RECORD_CREATE_DM,	   /* object; mr.init.length */
	VRB_RECORD_CREATE_CHANNEL, /* object, flags (use) */
	VRB_RECORD_WAIT,	   /* object: an event of that channel has come */
	VRB_RECORD_CREATE_CQ,	   /* object cq number (depth) */
	VRB_RECORD_ARM,		   /* object flags (solicited only) */
	VRB_RECORD_RESIZE,	   /* object number */
	VRB_RECORD_MODERATE,	   /* object number (count) flags (us) */
	VRB_RECORD_OPEN_XRCD,	   /* object xrcd */
	VRB_RECORD_CREATE_SRQ,	   /* object srq number */
	VRB_RECORD_MODIFY_SRQ,	   /* object srq_attr flags (mask) */
	VRB_RECORD_CREATE_QP,	   /* object qp number (QPN) */
	VRB_RECORD_OPEN_QP,	   /* object number (QPN) */
	VRB_RECORD_MODIFY_QP,	   /* object modify */
	VRB_RECORD_AH,		   /* av, gid: the address that it led to */
	VRB_RECORD_SEND,	   /* object chained send gid sges */
	VRB_RECORD_RECV,	   /* object chained send.wr_id sges */
	VRB_RECORD_SRQ_RECV,
	VRB_RECORD_REFUSED, /* object number: of the call before only so many were taken */
	VRB_RECORD_POLL,    /* object chained wc */
	VRB_RECORD_WHOLE,   /* the last of a file that is whole */
	VRB_RECORD_COUNT,
};

enum {
	VRB_RECORD_VERSION = 1,
	VRB_RECORD_FILE_BYTES =
		16, /* magic (8), version (32), zero (32): a file begins with them */
	VRB_RECORD_HEAD_BYTES = 16,
	VRB_RECORD_SGES = 32, /* of a list that are kept; no adapter of ours takes more */
	VRB_RECORD_GIDS = 8,
	VRB_RECORD_NAME = 64,
	VRB_RECORD_BOOT = 40,
	VRB_RECORD_BYTES_MAX = 1024,
};
#define VRB_RECORD_MAGIC "vrbcalls"

struct vrb_record_process {
	uint8_t name[VRB_RECORD_NAME]; /* of the program; ends with a zero */
	uint8_t boot[VRB_RECORD_BOOT]; /* of the machine: clocks of one are the same */
	uint64_t wall_ns;	       /* CLOCK_REALTIME at the time of the record */
	uint64_t guid;
	uint32_t pid, gid_count;
	uint8_t gids[VRB_RECORD_GIDS][16];
};

struct vrb_record {
	enum vrb_record_kind kind;
	uint16_t process;
	uint64_t at_ns;
	uint64_t object, pd;
	uint32_t number, flags;
	bool chained; /* the next record is of the same call */
	uint8_t gid[16];
	union {
		struct vrb_record_process process_of;
		struct {
			struct vrb_mr_init init;
			struct vrb_mr_info info;
		} mr;
		struct vrb_cq_init cq;
		struct hca_xrcd_init xrcd;
		struct vrb_srq_init srq;
		struct hca_srq_attr srq_attr;
		struct vrb_qp_init qp;
		struct {
			struct hca_qp_attr attr;
			struct vrb_av av;
			uint32_t mask;
			enum hca_qp_state cur_state;
		} modify;
		struct vrb_av av;
		struct {
			struct hca_send_wr wr; /* of a receive wr_id and sge_count */
			bool has_path;
			uint32_t sge_kept; /* of @sges */
			struct hca_sge sges[VRB_RECORD_SGES];
		} send;
		struct ibv_wc wc;
	};
};

/* Emits all of it but the length, or parses it, from behind the length on; a kind that there is
 * not, or what its fields cannot be, makes the cursor bad. */
void vrb_record_pass(struct vrb_cursor *c, struct vrb_record *record);
/* Into @bytes, with its length, which is returned. */
uint32_t vrb_record_emit(struct vrb_record *record, uint8_t bytes[VRB_RECORD_BYTES_MAX]);
/* From exactly @length bytes, the length among them. False: they are none. */
bool vrb_record_parse(uint8_t *bytes, size_t length, struct vrb_record *ret_record);
/* The first bytes of a file. */
void vrb_record_emit_file(uint8_t bytes[VRB_RECORD_FILE_BYTES]);

/* A backend in front of another one, which keeps the calls in a file of the process in @folder
 * (transport/verbs/record_file.h). */
extern const struct vrb_backend vrb_record_ops;

/* @inner, handed @self, gets the calls; detach() detaches it. NULL: no memory. */
void *vrb_record_create(const struct vrb_backend *inner, void *self, const char *folder);

#endif
