/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/gsi.h"

#include "transport/nic/internal.h"
#include "util/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LETTER = 0x76620003, /* what each begins with */
	GID_INDEX = 1,
	AT_ONCE = 64, /* letters that are taken before others have their turn */
	WAITING = 64, /* messages that are too early yet */
	INBOX = AT_ONCE + NIC_BATCH,
	FILES_MAX = 65536,
};

struct nic_gsi_port {
	struct nic_gsi_port *next;
	uint16_t space, port;
	int fd;
};

/* A server that has told its client where it will listen may be slower than that client: perftest
 * relies on the time that a kernel takes. So a request waits a little for who listens. */
#define WAIT_FOR_LISTENER (500 * PS_MS)
/* And the end of a connection waits until what came before it has been seen: who hears of it may
 * destroy the queue pair, and with it completions that another thread is about to poll. A kernel
 * takes longer than that thread, unless the machine is busy. */
#define WAIT_FOR_POLL (50 * PS_MS)
#define LOOK_AGAIN (2 * PS_MS)

struct nic_gsi_waiting {
	struct wire_path path;
	uint8_t mad[CM_MAD_BYTES];
	ps_t until;
};

/* What has come, until all has been looked at that came before. */
struct nic_gsi_mail {
	struct wire_path path;
	uint8_t mad[CM_MAD_BYTES];
	bool is_letter; /* it is for this process */
};

struct nic_gsi {
	struct nic *nic;
	struct cm *cm;
	struct nic_link *link; /* of the group's socket; NULL: there is no group */
	int epoll, box;	       /* the slot's letters; -1 */
	struct nic_gsi_port *ports;
	uint32_t psn;
	uint32_t waiting_count;
	ps_t look_at; /* for who listens; PS_NEVER */
	struct nic_gsi_waiting waiting[WAITING];
	uint32_t inbox_count;
	struct nic_gsi_mail inbox[INBOX];
};

/* One message on its way to another process of this host. */
struct letter {
	uint32_t version, bytes;
	struct wire_path path;
	uint8_t mad[CM_MAD_BYTES];
};

/* ---- names ---- */

static void port_name(char ret_name[32], uint16_t space, uint16_t port)
{
	snprintf(ret_name, 32, "cm/port/%04x/%u", space, port);
}

static void slot_name(char ret_name[32], uint32_t slot)
{
	snprintf(ret_name, 32, "cm/slot/%u", slot);
}

