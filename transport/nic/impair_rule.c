/* SPDX-License-Identifier: BSD-2-Clause */
/* From words to rules. */
#include "transport/nic/impair_rule.h"

#include "transport/nic/host.h"
#include "util/check.h"
#include "util/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIME_MAX (100 * PS_S)
enum { WORD_MAX = 64, QPN_MAX = 0xffffff, LIMIT_MAX = 100000 };

struct words {
	const char *at; /* the next one */
	char word[WORD_MAX];
	struct nic_impair_bad *bad;
};

/* The next word of this rule into words->word; "": the rule ends. */
static void next_word(struct words *words)
{
	size_t length;

	words->at += strspn(words->at, " \t\n");
	length = strcspn(words->at, " \t\n,");
	snprintf(words->word, sizeof(words->word), "%.*s", (int)length, words->at);
	words->at += length;
}

static bool ends(const struct words *words)
{
	const char *at = words->at + strspn(words->at, " \t\n");

	return *at == ',' || *at == '\0';
}

/* Whether a number comes next: what may be left out is one. */
static bool is_number_next(const struct words *words)
{
	const char *at = words->at + strspn(words->at, " \t\n");

	return isdigit((unsigned char)*at) != 0;
}

static bool is_next(struct words *words, const char *word)
{
	const struct words before = *words;

	next_word(words);
	if (strcmp(words->word, word) == 0)
		return true;
	*words = before;
	return false;
}

static bool refuse_word(const struct words *words, const char *expected)
{
	snprintf(words->bad->found, sizeof(words->bad->found), "%s", words->word);
	words->bad->expected = expected;
	return false;
}

static bool take_chance(struct words *words, uint64_t *ret_chance)
{
	uint32_t num, den;

	next_word(words);
	if (!strpbrk(words->word, "%/") ||
	    util_ratio_parse(words->word, strlen(words->word), &num, &den) != UTIL_QUANTITY_OK ||
	    num > den)
		return refuse_word(words, "a percentage or a fraction, such as 0.1% or 1/1000");
	*ret_chance = num == den ? UINT64_MAX : (uint64_t)(((u128)num << 64) / den);
	return true;
}

static bool take_more(struct words *words, uint64_t *ret_chance)
{
	return !is_number_next(words) || take_chance(words, ret_chance);
}

static bool take_draw(struct words *words, struct nic_rule_draw *ret_draw)
{
	return take_chance(words, &ret_draw->chance) && take_more(words, &ret_draw->correlation);
}

static bool take_rule_time(struct words *words, ps_t *ret_time)
{
	next_word(words);
	if (util_quantity_parse(words->word, strlen(words->word), UTIL_UNIT_TIME, ret_time) !=
		    UTIL_QUANTITY_OK ||
	    *ret_time > TIME_MAX)
		return refuse_word(words, "a time of at most 100s, such as 10us");
	return true;
}

static bool take_count(struct words *words, uint64_t max, const char *expected, uint32_t *ret_count)
{
	uint64_t count;
	int length = 0;
	unsigned int hex;

	next_word(words);
	if (sscanf(words->word, "0x%x%n", &hex, &length) == 1 && words->word[length] == '\0')
		count = hex;
	else if (util_count_parse(words->word, strlen(words->word), &count) != UTIL_QUANTITY_OK)
		return refuse_word(words, expected);
	if (count == 0 || count > max)
		return refuse_word(words, expected);
	*ret_count = (uint32_t)count;
	return true;
}

static bool rule_limit(struct words *words, struct nic_rule *rule)
{
	return take_count(words, LIMIT_MAX, "packets, from 1 to 100000", &rule->limit);
}

static bool rule_delay(struct words *words, struct nic_rule *rule)
{
	if (!take_rule_time(words, &rule->delay))
		return false;
	if (is_number_next(words) && !take_rule_time(words, &rule->jitter))
		return false;
	if (rule->jitter > 0 && !take_more(words, &rule->delay_correlation))
		return false;
	if (!is_next(words, "distribution"))
		return true;
	next_word(words);
	rule->is_normal = strcmp(words->word, "normal") == 0;
	return rule->is_normal || strcmp(words->word, "uniform") == 0 ||
	       refuse_word(words, "uniform or normal");
}

static bool rule_loss(struct words *words, struct nic_rule *rule)
{
	if (!is_next(words, "gemodel")) {
		(void)is_next(words, "random");
		return take_draw(words, &rule->loss);
	}
	rule->is_gemodel = true;
	if (!take_chance(words, &rule->good_to_bad))
		return false;
	rule->bad_to_good = UINT64_MAX - rule->good_to_bad;
	rule->lost_in_bad = UINT64_MAX;
	return take_more(words, &rule->bad_to_good) && take_more(words, &rule->lost_in_bad) &&
	       take_more(words, &rule->lost_in_good);
}

static bool rule_corrupt(struct words *words, struct nic_rule *rule)
{
	return take_draw(words, &rule->corrupt);
}

static bool rule_duplicate(struct words *words, struct nic_rule *rule)
{
	return take_draw(words, &rule->duplicate);
}

