/* SPDX-License-Identifier: MIT */
#include "symbolize/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void ledger_init(struct ledger *ledger, const struct profile *profile)
{
	*ledger = (struct ledger){
		.profile = profile,
		.lacks = xcalloc(profile->nr_addresses + 1, 1),
		.reached = xcalloc(profile->nr_stacks + 1, sizeof(bool)),
	};
}

void ledger_note(struct ledger *ledger, uint32_t address, enum ledger_lack lack)
{
	ledger->lacks[address] |= lack;
	ledger->nr_nameless += lack == LEDGER_NO_NAME;
	ledger->nr_left_out += lack == LEDGER_LEFT_OUT;
}

static bool concerned(const struct ledger *ledger, uint32_t module, uint32_t id)
{
	const struct profile_address *address = &ledger->profile->addresses[id];

	return address->kind == PROFILE_ADDRESS_CODE && address->module == module;
}

/* Of the stacks with an address of the module that lacks this; 0: with any. */
static uint64_t count(const struct ledger *ledger, uint32_t module, enum ledger_lack lack)
{
	const struct profile *profile = ledger->profile;
	uint64_t samples = 0, allocations = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		ledger->reached[i] =
			(stack->parent != PROFILE_NONE && ledger->reached[stack->parent]) ||
			(concerned(ledger, module, stack->address) &&
			 (!lack || ledger->lacks[stack->address] & lack));
	}
	for (size_t i = 0; i < profile->nr_totals; i++)
		if (profile->totals[i].event == 0 && ledger->reached[profile->totals[i].stack] &&
		    !profile_is_overhead(profile, profile->totals[i].stack))
			samples += profile->totals[i].samples;
	for (size_t i = 0; i < profile->nr_heap_sites; i++)
		if (ledger->reached[profile->heap_sites[i].stack])
			allocations += profile->heap_sites[i].allocations;
	return profile->nr_totals ? samples : allocations;
}

static void put(const struct ledger *ledger, struct writer *writer, enum profile_quality_kind kind,
		const struct profile_module *module, enum ledger_lack lack, char *detail)
{
	struct profile_quality row = {
		.kind = kind,
		.count = count(ledger, module->id, lack),
		.detail = detail,
	};

	if (row.count)
		writer_put_quality(writer, &row);
	free(detail);
}

/* Of a file with debug information, the reason is about something else. */
static const char *why_nameless(const struct profile_module *module)
{
	return module->reason && module->debug != PROFILE_DEBUG_FULL ? module->reason
								     : "no symbol holds them";
}

void ledger_end_module(struct ledger *ledger, const struct profile_module *module,
		       struct writer *writer)
{
	uint32_t nameless = ledger->nr_nameless, left_out = ledger->nr_left_out;

	ledger->nr_nameless = ledger->nr_left_out = 0;
	if (module->kind == PROFILE_MODULE_SELF)
		return;
	if (nameless)
		put(ledger, writer, PROFILE_NO_SYMBOL, module, LEDGER_NO_NAME,
		    xasprintf("%s: %" PRIu32 " address%s: %s", module->name, nameless,
			      nameless == 1 ? "" : "es", why_nameless(module)));
	if (left_out)
		put(ledger, writer, PROFILE_BOUNDED, module, LEDGER_LEFT_OUT,
		    xasprintf("%s: %s", module->name, module->reason));
	if (module->kind == PROFILE_MODULE_FILE && module->debug == PROFILE_DEBUG_SYMBOLS)
		put(ledger, writer, PROFILE_NO_DEBUG, module, 0,
		    xasprintf("%s: %s", module->name, module->reason));
}

void ledger_release(struct ledger *ledger)
{
	free(ledger->lacks);
	free(ledger->reached);
}
