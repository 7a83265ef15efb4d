/* SPDX-License-Identifier: MIT */
/*
 * forks - what forked children start with, from the parent's event to the child's hello.
 *
 *	forks_add(&forks, sequence, heritage, now_ns);		// the parent is about to fork
 *	heritage = forks_take(&forks, sequence);		// the child is there; NULL: not yet
 *	forks_forget(&forks, now_ns);				// now and then
 *	forks_release(&forks);
 *
 * A fork may fail, and a child may be killed before it says anything.
 */
#ifndef RECORD_HEAP_FORKS_H
#define RECORD_HEAP_FORKS_H

#include <stdint.h>

#include "base/vec.h"
#include "record/heap/heritage.h"

#define FORKS_KEPT_NS UINT64_C(10000000000)

struct forks {
	VEC(struct fork {
		uint64_t sequence; /* of the event */
		uint64_t time_ns;
		struct heritage *heritage;
	})
	all; /* oldest first */
};

void forks_add(struct forks *forks, uint64_t sequence, struct heritage *heritage, uint64_t time_ns);
/* The caller's from here on. */
struct heritage *forks_take(struct forks *forks, uint64_t sequence);
/* Frees what nobody has taken for so long: no child needs that to say hello. */
void forks_forget(struct forks *forks, uint64_t now_ns);
void forks_release(struct forks *forks);

#endif
