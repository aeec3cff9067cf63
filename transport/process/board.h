/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROCESS_BOARD_H
#define PROCESS_BOARD_H

/* The rendezvous between processes, over TCP: a small server that keeps what ranks publish and
 * answers those who wait for it. Needs nothing but libc, since it also runs in a guest. Integers
 * are 32 bits, least significant byte first. A request is operation 'P' or 'G' or 'H' or 'E' | key
 * length | length | key | bytes (P): put, get, here is the rank that the key names, end; an answer
 * to P and G is: errno | length | bytes (G). */
#include <stddef.h>
#include <stdint.h>

enum { BOARD_KEY_MAX = 256, BOARD_BYTES_MAX = 1 << 20, BOARD_RANKS_MAX = 64 };

/* Listening socket for "ADDR:PORT" (port 0: any; *ret_port is the one taken), or -errno. */
int board_listen(const char *where, uint16_t *ret_port);
/* Serves until @size ranks have ended. One that goes without its end fails every get from then on.
 * @patience_s: so long nobody may be there; 0: for ever. If some have not said board_hello() after
 * a second, says which, once, on stderr. 0, or -errno: -ECONNRESET if somebody went without an end,
 * -ETIMEDOUT. */
int board_serve(int listener, int size, int patience_s);

/* Connected socket or -errno; tries for @seconds. */
int board_connect(const char *where, int seconds);
/* Which rank this is, for those who wait for it. 0 or -errno. */
int board_hello(int board, int rank);
/* 0 or -errno: -EEXIST: the key was put before, and keeps what it has; -EINVAL: too long. */
int board_put(int board, const char *key, const void *bytes, size_t length);
/* Waits; the length, of which as much as fits into @room was copied, or -errno. */
int64_t board_fetch(int board, const char *key, void *ret_bytes, size_t room);
/* The same where the length is known: 0, or -EMSGSIZE if it is another. */
int board_get(int board, const char *key, void *ret_bytes, size_t length);
int board_end(int board);

#endif