/* A socket that has this name, whose letters are taken. -errno. */
static int open_box(struct nic_gsi *gsi, const char *name)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_un address;
	const socklen_t length = nic_group_address(gsi->nic->group, name, &address);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1;
	int error;

	if (fd < 0)
		return -errno;
	event.data.fd = fd;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0 &&
	    bind(fd, (struct sockaddr *)&address, length) == 0 &&
	    epoll_ctl(gsi->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* ---- what communication management asks ---- */

/* Where the list goes on with that port; NULL there: this process does not have it. */
static struct nic_gsi_port **gsi_port(struct nic_gsi *gsi, uint16_t space, uint16_t port)
{
	struct nic_gsi_port **at = &gsi->ports;

	while (*at && ((*at)->space != space || (*at)->port != port))
		at = &(*at)->next;
	return at;
}

static int gsi_take_port(void *owner, uint16_t space, uint16_t port)
{
	struct nic_gsi *gsi = owner;
	struct nic_gsi_port *p;
	char name[32];

	if (!gsi->link)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	port_name(name, space, port);
	*p = (struct nic_gsi_port){.next = gsi->ports, .space = space, .port = port};
	p->fd = open_box(gsi, name);
	if (p->fd < 0) {
		const int ret = p->fd;

		free(p);
		return ret;
	}
	gsi->ports = p;
	return 0;
}

static void gsi_give_port(void *owner, uint16_t space, uint16_t port)
{
	struct nic_gsi_port **at = gsi_port(owner, space, port), *p = *at;

	if (!p)
		return;
	*at = p->next;
	close(p->fd);
	free(p);
}

static int gsi_resolve(void *owner, struct wire_path *path)
{
	struct nic_gsi *gsi = owner;

	return nic_resolve(gsi->nic, path, GID_INDEX, CM_QPN, CM_QPN);
}

static void gsi_readable(void *file_owner, bool is_readable)
{
	const struct nic_cm_file *file = file_owner;
	eventfd_t count;

	/* Not write(), which for the program is one of a command. */
	if (is_readable)
		(void)eventfd_write(file->fd, 1);
	else
		(void)eventfd_read(file->fd, &count);
}

static struct cm_file *gsi_file_of(void *owner, int fd)
{
	const struct nic_cm_file *file = nic_cm_file_get(fd);

	(void)owner;
	return file ? file->cm_file : NULL;
}

static int gsi_read_program(void *owner, uint64_t address, uint8_t *ret_bytes, uint32_t count)
{
	(void)owner;
	if (address == 0)
		return -EFAULT;
	memcpy(ret_bytes, (const void *)(uintptr_t)address, count);
	return 0;
}

static bool gsi_is_gone(void *owner, const uint8_t ip[16])
{
	const struct nic_gsi *gsi = owner;

	return gsi->link && nic_host_is_gone(ip);
}

static const struct cm_ops gsi_ops = {.take_port = gsi_take_port,
				      .give_port = gsi_give_port,
				      .resolve = gsi_resolve,
				      .readable = gsi_readable,
				      .file_of = gsi_file_of,
				      .read_program = gsi_read_program,
				      .is_gone = gsi_is_gone};

/* ---- in and out ---- */

static int gsi_join(struct nic_gsi *gsi)
{
	struct nic *nic = gsi->nic;
	const struct nic_link_params params = {.params = &nic->params,
					       .gids = nic->identity.gids[0],
					       .gid_count = nic->identity.gid_count,
					       .stats = &nic->stats,
					       .fd = nic_group_gsi_socket(nic->group)};
	struct epoll_event event = {.events = EPOLLIN, .data.fd = params.fd};
	char name[32];
	int ret;

	gsi->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (gsi->epoll < 0)
		return -errno;
	slot_name(name, nic_group_slot(nic->group));
	gsi->box = open_box(gsi, name);
	if (gsi->box < 0)
		return gsi->box;
	ret = nic_link_udp_open(&params, &gsi->link);
	if (ret == 0 && epoll_ctl(gsi->epoll, EPOLL_CTL_ADD, params.fd, &event) != 0)
		ret = -errno;
	return ret;
}

static uint8_t mtu_enum(uint32_t mtu)
{
	uint8_t value = 1; /* IBTA 9.4.3.5: 256 */

	while (value < 5 && (256u << value) <= mtu)
		value++;
	return value;
}

int nic_gsi_open(struct nic *nic, struct nic_gsi **ret_gsi)
{
	struct nic_gsi *gsi = calloc(1, sizeof(*gsi));
	struct cm_params params = {.ops = &gsi_ops,
				   .owner = gsi,
				   .scope_id = nic->params.scope_id,
				   .guid = nic->identity.guid,
				   .gid_index = GID_INDEX,
				   .mtu = mtu_enum(hca_device_profile(nic->hca)->mtu_max)};
	int ret;

	if (!gsi)
		return -ENOMEM;
	gsi->nic = nic;
	gsi->epoll = gsi->box = -1;
	gsi->look_at = PS_NEVER;
	memcpy(params.ip, nic->identity.gids[GID_INDEX], 16);
	if (getrandom(&params.seed, sizeof(params.seed), 0) != (ssize_t)sizeof(params.seed))
		params.seed = nic->epoch_ns;
	gsi->cm = cm_create(&params);
	ret = !gsi->cm ? -ENOMEM : nic->group ? gsi_join(gsi) : 0;
	if (ret != 0) {
		nic_gsi_close(gsi, false);
		return ret;
	}
	if (nic->group)
		cm_set_slot(gsi->cm, nic_group_slot(nic->group));
	*ret_gsi = gsi;
	return 0;
}

void nic_gsi_close(struct nic_gsi *gsi, bool forgets)
{
	if (!gsi)
		return;
	while (gsi->ports) {
		struct nic_gsi_port *p = gsi->ports;

		gsi->ports = p->next;
		close(p->fd);
		free(p);
	}
	if (gsi->link)
		gsi->link->ops->close(gsi->link);
	if (gsi->box >= 0)
		close(gsi->box);
	if (gsi->epoll >= 0)
		close(gsi->epoll);
	if (!forgets)
		cm_destroy(gsi->cm);
	free(gsi);
}

struct cm *nic_gsi_cm(const struct nic_gsi *gsi)
{
	return gsi->cm;
}

int nic_gsi_fd(const struct nic_gsi *gsi)
{
	return gsi->epoll;
}

/* ---- messages ---- */

/* Whether another process has it now. */
static bool gsi_hand_on(const struct nic_gsi *gsi, const char *name, const struct wire_path *path,
			const uint8_t *mad)
{
	struct letter letter = {.version = LETTER, .bytes = sizeof(letter), .path = *path};
	struct sockaddr_un address;
	const socklen_t length = nic_group_address(gsi->nic->group, name, &address);

	memcpy(letter.mad, mad, CM_MAD_BYTES);
	return sendto(gsi->box, &letter, sizeof(letter), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&address, length) == (ssize_t)sizeof(letter) ||
	       errno == EAGAIN; /* it has too many: lost, as on any way */
}

static bool is_others(struct nic_gsi *gsi, const struct wire_path *path, const uint8_t *mad)
{
	const struct cm_target target = cm_target_of(mad, CM_MAD_BYTES);
	char name[32];

	if (!gsi->link || target.kind == CM_FOR_NOBODY)
		return false;
	if (target.kind == CM_FOR_PORT) {
		if (*gsi_port(gsi, target.space, target.port))
			return false;
		port_name(name, target.space, target.port);
	} else {
		if (target.slot == nic_group_slot(gsi->nic->group))
			return false;
		slot_name(name, target.slot);
	}
	return gsi_hand_on(gsi, name, path, mad);
}

/* How long this message is to wait as things are; 0: not at all. */
static ps_t gsi_patience(const struct nic_gsi *gsi, const uint8_t *mad)
{
	const struct cm_target target = cm_target_of(mad, CM_MAD_BYTES);
	const struct hca_qp *qp;
	uint32_t qpn;

	if (target.kind == CM_FOR_PORT)
		return cm_listens(gsi->cm, target.space, target.port) ? 0 : WAIT_FOR_LISTENER;
	qp = cm_ends(mad, CM_MAD_BYTES, &qpn) ? hca_qp_find(gsi->nic->hca, qpn) : NULL;
	return qp && hca_qp_has_unpolled(qp) ? WAIT_FOR_POLL : 0;
}

static bool gsi_waits(struct nic_gsi *gsi, const struct wire_path *path, const uint8_t *mad)
{
	const ps_t now = nic_now(gsi->nic);
	struct nic_gsi_waiting *w = &gsi->waiting[gsi->waiting_count];
	const ps_t patience = gsi_patience(gsi, mad);

	if (patience == 0 || gsi->waiting_count == WAITING)
		return false;
	gsi->waiting_count++;
	w->path = *path;
	w->until = now + patience;
	memcpy(w->mad, mad, CM_MAD_BYTES);
	gsi->look_at = now + LOOK_AGAIN;
	return true;
}

void nic_gsi_deliver(struct nic_gsi *gsi)
{
	for (uint32_t i = 0; i < gsi->inbox_count; i++) {
		const struct nic_gsi_mail *mail = &gsi->inbox[i];

		/* A letter has found its process; who has a port may be about to listen at it. */
		if ((mail->is_letter || !is_others(gsi, &mail->path, mail->mad)) &&
		    !gsi_waits(gsi, &mail->path, mail->mad))
			cm_input(gsi->cm, &mail->path, mail->mad, CM_MAD_BYTES, nic_now(gsi->nic));
	}
	gsi->inbox_count = 0;
}

static void put_mail(struct nic_gsi *gsi, const struct wire_path *path, const uint8_t *mad,
		     bool is_letter)
{
	struct nic_gsi_mail *mail;

	if (gsi->inbox_count == INBOX)
		nic_gsi_deliver(gsi);
	mail = &gsi->inbox[gsi->inbox_count++];
	mail->path = *path;
	mail->is_letter = is_letter;
	memcpy(mail->mad, mad, CM_MAD_BYTES);
}

void nic_gsi_input(struct nic_gsi *gsi, const struct wire_path *path, const struct wire_pkt *pkt)
{
	if (pkt->opcode != (WIRE_UD | WIRE_SEND_ONLY) || pkt->length != CM_MAD_BYTES ||
	    !pkt->has_rare || pkt->rare.qkey != CM_QKEY || pkt->rare.src_qpn != CM_QPN)
		return;
	put_mail(gsi, path, pkt->payload, false);
}

/* Those that need not wait any more, or have waited long enough. */
static void gsi_look_again(struct nic_gsi *gsi, ps_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < gsi->waiting_count; i++) {
		const struct nic_gsi_waiting w = gsi->waiting[i];

		if (is_others(gsi, &w.path, w.mad))
			continue;
		if (now < w.until && gsi_patience(gsi, w.mad) > 0)
			gsi->waiting[kept++] = w;
		else
			cm_input(gsi->cm, &w.path, w.mad, CM_MAD_BYTES, now);
	}
	gsi->waiting_count = kept;
	gsi->look_at = kept > 0 ? now + LOOK_AGAIN : PS_NEVER;
}

