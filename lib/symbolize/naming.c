/* SPDX-License-Identifier: MIT */
#include "symbolize/naming.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "symbolize/demangle.h"
#include "symbolize/die.h"

/* A name as it is shown: without version. */
static char *plain_name(const struct symbol *symbol)
{
	return xstrndup(symbol->name, symbol_name_length(symbol));
}

static uint32_t add_symbol(struct naming *naming, const struct symbol *symbol)
{
	bool added;
	uint64_t *id = map_add(&naming->known, (uintptr_t)symbol, &added);

	if (added) {
		char *name = plain_name(symbol);
		struct function function = { .symbol = name, .start = symbol->start };

		*id = functions_add(naming->functions, &function);
		free(name);
	}
	return (uint32_t)*id;
}

static uint32_t add_plt_entry(struct naming *naming, const struct plt_entry *entry)
{
	char *called = naming->functions->no_demangle ? NULL : demangle(entry->name);
	char *name = xasprintf("%s@plt", called ? called : entry->name);
	struct function function = { .name = name, .start = entry->start };
	uint32_t id = functions_add(naming->functions, &function);

	free(called);
	free(name);
	return id;
}

/* Where the code without a name begins: its function, or the gap between functions and symbols. */
static uint64_t nameless_start(const struct naming *naming, uint64_t address)
{
	uint64_t gap = symtab_gap_start(&naming->symtab, address);
	struct extent extent;

	if (extents_find(&naming->extents, address, &extent) || extent.start > gap)
		return extent.start;
	return gap;
}

static uint32_t add_nameless(struct naming *naming, uint64_t address)
{
	uint64_t start = nameless_start(naming, address);
	char *name = xasprintf("%s+0x%" PRIx64, naming->module, start);
	struct function function = { .name = name, .nameless = true, .start = start };
	uint32_t id = functions_add(naming->functions, &function);

	free(name);
	return id;
}

uint32_t naming_add_address(struct naming *naming, uint64_t address)
{
	const struct symbol *symbol = symtab_find(&naming->symtab, address);
	const struct plt_entry *entry = symbol ? NULL : plt_find(&naming->plt, address);

	if (symbol)
		return add_symbol(naming, symbol);
	if (entry)
		return add_plt_entry(naming, entry);
	return add_nameless(naming, address);
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
static char *name_by_symbol(const struct naming *naming, Dwarf_Die *die, const char *dwarf_name)
{
	uint64_t entry;
	const struct symbol *symbol =
		die_entry(die, &entry) ? symtab_at(&naming->symtab, entry, dwarf_name) : NULL;

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
static void describe(struct naming *naming, Dwarf_Die *die, const struct scope *instance,
		     struct function *function, char **text)
{
	Dwarf_Die own = instance ? instance->die : *die;
	char *symbol;

	*text = NULL;
	die_describe(die, function, &naming->paths);
	if (is_mangled(function->symbol))
		return;
	symbol = instance ? name_by_symbol(naming, &own, function->name) : NULL;
	if (own.addr != die->addr)
		symbol = mangled_only(symbol);
	if (take_name(function, text, symbol))
		function->symbol = symbol;
	else if (!function->symbol && function->name && !naming->functions->no_demangle)
		take_name(function, text, qualify(&naming->qualifier, die, function->name));
}

/* False if nothing names it: debug information refers to a file that is missing. */
static bool add_described(struct naming *naming, Dwarf_Die *die, const struct scope *instance,
			  uint32_t *id)
{
	struct function function = { 0 };
	char *text;

	describe(naming, die, instance, &function, &text);
	bool named = function.symbol || function.name;
	if (named)
		*id = functions_add(naming->functions, &function);
	free(text);
	return named;
}

static bool add_real(struct naming *naming, const struct scope *scope, uint64_t address,
		     uint32_t *id)
{
	Dwarf_Die die = scope->die;

	if (!add_described(naming, &die, scope, id))
		*id = naming_add_address(naming, address);
	return true;
}

static bool add_inlined(struct naming *naming, struct unit *unit, const struct scope *scope,
			uint32_t *id)
{
	Dwarf_Die die = scope->die, origin = die_origin(&die);

	return add_described(naming, &die, unit_instance(unit, &origin), id);
}

/* All instances of an inlined function share the answer, and all addresses of a real one. */
bool naming_add_scope(struct naming *naming, struct unit *unit, const struct scope *scope,
		      uint64_t address, uint32_t *id)
{
	Dwarf_Die die = scope->die;
	uintptr_t key = (uintptr_t)(scope->inlined ? die_origin(&die).addr : die.addr);
	uint64_t *known = map_find(&naming->known, key);

	if (known) {
		*id = (uint32_t)*known;
		return true;
	}
	if (!(scope->inlined ? add_inlined(naming, unit, scope, id)
			     : add_real(naming, scope, address, id)))
		return false;
	map_set(&naming->known, key, *id);
	return true;
}

void naming_release(struct naming *naming)
{
	qualifier_release(&naming->qualifier);
	paths_release(&naming->paths);
	plt_release(&naming->plt);
	symtab_release(&naming->symtab);
	extents_release(&naming->extents);
	map_release(&naming->known);
}
