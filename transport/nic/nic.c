/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/nic.h"

#include "transport/hca/mem.h"
#include "transport/nic/internal.h"
#include "transport/nic/kind.h"
#include "transport/wire/mcast.h"
#include "util/check.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Time begins anew after AGE_NEW; it never gets to AGE_END, where 64 bits of picoseconds end. */
#define AGE_NEW_NS (200 * 86400 * (uint64_t)1000000000)
#define AGE_END_NS (213 * 86400 * (uint64_t)1000000000)
#define SECOND_NS ((uint64_t)1000000000)

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

ps_t nic_clock(const struct nic *nic)
{
	const uint64_t age_ns = monotonic_ns() - nic->epoch_ns;

	CHECK(age_ns < AGE_END_NS);
	return age_ns * PS_NS;
}

ps_t nic_now_from(const struct nic *nic, ps_t clock_at)
{
	const ps_t ahead_at = atomic_load_explicit(&nic->ahead_at, memory_order_relaxed);

	return clock_at > ahead_at ? clock_at : ahead_at;
}

ps_t nic_now(const struct nic *nic)
{
	return nic_now_from(nic, nic_clock(nic));
}

static void nic_move(ps_t *at, ps_t by, ps_t least)
{
	if (*at != 0 && *at != PS_NEVER)
		*at = *at > by ? *at - by : least;
}

/* The new time begins with a second that is past, so that little of what is remembered falls before
 * it. Who slept through the end of the old one finds that as late as could be. */
ps_t nic_mind_epoch(struct nic *nic)
{
	const uint64_t age_ns = monotonic_ns() - nic->epoch_ns;
	const ps_t now = (age_ns < AGE_END_NS ? age_ns : AGE_END_NS - 1) * PS_NS;
	const ps_t by = now - PS_S;

	CHECK(nic->locked);
	if (age_ns < AGE_NEW_NS || nic->time_users != 0 || nic_is_dead(nic))
		return now;
	hca_advance(nic->hca, now);
	hca_device_move_epoch(nic->hca, by);
	if (nic->impair)
		nic_impair_move_epoch(nic->impair, by);
	if (nic->gsi)
		nic_gsi_move_epoch(nic->gsi, by);
	nic_move(&nic->asleep_until, by, 1);
	nic_move(&nic->app_turn_at, by, 0);
	nic->link_looked_at = nic->link_heard_at = nic->moved_at = nic->seen_at = 0;
	atomic_store(&nic->ahead_at, 0);
	nic->epoch_ns += age_ns - SECOND_NS;
	return nic_now(nic);
}

void nic_lock(struct nic *nic)
{
	if (nic_trylock(nic))
		return;
	atomic_fetch_add(&nic->wanted, 1);
	CHECK(pthread_mutex_lock(&nic->lock) == 0);
	atomic_fetch_sub(&nic->wanted, 1);
	nic->locked = true;
	nic->holder = pthread_self();
}

bool nic_trylock(struct nic *nic)
{
	if (pthread_mutex_trylock(&nic->lock) != 0)
		return false;
	nic->locked = true;
	nic->holder = pthread_self();
	return true;
}

bool nic_lock_soon(struct nic *nic, int tries)
{
	bool is_mine = nic_trylock(nic);

	if (is_mine)
		return true;
	atomic_fetch_add(&nic->wanted, 1);
	for (int i = 1; i < tries && !is_mine; i++) {
		sched_yield();
		is_mine = nic_trylock(nic);
	}
	atomic_fetch_sub(&nic->wanted, 1);
	return is_mine;
}

void nic_unlock(struct nic *nic)
{
	CHECK(nic->locked);
	hca_mem_program_rest();
	nic->locked = false;
	CHECK(pthread_mutex_unlock(&nic->lock) == 0);
}

void nic_kill(struct nic *nic)
{
	const uint64_t one = 1;

	atomic_store(&nic->dead, true);
	(void)!write(nic->wake_fd, &one, sizeof(one));
	/* Of another thread's lock both may be seen at odds, but never as this one's. */
	if (nic_is_mine(nic))
		nic_unlock(nic);
}

bool nic_is_mine(const struct nic *nic)
{
	return nic->locked && pthread_equal(nic->holder, pthread_self());
}

bool nic_is_dead(const struct nic *nic)
{
	return atomic_load(&nic->dead);
}

