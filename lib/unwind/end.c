/* SPDX-License-Identifier: MIT */
#include "unwind/end.h"

static const char texts[UNWIND_NR_ENDS][40] = {
	[UNWIND_MORE] = "not ended",
	[UNWIND_END_ROOT] = "complete",
	[UNWIND_END_FP_ENDED] = "complete by frame pointers",
	[UNWIND_END_NULL_PC] = "return address 0",
	[UNWIND_END_NO_MODULE] = "code outside every mapping",
	[UNWIND_END_NO_CFI] = "no CFI",
	[UNWIND_END_UNSUPPORTED] = "CFI of an unsupported form",
	[UNWIND_END_DAMAGED] = "damaged CFI",
	[UNWIND_END_BAD_READ] = "beyond the copied stack",
	[UNWIND_END_NO_STACK] = "the stack was not readable",
	[UNWIND_END_FP_LOST] = "frame pointer not saved",
	[UNWIND_END_SP_BACKWARD] = "stack pointer moved backward",
	[UNWIND_END_TOO_DEEP] = "too deep",
};

const char *unwind_end_text(enum unwind_end end)
{
	return (unsigned int)end < UNWIND_NR_ENDS ? texts[end] : "unknown reason";
}
