/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/quantity.h"

#include "util/text.h"
#include "util/units.h"

#include <stdbool.h>
#include <string.h>

enum { DIGITS_MAX = 25 }; /* times the largest scale, 2^40, they fit 128 bits */

struct scale {
	const char *name;
	uint64_t factor;
};

static const struct scale times[] = {{"s", 1000000000000u}, {"ms", 1000000000u}, {"us", 1000000u},
				     {"ns", 1000u},	    {"ps", 1u},		 {0}};
static const struct scale sizes[] = {{"TiB", 1ull << 40}, {"TB", 1000000000000u},
				     {"GiB", 1u << 30},	  {"GB", 1000000000u},
				     {"MiB", 1u << 20},	  {"MB", 1000000u},
				     {"KiB", 1u << 10},	  {"KB", 1000u},
				     {"B", 1u},		  {0}};
static const struct scale rates[] = {
	{"Tbps", 1000000000000u}, {"Gbps", 1000000000u}, {"Mbps", 1000000u},
	{"Kbps", 1000u},	  {"bps", 1u},		 {0}};
/* In bytes, as the data sheets of buses have them; nothing is written so. */
static const struct scale byte_rates[] = {
	{"TB/s", 8000000000000u}, {"GB/s", 8000000000u}, {"MB/s", 8000000u},
	{"KB/s", 8000u},	  {"B/s", 8u},		 {0}};

static const struct scale *scales_of(enum util_unit unit)
{
	return unit == UTIL_UNIT_TIME ? times : unit == UTIL_UNIT_BYTES ? sizes : rates;
}

const char *util_quantity_reason(enum util_quantity verdict)
{
	switch (verdict) {
	case UTIL_QUANTITY_NOT_A_NUMBER:
		return "is no number";
	case UTIL_QUANTITY_NEGATIVE:
		return "is negative";
	case UTIL_QUANTITY_NO_UNIT:
		return "has no unit";
	case UTIL_QUANTITY_WRONG_UNIT:
		return "has another unit";
	case UTIL_QUANTITY_TOO_LARGE:
		return "is too large";
	case UTIL_QUANTITY_TOO_PRECISE:
		return "is too precise";
	case UTIL_QUANTITY_OK:
	default:
		return "is good";
	}
}

struct decimal { /* digits * 10^-places */
	u128 digits;
	uint32_t places;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Counts @from..@to into @decimal, without zeros in front. */
static enum util_quantity add_digits(struct decimal *decimal, uint32_t *used, const char *from,
				     const char *to)
{
	for (; from < to; from++) {
		if (*used > 0 || *from != '0')
			++*used;
		if (*used > DIGITS_MAX)
			return UTIL_QUANTITY_TOO_LARGE;
		decimal->digits = decimal->digits * 10 + (unsigned)(*from - '0');
	}
	return UTIL_QUANTITY_OK;
}

/* The decimal at the beginning of @text; @ret_end is what follows. */
static enum util_quantity take_decimal(const char *text, const char *end,
				       struct decimal *ret_decimal, const char **ret_end)
{
	struct decimal decimal = {0};
	const char *at = text, *point, *last;
	uint32_t used = 0;

	if (at < end && *at == '-')
		return UTIL_QUANTITY_NEGATIVE;
	while (at < end && is_digit(*at))
		at++;
	if (at == text)
		return UTIL_QUANTITY_NOT_A_NUMBER;
	if (add_digits(&decimal, &used, text, at) != UTIL_QUANTITY_OK)
		return UTIL_QUANTITY_TOO_LARGE;
	if (at < end && *at == '.') {
		for (point = ++at; at < end && is_digit(*at);)
			at++;
		if (at == point)
			return UTIL_QUANTITY_NOT_A_NUMBER;
		for (last = at; last > point && last[-1] == '0';)
			last--;
		if (add_digits(&decimal, &used, point, last) != UTIL_QUANTITY_OK ||
		    last - point > DIGITS_MAX)
			return UTIL_QUANTITY_TOO_PRECISE;
		decimal.places = (uint32_t)(last - point);
	}
	*ret_decimal = decimal;
	*ret_end = at;
	return UTIL_QUANTITY_OK;
}

static u128 power_of_ten(uint32_t places)
{
	u128 power = 1;

	for (; places > 0; places--)
		power *= 10;
	return power;
}

static enum util_quantity multiply(struct decimal decimal, uint64_t factor, uint64_t *ret_value)
{
	const u128 product = decimal.digits * factor, unit = power_of_ten(decimal.places);