static bool letter_is_of_this_user(struct msghdr *message)
{
	struct ucred peer;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&peer, CMSG_DATA(c), sizeof(peer));
		return peer.uid == geteuid();
	}
	return false;
}

static void take_letters(struct nic_gsi *gsi, int fd)
{
	struct letter letter;
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = {.iov_base = &letter, .iov_len = sizeof(letter)};

	for (int i = 0; i < AT_ONCE; i++) {
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control.bytes,
					 .msg_controllen = sizeof(control.bytes)};
		const ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

		if (got < 0)
			return;
		if (got == (ssize_t)sizeof(letter) && !(message.msg_flags & MSG_TRUNC) &&
		    letter.version == LETTER && letter.bytes == sizeof(letter) &&
		    letter_is_of_this_user(&message))
			put_mail(gsi, &letter.path, letter.mad, true);
	}
}

bool nic_gsi_has_mail(const struct nic_gsi *gsi)
{
	return gsi->inbox_count > 0;
}

bool nic_gsi_take(struct nic_gsi *gsi)
{
	struct epoll_event events[16];
	bool has_packets = false;
	int count;

	CHECK(gsi->nic->locked);
	if (!gsi->link)
		return false;
	count = epoll_wait(gsi->epoll, events, 16, 0);
	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == gsi->link->fd)
			has_packets = true;
		else
			take_letters(gsi, events[i].data.fd);
	}
	return has_packets;
}

