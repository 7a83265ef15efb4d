/* SPDX-License-Identifier: MIT */
/*
 * track - what a thread needs to record events: a ring and a walker.
 *
 *	struct track *track = track_get(level);
 *	if (track)
 *		ring_put(&track->ring, &event);
 *
 * A thread gets one with its first event, and one for each further level of nesting.  Nothing says
 * when it ends (it may allocate after every hook that libc offers), so it never gives one back: a
 * new thread looks for the ring of one that is dead, and takes over its ring and track.  The child
 * of a fork starts with none.
 */
#ifndef SHIM_TRACK_H
#define SHIM_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/ring.h"
#include "shim/sampler.h"
#include "shim/walk.h"

/* Nesting: the program, a signal handler that interrupted the shim, and one that interrupted that.
 */
#define TRACK_LEVELS 3

struct track {
	struct ring ring;
	/* See count.h. */
	struct sampler sampler;
	uint64_t chosen_at; /* operations so far when the last block of the sample came */
	bool in_realloc;    /* of a block of the sample */

	struct walk walk;
};

/* All that the shim keeps in thread-local storage. */
struct self {
	uintptr_t hook[TRACK_LEVELS]; /* see guard.h */
	struct track *track[TRACK_LEVELS];
	uint64_t fork_sequence; /* of the WIRE_FORK while it forks, or 0 */
	uint64_t stack_top;	/* of the thread; the child of its fork runs on the same stack */
};

extern __thread struct self self __attribute__((tls_model("initial-exec")));

/* A new one for the calling thread; NULL if there is none to be had, nor will be: see count_apart(). */
struct track *track_claim(unsigned int level);

/* In the child of a fork: the rings of the parent are not ours.  The memory of the forking thread's
 * track is, with what its walker knows of the program, unless the thread returns into it. */
void track_inherit(bool is_free);

static inline struct track *track_get(unsigned int level)
{
	struct track *track = self.track[level];

	return __builtin_expect(track != NULL, 1) ? track : track_claim(level);
}

#endif
