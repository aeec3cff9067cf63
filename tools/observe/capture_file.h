/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CAPTURE_FILE_H
#define TOOLS_CAPTURE_FILE_H

/* A pcapng that a run writes: a section, a block for every port, one or more with the names of the
 * fabric's addresses, and packets in the order in which they are given. Each is made where it is
 * written from, and some hundred go out with one write. */
#include "models/fabric/fabric.h"
#include "tools/result/named.h"
#include "transport/wire/path.h"
#include "transport/wire/pcapng.h"
#include "transport/wire/pfc.h"

enum {
	CAPTURE_SNAPLEN_MIN = 64, /* PFC frames, of 60 bytes, stay whole */
	CAPTURE_SNAPLEN_MAX = 65535,
};

struct capture_file {
	struct named out;
	uint32_t snaplen; /* bytes of a frame that are kept at most; 0: all */
	uint8_t *bytes;	  /* to be written; NULL: capture_file_begin() was not called */
	size_t count;
	uint64_t written, reserved; /* bytes of the file so far; up to where it has blocks */
	bool no_reserve;	    /* it takes none ahead */
	int error;		    /* errno of a write; 0: none */
};

/* COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. @path stays the caller's. */
int capture_file_open(struct capture_file *file, const char *path, uint32_t snaplen);
/* -ENOMEM. Then the ports, from 0 on; then the names, once; then packets. */
int capture_file_begin(struct capture_file *file);
void capture_file_port(struct capture_file *file, const char *name, uint64_t rate_bps);
/* Of all hosts of @fabric by address and MAC, of its switches by the MAC that PFC frames have. */
void capture_file_names(struct capture_file *file, const struct fabric *fabric);
/* @pkt says port, time and way, no more: the frame is that of the two behind it. */
void capture_file_data(struct capture_file *file, struct wire_pcapng_pkt pkt,
		       const struct wire_path *path, const struct wire_pkt *of);
void capture_file_pfc(struct capture_file *file, struct wire_pcapng_pkt pkt,
		      const struct wire_pfc *of);
/* Whole, unless it was never begun, or not all could be written, or @error, an errno, says so: then
 * there is none. As capture_file_open(). Zeroed: allowed. */
int capture_file_close(struct capture_file *file, int error);

/* What a PFC frame says, but for who sends it. False: @frame is none. */
bool capture_read_pfc(const struct sim_pkt *frame, struct wire_pfc *ret_pfc);
/* Of a switch: a locally administered address from its name. */
void capture_switch_mac(const struct sim_node *node, uint8_t ret_mac[6]);

#endif
