/* SPDX-License-Identifier: MIT */
#include "record/ring/merge.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

void merge_release(struct merge *merge)
{
	vec_each(merge, entry) free(*entry);
	vec_free(merge);
}

void merge_round(struct merge *merge, uint64_t now_ns)
{
	if (now_ns - merge->round < MERGE_SLACK_NS)
		return;
	merge->barrier = merge->round;
	merge->round = now_ns;
}

void merge_end(struct merge *merge)
{
	merge->barrier = UINT64_MAX;
}

static bool is_before(const struct merge_entry *a, const struct merge_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void rise(struct merge_entry **heap, size_t i)
{
	struct merge_entry *entry = heap[i];

	for (; i && is_before(entry, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = entry;
}

static void sink(struct merge_entry **heap, size_t nr, size_t i)
{
	struct merge_entry *entry = heap[i];

	for (size_t child; (child = 2 * i + 1) < nr; i = child) {
		if (child + 1 < nr && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], entry))
			break;
		heap[i] = heap[child];
	}
	heap[i] = entry;
}

struct merge_entry *merge_add(struct merge *merge, uint64_t time_ns, size_t size)
{
	struct merge_entry *entry = xmalloc(offsetof(struct merge_entry, header) + size);

	entry->time_ns = time_ns;
	entry->number = merge->nr_added++;
	entry->source = 0;
	entry->context = NULL;
	entry->size = size;
	vec_push(merge, entry);
	rise(merge->at, merge->nr - 1);
	return entry;
}

struct merge_entry *merge_next(struct merge *merge)
{
	struct merge_entry *oldest;

	if (!merge->nr || merge->at[0]->time_ns > merge->barrier)
		return NULL;
	oldest = merge->at[0];
	merge->at[0] = merge->at[--merge->nr];
	if (merge->nr)
		sink(merge->at, merge->nr, 0);

	if (oldest->time_ns < merge->passed)
		merge->nr_late++;
	else
		merge->passed = oldest->time_ns;
	return oldest;
}

void merge_entry_free(struct merge_entry *entry)
{
	free(entry);
}
