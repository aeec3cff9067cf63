/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/capture.h"

#include "transport/wire/pcapng.h"
#include "util/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_MAX = WIRE_FRAME_MAX + 256 };

struct nic_capture {
	FILE *file;
	uint8_t frame[WIRE_FRAME_MAX], block[BLOCK_MAX];
};

static void nic_capture_put(struct nic_capture *capture, size_t length)
{
	CHECK(length > 0);
	/* A full disk ends the capture, not the program. */
	(void)!fwrite(capture->block, 1, length, capture->file);
}

int nic_capture_open(const char *file, const char *port, struct nic_capture **ret_capture)
{
	struct nic_capture *capture = calloc(1, sizeof(*capture));
	int ret;

	if (!capture)
		return -ENOMEM;
	capture->file = fopen(file, "wbe");
	if (!capture->file) {
		ret = -errno;
		free(capture);
		return ret;
	}
	nic_capture_put(capture, wire_pcapng_section(capture->block, sizeof(capture->block)));
	nic_capture_put(capture, wire_pcapng_port(port, 0, capture->block, sizeof(capture->block)));
	*ret_capture = capture;
	return 0;
}

void nic_capture_close(struct nic_capture *capture)
{
	if (!capture)
		return;
	fclose(capture->file);
	free(capture);
}

void nic_capture_pkt(struct nic_capture *capture, bool in, const struct wire_path *path,
		     const struct wire_pkt *pkt, ps_t now)
{
	size_t length = wire_frame_emit(path, pkt, capture->frame, sizeof(capture->frame));
	const struct wire_pcapng_pkt block = {.at = now,
					      .way = in ? WIRE_PCAPNG_IN : WIRE_PCAPNG_OUT,
					      .bytes = capture->frame,
					      .captured = (uint32_t)length,
					      .length = (uint32_t)length};

	CHECK(length > 0);
	nic_capture_put(capture, wire_pcapng_pkt(&block, capture->block, sizeof(capture->block)));
}
