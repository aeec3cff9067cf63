/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/cursor.h"

#include <string.h>

struct vrb_cursor vrb_cursor_emit(uint8_t *bytes, size_t room)
{
	return (struct vrb_cursor){.at = bytes, .end = bytes + room, .is_emitting = true};
}

struct vrb_cursor vrb_cursor_parse(uint8_t *bytes, size_t length)
{
	return (struct vrb_cursor){.at = bytes, .end = bytes + length};
}

/* The @count low bytes of @value; those that were parsed. */
static uint64_t cursor_pass(struct vrb_cursor *c, uint64_t value, size_t count)
{
	uint64_t parsed = 0;

	if (c->is_bad || (size_t)(c->end - c->at) < count) {
		c->is_bad = true;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (c->is_emitting)
			c->at[i] = (uint8_t)(value >> 8 * i);
		parsed |= (uint64_t)c->at[i] << 8 * i;
	}
	c->at += count;
	return parsed;
}

uint8_t *vrb_cursor_take(struct vrb_cursor *c, size_t count)
{
	uint8_t *bytes = c->at;

	c->is_bad |= (size_t)(c->end - c->at) < count;
	if (c->is_bad)
		return NULL;
	c->at += count;
	return bytes;
}

void vrb_pass_u8(struct vrb_cursor *c, uint8_t *value)
{
	*value = (uint8_t)cursor_pass(c, *value, sizeof(*value));
}

void vrb_pass_u16(struct vrb_cursor *c, uint16_t *value)
{
	*value = (uint16_t)cursor_pass(c, *value, sizeof(*value));
}

void vrb_pass_u32(struct vrb_cursor *c, uint32_t *value)
{
	*value = (uint32_t)cursor_pass(c, *value, sizeof(*value));
}

void vrb_pass_u64(struct vrb_cursor *c, uint64_t *value)
{
	*value = cursor_pass(c, *value, sizeof(*value));
}

void vrb_pass_bool(struct vrb_cursor *c, bool *value)
{
	uint8_t byte = 0;

	if (c->is_emitting)
		byte = *value ? 1 : 0;
	vrb_pass_u8(c, &byte);
	if (byte > 1)
		c->is_bad = true;
	*value = byte == 1;
}

void vrb_pass_bytes(struct vrb_cursor *c, uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vrb_pass_u8(c, &bytes[i]);
}
