/* SPDX-License-Identifier: MIT */
#include "record/aggregate/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void rows_release(struct rows *rows)
{
	free(rows->at);
	vec_free(&rows->is_changed);
	vec_free(&rows->changed);
	*rows = (struct rows){ .size = rows->size };
}

static void *place_of(const struct rows *rows, size_t number)
{
	return rows->at + number * rows->size;
}

static void *append(struct rows *rows, const void *row)
{
	if (rows->nr == rows->room) {
		rows->room = rows->room ? rows->room * 2 : 16;
		rows->at = xreallocarray(rows->at, rows->room, rows->size);
	}
	return memcpy(place_of(rows, rows->nr++), row, rows->size);
}

uint32_t rows_add(struct rows *rows, const void *row)
{
	append(rows, row);
	vec_push(&rows->is_changed, true);
	vec_push(&rows->changed, (uint32_t)(rows->nr - 1));
	return rows->nr - 1;
}

const void *rows_at(const struct rows *rows, uint32_t number)
{
	return place_of(rows, number);
}

void *rows_edit(struct rows *rows, uint32_t number)
{
	if (!rows->is_changed.at[number]) {
		rows->is_changed.at[number] = true;
		vec_push(&rows->changed, number);
	}
	return place_of(rows, number);
}

struct rows rows_take(struct rows *rows)
{
	struct rows taken = { .size = rows->size, .room = rows->changed.nr };

	taken.at = xreallocarray(NULL, taken.room, taken.size);
	vec_each(&rows->changed, number)
	{
		append(&taken, rows_at(rows, *number));
		rows->is_changed.at[*number] = false;
	}
	rows->changed.nr = 0;
	return taken;
}
