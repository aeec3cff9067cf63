/* SPDX-License-Identifier: BSD-2-Clause */

/* What the words of a line say, whoever plays it: packets, completions, memory. */
#include "tools/script/script.h"
#include "util/check.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* srq=NAME|N; 0: not said. */
uint32_t srqn_of(struct line *line)
{
	const char *text = line_get(line, "srq");
	const struct named_srq *named = text ? find_srq(text) : NULL;

	return named ? named->number : text ? (uint32_t)text_number(line, text) : 0;
}

static uint8_t opcode_named(const struct line *line, const char *name)
{
	for (int i = 0; i < 256; i++) {
		const struct wire_op *op = wire_op_find((uint8_t)i);

		if (op && (strcmp(op->name, name) == 0 ||
			   (strncmp(op->name, "RC_", 3) == 0 && strcmp(op->name + 3, name) == 0)))
			return (uint8_t)i;
	}
	return (uint8_t)text_number(line, name);
}

/* data=c: that letter all over; data=REGION+OFFSET: the bytes there now; pattern=STREAM+OFFSET */
static void parse_payload(struct line *line, struct script_pkt *p)
{
	const char *text = line_get(line, "data");
	uint64_t offset;

	p->pkt.payload = p->bytes;
	if (text && strlen(text) == 1) {
		memset(p->bytes, text[0], sizeof(p->bytes));
	} else if (text) {
		struct named_mr *named = place_of(line, text, &offset);

		if (p->pkt.length > sizeof(p->bytes))
			line_bad(line, text, "data of at most 4096 bytes");
		if (named->host)
			memcpy(p->bytes, host_of(line, named, offset, p->pkt.length),
			       p->pkt.length);
		else if (named->mr)
			named->mr->ops->read(named->mr, offset, p->bytes, p->pkt.length);
	}
	p->has_bytes = text != NULL;
	text = line_get(line, "pattern");
	if (!text)
		return;
	p->pkt.synthetic = true;
	offset = text_number(line, strchr(text, '+') ? strchr(text, '+') + 1 : "none");
	p->pkt.pattern = wire_pattern(strtoull(text, NULL, 0), offset);
}

void script_parse_pkt(struct line *line, struct script_pkt *p, uint32_t dest_qpn)
{
	struct wire_pkt *pkt = &p->pkt;

	*p = (struct script_pkt){0};
	pkt->opcode = opcode_named(line, line_word(line, "an opcode"));
	pkt->dest_qpn = (uint32_t)line_number(line, "qp", dest_qpn);
	pkt->psn = (uint32_t)line_number(line, "psn", 0);
	pkt->length = (uint16_t)line_number(line, "len", 0);
	pkt->ack_req = line_flag(line, "ackreq");
	pkt->solicited = line_flag(line, "solicited");
	pkt->becn = line_flag(line, "becn");
	pkt->va = line_get(line, "orig") ? line_number(line, "orig", 0)
					 : address(line, line_get(line, "va"));
	pkt->rkey = key_of(line, line_get(line, "rkey"));
	pkt->dma_length = (uint32_t)line_number(line, "dma", 0);
	if (line_get(line, "syn"))
		pkt->word = wire_aeth((uint8_t)line_number(line, "syn", 0),
				      (uint32_t)line_number(line, "msn", 0));
	else
		pkt->word =
			line_get(line, "inv")
				? key_of(line, line_get(line, "inv"))
				: (uint32_t)line_number(line, "imm", line_number(line, "feth", 0));
	if (line_get(line, "swap") || line_get(line, "add") || line_get(line, "pkey")) {
		pkt->has_rare = true;
		pkt->rare.swap_add = line_number(line, "swap", line_number(line, "add", 0));
		pkt->rare.compare = line_number(line, "cmp", 0);
		pkt->rare.pkey = (uint16_t)line_number(line, "pkey", WIRE_PKEY_DEFAULT);
	}
	if (line_get(line, "qkey")) {
		pkt->has_rare = true;
		pkt->rare.qkey = (uint32_t)line_number(line, "qkey", 0);
		pkt->rare.src_qpn = (uint32_t)line_number(line, "src", 0);
		pkt->rare.pkey = (uint16_t)line_number(line, "pkey", WIRE_PKEY_DEFAULT);
	}
	if (line_get(line, "srq")) {
		pkt->has_rare = true;
		pkt->rare.xrc_srqn = srqn_of(line);
		pkt->rare.pkey = (uint16_t)line_number(line, "pkey", WIRE_PKEY_DEFAULT);
	}
	p->ecn = line_flag(line, "ce") ? WIRE_CE : line_flag(line, "ect") ? WIRE_ECT0 : 0;
	p->priority = (uint8_t)line_number(line, "priority", 0);
	parse_payload(line, p);
}

