/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/html.h"

#include "tools/result/output.h"
#include "util/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void html_text(const char *text, FILE *file)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", file);
			break;
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		case '\'':
			fputs("&#39;", file);
			break;
		default:
			if ((unsigned char)*text < ' ' || *text == 0x7f)
				fputs("&#xfffd;", file);
			else
				fputc(*text, file);
		}
}

void html_word(const char *word, FILE *file)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./,:=@+-";
	const char *quote = *word && !word[strspn(word, plain)] ? "" : "'";

	html_text(quote, file);
	for (; *word; word++)
		html_text(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, file);
	html_text(quote, file);
}

void html_json(const char *json, FILE *file)
{
	for (; *json; json++)
		if (*json == '<' || *json == '>' || *json == '&')
			fprintf(file, "\\u%04x", (unsigned)*json);
		else
			fputc(*json, file);
}

static void put_number(uint64_t value, FILE *file)
{
	char digits[32];
	const int count = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0 && count > 4)
			fputs("&#8239;", file); /* narrow, no break */
		fputc(digits[i], file);
	}
}

/* A number and its unit stay on one line. */
static void put_measure(const char *text, FILE *file)
{
	for (; *text; text++)
		if (*text == ' ')
			fputs("&#8239;", file);
		else if (strcmp(text, "us") == 0)
			fputs("µ", file);
		else
			fputc(*text, file);
}

void html_put(FILE *file, const char *format, ...)
{
	char text[OUTPUT_TEXT_MAX];
	va_list values;

	va_start(values, format);
	for (; *format; format++) {
		if (*format != '%') {
			fputc(*format, file);
			continue;
		}
		switch (*++format) {
		case 's':
			html_text(va_arg(values, const char *), file);
			break;
		case 't':
			put_measure(output_time(va_arg(values, uint64_t), text), file);
			break;
		case 'b':
			put_measure(output_bytes(va_arg(values, uint64_t), text), file);
			break;
		case 'r':
			put_measure(output_rate(va_arg(values, uint64_t), text), file);
			break;
		case 'n':
			put_number(va_arg(values, uint64_t), file);
			break;
		default:
			CHECK(*format == '%');
			fputc('%', file);
		}
	}
	va_end(values);
}
