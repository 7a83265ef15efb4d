/* SPDX-License-Identifier: MIT */
/*
 * select - which threads, processes and samples of a profile a report is about.
 *
 *	if (selection_init(&selection, profile, &(struct select_options){ .pid = 42 }, &err) < 0)
 *		return err.code;
 *	if (selection.threads[total->thread])
 *		count(total);
 *	selection_release(&selection);
 */
#ifndef REPORT_LOAD_SELECT_H
#define REPORT_LOAD_SELECT_H

#include <stdbool.h>

#include "base/error.h"
#include "report/load/span.h"
#include "store/reader.h"

struct select_options {
	const char *comm; /* name of a thread; NULL: any */
	int pid, tid;	  /* 0: any */
	struct span span;
};

struct selection {
	bool *threads;	 /* by id */
	bool *processes; /* by id: those with a selected thread */
	/* By index in the profile's heap_threads: those that are known of the heap side only. */
	bool *heap_threads;
	bool all_threads;
	struct span span;
	bool everything; /* nothing was left out */
	bool by_thread;	 /* some threads of a process are in and others are not */
	const struct profile_total *totals; /* of the samples in the span */
	size_t nr_totals;
	struct totals owned; /* where these are not the profile's */
};

/* The processes to look at for one of them, or for PROFILE_NONE all: ids from .from up to .to. */
struct id_range {
	uint32_t from, to;
};
struct id_range selection_range(const struct profile *profile, uint32_t process);
/* Whether id is one of these, if process is one or, for PROFILE_NONE, all selected ones. */
bool selection_wants(const struct selection *selection, uint32_t process, uint32_t id);

/* Fails with -ENOENT if nothing is left, naming what there is. */
int selection_init(struct selection *selection, const struct profile *profile,
		   const struct select_options *options, struct error *err);
void selection_release(struct selection *selection);

#endif
