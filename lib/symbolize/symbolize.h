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
 * Nothing is fetched from the network unless servers are named.
 */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/profile.h"

/* Has the debug files of most distributions. */
#define SYMBOLIZE_PUBLIC_SERVER "https://debuginfod.elfutils.org/"

struct symbolize_progress {
	size_t done, total;		     /* modules */
	const char *module;		     /* the one being looked into */
	bool fetching;			     /* its debug file, of which there is: */
	uint64_t fetched_bytes, fetch_bytes; /* 0: not known */
};

struct symbolize_options {
	/*
	 * A descriptor of the module's own file, kept open since it was mapped, or -1.  It stays
	 * the caller's.  NULL, or -1: the module's open_path is opened, if it is still the same
	 * file. Called in the child, so what it changes in memory is lost.
	 */
	int (*open_module)(void *context, const struct profile_module *module);

	/* Called when a module is begun, and a few times a second from then on.  May be NULL. */
	void (*progress)(void *context, const struct symbolize_progress *progress);
	void *context;

	/* Searched for separate debug files before /usr/lib/debug; ends with NULL.  May be NULL. */
	const char *const *debug_directories;
	bool no_demangle;

	/*
	 * Servers to fetch debug files from that are not here, as debuginfod wants them: separated
	 * by spaces.  NULL: none.  Meanwhile SIGINT skips a file, a second one all others.
	 */
	const char *debuginfod_urls;

	/*
	 * Once so much time or memory was spent (fetching does not count), what is left gets names
	 * without files, lines and inlined calls.  0: a minute, half of the machine's memory.
	 */
	uint64_t budget_ns, budget_bytes;

	/* Signals that are blocked stay pending: they are meant for a program that still runs. */
	bool leave_signals;
};

/*
 * ERR_INTERRUPTED when SIGINT, SIGTERM or SIGHUP came meanwhile; otherwise what
 * profile_open() and the writer say.  On any error the profile keeps the names it had.
 */
int symbolize_file(const char *path, const struct symbolize_options *options, struct error *err);

#endif
