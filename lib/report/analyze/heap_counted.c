/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap_counted.h"

#include "base/distance.h"
#include "report/analyze/heap.h"

static uint64_t excess(uint64_t of, uint64_t over)
{
	return of > over ? of - over : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Frees of what a fork left, or of what nobody saw allocated, are counted there, too.  Where such a
 * block was reallocated the figures have a free and an allocation. */
uint64_t heap_counted_difference(const struct heap *heap)
{
	const struct heap_counted *counted = &heap->counted;
	uint64_t frees =
		heap->frees +
		(heap->sample_bytes.absent ? heap->inherited_frees + heap->unknown_frees : 0);
	uint64_t adopted = lesser(excess(counted->reallocations, heap->reallocations),
				  lesser(excess(heap->allocations, counted->allocations),
					 excess(frees, counted->frees)));

	return distance_u64(heap->allocations - adopted, counted->allocations) +
	       distance_u64(heap->reallocations + adopted, counted->reallocations) +
	       distance_u64(frees - adopted, counted->frees);
}
