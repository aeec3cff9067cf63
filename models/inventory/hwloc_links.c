/* SPDX-License-Identifier: BSD-2-Clause */

/* Bandwidths between GPUs in hwloc's XML: <distances2> and <distances2hetero> of the name
 * NVLinkBandwidth or XGMIBandwidth, a matrix of MB/s of each direction between the objects that
 * <indexes> names. Links to processors and what is no GPU are passed over. */
#include "models/inventory/hwloc.h"

#include <string.h>

enum { MATRIX_MAX = 64, MATRICES_MAX = 8 };

struct matrix {
	uint32_t line, count;
	uint32_t gpus[MATRIX_MAX]; /* places; UINT32_MAX: something else */
	uint64_t values[MATRIX_MAX * MATRIX_MAX];
	uint32_t value_count;
};

/* The object of the attribute @name that is @number, or one around it: a GPU, by its place. */
static uint32_t gpu_of(const struct devices *d, struct xml_node *root,
		       const struct hwloc_devices *devices, const char *name, const char *number)
{
	for (struct xml_node *node = root; node; node = xml_next(root, node)) {
		const char *value = xml_is(node, "object") ? xml_attribute(node, name) : NULL;

		if (!value || strcmp(value, number) != 0)
			continue;
		for (const struct xml_node *up = node; up; up = up->parent)
			for (uint32_t i = 0; i < devices->count; i++)
				if (devices->all[i].node == up &&
				    d->all[devices->all[i].place].kind == INVENTORY_GPU)
					return devices->all[i].place;
		return UINT32_MAX;
	}
	return UINT32_MAX;
}

/* "OSDev:332" or, of one kind only, "332". */
static void read_index(const struct devices *d, struct xml_node *root,
		       const struct hwloc_devices *devices, const char *word, size_t length,
		       struct matrix *m)
{
	const char *colon = memchr(word, ':', length);
	const size_t skip = colon ? (size_t)(colon - word) + 1 : 0;
	struct bad_text number;

	if (m->count < MATRIX_MAX)
		m->gpus[m->count] =
			gpu_of(d, root, devices, "gp_index",
			       bad_text(&number, "%.*s", (int)(length - skip), word + skip));
	m->count++;
}

static void read_indexes(const struct devices *d, struct xml_node *root,
			 const struct hwloc_devices *devices, const char *text, struct matrix *m)
{
	while (text[strspn(text, " \n\t")]) {
		size_t length;

		text += strspn(text, " \n\t");
		length = strcspn(text, " \n\t");
		read_index(d, root, devices, text, length, m);
		text += length;
	}
}

static void matrix_values(const char *text, struct matrix *m)
{
	for (; *text; text += strspn(text, " \n\t")) {
		uint64_t value = 0;

		for (; *text >= '0' && *text <= '9' && value < 1000000000; text++)
			value = value * 10 + (uint64_t)(*text - '0');
		if (m->value_count < MATRIX_MAX * MATRIX_MAX)
			m->values[m->value_count] = value;
		m->value_count++;
		text += strcspn(text, " \n\t");
	}
}

/* False: told. */
static bool read_matrix(struct devices *d, struct xml_node *root, const struct xml_node *node,
			const struct hwloc_devices *devices, struct matrix *m)
{
	struct bad_text found, expected;

	m->line = node->line;
	for (const struct xml_node *child = node->child; child; child = child->next)
		if (child->text && xml_is(child, "indexes"))
			read_indexes(d, root, devices, child->text, m);
		else if (child->text && xml_is(child, "u64values"))
			matrix_values(child->text, m);
	if (m->count > 0 && m->count <= MATRIX_MAX && m->value_count == m->count * m->count)
		return true;
	devices_refuse(
		d, node->line, node->name,
		bad_text(&found, "%u values between %u objects", m->value_count, m->count),
		bad_text(&expected, "a square, of at most %u objects", (uint32_t)MATRIX_MAX));
	return false;
}

/* Links of NVLink in so much; 20 GB/s each of generation 1, 25 of 2 to 4. hwloc has no more of 5.
 */
static uint32_t links_in(uint64_t megabytes, uint8_t *ret_gen)
{
	const bool is_first = megabytes % 20000 == 0 && megabytes <= 80000;

	*ret_gen = is_first ? 1 : 0;
	return (uint32_t)((megabytes + 12500) / (is_first ? 20000 : 25000));
}

static uint64_t matrix_value(const struct matrix *m, uint32_t i, uint32_t j)
{
	return m->gpus[i] == UINT32_MAX || m->gpus[j] == UINT32_MAX || m->gpus[i] == m->gpus[j]
		       ? 0
		       : m->values[i * m->count + j];
}

/* So many links to so many others as no GPU has: that is an NVSwitch, over which each pair has all.
 */
static bool is_switched(const struct matrix *m)
{
	uint8_t gen;

	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t links = 0;

		for (uint32_t j = 0; j < m->count; j++)
			links += links_in(matrix_value(m, i, j), &gen);
		if (links > INVENTORY_LINKS_MAX)
			return true;
	}
	return false;
}

static void add_switched(struct devices *d, const struct matrix *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct device_link link = {.kind = INVENTORY_NVLINK,
					   .from = m->gpus[i],
					   .to = UINT32_MAX,
					   .is_switch = true,
					   .line = m->line};
		uint64_t most = 0;
		uint32_t links;

		for (uint32_t j = 0; j < m->count; j++)
			if (matrix_value(m, i, j) > most)
				most = matrix_value(m, i, j);
		links = links_in(most, &link.gen);
		link.links = (uint8_t)(links < INVENTORY_LINKS_MAX ? links : INVENTORY_LINKS_MAX);
		if (links > 0)
			devices_link(d, &link);
	}
}

static void add_pairs(struct devices *d, const struct matrix *m, enum inventory_lane_kind kind)
{
	for (uint32_t i = 0; i < m->count; i++)
		for (uint32_t j = i + 1; j < m->count; j++) {
			const uint64_t value = matrix_value(m, i, j);
			struct device_link link = {.kind = kind,
						   .from = m->gpus[i],
						   .to = m->gpus[j],
						   .line = m->line};

			if (value == 0)
				continue;
			if (kind == INVENTORY_XGMI)
				link.rate_bps = value * 8000000;
			else
				link.links = (uint8_t)links_in(value, &link.gen);
			if (link.links > 0 || link.rate_bps > 0)
				devices_link(d, &link);
		}
}

void hwloc_read_links(struct devices *d, struct xml_node *root, const struct hwloc_devices *devices)
{
	struct bad_text expected;
	uint32_t count = 0;

	for (struct xml_node *node = root; node; node = xml_next(root, node)) {
		const char *name = strncmp(node->name, "distances2", 10) == 0
					   ? xml_attribute(node, "name")
					   : NULL;
		struct matrix m = {.count = 0};

		if (!name ||
		    (strcmp(name, "NVLinkBandwidth") != 0 && strcmp(name, "XGMIBandwidth") != 0))
			continue;
		if (count++ == MATRICES_MAX) {
			devices_refuse(d, node->line, node->name, "too many of bandwidths",
				       bad_text(&expected, "at most %u", (uint32_t)MATRICES_MAX));
			return;
		}
		if (!read_matrix(d, root, node, devices, &m))
			continue;
		if (name[0] == 'X')
			add_pairs(d, &m, INVENTORY_XGMI);
		else if (is_switched(&m))
			add_switched(d, &m);
		else
			add_pairs(d, &m, INVENTORY_NVLINK);
	}
}
