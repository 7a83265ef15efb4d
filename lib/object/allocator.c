/* SPDX-License-Identifier: MIT */
#include "object/allocator.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "object/elf_section.h"

/* How its functions are called; a part that is NULL may be anything. */
struct sign {
	const char *allocator;
	const char *begin, *end;
};

static const struct sign signs[] = {
	{ "jemalloc", NULL, "mallocx" }, /* je_, _rjem_, none: jemalloc's own interface */
	{ "jemalloc", "_rjem_", NULL },
	{ "mimalloc", "mi_heap_malloc", NULL },
	{ "mimalloc", "mi_malloc", NULL },
	{ "mimalloc", "_mi_malloc_generic", NULL },
	{ "tcmalloc", "tc_malloc", NULL },
	{ "tcmalloc", "TCMallocInternal", NULL },
	{ "snmalloc", "sn_rust_alloc", NULL },
	{ "rpmalloc", "rpmalloc", NULL },
	{ "TBB's allocator", "scalable_malloc", NULL },
	{ "dlmalloc", "dlmalloc", NULL },
};

static bool fits(const struct sign *sign, const char *symbol)
{
	size_t length = strlen(symbol), end = sign->end ? strlen(sign->end) : 0;

	if (sign->begin && strncmp(symbol, sign->begin, strlen(sign->begin)) != 0)
		return false;
	return length >= end && (!end || !strcmp(symbol + length - end, sign->end));
}

static bool is_sign(struct allocator *allocator, const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (!fits(&signs[i], symbol))
			continue;
		allocator->name = signs[i].allocator;
		snprintf(allocator->symbol, sizeof(allocator->symbol), "%s", symbol);
		return true;
	}
	return false;
}

static bool find_in(struct allocator *allocator, Elf *elf, const struct elf_section *table)
{
	Elf_Data *data = elf_getdata(table->scn, NULL);
	size_t nr = data && table->shdr.sh_entsize ? data->d_size / table->shdr.sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; i < nr && gelf_getsym(data, (int)i, &symbol); i++) {
		int type = GELF_ST_TYPE(symbol.st_info);
		const char *name = type == STT_FUNC || type == STT_NOTYPE
					   ? elf_strptr(elf, table->shdr.sh_link, symbol.st_name)
					   : NULL;

		if (name && is_sign(allocator, name))
			return true;
	}
	return false;
}

static bool exports_malloc(Elf *elf, const struct elf_section *table)
{
	Elf_Data *data = elf_getdata(table->scn, NULL);
	size_t nr = data && table->shdr.sh_entsize ? data->d_size / table->shdr.sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; i < nr && gelf_getsym(data, (int)i, &symbol); i++) {
		const char *name = elf_strptr(elf, table->shdr.sh_link, symbol.st_name);

		if (name && !strcmp(name, "malloc") && symbol.st_shndx != SHN_UNDEF)
			return true;
	}
	return false;
}

static bool find(struct allocator *allocator, int fd, bool in_library)
{
	struct elf_section section = { 0 };
	bool found = false, is_malloc = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL); /* not _MMAP: the file may be cut */
	while (!is_malloc && elf && elf_section_next(elf, &section)) {
		bool is_dynamic = section.shdr.sh_type == SHT_DYNSYM;

		if (is_dynamic || section.shdr.sh_type == SHT_SYMTAB)
			found = found || find_in(allocator, elf, &section);
		is_malloc = in_library && is_dynamic && exports_malloc(elf, &section);
	}
	elf_end(elf);
	return found && !is_malloc;
}

bool allocator_find(struct allocator *allocator, int fd)
{
	return find(allocator, fd, false);
}

bool allocator_find_in_library(struct allocator *allocator, int fd)
{
	return find(allocator, fd, true);
}
