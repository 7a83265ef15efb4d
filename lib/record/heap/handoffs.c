/* SPDX-License-Identifier: MIT */
#include "record/heap/handoffs.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/vec.h"

void handoffs_release(struct handoffs *handoffs)
{
	vec_free(&handoffs->all);
	map_release(&handoffs->index);
	handoffs->last = 0;
}

static size_t find(struct handoffs *handoffs, uint32_t from, uint32_t to)
{
	uint64_t *index = map_find(&handoffs->index, map_pair(from, to));
	bool added;

	if (index)
		return *index;
	if (handoffs->all.nr >= HANDOFFS_MAX)
		from = to = HANDOFF_OTHERS;
	index = map_add(&handoffs->index, map_pair(from, to), &added);
	if (added) {
		*index = handoffs->all.nr;
		vec_push(&handoffs->all, (struct handoff){ .from = from, .to = to });
	}
	return *index;
}

void handoffs_note(struct handoffs *handoffs, uint32_t from, uint32_t to, uint64_t blocks,
		   uint64_t bytes)
{
	size_t last = handoffs->last;

	if (last >= handoffs->all.nr || handoffs->all.at[last].from != from ||
	    handoffs->all.at[last].to != to)
		handoffs->last = last = find(handoffs, from, to);
	handoffs->all.at[last].blocks += blocks;
	handoffs->all.at[last].bytes += bytes;
}