void nic_forked(struct nic *nic)
{
	atomic_store(&nic->dead, true);
	nic->thread_ready = false; /* threads stay with the parent */
	atomic_store(&nic->wanted, 0);
	nic_board_close(nic);
	if (nic->params.shares)
		nic_link_close(nic); /* or the parent's slot would be taken after it has gone */
	nic_unlock(nic);
}

int nic_forked_idle(struct nic *nic)
{
	const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	CHECK(!nic->thread_ready);
	if (wake_fd < 0)
		return -errno;
	close(nic->wake_fd); /* the parent's, too */
	nic->wake_fd = wake_fd;
	nic_unlock(nic);
	return 0;
}

void nic_inherit_capture(struct nic *nic, struct nic *parents)
{
	nic->capture = parents->capture;
	parents->capture = NULL;
}

static void no_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
}

static void no_cq_event(void *world, void *cq_owner, ps_t now)
{
	(void)world, (void)cq_owner, (void)now;
}

static void no_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		     bool is_word, ps_t now)
{
	(void)world, (void)mr, (void)offset, (void)length, (void)is_word, (void)now;
}

static void no_async(void *world, void *qp_owner, int event, ps_t now)
{
	(void)world, (void)qp_owner, (void)event, (void)now;
}

static const struct hca_observer nobody = {no_wc, no_cq_event, no_place, no_async};

