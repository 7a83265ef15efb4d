/* SPDX-License-Identifier: MIT */
/*
 * rules - how to unwind at an address of a module.
 *
 *	struct rules rules;
 *
 *	rules_init(&rules);
 *	rule = rules_at(&rules, module, address);
 *	place = rules_register(&rules, module, address, reg);
 *	rules_release(&rules);
 *
 * Evaluated from the module's call frame information when an address is first met, and cached by
 * range for all processes: the same file under several paths or in several containers is evaluated
 * once.
 */
#ifndef RECORD_STACKS_RULES_H
#define RECORD_STACKS_RULES_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/module.h"
#include "record/stacks/module_cfi.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"
#include "unwind/rule.h"

/* What it cost so far. */
struct rules_figures {
	uint64_t evaluated; /* look-ups that the cache did not have */
	uint64_t row_bytes; /* CFI held in memory */
};

/* Looked at by nobody else; here for the sake of rules_at(). */
struct rules {
	struct unwind_cache cache;
	VEC(uint32_t) cfi_of_module; /* by module id: number of the CFI + 1, or 0 */
	VEC(struct module_cfi) cfis;
	struct map cfi_by_build_id;
	uint64_t misses; /* since the cache grew */
	uint64_t evaluated;
};

enum {
	RULES_ADDRESS_BITS = 44, /* of a cache key; above them is the number of the CFI */
};

void rules_init(struct rules *rules);
void rules_release(struct rules *rules);
struct rules_figures rules_figures(const struct rules *rules);

/* The rule at an address that the cache does not have. */
unwind_rule rules_evaluate(struct rules *rules, const struct module *module, uint64_t address);

/* address is that of the module's file. */
static inline unwind_rule rules_at(struct rules *rules, const struct module *module,
				   uint64_t address)
{
	uint64_t number =
		module->id < rules->cfi_of_module.nr ? rules->cfi_of_module.at[module->id] : 0;
	unwind_rule rule;

	if (number && !(address >> RULES_ADDRESS_BITS) &&
	    unwind_cache_find(&rules->cache, number << RULES_ADDRESS_BITS | address, &rule))
		return rule;
	return rules_evaluate(rules, module, address);
}

/* Where the function keeps its caller's value of a general register. */
struct unwind_place rules_register(struct rules *rules, const struct module *module,
				   uint64_t address, unsigned int reg);

/* As module_cfi_is_after_clone(), module_cfi_is_entry() and so on. */
bool rules_is_after_clone(struct rules *rules, const struct module *module, uint64_t address);
bool rules_is_entry(struct rules *rules, const struct module *module, uint64_t address);
bool rules_is_sigreturn(struct rules *rules, const struct module *module, uint64_t address);
bool rules_sets_fp(struct rules *rules, const struct module *module, uint64_t address);

/* The start of the function (FDE) around address; 0: no CFI there. */
uint64_t rules_function(struct rules *rules, const struct module *module, uint64_t address);

#endif
