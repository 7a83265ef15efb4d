/* SPDX-License-Identifier: MIT */
/*
 * handoffs - blocks that another thread frees than allocated them: who frees whose.
 *
 *	struct handoffs handoffs = { 0 };
 *	handoffs_note(&handoffs, from, to, blocks, bytes);	// numbers of threads
 *	vec_each(&handoffs.all, handoff)
 *		use(handoff);
 *	handoffs_release(&handoffs);
 *
 * Threads by the thousand, each freeing what the others allocated, are millions of pairs: what is
 * beyond the first HANDOFFS_MAX is one sum, whose threads are HANDOFF_OTHERS.
 */
#ifndef RECORD_HEAP_HANDOFFS_H
#define RECORD_HEAP_HANDOFFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define HANDOFFS_MAX 2048
#define HANDOFF_OTHERS UINT32_MAX

struct handoff {
	uint32_t from, to; /* allocated it, freed it */
	uint64_t blocks, bytes;
};

struct handoffs {
	struct {
		struct handoff *at;
		size_t nr, room;
	} all;
	struct map index; /* from, to -> of all */
	size_t last;	  /* the one last noted: mostly the next one, too */
};

void handoffs_release(struct handoffs *handoffs);
void handoffs_note(struct handoffs *handoffs, uint32_t from, uint32_t to, uint64_t blocks,
		   uint64_t bytes);

#endif
