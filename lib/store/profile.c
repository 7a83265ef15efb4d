/* SPDX-License-Identifier: MIT */
#include "store/profile.h"

static const char *const status_names[PROFILE_NR_STATUS] = {
	[PROFILE_COUNTED] = "counted",
	[PROFILE_SCALED] = "scaled",
	[PROFILE_NOT_COUNTED] = "not-counted",
	[PROFILE_NOT_SUPPORTED] = "not-supported",
	[PROFILE_NOT_PERMITTED] = "not-permitted",
};

static const char *const module_kind_names[PROFILE_MODULE_NR] = {
	[PROFILE_MODULE_FILE] = "file",	      [PROFILE_MODULE_KERNEL] = "kernel",
	[PROFILE_MODULE_VDSO] = "vdso",	      [PROFILE_MODULE_ANONYMOUS] = "anonymous",
	[PROFILE_MODULE_UNKNOWN] = "unknown", [PROFILE_MODULE_SELF] = "self",
};

static const char *const debug_names[PROFILE_DEBUG_NR] = {
	[PROFILE_DEBUG_NOT_TRIED] = "not-tried",
	[PROFILE_DEBUG_FULL] = "full",
	[PROFILE_DEBUG_SYMBOLS] = "symbols",
	[PROFILE_DEBUG_NONE] = "none",
};

static const char *const allocator_names[PROFILE_NR_ALLOCATORS] = {
	[PROFILE_MALLOC] = "malloc",
	[PROFILE_CALLOC] = "calloc",
	[PROFILE_REALLOC] = "realloc",
	[PROFILE_REALLOCARRAY] = "reallocarray",
	[PROFILE_POSIX_MEMALIGN] = "posix_memalign",
	[PROFILE_ALIGNED_ALLOC] = "aligned_alloc",
	[PROFILE_MEMALIGN] = "memalign",
	[PROFILE_VALLOC] = "valloc",
	[PROFILE_PVALLOC] = "pvalloc",
	[PROFILE_NEW] = "operator new",
	[PROFILE_NEW_ARRAY] = "operator new[]",
};

static const char *const quality_names[PROFILE_NR_QUALITY] = {
	[PROFILE_LOST] = "lost",
	[PROFILE_TRUNCATED] = "truncated",
	[PROFILE_STITCHED] = "stitched",
	[PROFILE_NO_SYMBOL] = "no-symbol",
	[PROFILE_NO_DEBUG] = "no-debug",
	[PROFILE_UNTRACKED] = "untracked",
	[PROFILE_THROTTLED] = "throttled",
	[PROFILE_SUBSTITUTED] = "substituted",
	[PROFILE_BOUNDED] = "bounded",
	[PROFILE_OVERHEAD] = "overhead",
	[PROFILE_UNREADABLE] = "unreadable",
	[PROFILE_INTERRUPTED] = "interrupted",
	[PROFILE_UNSAMPLED] = "unsampled",
};

enum profile_status profile_status_of(double coverage)
{
	if (coverage <= 0)
		return PROFILE_NOT_COUNTED;
	return coverage < 0.99 ? PROFILE_SCALED : PROFILE_COUNTED;
}

const char *profile_status_name(enum profile_status status)
{
	return status_names[status];
}

const char *profile_module_kind_name(enum profile_module_kind kind)
{
	return module_kind_names[kind];
}

const char *profile_debug_name(enum profile_debug debug)
{
	return debug_names[debug];
}

const char *profile_allocator_name(enum profile_allocator allocator)
{
	return allocator_names[allocator];
}

const char *profile_quality_name(enum profile_quality_kind kind)
{
	return quality_names[kind];
}
