/* SPDX-License-Identifier: MIT */
/*
 * supervise - waits for the program, and does what signals ask for meanwhile.
 *
 *	supervise_begin(&supervisor, &err);	// before any thread: signals come here from now on
 *	...
 *	switch (supervise_wait(&supervisor, pid, other_fd)) {
 *	case SUPERVISE_ENDED:		// supervisor.wait_status
 *	case SUPERVISE_LEAVE:		// asked twice to stop: leave the program running
 *	case SUPERVISE_COMMIT:		// SIGUSR1; call again
 *	case SUPERVISE_OTHER:		// other_fd is readable; call again
 *	}
 *	supervise_end(&supervisor);
 *
 * What the terminal sends (^C, ^\, hangup) has reached the program too, as long as it is in our
 * process group.  What others send to us alone (SIGTERM, SIGHUP, SIGQUIT, SIGINT, SIGTSTP) is
 * passed on to it.  When the program is stopped as a job (^Z, or by reading the terminal in the
 * background) we stop too, so that the shell takes over; fg continues both.  When it dies of a
 * signal the terminal is set as it was at the start.
 */
#ifndef RECORD_TARGET_SUPERVISE_H
#define RECORD_TARGET_SUPERVISE_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/target/terminal_modes.h"

enum supervise_event {
	SUPERVISE_ENDED,
	SUPERVISE_LEAVE,
	SUPERVISE_COMMIT,
	SUPERVISE_OTHER,
};

struct supervisor {
	int signal_fd;
	uint64_t asked_ns; /* when the last signal was passed on; 0: none yet */
	int asked;	   /* the signal by which somebody asked for the end; 0: nobody did */
	uint64_t ended_ns; /* when the program was seen to have ended */
	struct terminal_modes modes;
	int wait_status;
	struct rusage usage; /* of the program and of what it waited for */
};

int supervise_begin(struct supervisor *supervisor, struct error *err);
/* Signals stay blocked: launch_restore_signals() brings back what was. */
void supervise_end(struct supervisor *supervisor);

/* pid: -1 for processes that are not our children: then SUPERVISE_LEAVE is what a signal asks for,
 * and they do not hear of it.  other_fd: -1 for none. */
enum supervise_event supervise_wait(struct supervisor *supervisor, pid_t pid, int other_fd);

/* The signal by which somebody has asked for the end until now, while no program runs too; 0. */
int supervise_asked(struct supervisor *supervisor);

#endif
