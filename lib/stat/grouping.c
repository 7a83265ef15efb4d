/* SPDX-License-Identifier: MIT */
#include "stat/grouping.h"

#include <string.h>

#include "base/vec.h"

struct packing {
	struct grouping *groups;
	const struct grouping_set *anchor;
	grouping_fits fits;
	void *context;
};

static bool joined(struct grouping_set *result, const struct grouping_set *group,
		   const struct grouping_set *set)
{
	if (group->nr + set->nr > GROUPING_MAX_MEMBERS)
		return false;
	*result = *group;
	memcpy(result->events + result->nr, set->events, set->nr * sizeof(set->events[0]));
	result->nr += set->nr;
	return true;
}

static bool would_count(const struct packing *packing, const struct grouping_set *group)
{
	return packing->fits(packing->context, group);
}

/* One event by itself is a group whether it fits or not: then it is "not counted". */
static void split(const struct packing *packing, const struct grouping_set *set)
{
	if (would_count(packing, set) || set->whole || set == packing->anchor) {
		vec_push(packing->groups, *set);
		return;
	}
	for (size_t i = 0; i < set->nr; i++)
		vec_push(packing->groups,
			 (struct grouping_set){ .events = { set->events[i] }, .nr = 1 });
}

static void pack(const struct packing *packing, const struct grouping_set *set)
{
	struct grouping_set wider;

	if (packing->groups->nr && joined(&wider, vec_last(packing->groups), set) &&
	    would_count(packing, &wider))
		*vec_last(packing->groups) = wider;
	else if (packing->anchor->nr && joined(&wider, packing->anchor, set) &&
		 would_count(packing, &wider))
		vec_push(packing->groups, wider);
	else
		split(packing, set);
}

void grouping_make(struct grouping *groups, const struct grouping_set *anchor,
		   const struct grouping_set *sets, size_t nr_sets, grouping_fits fits,
		   void *context)
{
	struct packing packing = { groups, anchor, fits, context };

	if (anchor->nr)
		split(&packing, anchor);
	for (size_t i = 0; i < nr_sets; i++) {
		if (sets[i].nr)
			pack(&packing, &sets[i]);
	}
}

void grouping_release(struct grouping *groups)
{
	vec_free(groups);
}
