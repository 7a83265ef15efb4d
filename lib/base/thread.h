/* SPDX-License-Identifier: MIT */
/*
 * thread - starts a thread that signals leave alone.
 *
 *	if (thread_start(&thread, "cprof-rings", read_rings, sampler, &err) < 0)
 *		return err.code;
 *	...
 *	pthread_join(thread, NULL);
 *
 * All signals are blocked in it from its first instruction on: they are the main thread's business.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/error.h"

/* name: what ps and top show, at most 15 bytes. */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context,
		 struct error *err);

/* The calling thread would rather run soon than long where others want its CPU.  Needs no privilege;
 * without effect before Linux 6.12. */
void thread_be_prompt(void);

#endif
