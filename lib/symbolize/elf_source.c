/* SPDX-License-Identifier: MIT */
/*
 * elf - names from an ELF file: DWARF first, symbols where it has none, then the bare address.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "object/vdso.h"
#include "symbolize/binary.h"
#include "symbolize/demangle.h"
#include "symbolize/die.h"
#include "symbolize/extents.h"
#include "symbolize/minidebug.h"
#include "symbolize/paths.h"
#include "symbolize/plt.h"
#include "symbolize/qualify.h"
#include "symbolize/remedy.h"
#include "symbolize/source.h"
#include "symbolize/symtab.h"
#include "symbolize/units.h"

struct elf_source {
	struct source source;
	const struct profile_module *module;
	int own_fd; /* to close, or -1 */
	struct binary binary;
	struct extents extents;
	struct symtab symtab;
	struct minidebug *minidebug;
	struct plt plt;
	struct units units;
	struct paths paths;
	struct qualifier qualifier;
	struct functions *functions;
	struct map known; /* what names a function (a DIE, a symbol) -> id of the function */
	VEC(const struct scope *) scopes;
	struct means *means;
	size_t nr_left_out;
	char *reason; /* set when it is asked for */
};

/* --- names without DWARF ------------------------------------------------------------------- */

/* A name as it is shown: without version. */
static char *plain_name(const struct symbol *symbol)
{
	return xstrndup(symbol->name, symbol_name_length(symbol));
}

static uint32_t add_symbol(struct elf_source *elf, const struct symbol *symbol)
{
	bool added;
	uint64_t *id = map_add(&elf->known, (uintptr_t)symbol, &added);

	if (added) {
		char *name = plain_name(symbol);
		struct function function = { .symbol = name, .start = symbol->start };

		*id = functions_add(elf->functions, &function);
		free(name);
	}
	return (uint32_t)*id;
}

static uint32_t add_plt_entry(struct elf_source *elf, const struct plt_entry *entry)
{
	char *called = elf->functions->no_demangle ? NULL : demangle(entry->name);
	char *name = xasprintf("%s@plt", called ? called : entry->name);
	struct function function = { .name = name, .start = entry->start };
	uint32_t id = functions_add(elf->functions, &function);

	free(called);
	free(name);
	return id;
}

/* Where the code without a name begins: its function, or the gap between functions and symbols. */
static uint64_t nameless_start(const struct elf_source *elf, uint64_t address)
{
	uint64_t gap = symtab_gap_start(&elf->symtab, address);
	struct extent extent;

	if (extents_find(&elf->extents, address, &extent) || extent.start > gap)
		return extent.start;
	return gap;
}

static uint32_t add_nameless(struct elf_source *elf, uint64_t address)
{
	uint64_t start = nameless_start(elf, address);
	char *name = xasprintf("%s+0x%" PRIx64, elf->module->name, start);
	struct function function = { .name = name, .nameless = true, .start = start };
	uint32_t id = functions_add(elf->functions, &function);

	free(name);
	return id;
}

static uint32_t add_without_dwarf(struct elf_source *elf, uint64_t address)
{
	const struct symbol *symbol = symtab_find(&elf->symtab, address);
	const struct plt_entry *entry = symbol ? NULL : plt_find(&elf->plt, address);

	if (symbol)
		return add_symbol(elf, symbol);
	if (entry)
		return add_plt_entry(elf, entry);
	return add_nameless(elf, address);
}

/* --- names from DWARF ---------------------------------------------------------------------- */

static bool is_mangled(const char *symbol)
{
	char *text = symbol ? demangle(symbol) : NULL;

	free(text);
	return text != NULL;
}

/*
 * C functions are known by the name they are exported under ("malloc", where DWARF has
 * "__libc_malloc"), and C++ functions without a linkage name by that of their symbol.
 */
