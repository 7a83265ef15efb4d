/* SPDX-License-Identifier: MIT */
/*
 * memory - looks now and then at how much memory the processes have, by the kernel's count.
 *
 *	memory_start(&memory, aggregate, images, start_ns, &err);	// the program runs
 *	...
 *	memory_finish(memory);		// before unaccounted_finish()
 *
 * A thread of its own reads /proc/PID/status, which anybody may and which costs 15 us whatever the
 * size of the process (smaps_rollup: 5 ms for 800 MB): every 2 ms at first, every 50 ms after some
 * seconds, and for at most a hundredth of the time, however many processes there are.
 * What is kept of a process is bounded: of moments close together the one with the most memory.
 */
#ifndef RECORD_MEMORY_H
#define RECORD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "record/images.h"

struct memory;

/* start_ns: of the recording, CLOCK_MONOTONIC. */
int memory_start(struct memory **memory, struct aggregate *aggregate, struct images *images,
		 uint64_t start_ns, struct error *err);
/* Takes NULL. */
void memory_finish(struct memory *memory);

/* The figures of /proc/PID/status; false: not that of a process with memory. */
bool memory_parse(const char *status, struct profile_memory *memory);

#endif
