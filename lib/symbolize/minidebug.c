/* SPDX-License-Identifier: MIT */
#include "symbolize/minidebug.h"

#include <elfutils/libdwfl.h>
#include <unistd.h>

#include "base/alloc.h"

/* libdwfl is the one that can unpack it; it looks for no other file here. */
struct minidebug {
	Dwfl *dwfl;
};

static int find_nothing(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_nothing,
	.section_address = dwfl_offline_section_address,
};

static void add_symbols(struct symtab *tab, Dwfl_Module *module)
{
	int nr = dwfl_module_getsymtab(module);
	GElf_Sym sym;
	GElf_Addr address;
	Elf *elf;

	for (int i = 1; i < nr; i++) {
		const char *name =
			dwfl_module_getsym_info(module, i, &sym, &address, NULL, &elf, NULL);

		if (name)
			symtab_add_from(tab, elf, &sym, name, false);
	}
}

struct minidebug *minidebug_read(struct symtab *tab, int fd)
{
	struct minidebug *mini = xcalloc(1, sizeof(*mini));
	int own_fd = dup(fd); /* libdwfl closes it */

	mini->dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module =
		mini->dwfl && own_fd >= 0 ? dwfl_report_offline(mini->dwfl, "", "", own_fd) : NULL;
	if (!module) {
		if (own_fd >= 0)
			close(own_fd);
		minidebug_close(mini);
		return NULL;
	}
	dwfl_report_end(mini->dwfl, NULL, NULL);
	add_symbols(tab, module);
	tab->complete = true;
	return mini;
}

void minidebug_close(struct minidebug *mini)
{
	if (!mini)
		return;
	if (mini->dwfl)
		dwfl_end(mini->dwfl);
	free(mini);
}
