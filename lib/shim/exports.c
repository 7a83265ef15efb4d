/* SPDX-License-Identifier: MIT */
#include "shim/exports.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_SYMBOLS 192

/* Of the object that we are in; the linker knows them. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* In which the loader looks instead of in the file's, once there is something in it. */
static ElfW(Sym) symbols[MOST_SYMBOLS];

typedef ElfW(Dyn) dynamic;

static dynamic *entry(ElfW(Sxword) tag)
{
	dynamic *dyn = _DYNAMIC;

	while (dyn->d_tag != DT_NULL && dyn->d_tag != tag)
		dyn++;
	return dyn->d_tag == tag ? dyn : NULL;
}

/* glibc makes it an address, and looks there each time. */
static bool is_relocated(const dynamic *dyn)
{
	return dyn && dyn->d_un.d_ptr >= (uintptr_t)&__ehdr_start;
}

/* One more than the largest index by which a name is found. */
static size_t nr_symbols(const uint32_t *hash)
{
	uint32_t nr_buckets = hash[0], first = hash[1], nr_bloom = hash[2], last = 0;
	const uint32_t *buckets = hash + 4 + nr_bloom * (sizeof(ElfW(Addr)) / sizeof(*hash));
	const uint32_t *chain = buckets + nr_buckets;

	for (uint32_t i = 0; i < nr_buckets; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

bool exports_hide(const char *prefix)
{
	dynamic *table = entry(DT_SYMTAB);
	const dynamic *hash = entry(DT_GNU_HASH), *names = entry(DT_STRTAB);

	if (!is_relocated(table) || !is_relocated(hash) || !is_relocated(names))
		return false;

	const ElfW(Sym) *now = (const void *)table->d_un.d_ptr;
	const char *name = (const void *)names->d_un.d_ptr;
	size_t nr = nr_symbols((const void *)hash->d_un.d_ptr), length = strlen(prefix);

	if (nr > MOST_SYMBOLS)
		return false;
	for (size_t i = 0; i < nr; i++) {
		symbols[i] = now[i];
		if (!strncmp(name + now[i].st_name, prefix, length))
			symbols[i].st_value = 0; /* as good as undefined */
	}
	__atomic_store_n(&table->d_un.d_ptr, (uintptr_t)symbols, __ATOMIC_RELEASE);
	return true;
}
