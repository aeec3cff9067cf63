/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/capture_link.h"

#include "sim/tap.h"
#include "tools/observe/capture.h"
#include "tools/observe/frame_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct capture_link_end {
	struct sim_tap tap;
	const struct sim_node *node;
	const struct sim_port *port;
	struct frame_copies frames; /* of this window */
};

/* ---- in the window ---- */

static void capture_link_on_start(struct sim_tap *tap, struct sim_thread *th,
				  const struct sim_port *port, const struct sim_pkt *pkt,
				  ps_t start)
{
	(void)th;
	(void)port;
	frame_copies_add(&container_of(tap, struct capture_link_end, tap)->frames, pkt, start);
}

/* ---- between windows ---- */

static void capture_link_put_control(struct capture_link *capture, struct wire_pcapng_pkt pkt,
				     const struct frame_copy *copy)
{
	const struct sim_node *node = capture->ends[pkt.port].node;
	const struct host *host = fabric_host(capture->fabric, node->name);
	struct wire_pfc pfc;

	if (!capture_read_pfc(&copy->frame, &pfc))
		return;
	if (host)
		host_mac(host, pfc.src_mac);
	else
		capture_switch_mac(node, pfc.src_mac);
	capture_file_pfc(&capture->file, pkt, &pfc);
}

static void capture_link_put_frame(struct capture_link *capture, uint32_t number,
				   const struct frame_copy *copy)
{
	const struct wire_pcapng_pkt pcapng = {
		.port = number, .at = copy->at, .way = WIRE_PCAPNG_OUT};
	struct wire_path path;
	struct wire_pkt pkt;

	if (copy->frame.frame != SIM_DATA) {
		capture_link_put_control(capture, pcapng, copy);
		return;
	}
	path = frame_path_to(host_index_receiver(capture->fabric,
						 host_index_find(&capture->hosts, copy->frame.dst)),
			     &copy->frame, &copy->pkt, &copy->from);
	pkt = frame_copy_pkt(&capture->ends[number].frames, copy);
	capture_file_data(&capture->file, pcapng, &path, &pkt);
}

/* Each end has its frames in order of their starts. */
static int capture_link_flush_window(struct capture_link *capture)
{
	struct frame_copies *a = &capture->ends[0].frames, *b = &capture->ends[1].frames;
	size_t x = 0, y = 0;

	if (a->no_memory || b->no_memory)
		return -ENOMEM;
	while (x < a->count || y < b->count) {
		if (y == b->count || (x < a->count && a->copies[x].at <= b->copies[y].at))
			capture_link_put_frame(capture, 0, &a->copies[x++]);
		else
			capture_link_put_frame(capture, 1, &b->copies[y++]);
	}
	frame_copies_clear(a);
	frame_copies_clear(b);
	return capture->file.error ? -EIO : 0;
}

static int capture_link_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	(void)fabric;
	return capture_link_flush_window(container_of(watcher, struct capture_link, watcher));
}

/* ---- the file ---- */

int capture_link_open(struct capture_link *capture, const char *path, uint32_t snaplen)
{
	*capture = (struct capture_link){.watcher = {.between = capture_link_between}};
	return capture_file_open(&capture->file, path, snaplen);
}

/* The ends in order of their names. */
static uint32_t capture_link_find_ends(struct capture_link *capture, struct fabric *fabric,
				       const char *link)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++)
		for (uint32_t p = 0; p < sim_node_at(fabric->sim, i)->port_count; p++) {
			struct sim_node *node = sim_node_at(fabric->sim, i);
			struct capture_link_end *end = &capture->ends[count];

			if (count == CAPTURE_LINK_ENDS ||
			    strcmp(link, node->ports[p].link_name) != 0)
				continue;
			*end = (struct capture_link_end){.tap = {.on_start = capture_link_on_start},
							 .node = node,
							 .port = &node->ports[p]};
			sim_tap_attach(&end->tap, &node->ports[p]);
			count++;
		}
	return count;
}

int capture_link_attach(struct capture_link *capture, struct fabric *fabric, const char *link)
{
	char name[256];

	capture->fabric = fabric;
	capture->ends = calloc(CAPTURE_LINK_ENDS, sizeof(*capture->ends));
	if (!capture->ends || host_index_init(&capture->hosts, fabric) != 0)
		return -ENOMEM;
	if (capture_link_find_ends(capture, fabric, link) != CAPTURE_LINK_ENDS)
		return -ENOENT;
	if (capture_file_begin(&capture->file) != 0)
		return -ENOMEM;
	for (int i = 0; i < CAPTURE_LINK_ENDS; i++) {
		const struct capture_link_end *end = &capture->ends[i];

		snprintf(name, sizeof(name), "%s of %s", end->port->link_name, end->node->name);
		capture_file_port(&capture->file, name, end->port->rate_bps);
	}
	capture_file_names(&capture->file, fabric);
	fabric_watch(fabric, &capture->watcher);
	return capture->file.error ? -EIO : 0;
}

int capture_link_close(struct capture_link *capture)
{
	int ret, error = 0;

	if (capture->file.bytes && capture_link_flush_window(capture) == -ENOMEM)
		error = ENOMEM;
	ret = capture_file_close(&capture->file, error);
	for (int i = 0; capture->ends && i < CAPTURE_LINK_ENDS; i++)
		frame_copies_fini(&capture->ends[i].frames);
	free(capture->ends);
	host_index_fini(&capture->hosts);
	*capture = (struct capture_link){.fabric = NULL};
	return ret;
}
