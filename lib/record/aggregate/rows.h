/* SPDX-License-Identifier: MIT */
/*
 * rows - rows of one size, numbered from 0, that remember which changed since last asked.
 *
 *	struct rows threads = ROWS(struct profile_thread);
 *
 *	thread->id = rows_add(&threads, thread);
 *	rows_edit(&threads, thread->id)->end_us = now;	// a changed row from now on
 *	...
 *	struct rows changed = rows_take(&threads);	// copies; none is changed any more
 *	rows_release(&changed);
 */
#ifndef RECORD_AGGREGATE_ROWS_H
#define RECORD_AGGREGATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct rows {
	size_t size; /* of a row */
	char *at;
	size_t nr, room;
	VEC(bool) is_changed;
	VEC(uint32_t) changed;
};

#define ROWS(type)                   \
	(struct rows)                \
	{                            \
		.size = sizeof(type) \
	}

void rows_release(struct rows *rows);
/* Appends a copy; its number. */
uint32_t rows_add(struct rows *rows, const void *row);
/* Valid until the next rows_add(). */
const void *rows_at(const struct rows *rows, uint32_t number);
void *rows_edit(struct rows *rows, uint32_t number);
/* The changed rows, in the order in which they first changed. */
struct rows rows_take(struct rows *rows);

#endif
