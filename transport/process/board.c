/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/process/board.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 12, CLIENTS_MAX = BOARD_RANKS_MAX, ENTRIES_MAX = 4096, SILENT_MS = 1000 };

struct entry {
	char key[BOARD_KEY_MAX];
	uint8_t *bytes;
	uint32_t length;
};

struct client {
	int fd;
	bool waits; /* for @key */
	char key[BOARD_KEY_MAX];
};

struct server {
	struct entry entries[ENTRIES_MAX];
	struct client clients[CLIENTS_MAX];
	int entry_count, client_count, end_count;
	bool failed, here[BOARD_RANKS_MAX];
};

static void put_u32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static int send_all(int fd, const void *bytes, size_t length)
{
	const uint8_t *b = bytes;

	while (length > 0) {
		ssize_t done = send(fd, b, length, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		b += done;
		length -= (size_t)done;
	}
	return 0;
}

static int recv_all(int fd, void *bytes, size_t length)
{
	uint8_t *b = bytes;

	while (length > 0) {
		ssize_t done = recv(fd, b, length, 0);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ECONNRESET;
		b += done;
		length -= (size_t)done;
	}
	return 0;
}

static int parse(const char *where, struct sockaddr_in *addr)
{
	const char *colon = strrchr(where, ':');
	char host[64];

	if (!colon || (size_t)(colon - where) >= sizeof(host))
		return -EINVAL;
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = '\0';
	*addr = (struct sockaddr_in){.sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(colon + 1))};
	return inet_pton(AF_INET, host, &addr->sin_addr) == 1 ? 0 : -EINVAL;
}

int board_listen(const char *where, uint16_t *ret_port)
{
	struct sockaddr_in addr;
	socklen_t length = sizeof(addr);
	int ret = parse(where, &addr), fd, one = 1;

	if (ret < 0)
		return ret;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &length) != 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static struct entry *board_find(struct server *server, const char *key)
{
	for (int i = 0; i < server->entry_count; i++)
		if (strcmp(server->entries[i].key, key) == 0)
			return &server->entries[i];
	return NULL;
}

static int answer(struct client *client, int error, const struct entry *entry)
{
	uint8_t head[8];
	int ret;

	put_u32(head, (uint32_t)error);
	put_u32(head + 4, entry ? entry->length : 0);
	ret = send_all(client->fd, head, sizeof(head));
	return ret == 0 && entry ? send_all(client->fd, entry->bytes, entry->length) : ret;
}

/* Answers those whose key has come, or all when nothing more will come. */
static void wake(struct server *server)
{
	for (int i = 0; i < server->client_count; i++) {
		struct client *client = &server->clients[i];
		struct entry *entry = client->waits ? board_find(server, client->key) : NULL;

		if (!client->waits || (!entry && !server->failed))
			continue;
		client->waits = false;
		answer(client, entry ? 0 : ECONNRESET, entry);
	}
}

static int add(struct server *server, const char *key, int fd, uint32_t length)
{
	struct entry *entry = &server->entries[server->entry_count];
	int ret;

	if (server->entry_count == ENTRIES_MAX)
		return -ENOSPC;
	entry->bytes = malloc((size_t)length + 1);
	if (!entry->bytes)
		return -ENOMEM;
	ret = recv_all(fd, entry->bytes, length);
	if (ret < 0 || board_find(server, key)) {
		free(entry->bytes);
		return ret < 0 ? ret : -EEXIST;
	}
	strcpy(entry->key, key);
	entry->length = length;
	server->entry_count++;
	return 0;
}

/* One request of @client; negative: it is gone. */
static int serve_one(struct server *server, struct client *client)
{
	uint8_t head[HEAD_BYTES];
	char key[BOARD_KEY_MAX] = "";
	uint32_t operation, key_length, length;
	int ret = recv_all(client->fd, head, sizeof(head));

	if (ret < 0)
		return ret;
	operation = get_u32(head);
	key_length = get_u32(head + 4);
	length = get_u32(head + 8);
	if (key_length >= sizeof(key) || length > BOARD_BYTES_MAX)
		return -EBADMSG;
	ret = recv_all(client->fd, key, key_length);
	if (ret < 0)
		return ret;
	switch (operation) {
	case 'P':
		ret = add(server, key, client->fd, length);
		if (ret < 0 && ret != -EEXIST)
			return ret;
		return answer(client, -ret, NULL);
	case 'G':
		strcpy(client->key, key);
		client->waits = true;
		return 0;
	case 'H':
		if (atoi(key) >= 0 && atoi(key) < BOARD_RANKS_MAX)
			server->here[atoi(key)] = true;
		return 0;
	case 'E':
		server->end_count++;
		return -ESHUTDOWN;
	default:
		return -EBADMSG;
	}
}

/* False: nothing came for @limit_ms; negative: for ever. */
static bool board_turn(struct server *server, int listener, int limit_ms)
{
	struct pollfd polls[CLIENTS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
	int count = server->client_count, ret;

	for (int i = 0; i < count; i++)
		polls[i + 1] = (struct pollfd){.fd = server->clients[i].fd, .events = POLLIN};
	ret = poll(polls, (nfds_t)count + 1, limit_ms);
	if (ret <= 0)
		return ret < 0;
	for (int i = count - 1; i >= 0; i--) {
		if (polls[i + 1].revents == 0)
			continue;
		ret = serve_one(server, &server->clients[i]);
		if (ret >= 0)
			continue;
		server->failed |= ret != -ESHUTDOWN;
		close(server->clients[i].fd);
		server->clients[i] = server->clients[--server->client_count];
	}
	if (polls[0].revents != 0 && server->client_count < CLIENTS_MAX) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;

		if (fd >= 0) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			server->clients[server->client_count++] = (struct client){.fd = fd};
		}
	}
	wake(server);
	return true;
}

