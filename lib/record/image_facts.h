/* SPDX-License-Identifier: MIT */
/*
 * image_facts - what can be known of a program that a process just started to execute.
 *
 *	struct image_facts facts;
 *
 *	image_facts_read(&facts, pid, shim);	// at once: the process may be gone soon
 *	use(facts.executable, facts.arguments);
 *	image_facts_release(&facts);
 */
#ifndef RECORD_IMAGE_FACTS_H
#define RECORD_IMAGE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_facts {
	char *executable; /* path; NULL: not known */
	char **arguments; /* NULL: not known */
	size_t nr_arguments;
	char *untracked_reason; /* why its heap cannot be accounted; NULL: no reason is known */
	uint64_t
		unheard_ns; /* by followed.h: then it had not said hello; 0: it has, or is about to */
	uint64_t read_ns;   /* of what runs after an exec before that, maybe; 0: certainly not */
};

/* shim: the path of libcprof-heap.so; NULL: nothing preloads it. */
void image_facts_read(struct image_facts *facts, int32_t pid, const char *shim);

/* What a process said that it, or its child, executes. */
struct image_told {
	int32_t pid, by_pid; /* the same: in its own place */
	const char *path;    /* as it was given; NULL: not known */
};

/*
 * Of what may be over: from what was said of it, then.  The program may say any pid and path: facts are
 * read of its own child only, and a file is named only if it explains why nothing was heard from it.
 */
void image_facts_find(struct image_facts *facts, const struct image_told *told, const char *shim);

/* Only the arguments, which show a little later than the rest.  False: the process is gone. */
bool image_facts_read_arguments(struct image_facts *facts, int32_t pid);

/*
 * Drops the empty arguments at the end if there are several.  For a program that has run for a
 * while: what it wrote its title over (setproctitle) ends in zeros, which look like them.
 */
void image_facts_drop_padding(struct image_facts *facts);

void image_facts_release(struct image_facts *facts);

#endif
