/* SPDX-License-Identifier: MIT */
#include "symbolize/symtab.h"

#include <string.h>

#include "base/search.h"

enum { RANK_SPELLING = 24 }; /* bits of a rank that only say how long the name is */

/* The section that a symbol is in, if the code in it is the file's own. */
static bool find_code_section(Elf *elf, const GElf_Sym *sym, GElf_Shdr *shdr)
{
	Elf_Scn *section = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;

	return section && gelf_getshdr(section, shdr) && (shdr->sh_flags & SHF_EXECINSTR) &&
	       shdr->sh_addr + shdr->sh_size >= shdr->sh_addr;
}

/* "$x", "$d.12": where code and data begin, on ARM and RISC-V.  ".L12": the assembler's own. */
static bool is_mark(const char *name)
{
	return (name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
		(name[2] == '\0' || name[2] == '.')) ||
	       !strncmp(name, ".L", 2);
}

static bool is_code(const GElf_Sym *sym)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_NOTYPE:
		return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS;
	}
	return false;
}

size_t symbol_name_length(const struct symbol *symbol)
{
	const char *at = strchr(symbol->name + 1, '@');

	return at ? (size_t)(at - symbol->name) : strlen(symbol->name);
}

static uint32_t limited(size_t value, uint32_t limit)
{
	return value < limit ? (uint32_t)value : limit;
}

/* One number to compare, the weightier reasons in the higher bits. */
static uint32_t rank_of(const GElf_Sym *sym, const char *name, bool superseded)
{
	const char *version = strchr(name, '@');
	bool old = superseded || (version && version[1] != '@');

	return (uint32_t)(sym->st_size == 0) << 31 |
	       (uint32_t)(GELF_ST_BIND(sym->st_info) == STB_LOCAL) << 30 | (uint32_t)old << 29 |
	       limited(strspn(name, "_"), 7) << 26 |
	       (uint32_t)(GELF_ST_TYPE(sym->st_info) == STT_NOTYPE) << 25 |
	       (uint32_t)(GELF_ST_BIND(sym->st_info) == STB_WEAK) << 24 |
	       limited(strlen(name), (1 << RANK_SPELLING) - 1);
}

void symtab_add(struct symtab *tab, const GElf_Sym *sym, const char *name, bool superseded,
		uint64_t section_end)
{
	if (!is_code(sym) || !name || !*name || is_mark(name) ||
	    sym->st_value + sym->st_size < sym->st_value)
		return;
	vec_push(&tab->at, (struct symbol){
				   .start = sym->st_value,
				   .size = sym->st_size,
				   .section_end = section_end,
				   .name = name,
				   .rank = rank_of(sym, name, superseded),
			   });
}

static Elf_Data *find_data(Elf *elf, uint32_t type, GElf_Shdr *shdr)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, shdr) && shdr->sh_type == type)
			return elf_getdata(section, NULL);
	return NULL;
}

static bool is_superseded(Elf_Data *versions, int i)
{
	GElf_Versym version;

	return versions && gelf_getversym(versions, i, &version) && (version & 0x8000);
}

void symtab_add_from(struct symtab *tab, Elf *elf, const GElf_Sym *sym, const char *name,
		     bool superseded)
{
	GElf_Shdr shdr;

	if (is_code(sym) && find_code_section(elf, sym, &shdr))
		symtab_add(tab, sym, name, superseded, shdr.sh_addr + shdr.sh_size);
}

static void read_table(struct symtab *tab, Elf *elf, uint32_t type)
{
	GElf_Shdr shdr, versym;
	Elf_Data *data = find_data(elf, type, &shdr);
	Elf_Data *versions = type == SHT_DYNSYM ? find_data(elf, SHT_GNU_versym, &versym) : NULL;
	GElf_Sym sym;

	tab->complete |= data && type == SHT_SYMTAB;
	for (int i = 1; data && gelf_getsym(data, i, &sym); i++)
		symtab_add_from(tab, elf, &sym, elf_strptr(elf, shdr.sh_link, sym.st_name),
				is_superseded(versions, i));
}

void symtab_read(struct symtab *tab, Elf *elf)
{
	read_table(tab, elf, SHT_SYMTAB);
	read_table(tab, elf, SHT_DYNSYM);
}

static int worse_first(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return strcmp(b->name, a->name);
}

/* Where a symbol without a size ends: at the next one, or else at the end of what it is in. */
static uint64_t end_of(const struct symtab *tab, size_t i, const struct extent *extent)
{
	uint64_t limit = extent->end;

	if (limit > tab->at.at[i].section_end)
		limit = tab->at.at[i].section_end;
	for (size_t next = i + 1; next < tab->at.nr; next++)
		if (tab->at.at[next].start > tab->at.at[i].start)
			return tab->at.at[next].start < limit ? tab->at.at[next].start : limit;
	return limit;
}

static void add_unsized(struct symtab *tab, size_t i, const struct extents *extents)
{
	const struct symbol *symbol = &tab->at.at[i];
	struct extent extent;

	if (segments_find(&tab->sized, symbol->start) != SEGMENT_NONE)
		return;
	if (extents_find(extents, symbol->start, &extent) || tab->complete)
		segments_add(&tab->unsized, symbol->start, end_of(tab, i, &extent), (uint32_t)i);
}

void symtab_build(struct symtab *tab, const struct extents *extents)
{
	if (tab->at.nr)
		qsort(tab->at.at, tab->at.nr, sizeof(tab->at.at[0]), worse_first);
	for (size_t i = 0; i < tab->at.nr; i++)
		segments_add(&tab->sized, tab->at.at[i].start,
			     tab->at.at[i].start + tab->at.at[i].size, (uint32_t)i);
	segments_build(&tab->sized);
	for (size_t i = 0; i < tab->at.nr; i++)
		if (tab->at.at[i].size == 0)
			add_unsized(tab, i, extents);
	segments_build(&tab->unsized);
}

const struct symbol *symtab_find(const struct symtab *tab, uint64_t address)
{
	uint32_t i = segments_find(&tab->sized, address);

	if (i == SEGMENT_NONE)
		i = segments_find(&tab->unsized, address);
	return i == SEGMENT_NONE ? NULL : &tab->at.at[i];
}

static bool is_called(const struct symbol *symbol, const char *name)
{
	size_t length = symbol_name_length(symbol);

	return !strncmp(symbol->name, name, length) && name[length] == '\0';
}

const struct symbol *symtab_at(const struct symtab *tab, uint64_t start, const char *preferred)
{
	size_t nr = search_count(tab->at.nr, i, tab->at.at[i].start <= start);
	const struct symbol *best = nr ? &tab->at.at[nr - 1] : NULL;

	if (!best || best->start != start)
		return NULL;
	for (const struct symbol *symbol = best; preferred && symbol >= tab->at.at; symbol--) {
		if (symbol->start != start ||
		    symbol->rank >> RANK_SPELLING != best->rank >> RANK_SPELLING)
			break;
		if (is_called(symbol, preferred))
			return symbol;
	}
	return best;
}

uint64_t symtab_gap_start(const struct symtab *tab, uint64_t address)
{
	uint64_t sized = segments_start(&tab->sized, address);
	uint64_t unsized = segments_start(&tab->unsized, address);

	return sized > unsized ? sized : unsized;
}

void symtab_release(struct symtab *tab)
{
	vec_free(&tab->at);
	segments_release(&tab->sized);
	segments_release(&tab->unsized);
}
