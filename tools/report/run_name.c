/* SPDX-License-Identifier: BSD-2-Clause */

/* How the commands that a page tells name its run. */
#include "tools/report/html.h"
#include "tools/report/parts.h"

void report_run(const struct report *report, FILE *file)
{
	const struct scenario *scenario = report->result->scenario;

	html_word(report->run ? report->run : "RUN", file);
	if (report->run && report->is_scenario) {
		fprintf(file, " --seed %llu", (unsigned long long)scenario->seed);
		html_text(scenario->settings, file);
	}
}
