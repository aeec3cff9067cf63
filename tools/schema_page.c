/* SPDX-License-Identifier: BSD-2-Clause */

/* The reference of a scenario's keys as a page: one file that needs no network, each key with a
 * link. */
#include "tools/schema_page.h"

#include "models/scenario/schema.h"
#include "tools/report/html.h"

#include <string.h>

static const char head[] =
	"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>Keys of a Verbena scenario</title>\n<style>\n"
	":root { color-scheme: light dark; --back: #fff; --ink: #1b1b1b; --weak: #5c5c5c; --line: "
	"#ddd; --link: #0a58a8; }\n"
	"@media (prefers-color-scheme: dark) { :root { --back: #16181b; --ink: #e6e6e6; --weak: "
	"#a0a0a0; --line: #33373c; --link: #7ab7f5; } }\n"
	"body { background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; "
	"max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }\n"
	"a { color: var(--link); text-decoration: none; }\na:hover { text-decoration: underline; "
	"}\n"
	"nav a { margin-right: 1em; }\nh2 { border-bottom: 1px solid var(--line); }\n"
	"dt { font-family: ui-monospace, monospace; margin-top: .8rem; }\n"
	"dt:target { outline: 2px solid var(--link); }\ndd { margin-left: 1.5rem; }\n"
	"pre { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; "
	"overflow-x: "
	"auto; }\n.takes { color: var(--weak); }\n</style>\n<h1>Keys of a Verbena scenario</h1>\n";

/* A key that is in no other, and in whose part of the page those inside of it are. */
static bool is_top(const struct scenario_row *row)
{
	return !strchr(row->path, '.');
}

static void put_contents(FILE *file)
{
	fputs("<nav>\n", file);
	for (uint32_t i = 0; i < scenario_row_count(); i++)
		if (is_top(scenario_row_at(i)))
			html_put(file, "<a href=\"#%s\">%s</a>\n", scenario_row_at(i)->path,
				 scenario_row_at(i)->path);
	fputs("</nav>\n", file);
}

/* html_text() takes a line for a control character. */
static void put_example(FILE *file)
{
	for (const char *c = scenario_example; *c; c++)
		if (*c == '\n')
			fputc('\n', file);
		else
			html_text((const char[]){*c, '\0'}, file);
}

static void put_row(FILE *file, const struct scenario_row *row)
{
	struct bad_text takes;

	html_put(file, "<dt id=\"%s\"><a href=\"#%s\">%s</a>\n<dd><span class=\"takes\">%s",
		 row->path, row->path, row->path, scenario_row_expects(row, &takes));
	if (row->unset)
		html_put(file, "; default %s", row->unset);
	html_put(file, "%s</span><br>%s\n", row->required ? "; required" : "", row->help);
}

void schema_page(FILE *file)
{
	bool is_open = false;

	fputs(head, file);
	html_put(file, "<p>A whole scenario, <code>first.yaml</code>, for <code>verbena run "
		       "first.yaml</code>:\n<pre>\n");
	put_example(file);
	fputs("</pre>\n", file);
	put_contents(file);
	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);

		if (is_top(row)) {
			html_put(file,
				 is_open ? "</dl>\n<h2>%s</h2>\n<dl>\n" : "<h2>%s</h2>\n<dl>\n",
				 row->path);
			is_open = true;
		}
		put_row(file, row);
	}
	fputs("</dl>\n</html>\n", file);
}
