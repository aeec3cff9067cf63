/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/faults.h"

#include "models/input/file.h"
#include "models/input/yaml.h"
#include "tools/command.h"
#include "tools/result/failures.h"
#include "transport/verbs/fault.h"
#include "util/alloc.h"
#include "util/quantity.h"
#include "util/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GENERAL_ERR = 21 }; /* of enum ibv_wc_status */
#define KINDS "post, completion, port, rnr or device"

static const struct {
	const char *name;
	int value;
} errnos[] = {{"EPERM", EPERM},	  {"EIO", EIO},	      {"EAGAIN", EAGAIN},	 {"ENOMEM", ENOMEM},
	      {"EFAULT", EFAULT}, {"EBUSY", EBUSY},   {"ENODEV", ENODEV},	 {"EINVAL", EINVAL},
	      {"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}},
  ops[] = {{"send", VRB_FAULT_SEND},
	   {"write", VRB_FAULT_WRITE},
	   {"read", VRB_FAULT_READ},
	   {"atomic", VRB_FAULT_ATOMIC},
	   {"recv", VRB_FAULT_RECV}};

static bool says(const struct yaml_node *node, const char *text)
{
	return node->kind == YAML_SCALAR && strcmp(node->text, text) == 0;
}

static bool refuse_fault(struct bad_list *errors, const struct yaml_node *node,
			 const char *expected)
{
	struct bad_text text;

	bad(errors, &node->at, node->key ? node->key : "faults", yaml_content(&text, node),
	    expected);
	return false;
}

static bool is_count(const struct yaml_node *node, uint32_t least, uint32_t *ret_value)
{
	uint64_t value;

	if (node->kind != YAML_SCALAR ||
	    util_count_parse(node->text, node->length, &value) != UTIL_QUANTITY_OK ||
	    value < least || value > UINT32_MAX)
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

static bool read_count(struct bad_list *errors, const struct yaml_node *node, uint32_t least,
		       uint32_t *ret_value)
{
	return is_count(node, least, ret_value) ||
	       refuse_fault(errors, node,
			    least ? "a number from 1 to 2^32 - 1" : "a number from 0 to 2^32 - 1");
}

/* An adapter knows no less than nanoseconds. */
static bool faults_read_time(struct bad_list *errors, const struct yaml_node *node,
			     uint64_t least_ns, uint64_t *ret_ns)
{
	uint64_t time;

	if (node->kind != YAML_SCALAR ||
	    util_quantity_parse(node->text, node->length, UTIL_UNIT_TIME, &time) !=
		    UTIL_QUANTITY_OK ||
	    time % PS_NS != 0 || time / PS_NS < least_ns)
		return refuse_fault(errors, node,
				    least_ns ? "a time of 1ns or more, such as 20ms"
					     : "a time, 0s or whole nanoseconds, such as 20ms");
	*ret_ns = time / PS_NS;
	return true;
}

static bool read_what(struct bad_list *errors, const struct yaml_node *node,
		      struct vrb_fault *fault)
{
	switch ((enum vrb_fault_kind)fault->kind) {
	case VRB_FAULT_POST:
		for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
			if (says(node, errnos[i].name))
				fault->a = (uint32_t)errnos[i].value;
		return fault->a != 0 ||
		       refuse_fault(errors, node, "the name of an errno, such as ENOMEM");
	case VRB_FAULT_WC:
		for (int i = HCA_WC_LOC_LEN_ERR; i < FAILURES_STATUSES; i++)
			if (says(node, failures_name((enum hca_wc_status)i)))
				fault->a = (uint32_t)i;
		if (says(node, "general_err"))
			fault->a = GENERAL_ERR;
		return fault->a != 0 ||
		       refuse_fault(errors, node,
				    "a status in small letters, such as retry_exc_err");
	case VRB_FAULT_PORT:
		fault->a = says(node, "down");
		return fault->a || says(node, "up") || refuse_fault(errors, node, "down or up");
	case VRB_FAULT_RNR:
		fault->a = says(node, "storm");
		return fault->a || is_count(node, 1, &fault->count) ||
		       refuse_fault(errors, node, "a number from 1 to 2^32 - 1, or storm");
	case VRB_FAULT_FATAL:
		break;
	}
	return says(node, "fatal") || refuse_fault(errors, node, "fatal");
}

static bool read_op(struct bad_list *errors, const struct yaml_node *node, struct vrb_fault *fault)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (says(node, ops[i].name)) {
			fault->op = (uint32_t)ops[i].value;
			return true;
		}
	return refuse_fault(errors, node, "send, write, read, atomic or recv");
}

/* One of the keys beside what it is. */
static bool read_detail(struct bad_list *errors, const struct yaml_node *node,
			struct vrb_fault *fault)
{
	const bool is_port = fault->kind == VRB_FAULT_PORT;
	const bool lasts = fault->kind == VRB_FAULT_RNR || is_port ? fault->a != 0
								   : fault->kind <= VRB_FAULT_WC;

	if (strcmp(node->key, "at") == 0)
		return faults_read_time(errors, node, 0, &fault->from_ns);
	if (strcmp(node->key, "for") == 0 && lasts)
		return faults_read_time(errors, node, 1, &fault->until_ns);
	if (strcmp(node->key, "nth") == 0)
		return read_count(errors, node, 1, &fault->nth);
	if (strcmp(node->key, "count") == 0 && fault->kind <= VRB_FAULT_WC)
		return read_count(errors, node, 1, &fault->count);
	if (strcmp(node->key, "qp") == 0 && fault->kind != VRB_FAULT_RNR)
		return read_count(errors, node, 1, &fault->qp);
	if (strcmp(node->key, "op") == 0 && fault->kind <= VRB_FAULT_WC)
		return read_op(errors, node, fault);
	if (strcmp(node->key, "vendor_err") == 0 && fault->kind == VRB_FAULT_WC)
		return read_count(errors, node, 0, &fault->b);
	if (strcmp(node->key, "flush") == 0 && is_port && fault->a) {
		fault->b = says(node, "yes");
		return fault->b || says(node, "no") || refuse_fault(errors, node, "yes or no");
	}
	if (strcmp(node->key, "program") == 0) {
		if (node->kind != YAML_SCALAR || node->length == 0 ||
		    node->length >= VRB_FAULT_PROGRAM_MAX || strpbrk(node->text, ":;"))
			return refuse_fault(errors, node, "the name of a program's file");
		memcpy(fault->program, node->text, node->length + 1);
		return true;
	}
	bad(errors, &node->at, node->key, "a key that this fault has not",
	    "nth, at and program, of all but rnr qp, of post and completion op, count and for, of "
	    "completion vendor_err, of port: down flush and for, of rnr: storm for");
	return false;
}

/* Counts or a time; of posts, completions and messages those count that come at that time. */
static bool settle_time(struct bad_list *errors, const struct yaml_node *map,
			struct vrb_fault *fault)
{
	const struct yaml_node *counts = yaml_find(map, "nth");
	const bool lasts = yaml_find(map, "for"), has_time = lasts || yaml_find(map, "at");
	const bool is_storm = fault->kind == VRB_FAULT_RNR && fault->a;

	if (is_storm && !lasts)
		return refuse_fault(errors, yaml_find(map, "rnr"),
				    "for beside storm: how long it lasts");
	if (is_storm ||
	    (has_time && (fault->kind == VRB_FAULT_PORT || fault->kind == VRB_FAULT_FATAL))) {
		counts = counts ? counts : yaml_find(map, "qp");
		if (counts)
			return refuse_fault(errors, counts, "either a time or a count of requests");
		fault->nth = 0;
	}
	if (lasts)
		fault->until_ns += fault->from_ns;
	if (lasts && fault->kind <= VRB_FAULT_WC && !yaml_find(map, "count"))
		fault->count = UINT32_MAX;
	return true;
}

static bool faults_read_one(struct bad_list *errors, const struct yaml_node *map,
			    struct vrb_fault *ret_fault)
{
	static const char *const kinds[] = {"post", "completion", "port", "rnr", "device"};
	const struct yaml_node *what = NULL;
	bool ok;

	*ret_fault = (struct vrb_fault){
		.op = VRB_FAULT_SENDING, .nth = 1, .count = 1, .b = 0, .program = "-"};
	for (uint32_t i = 0; map->kind == YAML_MAP && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct yaml_node *node = yaml_find(map, kinds[i]);

		if (node && what)
			return refuse_fault(errors, node, "one fault in each entry");
		if (node)
			ret_fault->kind = i;
		what = node ? node : what;
	}
	if (!what)
		return refuse_fault(errors, map, "a map with one of " KINDS);
	if (ret_fault->kind == VRB_FAULT_PORT)
		ret_fault->b = 1;
	else if (ret_fault->kind == VRB_FAULT_WC)
		ret_fault->op |= VRB_FAULT_RECV;
	ok = read_what(errors, what, ret_fault);
	for (const struct yaml_node *node = map->child; node; node = node->next)
		if (node != what && !read_detail(errors, node, ret_fault))
			ok = false;
	return ok && settle_time(errors, map, ret_fault);
}

static void append_rule(char **text, const struct vrb_fault *f)
{
	char *longer;

	if (asprintf(&longer, "%s%s%u:%u:%u:%u:%u:%u:%u:%" PRIu64 ":%" PRIu64 ":%s",
		     *text ? *text : "", *text ? ";" : "", f->kind, f->op, f->qp, f->nth, f->count,
		     f->a, f->b, f->from_ns, f->until_ns, f->program) < 0)
		longer = NULL;
	free(*text);
	*text = longer;
}

static void read_faults(struct bad_list *errors, const struct yaml_node *root, char **ret_text)
{
	const struct yaml_node *list = yaml_find(root, "faults");
	uint32_t count = 0;

	for (const struct yaml_node *node = root->child; node; node = node->next)
		if (node != list)
			bad(errors, &node->at, node->key, "an unknown key", "faults");
	if (!list || list->kind != YAML_LIST || !list->child) {
		(void)refuse_fault(errors, list ? list : root, "a list of faults");
		return;
	}
	for (const struct yaml_node *node = list->child; node; node = node->next) {
		struct vrb_fault fault;

		if (count++ == VRB_FAULTS_MAX) {
			(void)refuse_fault(errors, node, "at most 32 faults");
			break;
		}
		if (faults_read_one(errors, node, &fault))
			append_rule(ret_text, &fault);
	}
}

int faults_set(const char *path)
{
	const struct bad_at at = {.file = path, .line = 1};
	struct bad_list errors = {.count = 0};
	struct yaml_node *root = NULL;
	char *bytes = NULL, *text = NULL;
	size_t length;
	int ret = read_file(NULL, path, &at, "faults", &bytes, &length, &errors);

	if (ret == 0)
		ret = yaml_parse(bytes, length, &at, false, &root, &errors);
	if (ret == 0)
		read_faults(&errors, root, &text);
	command_print_bad(&errors, false);
	if (errors.error_count > 0 || ret == -EINVAL)
		ret = COMMAND_BAD;
	else if (ret != 0 || !text || setenv("VERBENA_FAULTS", text, 1) != 0)
		ret = COMMAND_BROKEN;
	else
		ret = COMMAND_DONE;
	bad_list_fini(&errors);
	yaml_free(root);
	util_free(bytes);
	free(text);
	return ret;
}
