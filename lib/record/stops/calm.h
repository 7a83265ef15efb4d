/* SPDX-License-Identifier: MIT */
/*
 * calm - opens something at each thread of processes that run already, while none of these starts
 * or ends.
 *
 *	const struct calm calm = { attach, TRIES, HALT_MOST_NS, context, open, opened, close };
 *
 *	ret = calm_open(&calm, &why, &err);	// 1: at all of them
 *	if (!ret)
 *		make_do(&why);
 *
 * What a thread starts inherits its events, but one that is found by looking again may have been
 * started before or after these were opened: nothing tells.  A list of threads may also miss the
 * successor of one that ends, and one that is just being started is in no list.  So what was opened
 * gets a moment to settle in and, should the threads be others by then, is opened anew; after some
 * tries all threads are halted for as long as that takes, see halt.h.
 */
#ifndef RECORD_STOPS_CALM_H
#define RECORD_STOPS_CALM_H

#include <stdint.h>

#include "base/error.h"
#include "record/target/attach.h"

struct calm {
	const struct attach *attach;
	unsigned int tries;    /* before they are halted, as long as these are short ones */
	uint64_t halt_most_ns; /* not at all where the last try took longer */
	void *context;
	/* At each of these, but for what has ended meanwhile. */
	int (*open)(void *context, const struct attach_threads *threads, struct error *err);
	/* What is best done before any other thread starts; NULL: nothing. */
	void (*opened)(void *context);
	void (*close)(void *context);
};

/* 1: open at all; 0: at none, they do not keep calm and cannot be halted, `why` says why not;
 * negative: what open() returned. */
int calm_open(const struct calm *calm, struct error *why, struct error *err);

#endif
