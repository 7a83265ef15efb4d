/* SPDX-License-Identifier: MIT */
/*
 * heap_counted - how far the figures of the heap are from what the shim counted in the program.
 *
 *	heap->counted.difference = heap_counted_difference(heap);
 *
 * Both are of the same operations, by two ways: what is in one only was lost.
 */
#ifndef REPORT_ANALYZE_HEAP_COUNTED_H
#define REPORT_ANALYZE_HEAP_COUNTED_H

#include <stdint.h>

struct heap;

/* Operations; 0: all that was counted is in the figures. */
uint64_t heap_counted_difference(const struct heap *heap);

#endif
