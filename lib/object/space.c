/* SPDX-License-Identifier: MIT */
#include "object/space.h"

#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* The first mapping that ends above the address. */
static size_t first_ending_above(const struct space *space, uint64_t address)
{
	return search_count(space->nr, i, space->at[i].end <= address);
}

static void insert(struct space *space, size_t at, struct mapping mapping)
{
	vec_push(space, mapping);
	memmove(&space->at[at + 1], &space->at[at], (space->nr - 1 - at) * sizeof(mapping));
	space->at[at] = mapping;
}

static void cut_head(struct mapping *mapping, uint64_t start)
{
	mapping->pgoff += start - mapping->start;
	mapping->start = start;
}

/* Removes [start, end) from what is mapped.  Returns where a mapping of that range belongs. */
static size_t make_room(struct space *space, uint64_t start, uint64_t end)
{
	size_t at = first_ending_above(space, start);

	if (at < space->nr && space->at[at].start < start) {
		struct mapping tail = space->at[at];

		space->at[at++].end = start;
		if (tail.end > end) {
			cut_head(&tail, end);
			insert(space, at, tail);
		}
	}

	size_t covered = at;
	while (covered < space->nr && space->at[covered].end <= end)
		covered++;
	vec_remove(space, at, covered - at);
	if (at < space->nr && space->at[at].start < end)
		cut_head(&space->at[at], end);
	return at;
}

/* What to subtract from a pc for the address in the file. */
static uint64_t bias_of(uint64_t start, uint64_t pgoff, const struct module *module)
{
	uint64_t address;

	if (module->kind == MODULE_ANONYMOUS)
		return 0;
	if (!elf_file_address(&module->elf, pgoff, &address))
		address = pgoff;
	return start - address;
}

void space_map(struct space *space, uint64_t start, uint64_t end, uint64_t pgoff,
	       struct module *module)
{
	if (start >= end)
		return;
	size_t at = make_room(space, start, end);
	insert(space, at,
	       (struct mapping){
		       .start = start,
		       .end = end,
		       .pgoff = pgoff,
		       .bias = bias_of(start, pgoff, module),
		       .module = module,
	       });
}

void space_copy(struct space *to, const struct space *from)
{
	if (to == from)
		return;
	to->nr = 0;
	vec_reserve(to, from->nr);
	if (from->nr)
		memcpy(to->at, from->at, from->nr * sizeof(from->at[0]));
	to->nr = from->nr;
}

void space_clear(struct space *space)
{
	space->nr = 0;
}

void space_release(struct space *space)
{
	vec_free(space);
}

const struct mapping *space_find(const struct space *space, uint64_t pc)
{
	size_t at = first_ending_above(space, pc);

	return at < space->nr && space->at[at].start <= pc ? &space->at[at] : NULL;
}
