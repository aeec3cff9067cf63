/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_WAYS_H
#define WIRE_WAYS_H

/* What is done to every byte of a frame, its ICRC and its synthetic payload, is done in the widest
 * way that the processor (and the system on it) has: wire_icrc_add() and wire_pattern_bytes()
 * choose it themselves. All ways give the same; to name one is for tests. */
#include <stddef.h>
#include <stdint.h>

enum wire_way {
	WIRE_PLAIN,  /* any processor: tables, and one word after another */
	WIRE_WIDE,   /* x86-64: PCLMULQDQ; AVX2 */
	WIRE_WIDEST, /* x86-64: VPCLMULQDQ with AVX-512F; AVX-512DQ */
	WIRE_WAYS
};

/* The widest that there is here; what is narrower is there, too. */
enum wire_way wire_icrc_way(void);
enum wire_way wire_pattern_way(void);

/* As wire_icrc_add() and wire_pattern_bytes() in one way, which must be there. Short runs, and what
 * is left of long ones, go a narrower one. */
uint32_t wire_icrc_add_by(enum wire_way way, uint32_t state, const uint8_t *bytes, size_t count);
void wire_pattern_bytes_by(enum wire_way way, uint64_t pattern, uint8_t *ret_bytes, size_t length);

#endif
