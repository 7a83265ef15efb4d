/* SPDX-License-Identifier: MIT */
/*
 * call_ends - whether samples say of system calls what the kernel says of them.
 *
 *	struct call_ends ends = { 0 };
 *
 *	call_ends_add(&ends, &thread->calls, &(struct call_sample){ .at_end = true, ... });
 *	text = call_ends_text(&ends);		// NULL: nothing to be said; free it
 *
 * A thread that was asked to stop does so when its CPU is told, or at the end of a system call if it
 * comes to one before.  Where telling takes long, as on virtual machines, samples that belong to the
 * code before short calls are at their ends.  The kernel's time by its own clock is a bound from above
 * of what calls have, since page faults are in it.
 */
#ifndef RECORD_STOPS_CALL_ENDS_H
#define RECORD_STOPS_CALL_ENDS_H

#include <stdbool.h>
#include <stdint.h>

struct call_sample {
	bool at_end;
	uint64_t used_ns;   /* CPU time since the thread's last sample */
	uint64_t kernel_ns; /* the kernel's, since the thread began */
};

/* As of a thread's last sample. */
struct call_thread {
	bool is_known;
	uint64_t kernel_ns;
};

struct call_ends {
	uint64_t nr_at_end;
	uint64_t at_end_ns, used_ns, kernel_ns;
};

/* The first one of a thread tells nothing: of what came before it is not known what was the kernel's. */
void call_ends_add(struct call_ends *ends, struct call_thread *thread,
		   const struct call_sample *sample);
char *call_ends_text(const struct call_ends *ends);

#endif
