/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers with units, exactly or not at all. */
#include "tests/test.h"
#include "util/quantity.h"
#include "util/units.h"

#include <string.h>

static uint64_t value_of(const char *text, enum util_unit unit)
{
	uint64_t value = 0;

	assert_int_equal(util_quantity_parse(text, strlen(text), unit, &value), UTIL_QUANTITY_OK);
	return value;
}

static void assert_refused(const char *text, enum util_unit unit, enum util_quantity verdict)
{
	uint64_t value = 77;

	assert_int_equal(util_quantity_parse(text, strlen(text), unit, &value), verdict);
	assert_int_equal(value, 77);
}

static void times_in_picoseconds(void **state)
{
	(void)state;
	assert_int_equal(value_of("0ps", UTIL_UNIT_TIME), 0);
	assert_int_equal(value_of("1ps", UTIL_UNIT_TIME), 1);
	assert_int_equal(value_of("1us", UTIL_UNIT_TIME), 1000000);
	assert_int_equal(value_of("1.5us", UTIL_UNIT_TIME), 1500000);
	assert_int_equal(value_of("0.001ms", UTIL_UNIT_TIME), 1000000);
	assert_int_equal(value_of("1000ns", UTIL_UNIT_TIME), 1000000);
	assert_int_equal(value_of("0.000000000001s", UTIL_UNIT_TIME), 1);
	assert_int_equal(value_of("2.000000000000000s", UTIL_UNIT_TIME), 2 * PS_S);
	assert_int_equal(value_of("000001ns", UTIL_UNIT_TIME), 1000);
	assert_int_equal(value_of("18446744s", UTIL_UNIT_TIME), 18446744 * PS_S);
	assert_true(value_of("18446744073709551614ps", UTIL_UNIT_TIME) == UINT64_MAX - 1);
}

static void bytes_by_1000_and_1024(void **state)
{
	(void)state;
	assert_int_equal(value_of("1B", UTIL_UNIT_BYTES), 1);
	assert_int_equal(value_of("400KB", UTIL_UNIT_BYTES), 400000);
	assert_int_equal(value_of("32MiB", UTIL_UNIT_BYTES), 33554432);
	assert_int_equal(value_of("1MB", UTIL_UNIT_BYTES), 1000000);
	assert_int_equal(value_of("0.5KiB", UTIL_UNIT_BYTES), 512);
	assert_int_equal(value_of("3GB", UTIL_UNIT_BYTES), 3000000000);
	assert_int_equal(value_of("3GiB", UTIL_UNIT_BYTES), 3221225472);
	assert_int_equal(value_of("1TB", UTIL_UNIT_BYTES), 1000000000000);
	assert_int_equal(value_of("1TiB", UTIL_UNIT_BYTES), 1099511627776);
	assert_int_equal(value_of("0.00000095367431640625TiB", UTIL_UNIT_BYTES), 1048576);
}

static void rates_in_bits_a_second(void **state)
{
	(void)state;
	assert_int_equal(value_of("100Gbps", UTIL_UNIT_RATE), 100000000000);
	assert_int_equal(value_of("106.25Gbps", UTIL_UNIT_RATE), 106250000000);
	assert_int_equal(value_of("0.4Tbps", UTIL_UNIT_RATE), 400000000000);
	assert_int_equal(value_of("1Kbps", UTIL_UNIT_RATE), 1000);
	assert_int_equal(value_of("7bps", UTIL_UNIT_RATE), 7);
	assert_int_equal(value_of("40Mbps", UTIL_UNIT_RATE), 40000000);
	assert_int_equal(value_of("20GB/s", UTIL_UNIT_RATE), 160000000000);
	assert_int_equal(value_of("0.9TB/s", UTIL_UNIT_RATE), 7200000000000);
	assert_int_equal(value_of("250MB/s", UTIL_UNIT_RATE), 2000000000);
	assert_int_equal(value_of("3KB/s", UTIL_UNIT_RATE), 24000);
	assert_int_equal(value_of("0.125B/s", UTIL_UNIT_RATE), 1);
}

