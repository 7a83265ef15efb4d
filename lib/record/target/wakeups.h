/* SPDX-License-Identifier: MIT */
/*
 * wakeups - what may happen while the program runs, as one descriptor to wait for.
 *
 *	struct wakeups wakeups;
 *
 *	wakeups_open(&wakeups, &err);
 *	wakeups_when(&wakeups, fd, WAKEUP_FILE_FAILED);	// fd becomes readable
 *	wakeups_after(&wakeups, 2500000000, WAKEUP_TIME_OVER);
 *	poll(wakeups.fd);
 *	switch (wakeups_next(&wakeups)) { ... }
 *	wakeups_close(&wakeups);
 *
 * Each comes once, but for those of wakeups_every(), of which several that were missed are one.
 */
#ifndef RECORD_TARGET_WAKEUPS_H
#define RECORD_TARGET_WAKEUPS_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

enum wakeup {
	WAKEUP_NONE,
	WAKEUP_FILE_FAILED,
	WAKEUP_DELAY_OVER,
	WAKEUP_TIME_OVER,
	WAKEUP_PROCESS_ENDED,
	WAKEUP_INTERVAL,
};

struct wakeups {
	int fd;		 /* readable when there is one */
	VEC(int) timers; /* descriptors */
};

int wakeups_open(struct wakeups *wakeups, struct error *err);
/* fd -1: there is none. */
void wakeups_close(struct wakeups *wakeups);

/* fd stays the caller's. */
int wakeups_when(struct wakeups *wakeups, int fd, enum wakeup what, struct error *err);
/* after_ns: more than 0. */
int wakeups_after(struct wakeups *wakeups, int64_t after_ns, enum wakeup what, struct error *err);
int wakeups_every(struct wakeups *wakeups, int64_t every_ns, enum wakeup what, struct error *err);

enum wakeup wakeups_next(struct wakeups *wakeups);

#endif
