/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "tools/result/output.h"
#include "tools/result/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool sweep_table_number_of(const json_t *value, double *ret_number)
{
	if (!json_is_number(value) && !json_is_boolean(value))
		return false;
	*ret_number = json_is_boolean(value) ? json_boolean_value(value) : json_number_value(value);
	return true;
}

uint32_t sweep_mean(const struct sweep_plan *plan, const struct sweep_run *runs, uint64_t point,
		    const char *show, double *ret_mean, double *ret_low, double *ret_high)
{
	double sum = 0, number;
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->seed_count; i++) {
		const struct sweep_run *run = &runs[point * plan->seed_count + i];

		if (!run->result ||
		    !sweep_table_number_of(result_path_find(run->result, show), &number))
			continue;
		sum += number;
		*ret_low = count == 0 || number < *ret_low ? number : *ret_low;
		*ret_high = count == 0 || number > *ret_high ? number : *ret_high;
		count++;
	}
	if (count)
		*ret_mean = sum / count;
	return count;
}

/* ---- CSV ---- */

static void sweep_table_put_cell(const char *text, FILE *file)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++)
		fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', file);
}

static uint64_t unmet(const json_t *result)
{
	const json_t *expects = json_object_get(result, "expect");
	uint64_t count = 0;

	for (size_t i = 0; i < json_array_size(expects); i++)
		count += !json_is_true(json_object_get(json_array_get(expects, i), "held"));
	return count;
}

static void put_value(const json_t *value, FILE *file)
{
	char *text = value && !json_is_null(value)
			     ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
			     : NULL;

	sweep_table_put_cell(text ? text : "", file);
	free(text);
}

void sweep_csv(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file)
{
	for (uint32_t i = 0; i < plan->key_count; i++) {
		sweep_table_put_cell(plan->keys[i].name, file);
		fputc(',', file);
	}
	fputs("seed", file);
	for (uint32_t i = 0; i < plan->show_count; i++) {
		fputc(',', file);
		sweep_table_put_cell(plan->shows[i] + 1, file);
	}
	fputs(",expectations_failed,digest\n", file);
	for (uint64_t r = 0; r < plan->point_count * plan->seed_count; r++) {
		for (uint32_t i = 0; i < plan->key_count; i++) {
			sweep_table_put_cell(sweep_value(plan, runs[r].point, i), file);
			fputc(',', file);
		}
		fprintf(file, "%" PRIu64, runs[r].seed);
		for (uint32_t i = 0; i < plan->show_count; i++) {
			fputc(',', file);
			put_value(result_path_find(runs[r].result, plan->shows[i]), file);
		}
		if (runs[r].result)
			fprintf(file, ",%" PRIu64 ",%s\n", unmet(runs[r].result),
				json_string_value(json_object_get(runs[r].result, "digest")));
		else
			fputs(",,\n", file);
	}
}

/* ---- markdown ---- */

static void put_mean(const struct sweep_plan *plan, const struct sweep_run *runs, uint64_t point,
		     const char *show, FILE *file)
{
	const char *space;
	struct output_unit unit;
	double mean, low, high;
	const uint32_t count = sweep_mean(plan, runs, point, show, &mean, &low, &high);

	if (count == 0) {
		fputs("| – ", file);
		return;
	}
	unit = output_unit(show, mean);
	space = unit.name[0] ? " " : "";
	fprintf(file, "| %.6g", mean / unit.size);
	if (plan->seed_count > 1)
		fprintf(file, " (%.6g – %.6g)", low / unit.size, high / unit.size);
	fprintf(file, "%s%s ", space, unit.name);
	if (count < plan->seed_count)
		fprintf(file, "of %u of %u seeds ", count, plan->seed_count);
}

void sweep_markdown(const struct sweep_plan *plan, const struct sweep_run *runs, FILE *file)
{
	for (uint32_t i = 0; i < plan->key_count; i++)
		fprintf(file, "| %s ", plan->keys[i].name);
	for (uint32_t i = 0; i < plan->show_count; i++)
		fprintf(file, "| %s ", plan->shows[i]);
	fputs("|\n", file);
	for (uint32_t i = 0; i < plan->key_count + plan->show_count; i++)
		fputs(i < plan->key_count ? "|---" : "|---:", file);
	fputs("|\n", file);
	for (uint64_t point = 0; point < plan->point_count; point++) {
		for (uint32_t i = 0; i < plan->key_count; i++)
			fprintf(file, "| %s ", sweep_value(plan, point, i));
		for (uint32_t i = 0; i < plan->show_count; i++)
			put_mean(plan, runs, point, plan->shows[i], file);
		fputs("|\n", file);
	}
	if (plan->seed_count > 1)
		fprintf(file, "\nMeans over %u seeds, with the least and the most.\n",
			plan->seed_count);
}
