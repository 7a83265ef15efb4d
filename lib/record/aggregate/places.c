/* SPDX-License-Identifier: MIT */
#include "record/aggregate/places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

void places_init(struct places *places)
{
	*places = (struct places){ .modules = ROWS(struct profile_module) };
}

void fresh_places_release(struct fresh_places *fresh)
{
	vec_free(&fresh->addresses);
	vec_free(&fresh->stacks);
}

void places_release(struct places *places)
{
	fresh_places_release(&places->fresh);
	rows_release(&places->modules);
	intern_release(&places->module_keys);
	intern_release(&places->texts);
	maps_release(&places->code);
	for (size_t i = 0; i < ARRAY_SIZE(places->other); i++)
		map_release(&places->other[i]);
	map_release(&places->stacks);
	map_release(&places->known_of);
	vec_free(&places->known);
}

static const char *keep(struct places *places, const char *text)
{
	return text ? intern_text(&places->texts, intern_add(&places->texts, text)) : NULL;
}

static uint32_t module_number(struct places *places, const struct profile_module *module)
{
	char *key = xasprintf("%d\n%s\n%s\n%s", module->kind, module->path ? module->path : "",
			      module->name ? module->name : "",
			      module->build_id ? module->build_id : "");
	uint32_t number = intern_add(&places->module_keys, key);

	free(key);
	return number;
}

static void add_module(struct places *places, const struct profile_module *module)
{
	struct profile_module row = *module;

	row.id = places->modules.nr;
	row.path = keep(places, module->path);
	row.name = keep(places, module->name);
	row.build_id = keep(places, module->build_id);
	row.open_path = keep(places, module->open_path);
	row.debug_path = keep(places, module->debug_path);
	row.reason = keep(places, module->reason);
	rows_add(&places->modules, &row);
}

static void complete_module(struct places *places, uint32_t id, const struct profile_module *module)
{
	const struct profile_module *known = rows_at(&places->modules, id);

	if (!known->open_path && module->open_path) {
		struct profile_module *row = rows_edit(&places->modules, id);

		row->open_path = keep(places, module->open_path);
		row->reason = keep(places, module->reason);
	}
}

uint32_t places_module(struct places *places, const struct profile_module *module)
{
	uint32_t id = module_number(places, module);

	if (id == places->modules.nr)
		add_module(places, module);
	else
		complete_module(places, id, module);
	return id;
}

uint32_t places_address(struct places *places, enum profile_address_kind kind, uint32_t module,
			uint64_t value)
{
	assert(kind != PROFILE_ADDRESS_CODE || module < places->modules.nr);

	struct map *map = kind == PROFILE_ADDRESS_CODE ? maps_at(&places->code, module)
						       : &places->other[kind];
	bool added;
	uint64_t *id = map_add(map, value, &added);

	if (added) {
		*id = places->nr_addresses++;
		vec_push(&places->fresh.addresses,
			 (struct profile_address){
				 .id = *id,
				 .kind = kind,
				 .module = kind == PROFILE_ADDRESS_CODE ? module : PROFILE_NONE,
				 .value = value });
	}
	return *id;
}

uint32_t places_stack(struct places *places, uint32_t parent, uint32_t address)
{
	bool added;
	uint64_t *id = map_add(&places->stacks, map_pair(parent, address), &added);

	if (added) {
		*id = places->nr_stacks++;
		vec_push(&places->fresh.stacks, (struct profile_stack){ *id, parent, address });
	}
	return *id;
}

struct fingerprint fingerprint_of(const struct profile_address *frames, size_t nr)
{
	struct fingerprint print = { nr, ~(uint64_t)nr };

	for (size_t i = 0; i < nr; i++) {
		uint64_t place = map_pair(frames[i].module, frames[i].kind);

		print.key = map_hash(print.key ^ frames[i].value) + place;
		print.check = (print.check ^ place) * UINT64_C(0x9e3779b97f4a7c15) +
			      map_hash(frames[i].value);
	}
	return print;
}

static uint32_t find_known(const struct places *places, struct fingerprint print)
{
	const uint64_t *number = map_find(&places->known_of, print.key);
	const struct known_stack *known = number ? &places->known.at[*number] : NULL;

	return known && known->check == print.check ? known->stack : PROFILE_NONE;
}

static void remember(struct places *places, struct fingerprint print, uint32_t stack)
{
	map_set(&places->known_of, print.key, places->known.nr);
	vec_push(&places->known, (struct known_stack){ print.check, stack });
}

static uint32_t add_frames(struct places *places, const struct profile_address *frames, size_t nr)
{
	uint32_t stack = PROFILE_NONE;

	for (size_t i = 0; i < nr; i++) {
		const struct profile_address *frame = &frames[i];

		stack = places_stack(
			places, stack,
			places_address(places, frame->kind, frame->module, frame->value));
	}
	return stack;
}

uint32_t places_stack_of(struct places *places, const struct profile_address *frames, size_t nr,
			 struct fingerprint print)
{
	uint32_t stack = find_known(places, print);

	if (stack == PROFILE_NONE) {
		stack = add_frames(places, frames, nr);
		remember(places, print, stack);
	}
	return stack;
}
