/* SPDX-License-Identifier: MIT */
/*
 * order - the rings that have something, by the number of their next event.
 *
 *	order_add(&order, ring);			// with ring->next != 0
 *	while ((ring = order_first(&order))) {
 *		until = order_second(&order);		// its events below come in one go
 *		...					// take some: ring->next changes
 *		order_settle(&order);			// puts it where it belongs now, or out
 *	}
 */
#ifndef RECORD_HEAP_ORDER_H
#define RECORD_HEAP_ORDER_H

#include <stdint.h>

#include "base/vec.h"
#include "record/heap/segment.h"

struct order {
	VEC(struct ring_view *) heap; /* binary, smallest number first */
};

void order_release(struct order *order);
void order_clear(struct order *order);
void order_add(struct order *order, struct ring_view *ring);
/* NULL: all are empty. */
struct ring_view *order_first(const struct order *order);
/* The number of the second ring; UINT64_MAX if there is none. */
uint64_t order_second(const struct order *order);
void order_settle(struct order *order);

#endif
