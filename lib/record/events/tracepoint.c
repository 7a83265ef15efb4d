/* SPDX-License-Identifier: MIT */
#include "record/events/tracepoint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/events/catalogue.h"

static const char *const roots[] = { "/sys/kernel/tracing/events",
				     "/sys/kernel/debug/tracing/events" };

/* Where tracefs is mounted and may be read; NULL, and errno of the last one tried. */
static const char *find_root(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!access(roots[i], R_OK | X_OK))
			return roots[i];
	}
	return NULL;
}

static int refuse(const char *name, struct error *err)
{
	error_set(err, ERR_REFUSED, "'%s' would be a tracepoint, and tracefs cannot be read", name);
	return error_hint(err, "as root: mount -t tracefs tracefs /sys/kernel/tracing; for others "
			       "its folders have to be made readable");
}

/* The tracepoint's number; -1. */
static int read_id(const char *root, const char *name)
{
	const char *colon = strchr(name, ':');
	char *path = xasprintf("%s/%.*s/%s/id", root, (int)(colon - name), name, colon + 1);
	FILE *file = fopen(path, "re");
	int id = -1;

	if (file && fscanf(file, "%d", &id) != 1)
		id = -1;
	if (file)
		fclose(file);
	free(path);
	return id;
}

int tracepoint_find(struct event_type *type, const char *name, struct error *err)
{
	const char *colon = strchr(name, ':'), *root = find_root();
	int id;

	if (!colon || !colon[1] || strchr(name, '/') || strchr(colon + 1, ':') || *name == '.')
		return error_set(err, ERR_USAGE, "'%s' is no tracepoint", name);
	if (!root)
		return refuse(name, err);
	id = read_id(root, name);
	if (id < 0)
		return error_set(err, ERR_USAGE, "there is no tracepoint '%s'", name);
	*type = (struct event_type){ .type = PERF_TYPE_TRACEPOINT, .config = (uint64_t)id };
	return 0;
}

static int is_folder(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && *entry->d_name != '.';
}

char **tracepoint_names(size_t *nr)
{
	const char *root = find_root();

	*nr = 0;
	if (!root)
		return NULL;
	return catalogue_read(&(struct catalogue){ root, ".", is_folder, ":", "" }, nr);
}
