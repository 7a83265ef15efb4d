/* SPDX-License-Identifier: MIT */
/*
 * slack - how much larger than asked for glibc makes a block.
 *
 *	slack_of(page_bytes, address, size);	// 12 for 12 bytes, 0 for 24, 14 for 26 ...
 *	slack_of(0, address, size);		// another allocator: not known, 0
 *
 * A block is a multiple of 16 bytes, 8 of which are glibc's own, and at least 24 are the program's;
 * one that is mapped for itself is whole pages, 16 bytes of which are glibc's.  So nobody has to ask
 * the program.  What is left over of a free block that is used again goes with it where it is too
 * little for a block: there may be 16 bytes more than said.
 */
#ifndef RECORD_HEAP_SLACK_H
#define RECORD_HEAP_SLACK_H

#include <stdbool.h>
#include <stdint.h>

/* Smaller ones are not mapped for themselves, unless the program asks for that. */
#define SLACK_MAPPED_MIN UINT64_C(131072)

static inline uint64_t slack_chunk(uint64_t size)
{
	uint64_t chunk = (size + 8 + 15) & ~UINT64_C(15);

	return chunk < 32 ? 32 : chunk;
}

/*
 * One with pages of its own starts 16 bytes into the first.  Of others as large, one in 256 does, and
 * is taken for such; as a heap likes to give the same place again, they come several at a time.
 */
static inline bool slack_is_mapped(uint64_t page_bytes, uint64_t address, uint64_t size)
{
	return slack_chunk(size) >= SLACK_MAPPED_MIN && (address & (page_bytes - 1)) == 16;
}

static inline uint64_t slack_of(uint64_t page_bytes, uint64_t address, uint64_t size)
{
	if (!page_bytes)
		return 0;
	if (slack_is_mapped(page_bytes, address, size))
		return ((slack_chunk(size) + 8 + page_bytes - 1) & ~(page_bytes - 1)) - 16 - size;
	return slack_chunk(size) - 8 - size;
}

#endif
