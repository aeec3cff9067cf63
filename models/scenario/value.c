/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/schema.h"

#include "util/check.h"
#include "util/quantity.h"
#include "util/text.h"

#include <string.h>

/* The place of @text among the words of @choices; -1: none. */
static int word_of(const char *choices, const char *text, size_t length)
{
	int place = 0;

	for (const char *at = choices; at && *at; place++) {
		const char *end = strchr(at, ' ');
		const size_t word = end ? (size_t)(end - at) : strlen(at);

		if (word == length && memcmp(at, text, length) == 0)
			return place;
		at += word + (end != NULL);
	}
	/* As YAML 1.2 writes them. */
	return choices && strcmp(choices, "no yes") == 0 ? word_of("false true", text, length) : -1;
}

bool scenario_is_off(const char *text, size_t length)
{
	return text && word_of("off none no false", text, length) >= 0;
}

static bool is_name(const char *text, size_t length, bool may_have_dot)
{
	for (size_t i = 0; i < length; i++)
		if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
		      (text[i] >= '0' && text[i] <= '9') || text[i] == '_' || text[i] == '-' ||
		      (text[i] == '.' && may_have_dot)))
			return false;
	return length > 0 && length < 64;
}

static enum util_quantity parse_number(const struct scenario_row *row, const char *text,
				       size_t length, struct scenario_value *value)
{
	enum util_quantity verdict;

	switch ((int)row->type) {
	case SCENARIO_BYTES:
		return util_quantity_parse(text, length, UTIL_UNIT_BYTES, &value->number);
	case SCENARIO_TIME:
		return util_quantity_parse(text, length, UTIL_UNIT_TIME, &value->number);
	case SCENARIO_RATE:
		return util_quantity_parse(text, length, UTIL_UNIT_RATE, &value->number);
	case SCENARIO_CHANCE_PPT:
		return util_decimal_parse(text, length, 12, &value->number);
	case SCENARIO_RATIO:
		verdict = util_ratio_parse(text, length, &value->num, &value->den);
		return verdict;
	default:
		return util_count_parse(text, length, &value->number);
	}
}

static bool in_range(const struct scenario_row *row, const struct scenario_value *value)
{
	if (row->min == 0 && row->max == 0)
		return true;
	if (row->type == SCENARIO_RATIO)
		return (uint64_t)value->num * 1000000 >= row->min * value->den &&
		       (uint64_t)value->num * 1000000 <= row->max * value->den;
	return value->number >= row->min && (row->max == 0 || value->number <= row->max);
}

bool scenario_value_parse(const struct scenario_row *row, const char *text, size_t length,
			  struct scenario_value *ret_value, struct bad_text *ret_why)
{
	struct scenario_value value = {.word = word_of(row->choices, text, length), .den = 1};
	enum util_quantity verdict;
	struct bad_text quoted;

	bad_quote(&quoted, text, length);
	bad_text(ret_why, "%s", quoted.text);
	*ret_value = value;
	switch ((int)row->type) {
	case SCENARIO_WORD:
		return value.word >= 0;
	case SCENARIO_NAME:
	case SCENARIO_NODE:
		return is_name(text, length, row->type == SCENARIO_NODE);
	case SCENARIO_TEXT:
	case SCENARIO_TEXTS:
	case SCENARIO_FILE:
	case SCENARIO_NAMES:
		return length > 0 || row->type == SCENARIO_TEXTS;
	default:
		break;
	}
	if (value.word >= 0)
		return true;
	if (length == 0)
		return false;
	verdict = parse_number(row, text, length, &value);
	if (verdict != UTIL_QUANTITY_OK) {
		bad_text(ret_why, "%s, which %s", quoted.text, util_quantity_reason(verdict));
		return false;
	}
	*ret_value = value;
	return in_range(row, &value);
}

struct scenario_value scenario_value_unset(const struct scenario_row *row)
{
	struct scenario_value value = {.word = -1, .den = 1};
	struct bad_text why;

	if (!row->unset)
		return value;
	CHECK(scenario_value_parse(row, row->unset, strlen(row->unset), &value, &why));
	if (row->type == SCENARIO_PRIORITIES)
		value.number = (uint64_t)1 << value.number;
	return value;
}

static void store_number(char *at, uint16_t bytes, uint64_t number)
{
	const uint32_t number32 = (uint32_t)number;
	const uint16_t number16 = (uint16_t)number;
	const uint8_t number8 = (uint8_t)number;

	switch (bytes) {
	case sizeof(number8):
		memcpy(at, &number8, sizeof(number8));
		break;
	case sizeof(number16):
		memcpy(at, &number16, sizeof(number16));
		break;
	case sizeof(number32):
		memcpy(at, &number32, sizeof(number32));
		break;
	default:
		CHECK(bytes == sizeof(number));
		memcpy(at, &number, sizeof(number));
	}
}

