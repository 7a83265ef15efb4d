/* SPDX-License-Identifier: MIT */
/*
 * end - why a walk up the stack stopped.
 *
 * The list is closed: every stack ends for exactly one of these reasons, and a report can say how
 * many ended how.  unwind_end_is_root() tells whole stacks from the others.
 */
#ifndef UNWIND_END_H
#define UNWIND_END_H

#include <stdbool.h>

enum unwind_end {
	UNWIND_MORE, /* not an end: there is a caller */

	/* whole */
	UNWIND_END_ROOT,     /* the CFI says that nobody called this function */
	UNWIND_END_FP_ENDED, /* no CFI, and the chain of frame pointers ends with 0 */
	UNWIND_END_NULL_PC,  /* the return address is 0, as below the first frame of a coroutine */

	/* cut off */
	UNWIND_END_NO_MODULE,	/* pc is in no mapped file */
	UNWIND_END_NO_CFI,	/* no CFI for pc, and the frame pointer leads nowhere */
	UNWIND_END_UNSUPPORTED, /* the CFI has a rule that is not evaluated here */
	UNWIND_END_DAMAGED,	/* the CFI cannot be read */
	UNWIND_END_BAD_READ,	/* the next word is not in the part of the stack that is known */
	UNWIND_END_NO_STACK,	/* nothing of the stack could be copied (page faults on it, exec) */
	UNWIND_END_FP_LOST,	/* needs a frame pointer that an inner frame did not save */
	UNWIND_END_SP_BACKWARD, /* the caller's frame would be below this one */
	UNWIND_END_TOO_DEEP,	/* more frames than the caller of the unwinder allows */

	UNWIND_NR_ENDS
};

static inline bool unwind_end_is_root(enum unwind_end end)
{
	return end == UNWIND_END_ROOT || end == UNWIND_END_FP_ENDED || end == UNWIND_END_NULL_PC;
}

/* A few words for a report: "no CFI".  Never NULL. */
const char *unwind_end_text(enum unwind_end end);

#endif
