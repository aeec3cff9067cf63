/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/board.h"

#include "transport/hca/device.h"
#include "transport/nic/internal.h"
#include "transport/nic/kind.h"
#include "util/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct nic_board *board_map(int *ret_fd)
{
	void *board = MAP_FAILED;
	const int fd = memfd_create(NIC_BOARD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* Of the size that it has, so that whoever reads it is spared a SIGBUS. */
	if (fd >= 0 && ftruncate(fd, sizeof(struct nic_board)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		board = mmap(NULL, sizeof(struct nic_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	if (board == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*ret_fd = fd;
	return board;
}

static struct nic_totals *totals_map(const char *folder)
{
	void *totals = MAP_FAILED;
	char path[PATH_MAX];
	struct stat found;
	int fd;

	if (!folder[0] ||
	    snprintf(path, sizeof(path), "%s/" NIC_TOTALS, folder) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &found) == 0 && found.st_size == sizeof(struct nic_totals))
		totals = mmap(NULL, sizeof(struct nic_totals), PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
	if (fd >= 0)
		close(fd);
	return totals == MAP_FAILED ? NULL : totals;
}

static void introduce(const struct nic *nic, struct nic_board *board)
{
	const uint8_t *ip = nic->params.addr[0];
	struct sockaddr_un door;
	struct timespec now;

	board->pid = getpid();
	board->slot = nic->group ? nic_group_slot(nic->group) : 0;
	board->gid_count = nic->identity.gid_count;
	memcpy(board->gids, nic->identity.gids, sizeof(board->gids));
	snprintf(board->device, sizeof(board->device), "verbena%u", nic->params.device);
	snprintf(board->profile, sizeof(board->profile), "%s", nic_kind(&nic->params)->name);
	if (wire_ip_is_ipv4(ip))
		inet_ntop(AF_INET, ip + 12, board->host, sizeof(board->host));
	else
		inet_ntop(AF_INET6, ip, board->host, sizeof(board->host));
	prctl(PR_GET_NAME, board->command);
	if (nic->group) {
		nic_group_door_address(nic->group, &door);
		snprintf(board->door, sizeof(board->door), "%s", door.sun_path + 1);
	}
	clock_gettime(CLOCK_BOOTTIME, &now);
	board->since_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	__atomic_store_n(&board->magic, NIC_BOARD_MAGIC, __ATOMIC_RELEASE);
}

void nic_board_open(struct nic *nic)
{
	nic->board_fd = -1;
	nic->card = board_map(&nic->board_fd);
	nic->totals = totals_map(nic->params.board);
	if (nic->card)
		introduce(nic, nic->card);
}

static uint64_t nic_counters_damaged(const struct nic_stats *nic)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < WIRE_VERDICT_COUNT; i++)
		all += i == WIRE_OK || i == WIRE_NOT_ROCE ? 0 : nic->rx[i];
	return all;
}

static void count_all(const struct nic *whose, uint64_t ret_values[NIC_COUNTER_COUNT])
{
	const struct hca_counters *hca = hca_device_counters(whose->hca);
	const struct nic_stats *nic = &whose->stats;
	const uint64_t values[NIC_COUNTER_COUNT] = {
#define PORT(name, value) value,
#define HW(name, value) value,
#include "transport/nic/counters.inc"
#undef PORT
#undef HW
	};

	memcpy(ret_values, values, sizeof(values));
}

static void put_values(struct nic_board *board, const uint64_t values[NIC_COUNTER_COUNT],
		       uint32_t qp_count)
{
	const uint32_t round = board->round;

	/* Each store releases those before it: who reads a new value reads the odd round, too. */
	__atomic_store_n(&board->round, round + 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < NIC_COUNTER_COUNT; i++)
		__atomic_store_n(&board->values[i], values[i], __ATOMIC_RELEASE);
	__atomic_store_n(&board->qp_count, qp_count, __ATOMIC_RELEASE);
	__atomic_store_n(&board->round, round + 2, __ATOMIC_RELEASE);
}

void nic_board_publish(struct nic *nic)
{
	uint64_t values[NIC_COUNTER_COUNT];

	CHECK(nic->locked);
	if (!nic->card && !nic->totals)
		return;
	count_all(nic, values);
	if (nic->card)
		put_values(nic->card, values, hca_device_qp_count(nic->hca));
	for (uint32_t i = 0; nic->totals && i < NIC_COUNTER_COUNT; i++)
		if (values[i] != nic->told[i])
			__atomic_fetch_add(&nic->totals->values[nic->params.device][i],
					   values[i] - nic->told[i], __ATOMIC_RELAXED);
	memcpy(nic->told, values, sizeof(values));
}

void nic_board_close(struct nic *nic)
{
	if (nic->card)
		munmap(nic->card, sizeof(*nic->card));
	if (nic->totals)
		munmap(nic->totals, sizeof(*nic->totals));
	if (nic->card)
		close(nic->board_fd);
	nic->card = NULL;
	nic->totals = NULL;
}
