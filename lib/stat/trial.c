/* SPDX-License-Identifier: MIT */
#include "stat/trial.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/stops/stops.h"
#include "stat/group.h"
#include "stat/reason.h"

static int try_alone(const struct event_type *type, bool user_only)
{
	struct group group;
	int ret = group_open(&group, &type, 1, &group_here, user_only);

	group_close(&group);
	return ret;
}

/* What happens in user code alone says nothing of events that the kernel causes. */
static bool makes_sense_for_user_code(const struct event_type *type)
{
	return !type->exclude_user && type->type != PERF_TYPE_TRACEPOINT &&
	       (!event_type_is_software(type) || event_type_is_clock(type));
}

/* Over a child, as a program would be, that waits for its end. */
static bool try_stops(enum profile_status *status, char **reason)
{
	struct error err = ERROR_INIT;
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	if (child < 0)
		error_errno(&err, errno, "start a process to try it");
	else
		stops_probe(child, &err);
	if (child > 0 && !kill(child, SIGKILL))
		waitpid(child, NULL, 0);
	if (!err.code)
		return true;
	*status = err.code == ERR_REFUSED ? PROFILE_NOT_PERMITTED : PROFILE_NOT_SUPPORTED;
	*reason = *err.hint ? xasprintf("%s; %s", err.message, err.hint) : xstrdup(err.message);
	return false;
}

bool trial_of_event(const struct event_type *type, const struct access *access, bool *user_only,
		    enum profile_status *status, char **reason)
{
	if (event_type_is_stops(type))
		return try_stops(status, reason);

	int ret = *user_only ? -EACCES : try_alone(type, false);

	if (ret == -EACCES) {
		ret = try_alone(type, true);
		*user_only |= !ret && makes_sense_for_user_code(type);
		/* EINVAL: it counts, but nothing can be left out. */
		if (ret == -EINVAL || (!ret && !makes_sense_for_user_code(type))) {
			*reason = reason_kernel_refused(access, status);
			return false;
		}
	}
	if (ret < 0)
		*reason = reason_refused(access, -ret, type, status);
	return ret >= 0;
}
