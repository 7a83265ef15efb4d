/* SPDX-License-Identifier: MIT */
#include "report/analyze/chains.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"

/* Numbers for pairs of numbers. */
struct pairs {
	struct map ids;
};

struct builder {
	struct chains *chains;
	const struct profile *profile;
	size_t room_functions, nr_frames;
	uint32_t *canonical; /* profile function id -> function */
	uint32_t *name_ids;  /* by function */
	struct map file_ids; /* by pointer, so that each text is hashed once */
	struct pairs names_files, lines_modules, functions, places_files, places;
};

static uint32_t pair_id(struct pairs *pairs, uint32_t a, uint32_t b)
{
	bool added;
	uint64_t *id = map_add(&pairs->ids, map_pair(a, b), &added);

	if (added)
		*id = pairs->ids.nr - 1;
	return (uint32_t)*id;
}

static uint32_t text_id(struct builder *b, const char *text)
{
	bool added;
	uint64_t *id;

	if (!text)
		return PROFILE_NONE;
	id = map_add(&b->file_ids, (uintptr_t)text, &added);
	if (added)
		*id = intern_add(&b->chains->texts, text);
	return (uint32_t)*id;
}

static uint32_t add_function(struct builder *b, const struct function *function, uint32_t name_id)
{
	b->chains->functions[b->chains->nr_functions] = *function;
	b->name_ids[b->chains->nr_functions] = name_id;
	return (uint32_t)b->chains->nr_functions++;
}

static bool is_ours(const struct profile *profile, uint32_t module)
{
	return module != PROFILE_NONE && profile->modules[module].kind == PROFILE_MODULE_SELF;
}

/* Functions with equal names, declarations and modules become one. */
static void merge_functions(struct builder *b)
{
	for (size_t i = 0; i < b->profile->nr_functions; i++) {
		const struct profile_function *f = &b->profile->functions[i];
		uint32_t name_id = text_id(b, f->name ?: "");
		uint32_t key = pair_id(&b->functions,
				       pair_id(&b->names_files, name_id, text_id(b, f->file)),
				       pair_id(&b->lines_modules, f->line, f->module));

		b->canonical[i] = key;
		if (key < b->chains->nr_functions)
			continue;
		add_function(b,
			     &(struct function){
				     .kind = f->has_name ? FUNCTION_NAMED : FUNCTION_UNNAMED,
				     .name = intern_text(&b->chains->texts, name_id),
				     .module = f->module,
				     .file = f->file,
				     .line = f->line,
				     .ours = is_ours(b->profile, f->module),
			     },
			     name_id);
	}
}

/* Where nothing can ever name an address, one row stands for all of the module. */
static char *code_name(const struct profile *profile, const struct profile_address *address)
{
	const struct profile_module *module;

	if (address->module == PROFILE_NONE)
		return xstrdup("[unknown]");
	module = &profile->modules[address->module];
	if (module->kind == PROFILE_MODULE_UNKNOWN || module->kind == PROFILE_MODULE_ANONYMOUS)
		return xstrdup(module->name ?: "[unknown]");
	return xasprintf("%s+0x%" PRIx64, module->name ?: "[unknown]", address->value);
}

static char *address_name(const struct profile *profile, const struct profile_address *address)
{
	switch (address->kind) {
	case PROFILE_ADDRESS_TRUNCATED:
		return xstrdup("[callers missing]");
	case PROFILE_ADDRESS_ELIDED:
		return xasprintf(ELLIPSIS " %" PRIu64 " frames", address->value);
	default:
		return code_name(profile, address);
	}
}

/* The function of an address without frames. */
static uint32_t nameless_function(struct builder *b, const struct profile_address *address)
{
	char *name = address_name(b->profile, address);
	uint32_t name_id = intern_add(&b->chains->texts, name);
	uint32_t key = pair_id(&b->functions, pair_id(&b->names_files, name_id, PROFILE_NONE),
			       pair_id(&b->lines_modules, 0, address->module));

	free(name);
	if (key < b->chains->nr_functions)
		return key;
	return add_function(b,
			    &(struct function){
				    .kind = address->kind == PROFILE_ADDRESS_CODE
						    ? FUNCTION_UNNAMED
						    : FUNCTION_MISSING,
				    .name = intern_text(&b->chains->texts, name_id),
				    .module = address->module,
				    .ours = is_ours(b->profile, address->module),
			    },
			    name_id);
}

static void add_frame(struct builder *b, uint32_t function, const struct profile_frame *frame)
{
	const char *file = frame ? frame->file : NULL;
	uint32_t line = frame ? frame->line : 0;
	uint32_t named = pair_id(&b->places_files, b->name_ids[function], text_id(b, file));

	b->chains->frames[b->nr_frames++] = (struct frame){
		.function = function,
		.place = pair_id(&b->places, named, line),
		.file = file,
		.line = line,
		.inlined = frame && frame->depth > 0,
	};
}

static void add_address(struct builder *b, uint32_t address, bool no_inline)
{
	const struct profile *profile = b->profile;
	uint32_t from = profile->first_frame[address], to = profile->first_frame[address + 1];

	b->chains->first[address] = (uint32_t)b->nr_frames;
	if (from == to)
		add_frame(b, nameless_function(b, &profile->addresses[address]), NULL);
	if (no_inline && to > from)
		to = from + 1;
	for (uint32_t i = from; i < to; i++)
		add_frame(b, b->canonical[profile->frames[i].function], &profile->frames[i]);
}

static void builder_release(struct builder *b)
{
	free(b->canonical);
	free(b->name_ids);
	map_release(&b->file_ids);
	map_release(&b->names_files.ids);
	map_release(&b->lines_modules.ids);
	map_release(&b->functions.ids);
	map_release(&b->places_files.ids);
	map_release(&b->places.ids);
}

void chains_init(struct chains *chains, const struct profile *profile, bool no_inline)
{
	size_t most = profile->nr_functions + profile->nr_addresses + 1;
	struct builder b = {
		.chains = chains,
		.profile = profile,
		.canonical = xcalloc(profile->nr_functions + 1, sizeof(uint32_t)),
		.name_ids = xcalloc(most, sizeof(uint32_t)),
	};

	*chains = (struct chains){
		.profile = profile,
		.functions = xcalloc(most, sizeof(struct function)),
		.frames = xcalloc(profile->nr_frames + profile->nr_addresses + 1,
				  sizeof(struct frame)),
		.first = xcalloc(profile->nr_addresses + 1, sizeof(uint32_t)),
	};
	merge_functions(&b);
	for (uint32_t i = 0; i < profile->nr_addresses; i++)
		add_address(&b, i, no_inline);
	chains->first[profile->nr_addresses] = (uint32_t)b.nr_frames;
	chains->nr_places = b.places.ids.nr;
	builder_release(&b);
}

void chains_release(struct chains *chains)
{
	free(chains->functions);
	free(chains->frames);
	free(chains->first);
	intern_release(&chains->texts);
	*chains = (struct chains){ 0 };
}

const char *chains_module_name(const struct chains *chains, uint32_t module)
{
	return module == PROFILE_NONE ? NULL : chains->profile->modules[module].name;
}
