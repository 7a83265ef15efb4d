/* SPDX-License-Identifier: MIT */
#include "record/stacks/remembered.h"

#include <string.h>

#include "base/map.h"
#include "base/search.h"

struct remembered_thread *remembered_of(struct remembered *remembered, uint64_t key)
{
	struct remembered_thread *thread;

	if (!remembered->at)
		remembered->at = xcalloc(REMEMBERED_THREADS, sizeof(*remembered->at));
	thread = &remembered->at[map_hash(key) % REMEMBERED_THREADS];
	if (thread->key != key) {
		thread->key = key;
		for (size_t i = 0; i < REMEMBERED_STACKS; i++)
			thread->stacks[i].frames.nr = 0;
		memset(thread->frames, 0, sizeof(thread->frames));
	}
	return thread;
}

struct remembered_thread *remembered_known(const struct remembered *remembered, uint64_t key)
{
	struct remembered_thread *thread =
		remembered->at ? &remembered->at[map_hash(key) % REMEMBERED_THREADS] : NULL;

	return thread && thread->key == key ? thread : NULL;
}

void remembered_release(struct remembered *remembered)
{
	for (size_t i = 0; remembered->at && i < REMEMBERED_THREADS; i++)
		for (size_t k = 0; k < REMEMBERED_STACKS; k++)
			vec_free(&remembered->at[i].stacks[k].frames);
	free(remembered->at);
	remembered->at = NULL;
}

struct remembered_stack *remembered_place(struct remembered_thread *thread, bool is_deep)
{
	const size_t nr_for_deep = REMEMBERED_STACKS - REMEMBERED_SHALLOW;

	return &thread->stacks[is_deep ? REMEMBERED_SHALLOW + thread->nr_deep++ % nr_for_deep
				       : thread->nr_shallow++ % REMEMBERED_SHALLOW];
}

/* Of frames the root first, sp falls; a return address is in the frame that it leads out of. */
size_t remembered_find(const struct remembered_stack *stack, uint64_t return_at)
{
	const struct walked_vec *frames = &stack->frames;
	size_t nr = search_count(frames->nr, i, frames->at[i].sp > return_at);

	return nr && nr < frames->nr && frames->at[nr - 1].return_at == return_at ? nr : 0;
}

/* And was found the same way. */
static bool is_same(const struct walked *one, const struct walked *other)
{
	return one->sp == other->sp && one->frame.pc == other->frame.pc && one->fp == other->fp &&
	       one->return_at == other->return_at && one->fp_at == other->fp_at &&
	       one->fp_lost == other->fp_lost && one->sp_lost == other->sp_lost &&
	       one->sp_read == other->sp_read;
}

/* How many frames at the root's side are what they were: mostly all but a few. */
static size_t common(const struct walked_vec *old, const struct walked_vec *walked)
{
	size_t nr = 0;

	while (nr < old->nr && nr < walked->nr &&
	       is_same(&old->at[nr], &walked->at[walked->nr - 1 - nr]))
		nr++;
	return nr;
}

void remembered_put(struct remembered_stack *stack, const struct walked_vec *walked)
{
	size_t same = common(&stack->frames, walked);

	stack->frames.nr = same;
	for (size_t i = walked->nr - same; i > 0; i--)
		vec_push(&stack->frames, walked->at[i - 1]);
}

bool remembered_callers(struct remembered_thread *thread, const struct remembered_frame *frame)
{
	struct remembered_frame *at =
		&thread->frames[map_hash(frame->sp ^ frame->function) % REMEMBERED_FRAMES];
	bool is_same = at->module == frame->module && at->function == frame->function &&
		       at->sp == frame->sp && at->callers == frame->callers;
	uint32_t nr_same = is_same ? at->nr_same + 1 : 1;

	*at = *frame;
	at->nr_same = nr_same;
	return nr_same >= REMEMBERED_USUAL;
}
