/* SPDX-License-Identifier: MIT */
#include "base/proc_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int proc_number(const char *path, int otherwise)
{
	FILE *file = fopen(path, "re");
	int number;

	if (!file)
		return otherwise;
	if (fscanf(file, "%d", &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

uint64_t proc_field(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	size_t room = 0, length = strlen(name);
	uint64_t number = 0;
	char *line = NULL;

	if (!file)
		return 0;
	while (getline(&line, &room, file) > 0) {
		if (strncmp(line, name, length) != 0)
			continue;
		number = strtoull(line + length, NULL, 10);
		break;
	}
	free(line);
	fclose(file);
	return number;
}

unsigned int proc_filters(const char *path)
{
	bool has_any = proc_field(path, "Seccomp:") > 0;
	uint64_t nr = has_any ? proc_field(path, "Seccomp_filters:") : 0;

	return nr ? (unsigned int)nr : has_any;
}

size_t proc_text(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t nr;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	nr = file ? fread(text, 1, size - 1, file) : 0;
	text[nr] = '\0';
	if (file)
		fclose(file);
	return nr;
}
