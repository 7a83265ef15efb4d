/* SPDX-License-Identifier: MIT */
/*
 * aggregate - the profile while it is being recorded.
 *
 *	module = aggregate_module(aggregate, &(struct profile_module){ .path = ... });
 *	address = aggregate_address(aggregate, PROFILE_ADDRESS_CODE, module, vaddr);
 *	stack = aggregate_stack(aggregate, caller_stack, address);
 *	aggregate_sample(aggregate, &(struct profile_sample){ ..., .stack = stack });
 *	...
 *	aggregate_flush(aggregate, &sink, context);	// by the writer thread, once a second
 *
 * Both sides fill it: the rings thread with samples, the collector thread with heap figures; the
 * writer thread takes out what is new or changed.  Every function may be called from any thread;
 * none touches a file.  It gives out the ids of everything but events.  Strings are copied.  Rows of
 * processes, threads and heaps are forgotten when they are passed on: whoever changes one says all of
 * it again.
 */
#ifndef RECORD_AGGREGATE_AGGREGATE_H
#define RECORD_AGGREGATE_AGGREGATE_H

#include "store/profile.h"

struct aggregate;

struct aggregate *aggregate_new(void);
void aggregate_free(struct aggregate *aggregate);

/* The id of the module with this kind, path, name and build id; the argument's id is ignored.  A
 * module that is known already keeps its first open_path and reason. */
uint32_t aggregate_module(struct aggregate *aggregate, const struct profile_module *module);
/* Ids are below; the texts stay as long as the aggregate. */
uint32_t aggregate_nr_modules(struct aggregate *aggregate);
struct profile_module aggregate_module_at(struct aggregate *aggregate, uint32_t id);
uint32_t aggregate_address(struct aggregate *aggregate, enum profile_address_kind kind,
			   uint32_t module, uint64_t value);
/* parent: PROFILE_NONE for the outermost frame. */
uint32_t aggregate_stack(struct aggregate *aggregate, uint32_t parent, uint32_t address);
/*
 * The stack of nr frames, outermost first, their ids ignored; PROFILE_NONE if there are none.  The
 * same as the two above for each frame, but under one lock, and a stack that was there before is
 * found as a whole: for samples.
 */
uint32_t aggregate_stack_of(struct aggregate *aggregate, const struct profile_address *frames,
			    size_t nr);

/* A row whose id is PROFILE_NONE is new and gets one; another id replaces that row. */
uint32_t aggregate_process(struct aggregate *aggregate, const struct profile_process *process);
uint32_t aggregate_thread(struct aggregate *aggregate, const struct profile_thread *thread);
void aggregate_event(struct aggregate *aggregate, const struct profile_event *event);

void aggregate_sample(struct aggregate *aggregate, const struct profile_sample *sample);

/* Replaces the figures of the image, or of the tree. */
void aggregate_heap(struct aggregate *aggregate, const struct profile_heap *heap);
/* Replaces the figures of (process, stack, allocator).  Its histograms are copied. */
void aggregate_heap_site(struct aggregate *aggregate, const struct profile_heap_site *site);
/* Replaces those of (process, most_bytes). */
void aggregate_heap_size(struct aggregate *aggregate, const struct profile_heap_size *size);
/* Replaces the figures of (process, tid). */
void aggregate_heap_thread(struct aggregate *aggregate, const struct profile_heap_thread *thread);
void aggregate_heap_handoff(struct aggregate *aggregate,
			    const struct profile_heap_handoff *handoff);

/* More of a process (PROFILE_NONE: the tree); a row of the same time replaces that one.  whole:
 * these replace all that there were. */
void aggregate_slices(struct aggregate *aggregate, uint32_t process,
		      const struct profile_slice *slices, size_t nr, bool whole);
void aggregate_memory(struct aggregate *aggregate, uint32_t process,
		      const struct profile_memory *memory, size_t nr, bool whole);

/* Adds count to the row of kind and detail. */
void aggregate_quality(struct aggregate *aggregate, enum profile_quality_kind kind,
		       const char *detail, uint64_t count);

/* Where flushed rows go, valid during the call; store/writer.h has functions of just these shapes. */
struct aggregate_sink {
	void (*module)(void *context, const struct profile_module *module);
	void (*address)(void *context, const struct profile_address *address);
	void (*stack)(void *context, const struct profile_stack *stack);
	void (*process)(void *context, const struct profile_process *process);
	void (*thread)(void *context, const struct profile_thread *thread);
	void (*event)(void *context, const struct profile_event *event);
	void (*first_sample)(void *context, const struct profile_first_sample *sample);
	void (*later_sample)(void *context, const struct profile_later_sample *sample);
	void (*sample_sum)(void *context, const struct profile_sample_sum *sum);
	void (*heap)(void *context, const struct profile_heap *heap);
	void (*heap_site)(void *context, const struct profile_heap_site *site);
	void (*heap_size)(void *context, const struct profile_heap_size *size);
	void (*heap_thread)(void *context, const struct profile_heap_thread *thread);
	void (*heap_handoff)(void *context, const struct profile_heap_handoff *handoff);
	void (*clear_slices)(void *context, uint32_t process);
	void (*slice)(void *context, const struct profile_slice *slice);
	void (*clear_memory)(void *context, uint32_t process);
	void (*memory)(void *context, const struct profile_memory *memory);
	void (*quality)(void *context, const struct profile_quality *quality);
};

/*
 * Passes on everything that is new or changed since the last flush, referred-to rows first.  The
 * lock is held only while rows are taken over, not while the sink runs.  One flush at a time.
 */
void aggregate_flush(struct aggregate *aggregate, const struct aggregate_sink *sink, void *context);

#endif
