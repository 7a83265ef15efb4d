/* SPDX-License-Identifier: MIT */
#include "symbolize/plt.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "object/elf_section.h"

enum {
	ENTRY_SIZE = 16, /* bytes, of most */
	ENTRY_MIN = 8,
};

/* Reads the jump at the start of code; 0 if it is none, otherwise the slot's address. */
typedef uint64_t decode_entry(const uint8_t *code, size_t size, uint64_t address);

/* endbr64? bnd? jmp *slot(%rip) */
static uint64_t decode_x86_64(const uint8_t *code, size_t size, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t displacement;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at < size && code[at] == 0xf2)
		at++;
	if (size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	return address + at + 6 + (uint64_t)(int64_t)displacement;
}

static uint32_t instruction(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* bti c? adrp x16, page; ldr x17, [x16, #offset] */
static uint64_t decode_aarch64(const uint8_t *code, size_t size, uint64_t address)
{
	size_t at = size >= 4 && instruction(code) == 0xd503245f ? 4 : 0;

	if (size < at + 8)
		return 0;
	uint32_t adrp = instruction(code + at), ldr = instruction(code + at + 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	uint64_t page =
		((address + at) & ~UINT64_C(0xfff)) + (uint64_t)((int64_t)(pages << 43) >> 31);
	return page + (uint64_t)(ldr >> 10 & 0xfff) * 8;
}

static const struct machine {
	GElf_Half machine;
	size_t step; /* entries start at multiples of it */
	decode_entry *decode;
} machines[] = {
	{ EM_X86_64, 8, decode_x86_64 },
	{ EM_AARCH64, 4, decode_aarch64 },
};

static const struct machine *machine_of(Elf *elf)
{
	GElf_Ehdr ehdr;

	if (gelf_getehdr(elf, &ehdr))
		for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
			if (machines[i].machine == ehdr.e_machine)
				return &machines[i];
	return NULL;
}

static void read_entries(struct plt *plt, const struct machine *machine, const Elf_Data *data,
			 uint64_t address)
{
	for (size_t at = 0, step; at < data->d_size; at += step) {
		uint64_t slot = machine->decode((const uint8_t *)data->d_buf + at,
						data->d_size - at, address + at);
		step = slot ? ENTRY_MIN : machine->step;
		if (!slot)
			continue;
		if (plt->at.nr && vec_last(&plt->at)->end > address + at)
			vec_last(&plt->at)->end = address + at;
		vec_push(&plt->at, (struct plt_entry){
					   .start = address + at,
					   .end = address + (data->d_size - at < ENTRY_SIZE
								     ? data->d_size
								     : at + ENTRY_SIZE),
					   .slot = slot,
				   });
	}
}

static bool is_plt(const struct elf_section *section)
{
	return !strncmp(section->name, ".plt", 4) && section->shdr.sh_type == SHT_PROGBITS &&
	       (section->shdr.sh_flags & SHF_EXECINSTR);
}

static void read_sections(struct plt *plt, const struct machine *machine, Elf *elf)
{
	struct elf_section section = { 0 };

	while (elf_section_next(elf, &section)) {
		if (!is_plt(&section))
			continue;
		Elf_Data *data = elf_rawdata(section.scn, NULL);
		if (data && data->d_buf)
			read_entries(plt, machine, data, section.shdr.sh_addr);
	}
}

static int by_slot(const void *left, const void *right)
{
	const struct plt_entry *a = left, *b = right;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static int by_start(const void *left, const void *right)
{
	const struct plt_entry *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void sort(struct plt *plt, int (*compare)(const void *, const void *))
{
	if (plt->at.nr)
		qsort(plt->at.at, plt->at.nr, sizeof(plt->at.at[0]), compare);
}

/* The dynamic symbols that a section of relocations refers to. */
struct relocated {
	Elf *elf;
	Elf_Data *symbols;
	size_t names;
	const struct symtab *symtab;
};

static char *name_of(const struct relocated *by, const GElf_Rela *rela)
{
	GElf_Sym sym;
	int i = (int)GELF_R_SYM(rela->r_info);

	if (i == 0) { /* an IFUNC of the file's own: the addend is its resolver */
		const struct symbol *resolver =
			symtab_at(by->symtab, (uint64_t)rela->r_addend, NULL);

		return resolver ? xstrndup(resolver->name, symbol_name_length(resolver)) : NULL;
	}
	const char *name = by->symbols && gelf_getsym(by->symbols, i, &sym)
				   ? elf_strptr(by->elf, by->names, sym.st_name)
				   : NULL;
	return name ? xstrdup(name) : NULL;
}

static void name_slot(struct plt *plt, const struct relocated *by, const GElf_Rela *rela)
{
	struct plt_entry key = { .slot = rela->r_offset };
	struct plt_entry *entry =
		bsearch(&key, plt->at.at, plt->at.nr, sizeof(plt->at.at[0]), by_slot);

	while (entry && entry > plt->at.at && entry[-1].slot == key.slot)
		entry--;
	for (; entry && entry < plt->at.at + plt->at.nr && entry->slot == key.slot; entry++)
		if (!entry->name)
			entry->name = name_of(by, rela);
}

static void read_relocations(struct plt *plt, Elf *elf, Elf_Scn *section, const GElf_Shdr *shdr,
			     const struct symtab *symtab)
{
	Elf_Scn *linked = elf_getscn(elf, shdr->sh_link);
	struct relocated by = { .elf = elf, .symtab = symtab };
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr dynsym;
	GElf_Rela rela;

	if (linked && gelf_getshdr(linked, &dynsym) && dynsym.sh_type == SHT_DYNSYM) {
		by.symbols = elf_getdata(linked, NULL);
		by.names = dynsym.sh_link;
	}
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++)
		name_slot(plt, &by, &rela);
}

static void name_slots(struct plt *plt, Elf *elf, const struct symtab *symtab)
{
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &shdr) && shdr.sh_type == SHT_RELA &&
		    (shdr.sh_flags & SHF_ALLOC))
			read_relocations(plt, elf, section, &shdr, symtab);
}

void plt_read(struct plt *plt, Elf *elf, const struct symtab *symtab)
{
	const struct machine *machine = machine_of(elf);

	if (!machine)
		return;
	read_sections(plt, machine, elf);
	sort(plt, by_slot);
	if (plt->at.nr)
		name_slots(plt, elf, symtab);
	sort(plt, by_start);
}

const struct plt_entry *plt_find(const struct plt *plt, uint64_t address)
{
	size_t nr = search_count(plt->at.nr, i, plt->at.at[i].start <= address);
	const struct plt_entry *entry = nr ? &plt->at.at[nr - 1] : NULL;

	return entry && address < entry->end && entry->name ? entry : NULL;
}

void plt_release(struct plt *plt)
{
	vec_each(&plt->at, entry) free(entry->name);
	vec_free(&plt->at);
}
