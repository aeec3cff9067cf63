/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

uint64_t report_hash(const void *bytes, size_t length)
{
	const uint8_t *b = bytes;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ b[i]) * 0x100000001b3u;
	return hash;
}

static const char *opcode_name(enum ibv_wc_opcode opcode)
{
	static const struct {
		enum ibv_wc_opcode opcode;
		const char *name;
	} names[] = {{IBV_WC_SEND, "SEND"},	 {IBV_WC_RDMA_WRITE, "WRITE"},
		     {IBV_WC_RDMA_READ, "READ"}, {IBV_WC_COMP_SWAP, "CAS"},
		     {IBV_WC_FETCH_ADD, "FADD"}, {IBV_WC_LOCAL_INV, "LOCAL_INV"},
		     {IBV_WC_RECV, "RECV"},	 {IBV_WC_RECV_RDMA_WITH_IMM, "RECV_IMM"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].opcode == opcode)
			return names[i].name;
	return "UNKNOWN";
}

void report_line(char ret_line[REPORT_LINE_MAX], int rank, int peer, int nth_qp,
		 const struct ibv_wc *wc, const void *bytes)
{
	bool success = wc->status == IBV_WC_SUCCESS;
	bool atomic = wc->opcode == IBV_WC_COMP_SWAP || wc->opcode == IBV_WC_FETCH_ADD;
	bool has_length = success && (wc->opcode & IBV_WC_RECV || wc->opcode == IBV_WC_RDMA_READ);
	char length[16] = "-", hash[24] = "-";

	if (has_length)
		snprintf(length, sizeof(length), "%u", wc->byte_len);
	if (bytes && (has_length || (success && atomic)))
		snprintf(hash, sizeof(hash), "%016llx",
			 (unsigned long long)report_hash(bytes, atomic ? 8 : wc->byte_len));
	snprintf(ret_line, REPORT_LINE_MAX, "%d %d %d %llu %d %s %s %s", rank, peer, nth_qp,
		 (unsigned long long)wc->wr_id, wc->status, success ? opcode_name(wc->opcode) : "-",
		 length, hash);
}

static int make_room(struct report_list *list, size_t count)
{
	size_t room = list->room != 0 ? list->room : 64;
	void *lines;

	while (room < count)
		room *= 2;
	if (room == list->room)
		return 0;
	lines = realloc(list->lines, room * sizeof(*list->lines));
	if (!lines)
		return -ENOMEM;
	list->lines = lines;
	list->room = room;
	return 0;
}

int report_add(struct report_list *list, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
	       const void *bytes)
{
	if (make_room(list, list->count + 1) != 0)
		return -ENOMEM;
	report_line(list->lines[list->count++], rank, peer, nth_qp, wc, bytes);
	return 0;
}

int report_take(struct report_list *list, struct report_list *from)
{
	if (make_room(list, list->count + from->count) != 0)
		return -ENOMEM;
	if (from->count > 0)
		memcpy(list->lines[list->count], from->lines, from->count * sizeof(*from->lines));
	list->count += from->count;
	report_free(from);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void report_sort(struct report_list *list)
{
	if (list->count != 0)
		qsort(list->lines, list->count, sizeof(*list->lines), compare);
}

void report_print(const struct report_list *list, FILE *file)
{
	for (size_t i = 0; i < list->count; i++)
		fprintf(file, "%s\n", list->lines[i]);
}

void report_free(struct report_list *list)
{
	free(list->lines);
	*list = (struct report_list){0};
}
