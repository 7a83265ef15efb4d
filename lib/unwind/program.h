/* SPDX-License-Identifier: MIT */
/*
 * program - runs the instructions of one FDE, a row at a time.
 *
 *	struct program program;
 *
 *	program_start(&program, &fde);
 *	while (program_next(&program, &row))
 *		use(&row);
 *
 * Rows follow each other without gaps from the start of the function to its end; neighbours with
 * the same rule are one row.  Internal to lib/unwind.
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

enum place_kind {
	PLACE_SAME,	 /* the register still holds it */
	PLACE_UNDEFINED, /* gone */
	PLACE_CFA,	 /* saved at CFA + offset */
	PLACE_SP,	 /* saved at sp + offset */
	PLACE_FP,	 /* saved at fp + offset */
	PLACE_OTHER,	 /* something else */
};

/* Where the caller's value of a register is. */
struct place {
	uint8_t kind;
	int32_t offset;
};

enum cfa_kind {
	CFA_NONE,      /* not defined yet */
	CFA_REGISTER,  /* reg + offset */
	CFA_PLT,       /* the expression of a procedure linkage table; offset: its threshold */
	CFA_AT_FP,     /* the word at fp + offset, + addend */
	CFA_AT_SP,     /* the word at sp + offset, + addend */
	CFA_UNKNOWN,   /* an expression of another form */
	CFA_TOO_LARGE, /* offset does not fit */
};

struct cfa {
	uint8_t kind;
	uint8_t reg;
	uint16_t addend;
	int32_t offset;
};

struct state {
	struct cfa cfa;
	struct place fp, sp, return_address;
};

enum {
	PROGRAM_REMEMBER_MAX = 8,
};

struct program {
	const struct fde *fde;
	struct bytes instructions;
	uint64_t location, next; /* the current row */
	unwind_rule rule;
	struct state now, initial;
	struct state remembered[PROGRAM_REMEMBER_MAX];
	unsigned int nr_remembered;
	bool damaged;
};

/* fde must outlive the program. */
void program_start(struct program *program, const struct fde *fde);
/* The next row; false after the last. */
bool program_next(struct program *program, struct unwind_row *row);

#endif
