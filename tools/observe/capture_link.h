/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CAPTURE_LINK_H
#define TOOLS_CAPTURE_LINK_H

/* Both ends of one link, wherever it is, as one pcapng: an interface for each end, with what that
 * end sends at the start of the frame, PFC frames among it. Between switches, too. */
#include "models/fabric/fabric.h"
#include "tools/result/named.h"

enum { CAPTURE_LINK_ENDS = 2 };

struct capture_link_end;

struct capture_link {
	struct fabric_watcher watcher;
	struct named out;
	const struct fabric *fabric;
	struct capture_link_end *ends;
	const struct host **hosts; /* by address */
	int error;		   /* errno of a write; 0: none */
};

/* Begins the file. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int capture_link_open(struct capture_link *capture, const char *path);
/* Before the run. @link: its own name. -ENOMEM, -EIO, -ENOENT: there is no such link. */
int capture_link_attach(struct capture_link *capture, struct fabric *fabric, const char *link);
/* As capture_close(). */
int capture_link_close(struct capture_link *capture);

#endif
