/* SPDX-License-Identifier: BSD-2-Clause */

/* Links that are down, links that lose frames, and what adapters make of either. */
#include "tools/explain/cure_rules.h"

#include <inttypes.h>
#include <string.h>

/* By faults, both ways. */
static uint64_t lost_on(const struct advice_run *run, const char *link)
{
	uint64_t lost = 0;

	for (uint64_t i = 0; i < run->result->link_count; i++)
		if (strcmp(run->result->links[i].link, link) == 0)
			lost += run->result->links[i].lost + run->result->links[i].corrupted;
	return lost;
}

static bool is_between_switches(const struct advice_run *run, const char *link)
{
	const struct topology *topology = &run->scenario->topology;

	for (uint32_t i = 0; i < topology->link_count; i++)
		if (strcmp(topology->links[i].name, link) == 0)
			return topology->nodes[topology->links[i].a].is_switch &&
			       topology->nodes[topology->links[i].b].is_switch;
	return false;
}

/* ---- links that are down ---- */

/* What is under way when a link goes down is lost anyway; what is sent into it for longer than a
 * round trip is lost because nobody knows. */
static bool is_dark(const struct advice_run *run, const struct scenario_fault *fault)
{
	const ps_t patience = run->rtt ? run->rtt : 10 * PS_US;

	return fault->kind == SCENARIO_FAULT_DOWN && fault->delay > patience &&
	       is_between_switches(run, fault->link) && lost_on(run, fault->link) > 0;
}

void advice_dark_links(struct advice_run *run)
{
	const struct scenario *s = run->scenario;
	struct advice_item *item = NULL;

	for (uint32_t i = 0; i < s->fault_count; i++) {
		const struct scenario_fault *fault = &s->faults[i];

		if (!is_dark(run, fault))
			continue;
		if (!item) {
			item = advice_add(run, "Switches send into a dead link");
			advice_say(
				item,
				"The switches at its ends take other ways only once they know, and "
				"a link that comes back as long after, so flows whose way it was "
				"stand still until their timeouts. Quick detection helps, and "
				"links that stay out until they are sound.");
		}
		advice_say(item,
			   "%s was down from %s on, noticed after %s, and took %" PRIu64
			   " packets.",
			   fault->link, advice_time(fault->from_at), advice_time(fault->delay),
			   lost_on(run, fault->link));
		advice_key(item, advice_text("faults.%u.detect", fault->place),
			   advice_set_time(fault->delay), "1us");
	}
}

/* ---- retries that are over too soon ---- */

/* How long a packet that nobody answers is tried: each try waits for up to four times 4.096 us *
 * 2^timeout, of which this adapter takes two. */
static ps_t patience_of(const struct scenario_nic *nic, uint8_t timeout)
{
	return (ps_t)(nic->retry_cnt + 1u) * 2 * 4096 * PS_NS << timeout;
}

static const struct scenario_fault *longest_outage(const struct scenario *s)
{
	const struct scenario_fault *longest = NULL;

	for (uint32_t i = 0; i < s->fault_count; i++) {
		const struct scenario_fault *fault = &s->faults[i];

		if (fault->kind == SCENARIO_FAULT_DOWN &&
		    (!longest ||
		     fault->until_at - fault->from_at > longest->until_at - longest->from_at))
			longest = fault;
	}
	return longest;
}

static uint64_t given_up(const struct advice_run *run)
{
	uint64_t exceeded = 0;

	for (uint32_t i = 0; i < run->fabric->host_count; i++)
		exceeded += hca_device_counters(run->fabric->hosts[i].hca)
				    ->req_transport_retries_exceeded;
	return exceeded;
}

static void say_impatient(struct advice_run *run, const struct scenario_fault *outage)
{
	enum { TIMEOUT_MAX = 31 };
	const struct scenario_nic *nic = &run->scenario->nic;
	const ps_t length = outage->until_at - outage->from_at;
	struct advice_item *item = advice_add(run, "Retries are over before the link is back");
	uint8_t timeout = nic->timeout;

	while (timeout < TIMEOUT_MAX && patience_of(nic, timeout) < 2 * length)
		timeout++;
	advice_say(item,
		   "Queue pairs gave up (retry_exc_err), %" PRIu64
		   " in all. %s was down for %s; a local ACK timeout of %u (4.096 us * 2^%u, "
		   "twice) and %u retries are over after %s. A timeout that outlasts the outage "
		   "twice over helps.",
		   given_up(run), outage->link, advice_time(length), nic->timeout, nic->timeout,
		   nic->retry_cnt, advice_time(patience_of(nic, nic->timeout)));
	advice_key(item, "nic.timeout", advice_text("%u", nic->timeout),
		   advice_text("%u", timeout));
}

static void say_outage(struct advice_run *run, const struct scenario_fault *outage)
{
	const bool ends = outage->until_at != PS_NEVER;
	struct advice_item *item = advice_add(run, "A link was down");

	advice_say(item,
		   "%s went down at %s and %s; %" PRIu64
		   " packets were sent again in the run. No setting of the fabric brings a link "
		   "back: the link itself wants a repair, and a host that must not stand still a "
		   "second one.",
		   outage->link, advice_time(outage->from_at),
		   ends ? advice_text("came back after %s",
				      advice_time(outage->until_at - outage->from_at))
			: "never came back",
		   run->retransmitted);
	advice_key(item, advice_text("faults.%u.down", outage->place),
		   ends ? advice_text("for %s", advice_time(outage->until_at - outage->from_at))
			: "for ever",
		   "");
}

