/* SPDX-License-Identifier: MIT */
/*
 * rings - the rings of all CPUs, as large as the kernel lets us lock memory.
 *
 *	struct rings rings;
 *
 *	rings_open(&rings, events, &err);
 *	for (size_t i = 0; i < rings.nr; i++)
 *		read(&rings.of[RING_DATA][i]);
 *	rings_close(&rings);
 *
 * Three on each CPU: small ones for what must not be lost, which samples cannot fill up - of forks,
 * names and exits, which wakes us at once, and of mappings - and one for samples.  What a user may lock is limited
 * (kernel.perf_event_mlock_kb a CPU, RLIMIT_MEMLOCK), so the largest size that all CPUs can have is
 * found by trying.
 *
 * A ring belongs to an event of its own, on ourselves, that never happens; those of the program
 * write into it.  So it serves any number of threads and does not end with one of them.
 */
#ifndef RECORD_RING_RINGS_H
#define RECORD_RING_RINGS_H

#include "base/error.h"
#include "record/events/events.h"
#include "record/ring/ring.h"

enum ring_kind {
	RING_NAMES,
	RING_SIDE,
	RING_DATA,
	RING_KINDS,
};

struct rings {
	struct ring *of[RING_KINDS]; /* nr each */
	int *fds[RING_KINDS];	     /* what they belong to; for poll() */
	size_t nr;
	size_t data_bytes; /* of each ring of samples */
};

/* Of all events that are open by now. */
int rings_open(struct rings *rings, const struct events *events, struct error *err);
void rings_close(struct rings *rings);

#endif
