/* SPDX-License-Identifier: MIT */
/*
 * ledger - which samples the missing names and lines concern: the quality rows no-symbol,
 * no-debug and bounded, at most one of each a module.
 *
 *	struct ledger ledger;
 *
 *	ledger_init(&ledger, profile);
 *	ledger_note(&ledger, address_id, LEDGER_NO_NAME);	// of the module looked into
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

enum ledger_lack {
	LEDGER_NO_NAME = 1,
	LEDGER_LEFT_OUT = 2, /* lines and inlined calls: the budget was spent */
};

struct ledger {
	const struct profile *profile;
	uint8_t *lacks;			   /* by address: enum ledger_lack */
	bool *reached;			   /* by stack: it has such an address */
	uint32_t nr_nameless, nr_left_out; /* of the module looked into */
};

void ledger_init(struct ledger *ledger, const struct profile *profile);
void ledger_note(struct ledger *ledger, uint32_t address, enum ledger_lack lack);
void ledger_end_module(struct ledger *ledger, const struct profile_module *module,
		       struct writer *writer);
void ledger_release(struct ledger *ledger);

#endif
