/* SPDX-License-Identifier: MIT */
/*
 * privileges - capabilities of cprof's own file, given up when they have served.
 *
 *	open_all_events();
 *	privileges_give_up();
 *	start_the_program();
 *
 * `setcap cap_perfmon+ep cprof` lets an ordinary user sample.  But the kernel shields such a
 * process from all without its capabilities: the program could not open the memory that its heap
 * is accounted in, /proc/<pid of cprof>/fd/N.  Descriptors that are open stay usable.
 */
#ifndef RECORD_TARGET_PRIVILEGES_H
#define RECORD_TARGET_PRIVILEGES_H

/* Of the calling thread and those it starts.  Does nothing to root, or where there are none. */
void privileges_give_up(void);

#endif
