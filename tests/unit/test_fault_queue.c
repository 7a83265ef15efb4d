/* SPDX-License-Identifier: MIT */
#include "record/heap/fault_queue.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "base/alloc.h"

/* Gives out a list, as many as there is room for. */
struct source {
	const struct fault *at;
	size_t nr;
};

static size_t take(void *context, struct fault *to, size_t room)
{
	struct source *source = context;
	size_t nr = source->nr < room ? source->nr : room;

	memcpy(to, source->at, nr * sizeof(*to));
	source->at += nr;
	source->nr -= nr;
	return nr;
}

static void fill(struct fault_queue *queue, const struct fault *at, size_t nr)
{
	struct source source = { at, nr };

	fault_queue_fill(queue, take, &source);
}

/* The addresses until then. */
static const char *until(struct fault_queue *queue, uint64_t time_ns)
{
	static char text[256];
	const struct fault *fault;
	size_t used = 0;

	text[0] = '\0';
	while ((fault = fault_queue_next(queue, time_ns)))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu", used ? " " : "",
					 (unsigned long)fault->address);
	return text;
}

#define gives(queue, time_ns, expected) \
	cr_expect(eq(str, (char *)until((queue), (time_ns)), (expected)))

Test(fault_queue, gives_faults_of_all_rings_in_the_order_of_time)
{
	const struct fault first[] = { { 30, 3, 1 }, { 10, 1, 1 }, { 50, 5, 1 } };
	const struct fault second[] = { { 40, 4, 1 }, { 60, 6, 1 } };
	struct fault_queue queue = { 0 };

	fill(&queue, first, ARRAY_SIZE(first));
	gives(&queue, 30, "1 3");
	gives(&queue, 30, "");
	fill(&queue, second, ARRAY_SIZE(second));
	gives(&queue, 50, "4 5");
	gives(&queue, UINT64_MAX, "6");
	fault_queue_release(&queue);
}

Test(fault_queue, looks_once_more_later)
{
	const struct fault faults[] = { { 10, 1, 1 }, { FAULT_AGAIN_NS, 2, 1 } };
	struct fault_queue queue = { 0 };

	fill(&queue, faults, ARRAY_SIZE(faults));
	cr_assert(eq(u64, fault_queue_next(&queue, 10)->address, 1));
	cr_expect(fault_queue_again(&queue));
	gives(&queue, FAULT_AGAIN_NS + 9, "2");
	cr_assert(eq(u64, fault_queue_next(&queue, FAULT_AGAIN_NS + 10)->address, 1));
	cr_expect(not(fault_queue_again(&queue)), "it is nobody's");
	gives(&queue, UINT64_MAX, "");
	fault_queue_release(&queue);
}

static void note(void *context, const struct fault *fault)
{
	*(uint64_t *)context = *(uint64_t *)context * 10 + fault->address;
}

Test(fault_queue, gives_those_of_a_process_that_is_over)
{
	const struct fault faults[] = { { 10, 1, 7 }, { 20, 2, 8 }, { 30, 3, 7 } };
	struct fault_queue queue = { 0 };
	const struct fault *left;
	uint64_t seen = 0;

	fill(&queue, faults, ARRAY_SIZE(faults));
	fault_queue_next(&queue, 10);
	fault_queue_again(&queue);
	fault_queue_take_of(&queue, 7, note, &seen);
	cr_expect(eq(u64, seen, 31));
	seen = 0;
	fault_queue_take_of(&queue, 7, note, &seen);
	cr_expect(eq(u64, seen, 0));
	left = fault_queue_next(&queue, UINT64_MAX);
	cr_expect(eq(i32, left->pid, 8));
	fault_queue_release(&queue);
}

Test(fault_queue, takes_more_than_fit_at_once)
{
	struct fault *many = xcalloc(5000, sizeof(*many));
	struct fault_queue queue = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < 5000; i++)
		many[i] = (struct fault){ 5000 - i, i, 1 };
	fill(&queue, many, 5000);
	while (fault_queue_next(&queue, UINT64_MAX))
		nr++;
	cr_expect(eq(sz, nr, 5000));
	fault_queue_release(&queue);
	free(many);
}
