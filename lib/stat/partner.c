/* SPDX-License-Identifier: MIT */
#include "stat/partner.h"

#include <string.h>

#include "base/alloc.h"

static const struct {
	const char *part, *whole;
} pairs[] = {
	{ "instructions", "cycles" },		{ "branch-misses", "branches" },
	{ "cache-misses", "cache-references" }, { "stalled-cycles-frontend", "cycles" },
	{ "stalled-cycles-backend", "cycles" },
};

/* "LLC-load-misses" is a part of "LLC-loads". */
static const struct {
	const char *part, *whole;
} ends[] = {
	{ "-load-misses", "-loads" },
	{ "-store-misses", "-stores" },
	{ "-prefetch-misses", "-prefetches" },
};

/* ":u" of "cycles:u": what follows a colon. */
static const char *modifiers_of(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon : name + strlen(name);
}

/* "u" of "cpu/event=1/u" and of "cpu/event=1/:u". */
static const char *modifiers_of_pmu(const char *name)
{
	const char *modifiers = strrchr(name, '/') + 1;

	return *modifiers == ':' ? modifiers + 1 : modifiers;
}

static char *by_end(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i].part);

		if (length > end && !strncmp(name + length - end, ends[i].part, end))
			return xasprintf("%.*s%s%s", (int)(length - end), name, ends[i].whole,
					 name + length);
	}
	return NULL;
}

char *partner_of(const char *name)
{
	const char *modifiers = modifiers_of(name);
	size_t length = (size_t)(modifiers - name);

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (strlen(pairs[i].part) == length && !strncmp(name, pairs[i].part, length))
			return xasprintf("%s%s", pairs[i].whole, modifiers);
	}
	return by_end(name, length);
}

char *partner_instructions(const char *name)
{
	const char *modifiers;

	if (!strchr(name, '/'))
		return xasprintf("instructions%s", modifiers_of(name));
	modifiers = modifiers_of_pmu(name);
	return xasprintf("instructions%s%s", *modifiers ? ":" : "", modifiers);
}