static char *name_by_symbol(const struct elf_source *elf, Dwarf_Die *die, const char *dwarf_name)
{
	uint64_t entry;
	const struct symbol *symbol =
		die_entry(die, &entry) ? symtab_at(&elf->symtab, entry, dwarf_name) : NULL;

	if (!symbol)
		return NULL;
	char *name = plain_name(symbol);
	name[clone_base_length(name)] = '\0';
	return name;
}

/* Takes the name over, if it is one. */
static bool take_name(struct function *function, char **text, char *name)
{
	if (name)
		function->name = *text = name;
	return name != NULL;
}

static char *mangled_only(char *symbol)
{
	if (is_mangled(symbol))
		return symbol;
	free(symbol);
	return NULL;
}

/*
 * Describes it, and if it has no linkage name, finds the next best: the symbol of the instance (may
 * be NULL) with code of its own, or the name with what is around it.  *text is to be freed.
 */
static void describe(struct elf_source *elf, Dwarf_Die *die, const struct scope *instance,
		     struct function *function, char **text)
{
	Dwarf_Die own = instance ? instance->die : *die;
	char *symbol;

	*text = NULL;
	die_describe(die, function, &elf->paths);
	if (is_mangled(function->symbol))
		return;
	symbol = instance ? name_by_symbol(elf, &own, function->name) : NULL;
	if (own.addr != die->addr)
		symbol = mangled_only(symbol);
	if (take_name(function, text, symbol))
		function->symbol = symbol;
	else if (!function->symbol && function->name && !elf->functions->no_demangle)
		take_name(function, text, qualify(&elf->qualifier, die, function->name));
}

/* False if nothing names it: debug information refers to a file that is missing. */
static bool add_described(struct elf_source *elf, Dwarf_Die *die, const struct scope *instance,
			  uint32_t *id)
{
	struct function function = { 0 };
	char *text;

	describe(elf, die, instance, &function, &text);
	bool named = function.symbol || function.name;
	if (named)
		*id = functions_add(elf->functions, &function);
	free(text);
	return named;
}

static bool add_real(struct elf_source *elf, const struct scope *scope, uint64_t address,
		     uint32_t *id)
{
	Dwarf_Die die = scope->die;

	if (!add_described(elf, &die, scope, id))
		*id = add_without_dwarf(elf, address);
	return true;
}

static bool add_inlined(struct elf_source *elf, struct unit *unit, const struct scope *scope,
			uint32_t *id)
{
	Dwarf_Die die = scope->die, origin = die_origin(&die);

	return add_described(elf, &die, unit_instance(unit, &origin), id);
}

/* All instances of an inlined function share the answer, and all addresses of a real one. */
static bool function_of(struct elf_source *elf, struct unit *unit, const struct scope *scope,
			uint64_t address, uint32_t *id)
{
	Dwarf_Die die = scope->die;
	uintptr_t key = (uintptr_t)(scope->inlined ? die_origin(&die).addr : die.addr);
	uint64_t *known = map_find(&elf->known, key);

	if (known) {
		*id = (uint32_t)*known;
		return true;
	}
	if (!(scope->inlined ? add_inlined(elf, unit, scope, id)
			     : add_real(elf, scope, address, id)))
		return false;
	map_set(&elf->known, key, *id);
	return true;
}

/* Elsewhere there is padding. */
static bool is_in_function(const struct elf_source *elf, uint64_t address)
{
	struct extent extent;

	return extents_find(&elf->extents, address, &extent) || symtab_find(&elf->symtab, address);
}

static const struct scope *find_scope(const struct elf_source *elf, struct unit *unit,
				      uint64_t address)
{
	const struct scope *scope = unit_find(unit, address);

	if (!scope && is_in_function(elf, address) && unit_read_thoroughly(unit))
		scope = unit_find(unit, address);
	return scope;
}

