/* SPDX-License-Identifier: MIT */
/*
 * toy_profile - profiles made in memory, for tests of what reads them.
 *
 *	struct toy *toy = toy_new();
 *	uint32_t leaf = toy_stack(toy, "main", "work", NULL);
 *
 *	toy_sample(toy, leaf, "cycles", 300, 1000);	// 300 samples of weight 1000
 *	use(toy_profile(toy));				// now complete
 *	toy_free(toy);
 *
 * One process and one thread are there from the start.  A frame is named "function",
 * "module:function", and optionally "@file:line" follows; "a|b" is b inlined into a; "?12" is an
 * address 0x12 that has no name, "..." stands for missing callers, "...9" for 9 elided frames.
 */
#ifndef TOY_PROFILE_H
#define TOY_PROFILE_H

#include "store/reader.h"

struct toy;

struct toy *toy_new(void);
void toy_free(struct toy *toy);

/* For what has no function here. */
struct profile_run *toy_run(struct toy *toy);
/* The one that is there; valid until another one is added. */
struct profile_process *toy_first_process(struct toy *toy);
struct profile_process *toy_process(struct toy *toy, const char *command, int pid, uint32_t parent);
uint32_t toy_thread(struct toy *toy, uint32_t process, int tid, const char *name);
struct profile_event *toy_event(struct toy *toy, const char *name, const char *unit);
void toy_module_kind(struct toy *toy, const char *module, enum profile_module_kind kind);
struct profile_heap *toy_heap(struct toy *toy, uint32_t process);
void toy_quality(struct toy *toy, enum profile_quality_kind kind, uint64_t count,
		 const char *detail);

/* Root first, NULL at the end. */
uint32_t toy_stack(struct toy *toy, ...) __attribute__((sentinel));
void toy_sample(struct toy *toy, uint32_t stack, const char *event, uint64_t samples,
		uint64_t weight);
void toy_sample_thread(struct toy *toy, uint32_t stack, uint32_t thread, const char *event,
		       uint64_t samples, uint64_t weight);
struct profile_heap_site *toy_site(struct toy *toy, uint32_t process, uint32_t stack,
				   enum profile_allocator allocator);

/* In the order of processes, then of sizes. */
void toy_size(struct toy *toy, struct profile_heap_size size);
/* In the order of processes (PROFILE_NONE first), then of time. */
void toy_slice(struct toy *toy, struct profile_slice slice);
void toy_memory(struct toy *toy, struct profile_memory memory);
/* Of event 0 and thread 0; counts in no total. */
void toy_moment(struct toy *toy, uint32_t stack, int64_t time_us, uint64_t weight);

const struct profile *toy_profile(struct toy *toy);

#endif
