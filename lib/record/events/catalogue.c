/* SPDX-License-Identifier: MIT */
#include "record/events/catalogue.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

struct names {
	char **at;
	size_t nr, room;
};

static void add_lower(struct names *names, const struct catalogue *catalogue, const char *upper)
{
	char *folder = xasprintf("%s/%s/%s", catalogue->root, upper, catalogue->below);
	struct dirent **entries;
	int nr = scandir(folder, &entries, catalogue->is_wanted, alphasort);

	for (int i = 0; i < nr; i++) {
		vec_push(names, xasprintf("%s%s%s%s", upper, catalogue->between, entries[i]->d_name,
					  catalogue->after));
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
	free(folder);
}

char **catalogue_read(const struct catalogue *catalogue, size_t *nr)
{
	struct names names = { 0 };
	struct dirent **entries;
	int nr_upper = scandir(catalogue->root, &entries, catalogue->is_wanted, alphasort);

	for (int i = 0; i < nr_upper; i++) {
		add_lower(&names, catalogue, entries[i]->d_name);
		free(entries[i]);
	}
	if (nr_upper >= 0)
		free(entries);
	*nr = names.nr;
	return names.at;
}