struct nic_link *nic_gsi_link(const struct nic_gsi *gsi)
{
	return gsi->link;
}

bool nic_gsi_has_output(const struct nic_gsi *gsi)
{
	return cm_has_output(gsi->cm);
}

bool nic_gsi_output(struct nic_gsi *gsi, struct wire_path *ret_path, struct wire_pkt *pkt)
{
	if (!cm_output(gsi->cm, ret_path, pkt->payload))
		return false;
	pkt->opcode = WIRE_UD | WIRE_SEND_ONLY;
	pkt->dest_qpn = CM_QPN;
	pkt->psn = gsi->psn++ & 0xffffff;
	pkt->length = CM_MAD_BYTES;
	pkt->has_rare = true;
	pkt->rare = (struct wire_rare){
		.qkey = CM_QKEY, .src_qpn = CM_QPN, .pkey = (uint16_t)WIRE_PKEY_DEFAULT};
	nic_reuse_path(gsi->nic, ret_path, CM_QPN, CM_QPN);
	return true;
}

ps_t nic_gsi_next_at(const struct nic_gsi *gsi)
{
	const ps_t at = cm_next_at(gsi->cm);

	return at < gsi->look_at ? at : gsi->look_at;
}

void nic_gsi_advance(struct nic_gsi *gsi, ps_t now)
{
	cm_advance(gsi->cm, now);
	if (gsi->look_at <= now)
		gsi_look_again(gsi, now);
}

void nic_gsi_move_epoch(struct nic_gsi *gsi, ps_t by)
{
	cm_move_epoch(gsi->cm, by);
	for (uint32_t i = 0; i < gsi->waiting_count; i++)
		gsi->waiting[i].until = 0;
	if (gsi->look_at != PS_NEVER)
		gsi->look_at = 0;
}

/* ---- descriptors ---- */

static struct nic_cm_file *files[FILES_MAX];
static uint32_t holders[FILES_MAX];

static bool fd_is_known(int fd)
{
	return fd >= 0 && fd < FILES_MAX;
}

int nic_cm_file_set(int fd, struct nic_cm_file *file)
{
	if (!fd_is_known(fd))
		return -EMFILE;
	__atomic_store_n(&files[fd], file, __ATOMIC_SEQ_CST);
	return 0;
}

int nic_cm_file_next(int fd)
{
	while (++fd < FILES_MAX)
		if (nic_cm_file_get(fd))
			return fd;
	return -1;
}

struct nic_cm_file *nic_cm_file_get(int fd)
{
	return fd_is_known(fd) ? __atomic_load_n(&files[fd], __ATOMIC_SEQ_CST) : NULL;
}

/* Who holds says so before it looks, who closes looks after it has said so: one of the two sees the
 * other. */
struct nic_cm_file *nic_cm_file_hold(int fd)
{
	if (fd_is_known(fd))
		__atomic_fetch_add(&holders[fd], 1, __ATOMIC_SEQ_CST);
	return nic_cm_file_get(fd);
}

void nic_cm_file_release(int fd)
{
	if (fd_is_known(fd))
		__atomic_fetch_sub(&holders[fd], 1, __ATOMIC_SEQ_CST);
}

bool nic_cm_file_is_held(int fd)
{
	return fd_is_known(fd) && __atomic_load_n(&holders[fd], __ATOMIC_SEQ_CST) > 0;
}
