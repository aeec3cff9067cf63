/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_QUANTITY_H
#define UTIL_QUANTITY_H

/* Numbers as people write them, read exactly: decimals with one unit behind ("1.5us", "106.25Gbps",
 * "32MiB"), fractions ("5%", "1/8", "0.05"), counts. KB is 1000, KiB 1024; rates go in powers of
 * 1000. What is not a whole number of picoseconds, bits a second or bytes is refused, never
 * rounded. No sign, no exponent, no blanks, no locale. */
#include <stddef.h>
#include <stdint.h>

enum util_unit {
	UTIL_UNIT_TIME,	 /* ps ns us ms s; in picoseconds */
	UTIL_UNIT_BYTES, /* B KB MB GB TB KiB MiB GiB TiB */
	UTIL_UNIT_RATE,	 /* bps Kbps Mbps Gbps Tbps, or B/s KB/s MB/s GB/s TB/s; in bit/s */
};

enum util_quantity {
	UTIL_QUANTITY_OK,
	UTIL_QUANTITY_NOT_A_NUMBER,
	UTIL_QUANTITY_NEGATIVE,
	UTIL_QUANTITY_NO_UNIT,
	UTIL_QUANTITY_WRONG_UNIT,
	UTIL_QUANTITY_TOO_LARGE,   /* does not fit */
	UTIL_QUANTITY_TOO_PRECISE, /* is not a whole number of the smallest unit */
};

/* "is no number", "has no unit" ... to go on behind "which". */
const char *util_quantity_reason(enum util_quantity verdict);

enum util_quantity util_quantity_parse(const char *text, size_t length, enum util_unit unit,
				       uint64_t *ret_value);
/* A whole number without a unit: "4", and "4.0" is the same; "1.5" is too precise. */
enum util_quantity util_count_parse(const char *text, size_t length, uint64_t *ret_value);
/* "5%", "1/8", "1:8", "0.05", "2": in lowest terms. */
enum util_quantity util_ratio_parse(const char *text, size_t length, uint32_t *ret_num,
				    uint32_t *ret_den);
/* A decimal without a unit, in units of 10^-@digits, exactly ("2.000001", 12: seconds in ps). */
enum util_quantity util_decimal_parse(const char *text, size_t length, uint32_t digits,
				      uint64_t *ret_value);

/* The shortest text that is read back as @value: "1500ns", "32MiB". At most 31 characters. */
void util_quantity_format(char ret_text[32], uint64_t value, enum util_unit unit);

#endif
