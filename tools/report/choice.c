/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/choice.h"

#include "models/input/bad.h"
#include "tools/command.h"

#include <inttypes.h>
#include <string.h>

enum { WORST = 8 }; /* flows whose packets are shown where none are named */

/* ---- named ---- */

static int bad_names(const char *text, const struct scenario *scenario, uint64_t requests)
{
	struct bad_text found, flows = {""}, names = {""};

	if (scenario && scenario->flow_count > 0)
		bad_text(&flows, " such as 3,17, each below %" PRIu64, scenario->flow_count);
	if (requests > 0)
		bad_text(&names, " or work requests such as wr0, the last of which is wr%" PRIu64,
			 requests - 1);
	if (scenario && scenario->flow_count == 0) {
		command_line(stderr,
			     "verbena report: --flows: found %s, expected %s, for this run has no "
			     "flows of a list",
			     bad_quote(&found, text, strlen(text)),
			     scenario->program_count > 0
				     ? "work requests of requests.csv, such as wr0"
				     : "no --flows");
		return COMMAND_BAD;
	}
	command_line(stderr, "verbena report: --flows: found %s, expected at most %d numbers%s%s",
		     bad_quote(&found, text, strlen(text)), PACKET_FLOWS_MAX, flows.text,
		     names.text);
	return COMMAND_BAD;
}

static bool read_name(const char **at, const struct scenario *scenario, struct subject *ret_name)
{
	if (!subject_read(at, ret_name) || (**at && **at != ','))
		return false;
	return ret_name->is_request ? scenario->program_count > 0
				    : ret_name->number < scenario->flow_count;
}

int choice_read(const char *text, const struct scenario *scenario, struct choice *ret_choice)
{
	for (const char *at = text;; at++) {
		struct subject name;

		if (!read_name(&at, scenario, &name) || ret_choice->count == PACKET_FLOWS_MAX)
			return bad_names(text, scenario, 0);
		ret_choice->subjects[ret_choice->count++].is = name;
		ret_choice->has_requests |= name.is_request;
		if (*at == '\0')
			return COMMAND_DONE;
	}
}

/* ---- the worst ---- */

static void add_name(struct choice *choice, bool is_request, uint64_t number)
{
	if (choice->count == PACKET_FLOWS_MAX)
		return;
	choice->subjects[choice->count++].is = (struct subject){is_request, number};
	choice->has_requests |= is_request;
}

static bool choice_has(const struct choice *choice, uint64_t flow)
{
	for (uint32_t i = 0; i < choice->count; i++)
		if (!choice->subjects[i].is.is_request && choice->subjects[i].is.number == flow)
			return true;
	return false;
}

static bool is_worse(const struct result_flow *a, const struct result_flow *b)
{
	if (a->ok != b->ok)
		return b->ok;
	return a->slowdown > b->slowdown;
}

/* The worst of @class, of all where it is NULL, that is not among them yet. */
static void add_worst_flow(const struct result *result, const char *class, struct choice *choice)
{
	const struct result_flow *worst = NULL;

	for (uint64_t i = 0; i < result->flow_count; i++) {
		const struct result_flow *flow = &result->flows[i];

		if ((!class || flow->class_name == class) && (!worst || is_worse(flow, worst)) &&
		    !choice_has(choice, flow->id))
			worst = flow;
	}
	if (worst)
		add_name(choice, false, worst->id);
}

/* What has not ended is slower than all that has. */
static bool is_slower(const struct request *a, const struct request *b)
{
	const bool a_ended = a->state == REQUEST_ENDED, b_ended = b->state == REQUEST_ENDED;

	if (a_ended != b_ended)
		return b_ended;
	return a_ended && a->end_at - a->posted_at > b->end_at - b->posted_at;
}

static void add_slowest_request(const struct request_log *requests, uint32_t program,
				struct choice *choice)
{
	const struct request *slowest = NULL;
	uint64_t number = 0;

	for (uint64_t i = 0; i < request_log_count(requests); i++) {
		const struct request *request = request_log_at(requests, i);

		if (request->program != program || request->packets == 0 ||
		    (slowest && !is_slower(request, slowest)))
			continue;
		slowest = request;
		number = i;
	}
	if (slowest)
		add_name(choice, true, number);
}

void choice_add_worst(const struct result *result, struct choice *choice)
{
	for (int i = 0; i < WORST; i++)
		add_worst_flow(result, NULL, choice);
	for (uint32_t i = 0; i < result->class_count; i++)
		add_worst_flow(result, result->classes[i].name, choice);
	for (uint32_t i = 0; result->requests && i < result->program_count; i++)
		add_slowest_request(result->requests, i, choice);
}

/* ---- the run ---- */

int choice_complete(const struct request_log *requests, const char *text, struct choice *choice)
{
	const uint64_t count = requests ? request_log_count(requests) : 0;

	for (uint32_t i = 0; i < choice->count; i++) {
		struct packet_subject *subject = &choice->subjects[i];

		if (!subject->is.is_request)
			continue;
		if (subject->is.number >= count)
			return bad_names(text, NULL, count);
		*subject = packet_subject_of_request(requests, subject->is.number);
	}
	return COMMAND_DONE;
}

int choice_start(const struct choice *choice, const struct scenario *scenario,
		 struct events *events, struct packet_log *log)
{
	struct packet_subject subjects[PACKET_FLOWS_MAX];

	for (uint32_t i = 0; i < choice->count; i++)
		subjects[i] =
			choice->subjects[i].is.is_request
				? choice->subjects[i]
				: packet_subject_of_flow(scenario, choice->subjects[i].is.number);
	return packet_log_start(log, events, subjects, choice->count);
}