static void link_local(const uint8_t mac[6], uint8_t ret_ip[16])
{
	const uint8_t ip[16] = {0xfe,	    0x80,   0,	    0,	  0,	0,	0,	0,
				mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(ret_ip, ip, 16);
}

/* The link-local form of an IPv4 address on a udp link, see nic_gid(). */
static bool from_link_local(const uint8_t ip[16], uint8_t ret_ip[16])
{
	const uint8_t mac[6] = {2, 0, ip[10], ip[13], ip[14], ip[15]};
	const uint8_t ipv4[16] = {[10] = 0xff, 0xff, ip[10], ip[13], ip[14], ip[15]};
	uint8_t same[16];

	link_local(mac, same);
	if (memcmp(ip, same, 16) != 0)
		return false;
	memcpy(ret_ip, ipv4, 16);
	return true;
}

void nic_identity(const struct nic_params *params, struct nic_identity *ret_identity)
{
	static const uint8_t none[6];
	uint8_t *mac = ret_identity->mac, ip[16];

	memcpy(mac, params->mac, 6);
	if (memcmp(mac, none, 6) == 0) {
		mac[0] = 2;
		mac[1] = 0;
		memcpy(mac + 2, params->addr[0] + 12, 4);
	}
	link_local(mac, ip);
	ret_identity->guid = 0;
	for (int i = 8; i < 16; i++)
		ret_identity->guid = ret_identity->guid << 8 | ip[i];
	if (params->link == NIC_LINK_FRAME || wire_ip_is_ipv4(params->addr[0]))
		memcpy(ret_identity->gids[0], ip, 16);
	else
		memcpy(ret_identity->gids[0], params->addr[0], 16);
	memcpy(ret_identity->gids[1], params->addr, params->addr_count * sizeof(params->addr[0]));
	ret_identity->gid_count = 1 + params->addr_count;
}

/* The largest path MTU that fits, with all headers that a packet may have. */
static uint32_t fitting_mtu(const struct nic *nic)
{
	const uint32_t headers =
		WIRE_IPV6_BYTES + WIRE_UDP_BYTES + WIRE_BTH_MAX - WIRE_MTU_MAX + WIRE_ICRC_BYTES;
	uint32_t mtu = WIRE_MTU_MAX;

	if (nic->netdev_mtu == 0)
		return 1024;
	while (mtu > 256 && mtu + headers > nic->netdev_mtu)
		mtu /= 2;
	return mtu;
}

static bool lender_pull(struct hca_lender *lender, uint64_t address, uint8_t *to, uint32_t length,
			uint8_t *tail, uint32_t follows)
{
	const struct nic *nic = container_of(lender, struct nic, lender);

	return nic->shm && nic_shm_pull(nic->shm, address, to, length, tail, follows);
}

static const uint8_t *lender_at_hand(struct hca_lender *lender, uint64_t address, uint32_t length,
				     const uint8_t *to)
{
	const struct nic *nic = container_of(lender, struct nic, lender);

	return nic->shm ? nic_shm_at_hand(nic->shm, address, length, to) : NULL;
}

static void lender_revoke(struct hca_lender *lender, const struct wire_path *path,
			  uint32_t dest_qpn)
{
	const struct nic *nic = container_of(lender, struct nic, lender);

	if (nic->shm)
		nic_shm_revoke(nic->shm, path, dest_qpn);
}

static int create_adapter(struct nic *nic)
{
	struct hca_device_params params = {.observer = nic->params.observer,
					   .world = nic->params.world,
					   .profile = nic->params.profile};

	if (nic->params.path == NIC_PATH_DIRECT) {
		nic->lender = (struct hca_lender){
			.pull = lender_pull, .at_hand = lender_at_hand, .revoke = lender_revoke};
		params.lender = &nic->lender;
	}
	if (!params.observer)
		params.observer = &nobody;
	if (params.profile.line_rate_bps == 0) {
		uint32_t mtu = nic->params.mtu;

		params.profile =
			nic_profile_of(nic_kind(&nic->params), mtu ? mtu : fitting_mtu(nic),
				       !wire_ip_is_ipv4(nic->identity.gids[1]));
		params.profile.statuses = nic->params.statuses;
	}
	if (getrandom(params.key, sizeof(params.key), 0) != (ssize_t)sizeof(params.key))
		return -EIO;
	nic->hca = hca_device_create(&params);
	return nic->hca ? 0 : -ENOMEM;
}

static int allocate_slots(struct nic *nic)
{
	nic->memory = malloc(2 * NIC_BATCH * NIC_SLOT_BYTES);
	if (!nic->memory)
		return -ENOMEM;
	for (uint32_t i = 0; i < NIC_BATCH; i++) {
		nic->rx[i].buf = nic->memory + i * NIC_SLOT_BYTES;
		nic->tx[i].buf = nic->memory + (NIC_BATCH + i) * NIC_SLOT_BYTES;
	}
	return 0;
}

/* Who wants the counts has made a board for them. */
static int open_impair(struct nic *nic)
{
	if (nic->params.board[0] != '\0')
		nic->board = nic_impair_map(nic->params.board, true);
	return nic_impair_open(nic->params.impair, nic->params.seed, nic->board, &nic->impair);
}

static int open_parts(struct nic *nic)
{
	int ret;

	ret = pthread_mutex_init(&nic->lock, NULL);
	if (ret)
		return -ret;
	nic->lock_ready = true;
	nic->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (nic->wake_fd < 0)
		return -errno;
	ret = allocate_slots(nic);
	if (ret == 0)
		nic_link_interface(nic);
	if (ret == 0)
		ret = create_adapter(nic);
	if (ret == 0 && !nic->params.shares)
		ret = nic_link_open(nic);
	if (ret == 0 && nic->params.pcap[0] != '\0')
		ret = nic_capture_open(nic->params.pcap, nic->netdev, &nic->capture);
	if (ret == 0 && nic->params.impair[0] != '\0')
		ret = open_impair(nic);
	if (ret == 0 && nic->params.progress_thread)
		ret = nic_start(nic);
	return ret;
}

int nic_open(const struct nic_params *params, struct nic **ret_nic)
{
	struct nic *nic;
	int ret;

	if (params->addr_count == 0 || params->addr_count > NIC_ADDR_MAX)
		return -EINVAL;
	if (params->profile.cc && params->profile.cc->state_bytes != 0)
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->params = *params;
	nic->wake_fd = nic->socket = -1;
	nic->epoch_ns = monotonic_ns();
	nic_identity(params, &nic->identity);
	ret = open_parts(nic);
	if (ret != 0) {
		nic_close(nic); /* accepts half-open */
		return ret;
	}
	*ret_nic = nic;
	return 0;
}

void nic_close(struct nic *nic)
{
	if (!nic)
		return;
	nic_stop(nic);
	if (!nic_is_dead(nic)) /* else who knows what it would find */
		hca_device_destroy(nic->hca);
	nic_link_close(nic);
	nic_capture_close(nic->capture);
	nic_impair_close(nic->impair);
	nic_impair_unmap(nic->board);
	free(nic->memory);
	if (nic->wake_fd >= 0)
		close(nic->wake_fd);
	if (nic->lock_ready)
		pthread_mutex_destroy(&nic->lock);
	free(nic);
}

struct hca_device *nic_device(const struct nic *nic)
{
	return nic->hca;
}

const char *nic_netdev(const struct nic *nic)
{
	return nic->netdev;
}

uint64_t nic_guid(const struct nic *nic)
{
	return nic->identity.guid;
}

void nic_stats(struct nic *nic, struct nic_stats *ret_stats)
{
	nic_lock(nic);
	*ret_stats = nic->stats;
	nic_unlock(nic);
}

int nic_gid(const struct nic *nic, uint32_t index, uint8_t ret_gid[16])
{
	if (index >= nic->identity.gid_count)
		return -ENOENT;
	memcpy(ret_gid, nic->identity.gids[index], 16);
	return 0;
}

/* The port spreads the QP pairs over paths; both formulas are those of linux,
 * include/rdma/ib_verbs.h: rdma_calc_flow_label(), rdma_flow_label_to_udp_sport(). */
static uint16_t udp_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
	if (flow_label == 0) {
		uint64_t v = (uint64_t)local_qpn * remote_qpn;

		v ^= v >> 20;
		v ^= v >> 40;
		flow_label = v & 0xfffff;
	}
	return (uint16_t)(0xc000 | ((flow_label & 0x3fff) ^ (flow_label >> 14 & 0x3f)));
}

