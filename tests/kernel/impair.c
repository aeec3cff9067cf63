/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/kernel/impair.h"

#include "transport/wire/psn.h"

#include <string.h>

const char *impair_action_name(enum impair_action action)
{
	static const char *const names[] = {
		[IMPAIR_PASS] = "pass", [IMPAIR_DROP] = "drop", [IMPAIR_FLIP] = "flip"};

	return names[action];
}

static const char *name_of(uint8_t opcode)
{
	const struct wire_op *op = wire_op_find(opcode);

	if (!op)
		return "?";
	return strncmp(op->name, "RC_", 3) == 0 ? op->name + 3 : op->name;
}

static bool is_opcode(const char *name)
{
	for (int i = WIRE_RC; i < WIRE_UC; i++)
		if (strcmp(name_of((uint8_t)i), name) == 0)
			return true;
	return false;
}

bool impair_add(struct impair *impair, const char *text)
{
	struct impair_rule *rule = &impair->rules[impair->count];
	char action[8], from[8], rest;

	if (impair->count == IMPAIR_RULES_MAX)
		return false;
	*rule = (struct impair_rule){.text = text};
	if (sscanf(text, "%7[^:]:%7[^:]:%31[^:]:%u%c", action, from, rule->opcode, &rule->nth,
		   &rest) != 4)
		return false;
	rule->action = strcmp(action, "drop") == 0   ? IMPAIR_DROP
		       : strcmp(action, "flip") == 0 ? IMPAIR_FLIP
						     : IMPAIR_PASS;
	rule->from_guest = strcmp(from, "guest") == 0;
	if (rule->action == IMPAIR_PASS || (!rule->from_guest && strcmp(from, "nic") != 0) ||
	    !is_opcode(rule->opcode) || rule->nth == 0)
		return false;
	impair->count++;
	return true;
}

/* The other end has it all up to and with packet.psn (NAKs say where it stopped instead). */
static bool acknowledges(const struct wire_pkt *pkt)
{
	const struct wire_op *op = wire_op_find(pkt->opcode);

	if (!op->response)
		return false;
	return !op->aeth || (wire_aeth_syndrome(pkt->word) & WIRE_SYN_TYPE_MASK) == WIRE_SYN_ACK;
}

/* After the harm: looks for the packet's second coming, and for an answer that came too soon. */
static void watch(struct impair_rule *rule, const struct impair_frame *frame)
{
	const struct wire_pkt *pkt = frame->pkt;
	int32_t ahead = wire_psn_diff(pkt->psn, rule->psn);
	bool was_request = wire_op_find(rule->fired_opcode)->request;

	if (rule->retransmitted)
		return;
	if (frame->from_guest != rule->from_guest) {
		if (was_request && ahead >= 0 && acknowledges(pkt))
			rule->too_early = true;
		return;
	}
	if (pkt->dest_qpn != rule->dest_qpn || wire_op_find(pkt->opcode)->request != was_request)
		return;
	if (ahead == 0 || (rule->fired_opcode == (WIRE_RC | WIRE_ACKNOWLEDGE) && ahead > 0)) {
		rule->retransmitted = true;
		rule->retransmitted_us = frame->now_us;
	}
}

static bool fires(struct impair_rule *rule, const struct impair_frame *frame)
{
	if (frame->from_guest != rule->from_guest ||
	    strcmp(name_of(frame->pkt->opcode), rule->opcode) != 0 || ++rule->seen != rule->nth)
		return false;
	rule->fired = true;
	rule->fired_opcode = frame->pkt->opcode;
	rule->dest_qpn = frame->pkt->dest_qpn;
	rule->psn = frame->pkt->psn;
	rule->fired_us = frame->now_us;
	return true;
}

enum impair_action impair_frame(struct impair *impair, const struct impair_frame *frame)
{
	enum impair_action action = IMPAIR_PASS;

	for (uint32_t i = 0; i < impair->count && action == IMPAIR_PASS; i++)
		if (!impair->rules[i].fired && fires(&impair->rules[i], frame))
			action = impair->rules[i].action;
	if (action == IMPAIR_FLIP)
		frame->frame[frame->length - WIRE_ICRC_BYTES - 1] ^= 8;
	/* Only what arrives whole counts as the second coming. */
	for (uint32_t i = 0; i < impair->count && action == IMPAIR_PASS; i++)
		if (impair->rules[i].fired)
			watch(&impair->rules[i], frame);
	return action;
}

bool impair_report(const struct impair *impair, FILE *file)
{
	bool held = true;

	for (uint32_t i = 0; i < impair->count; i++) {
		const struct impair_rule *rule = &impair->rules[i];
		bool good = rule->fired && rule->retransmitted && !rule->too_early;

		held &= good;
		if (!rule->fired) {
			fprintf(file, "rule %s: NOT HELD: no such packet came (%u others)\n",
				rule->text, rule->seen);
			continue;
		}
		fprintf(file, "rule %s: %s: qp %#x psn %#x", rule->text, good ? "held" : "NOT HELD",
			rule->dest_qpn, rule->psn);
		if (rule->retransmitted)
			fprintf(file, ", again after %llu us",
				(unsigned long long)(rule->retransmitted_us - rule->fired_us));
		else
			fprintf(file, ", never again");
		fprintf(file, ", %s in between\n",
			rule->too_early ? "ACKNOWLEDGED" : "not acknowledged");
	}
	return held;
}