	if (product / unit > UINT64_MAX - 1) /* the largest means "never" */
		return UTIL_QUANTITY_TOO_LARGE;
	if (product % unit != 0)
		return UTIL_QUANTITY_TOO_PRECISE;
	*ret_value = (uint64_t)(product / unit);
	return UTIL_QUANTITY_OK;
}

/* NULL: none is called so. */
static const struct scale *find_scale(const struct scale *scales, const char *name, size_t length)
{
	for (const struct scale *s = scales; s->name; s++)
		if (strlen(s->name) == length && memcmp(s->name, name, length) == 0)
			return s;
	return NULL;
}

enum util_quantity util_quantity_parse(const char *text, size_t length, enum util_unit unit,
				       uint64_t *ret_value)
{
	const char *end = text + length, *rest;
	struct decimal decimal;
	enum util_quantity verdict = take_decimal(text, end, &decimal, &rest);
	const struct scale *scale;
	size_t left;

	if (verdict != UTIL_QUANTITY_OK)
		return verdict;
	left = (size_t)(end - rest);
	if (left == 0)
		return UTIL_QUANTITY_NO_UNIT;
	scale = find_scale(scales_of(unit), rest, left);
	if (!scale && unit == UTIL_UNIT_RATE)
		scale = find_scale(byte_rates, rest, left);
	return scale ? multiply(decimal, scale->factor, ret_value) : UTIL_QUANTITY_WRONG_UNIT;
}

enum util_quantity util_count_parse(const char *text, size_t length, uint64_t *ret_value)
{
	return util_decimal_parse(text, length, 0, ret_value);
}

enum util_quantity util_decimal_parse(const char *text, size_t length, uint32_t digits,
				      uint64_t *ret_value)
{
	struct decimal decimal;
	const char *rest;
	enum util_quantity verdict = take_decimal(text, text + length, &decimal, &rest);

	if (verdict != UTIL_QUANTITY_OK)
		return verdict;
	if (rest != text + length)
		return UTIL_QUANTITY_NOT_A_NUMBER;
	return multiply(decimal, (uint64_t)power_of_ten(digits), ret_value);
}

static enum util_quantity reduce(u128 num, u128 den, uint32_t *ret_num, uint32_t *ret_den)
{
	u128 a = num, b = den;

	while (b != 0) {
		const u128 rest = a % b;

		a = b;
		b = rest;
	}
	if (num / a > UINT32_MAX)
		return num / den > UINT32_MAX ? UTIL_QUANTITY_TOO_LARGE : UTIL_QUANTITY_TOO_PRECISE;
	if (den / a > UINT32_MAX)
		return UTIL_QUANTITY_TOO_PRECISE;
	*ret_num = (uint32_t)(num / a);
	*ret_den = (uint32_t)(den / a);
	return UTIL_QUANTITY_OK;
}

enum util_quantity util_ratio_parse(const char *text, size_t length, uint32_t *ret_num,
				    uint32_t *ret_den)
{
	const char *end = text + length, *rest;
	struct decimal decimal;
	enum util_quantity verdict = take_decimal(text, end, &decimal, &rest);
	uint64_t den;

	if (verdict != UTIL_QUANTITY_OK)
		return verdict;
	if (rest < end && (*rest == '/' || *rest == ':') && decimal.places == 0) {
		verdict = util_count_parse(rest + 1, (size_t)(end - rest - 1), &den);
		if (verdict != UTIL_QUANTITY_OK)
			return verdict;
		return den > 0 ? reduce(decimal.digits, den, ret_num, ret_den)
			       : UTIL_QUANTITY_NOT_A_NUMBER;
	}
	if (end - rest == 1 && *rest == '%')
		return reduce(decimal.digits, power_of_ten(decimal.places) * 100, ret_num, ret_den);
	if (rest != end)
		return UTIL_QUANTITY_NOT_A_NUMBER;
	return reduce(decimal.digits, power_of_ten(decimal.places), ret_num, ret_den);
}

void util_quantity_format(char ret_text[32], uint64_t value, enum util_unit unit)
{
	const struct scale *best = NULL;

	for (const struct scale *s = scales_of(unit); s->name; s++)
		if (value % s->factor == 0 && (!best || value / s->factor < value / best->factor))
			best = s;
	/* Zero in the plain unit: "0s", "0B", "0bps". */
	while (value == 0 && unit != UTIL_UNIT_TIME && best->factor > 1)
		best++;
	util_text(ret_text, 32, "%llu%s", (unsigned long long)(value / best->factor), best->name);
}
