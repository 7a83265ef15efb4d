/* SPDX-License-Identifier: MIT */
/*
 * commit_signal - SIGUSR1, by which a recording is asked to commit what it has.
 *
 *	commit_signal_ignore();		// first of all
 *	...
 *	commit_signal_restore();	// in a child, before it executes something else
 *
 * It is sent to all that is called cprof, as by pkill(1): to a recording that is just over, to what
 * looks up names for it, to a report.  None of these may end by it.  A signal that is blocked comes
 * to who takes it, ignored or not.
 */
#ifndef BASE_COMMIT_SIGNAL_H
#define BASE_COMMIT_SIGNAL_H

void commit_signal_ignore(void);
/* As it was before; nothing if it was not ignored. */
void commit_signal_restore(void);

#endif
