/* SPDX-License-Identifier: MIT */
#include "record/events/pfm.h"

#ifdef HAVE_PFM

#include <perfmon/pfmlib_perf_event.h>

int pfm_find(struct event_type *type, const char *name)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t encoding = { .size = sizeof(encoding), .attr = &attr };

	if (pfm_initialize() != PFM_SUCCESS ||
	    pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding) !=
		    PFM_SUCCESS)
		return ERR_USAGE;
	*type = (struct event_type){ .type = attr.type,
				     .config = attr.config,
				     .config1 = attr.config1,
				     .config2 = attr.config2,
				     .rate_divisor = 4,
				     .exclude_user = attr.exclude_user,
				     .exclude_kernel = attr.exclude_kernel };
	return 0;
}

#else

int pfm_find(struct event_type *type, const char *name)
{
	(void)type, (void)name;
	return ERR_USAGE;
}

#endif
