/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/bytes.h"
#include "transport/verbs/record.h"

#include <string.h>

static void pass_process(struct vrb_cursor *c, struct vrb_record_process *process)
{
	vrb_pass_bytes(c, process->name, sizeof(process->name));
	vrb_pass_bytes(c, process->boot, sizeof(process->boot));
	vrb_pass_u64(c, &process->wall_ns);
	vrb_pass_u64(c, &process->guid);
	vrb_pass_u32(c, &process->pid);
	vrb_pass_u32(c, &process->gid_count);
	if (process->gid_count > VRB_RECORD_GIDS || process->name[VRB_RECORD_NAME - 1] != 0 ||
	    process->boot[VRB_RECORD_BOOT - 1] != 0)
		c->is_bad = true;
	for (uint32_t i = 0; !c->is_bad && i < process->gid_count; i++)
		vrb_pass_bytes(c, process->gids[i], sizeof(process->gids[i]));
}

static void pass_modify(struct vrb_cursor *c, struct vrb_record *record)
{
	vrb_pass_u32(c, &record->modify.mask);
	vrb_pass_qp_attr(c, &record->modify.attr);
	vrb_pass_av(c, &record->modify.av);
	VRB_PASS_INT(c, &record->modify.cur_state);
}

static void pass_sges(struct vrb_cursor *c, struct vrb_record *record)
{
	uint32_t kept = record->send.wr.sge_count;

	if (kept > VRB_RECORD_SGES)
		kept = VRB_RECORD_SGES;
	record->send.sge_kept = kept;
	for (uint32_t i = 0; i < kept; i++)
		vrb_pass_sge(c, &record->send.sges[i]);
}

static void pass_send(struct vrb_cursor *c, struct vrb_record *record)
{
	vrb_pass_bool(c, &record->chained);
	vrb_pass_send_wr(c, &record->send.wr, &record->send.has_path);
	if (record->send.has_path)
		vrb_pass_bytes(c, record->gid, sizeof(record->gid));
	pass_sges(c, record);
}

static void pass_recv(struct vrb_cursor *c, struct vrb_record *record)
{
	vrb_pass_bool(c, &record->chained);
	vrb_pass_u64(c, &record->send.wr.wr_id);
	vrb_pass_u32(c, &record->send.wr.sge_count);
	pass_sges(c, record);
}

static void pass_numbers(struct vrb_cursor *c, struct vrb_record *record)
{
	vrb_pass_u64(c, &record->pd);
	vrb_pass_u32(c, &record->number);
	vrb_pass_u32(c, &record->flags);
}

static void pass_mr(struct vrb_cursor *c, struct vrb_record *record)
{
	vrb_pass_u64(c, &record->pd);
	vrb_pass_mr_init(c, &record->mr.init);
	vrb_pass_mr_info(c, &record->mr.info);
}

static void pass_body(struct vrb_cursor *c, struct vrb_record *record)
{
	switch (record->kind) {
	case VRB_RECORD_PROCESS:
		pass_process(c, &record->process_of);
		return;
	case VRB_RECORD_CREATE_MR:
	case VRB_RECORD_CHANGE_MR:
		pass_mr(c, record);
		return;
	case VRB_RECORD_CREATE_DM:
		vrb_pass_u64(c, &record->mr.init.length);
		return;
	case VRB_RECORD_CREATE_CQ:
		vrb_pass_cq_init(c, &record->cq);
		vrb_pass_u32(c, &record->number);
		return;
	case VRB_RECORD_OPEN_XRCD:
		vrb_pass_xrcd_init(c, &record->xrcd);
		return;
	case VRB_RECORD_CREATE_SRQ:
		vrb_pass_srq_init(c, &record->srq);
		vrb_pass_u32(c, &record->number);
		return;
	case VRB_RECORD_MODIFY_SRQ:
		vrb_pass_srq_attr(c, &record->srq_attr);
		vrb_pass_u32(c, &record->flags);
		return;
	case VRB_RECORD_CREATE_QP:
		vrb_pass_qp_init(c, &record->qp);
		vrb_pass_u32(c, &record->number);
		return;
	case VRB_RECORD_MODIFY_QP:
		pass_modify(c, record);
		return;
	case VRB_RECORD_AH:
		vrb_pass_av(c, &record->av);
		vrb_pass_bytes(c, record->gid, sizeof(record->gid));
		return;
	case VRB_RECORD_SEND:
		pass_send(c, record);
		return;
	case VRB_RECORD_RECV:
	case VRB_RECORD_SRQ_RECV:
		pass_recv(c, record);
		return;
	case VRB_RECORD_POLL:
		vrb_pass_bool(c, &record->chained);
		vrb_pass_wc(c, &record->wc);
		return;
	case VRB_RECORD_CREATE_MW:
	case VRB_RECORD_CREATE_CHANNEL:
	case VRB_RECORD_ARM:
	case VRB_RECORD_RESIZE:
	case VRB_RECORD_MODERATE:
	case VRB_RECORD_OPEN_QP:
	case VRB_RECORD_REFUSED:
		pass_numbers(c, record);
		return;
	case VRB_RECORD_END:
	case VRB_RECORD_OPEN:
	case VRB_RECORD_CLOSE:
	case VRB_RECORD_CREATE_PD:
	case VRB_RECORD_DESTROY:
	case VRB_RECORD_WAIT:
	case VRB_RECORD_WHOLE:
		return;
	case VRB_RECORD_COUNT:
		break;
	}
	c->is_bad = true;
}

void vrb_record_pass(struct vrb_cursor *c, struct vrb_record *record)
{
	uint16_t kind = (uint16_t)record->kind;

	vrb_pass_u16(c, &kind);
	record->kind = (enum vrb_record_kind)kind;
	vrb_pass_u16(c, &record->process);
	vrb_pass_u64(c, &record->at_ns);
	vrb_pass_u64(c, &record->object);
	pass_body(c, record);
}

uint32_t vrb_record_emit(struct vrb_record *record, uint8_t bytes[VRB_RECORD_BYTES_MAX])
{
	struct vrb_cursor c = vrb_cursor_emit(bytes + 4, VRB_RECORD_BYTES_MAX - 4);
	struct vrb_cursor head = vrb_cursor_emit(bytes, 4);
	uint32_t length;

	vrb_record_pass(&c, record);
	while ((c.at - bytes) % 8 != 0)
		*c.at++ = 0;
	length = (uint32_t)(c.at - bytes);
	vrb_pass_u32(&head, &length);
	return length;
}

bool vrb_record_parse(uint8_t *bytes, size_t length, struct vrb_record *ret_record)
{
	struct vrb_cursor c = vrb_cursor_parse(bytes, length);
	uint32_t said;

	memset(ret_record, 0, sizeof(*ret_record));
	vrb_pass_u32(&c, &said);
	vrb_record_pass(&c, ret_record);
	if (c.is_bad || said != length || length % 8 != 0 || c.end - c.at > 7)
		return false;
	while (c.at < c.end)
		if (*c.at++ != 0)
			return false;
	return true;
}

void vrb_record_emit_file(uint8_t bytes[VRB_RECORD_FILE_BYTES])
{
	struct vrb_cursor c = vrb_cursor_emit(bytes, VRB_RECORD_FILE_BYTES);
	uint32_t version = VRB_RECORD_VERSION, zero = 0;

	memcpy(vrb_cursor_take(&c, sizeof(VRB_RECORD_MAGIC) - 1), VRB_RECORD_MAGIC,
	       sizeof(VRB_RECORD_MAGIC) - 1);
	vrb_pass_u32(&c, &version);
	vrb_pass_u32(&c, &zero);
}
