/* SPDX-License-Identifier: MIT */
#include "record/heap/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/path.h"
#include "object/proc_maps.h"
#include "unwind/end.h"

struct frames {
	struct aggregate *aggregate;
	struct modules modules;
	struct map by_profile_id;
	struct intern truncated; /* ids + 1 are given out */
};

struct frames *frames_new(struct aggregate *aggregate)
{
	struct frames *frames = xcalloc(1, sizeof(*frames));

	frames->aggregate = aggregate;
	return frames;
}

void frames_free(struct frames *frames)
{
	if (!frames)
		return;
	modules_release(&frames->modules);
	map_release(&frames->by_profile_id);
	intern_release(&frames->truncated);
	free(frames);
}

void frames_image_release(struct frames_image *image)
{
	vec_free(&image->modules);
	map_release(&image->stacks);
}

const struct module *frames_module(const struct frames *frames, uint32_t profile_module)
{
	const uint64_t *module = map_find(&frames->by_profile_id, profile_module);

	return module ? (const struct module *)(uintptr_t)*module : NULL;
}

const char *frames_truncated(const struct frames *frames, uint32_t truncated)
{
	return intern_text(&frames->truncated, truncated - 1);
}

/* --- modules ----------------------------------------------------------------------------------*/

static uint32_t enter_module(struct frames *frames, const struct module_request *request)
{
	const struct module *module = module_get(&frames->modules, request);
	uint32_t id =
		aggregate_module(frames->aggregate,
				 &(struct profile_module){
					 .kind = module->kind == MODULE_VDSO ? PROFILE_MODULE_VDSO
									     : PROFILE_MODULE_FILE,
					 .path = module->path,
					 .name = module_name(module),
					 .build_id = module->build_id,
					 .open_path = module->open_path,
					 .reason = module->reason,
				 });

	map_set(&frames->by_profile_id, id, (uintptr_t)module);
	return id;
}

static void know_module(struct frames *frames, struct frames_module *to,
			const struct segment *segment, const struct wire_module *wire,
			struct module_request request)
{
	char *build_id = segment_text(segment, wire->build_id_at, wire->build_id_bytes);

	if (build_id && wire->build_id_bytes <= 64) {
		request.build_id = (const uint8_t *)build_id;
		request.build_id_size = wire->build_id_bytes;
	}
	to->id = enter_module(frames, &request);
	to->bias = wire->bias;
	to->known = true;
	free(build_id);
}

static bool is_named(const char *name, const char *line)
{
	return strlen(name) == proc_maps_path_length(line) && !strncmp(name, line, strlen(name));
}

/* What is there now may be another library than the one that the program told of.  Where its path leads
 * elsewhere from here, as from another root, the name decides. */
static bool is_said(const struct segment *segment, const struct wire_module *wire,
		    const struct proc_mapping *line)
{
	char *said = segment_text(segment, wire->path_at, wire->path_bytes);
	char *real = said && said[0] == '/' ? realpath(said, NULL) : NULL;
	bool is = !real || is_named(real, line->path) ||
		  is_named(path_name(said), path_name(line->path));

	free(real);
	free(said);
	return is;
}

static void know_by_line(struct frames *frames, struct frames_image *image,
			 const struct segment *segment, const struct proc_mapping *line)
{
	struct wire_module wire;

	for (uint32_t id = 1; id < image->modules.nr; id++) {
		struct frames_module *to = &image->modules.at[id];

		if (to->known || !segment_module(segment, id, &wire) || wire.start < line->start ||
		    wire.start >= line->end || !line->path[0] || !is_said(segment, &wire, line))
			continue;
		know_module(frames, to, segment, &wire,
			    (struct module_request){ .path = line->path,
						     .pid = segment->pid,
						     .start = line->start,
						     .end = line->end,
						     .device_major = line->device_major,
						     .device_minor = line->device_minor,
						     .inode = line->inode });
	}
}

/* Symbolic links resolved, as the kernel names it. */
static void know_by_path(struct frames *frames, struct frames_module *to,
			 const struct segment *segment, const struct wire_module *wire)
{
	char *said = segment_text(segment, wire->path_at, wire->path_bytes);
	char *real = said && said[0] == '/' ? realpath(said, NULL) : NULL;
	bool is_vdso = said && strstr(said, "vdso");
	const char *path = real ? real : is_vdso ? "[vdso]" : said ? said : "[unknown]";

	know_module(frames, to, segment, wire, (struct module_request){ .path = path });
	free(real);
	free(said);
}

void frames_find_modules(struct frames *frames, struct frames_image *image,
			 const struct segment *segment)
{
	uint32_t used = atomic_load(&segment->shared->modules_used);
	struct proc_mapping mapping;
	struct proc_maps maps;

	used = used < WIRE_MODULES ? used : WIRE_MODULES;
	if (used <= image->modules.nr)
		return;
	while (image->modules.nr < used)
		vec_add(&image->modules);

	proc_maps_open(&maps, segment->pid);
	while (proc_maps_next(&maps, &mapping))
		know_by_line(frames, image, segment, &mapping);
	proc_maps_close(&maps);
}

