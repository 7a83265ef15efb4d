/* SPDX-License-Identifier: MIT */
/*
 * stops - threads of other processes, each stopped by ptrace for a moment to be looked at.
 *
 *	struct stops stops;
 *
 *	stops_open(&stops, child, &err);	// by the thread that does all that follows
 *	stops_ask(&stops, tid);			// it stops as soon as it runs
 *	while (stops_next(&stops, &stop)) {	// those that have stopped
 *		stop_read(&stop, &registers);
 *		stops_let_go(&stops, &stop);
 *	}
 *	stops_wait(&stops, fd, until_ns, &stop);	// sleeps: for a stop, for fd, a timer
 *	stops_halt(&stops, &halted, until_ns);	// or: all of them, to stay so together
 *	stops_close(&stops);
 *
 * A thread is traced from ask to let_go only, some ten microseconds, and not between samples: all
 * that a tracer would meddle with - signals, stops of jobs, execs, set-uid, other tracers - goes on
 * without us.  What does fall into this moment is left as it was:
 *
 *	a signal that is delivered	is delivered when the thread is let go
 *	a stop of the job		stays one; our process gets a SIGCHLD, to look again
 *	a system call interrupted	is taken up again by the kernel; the few that return EINTR
 *					after any stop (epoll_wait) are made to, on x86-64
 *	the end of the thread		is told to its parent
 *	our own end, by SIGKILL too	lets all go on
 *
 * Ask for threads that run: then there is no system call to interrupt but by a rare coincidence.
 * The end of `child`, a child of ours, is left to whoever waits for it: by wait calls that do
 * not take away what is ours, see supervise.c.
 */
#ifndef RECORD_STOPS_STOPS_H
#define RECORD_STOPS_STOPS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "arch/arch.h"
#include "base/error.h"

struct stops {
	pid_t child;
	timer_t alarm;
	bool has_alarm;
	struct stops_pending {
		pid_t *at;
		size_t nr, room;
	} pending; /* asked, and not let go */
};

/* A thread that has stopped. */
struct stop {
	pid_t tid;
	int status; /* the signal and the event << 8 */
};

struct stops_halted {
	struct stop *at;
	size_t nr, room;
};

/* Ends a wait; blocked otherwise.  Harmless should it ever reach anybody else. */
#define STOPS_SIGNAL SIGURG

/* One that sends STOPS_SIGNAL to the calling thread.  -errno. */
int stops_make_timer(timer_t *timer, clockid_t clock);

/* Whether the process may be looked at so, which does nothing to it. */
int stops_probe(pid_t pid, struct error *err);

/* child: 0: none. */
int stops_open(struct stops *stops, pid_t child, struct error *err);
/* Whatever is still stopped goes on, at the latest when this thread ends. */
void stops_close(struct stops *stops);

/* -errno: ESRCH or EPERM where it has ended, EPERM also where it is traced by others or not ours
 * to look at. */
int stops_ask(struct stops *stops, pid_t tid);

bool stops_next(struct stops *stops, struct stop *stop);
/* False: there is something to read from fd, STOPS_SIGNAL came, or the time (CLOCK_MONOTONIC). */
bool stops_wait(struct stops *stops, int fd, uint64_t until_ns, struct stop *stop);

/* Appends those that have stopped, until all that were asked did or have ended.  False: the time is
 * over.  Not together with stops_wait(). */
bool stops_halt(struct stops *stops, struct stops_halted *halted, uint64_t until_ns);

struct stop_registers {
	uint64_t pc, sp;
	bool is_32_bit;	    /* nothing but pc is known */
	bool ends_call;	    /* it stands at the end of a system call; known on x86-64 */
	uint64_t words[64]; /* as in a sample of perf's that asked for ARCH_PERF_MASK */
};

/* -errno: it was killed meanwhile. */
int stop_read(const struct stop *stop, struct stop_registers *registers);

void stops_let_go(struct stops *stops, const struct stop *stop);

#endif
