/* SPDX-License-Identifier: MIT */
/*
 * list - the events of this machine, and whether they can be counted here, by us.
 *
 *	struct stat_list list;
 *
 *	stat_list_make(&list, "faults");	// NULL: all
 *	stat_list_print_text(&list, 80, stdout);
 *	stat_list_release(&list);
 *
 * Each event is tried with the attributes that `cprof stat` would use; cpu-time, which is for
 * `cprof record` alone, by what that would do.  Of the tracepoints only
 * the first is: they differ in nothing that matters, and closing one takes the kernel long.
 */
#ifndef STAT_LIST_H
#define STAT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "store/profile.h"

enum stat_list_kind {
	LIST_HARDWARE,
	LIST_CACHE,
	LIST_SOFTWARE,
	LIST_PTRACE,
	LIST_PMU,
	LIST_TRACEPOINT
};

struct stat_list_event {
	enum stat_list_kind kind;
	char *name;
	char *about;	   /* "" if nobody says */
	const char *alias; /* NULL */
	char *unit;
	enum profile_status status; /* PROFILE_COUNTED: it can be */
	bool user_only;		    /* outside the kernel only */
	char *reason;		    /* why not, or only that; NULL */
};

struct stat_list {
	struct stat_list_event *at;
	size_t nr, room;
	char *meant; /* nothing matches, and this comes close; NULL */
};

/* Those whose name, alias or kind ("cache") contains the word, whatever the case. */
void stat_list_make(struct stat_list *list, const char *word);
void stat_list_release(struct stat_list *list);

/* Failure to write shows in ferror(out).  width: in columns; 0: 80. */
void stat_list_print_text(const struct stat_list *list, size_t width, FILE *out);
void stat_list_print_json(const struct stat_list *list, FILE *out);

const char *stat_list_kind_name(enum stat_list_kind kind);

#endif
