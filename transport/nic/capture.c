/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/capture.h"

#include "transport/wire/pcapng.h"
#include "util/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK_MAX = WIRE_FRAME_MAX + 256 };

struct nic_capture {
	int fd; /* -1: the capture has ended */
	uint8_t frame[WIRE_FRAME_MAX], block[BLOCK_MAX];
};

static void end(struct nic_capture *capture)
{
	if (capture->fd >= 0)
		close(capture->fd);
	capture->fd = -1;
}

/* Each block at once: what waited in a buffer would be lost where the program crashes, and written
 * twice where it forks. */
static void nic_capture_put(struct nic_capture *capture, size_t length)
{
	size_t done = 0;

	CHECK(length > 0);
	while (capture->fd >= 0 && done < length) {
		ssize_t got = write(capture->fd, capture->block + done, length - done);

		if (got >= 0)
			done += (size_t)got;
		else if (errno != EINTR)
			end(capture); /* a full disk, which is no end of the program */
	}
}

int nic_capture_open(const char *file, const char *port, struct nic_capture **ret_capture)
{
	struct nic_capture *capture = calloc(1, sizeof(*capture));
	int ret;

	if (!capture)
		return -ENOMEM;
	capture->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (capture->fd < 0) {
		ret = -errno;
		free(capture);
		return ret;
	}
	/* "verbena exec" has made it, for all processes of a command: each has a section of its
	 * own, whose only interface is alike in all, so that it does not matter whose blocks come
	 * behind whose. */
	if (!getenv("VERBENA_TREE"))
		(void)!ftruncate(capture->fd, 0); /* no regular file: nothing to do */
	nic_capture_put(capture, wire_pcapng_section(capture->block, sizeof(capture->block)));
	nic_capture_put(capture,
			wire_pcapng_port(port, 0, 0, capture->block, sizeof(capture->block)));
	*ret_capture = capture;
	return 0;
}

void nic_capture_close(struct nic_capture *capture)
{
	if (!capture)
		return;
	end(capture);
	free(capture);
}

void nic_capture_frame(struct nic_capture *capture, bool in, const uint8_t *frame, uint32_t length,
		       ps_t now)
{
	const struct wire_pcapng_pkt block = {.at = now,
					      .way = in ? WIRE_PCAPNG_IN : WIRE_PCAPNG_OUT,
					      .bytes = frame,
					      .captured = length,
					      .length = length};

	nic_capture_put(capture, wire_pcapng_pkt(&block, capture->block, sizeof(capture->block)));
}

void nic_capture_pkt(struct nic_capture *capture, bool in, const struct wire_path *path,
		     const struct wire_pkt *pkt, ps_t now)
{
	size_t length = wire_frame_emit(path, pkt, capture->frame, sizeof(capture->frame));

	CHECK(length > 0);
	nic_capture_frame(capture, in, capture->frame, (uint32_t)length, now);
}
