/* SPDX-License-Identifier: MIT */
#include "cmd/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

struct filter {
	FILE *to;
	char *(*change)(const char *line);
	char *at; /* of the line that has not ended yet */
	size_t nr, room;
};

static void put_line(struct filter *filter, const char *end)
{
	vec_push(filter, '\0');

	char *changed = filter->change(filter->at);

	fprintf(filter->to, "%s%s", changed, end);
	free(changed);
	filter->nr = 0;
}

static ssize_t write_lines(void *cookie, const char *text, size_t size)
{
	struct filter *filter = cookie;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n')
			put_line(filter, "\n");
		else
			vec_push(filter, text[i]);
	}
	return (ssize_t)size;
}

static int end(void *cookie)
{
	struct filter *filter = cookie;

	if (filter->nr)
		put_line(filter, "");
	vec_free(filter);
	free(filter);
	return 0;
}

FILE *filter_open(FILE *to, char *(*change)(const char *line))
{
	struct filter *filter = xcalloc(1, sizeof(*filter));
	FILE *stream = fopencookie(filter, "w",
				   (cookie_io_functions_t){ .write = write_lines, .close = end });

	filter->to = to;
	filter->change = change;
	if (!stream)
		free(filter);
	return stream ? stream : to;
}

void filter_close(FILE *filter, FILE *to)
{
	if (filter != to)
		fclose(filter);
}