static void collect_scopes(struct elf_source *elf, struct unit *unit, uint64_t address)
{
	elf->scopes.nr = 0;
	for (const struct scope *scope = find_scope(elf, unit, address); scope;
	     scope = unit_outer(unit, scope))
		vec_push(&elf->scopes, scope);
}

/* Each place is in the function it was added with, at the line of the call of the next one. */
static void add_place(struct chain *chain, uint32_t function)
{
	vec_push(&chain->at, (struct place){ .function = function });
}

static void set_line(struct elf_source *elf, struct place *place, const struct unit *unit,
		     const char *file, uint32_t line)
{
	place->file = paths_join(&elf->paths, unit->directory, file);
	place->line = line;
}

static void resolve_scopes(struct elf_source *elf, struct unit *unit, uint64_t address,
			   struct chain *chain)
{
	uint32_t id;

	collect_scopes(elf, unit, address);
	for (size_t i = elf->scopes.nr; i-- > 0;) {
		const struct scope *scope = elf->scopes.at[i];

		if (scope->inlined && chain->at.nr == 0)
			add_place(chain, add_without_dwarf(elf, address));
		if (!function_of(elf, unit, scope, address, &id))
			continue;
		if (scope->inlined)
			set_line(elf, vec_last(&chain->at), unit, unit_file(unit, scope->call_file),
				 scope->call_line);
		add_place(chain, id);
	}
}

static void elf_resolve(struct source *source, uint64_t address, struct chain *chain)
{
	struct elf_source *elf = (struct elf_source *)source;
	struct unit *unit = units_find(&elf->units, address);
	const char *file;
	uint32_t line;

	chain->left_out = unit && !unit->read;
	elf->nr_left_out += chain->left_out;
	if (unit)
		resolve_scopes(elf, unit, address, chain);
	if (chain->at.nr == 0)
		add_place(chain, add_without_dwarf(elf, address));
	if (unit && unit_line(unit, address, &file, &line))
		set_line(elf, vec_last(&chain->at), unit, file, line);
}

/* --- opening ------------------------------------------------------------------------------- */

