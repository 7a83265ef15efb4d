/* SPDX-License-Identifier: MIT */
#include "symbolize/source.h"

#include <stdlib.h>

#include "base/alloc.h"

static const struct source_kind *const kinds[PROFILE_MODULE_NR] = {
	[PROFILE_MODULE_FILE] = &source_elf,	  [PROFILE_MODULE_SELF] = &source_elf,
	[PROFILE_MODULE_VDSO] = &source_elf,	  [PROFILE_MODULE_KERNEL] = &source_kernel,
	[PROFILE_MODULE_ANONYMOUS] = &source_jit, [PROFILE_MODULE_UNKNOWN] = &source_nothing,
};

struct source *source_open(const struct source_request *request)
{
	return kinds[request->module->kind]->open(request);
}

struct nothing {
	struct source source;
	uint32_t function; /* stands for all of the module */
	char *reason;
};

/* A file's functions cannot be told apart, so all its code is one row: that from its start on. */
static uint32_t whole_module(const struct source_request *request)
{
	const struct profile_module *module = request->module;
	bool file = module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_SELF;
	char *name = xasprintf("%s%s", module->name, file ? "+0x0" : "");
	struct function function = { .name = name, .nameless = true };
	uint32_t id = functions_add(request->functions, &function);

	free(name);
	return id;
}

struct source *source_without(const struct source_request *request, const char *reason)
{
	struct nothing *nothing = xcalloc(1, sizeof(*nothing));

	nothing->source.kind = &source_nothing;
	nothing->function = whole_module(request);
	nothing->reason = xstrdup(reason);
	return &nothing->source;
}

static struct source *nothing_open(const struct source_request *request)
{
	return source_without(request, "nothing was mapped at these addresses");
}

static void nothing_resolve(struct source *source, uint64_t address, struct chain *chain)
{
	struct nothing *nothing = (struct nothing *)source;

	(void)address;
	vec_push(&chain->at, (struct place){ .function = nothing->function });
}

static void nothing_describe(struct source *source, struct profile_module *module)
{
	module->debug = PROFILE_DEBUG_NONE;
	module->debug_path = NULL;
	module->reason = ((struct nothing *)source)->reason;
}

static void nothing_close(struct source *source)
{
	free(((struct nothing *)source)->reason);
	free(source);
}

const struct source_kind source_nothing = {
	.open = nothing_open,
	.resolve = nothing_resolve,
	.describe = nothing_describe,
	.close = nothing_close,
};
