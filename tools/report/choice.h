/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_CHOICE_H
#define TOOLS_REPORT_CHOICE_H

/* Whose packets a page shows: flows and work requests that were named, or those that fared worst.
 */
#include "tools/observe/packet_log.h"
#include "tools/result/result.h"

struct choice {
	struct packet_subject subjects[PACKET_FLOWS_MAX]; /* ends: of requests, once completed */
	uint32_t count;
	bool has_requests;
};

/* "3,wr17". COMMAND_DONE, or COMMAND_BAD with a line on stderr; @ret_choice is empty before. */
int choice_read(const char *text, const struct scenario *scenario, struct choice *ret_choice);
/* After a run: its eight worst flows, the worst of each class, and the slowest request of each
 * program, as long as there is room. */
void choice_add_worst(const struct result *result, struct choice *choice);
/* After a run: between which queue pairs the requests go. @requests NULL: there are none. @text: as
 * the user named them. COMMAND_DONE, or COMMAND_BAD with a line on stderr. */
int choice_complete(const struct request_log *requests, const char *text, struct choice *choice);
/* Of a completed choice, before the run. As packet_log_start(). */
int choice_start(const struct choice *choice, const struct scenario *scenario,
		 struct events *events, struct packet_log *log);

#endif
