/* SPDX-License-Identifier: MIT */
/*
 * source - where the names of one module come from.
 *
 *	struct source *source = source_open(&request);
 *
 *	source->kind->resolve(source, address, &chain);	// for each address
 *	source->kind->describe(source, &module);
 *	source->kind->close(source);
 *
 * There is one kind a line in source.c: ELF files, the kernel's symbols, maps that JIT compilers
 * write, and nothing.  Opening does not fail: a source that has no names says why.
 */
#ifndef SYMBOLIZE_SOURCE_H
#define SYMBOLIZE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/reader.h"
#include "symbolize/functions.h"
#include "symbolize/means.h"

struct source_request {
	const struct profile *profile;
	const struct profile_module *module;
	const struct profile_address *const *addresses; /* all to be resolved, ascending */
	size_t nr_addresses;
	struct means *means;
	const char *no_dwarf; /* why to read symbol tables only: DWARF crashed before; or NULL */
	struct functions *functions;
};

struct source {
	const struct source_kind *kind;
	bool has_names; /* it could be read and named something */
};

struct source_kind {
	struct source *(*open)(const struct source_request *request);
	/*
	 * Appends what the address is to an empty chain: at least one place.  Names of files are
	 * valid until the source is closed.
	 */
	void (*resolve)(struct source *source, uint64_t address, struct chain *chain);
	/* Sets debug, debug_path and reason; valid until the source is closed. */
	void (*describe)(struct source *source, struct profile_module *module);
	void (*close)(struct source *source);
};

extern const struct source_kind source_elf;
extern const struct source_kind source_kernel;
extern const struct source_kind source_jit;
extern const struct source_kind source_nothing;

struct source *source_open(const struct source_request *request);

/* Without any names: says reason, which it copies. */
struct source *source_without(const struct source_request *request, const char *reason);

#endif
