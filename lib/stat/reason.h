/* SPDX-License-Identifier: MIT */
/*
 * reason - why an event was not counted, in one piece with what lifts it.
 */
#ifndef STAT_REASON_H
#define STAT_REASON_H

#include "record/events/access.h"
#include "store/profile.h"

/* Free what is returned.  These also say which status it is. */
char *reason_refused(const struct access *access, int errno_value, const struct event_type *type,
		     enum profile_status *status);
/* The event counts, but nothing that happens in the kernel: too little of it. */
char *reason_kernel_refused(const struct access *access, enum profile_status *status);
/* The members of a group in braces. */
char *reason_group_too_large(enum profile_status *status);
char *reason_never_scheduled(void);

#endif