void script_render_pkt(const struct script_pkt *p, char *text)
{
	const struct wire_pkt *pkt = &p->pkt;
	const struct wire_op *op = wire_op_find(pkt->opcode);
	int len = snprintf(text, TEXT_MAX,
			   "%s qp=0x%x psn=0x%x len=%u va=0x%llx rkey=0x%x dma=%u word=0x%x",
			   op ? op->name : "?", pkt->dest_qpn, pkt->psn, pkt->length,
			   (unsigned long long)pkt->va, pkt->rkey, pkt->dma_length, pkt->word);

	if (op && op->deth)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " qkey=0x%x src=0x%x",
				pkt->rare.qkey, pkt->rare.src_qpn);
	else if (op && op->xrceth)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " srq=0x%x swap_add=%llu",
				pkt->rare.xrc_srqn, (unsigned long long)pkt->rare.swap_add);
	else if (pkt->has_rare)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " swap_add=%llu cmp=%llu",
				(unsigned long long)pkt->rare.swap_add,
				(unsigned long long)pkt->rare.compare);
	if (pkt->synthetic)
		len += snprintf(text + len, TEXT_MAX - (size_t)len, " pattern=%llx",
				(unsigned long long)pkt->pattern);
	snprintf(text + len, TEXT_MAX - (size_t)len, "%s%s%s%s priority=%u",
		 pkt->ack_req ? " ackreq" : "", pkt->solicited ? " solicited" : "",
		 pkt->becn ? " becn" : "", p->ecn == WIRE_ECT0 ? " ect" : "", p->priority);
}

const char *script_parse_wc(struct line *line, struct hca_wc *ret_wc)
{
	const char *name = line_word(line, "a QP");

	*ret_wc = (struct hca_wc){0};
	find_qp(line, name);
	ret_wc->wr_id = line_number(line, "id", 0);
	line_word(line, "id=N");
	ret_wc->status = (enum hca_wc_status)text_name(line, line_word(line, "a status"), statuses,
						       "a status");
	if (ret_wc->status == HCA_WC_SUCCESS) {
		ret_wc->opcode = (enum hca_wc_opcode)text_name(
			line, line_word(line, "an operation"), wc_opcodes, "an operation");
		ret_wc->byte_len = (uint32_t)line_number(line, "len", 0);
		if (line_get(line, "imm")) {
			ret_wc->flags = HCA_WC_WITH_IMM;
			ret_wc->imm = htonl((uint32_t)line_number(line, "imm", 0));
		} else if (line_get(line, "inv")) {
			ret_wc->flags = HCA_WC_WITH_INV;
			ret_wc->imm = key_of(line, line_get(line, "inv"));
		}
		if (line_get(line, "src")) { /* of a datagram */
			ret_wc->flags |= HCA_WC_GRH;
			ret_wc->src_qpn = (uint32_t)line_number(line, "src", 0);
		}
	}
	line_end(line);
	return name;
}

/* mem REGION+OFFSET:LENGTH data=c | data=REGION+OFFSET | same | u64=N */
void script_mem(struct line *line, bool is_set)
{
	const char *where = line_word(line, "REGION+OFFSET:LENGTH");
	const char *length = strchr(where, ':');
	uint64_t offset;
	struct named_mr *named = place_of(line, where, &offset);
	struct script_pkt p = {.pkt.length = 8};
	uint64_t value = line_number(line, "u64", 0);
	char found[TEXT_MAX];
	uint8_t *host;

	if (length)
		p.pkt.length = (uint16_t)text_number(line, length + 1);
	memcpy(p.bytes, &value, sizeof(value));
	for (uint64_t i = 0; line_flag(line, "same") && i < p.pkt.length && i < sizeof(p.bytes);
	     i++)
		p.bytes[i] = first_byte(named, offset + i);
	if (line_get(line, "data"))
		parse_payload(line, &p);
	if (line_get(line, "mismatch") && named->mr) {
		value = line_number(line, "mismatch", 0);
		snprintf(found, sizeof(found), "%llu bytes do not match",
			 (unsigned long long)named->mr->mismatch_bytes);
		line_end(line);
		if (named->mr->mismatch_bytes != value)
			line_differs(line, found, "as many as the script says");
		return;
	}
	line_end(line);
	if (p.pkt.length > sizeof(p.bytes))
		line_bad(line, where, "at most 4096 bytes");
	host = host_of(line, named, offset, p.pkt.length);
	if (is_set) {
		memcpy(host, p.bytes, p.pkt.length);
	} else if (memcmp(host, p.bytes, p.pkt.length) != 0) {
		snprintf(found, sizeof(found), "bytes that begin %.16s", (char *)host);
		line_differs(line, found, "the bytes of the script");
	}
}
