/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SCRIPT_SCRIPT_H
#define TOOLS_SCRIPT_SCRIPT_H

/* A packet script (tests/script/README.md): one adapter, what comes in at which time, and exactly
 * what it sends, completes and tells. What a script has set up, and what the observer has seen, is
 * in variables: a process plays one script. */
#include "tools/script/text.h"
#include "transport/hca/device.h"
#include "transport/wire/path.h"

#include <stddef.h>

enum { OBJECTS_MAX = 64, EVENTS_MAX = 64, TEXT_MAX = 512 };

struct named_mr {
	char name[32];
	struct hca_mr *mr;
	uint8_t *host;
	uint64_t iova, length; /* stay when it is gone, too */
	uint32_t key;	       /* stays when the region is gone */
	struct hca_mw *mw;     /* a window, which has no region of its own */
};

struct named_qp {
	char name[32];
	struct hca_qp *qp;
	struct hca_qp_attr attr;
	enum hca_qp_type type;
};

struct named_srq {
	char name[32];
	struct hca_srq *srq;
	uint32_t number; /* outlives it */
};

/* A packet of a script, as struct wire_pkt and what is beside it. */
struct script_pkt {
	struct wire_pkt pkt;
	uint8_t ecn, priority;
	uint8_t bytes[WIRE_MTU_MAX];
	bool has_bytes;
};

struct seen { /* a completion or an event, told by the observer */
	char text[TEXT_MAX];
};

enum {
	TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
	TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
		 HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
	TO_RTS = HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
		 HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC,
	UC_TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN,
	UD_TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY,
	UNRELIABLE_TO_RTS = HCA_QP_STATE | HCA_QP_SQ_PSN,
};

extern struct hca_device *dev;
extern struct hca_device_params params;
extern struct hca_pd *pds[2];
extern struct hca_cq *cq;
extern uint32_t cq_depth;
extern bool cq_polled;
extern struct named_mr mrs[OBJECTS_MAX];
extern struct named_qp qps[OBJECTS_MAX];
extern struct named_srq srqs[OBJECTS_MAX];
extern int mr_count, qp_count, srq_count;
extern struct seen wcs[EVENTS_MAX], events[EVENTS_MAX], places[EVENTS_MAX];
extern int wc_count, event_count, place_count;
extern uint32_t priorities;
extern ps_t now;
extern const struct hca_observer observer;
extern const struct name_value statuses[], wc_opcodes[], wr_opcodes[], states[], errors[],
	async_events[];

void render_wc(const struct hca_wc *wc, const char *name, char *text);
void forget(struct seen *list, int *count);
struct named_mr *find_mr(const struct line *line, const char *text, size_t len);
struct named_qp *find_qp(const struct line *line, const char *text);
struct named_srq *find_srq(const char *text); /* NULL: none */
struct named_mr *place_of(const struct line *line, const char *text, uint64_t *ret_offset);
uint64_t address(const struct line *line, const char *text);
uint32_t key_of(const struct line *line, const char *text);
uint32_t access_of(const struct line *line, const char *text);
void expect_error(struct line *line, int error);
void do_device(struct line *line);
void do_mr(struct line *line);
uint8_t first_byte(const struct named_mr *named, uint64_t i);
void do_qp(struct line *line);
void do_srq(struct line *line);
void do_mw(struct line *line);
uint32_t mask_to(enum hca_qp_type type, enum hca_qp_state state); /* of attributes */
/* @length bytes of a region of memory, which has them. */
uint8_t *host_of(const struct line *line, const struct named_mr *named, uint64_t offset,
		 uint64_t length);

/* Plays the script in a file, and is back only where all was as it says: otherwise the process
 * ends, as text.h has it. *@ret_line is the line at hand. */
void script_play(const char *path, volatile int *ret_line);

/* "in OPCODE ..." and its like from the opcode on; @dest_qpn where it does not say qp=. */
void script_parse_pkt(struct line *line, struct script_pkt *p, uint32_t dest_qpn);
void script_render_pkt(const struct script_pkt *p, char *text);	       /* of TEXT_MAX */
const char *script_parse_wc(struct line *line, struct hca_wc *ret_wc); /* whose it is */
/* "mem ..." compares, "set ..." writes. */
void script_mem(struct line *line, bool is_set);
uint32_t srqn_of(struct line *line); /* srq=NAME|N; 0: not said */

/* Words of an "in" that only bytes have (raw.c): the packet goes through a frame, changed there.
 * False: wire refused it, as the script says. @room: of the frame, for as long as @pkt. */
bool raw_change(struct line *line, struct wire_pkt *pkt, uint8_t *room, size_t size);
/* The frame of a packet on @path with what these words change; 0: there are none. *@ret_refused:
 * what the script says that comes of it, or NULL. */
size_t raw_frame(struct line *line, const struct wire_path *path, const struct wire_pkt *pkt,
		 uint8_t *room, size_t size, const char **ret_refused);
/* Of an "out" with the word "wire": its bytes are as IBTA has them. */
void raw_check(struct line *line, const struct wire_pkt *pkt);

#endif
