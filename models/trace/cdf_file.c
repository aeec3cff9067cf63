/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/trace/cdf_file.h"

#include "models/input/fields.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>

#define CDF_BYTES_MAX ((uint64_t)1 << 44) /* as TRAFFIC_BYTES_MAX */

static bool cdf_file_refuse(const struct bad_at *at, const char *key, struct field field,
			    const char *expected, struct bad_list *errors)
{
	struct bad_text found;

	bad(errors, at, key, bad_quote(&found, field.text, field.length), expected);
	return false;
}

/* @before: the point of the line before; NULL: this is the first. */
static bool read_point(const struct fields *line, const struct cdf_point *before,
		       struct cdf_point *ret_point, struct bad_list *errors)
{
	const struct field *f = line->field;
	uint64_t bytes, share;
	struct bad_text found;

	if (line->count != 2) {
		bad(errors, &line->at, "point", bad_text(&found, "%u fields", line->count),
		    "BYTES PERCENT");
		return false;
	}
	if (util_count_parse(f[0].text, f[0].length, &bytes) != UTIL_QUANTITY_OK ||
	    bytes > CDF_BYTES_MAX)
		return cdf_file_refuse(&line->at, "bytes", f[0], "a number up to 2^44", errors);
	if (util_decimal_parse(f[1].text, f[1].length, 7, &share) != UTIL_QUANTITY_OK ||
	    share > CDF_WHOLE)
		return cdf_file_refuse(&line->at, "percent", f[1], "0 to 100, in steps of 10^-7",
				       errors);
	if (before && bytes < before->bytes)
		return cdf_file_refuse(&line->at, "bytes", f[0], "no less than in the line before",
				       errors);
	if (before ? share < before->share : share != 0)
		return cdf_file_refuse(
			&line->at, "percent", f[1],
			before ? "no less than in the line before" : "0 in the first line", errors);
	*ret_point = (struct cdf_point){bytes, (uint32_t)share};
	return true;
}

/* The points of all lines that are no comments. */
static bool read_points(struct fields_reader *reader, struct cdf_point *points, uint32_t *count,
			struct bad_list *errors)
{
	struct fields line;

	while (fields_next(reader, &line)) {
		if (line.field[0].text[0] == '#')
			continue;
		if (*count == CDF_POINTS_MAX) {
			bad(errors, &line.at, "points", "one more", "at most 4096");
			return false;
		}
		if (!read_point(&line, *count > 0 ? &points[*count - 1] : NULL, &points[*count],
				errors))
			return false;
		(*count)++;
	}
	if (*count > 0 && points[*count - 1].share == CDF_WHOLE && points[*count - 1].bytes > 0)
		return true;
	bad(errors, &reader->at, "points", "the end", "a last line of 100 percent");
	return false;
}

int read_cdf(const char *bytes, size_t length, const struct bad_at *at, struct cdf *ret_cdf,
	     struct bad_list *errors)
{
	struct fields_reader reader = {bytes, bytes + length, *at};
	struct cdf_point *points = util_calloc(CDF_POINTS_MAX, sizeof(*points));
	uint32_t count = 0;

	if (!points)
		return -ENOMEM;
	const bool good = read_points(&reader, points, &count, errors);
	const struct cdf cdf = {points, count};

	if (good && cdf_mean_scaled(&cdf) > 0) {
		*ret_cdf = cdf;
		return 0;
	}
	if (good)
		bad(errors, &reader.at, "points", "flows of no bytes", "sizes above 0");
	util_free(points);
	return -EINVAL;
}
