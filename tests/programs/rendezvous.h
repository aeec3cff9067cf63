/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_BOARD_H
#define TESTS_PROGRAMS_BOARD_H

/* The rendezvous of struct prog over TCP: a small server that keeps what ranks publish and answers
 *those who wait for it. Needs nothing but libc, since it also runs in a guest. Integers are 32
 *bits, least significant byte first. A request is operation 'P' or 'G' or 'E' | key length | length
 *| key | bytes (P) put, get, end; an answer to P and G is: errno | length | bytes (G). */
#include <stddef.h>
#include <stdint.h>

enum { BOARD_KEY_MAX = 64, BOARD_BYTES_MAX = 1 << 20 };

/* Listening socket for "ADDR:PORT" (port 0: any; *ret_port is the one taken), or -errno. */
int rendezvous_listen(const char *where, uint16_t *ret_port);
/* Serves until @size ranks have ended. One that goes without its end fails every get from then on.
 * 0, or -errno: -ECONNRESET if somebody did. */
int rendezvous_serve(int listener, int size);

/* Connected socket or -errno; tries for @seconds. */
int rendezvous_connect(const char *where, int seconds);
int rendezvous_put(int rendezvous, const char *key, const void *bytes, size_t length);
int rendezvous_get(int rendezvous, const char *key, void *ret_bytes, size_t length);
int rendezvous_end(int rendezvous);

#endif
