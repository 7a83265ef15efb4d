/* SPDX-License-Identifier: MIT */
/*
 * walkers - what walks the stack of the thread that calls it: the shim, and its peers.
 *
 *	for (size_t i = 0; i < walkers_nr(); i++)
 *		if (walkers[i].is_there())
 *			walkers[i].walk();
 */
#ifndef BENCH_UNWIND_WALKERS_H
#define BENCH_UNWIND_WALKERS_H

#include <stdbool.h>
#include <stddef.h>

struct walker {
	const char *name;
	bool (*is_there)(void); /* to be asked first */
	void (*walk)(void);	/* from the caller on */
	void (*forget)(void);	/* the last walk; NULL: it remembers none */
};

extern const struct walker walkers[];
size_t walkers_nr(void);

/* Walks nothing: what calling costs. */
extern const struct walker walkers_none;

#endif
