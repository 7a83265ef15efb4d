/* SPDX-License-Identifier: MIT */
#include "record/heap/fault_queue.h"

#include <stdlib.h>

#include "base/vec.h"

#define AT_ONCE 1024
#define DONE (-1) /* in the place of a pid */

void fault_queue_release(struct fault_queue *queue)
{
	vec_free(&queue->fresh);
	vec_free(&queue->again);
}

/* What is done is given back when it is the larger part. */
static void tidy(struct queued_faults *faults)
{
	if (!faults->next || faults->next < faults->nr / 2)
		return;
	faults->nr -= faults->next;
	memmove(faults->at, faults->at + faults->next, faults->nr * sizeof(faults->at[0]));
	faults->next = 0;
}

static int by_time(const void *a, const void *b)
{
	const struct fault *s = a, *t = b;

	return s->time_ns < t->time_ns ? -1 : s->time_ns > t->time_ns;
}

/* Those from `first` on are new; of the others only the last ones are later than any of them. */
static void sort(struct queued_faults *faults, size_t first)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = first; i < faults->nr; i++)
		if (faults->at[i].time_ns < earliest)
			earliest = faults->at[i].time_ns;
	while (first > faults->next && faults->at[first - 1].time_ns > earliest)
		first--;
	if (first < faults->nr)
		qsort(faults->at + first, faults->nr - first, sizeof(faults->at[0]), by_time);
}

void fault_queue_fill(struct fault_queue *queue, heap_take_faults *take, void *context)
{
	struct queued_faults *fresh = &queue->fresh;
	size_t nr, before;

	tidy(fresh);
	tidy(&queue->again);
	before = fresh->nr;
	do {
		vec_reserve(fresh, fresh->nr + AT_ONCE);
		nr = take(context, fresh->at + fresh->nr, AT_ONCE);
		fresh->nr += nr;
	} while (nr == AT_ONCE);
	sort(fresh, before);
}

static bool is_due(const struct queued_faults *faults, uint64_t until_ns)
{
	return faults->next < faults->nr && faults->at[faults->next].time_ns <= until_ns;
}

const struct fault *fault_queue_next(struct fault_queue *queue, uint64_t until_ns)
{
	bool fresh = is_due(&queue->fresh, until_ns), again = is_due(&queue->again, until_ns);
	struct queued_faults *from;

	if (!fresh && !again)
		return NULL;
	queue->is_again = again && (!fresh || queue->again.at[queue->again.next].time_ns <
						      queue->fresh.at[queue->fresh.next].time_ns);
	from = queue->is_again ? &queue->again : &queue->fresh;
	queue->current = from->at[from->next++];
	return &queue->current;
}

static uint64_t next_ns(const struct queued_faults *faults)
{
	return faults->next < faults->nr ? faults->at[faults->next].time_ns : UINT64_MAX;
}

uint64_t fault_queue_next_ns(const struct fault_queue *queue)
{
	uint64_t fresh = next_ns(&queue->fresh), again = next_ns(&queue->again);

	return fresh < again ? fresh : again;
}

bool fault_queue_again(struct fault_queue *queue)
{
	struct fault later = queue->current;

	if (queue->is_again)
		return false;
	later.time_ns += FAULT_AGAIN_NS;
	vec_push(&queue->again, later); /* in order, as those were */
	return true;
}

static void take_of(struct queued_faults *faults, int32_t pid,
		    void (*use)(void *context, const struct fault *fault), void *context)
{
	for (size_t i = faults->next; i < faults->nr; i++) {
		if (faults->at[i].pid != pid)
			continue;
		use(context, &faults->at[i]);
		faults->at[i].pid = DONE;
	}
}

void fault_queue_take_of(struct fault_queue *queue, int32_t pid,
			 void (*use)(void *context, const struct fault *fault), void *context)
{
	take_of(&queue->fresh, pid, use, context);
	take_of(&queue->again, pid, use, context);
}
