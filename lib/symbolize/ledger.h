/* SPDX-License-Identifier: MIT */
/*
 * ledger - which samples the missing names and lines concern: the quality rows no-symbol and
 * no-debug, at most one a module.
 *
 *	struct ledger ledger;
 *
 *	ledger_init(&ledger, profile);
 *	ledger_nameless(&ledger, address_id);		// of the module looked into
 *	ledger_end_module(&ledger, &module, writer);	// module.debug and reason are set
 *	ledger_release(&ledger);
 *
 * A row counts the samples of the leading event whose stack has such an address anywhere; in a
 * profile without samples, the allocations.  What is in neither has no row.
 */
#ifndef SYMBOLIZE_LEDGER_H
#define SYMBOLIZE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/reader.h"
#include "store/writer.h"

struct ledger {
	const struct profile *profile;
	bool *nameless; /* by address */
	bool *reached;	/* by stack: it has such an address */
	uint32_t nr_nameless;
};

void ledger_init(struct ledger *ledger, const struct profile *profile);
void ledger_nameless(struct ledger *ledger, uint32_t address);
void ledger_end_module(struct ledger *ledger, const struct profile_module *module,
		       struct writer *writer);
void ledger_release(struct ledger *ledger);

#endif