static bool rule_reorder(struct words *words, struct nic_rule *rule)
{
	rule->gap = 1;
	return take_draw(words, &rule->reorder) &&
	       (!is_next(words, "gap") ||
		take_count(words, UINT32_MAX, "a number of packets", &rule->gap));
}

/* tc's "gbit" is what others call Gbps; its "bps" are bytes, ours never. */
static bool rule_rate(struct words *words, struct nic_rule *rule)
{
	char text[WORD_MAX + 8];
	size_t length;

	next_word(words);
	length = strlen(words->word);
	snprintf(text, sizeof(text), "%s", words->word);
	if (length > 3 && strcmp(text + length - 3, "bit") == 0) {
		char *prefix = &text[length - 4];

		*prefix = (char)(*prefix == 'k' ? 'K' : toupper((unsigned char)*prefix));
		strcpy(text + length - 3, "bps");
	}
	if (util_quantity_parse(text, strlen(text), UTIL_UNIT_RATE, &rule->rate_bps) !=
		    UTIL_QUANTITY_OK ||
	    rule->rate_bps < 1000)
		return refuse_word(words, "a rate in bits, such as 10Gbps or 10gbit");
	return true;
}

static bool rule_ecn(struct words *words, struct nic_rule *rule)
{
	return take_draw(words, &rule->ecn);
}

static bool rule_to(struct words *words, struct nic_rule *rule)
{
	char address[NIC_HOST_TEXT_MAX];

	next_word(words);
	rule->has_peer = true;
	if (!nic_host_address(words->word, address) ||
	    nic_addr_parse(address, rule->peer, NULL) != 0)
		return refuse_word(words, "a host, as --host has it");
	return true;
}

static bool rule_qp(struct words *words, struct nic_rule *rule)
{
	rule->has_qpn = true;
	return take_count(words, QPN_MAX, "the number of a queue pair", &rule->qpn);
}

static bool rule_only(struct words *words, struct nic_rule *rule)
{
	next_word(words);
	if (strcmp(words->word, "data") == 0)
		rule->kinds = NIC_RULE_DATA;
	else if (strcmp(words->word, "acks") == 0)
		rule->kinds = NIC_RULE_ACKS;
	else if (strcmp(words->word, "cnps") == 0)
		rule->kinds = NIC_RULE_CNPS;
	else
		return refuse_word(words, "data, acks or cnps");
	return true;
}

static const struct {
	const char *word;
	bool is_deed;
	bool (*take)(struct words *words, struct nic_rule *rule);
} table[] = {
	{"to", false, rule_to},		 {"qp", false, rule_qp},
	{"only", false, rule_only},	 {"limit", false, rule_limit},
	{"delay", true, rule_delay},	 {"loss", true, rule_loss},
	{"corrupt", true, rule_corrupt}, {"duplicate", true, rule_duplicate},
	{"reorder", true, rule_reorder}, {"rate", true, rule_rate},
	{"ecn", true, rule_ecn},
};
enum { RULE_WORDS = sizeof(table) / sizeof(table[0]) };

/* Each word once: which of two would hold? */
static bool take_rule(struct words *words, struct nic_rule *rule)
{
	bool taken[RULE_WORDS] = {false}, does_something = false;

	*rule = (struct nic_rule){.kinds = NIC_RULE_DATA | NIC_RULE_ACKS | NIC_RULE_CNPS,
				  .limit = 1000};
	do {
		size_t i = 0;

		next_word(words);
		while (i < RULE_WORDS && strcmp(words->word, table[i].word) != 0)
			i++;
		if (i == RULE_WORDS)
			return refuse_word(words, "to, qp, only, limit, delay, loss, corrupt, "
						  "duplicate, reorder, rate or ecn");
		if (taken[i])
			return refuse_word(words, "each word once in a rule");
		taken[i] = true;
		does_something |= table[i].is_deed;
		if (!table[i].take(words, rule))
			return false;
	} while (!ends(words));
	if (!does_something)
		return refuse_word(words, "something that happens to packets, such as loss 1%");
	if (rule->gap > 0 && rule->delay == 0) {
		snprintf(words->word, sizeof(words->word), "reorder");
		return refuse_word(words, "a delay beside it, which those that go first have not");
	}
	return true;
}

int nic_rules_parse(const char *text, struct nic_rule ret_rules[NIC_RULES_MAX],
		    struct nic_impair_bad *ret_bad)
{
	struct words words = {.at = text, .bad = ret_bad};
	int count = 0;

	if (strlen(text) >= NIC_RULE_TEXT_MAX) {
		(void)refuse_word(&words, "at most 1023 characters");
		return -EINVAL;
	}
	for (;;) {
		if (count == NIC_RULES_MAX) {
			next_word(&words);
			(void)refuse_word(&words, "at most 16 rules");
			return -EINVAL;
		}
		if (!take_rule(&words, &ret_rules[count]))
			return -EINVAL;
		count++;
		words.at += strspn(words.at, " \t\n");
		if (*words.at == '\0')
			return count;
		words.at++; /* the comma */
	}
}

int nic_impair_check(const char *text, struct nic_impair_bad *ret_bad)
{
	struct nic_rule rules[NIC_RULES_MAX];

	return nic_rules_parse(text, rules, ret_bad);
}
