/* SPDX-License-Identifier: MIT */
#include "symbolize/binary.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/decompress.h"
#include "object/elf_section.h"

bool binary_has_section(Elf *elf, const char *name)
{
	struct elf_section section;

	return elf_section_find(elf, name, &section);
}

static bool has_dwarf(Elf *elf)
{
	return binary_has_section(elf, ".debug_info") || binary_has_section(elf, ".zdebug_info");
}

static int open_file(struct binary *binary, const struct binary_where *where, struct error *err)
{
	int ret = elf_file_read(&binary->file, binary->fd, err);

	if (ret < 0)
		return ret;
	if (where->build_id &&
	    (!binary->file.build_id || strcmp(where->build_id, binary->file.build_id) != 0))
		return error_set(err, ERR_FORMAT,
				 "the file is not the one that ran: its build id is another");
	binary->elf = elf_begin(binary->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (!binary->elf)
		return error_set(err, ERR_FORMAT, "not a readable ELF file: %s", elf_errmsg(-1));
	return 0;
}

static void open_separate(struct binary *binary, const struct binary_where *where)
{
	struct debuginfo_query query = {
		.elf = binary->elf,
		.path = where->path,
		.root = where->root,
		.directories = where->debug_directories,
		.servers = where->servers,
	};

	if (debuginfo_find(&binary->separate, &query))
		binary->separate_elf =
			elf_begin(binary->separate.fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	binary->fetch_reason = binary->separate.fetch_reason;
}

static void set_reason(struct binary *binary, const char *what, const char *why)
{
	free(binary->reason);
	binary->reason = xasprintf("%s: %s", what, why);
}

static bool is_zstd(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Chdr chdr;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getchdr(section, &chdr) && chdr.ch_type == DECOMPRESS_ZSTD)
			return true;
	return false;
}

/* All is unpacked when a file is opened; of this, names have no use. */
static void hide_unneeded(Elf *elf)
{
	static const char *const unneeded[] = {
		".debug_loc",	   ".debug_loclists", ".debug_frame", ".debug_names",
		".debug_pubnames", ".debug_macinfo",  ".debug_macro",
	};
	struct elf_section section;

	for (size_t i = 0; i < ARRAY_SIZE(unneeded); i++) {
		if (!elf_section_find(elf, unneeded[i], &section))
			continue;
		section.shdr.sh_type = SHT_NOBITS;
		gelf_update_shdr(section.scn, &section.shdr);
	}
}

/* libdw looks for .dwo files in the folder of the file that it has a descriptor of, too. */
static bool lacks_split(Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0)
		if (type == DW_UT_skeleton && !split.addr)
			return true;
	return false;
}

static Dwarf *begin_unpacked(struct unpacked *unpacked, int fd, Elf *elf)
{
	Dwarf *dwarf = NULL;

	if (unpacked_open(unpacked, fd, elf))
		dwarf = dwarf_begin_elf(unpacked->elf, DWARF_C_READ, NULL);
	if (dwarf && !lacks_split(dwarf))
		return dwarf;
	dwarf_end(dwarf);
	unpacked_close(unpacked);
	return NULL;
}

/* Instead of libdw's, which prints and exits. */
static void __attribute__((noreturn)) no_memory(void)
{
	alloc_failed(0);
}

static Dwarf *begin(struct unpacked *unpacked, int fd, Elf *elf)
{
	hide_unneeded(elf);
	Dwarf *dwarf = begin_unpacked(unpacked, fd, elf);

	if (!dwarf)
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf)
		dwarf_new_oom_handler(dwarf, no_memory);
	return dwarf;
}

/* What dwz moved elsewhere: without it names that refer to it are missing. */
static void open_shared(struct binary *binary, const struct binary_where *where)
{
	const char *name;
	const void *id;
	ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(binary->dwarf, &name, &id);
	struct debuginfo_query query = {
		.elf = binary->elf,
		.path = binary->separate.path ? binary->separate.path : where->path,
		.root = where->root,
		.directories = where->debug_directories,
		.servers = where->servers,
	};

	if (id_size <= 0)
		return;
	if (debuginfo_find_shared(&binary->shared, &query, name, id, (size_t)id_size))
		binary->shared_elf = elf_begin(binary->shared.fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (binary->shared_elf)
		binary->shared_dwarf =
			begin(&binary->shared_unpacked, binary->shared.fd, binary->shared_elf);
	if (binary->shared_dwarf)
		dwarf_setalt(binary->dwarf, binary->shared_dwarf);
	else
		set_reason(binary, "debug information incomplete", binary->shared.reason);
}

static void open_dwarf(struct binary *binary, const struct binary_where *where)
{
	Elf *elf = has_dwarf(binary->elf) ? binary->elf : binary->separate_elf;

	if (!elf && binary->separate.mismatch)
		set_reason(binary, "no debug information", binary->separate.reason);
	if (!elf || !has_dwarf(elf))
		return;
	if (where->no_dwarf) {
		set_reason(binary, "debug information left out", where->no_dwarf);
		return;
	}
	binary->dwarf = begin(&binary->unpacked,
			      elf == binary->elf ? binary->fd : binary->separate.fd, elf);
	if (binary->dwarf)
		open_shared(binary, where);
	else
		set_reason(binary, "debug information unreadable",
			   is_zstd(elf) ? "install libzstd1" : dwarf_errmsg(-1));
}

int binary_open(struct binary *binary, int fd, const struct binary_where *where, struct error *err)
{
	elf_version(EV_CURRENT);
	binary->fd = fd;
	binary->separate.fd = binary->shared.fd = -1;

	int ret = open_file(binary, where, err);
	if (ret < 0)
		return ret;
	if (!has_dwarf(binary->elf) || !binary_has_section(binary->elf, ".symtab"))
		open_separate(binary, where);
	open_dwarf(binary, where);
	return 0;
}

void binary_close(struct binary *binary)
{
	if (binary->dwarf)
		dwarf_end(binary->dwarf);
	if (binary->shared_dwarf)
		dwarf_end(binary->shared_dwarf);
	unpacked_close(&binary->unpacked);
	unpacked_close(&binary->shared_unpacked);
	elf_end(binary->shared_elf);
	elf_end(binary->separate_elf);
	elf_end(binary->elf);
	debuginfo_release(&binary->separate);
	debuginfo_release(&binary->shared);
	elf_file_release(&binary->file);
	free(binary->reason);
	*binary = (struct binary){ 0 };
}
