/* SPDX-License-Identifier: MIT */
/*
 * program - runs the instructions of one FDE up to an address, where they leave a state (state.h).
 *
 *	program_find(&fde, pc, &row);
 *
 * Internal to lib/unwind.
 */
#ifndef UNWIND_PROGRAM_H
#define UNWIND_PROGRAM_H

#include "unwind/bytes.h"
#include "unwind/rule.h"

/* What a CIE says for its FDEs. */
struct cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_column;
	uint8_t pointer_encoding;
	bool signal_frame;
	bool has_augmentation_data;
	struct bytes instructions;
};

struct fde {
	struct cie cie;
	uint64_t start, end;
	struct bytes instructions;
};

/* The row that holds pc, which is in the function. */
void program_find(const struct fde *fde, uint64_t pc, struct unwind_row *row);

/* Where the function keeps a register at pc. */
struct unwind_place program_register(const struct fde *fde, uint64_t pc, unsigned int reg);

#endif
