/* SPDX-License-Identifier: MIT */
#include "store/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/load.h"

static int check_addresses(const struct profile *profile, struct error *err)
{
	for (size_t i = 0; i < profile->nr_addresses; i++) {
		const struct profile_address *address = &profile->addresses[i];

		if ((address->kind == PROFILE_ADDRESS_CODE) == (address->module == PROFILE_NONE))
			return load_complain(profile->path, "address", i, "module",
					     "does not fit kind", err);
	}
	return 0;
}

static int check_stacks(const struct profile *profile, struct error *err)
{
	for (size_t i = 0; i < profile->nr_stacks; i++)
		if (profile->stacks[i].parent != PROFILE_NONE && profile->stacks[i].parent >= i)
			return load_complain(profile->path, "stack", i, "parent",
					     "is not before it", err);
	return 0;
}

/* Follows parents and marks each process with who came by; meeting one's own mark is a circle. */
static bool leads_in_a_circle(const struct profile *profile, uint32_t *seen_by, uint32_t start)
{
	uint32_t id = start;

	while (id != PROFILE_NONE && seen_by[id] == PROFILE_NONE) {
		seen_by[id] = start;
		id = profile->processes[id].parent;
	}
	return id != PROFILE_NONE && seen_by[id] == start;
}

static int check_parents(const struct profile *profile, struct error *err)
{
	uint32_t *seen_by = xreallocarray(NULL, profile->nr_processes, sizeof(*seen_by));
	int ret = 0;

	memset(seen_by, 0xff, profile->nr_processes * sizeof(*seen_by));
	for (size_t i = 0; !ret && i < profile->nr_processes; i++)
		if (leads_in_a_circle(profile, seen_by, i))
			ret = load_complain(profile->path, "process", i, "parent",
					    "leads to itself", err);
	free(seen_by);
	return ret;
}

/* The frames are sorted, so the first one of each address is where it changes. */
static int index_frames(struct profile *profile, struct error *err)
{
	size_t frame = 0;

	profile->first_frame = xcalloc(profile->nr_addresses + 1, sizeof(uint32_t));
	for (size_t address = 0; address < profile->nr_addresses; address++) {
		uint32_t depth = 0;

		profile->first_frame[address] = frame;
		for (; frame < profile->nr_frames && profile->frames[frame].address == address;
		     frame++)
			if (profile->frames[frame].depth != depth++)
				return load_complain(profile->path, "frame", frame, "depth",
						     "is not dense", err);
	}
	profile->first_frame[profile->nr_addresses] = frame;
	return 0;
}

int check_profile(struct profile *profile, struct error *err)
{
	int ret = check_addresses(profile, err);

	if (!ret)
		ret = check_stacks(profile, err);
	if (!ret)
		ret = check_parents(profile, err);
	if (!ret)
		ret = index_frames(profile, err);
	return ret;
}
