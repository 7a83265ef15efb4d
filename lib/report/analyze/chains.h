/* SPDX-License-Identifier: MIT */
/*
 * chains - what is at each address of a profile: frames of functions, outermost first.
 *
 *	chains_init(&chains, profile, false);
 *	for (uint32_t i = chains.first[address]; i < chains.first[address + 1]; i++)
 *		use(&chains.functions[chains.frames[i].function]);
 *	chains_release(&chains);
 *
 * Every address has at least one frame: code that no symbolization has seen is a function
 * "module+0xaddress" of its own, and the two kinds of addresses that stand for missing frames
 * have one that says so.  The same function found in several compilation units is one function.
 */
#ifndef REPORT_ANALYZE_CHAINS_H
#define REPORT_ANALYZE_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "store/reader.h"

enum function_kind {
	FUNCTION_NAMED,
	FUNCTION_UNNAMED, /* only its address is known */
	FUNCTION_MISSING, /* not a function: frames that are not there */
};

struct function {
	enum function_kind kind;
	const char *name;
	uint32_t module; /* id, or PROFILE_NONE */
	const char *file;
	uint32_t line;
	bool ours; /* in cprof's own shim */
};

struct frame {
	uint32_t function;
	uint32_t place; /* equal for frames of equal name, file and line */
	const char *file;
	uint32_t line;
	bool inlined;
};

struct chains {
	const struct profile *profile;
	struct function *functions;
	size_t nr_functions;
	struct frame *frames;
	uint32_t *first; /* by address id; one more at the end */
	size_t nr_places;
	struct intern texts; /* owns the names made here */
};

/* no_inline: the real functions only. */
void chains_init(struct chains *chains, const struct profile *profile, bool no_inline);
void chains_release(struct chains *chains);

/* The innermost frame at an address. */
static inline const struct frame *chains_leaf(const struct chains *chains, uint32_t address)
{
	return &chains->frames[chains->first[address + 1] - 1];
}

/* The module's name, or NULL. */
const char *chains_module_name(const struct chains *chains, uint32_t module);

#endif
