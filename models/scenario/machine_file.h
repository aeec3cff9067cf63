/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_MACHINE_FILE_H
#define MODELS_SCENARIO_MACHINE_FILE_H

#include "models/input/yaml.h"

struct scenario_reader;

/* What the file that @file, a scalar of the machine @machine, names says of a machine, as a map of
 * "machine"; the caller owns it. What it leaves open is told once, under @key. NULL: reported, or
 * no memory. */
struct yaml_node *scenario_machine_file(struct scenario_reader *r, const struct yaml_node *machine,
					const struct yaml_node *file, const char *key);

#endif