static uint64_t number_of(const struct scenario_row *row, const struct scenario_value *value)
{
	uint64_t q16;

	if (row->q16) {
		q16 = ((uint64_t)value->num << 16) / value->den;
		return q16 > 0 ? q16 : 1;
	}
	if (value->word < 0)
		return value->number;
	return row->words ? row->words[value->word] : (uint64_t)value->word;
}

static void put_at(const struct scenario_row *row, struct scenario_place place,
		   const struct scenario_value *value, void *into)
{
	char *at = (char *)into + place.at;

	if (place.bytes == 0)
		return;
	if (row->type == SCENARIO_RATIO && !row->q16) {
		store_number(at, sizeof(value->num), value->num);
		store_number(at + sizeof(value->num), sizeof(value->den), value->den);
	} else {
		store_number(at, place.bytes, number_of(row, value));
	}
}

void scenario_row_put(const struct scenario_row *row, const struct scenario_value *value,
		      void *into)
{
	put_at(row, row->place, value, into);
	put_at(row, row->also, value, into);
}

/* ---- what a key takes, in words ---- */

static const char *type_text(enum scenario_type type)
{
	switch (type) {
	case SCENARIO_MAP:
		return "a map of keys";
	case SCENARIO_LIST:
		return "a list of maps";
	case SCENARIO_COUNT:
		return "a number";
	case SCENARIO_BYTES:
		return "bytes such as 64KiB";
	case SCENARIO_TIME:
		return "a time such as 10us";
	case SCENARIO_RATE:
		return "a rate such as 100Gbps or 12.5GB/s";
	case SCENARIO_RATIO:
		return "a share such as 5% or 1/8";
	case SCENARIO_CHANCE_PPT:
		return "a chance such as 0.000000001";
	case SCENARIO_NAME:
		return "a name of letters, digits, - and _";
	case SCENARIO_NODE:
		return "a name such as h0 or h0.nic1";
	case SCENARIO_TEXT:
		return "a text";
	case SCENARIO_FILE:
		return "a file";
	case SCENARIO_NAMES:
		return "names such as \"h[0-7]\"";
	case SCENARIO_PRIORITIES:
		return "a list of priorities";
	case SCENARIO_COUNTS:
		return "a list of numbers";
	case SCENARIO_TEXTS:
		return "a list of texts";
	case SCENARIO_WORD:
	default:
		return "";
	}
}

static void number_text(const struct scenario_row *row, uint64_t number, char ret_text[64])
{
	char text[32];

	if (row->type == SCENARIO_BYTES || row->type == SCENARIO_TIME ||
	    row->type == SCENARIO_RATE) {
		util_quantity_format(text, number,
				     row->type == SCENARIO_BYTES  ? UTIL_UNIT_BYTES
				     : row->type == SCENARIO_TIME ? UTIL_UNIT_TIME
								  : UTIL_UNIT_RATE);
		util_text(ret_text, 64, "%s", text);
	} else if (row->type == SCENARIO_RATIO) {
		util_text(ret_text, 64, "%llu.%06llu", (unsigned long long)(number / 1000000),
			  (unsigned long long)(number % 1000000));
	} else if (row->type == SCENARIO_CHANCE_PPT) {
		util_text(ret_text, 64, "0.%012llu", (unsigned long long)number);
	} else {
		util_text(ret_text, 64, "%llu", (unsigned long long)number);
	}
	if (row->type == SCENARIO_RATIO || row->type == SCENARIO_CHANCE_PPT)
		for (size_t end = strlen(ret_text);
		     ret_text[end - 1] == '0' || ret_text[end - 1] == '.';) {
			const bool point = ret_text[--end] == '.';

			ret_text[end] = '\0';
			if (point || end == 1)
				break;
		}
}

const char *scenario_row_expects(const struct scenario_row *row, struct bad_text *text)
{
	char choices[128] = "", min[64], max[64], range[160] = "";

	for (size_t i = 0; row->choices && row->choices[i]; i++)
		if (row->choices[i] == ' ')
			strcat(choices, "|");
		else
			strncat(choices, &row->choices[i], 1);
	if (row->type == SCENARIO_WORD)
		return bad_text(text, "%s", choices);
	if (row->min > 0 || row->max > 0) {
		number_text(row, row->min, min);
		number_text(row, row->max, max);
		if (row->max == 0)
			util_text(range, sizeof(range), ", at least %s", min);
		else if (row->of_fabric)
			util_text(range, sizeof(range), ", 0 to 7, or to 15 with priorities: 16");
		else if (row->max == row->min)
			util_text(range, sizeof(range), " %s", min);
		else
			util_text(range, sizeof(range), ", %s to %s", min, max);
	}
	return bad_text(text, "%s%s%s%s%s", choices, row->choices ? " or " : "",
			type_text(row->type), range, row->block ? ", or off" : "");
}
