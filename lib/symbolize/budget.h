/* SPDX-License-Identifier: MIT */
/*
 * budget - how much time and memory reading debug information may take.
 *
 *	struct budget budget;
 *
 *	budget_begin(&budget, 10 * 1000000000ull, 1 << 30);
 *	if (!budget_is_spent(&budget))
 *		read_more();
 *	else
 *		puts(budget.spent);		// "10.0 s are spent (--symbol-budget)"
 *
 * Asked before each step that may take long, so a step that was begun is still finished.  For one
 * that never ends in memory, there is a limit on that of the whole process: three times as much.
 */
#ifndef SYMBOLIZE_BUDGET_H
#define SYMBOLIZE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t time_ns, deadline_ns, paused_ns;
	uint64_t bytes, start_bytes;
	uint64_t mapped_bytes; /* to be counted as well; whoever maps it sets it */
	char spent[96];	       /* what is; "" as long as nothing is */
};

void budget_begin(struct budget *budget, uint64_t time_ns, uint64_t bytes);
/* Once true, it stays true. */
bool budget_is_spent(struct budget *budget);
/* Time that passes from pause to resume is not counted. */
void budget_pause(struct budget *budget);
void budget_resume(struct budget *budget);

#endif
