/* SPDX-License-Identifier: MIT */
/*
 * shortage - a recorder that has run out of memory lets its program end first.
 *
 *	shortage_begin();			// from here on a program depends on us
 *	...
 *	shortage_end(status);			// it has ended, and this is what we return
 *
 * By the thread that waits for the program.  Another thread that gets no memory cannot go on, but
 * as long as the process is there it passes on signals and finally the status: it calls
 * record_status_without_memory() and exits with that.
 *
 * The handler of base/alloc.h has no context, so this is the state of the process.
 */
#ifndef RECORD_SHORTAGE_H
#define RECORD_SHORTAGE_H

void shortage_begin(void);
void shortage_end(int status);

#endif
