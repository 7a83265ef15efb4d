/* SPDX-License-Identifier: MIT */
/*
 * session - this process and its recorder: whether, and through what, it is tracked.
 *
 *	if (session_live() || session_start())
 *		...;				// events may be recorded
 *
 * There is one, and it starts by itself with the first event or the constructor, whichever is
 * first.  It ends with session_off() and then never comes back; the process is as if the shim was
 * not there.  An exec starts anew.  A fork does too: the session's word lies in a page that the
 * kernel wipes in the child, whose mappings of the shared file are left out, and the child's first
 * session_start() gets it a segment of its own.
 */
#ifndef SHIM_SESSION_H
#define SHIM_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/area.h"
#include "shim/chosen.h"
#include "shim/modules.h"
#include "shim/trie.h"
#include "shim/wire.h"

#define SESSION_SLOTS_LOG2 16 /* slots mapped at a time; no ring is larger */

struct session {
	_Atomic uint32_t state; /* enum session_state */
	_Atomic uint64_t missed;
	_Atomic(void *) starter; /* some address of the thread that starts it */
	int32_t pid;		 /* as getpid() has it */
	int32_t outer_pid;	 /* in the recorder's eyes */
	uint32_t forked;	 /* 1: it came about by a fork */
	enum wire_mode mode;
	_Atomic bool lost; /* what is counted is lost */
	uint64_t sample_bytes;
	struct chosen chosen; /* in WIRE_MODE_SAMPLE */
	struct wire_control *control;
	bool out_of_sight; /* the recorder; see ring.h */
	struct wire_segment *segment;
	struct area slots;
	struct trie trie;
	struct modules modules;
};

extern struct session session;
extern _Atomic uint32_t *session_live_word, *session_exact_word;

static inline bool session_live(void)
{
	return atomic_load_explicit(session_live_word, memory_order_relaxed);
}

/* It is live, and every operation is an event. */
static inline bool session_exact(void)
{
	return atomic_load_explicit(session_exact_word, memory_order_relaxed);
}

/* Starts it if nobody in this process has tried before.  True if it is live.  errno stays as it
 * was. */
bool session_start(void);

/* As session_start() does, given the path that the environment should have: for tests. */
bool session_open(const char *path);

/* Ends it and says why. */
void session_off(enum wire_reason reason);

struct sock_fprog;

/* The program is about to filter its system calls: ends events if they cannot do without one of those. */
void session_filter(const struct sock_fprog *program);

/* No events from here on: they are counted, as lost.  Needs no system calls.  Forked children are not
 * followed. */
void session_count_lost(enum wire_reason reason);

#endif
