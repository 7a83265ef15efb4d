/* SPDX-License-Identifier: MIT */
#include "record/events/pfm.h"

#ifdef HAVE_PFM

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>

/*
 * Its tables of events take 40,000 relocations, which every start of cprof would pay for, so it is
 * loaded when a name is asked for that nothing else knows, and then stays.
 */
struct library {
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_get_os_event_encoding) *encode;
};

static bool load(struct library *library)
{
	void *handle = dlopen("libpfm.so.4", RTLD_NOW);

	if (!handle)
		return false;
	library->initialize = dlsym(handle, "pfm_initialize");
	library->encode = dlsym(handle, "pfm_get_os_event_encoding");
	return library->initialize && library->encode;
}

int pfm_find(struct event_type *type, const char *name)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t encoding = { .size = sizeof(encoding), .attr = &attr };
	struct library pfm;

	if (!load(&pfm) || pfm.initialize() != PFM_SUCCESS ||
	    pfm.encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding) != PFM_SUCCESS)
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