void nic_reuse_path(const struct nic *nic, struct wire_path *path, uint32_t local_qpn,
		    uint32_t remote_qpn)
{
	path->udp_sport = nic->link->fixed_sport
				  ? (uint16_t)WIRE_UDP_PORT
				  : udp_sport(path->flow_label, local_qpn, remote_qpn);
}

/* Until the link knows the way, or nobody has answered in time. */
static int ask_for(struct nic *nic, struct wire_path *path)
{
	const uint32_t wait_ms = nic->params.resolve_ms ? nic->params.resolve_ms : 5000;
	const ps_t give_up_at = nic_now(nic) + wait_ms * PS_MS;
	ps_t ask_at = 0;

	for (;;) {
		ps_t now = nic_now(nic);
		int ret = nic->link->ops->resolve(nic->link, path, now >= ask_at);

		if (ret != -EAGAIN)
			return ret;
		if (now >= give_up_at)
			return -EHOSTUNREACH;
		if (now >= ask_at)
			ask_at = now + 100 * PS_MS;
		/* Not longer, since the progress thread may be the one that hears the answer. */
		nic_loop_wait(nic, 1000000);
		nic_loop_turn(nic);
	}
}

void nic_mcast_ip(const struct nic *nic, const uint8_t gid[16], uint8_t ret_ip[16])
{
	if (nic->params.link == NIC_LINK_UDP && wire_ip_is_ipv4(nic->params.addr[0]))
		wire_mcast_ipv4(gid, ret_ip);
	else
		memmove(ret_ip, gid, 16);
}

int nic_hear_mcast(struct nic *nic, const uint8_t ip[16], bool hears)
{
	const uint64_t one = 1;
	int ret;

	CHECK(nic->locked);
	ret = nic->link->ops->hear(nic->link, ip, hears);
	(void)!write(nic->wake_fd, &one, sizeof(one)); /* the thread may sleep on what was there */
	return ret;
}

int nic_resolve(struct nic *nic, struct wire_path *path, uint32_t sgid_index, uint32_t local_qpn,
		uint32_t remote_qpn)
{
	int ret;

	CHECK(nic->locked);
	if (sgid_index >= nic->identity.gid_count)
		return -EINVAL;
	memcpy(path->src_ip, nic->identity.gids[sgid_index], 16);
	if (nic->params.link == NIC_LINK_UDP) {
		memcpy(path->src_ip, nic->params.addr[0], 16);
		if (wire_ip_is_multicast(path->dst_ip))
			nic_mcast_ip(nic, path->dst_ip, path->dst_ip);
		else if (wire_ip_is_ipv4(path->src_ip))
			(void)from_link_local(path->dst_ip, path->dst_ip);
	}
	memcpy(path->src_mac, nic->identity.mac, 6);
	path->vlan = 0;
	path->ip_id = 0;
	nic_reuse_path(nic, path, local_qpn, remote_qpn);
	nic->time_users++;
	ret = ask_for(nic, path);
	nic->time_users--;
	return ret;
}
