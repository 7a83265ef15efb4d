/* SPDX-License-Identifier: MIT */
/*
 * symbolize - gives the addresses of a finished profile their names, in place.
 *
 *	struct symbolize_options options = { .open_module = open_kept, .context = recorder };
 *
 *	if (symbolize_file("cprof.data", &options, &err) < 0)
 *		warn(&err);		// the profile is as it was, and can be symbolized later
 *
 * Each distinct (module, address) is resolved once.  Functions, files, lines and inline chains
 * replace the ones the profile had, in one transaction; modules say how far their names go and
 * why no further; quality rows (no-symbol, no-debug) say what that concerns.
 *
 * Reading foreign ELF and DWARF is done by a child process.  A module that crashes it, or keeps
 * it busy for too long, loses its names; the others, the profile and the caller do not notice.
 * Nothing is fetched from the network.
 */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "store/profile.h"

struct symbolize_options {
	/*
	 * A descriptor of the module's own file, kept open since it was mapped, or -1.  It stays
	 * the caller's.  NULL, or -1: the module's open_path is opened, if it is still the same
	 * file. Called in the child, so what it changes in memory is lost.
	 */
	int (*open_module)(void *context, const struct profile_module *module);

	/* Called before each module that is looked into; done counts up to total.  May be NULL. */
	void (*progress)(void *context, size_t done, size_t total, const char *module);
	void *context;

	/* Searched for separate debug files before /usr/lib/debug; ends with NULL.  May be NULL. */
	const char *const *debug_directories;
	bool no_demangle;
};

/*
 * ERR_INTERRUPTED when the child was killed by SIGINT, SIGTERM or SIGHUP; otherwise what
 * profile_open() and the writer say.  On any error the profile keeps the names it had.
 */
int symbolize_file(const char *path, const struct symbolize_options *options, struct error *err);

#endif
