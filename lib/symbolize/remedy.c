/* SPDX-License-Identifier: MIT */
#include "symbolize/remedy.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf_section.h"

static bool has_dwp(const struct lack *lack)
{
	char *name = lack->path ? xasprintf("%s.dwp", lack->path) : NULL;
	bool found = name && access(name, F_OK) == 0;

	free(name);
	return found;
}

static char *split_is_missing(const struct lack *lack)
{
	if (has_dwp(lack))
		return xasprintf("split debug information is in %s.dwp, which libdw reads since "
				 "0.191; here it is %s",
				 lack->path, dwfl_version(NULL));
	return xasprintf("split debug information is missing: %zu of %zu .dwo files",
			 lack->units->nr_split_missing, lack->units->at.nr);
}

/* Debian builds NAME-dbgsym of everything, but for a few that had a package of their own before. */
static char *debug_package(const char *package)
{
	return strcmp(package, "libc6") != 0 ? xasprintf("%s-dbgsym", package)
					     : xstrdup("libc6-dbg");
}

/* How compilers are asked for debug information; the first that left its trace in the file. */
static const struct compiler {
	const char *section, *trace;
	const char *debug, *unstripped;
} compilers[] = {
	{ ".go.buildinfo", NULL, "build without -ldflags=-w", "build without -ldflags=-s" },
	{ ".comment", "rustc version", "build with -g (cargo: debug = true)",
	  "build with -g and do not strip it (cargo: debug = true, strip = false)" },
	{ NULL, NULL, "build with -g", "build with -g and do not strip it" },
};

static bool has_trace(Elf *elf, const struct compiler *compiler)
{
	struct elf_section section = { 0 };

	if (!compiler->section)
		return true;
	if (!elf_section_find(elf, compiler->section, &section))
		return false;
	if (!compiler->trace)
		return true;
	const Elf_Data *data = elf_rawdata(section.scn, NULL);
	return data && data->d_buf &&
	       memmem(data->d_buf, data->d_size, compiler->trace, strlen(compiler->trace));
}

static const char *how_to_build(const struct lack *lack)
{
	const struct compiler *compiler = compilers;

	while (!has_trace(lack->binary->elf, compiler))
		compiler++;
	return lack->stripped ? compiler->unstripped : compiler->debug;
}

/* What the user can do to get the debug file.  Distributions file theirs by build ids. */
static char *advice(const struct lack *lack)
{
	const char *package = lack->path && lack->binary->file.build_id
				      ? packages_find(&lack->means->packages, lack->path)
				      : NULL;
	bool may_fetch = lack->binary->file.build_id && !lack->means->options->debuginfod_urls &&
			 (package || lack->stripped);
	char *name = package ? debug_package(package) : NULL;
	char *text = xasprintf("%s%s%s", name ? "install " : "", name ?: how_to_build(lack),
			       may_fetch ? " or try --debuginfod" : "");

	free(name);
	return text;
}

/* The vDSO. */
static bool is_kernels(const struct lack *lack)
{
	return lack->path && lack->path[0] == '[';
}

static char *debug_is_missing(const struct lack *lack)
{
	const char *state = !lack->stripped	? "no debug information"
			    : lack->has_symbols ? "stripped, only exported functions have names"
						: "stripped, no names";
	const char *tried = lack->means->no_servers ?: lack->binary->fetch_reason;

	if (is_kernels(lack))
		return xasprintf("%s; it is the kernel's", state);
	char *what = advice(lack);
	char *text = tried ? xasprintf("%s; %s (%s)", state, what, tried)
			   : xasprintf("%s; %s", state, what);

	free(what);
	return text;
}

char *remedy_for(const struct lack *lack)
{
	const struct binary *binary = lack->binary;

	if (lack->units->nr_split_missing)
		return split_is_missing(lack);
	if (binary->reason)
		return xstrdup(binary->reason);
	if (!binary->dwarf)
		return debug_is_missing(lack);
	if (!lack->units->at.nr)
		return xstrdup("debug information unreadable: no units");
	if (lack->units->nr_without_lines)
		return xasprintf("debug information incomplete: the line tables of %zu of %zu "
				 "compilation units are unreadable",
				 lack->units->nr_without_lines, lack->units->nr_read);
	if (lack->mostly_outside)
		return xasprintf("no debug information of most code that was seen; %s",
				 how_to_build(lack));
	if (lack->nr_left_out)
		return xasprintf("%zu addresses without lines and inlined calls: %s",
				 lack->nr_left_out, lack->means->budget.spent);
	return NULL;
}
