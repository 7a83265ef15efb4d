/* SPDX-License-Identifier: MIT */
#include "symbolize/paths.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *paths_join(struct paths *paths, const char *directory, const char *file)
{
	bool added;

	if (!file || *file == '/' || !directory)
		return file;

	uint64_t *known = map_add(&paths->joined, (uintptr_t)file, &added);
	if (added) {
		size_t size = strlen(directory) + strlen(file) + 2;
		char *text = arena_alloc(&paths->text, size);

		snprintf(text, size, "%s/%s", directory, file);
		*known = (uintptr_t)text;
	}
	return (const char *)(uintptr_t)*known;
}

void paths_release(struct paths *paths)
{
	map_release(&paths->joined);
	arena_release(&paths->text);
}
