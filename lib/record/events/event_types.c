/* SPDX-License-Identifier: MIT */
#include "record/events/event_types.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "record/events/pfm.h"
#include "record/events/pmu.h"
#include "record/events/tracepoint.h"

const char event_types_default[] = "cycles,instructions,branch-misses,cache-misses";

enum { GENERIC_MAX = 128 };

static int unknown(const char *name, struct error *err)
{
	const char *names[GENERIC_MAX] = { 0 };
	const struct event_type *generic = event_types_generic();
	const char *meant;

	for (size_t i = 0; generic[i].name && i < GENERIC_MAX - 1; i++)
		names[i] = generic[i].name;
	error_set(err, ERR_USAGE, "there is no event '%s'", name);
	meant = suggest(name, names);
	if (meant)
		return error_hint(err, "did you mean '%s'?", meant);
	return error_hint(err, "`cprof list` shows the events of this machine");
}

/* "r01c2": type PERF_TYPE_RAW. */
static bool parse_raw(struct event_type *type, const char *name)
{
	size_t digits = strspn(name + 1, "0123456789abcdefABCDEF");

	if (*name != 'r' || !digits || digits > 16 || name[1 + digits])
		return false;
	*type = (struct event_type){ .type = PERF_TYPE_RAW,
				     .config = strtoull(name + 1, NULL, 16),
				     .rate_divisor = 4 };
	return true;
}

/* "pmu/terms/": the terms end at the second slash, modifiers may follow without a colon. */
static int parse_pmu(struct event_type *type, const char *name, const char *slash,
		     struct error *err)
{
	char *pmu = xstrndup(name, (size_t)(slash - name));
	char *terms = xstrndup(slash + 1, strcspn(slash + 1, "/"));
	int ret = pmu_encode(type, PMU_SYSFS, pmu, terms, err);

	free(terms);
	free(pmu);
	return ret;
}

static bool are_modifiers(const char *text)
{
	return *text && !text[strspn(text, "uk")];
}

/* u and k say what is counted: with both, all is. */
static int add_modifiers(struct event_type *type, const char *modifiers, struct error *err)
{
	bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');

	if (!are_modifiers(modifiers)) {
		error_set(err, ERR_USAGE, "'%s' is no modifier of an event", modifiers);
		return error_hint(err, "u counts user code only, k the kernel only");
	}
	if (user != kernel) {
		type->exclude_kernel = user;
		type->exclude_user = kernel;
	}
	return 0;
}

/* Without modifiers. */
static int parse_plain(struct event_type *type, const char *name, struct error *err)
{
	const struct event_type *known = event_type_find(name);
	int ret;

	if (known) {
		*type = *known;
		return 0;
	}
	if (parse_raw(type, name) || pfm_find(type, name) >= 0)
		return 0;
	ret = strchr(name, ':') ? tracepoint_find(type, name, err) : ERR_USAGE;
	return ret == ERR_USAGE ? unknown(name, err) : ret;
}

static int parse_colon(struct event_type *type, const char *name, const char *colon,
		       struct error *err)
{
	char *plain = xstrndup(name, (size_t)(colon - name));
	bool split = are_modifiers(colon + 1) || event_type_find(plain);
	int ret = parse_plain(type, split ? plain : name, err);

	if (!ret && split)
		ret = add_modifiers(type, colon + 1, err);
	free(plain);
	return ret;
}

static int parse_event(struct event_type *type, const char *name, struct error *err)
{
	const char *slash = strchr(name, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;
	const char *colon = strrchr(name, ':');
	int ret;

	if (slash && !end)
		return error_set(err, ERR_USAGE, "the event '%s' lacks its second slash", name);
	if (slash) {
		ret = parse_pmu(type, name, slash, err);
		end++;
		return ret || !*end ? ret : add_modifiers(type, end + (*end == ':'), err);
	}
	return colon ? parse_colon(type, name, colon, err) : parse_plain(type, name, err);
}

/* The name is the generic one of an alias, and otherwise as given, modifiers included. */
static char *name_of(const struct event_type *type, const char *given)
{
	const char *colon = strrchr(given, ':');

	if (!type->name)
		return xstrdup(given);
	return xasprintf("%s%s", type->name, colon ? colon : "");
}

/* Those of the generic events are constants, that of a PMU's is allocated already. */
static void own_unit(struct event_type *type)
{
	if (type->name || !type->unit)
		type->unit = xstrdup(type->unit ? type->unit : "");
}

static int add(struct event_types *types, const char *name, unsigned int group, struct error *err)
{
	struct event_type type = { 0 };
	int ret = parse_event(&type, name, err);

	own_unit(&type);
	type.name = name_of(&type, name);
	type.group = group;
	vec_each(types, other)
	{
		if (!ret && !strcmp(other->name, type.name))
			ret = error_set(err, ERR_USAGE, "event '%s' is there twice", type.name);
	}
	vec_push(types, type);
	return ret;
}

/* A reader of the list. */
struct scan {
	const char *at;
	unsigned int groups; /* so far */
	bool in_group;
};

/* Commas and braces between slashes belong to the event. */
static char *take_name(struct scan *scan)
{
	const char *start = scan->at;
	bool in_terms = false;

	for (; *scan->at && (in_terms || !strchr(",{}", *scan->at)); scan->at++)
		in_terms ^= *scan->at == '/';
	return xstrndup(start, (size_t)(scan->at - start));
}

static bool take(struct scan *scan, char c)
{
	if (*scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* "}" and the modifiers of all in the group. */
static int close_group(struct scan *scan, struct event_types *types, struct error *err)
{
	char *modifiers;
	int ret = 0;

	scan->in_group = false;
	if (!take(scan, ':'))
		return 0;
	modifiers = take_name(scan);
	vec_each(types, type)
	{
		char *name;

		if (type->group != scan->groups || ret)
			continue;
		ret = add_modifiers(type, modifiers, err);
		name = xasprintf("%s:%s", type->name, modifiers);
		free((char *)type->name);
		type->name = name;
	}
	free(modifiers);
	return ret;
}

static int take_event(struct scan *scan, struct event_types *types, struct error *err)
{
	char *name;
	int ret;

	if (!scan->in_group && take(scan, '{')) {
		scan->in_group = true;
		scan->groups++;
	}
	name = take_name(scan);
	ret = !*name ? error_set(err, ERR_USAGE, "an empty name")
		     : add(types, name, scan->in_group ? scan->groups : 0, err);
	free(name);
	if (!ret && scan->in_group && take(scan, '}'))
		ret = close_group(scan, types, err);
	return ret;
}

/* A message names it already. */
static bool is_one_name(const char *list)
{
	return *list && !list[strcspn(list, ",{}")];
}

int event_types_parse(struct event_types *types, const char *list, struct error *err)
{
	struct scan scan = { .at = list };
	bool more = true;
	int ret = 0;

	while (!ret && more) {
		ret = take_event(&scan, types, err);
		more = take(&scan, ',');
	}
	if (!ret && (*scan.at || scan.in_group))
		ret = error_set(err, ERR_USAGE, "a brace that does not match");
	return ret < 0 && !is_one_name(list) ? error_prefix(err, "events '%s'", list) : ret;
}

void event_types_release(struct event_types *types)
{
	vec_each(types, type)
	{
		free((char *)type->name);
		free((char *)type->unit);
	}
	vec_free(types);
}
