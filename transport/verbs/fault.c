/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int vrb_faults_parse(const char *text, struct vrb_faults *ret_faults)
{
	*ret_faults = (struct vrb_faults){.count = 0};
	while (*text) {
		struct vrb_fault rule = {.seen = 0};
		int length = 0;

		if (ret_faults->count == VRB_FAULTS_MAX ||
		    sscanf(text, "%u:%u:%u:%u:%u:%u:%u:%63[^:;]%n", &rule.kind, &rule.op, &rule.qp,
			   &rule.nth, &rule.count, &rule.a, &rule.b, rule.program, &length) != 8 ||
		    rule.kind > VRB_FAULT_FATAL || rule.nth == 0 || rule.count == 0)
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
				      enum vrb_fault_op op, uint32_t qp)
{
	const struct vrb_fault *met = NULL;

	for (uint32_t i = 0; i < faults->count; i++) {
		struct vrb_fault *rule = &faults->rules[i];

		if (rule->kind != kind || !(rule->op & op) || (rule->qp != 0 && rule->qp != qp))
			continue;
		rule->seen++;
		if (!met && rule->seen >= rule->nth && rule->seen - rule->nth < rule->count)
			met = rule;
	}
	return met;
}
