/* SPDX-License-Identifier: MIT */
/*
 * exits - how the functions around return addresses are left: a table by the address itself.
 *
 *	const struct exit *exit = exits_at(&exits, exits.mask, pc);
 *
 *	if (exit->pc != pc)
 *		exits_add(&exits, pc, rule);		// found by other means
 *	else
 *		caller_sp = sp + exit->way.distance;	// if that is on the stack
 *
 * Direct mapped.  One thread at a time, but a signal handler of it may look in the middle of
 * anything and jump out of there: half of an entry is never seen.
 */
#ifndef SHIM_EXITS_H
#define SHIM_EXITS_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "unwind/rule.h"

#define EXITS 2048
#define EXITS_FIRST 64

/* To the caller.  In one word, since it is copied with each frame. */
union exit_way {
	uint64_t word;
	struct {
		uint32_t distance; /* from sp to the caller's, in bytes; or EXIT_ */
		unwind_rule rule;
	};
};

/* In place of a distance.  As distances they lead out of any stack. */
enum {
	EXIT_BY_FP = -2 * ARCH_WORD, /* to the caller by fp alone */
	EXIT_ELSE = -ARCH_WORD,	     /* the rule says it */
};

/* Where the return address is, below the caller's sp; unless it is EXIT_ELSE. */
static inline uint64_t exit_return_depth(union exit_way way)
{
	return ARCH_RETURN_IS_PUSHED ? (uint64_t)-ARCH_RETURN_AT_CFA
				     : ARCH_WORD * (uint64_t)(unwind_rule_slot(way.rule) - 1);
}

/* With the distance, since all steps of a walk wait for each other, and the next one for that. */
struct exit {
	uint64_t pc;
	union exit_way way;
};

struct exits {
	uint32_t mask; /* what is in use of entry[]: more, the more were added */
	uint32_t nr;
	struct exit entry[EXITS];
};

/* From one return address to the next there are so many bytes at least. */
enum { RETURN_STEP = ARCH_RETURN_IS_PUSHED ? 2 : ARCH_INSTRUCTION_MIN };

/* Of the bits that tell return addresses apart the lowest are as good as any; and the next step waits
 * for them, so they are not moved down first: a CPU multiplies as it adds an offset. */
static inline const struct exit *exits_at(const struct exits *exits, uint64_t mask, uint64_t pc)
{
	size_t offset = (pc & mask * RETURN_STEP) * (sizeof(struct exit) / RETURN_STEP);

	return (const struct exit *)((const char *)exits->entry + offset);
}

/* Of zeroed memory.  What was in use of it before stays. */
void exits_init(struct exits *exits);

/* pc: not 0, which is where there is no caller, and is never found. */
void exits_add(struct exits *exits, uint64_t pc, unwind_rule rule);

/* Addresses mean something else now. */
void exits_clear(struct exits *exits);

#endif
