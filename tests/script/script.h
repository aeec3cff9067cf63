/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SCRIPT_SCRIPT_H
#define TESTS_SCRIPT_SCRIPT_H

/* What a script has set up, and what the observer has seen. */
#include "tests/script/text.h"
#include "transport/hca/device.h"

enum { OBJECTS_MAX = 64, EVENTS_MAX = 64, TEXT_MAX = 512 };

struct named_mr {
	char name[32];
	struct hca_mr *mr;
	uint8_t *host;
	uint32_t key; /* stays when the region is gone */
};

struct named_qp {
	char name[32];
	struct hca_qp *qp;
	struct hca_qp_attr attr;
	enum hca_qp_type type;
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
extern int mr_count, qp_count;
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
struct named_mr *place_of(const struct line *line, const char *text, uint64_t *ret_offset);
uint64_t address(const struct line *line, const char *text);
uint32_t key_of(const struct line *line, const char *text);
uint32_t access_of(const struct line *line, const char *text);
void expect_error(struct line *line, int error);
void do_device(struct line *line);
void do_mr(struct line *line);
uint8_t first_byte(const struct named_mr *named, uint64_t i);
void do_qp(struct line *line);
uint32_t mask_to(enum hca_qp_type type, enum hca_qp_state state); /* of attributes */

#endif
