/* SPDX-License-Identifier: MIT */
#include "object/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEWLINE "\\012"

int proc_maps_open(struct proc_maps *maps, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	*maps = (struct proc_maps){ .file = fopen(path, "re") };
	return maps->file ? 0 : -errno;
}

/* So the kernel writes a newline, but a backslash as it is: where there is such a file, that is it. */
static void decode_newlines(char *path)
{
	const char *from = path;
	char *to = path;

	if (!strstr(path, NEWLINE) || !access(path, F_OK))
		return;
	while (*from) {
		bool is_newline = !strncmp(from, NEWLINE, strlen(NEWLINE));

		*to++ = is_newline ? '\n' : *from;
		from += is_newline ? strlen(NEWLINE) : 1;
	}
	*to = '\0';
}

static bool parse(char *line, struct proc_mapping *mapping)
{
	char rights[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, rights, &mapping->pgoff, &mapping->device_major,
		   &mapping->device_minor, &mapping->inode, &path) < 7 ||
	    !path)
		return false;
	mapping->executable = strchr(rights, 'x');
	line[strcspn(line, "\n")] = '\0';
	decode_newlines(line + path);
	mapping->path = line + path;
	return true;
}

bool proc_maps_next(struct proc_maps *maps, struct proc_mapping *mapping)
{
	while (maps->file && getline(&maps->line, &maps->room, maps->file) > 0)
		if (parse(maps->line, mapping))
			return true;
	return false;
}

void proc_maps_close(struct proc_maps *maps)
{
	free(maps->line);
	if (maps->file)
		fclose(maps->file);
	*maps = (struct proc_maps){ 0 };
}

size_t proc_maps_path_length(const char *path)
{
	size_t length = strlen(path), mark = strlen(PROC_MAPS_DELETED);

	return length > mark && !strcmp(path + length - mark, PROC_MAPS_DELETED) ? length - mark
										 : length;
}
