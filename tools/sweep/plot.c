/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/html.h"
#include "tools/result/output.h"
#include "tools/sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

/* In pixels. Values of the first key stand side by side in their order: they may be words. */
enum { PLOT = 430, HEIGHT = 400, LEFT = 90, RIGHT = 24, TOP = 40, BOTTOM = 60, TICKS_MAX = 6 };

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
				      "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

struct plot {
	const struct sweep_plan *plan;
	const struct sweep_run *runs;
	const char *show;
	uint32_t columns;
	uint64_t lines; /* combinations of the keys behind the first */
	struct output_unit unit;
	double top, step; /* of the axis and between its ticks, in units */
	FILE *file;
};

/* At most TICKS_MAX steps of 1, 2 or 5 times a power of ten. */
static void choose_axis(struct plot *p, double highest)
{
	static const double factors[] = {2, 2.5, 2};

	p->unit = output_unit(p->show, highest);
	highest /= p->unit.size;
	p->step = 1e-9;
	for (int i = 0; p->step * TICKS_MAX < highest; i++)
		p->step *= factors[i % 3];
	if (highest == 0)
		p->step = 1;
	do
		p->top += p->step;
	while (p->top < highest);
}

static double x_of(const struct plot *p, uint32_t column)
{
	return LEFT + PLOT * (column + 0.5) / p->columns;
}

static double y_of(const struct plot *p, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / p->unit.size / p->top;
}

static void put_axes(const struct plot *p)
{
	for (int i = 0; i * p->step <= 1.001 * p->top; i++) {
		const double value = i * p->step, y = y_of(p, value * p->unit.size);

		fprintf(p->file,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
			LEFT, LEFT + PLOT, y, y, LEFT - 8, y + 4, value);
	}
	for (uint32_t i = 0; p->plan->key_count && i < p->columns; i++) {
		fprintf(p->file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x_of(p, i),
			HEIGHT - BOTTOM + 20);
		html_text(p->plan->keys[0].values[i], p->file);
		fputs("</text>\n", p->file);
	}
	if (p->plan->key_count) {
		fprintf(p->file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + PLOT / 2,
			HEIGHT - 14);
		html_text(p->plan->keys[0].name, p->file);
		fputs("</text>\n", p->file);
	}
}

static void plot_put_line(const struct plot *p, uint64_t line)
{
	const char *colour = colours[line % COLOURS];
	double mean, low, high;
	char dashes[40];

	/* Dashed, each in its own way, so that one that lies under it shows. */
	snprintf(dashes, sizeof(dashes), " stroke-dasharray=\"%u 4\"",
		 3 + 3 * (unsigned)(line % COLOURS));
	fprintf(p->file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
		colour, line > 0 ? dashes : "");
	for (uint32_t i = 0; i < p->columns; i++)
		if (sweep_mean(p->plan, p->runs, i * p->lines + line, p->show, &mean, &low, &high))
			fprintf(p->file, "%.1f,%.1f ", x_of(p, i), y_of(p, mean));
	fputs("\"/>\n", p->file);
	for (uint32_t i = 0; i < p->columns; i++) {
		if (!sweep_mean(p->plan, p->runs, i * p->lines + line, p->show, &mean, &low, &high))
			continue;
		fprintf(p->file,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n"
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" "
			"fill=\"%s\"><title>%.6g%s%s</title>"
			"</circle>\n",
			x_of(p, i), x_of(p, i), y_of(p, low), y_of(p, high), colour, x_of(p, i),
			y_of(p, mean), colour, mean / p->unit.size, p->unit.name[0] ? " " : "",
			p->unit.name);
	}
}

/* What the line stands for. */
static void put_legend(const struct plot *p, uint64_t line)
{
	const double y = TOP + 10 + 18.0 * (double)line;

	if (p->plan->key_count < 2 || y > HEIGHT - BOTTOM)
		return;
	fprintf(p->file, "<text x=\"%d\" y=\"%.1f\" fill=\"%s\">", LEFT + PLOT + 12, y,
		colours[line % COLOURS]);
	for (uint32_t i = 1; i < p->plan->key_count; i++) {
		html_text(i > 1 ? ", " : "", p->file);
		html_text(p->plan->keys[i].name, p->file);
		fputs(" ", p->file);
		html_text(sweep_value(p->plan, line, i), p->file);
	}
	fputs("</text>\n", p->file);
}

/* What the longest legend takes at seven pixels a letter, which is wide. */
static int width_of(const struct plot *p)
{
	size_t letters = 0;

	for (uint32_t i = 1; i < p->plan->key_count; i++) {
		size_t most = 0;

		for (uint32_t v = 0; v < p->plan->keys[i].count; v++)
			if (strlen(p->plan->keys[i].values[v]) > most)
				most = strlen(p->plan->keys[i].values[v]);
		letters += strlen(p->plan->keys[i].name) + most + 3;
	}
	return LEFT + PLOT + RIGHT + 7 * (int)letters;
}

void sweep_plot(const struct sweep_plan *plan, const struct sweep_run *runs, uint32_t show,
		FILE *file)
{
	struct plot p = {.plan = plan,
			 .runs = runs,
			 .show = plan->shows[show],
			 .columns = plan->key_count ? plan->keys[0].count : 1,
			 .file = file};
	double mean, low, high, highest = 0;

	p.lines = plan->point_count / p.columns;
	for (uint64_t i = 0; i < plan->point_count; i++)
		if (sweep_mean(plan, runs, i, p.show, &mean, &low, &high) && high > highest)
			highest = high;
	choose_axis(&p, highest);
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"22\" "
		"font-size=\"14\">",
		width_of(&p), HEIGHT, width_of(&p), HEIGHT, LEFT);
	html_text(p.show, file);
	fprintf(file, "%s%s</text>\n", p.unit.name[0] ? ", " : "", p.unit.name);
	put_axes(&p);
	for (uint64_t line = 0; line < p.lines; line++) {
		plot_put_line(&p, line);
		put_legend(&p, line);
	}
	fputs("</svg>\n", file);
}
