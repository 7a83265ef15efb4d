/* SPDX-License-Identifier: MIT */
/*
 * thread_starts - the function that each thread of a profile began in, by its samples.
 *
 *	const char **starts = thread_starts(profile, &places, selection);	// by thread id
 *
 *	use(starts[thread->id]);	// "main", "worker"; NULL: not known
 *	free(starts);
 *
 * It is the function that most of the thread's samples began in, below start code.
 */
#ifndef REPORT_ANALYZE_THREAD_STARTS_H
#define REPORT_ANALYZE_THREAD_STARTS_H

#include "report/analyze/heap_places.h"
#include "report/load/select.h"

const char **thread_starts(const struct profile *profile, struct heap_places *places,
			   const struct selection *selection);

#endif
