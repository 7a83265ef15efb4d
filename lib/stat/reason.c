/* SPDX-License-Identifier: MIT */
#include "stat/reason.h"

#include <errno.h>

#include "base/alloc.h"

static char *by_access(const struct access *access, int errno_value, const struct event_type *type,
		       enum profile_status *status)
{
	struct error err = ERROR_INIT;
	int code;

	/* What is missing for one reason is told once, so the reason must not name the event. */
	if (errno_value == ENOENT && !event_type_is_software(type)) {
		if (access->has_pmu) {
			*status = PROFILE_NOT_SUPPORTED;
			return xstrdup("the PMU of this CPU has no such event");
		}
		type = event_type_find("cycles");
	}
	code = access_explain(access, errno_value, type, &err);
	*status = code == ERR_REFUSED ? PROFILE_NOT_PERMITTED : PROFILE_NOT_SUPPORTED;
	return *err.hint ? xasprintf("%s; %s", err.message, err.hint) : xstrdup(err.message);
}

static char *not_for_a_program(const struct event_type *type)
{
	if (type->system_wide)
		return xstrdup("its PMU counts for a socket or the whole machine, not for one "
			       "program");
	return xstrdup("the PMU cannot count this for one program, or not with what is to be left "
		       "out (kernel or user code)");
}

char *reason_refused(const struct access *access, int errno_value, const struct event_type *type,
		     enum profile_status *status)
{
	if (errno_value != EINVAL)
		return by_access(access, errno_value, type, status);
	*status = PROFILE_NOT_SUPPORTED;
	return not_for_a_program(type);
}

char *reason_group_too_large(enum profile_status *status)
{
	*status = PROFILE_NOT_COUNTED;
	return xstrdup("the events of this group do not fit on the counters together");
}

char *reason_kernel_refused(const struct access *access, enum profile_status *status)
{
	*status = PROFILE_NOT_PERMITTED;
	return xasprintf("perf shows what happens in the kernel to privileged users only "
			 "(kernel.perf_event_paranoid is %d); as root: sysctl "
			 "kernel.perf_event_paranoid=1, or: setcap cap_perfmon+ep on cprof",
			 access->paranoid);
}

char *reason_never_scheduled(void)
{
	return xstrdup("the counters were never free for it: taken by another program or by the "
		       "NMI watchdog (as root: sysctl kernel.nmi_watchdog=0), or the run was too "
		       "short for taking turns, or the program gained privileges at its exec");
}
