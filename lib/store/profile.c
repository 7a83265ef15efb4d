/* SPDX-License-Identifier: MIT */
#include "store/profile.h"

static const char *const status_names[PROFILE_NR_STATUS] = {
	[PROFILE_COUNTED] = "counted",
	[PROFILE_SCALED] = "scaled",
	[PROFILE_NOT_COUNTED] = "not-counted",
	[PROFILE_NOT_SUPPORTED] = "not-supported",
	[PROFILE_NOT_PERMITTED] = "not-permitted",
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
};

static const char *const quality_names[PROFILE_NR_QUALITY] = {
	[PROFILE_LOST] = "lost",
	[PROFILE_TRUNCATED] = "truncated",
	[PROFILE_NO_SYMBOL] = "no-symbol",
	[PROFILE_NO_DEBUG] = "no-debug",
	[PROFILE_UNTRACKED] = "untracked",
	[PROFILE_THROTTLED] = "throttled",
	[PROFILE_SUBSTITUTED] = "substituted",
	[PROFILE_BOUNDED] = "bounded",
	[PROFILE_OVERHEAD] = "overhead",
	[PROFILE_UNREADABLE] = "unreadable",
	[PROFILE_INTERRUPTED] = "interrupted",
};

const char *profile_status_name(enum profile_status status)
{
	return status_names[status];
}

const char *profile_allocator_name(enum profile_allocator allocator)
{
	return allocator_names[allocator];
}

const char *profile_quality_name(enum profile_quality_kind kind)
{
	return quality_names[kind];
}
