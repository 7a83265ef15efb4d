/* SPDX-License-Identifier: MIT */
/*
 * feed - perf's records in the order of time, each with what had to be asked at once.
 *
 *	struct feed feed = { 0 };
 *	struct feed_record record;
 *
 *	feed_open(&feed, events, shim, &err);
 *	for (;;) {
 *		feed_read(&feed);			// what is in the rings
 *		while (feed_next(&feed, &record)) {	// what may pass
 *			use(&record);
 *			feed_make_room(&feed);		// that may have taken a while
 *		}
 *		wait();
 *	}
 *	feed_read_last(&feed);				// nothing is behind it any more
 *	while (feed_next(&feed, &record))
 *		use(&record);
 *	feed_close(&feed);
 *
 * A record's turn comes up to a tenth of a second after its time.  The process may be gone by then,
 * so files that are mapped are opened, and programs that are executed looked at, as soon as the
 * record is read.  Likewise, where it is said to be worth it, what follows the copies of stacks.
 */
#ifndef RECORD_FEED_H
#define RECORD_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "object/module.h"
#include "record/events/events.h"
#include "record/image_facts.h"
#include "record/rest.h"
#include "record/ring/decode.h"
#include "record/ring/merge.h"
#include "record/ring/rings.h"

struct feed {
	const struct events *events;
	const char *shim;
	bool reads_rest; /* the caller's: is it worth to read what follows the copy of a stack? */
	struct rest_reader rest_reader;
	struct rings rings;
	struct merge merge;
	struct modules modules;	    /* of all mappings; open until feed_close() */
	struct map awaited;	    /* pids whose arguments are not known yet */
	struct merge_entry *passed; /* the one given out */
	uint64_t nr_damaged;	    /* records that made no sense */
	uint64_t read_ns;	    /* when the rings were read last */
	uint64_t exec_ns;	    /* when an exec was read last */
};

struct feed_record {
	struct decoded decoded;
	int event;			 /* of the group; -1: of the side events */
	pid_t root;			 /* the thread this event was opened for; 0: as above */
	bool is_data;			 /* of a ring of samples */
	struct module *module;		 /* of executable code that is mapped; NULL */
	const struct image_facts *facts; /* of an exec, or what did not show until now; NULL */
	const struct stack_rest *rest;	 /* of a sample, see rest.h; NULL */
};

/* shim: as for image_facts_read(). */
int feed_open(struct feed *feed, const struct events *events, const char *shim, struct error *err);
void feed_close(struct feed *feed);

void feed_read(struct feed *feed);
/* There was an exec a moment ago: read on soon, for what the program maps. */
bool feed_sees_execs(const struct feed *feed);
/* Between records: takes in what fills the rings meanwhile, if some time has gone by.  Nothing more
 * passes by that. */
void feed_make_room(struct feed *feed);
/* All that there is passes. */
void feed_read_last(struct feed *feed);
/* False: none for now.  What it points at is valid until the next call. */
bool feed_next(struct feed *feed, struct feed_record *record);

/* Everything older has passed. */
uint64_t feed_passed_ns(const struct feed *feed);
/* Damage seen so far, in rings and in records. */
uint64_t feed_damaged(const struct feed *feed);

#endif
