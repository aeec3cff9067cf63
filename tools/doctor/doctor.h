/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

/* What verbena doctor looks at, a row for each thing, and how a row is told. Nothing here changes
 * the machine; what is tried is tried in this process or in a child that ends at once. */
#include <stdbool.h>
#include <stddef.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE, /* less than there could be: exec runs all the same */
	DOCTOR_NO,   /* what needs it cannot run */
};
enum { DOCTOR_TEXT_MAX = 512 };

struct doctor_row {
	const char *name;
	enum doctor_state state;
	bool needed; /* without it exec runs nothing (DOCTOR_NO) */
	char found[DOCTOR_TEXT_MAX];
	char fix[DOCTOR_TEXT_MAX]; /* "": nothing to do */
};

/* One row about one thing; row->name and row->needed are set, all else is zero. */
typedef void doctor_look_fn(struct doctor_row *row);

/* row.c */
__attribute__((format(printf, 3, 4))) void
doctor_found(struct doctor_row *row, enum doctor_state state, const char *format, ...);
__attribute__((format(printf, 2, 3))) void doctor_fix(struct doctor_row *row, const char *format,
						      ...);
/* The first line of a small file, without its end; "": there is none. */
void doctor_read(const char *path, char *ret_text, size_t room);

/* dropin.c: what exec puts in front of a program, and the program. */
doctor_look_fn doctor_dropin, doctor_preload, doctor_system_library, doctor_folder;
void doctor_command(struct doctor_row *row, char *const *argv);
/* network.c */
doctor_look_fn doctor_udp, doctor_group, doctor_unix;
/* kernel.c */
doctor_look_fn doctor_io_uring, doctor_memfd, doctor_process_memory, doctor_memlock, doctor_huge,
	doctor_namespaces;
/* machine.c */
doctor_look_fn doctor_devices, doctor_modules, doctor_tools;

#endif
