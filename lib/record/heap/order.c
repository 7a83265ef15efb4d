/* SPDX-License-Identifier: MIT */
#include "record/heap/order.h"

void order_release(struct order *order)
{
	vec_free(&order->heap);
}

void order_clear(struct order *order)
{
	order->heap.nr = 0;
}

static uint64_t key(const struct order *order, size_t i)
{
	return i < order->heap.nr ? order->heap.at[i]->next : UINT64_MAX;
}

static void swap(struct order *order, size_t a, size_t b)
{
	struct ring_view *ring = order->heap.at[a];

	order->heap.at[a] = order->heap.at[b];
	order->heap.at[b] = ring;
}

void order_add(struct order *order, struct ring_view *ring)
{
	size_t i = order->heap.nr;

	vec_push(&order->heap, ring);
	for (; i && key(order, i) < key(order, (i - 1) / 2); i = (i - 1) / 2)
		swap(order, i, (i - 1) / 2);
}

struct ring_view *order_first(const struct order *order)
{
	return order->heap.nr ? order->heap.at[0] : NULL;
}

uint64_t order_second(const struct order *order)
{
	uint64_t left = key(order, 1), right = key(order, 2);

	return left < right ? left : right;
}

static void sink(struct order *order)
{
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (key(order, child + 1) < key(order, child))
			child++;
		if (key(order, child) >= key(order, i))
			return;
		swap(order, i, child);
		i = child;
	}
}

void order_settle(struct order *order)
{
	if (!order->heap.at[0]->next) {
		order->heap.at[0] = order->heap.at[order->heap.nr - 1];
		order->heap.nr--;
	}
	if (order->heap.nr)
		sink(order);
}
