/* SPDX-License-Identifier: MIT */
/*
 * functions - each function once, however many addresses are in it.
 *
 *	struct functions functions = { .module = 3 };
 *	struct function f = { .symbol = "_ZN5Index6lookupERK3Key", .file = file, .line = 12 };
 *
 *	id = functions_add(&functions, &f);		// the same for equal ones
 *	functions.at.at[id].name;			// "Index::lookup(Key const&)"
 *	functions_release(&functions);
 *
 * Ids go on through all modules; set .module before those of the next one.  Where the file of a
 * function is not known, its start tells it from another static one of the same name.
 */
#ifndef SYMBOLIZE_FUNCTIONS_H
#define SYMBOLIZE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "store/profile.h"

struct function {
	const char *symbol; /* as in the file, mangled; NULL: name is not in a mangled form */
	const char *name;   /* used if there is no symbol, or if that is not mangled */
	bool nameless;	    /* name stands for the address */
	const char *file;   /* of the declaration, or NULL */
	uint32_t line;
	uint64_t start;
};

struct functions {
	uint32_t module;
	bool no_demangle;
	VEC(struct profile_function) at;
	struct intern keys;
	struct arena text;
};

/* Copies what it keeps. */
uint32_t functions_add(struct functions *functions, const struct function *function);
void functions_release(struct functions *functions);

/* A place in a function. */
struct place {
	uint32_t function;
	const char *file; /* or NULL */
	uint32_t line;
};

/* What an address is: the function around it, then each one inlined into the one before. */
struct chain {
	VEC(struct place) at;
	bool left_out; /* there is more to say, but the budget is spent */
};

#endif