static int open_path(struct elf_source *elf, struct error *err)
{
	const struct profile_module *module = elf->module;

	if (module->kind == PROFILE_MODULE_VDSO)
		elf->own_fd = vdso_copy(err);
	else if (module->open_path)
		elf->own_fd = open(module->open_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	else
		return error_set(err, ERR_UNSUPPORTED, "%s",
				 module->reason ? module->reason : "the file is not known");
	if (elf->own_fd < 0 && module->kind != PROFILE_MODULE_VDSO)
		error_errno(err, errno, "open %s", module->open_path);
	return elf->own_fd;
}

/* Without a build id only the time tells that the path has another file now. */
static int check_age(const struct elf_source *elf, const struct profile_run *run, struct error *err)
{
	int64_t end_s = (run->start_realtime_us + run->wall_us) / 1000000;
	struct stat st;

	if (elf->module->kind == PROFILE_MODULE_VDSO || elf->module->build_id ||
	    !run->start_realtime_us || fstat(elf->own_fd, &st) < 0 || st.st_mtime <= end_s + 1)
		return 0;
	return error_set(err, ERR_FORMAT,
			 "the file was changed after the recording, and it has no build id to tell "
			 "whether it is the one that ran; link it with --build-id");
}

static int descriptor(struct elf_source *elf, const struct source_request *request,
		      struct error *err)
{
	const struct symbolize_options *options = request->means->options;
	int fd = options->open_module ? options->open_module(options->context, elf->module) : -1;

	if (fd >= 0)
		return fd;
	fd = open_path(elf, err);
	return fd < 0 || check_age(elf, &request->profile->run, err) == 0 ? fd : err->code;
}

static void read_symbols(struct elf_source *elf)
{
	struct binary *binary = &elf->binary;

	extents_read(&elf->extents, binary->fd, &binary->file);
	symtab_read(&elf->symtab, binary->elf);
	if (binary->separate_elf)
		symtab_read(&elf->symtab, binary->separate_elf);
	if (binary_has_section(binary->elf, ".gnu_debugdata"))
		elf->minidebug = minidebug_read(&elf->symtab, binary->fd);
	symtab_build(&elf->symtab, &elf->extents);
	plt_read(&elf->plt, binary->elf, &elf->symtab);
}

static bool is_stripped(const struct binary *binary)
{
	return !binary_has_section(binary->elf, ".symtab") &&
	       !binary_has_section(binary->elf, ".gnu_debugdata") &&
	       !(binary->separate_elf && binary_has_section(binary->separate_elf, ".symtab"));
}

static int open_all(struct elf_source *elf, const struct source_request *request, struct error *err)
{
	struct means *means = request->means;
	const struct symbolize_options *options = means->options;
	const char *spent = budget_is_spent(&means->budget) ? means->budget.spent : NULL;
	struct binary_where where = {
		.path = request->module->open_path ? request->module->open_path
						   : request->module->path,
		.build_id = request->module->build_id,
		.debug_directories = options->debug_directories,
		.servers =
			elf->module->kind == PROFILE_MODULE_FILE && !spent ? means->servers : NULL,
		.no_dwarf = request->no_dwarf ? request->no_dwarf : spent,
	};
	int fd = descriptor(elf, request, err);
	int ret = fd < 0 ? fd : binary_open(&elf->binary, fd, &where, err);

	if (ret < 0)
		return ret;
	read_symbols(elf);
	if (elf->binary.dwarf)
		units_open(&elf->units, elf->binary.dwarf, &elf->binary.file, &means->budget);
	return 0;
}

static void elf_close(struct source *source)
{
	struct elf_source *elf = (struct elf_source *)source;

	units_close(&elf->units);
	qualifier_release(&elf->qualifier);
	paths_release(&elf->paths);
	plt_release(&elf->plt);
	symtab_release(&elf->symtab);
	minidebug_close(elf->minidebug);
	extents_release(&elf->extents);
	binary_close(&elf->binary);
	if (elf->own_fd >= 0)
		close(elf->own_fd);
	map_release(&elf->known);
	vec_free(&elf->scopes);
	free(elf->reason);
	free(elf);
}

static struct source *elf_open(const struct source_request *request)
{
	struct elf_source *elf = xcalloc(1, sizeof(*elf));
	struct error err = ERROR_INIT;

	elf->source.kind = &source_elf;
	elf->module = request->module;
	elf->functions = request->functions;
	elf->means = request->means;
	elf->own_fd = -1;
	if (open_all(elf, request, &err) < 0) {
		elf_close(&elf->source);
		return source_without(request, err.message);
	}
	elf->source.has_names = true;
	return &elf->source;
}

static enum profile_debug debug_of(const struct elf_source *elf)
{
	if (elf->units.at.nr > elf->units.nr_split_missing)
		return PROFILE_DEBUG_FULL;
	return elf->symtab.at.nr ? PROFILE_DEBUG_SYMBOLS : PROFILE_DEBUG_NONE;
}

static void elf_describe(struct source *source, struct profile_module *module)
{
	struct elf_source *elf = (struct elf_source *)source;
	struct lack lack = {
		.path = module->path,
		.binary = &elf->binary,
		.units = &elf->units,
		.has_symbols = elf->symtab.at.nr,
		.stripped = is_stripped(&elf->binary),
		.nr_left_out = elf->nr_left_out,
		.means = elf->means,
	};

	module->debug = debug_of(elf);
	module->debug_path = elf->binary.separate_elf ? elf->binary.separate.path
			     : elf->units.at.nr	      ? module->open_path
						      : NULL;
	free(elf->reason);
	module->reason = elf->reason = remedy_for(&lack);
}

const struct source_kind source_elf = {
	.open = elf_open,
	.resolve = elf_resolve,
	.describe = elf_describe,
	.close = elf_close,
};