void advice_timeouts(struct advice_run *run)
{
	const struct scenario_nic *nic = &run->scenario->nic;
	const struct scenario_fault *outage = longest_outage(run->scenario);

	if (!outage || run->retransmitted == 0)
		return;
	if (given_up(run) > 0 && run->result->drops.mtu == 0 && nic->timeout > 0 &&
	    outage->until_at != PS_NEVER &&
	    patience_of(nic, nic->timeout) < outage->until_at - outage->from_at)
		say_impatient(run, outage);
	else if (!is_dark(run, outage))
		say_outage(run, outage);
}

/* ---- links that lose frames ---- */

/* The fault or bit errors that the losses on @link come from; "": neither. */
static const char *cure_links_source_of(const struct advice_run *run, const char *link,
					const char **ret_found)
{
	static const struct {
		enum scenario_fault_kind kind;
		const char *key;
	} kinds[] = {{SCENARIO_FAULT_LOSS, "loss"},
		     {SCENARIO_FAULT_CORRUPT, "corrupt"},
		     {SCENARIO_FAULT_DROP_NTH, "drop_nth"}};
	const struct topology *topology = &run->scenario->topology;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct scenario_fault *fault = advice_fault(run, kinds[i].kind, link, NULL);

		if (!fault)
			continue;
		*ret_found = fault->num ? advice_text("%.3g %%", 100.0 * fault->num / fault->den)
					: "certain frames";
		return advice_text("faults.%u.%s", fault->place, kinds[i].key);
	}
	for (uint32_t i = 0; i < topology->link_count; i++)
		if (strcmp(topology->links[i].name, link) == 0 &&
		    (topology->links[i].error_ppt || topology->links[i].loss_ppb)) {
			*ret_found = "bit errors";
			return "topology.links";
		}
	return "";
}

/* More than a tenth of what senders put on the wire: less costs less than the link that has to be
 * mended anyway. */
static bool is_costly(const struct advice_run *run)
{
	uint64_t sent = 0, retransmitted = 0;

	for (uint32_t i = 0; i < run->fabric->host_count; i++) {
		const struct hca_counters *counters =
			hca_device_counters(run->fabric->hosts[i].hca);

		if (counters->packets_retransmitted > 0) {
			sent += counters->tx_packets;
			retransmitted += counters->packets_retransmitted;
		}
	}
	return 10 * retransmitted > sent;
}

/* What a lost packet costs. */
static void say_retransmit(struct advice_run *run, uint64_t lost)
{
	const enum hca_retransmit mode = run->scenario->nic.retransmit;
	struct advice_item *item;

	if (mode == HCA_SELECTIVE || run->retransmitted < 2 * lost || !is_costly(run))
		return;
	item = advice_add(run, mode == HCA_GO_BACK_0 ? "Each loss begins the message anew"
						     : "Each loss sends again what had arrived");
	advice_say(item,
		   "%" PRIu64 " packets were lost on links and %" PRIu64
		   " sent again, %.3g for each.",
		   lost, run->retransmitted, (double)run->retransmitted / (double)lost);
	if (mode == HCA_GO_BACK_0)
		advice_say(item,
			   "Go-back-0 starts the whole message again, so that one longer than the "
			   "distance of losses never ends; go-back-N sends again what was not yet "
			   "acknowledged.");
	else
		advice_say(item, "Go-back-N sends everything again that was under way; selective "
				 "repeat sends what is missing.");
	advice_key(item, "nic.retransmit", mode == HCA_GO_BACK_0 ? "go_back_0" : "go_back_n",
		   mode == HCA_GO_BACK_0 ? "go_back_n" : "selective");
	if (mode == HCA_GO_BACK_0 || run->rtt == 0)
		return;
	advice_say(item, "Selective repeat has a window of one round trip by default, which each "
			 "loss fills; with two the sender goes on meanwhile.");
	advice_key(item, "nic.window", advice_text("%u", run->scenario->nic.psn_window),
		   advice_text("%u", 2 * advice_window(run)));
}

void advice_bad_links(struct advice_run *run)
{
	const struct result *result = run->result;
	const char *worst = NULL, *found = "", *key;
	uint64_t all = 0, most = 0;
	struct advice_item *item;

	for (uint64_t i = 0; i < result->link_count; i++) {
		const struct result_link *link = &result->links[i];
		const uint64_t lost = link->lost + link->corrupted;

		if (lost == 0 || advice_fault(run, SCENARIO_FAULT_DOWN, link->link, NULL))
			continue;
		all += lost;
		if (lost_on(run, link->link) > most) {
			most = lost_on(run, link->link);
			worst = link->link;
		}
	}
	if (!worst)
		return;
	say_retransmit(run, all);
	item = advice_add(run, "A link loses frames");
	advice_say(item,
		   "Links lost or corrupted %" PRIu64 " packets, %s most of them: %" PRIu64
		   ". A new optic or cable is the cure; it was no congestion.",
		   all, worst, most);
	key = cure_links_source_of(run, worst, &found);
	if (key[0])
		advice_key(item, key, found, "");
}
