/* SPDX-License-Identifier: MIT */
/*
 * elf - names from an ELF file: DWARF first, symbols where it has none, then the bare address.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/place.h"
#include "object/vdso.h"
#include "symbolize/binary.h"
#include "symbolize/minidebug.h"
#include "symbolize/naming.h"
#include "symbolize/remedy.h"
#include "symbolize/source.h"
#include "symbolize/units.h"

struct elf_source {
	struct source source;
	const struct profile_module *module;
	int own_fd; /* to close, or -1 */
	struct binary binary;
	struct minidebug *minidebug;
	struct naming naming;
	struct units units;
	VEC(const struct scope *) scopes;
	struct means *means;
	size_t nr_inside, nr_outside; /* of what the debug information describes; addresses */
	size_t nr_left_out;
	char *reason; /* set when it is asked for */
};

/* --- addresses ----------------------------------------------------------------------------- */

/* Elsewhere there is padding. */
static bool is_in_function(const struct elf_source *elf, uint64_t address)
{
	struct extent extent;

	return extents_find(&elf->naming.extents, address, &extent) ||
	       symtab_find(&elf->naming.symtab, address);
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
	place->file = paths_join(&elf->naming.paths, unit->directory, file);
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
			add_place(chain, naming_add_address(&elf->naming, address));
		if (!naming_add_scope(&elf->naming, unit, scope, address, &id))
			continue;
		if (scope->inlined)
			set_line(elf, vec_last(&chain->at), unit, unit_file(unit, scope->call_file),
				 scope->call_line);
		add_place(chain, id);
	}
}

/* Start code and stubs never have debug information; C reserves such names. */
static bool is_written_by_users(const struct elf_source *elf, uint64_t address)
{
	const struct symbol *symbol = symtab_find(&elf->naming.symtab, address);

	return symbol && symbol->size && (symbol->name[0] != '_' || strchr("ZRD", symbol->name[1]));
}

static void elf_resolve(struct source *source, uint64_t address, struct chain *chain)
{
	struct elf_source *elf = (struct elf_source *)source;
	struct unit *unit = units_find(&elf->units, address);
	const char *file;
	uint32_t line;

	elf->nr_inside += unit != NULL;
	elf->nr_outside += !unit && is_written_by_users(elf, address);
	chain->left_out = unit && !unit->read;
	elf->nr_left_out += chain->left_out;
	if (unit)
		resolve_scopes(elf, unit, address, chain);
	if (chain->at.nr == 0)
		add_place(chain, naming_add_address(&elf->naming, address));
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
	if (elf->own_fd < 0 && module->kind != PROFILE_MODULE_VDSO) {
		error_errno(err, errno, "open %s", module->open_path);
		error_hint(err, "`cprof symbolize` names it where it can be read");
	}
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

	extents_read(&elf->naming.extents, binary->fd, &binary->file);
	symtab_read(&elf->naming.symtab, binary->elf);
	if (binary->separate_elf)
		symtab_read(&elf->naming.symtab, binary->separate_elf);
	if (binary_has_section(binary->elf, ".gnu_debugdata"))
		elf->minidebug = minidebug_read(&elf->naming.symtab, binary->fd);
	symtab_build(&elf->naming.symtab, &elf->naming.extents);
	plt_read(&elf->naming.plt, binary->elf, &elf->naming.symtab);
}

static bool is_stripped(const struct binary *binary)
{
	return !binary_has_section(binary->elf, ".symtab") &&
	       !binary_has_section(binary->elf, ".gnu_debugdata") &&
	       !(binary->separate_elf && binary_has_section(binary->separate_elf, ".symtab"));
}

/* Of a program in a root of its own, its path is not ours; the descriptor is all that is left. */
static int open_binary(struct elf_source *elf, int fd, struct binary_where *where,
		       struct error *err)
{
	const struct profile_module *module = elf->module;
	char *path = module->open_path ? xstrdup(module->open_path) : place_path(fd);
	char *root = place_root(path, module->path);

	where->path = path ? path : module->path;
	where->root = root;
	int ret = binary_open(&elf->binary, fd, where, err);
	free(path);
	free(root);
	return ret;
}

static int open_all(struct elf_source *elf, const struct source_request *request, struct error *err)
{
	struct means *means = request->means;
	const struct symbolize_options *options = means->options;
	const char *spent = budget_is_spent(&means->budget) ? means->budget.spent : NULL;
	struct binary_where where = {
		.build_id = request->module->build_id,
		.debug_directories = options->debug_directories,
		.servers =
			elf->module->kind == PROFILE_MODULE_FILE && !spent ? means->servers : NULL,
		.no_dwarf = request->no_dwarf ? request->no_dwarf : spent,
	};
	int fd = descriptor(elf, request, err);
	int ret = fd < 0 ? fd : open_binary(elf, fd, &where, err);

	if (ret < 0)
		return ret;
	means->budget.mapped_bytes =
		elf->binary.unpacked.unpacked_bytes + elf->binary.shared_unpacked.unpacked_bytes;
	read_symbols(elf);
	if (elf->binary.dwarf)
		units_open(&elf->units, elf->binary.dwarf, &elf->binary.file, &means->budget);
	return 0;
}

static void elf_close(struct source *source)
{
	struct elf_source *elf = (struct elf_source *)source;

	units_close(&elf->units);
	naming_release(&elf->naming);
	minidebug_close(elf->minidebug);
	binary_close(&elf->binary);
	elf->means->budget.mapped_bytes = 0;
	if (elf->own_fd >= 0)
		close(elf->own_fd);
	vec_free(&elf->scopes);
	free(elf->reason);
	free(elf);
}

static struct source *without(const struct source_request *request, const struct error *err)
{
	char *reason = xasprintf("%s%s%s", err->message, *err->hint ? "; " : "", err->hint);
	struct source *source = source_without(request, reason);

	free(reason);
	return source;
}

static struct source *elf_open(const struct source_request *request)
{
	struct elf_source *elf = xcalloc(1, sizeof(*elf));
	struct error err = ERROR_INIT;

	elf->source.kind = &source_elf;
	elf->module = request->module;
	elf->naming.module = elf->module->name;
	elf->naming.functions = request->functions;
	elf->means = request->means;
	elf->own_fd = -1;
	if (open_all(elf, request, &err) < 0) {
		elf_close(&elf->source);
		return without(request, &err);
	}
	elf->source.has_names = true;
	return &elf->source;
}

/* Those parts may be of libraries that are linked in: Rust's, for one. */
static bool is_mostly_outside(const struct elf_source *elf)
{
	return elf->nr_outside > elf->nr_inside;
}

static enum profile_debug debug_of(const struct elf_source *elf)
{
	if (elf->units.at.nr > elf->units.nr_split_missing && !is_mostly_outside(elf))
		return PROFILE_DEBUG_FULL;
	return elf->naming.symtab.at.nr ? PROFILE_DEBUG_SYMBOLS : PROFILE_DEBUG_NONE;
}

static void elf_describe(struct source *source, struct profile_module *module)
{
	struct elf_source *elf = (struct elf_source *)source;
	struct lack lack = {
		.path = module->path,
		.binary = &elf->binary,
		.units = &elf->units,
		.has_symbols = elf->naming.symtab.at.nr,
		.stripped = is_stripped(&elf->binary),
		.mostly_outside = is_mostly_outside(elf),
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
