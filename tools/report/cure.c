/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/report/html.h"

#include <ctype.h>
#include <string.h>

/* The unit that stands at @text, behind a number; NULL: none. */
static const char *unit_at(const char *text)
{
	static const char *const units[] = {"ps",   "ns",   "us",   "ms",   "s",   "B",
					    "KB",   "MB",   "GB",   "KiB",  "MiB", "b/s",
					    "Kb/s", "Mb/s", "Gb/s", "Tb/s", "%"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t length = strlen(units[i]);

		if (strncmp(text, units[i], length) == 0 && !isalnum((unsigned char)text[length]) &&
		    text[length] != '/')
			return units[i];
	}
	return NULL;
}

/* As elsewhere on the page, a number and its unit stay on one line, and "us" has its sign. */
static void report_cure_put_words(const char *text, FILE *file)
{
	char one[2] = "";

	for (; *text; text++) {
		const char *unit =
			text[0] == ' ' && one[0] >= '0' && one[0] <= '9' ? unit_at(text + 1) : NULL;

		one[0] = *text;
		if (!unit) {
			html_text(one, file);
			continue;
		}
		html_put(file, "&#8239;%s", strcmp(unit, "us") == 0 ? "µs" : unit);
		text += strlen(unit);
		one[0] = *text;
	}
}

static void report_cure_put_key(const struct advice_key *key, FILE *file)
{
	html_put(file,
		 "<li data-key=\"%s\" data-found=\"%s\" data-value=\"%s\">%s<code>%s</code>: found "
		 "<b>",
		 key->name, key->found, key->value, key->instead ? "or " : "", key->name);
	report_cure_put_words(key->found, file);
	fputs("</b>", file);
	if (key->value[0])
		html_put(file, ", try <b>%s</b>", key->value);
	else
		fputs("; no value to try there, what helps is said above", file);
	fputs("</li>\n", file);
}

/* Each option in one piece: a line does not end behind the dashes of the next. */
static void put_options(const char *options, FILE *file)
{
	while (*options) {
		const char *end = strstr(options, " --set ");
		const int length = end ? (int)(end - options) : (int)strlen(options);
		char text[ADVICE_OPTIONS_MAX];

		snprintf(text, sizeof(text), "%.*s", length, options);
		html_put(file, " <span class=\"option\">%s</span>", text);
		options += end ? length + 1 : length;
	}
}

static void put_try(const struct report *report, const char *options, FILE *file)
{
	const struct scenario *scenario = report->result->scenario;

	html_put(file, "<p>To try it: <code>verbena run %s%s",
		 scenario->file ? scenario->file : "SCENARIO", scenario->settings);
	put_options(options, file);
	fputs("</code></p>\n", file);
}

static void put_item(const struct report *report, const struct advice_item *item, FILE *file)
{
	char options[ADVICE_OPTIONS_MAX];

	html_put(file, "<li><h3>%s</h3>\n<p>", item->trouble);
	report_cure_put_words(item->text, file);
	fputs("</p>\n<ul>\n", file);
	for (uint32_t i = 0; i < item->key_count; i++)
		report_cure_put_key(&item->keys[i], file);
	fputs("</ul>\n", file);
	if (advice_options(item, options)[0])
		put_try(report, options, file);
	fputs("</li>\n", file);
}

void report_cure(const struct report *report, FILE *file)
{
	const struct advice *advice = report->advice;

	if (!advice)
		return;
	fputs("<section aria-labelledby=\"cure\"><h2 id=\"cure\">What would cure it?</h2>\n", file);
	if (advice->count == 0) {
		fputs("<p>", file);
		report_cure_put_words(advice->rest, file);
		fputs("</p>\n</section>\n", file);
		return;
	}
	fputs("<p class=\"hint\">From what this run has measured, the likeliest cause first. The "
	      "keys are those of the scenario. With <code>--out DIR</code> a try goes to a folder "
	      "of its own, and <code>verbena report ",
	      file);
	html_word(report->run ? report->run : "RUN", file);
	fputs(" DIR</code> puts both side by side; <code>verbena explain ", file);
	report_run(report, file);
	fputs(" --why cure</code> says this in the terminal.</p>\n<ol class=\"cures\">\n", file);
	for (uint32_t i = 0; i < advice->count; i++)
		put_item(report, &advice->items[i], file);
	fputs("</ol>\n</section>\n", file);
}
