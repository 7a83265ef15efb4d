/* SPDX-License-Identifier: MIT */
/*
 * channel - the memory shared with the programs that are recorded, from the recorder's side.
 *
 *	channel_open(&channel, 0, &err);	// WIRE_ENV=channel.variable for the program
 *	channel_beat(&channel, now_ns);		// ten times a second at least
 *
 *	channel_going_to_sleep(&channel);
 *	if (!anything_to_do())
 *		channel_sleep(&channel, timeout_ns);
 *
 * shim/wire.h says what is in it, and that none of it can be trusted.  It cannot shrink, so what is
 * mapped stays readable.
 */
#ifndef RECORD_HEAP_CHANNEL_H
#define RECORD_HEAP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "shim/wire.h"

#define CHANNEL_NAME "cprof-heap"

struct channel {
	int fd;
	struct wire_control *control;
	char *path;		       /* by which programs open it */
	char *variable;		       /* that tells them of it */
	void *segments[WIRE_SEGMENTS]; /* where they are mapped; NULL: not */
};

/* ring_log2: slots of a process's first rings; 0: the default. */
int channel_open(struct channel *channel, unsigned int ring_log2, struct error *err);
void channel_close(struct channel *channel);

/* Before any program opens it: how it is followed, exactly if nothing is said. */
void channel_set_mode(const struct channel *channel, enum wire_mode mode, uint64_t sample_bytes);

/* Maps a part of the file, PROT_ as for mmap(); NULL if that is refused. */
void *channel_map(const struct channel *channel, uint64_t at, size_t size, int prot);
/* Somebody claimed the segment and filled it in.  Cheap where not. */
bool channel_has_segment(const struct channel *channel, uint32_t segment);
/* A segment, mapped until it is recycled or longer; tables can only be read.  NULL if refused. */
void *channel_segment(struct channel *channel, uint32_t segment);
/*
 * Gives the segment to whoever comes next.  Its memory is zeroed and kept, mapped as it is, where
 * it is little: for the next short-lived process nobody has to make, map, and give back pages.
 */
void channel_recycle(struct channel *channel, uint32_t segment);

/* Whether the process has it mapped, as a guest in it has from before it says hello; if that cannot be read:
 * unless_known. */
bool channel_is_mapped_by(int32_t pid, bool unless_known);

/* Says that we are there.  Without it programs go on alone, after a while. */
void channel_beat(const struct channel *channel, uint64_t now_ns);
/* Says that we are gone. */
void channel_leave(const struct channel *channel);

void channel_going_to_sleep(const struct channel *channel);
void channel_sleep(const struct channel *channel, uint64_t timeout_ns);
/* From any thread. */
void channel_wake(const struct channel *channel);

/* After the tail of a ring moved: wakes who waits for room. */
void channel_wake_producers(struct wire_ring *ring);

#endif
