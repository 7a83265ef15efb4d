/* SPDX-License-Identifier: MIT */
/*
 * trial - whether an event can be counted over a program, found out by opening it.
 *
 *	bool user_only = false;
 *
 *	for each event
 *		if (!trial_of_event(type, &access, &user_only, &status, &reason))
 *			say(reason);
 */
#ifndef STAT_TRIAL_H
#define STAT_TRIAL_H

#include "record/events/access.h"
#include "store/profile.h"

/*
 * False: it cannot, with the status and the reason (to be freed).  *user_only: no more than user
 * code may be counted, which is known or found out here; an event to which that does not apply (one
 * of the kernel's, or name:k) then is not permitted.
 */
bool trial_of_event(const struct event_type *type, const struct access *access, bool *user_only,
		    enum profile_status *status, char **reason);

#endif