static const struct frames_module *module_of(struct frames *frames, struct frames_image *image,
					     const struct segment *segment, uint32_t id)
{
	struct wire_module wire;

	if (!segment_module(segment, id, &wire))
		return NULL;
	frames_find_modules(frames, image, segment);
	while (image->modules.nr <= id)
		vec_add(&image->modules);

	struct frames_module *module = &image->modules.at[id];

	if (!module->known)
		know_by_path(frames, module, segment, &wire);
	return module;
}

static uint32_t special_module(struct frames *frames, enum profile_module_kind kind,
			       const char *name)
{
	return aggregate_module(frames->aggregate,
				&(struct profile_module){ .kind = kind, .name = name });
}

/* Code in no ELF image: generated by the process. */
static uint32_t generated_code(struct frames *frames, const struct segment *segment)
{
	char name[32];

	snprintf(name, sizeof(name), "[anon:%d]", (int)segment->pid);
	return special_module(frames, PROFILE_MODULE_ANONYMOUS, name);
}

/* --- stacks -----------------------------------------------------------------------------------*/

/* Where the walk ended is the module of the outermost frame it saw. */
static uint32_t truncation(struct frames *frames, const struct segment *segment, uint64_t end,
			   uint32_t outermost)
{
	struct wire_node node = { 0 };
	struct wire_module wire;
	char *path = NULL;

	if (segment_node(segment, outermost, &node) && segment_module(segment, node.module, &wire))
		path = segment_text(segment, wire.path_at, wire.path_bytes);

	const char *name = path ? path_name(path) : "[unknown]";
	char *text = xasprintf(
		"%s: %s", name,
		unwind_end_text(end < UNWIND_NR_ENDS ? (enum unwind_end)end : UNWIND_NR_ENDS));
	uint32_t id = intern_add(&frames->truncated, text) + 1;

	free(text);
	free(path);
	return id;
}

static uint32_t address_of(struct frames *frames, struct frames_image *image,
			   const struct segment *segment, const struct wire_node *node)
{
	struct aggregate *to = frames->aggregate;
	uint64_t pc = node->address & ~WIRE_EXACT_PC;

	if (node->module == WIRE_MODULE_STOP)
		return aggregate_address(to, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, pc);
	if (node->module == WIRE_MODULE_ELIDED)
		return aggregate_address(to, PROFILE_ADDRESS_ELIDED, PROFILE_NONE, pc);
	pc -= node->address & WIRE_EXACT_PC ? 0 : 1;
	if (node->module == WIRE_MODULE_NONE)
		return aggregate_address(to, PROFILE_ADDRESS_CODE, generated_code(frames, segment),
					 pc);

	const struct frames_module *module = module_of(frames, image, segment, node->module);

	if (!module)
		return aggregate_address(
			to, PROFILE_ADDRESS_CODE,
			special_module(frames, PROFILE_MODULE_UNKNOWN, "[unknown]"), pc);
	return aggregate_address(to, PROFILE_ADDRESS_CODE, module->id, pc - module->bias);
}

/* A stack that nothing is known of. */
static uint32_t no_stack(struct frames *frames)
{
	uint32_t address = aggregate_address(frames->aggregate, PROFILE_ADDRESS_TRUNCATED,
					     PROFILE_NONE, UNWIND_MORE);

	return aggregate_stack(frames->aggregate, PROFILE_NONE, address);
}

uint32_t frames_stack(struct frames *frames, struct frames_image *image,
		      const struct segment *segment, uint32_t id, uint32_t *truncated)
{
	VEC(uint32_t) todo = { 0 };
	uint32_t stack = PROFILE_NONE;
	const uint64_t *known = NULL;
	struct wire_node node;

	*truncated = 0;
	while (id && !(known = map_find(&image->stacks, id)) && segment_node(segment, id, &node)) {
		vec_push(&todo, id);
		id = node.parent;
	}
	if (id && known) {
		stack = (uint32_t)*known;
		*truncated = (uint32_t)(*known >> 32);
	}
	while (todo.nr) {
		id = todo.at[--todo.nr];
		if (!segment_node(segment, id, &node))
			continue;
		if (node.module == WIRE_MODULE_STOP)
			*truncated = truncation(frames, segment, node.address,
						todo.nr ? todo.at[todo.nr - 1] : 0);
		stack = aggregate_stack(frames->aggregate, stack,
					address_of(frames, image, segment, &node));
		if (node.module != WIRE_MODULE_STOP)
			map_set(&image->stacks, id, stack | (uint64_t)*truncated << 32);
	}
	vec_free(&todo);
	return stack == PROFILE_NONE ? no_stack(frames) : stack;
}
