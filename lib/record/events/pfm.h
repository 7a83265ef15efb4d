/* SPDX-License-Identifier: MIT */
/*
 * pfm - event names of the CPU's manual, by libpfm where it was there to build with
 * and still is.
 */
#ifndef RECORD_EVENTS_PFM_H
#define RECORD_EVENTS_PFM_H

#include "base/error.h"
#include "record/events/event_type.h"

/* Fills in type and config, not the name.  Negative if there is no such event, or no libpfm. */
int pfm_find(struct event_type *type, const char *name);

#endif
