/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_CURSOR_H
#define VERBS_CURSOR_H

/* Values between memory and flat bytes, little-endian, without gaps. One function goes both ways,
 * so that both sides name the same fields in the same order: while it emits, a value becomes bytes;
 * while it parses, bytes become a value. What does not fit, or is no value of its type, makes the
 * cursor bad, which it stays; what is parsed from then on is zeros. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vrb_cursor {
	uint8_t *at, *end;
	bool is_emitting, is_bad;
};

struct vrb_cursor vrb_cursor_emit(uint8_t *bytes, size_t room);
/* Only reads from @bytes. */
struct vrb_cursor vrb_cursor_parse(uint8_t *bytes, size_t length);

void vrb_pass_u8(struct vrb_cursor *c, uint8_t *value);
void vrb_pass_u16(struct vrb_cursor *c, uint16_t *value);
void vrb_pass_u32(struct vrb_cursor *c, uint32_t *value);
void vrb_pass_u64(struct vrb_cursor *c, uint64_t *value);
void vrb_pass_bool(struct vrb_cursor *c, bool *value); /* 0 or 1 */
void vrb_pass_bytes(struct vrb_cursor *c, uint8_t *bytes, size_t count);
/* Where the next @count bytes are, to be written or read there; NULL: there are fewer. */
uint8_t *vrb_cursor_take(struct vrb_cursor *c, size_t count);

/* Enumerations and int, as 32 bits. */
#define VRB_PASS_INT(c, value)                                                                     \
	do {                                                                                       \
		uint32_t vrb_word = (uint32_t) * (value);                                          \
		vrb_pass_u32(c, &vrb_word);                                                        \
		*(value) = (__typeof__(*(value)))vrb_word;                                         \
	} while (0)

#endif