static int64_t board_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whoever has not come, once. */
static void tell_missing(const struct server *server, int listener, int size)
{
	struct sockaddr_in addr = {0};
	socklen_t length = sizeof(addr);
	char ranks[4 * BOARD_RANKS_MAX + 1] = "", ip[INET_ADDRSTRLEN] = "";
	int count = 0, at = 0;

	for (int i = 0; i < size && i < BOARD_RANKS_MAX; i++)
		if (!server->here[i])
			at += snprintf(ranks + at, sizeof(ranks) - (size_t)at, "%s%d",
				       count++ > 0 ? ", " : "", i);
	if (count == 0 || server->failed)
		return;
	getsockname(listener, (struct sockaddr *)&addr, &length);
	inet_ntop(AF_INET, &addr.sin_addr, ip, sizeof(ip));
	fprintf(stderr, "board at %s:%u: waiting for rank%s %s of %d\n", ip, ntohs(addr.sin_port),
		count > 1 ? "s" : "", ranks, size);
}

int board_serve(int listener, int size, int patience_s)
{
	struct server *server = calloc(1, sizeof(*server));
	const int64_t say_at = board_clock_ms() + SILENT_MS;
	bool in_time = true, said = false;
	int ret;

	if (!server)
		return -ENOMEM;
	while (in_time && server->end_count < size &&
	       !(server->failed && server->client_count == 0)) {
		const int64_t left = say_at - board_clock_ms();

		if (!said && left <= 0) {
			tell_missing(server, listener, size);
			said = true;
		}
		if (!said)
			board_turn(server, listener, (int)left);
		else
			in_time = board_turn(server, listener,
					     server->client_count > 0 || patience_s == 0
						     ? -1
						     : 1000 * patience_s);
	}
	ret = server->failed ? -ECONNRESET : in_time ? 0 : -ETIMEDOUT;
	for (int i = 0; i < server->client_count; i++)
		close(server->clients[i].fd);
	for (int i = 0; i < server->entry_count; i++)
		free(server->entries[i].bytes);
	free(server);
	return ret;
}

int board_connect(const char *where, int seconds)
{
	const struct timespec nap = {.tv_nsec = 50000000};
	struct sockaddr_in addr;
	int ret = parse(where, &addr), fd, one = 1;

	for (int i = 0; ret == 0 && i <= 20 * seconds; i++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			return fd;
		}
		close(fd);
		nanosleep(&nap, NULL);
	}
	return ret < 0 ? ret : -ETIMEDOUT;
}

static int request(int board, char operation, const char *key, const void *bytes, size_t length)
{
	uint8_t head[HEAD_BYTES + BOARD_KEY_MAX];
	size_t key_length = strlen(key);
	int ret;

	if (key_length >= BOARD_KEY_MAX || length > BOARD_BYTES_MAX)
		return -EINVAL;
	put_u32(head, (uint8_t)operation);
	put_u32(head + 4, (uint32_t)key_length);
	put_u32(head + 8, (uint32_t)length);
	memcpy(head + HEAD_BYTES, key, key_length);
	ret = send_all(board, head, HEAD_BYTES + key_length);
	return ret == 0 && bytes ? send_all(board, bytes, length) : ret;
}

int board_hello(int board, int rank)
{
	char key[16];

	snprintf(key, sizeof(key), "%d", rank);
	return request(board, 'H', key, NULL, 0);
}

int board_put(int board, const char *key, const void *bytes, size_t length)
{
	uint8_t head[8];
	int ret = request(board, 'P', key, bytes, length);

	if (ret == 0)
		ret = recv_all(board, head, sizeof(head));
	return ret < 0 ? ret : -(int)get_u32(head);
}

int64_t board_fetch(int board, const char *key, void *ret_bytes, size_t room)
{
	uint8_t head[8], rest[256];
	int ret = request(board, 'G', key, NULL, 0);
	uint32_t length;

	if (ret == 0)
		ret = recv_all(board, head, sizeof(head));
	if (ret < 0)
		return ret;
	if (get_u32(head) != 0)
		return -(int64_t)get_u32(head);
	length = get_u32(head + 4);
	ret = recv_all(board, ret_bytes, length < room ? length : room);
	for (size_t at = room; at < length && ret == 0; at += sizeof(rest))
		ret = recv_all(board, rest,
			       length - at < sizeof(rest) ? length - at : sizeof(rest));
	return ret < 0 ? ret : (int64_t)length;
}

int board_get(int board, const char *key, void *ret_bytes, size_t length)
{
	const int64_t got = board_fetch(board, key, ret_bytes, length);

	return got < 0 ? (int)got : got == (int64_t)length ? 0 : -EMSGSIZE;
}

int board_end(int board)
{
	return request(board, 'E', "", NULL, 0);
}
