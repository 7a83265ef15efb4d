/* SPDX-License-Identifier: MIT */
#include "record/stacks/rules.h"

enum {
	CACHE_BITS_FIRST = 12,
	CACHE_BITS_MAX = 20,
};

static void resize_cache(struct rules *rules, unsigned int bits)
{
	free(rules->cache.entries);
	rules->cache.entries = xcalloc(UINT64_C(1) << bits, sizeof(rules->cache.entries[0]));
	rules->cache.bits = bits;
	rules->misses = 0;
}

void rules_init(struct rules *rules)
{
	*rules = (struct rules){ 0 };
	resize_cache(rules, CACHE_BITS_FIRST);
}

void rules_release(struct rules *rules)
{
	vec_each(&rules->cfis, cfi) module_cfi_release(cfi);
	vec_free(&rules->cfis);
	vec_free(&rules->cfi_of_module);
	map_release(&rules->cfi_by_build_id);
	free(rules->cache.entries);
}

struct rules_figures rules_figures(const struct rules *rules)
{
	struct rules_figures figures = { .evaluated = rules->evaluated };

	vec_each(&rules->cfis, cfi) figures.row_bytes += module_cfi_bytes(cfi);
	return figures;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * UINT64_C(0x100000001b3);
	return hash;
}

static uint32_t load_cfi(struct rules *rules, const struct module *module)
{
	struct module_cfi *cfi = vec_add(&rules->cfis);

	module_cfi_load(cfi, module);
	return (uint32_t)rules->cfis.nr;
}

static uint32_t cfi_by_build_id(struct rules *rules, const struct module *module)
{
	if (!module->build_id || !module->elf.nr_loads)
		return load_cfi(rules, module);

	uint64_t *number = map_add(&rules->cfi_by_build_id, hash_text(module->build_id), NULL);
	if (!*number)
		*number = load_cfi(rules, module);
	return (uint32_t)*number;
}

static uint32_t cfi_of(struct rules *rules, const struct module *module)
{
	while (rules->cfi_of_module.nr <= module->id)
		vec_push(&rules->cfi_of_module, 0);

	uint32_t *number = &rules->cfi_of_module.at[module->id];
	if (!*number)
		*number = cfi_by_build_id(rules, module);
	return *number - 1;
}

/* One cache serves all modules: the number of the CFI goes into the high bits. */
static void cache_row(struct rules *rules, uint64_t key, uint64_t address, struct unwind_row *row)
{
	uint64_t limit = UINT64_C(1) << RULES_ADDRESS_BITS;

	if (++rules->misses >> rules->cache.bits && rules->cache.bits < CACHE_BITS_MAX)
		resize_cache(rules, rules->cache.bits + 2);
	row->end = (row->end < limit ? row->end : limit) + key - address;
	row->start += key - address;
	unwind_cache_add(&rules->cache, key, row);
}

unwind_rule rules_evaluate(struct rules *rules, const struct module *module, uint64_t address)
{
	uint64_t number = cfi_of(rules, module) + UINT64_C(1);
	bool has_key = !(address >> RULES_ADDRESS_BITS) && !(number >> (64 - RULES_ADDRESS_BITS));
	struct unwind_row row;

	rules->evaluated++;
	module_cfi_find(&rules->cfis.at[number - 1], address, &row);
	if (has_key)
		cache_row(rules, number << RULES_ADDRESS_BITS | address, address, &row);
	return row.rule;
}

struct unwind_place rules_register(struct rules *rules, const struct module *module,
				   uint64_t address, unsigned int reg)
{
	return module_cfi_register(&rules->cfis.at[cfi_of(rules, module)], address, reg);
}

uint64_t rules_function(struct rules *rules, const struct module *module, uint64_t address)
{
	return module_cfi_function(&rules->cfis.at[cfi_of(rules, module)], address);
}

bool rules_is_sigreturn(struct rules *rules, const struct module *module, uint64_t address)
{
	return module_cfi_is_sigreturn(&rules->cfis.at[cfi_of(rules, module)], address);
}

bool rules_is_entry(struct rules *rules, const struct module *module, uint64_t address)
{
	return module_cfi_is_entry(&rules->cfis.at[cfi_of(rules, module)], address);
}

bool rules_is_after_clone(struct rules *rules, const struct module *module, uint64_t address)
{
	return module_cfi_is_after_clone(&rules->cfis.at[cfi_of(rules, module)], address);
}

bool rules_sets_fp(struct rules *rules, const struct module *module, uint64_t address)
{
	return module_cfi_sets_fp(&rules->cfis.at[cfi_of(rules, module)], address);
}