static void what_is_no_number(void **state)
{
	static const char *const texts[] = {"", "x", "us", ".5us", "1.us", "+1us", " 1us", "\t1us"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], UTIL_UNIT_TIME, UTIL_QUANTITY_NOT_A_NUMBER);
}

static void negative_and_without_a_unit(void **state)
{
	(void)state;
	assert_refused("-1us", UTIL_UNIT_TIME, UTIL_QUANTITY_NEGATIVE);
	assert_refused("-", UTIL_UNIT_TIME, UTIL_QUANTITY_NEGATIVE);
	assert_refused("0", UTIL_UNIT_TIME, UTIL_QUANTITY_NO_UNIT);
	assert_refused("32", UTIL_UNIT_BYTES, UTIL_QUANTITY_NO_UNIT);
	assert_refused("1.5", UTIL_UNIT_RATE, UTIL_QUANTITY_NO_UNIT);
}

static void another_unit(void **state)
{
	(void)state;
	assert_refused("1us", UTIL_UNIT_BYTES, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1KB", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1Kib", UTIL_UNIT_BYTES, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1kb", UTIL_UNIT_BYTES, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1GB", UTIL_UNIT_RATE, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1e3us", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1 us", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1us ", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1.5.2us", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("1,5us", UTIL_UNIT_TIME, UTIL_QUANTITY_WRONG_UNIT);
}

/* The largest number means "never", so it is no value. */
static void what_does_not_fit(void **state)
{
	(void)state;
	assert_refused("18446744073709551615ps", UTIL_UNIT_TIME, UTIL_QUANTITY_TOO_LARGE);
	assert_refused("18446744073709551616ps", UTIL_UNIT_TIME, UTIL_QUANTITY_TOO_LARGE);
	assert_refused("18446745s", UTIL_UNIT_TIME, UTIL_QUANTITY_TOO_LARGE);
	assert_refused("16777216TiB", UTIL_UNIT_BYTES, UTIL_QUANTITY_TOO_LARGE);
	assert_refused("99999999999999999999999999999999999999999s", UTIL_UNIT_TIME,
		       UTIL_QUANTITY_TOO_LARGE);
}

static void what_is_too_precise(void **state)
{
	(void)state;
	assert_refused("0.5ps", UTIL_UNIT_TIME, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("1.0000000000001s", UTIL_UNIT_TIME, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("0.3KiB", UTIL_UNIT_BYTES, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("1.5B", UTIL_UNIT_BYTES, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("0.0000000000000000000000000000000000000001s", UTIL_UNIT_TIME,
		       UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("0.1bps", UTIL_UNIT_RATE, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("0.1B/s", UTIL_UNIT_RATE, UTIL_QUANTITY_TOO_PRECISE);
	assert_refused("20GB", UTIL_UNIT_RATE, UTIL_QUANTITY_WRONG_UNIT);
	assert_refused("20GB/s", UTIL_UNIT_BYTES, UTIL_QUANTITY_WRONG_UNIT);
}

static void assert_ratio(const char *text, uint32_t num, uint32_t den)
{
	uint32_t found_num = 0, found_den = 0;

	assert_int_equal(util_ratio_parse(text, strlen(text), &found_num, &found_den),
			 UTIL_QUANTITY_OK);
	assert_int_equal(found_num, num);
	assert_int_equal(found_den, den);
}

static void ratios_in_lowest_terms(void **state)
{
	(void)state;
	assert_ratio("5%", 1, 20);
	assert_ratio("0.1%", 1, 1000);
	assert_ratio("100%", 1, 1);
	assert_ratio("1/8", 1, 8);
	assert_ratio("6/8", 3, 4);
	assert_ratio("2:1", 2, 1);
	assert_ratio("0.125", 1, 8);
	assert_ratio("16", 16, 1);
	assert_ratio("0", 0, 1);
	assert_ratio("0/5", 0, 1);
	assert_ratio("0.000000001", 1, 1000000000);
	assert_ratio("4294967295", UINT32_MAX, 1);
}

static void ratios_that_are_none(void **state)
{
	uint32_t num = 0, den = 0;

	(void)state;
	assert_int_equal(util_ratio_parse("1/0", 3, &num, &den), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_ratio_parse("1/", 2, &num, &den), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_ratio_parse("1.5/2", 5, &num, &den), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_ratio_parse("1/-2", 4, &num, &den), UTIL_QUANTITY_NEGATIVE);
	assert_int_equal(util_ratio_parse("5%%", 3, &num, &den), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_ratio_parse("4294967296", 10, &num, &den), UTIL_QUANTITY_TOO_LARGE);
	assert_int_equal(util_ratio_parse("0.00000000001", 13, &num, &den),
			 UTIL_QUANTITY_TOO_PRECISE);
	assert_int_equal(util_ratio_parse("4294967296/4294967297", 21, &num, &den),
			 UTIL_QUANTITY_TOO_PRECISE);
}

static void counts_and_decimals(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(util_count_parse("4096", 4, &value), UTIL_QUANTITY_OK);
	assert_int_equal(value, 4096);
	assert_int_equal(util_count_parse("4096", 2, &value), UTIL_QUANTITY_OK);
	assert_int_equal(value, 40);
	assert_int_equal(util_count_parse("0x10", 4, &value), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_count_parse("1.5", 3, &value), UTIL_QUANTITY_TOO_PRECISE);
	assert_int_equal(util_count_parse("7.00", 4, &value), UTIL_QUANTITY_OK);
	assert_int_equal(value, 7);
	assert_int_equal(util_count_parse("", 0, &value), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_decimal_parse("2.000001", 8, 12, &value), UTIL_QUANTITY_OK);
	assert_int_equal(value, 2000001000000);
	assert_int_equal(util_decimal_parse("2s", 2, 12, &value), UTIL_QUANTITY_NOT_A_NUMBER);
	assert_int_equal(util_decimal_parse("-2", 2, 12, &value), UTIL_QUANTITY_NEGATIVE);
	assert_int_equal(util_decimal_parse("0.0000000000001", 15, 12, &value),
			 UTIL_QUANTITY_TOO_PRECISE);
}

static void assert_format(uint64_t value, enum util_unit unit, const char *text)
{
	char found[32];

	util_quantity_format(found, value, unit);
	assert_string_equal(found, text);
	assert_true(value_of(found, unit) == value);
}

static void written_as_short_as_can_be(void **state)
{
	(void)state;
	assert_format(1500000, UTIL_UNIT_TIME, "1500ns");
	assert_format(PS_S, UTIL_UNIT_TIME, "1s");
	assert_format(1, UTIL_UNIT_TIME, "1ps");
	assert_format(0, UTIL_UNIT_TIME, "0s");
	assert_format(0, UTIL_UNIT_BYTES, "0B");
	assert_format(0, UTIL_UNIT_RATE, "0bps");
	assert_format(8000000000, UTIL_UNIT_RATE, "8Gbps");
	assert_format(33554432, UTIL_UNIT_BYTES, "32MiB");
	assert_format(400000, UTIL_UNIT_BYTES, "400KB");
	assert_format(106250000000, UTIL_UNIT_RATE, "106250Mbps");
	assert_format(UINT64_MAX - 1, UTIL_UNIT_TIME, "18446744073709551614ps");
}

static void every_verdict_has_words(void **state)
{
	(void)state;
	for (int i = UTIL_QUANTITY_OK; i <= UTIL_QUANTITY_TOO_PRECISE; i++)
		for (int j = UTIL_QUANTITY_OK; j < i; j++)
			assert_string_not_equal(util_quantity_reason((enum util_quantity)i),
						util_quantity_reason((enum util_quantity)j));
}

RUN(T(times_in_picoseconds), T(bytes_by_1000_and_1024), T(rates_in_bits_a_second),
    T(what_is_no_number), T(negative_and_without_a_unit), T(another_unit), T(what_does_not_fit),
    T(what_is_too_precise), T(ratios_in_lowest_terms), T(ratios_that_are_none),
    T(counts_and_decimals), T(written_as_short_as_can_be), T(every_verdict_has_words))
