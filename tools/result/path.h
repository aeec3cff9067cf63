/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RESULT_PATH_H
#define TOOLS_RESULT_PATH_H

/* Values of a result by their paths, as jq has them: .drops.buffer, .programs[0].requests.p99_ps.
 */
#include "models/input/bad.h"

#include <jansson.h>

/* NULL: there is none, or @path is none. */
const json_t *result_path_find(const json_t *result, const char *path);
/* A path to something whose names are those of @path or, where there are none such, like them;
 * false: none comes to mind. */
bool result_path_nearest(const json_t *result, const char *path, struct bad_text *ret_path);
/* The name of anything in @json, at any depth, that is most like @name; NULL: nothing is like it.
 */
const char *result_path_nearest_name(json_t *json, const char *name);

#endif
