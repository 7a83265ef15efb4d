/* SPDX-License-Identifier: MIT */
#include "symbolize/functions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "symbolize/demangle.h"

/* Two functions are the same if this text is. */
static char *key_of(const struct functions *functions, const struct function *function)
{
	return xasprintf("%" PRIu32 "\n%s\n%s\n%s\n%" PRIu32 "\n%" PRIx64, functions->module,
			 function->symbol ? function->symbol : "",
			 function->name ? function->name : "", function->file ? function->file : "",
			 function->line, function->file ? 0 : function->start);
}

/* The name that people read, for free(), or NULL if it is the plain one. */
static char *readable(const struct functions *functions, const struct function *function)
{
	if (!function->symbol || functions->no_demangle)
		return NULL;
	return demangle(function->symbol);
}

static void add_new(struct functions *functions, uint32_t id, const struct function *function)
{
	char *demangled = readable(functions, function);
	const char *plain = function->name;

	if (!plain || (functions->no_demangle && function->symbol))
		plain = function->symbol;
	vec_push(&functions->at,
		 (struct profile_function){
			 .id = id,
			 .module = functions->module,
			 .name = arena_strdup(&functions->text, demangled ? demangled : plain),
			 .linkage_name = demangled
						 ? arena_strdup(&functions->text, function->symbol)
						 : NULL,
			 .has_name = !function->nameless,
			 .file = arena_strdup(&functions->text, function->file),
			 .line = function->line,
		 });
	free(demangled);
}

uint32_t functions_add(struct functions *functions, const struct function *function)
{
	char *key = key_of(functions, function);
	uint32_t id = intern_add(&functions->keys, key);

	if (id == functions->at.nr)
		add_new(functions, id, function);
	free(key);
	return id;
}

void functions_release(struct functions *functions)
{
	vec_free(&functions->at);
	intern_release(&functions->keys);
	arena_release(&functions->text);
}
