/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BEGUN = 1, OVER = 2 };

/* A count of messages to be answered so begins at a time, too. */
static bool is_by_time(const struct vrb_fault *rule)
{
	return rule->nth == 0 || (rule->kind == VRB_FAULT_RNR && rule->from_ns > 0);
}

static bool fault_is_sound(const struct vrb_fault *rule)
{
	if (rule->kind > VRB_FAULT_FATAL || rule->count == 0 ||
	    (rule->until_ns != 0 && rule->until_ns <= rule->from_ns))
		return false;
	if (rule->kind == VRB_FAULT_RNR)
		return (rule->nth == 0) == (rule->until_ns != 0);
	return rule->nth > 0 || rule->kind == VRB_FAULT_PORT || rule->kind == VRB_FAULT_FATAL;
}

int vrb_faults_parse(const char *text, struct vrb_faults *ret_faults)
{
	*ret_faults = (struct vrb_faults){.count = 0};
	while (*text) {
		struct vrb_fault rule = {.seen = 0};
		int length = 0;

		if (ret_faults->count == VRB_FAULTS_MAX ||
		    sscanf(text, "%u:%u:%u:%u:%u:%u:%u:%" SCNu64 ":%" SCNu64 ":%63[^:;]%n",
			   &rule.kind, &rule.op, &rule.qp, &rule.nth, &rule.count, &rule.a, &rule.b,
			   &rule.from_ns, &rule.until_ns, rule.program, &length) != 10 ||
		    !fault_is_sound(&rule))
			return -EINVAL;
		ret_faults->rules[ret_faults->count++] = rule;
		text += length;
		if (*text != ';' && *text != '\0')
			return -EINVAL;
		text += *text == ';';
	}
	return ret_faults->count > 0 ? 0 : -EINVAL;
}

void vrb_faults_of_program(struct vrb_faults *faults, const char *program)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < faults->count; i++)
		if (strcmp(faults->rules[i].program, "-") == 0 ||
		    strcmp(faults->rules[i].program, program) == 0)
			faults->rules[kept++] = faults->rules[i];
	faults->count = kept;
}

const struct vrb_fault *vrb_fault_met(struct vrb_faults *faults, enum vrb_fault_kind kind,
				      enum vrb_fault_op op, uint32_t qp, uint64_t age_ns)
{
	const struct vrb_fault *met = NULL;

	for (uint32_t i = 0; i < faults->count; i++) {
		struct vrb_fault *rule = &faults->rules[i];

		if (rule->kind != kind || !(rule->op & op) || (rule->qp != 0 && rule->qp != qp))
			continue;
		if (rule->nth == 0 || age_ns < rule->from_ns ||
		    (rule->until_ns != 0 && age_ns >= rule->until_ns))
			continue;
		rule->seen++;
		if (!met && rule->seen >= rule->nth && rule->seen - rule->nth < rule->count)
			met = rule;
	}
	return met;
}

static uint64_t next_ns(const struct vrb_fault *rule)
{
	if (!is_by_time(rule) || rule->seen == OVER)
		return UINT64_MAX;
	return rule->seen == BEGUN ? rule->until_ns : rule->from_ns;
}

static struct vrb_fault *fault_earliest(struct vrb_faults *faults)
{
	struct vrb_fault *found = NULL;

	for (uint32_t i = 0; i < faults->count; i++) {
		struct vrb_fault *rule = &faults->rules[i];

		if (next_ns(rule) < (found ? next_ns(found) : UINT64_MAX))
			found = rule;
	}
	return found;
}

const struct vrb_fault *vrb_fault_due(struct vrb_faults *faults, uint64_t age_ns, bool *ret_is_over)
{
	struct vrb_fault *rule = fault_earliest(faults);

	if (!rule || next_ns(rule) > age_ns)
		return NULL;
	*ret_is_over = rule->seen == BEGUN;
	rule->seen = rule->until_ns == 0 || *ret_is_over ? OVER : BEGUN;
	return rule;
}

uint64_t vrb_fault_next_ns(struct vrb_faults *faults)
{
	const struct vrb_fault *rule = fault_earliest(faults);

	return rule ? next_ns(rule) : UINT64_MAX;
}
