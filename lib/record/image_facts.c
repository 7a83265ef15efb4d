/* SPDX-License-Identifier: MIT */
#include "record/image_facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/obstacle.h"

enum {
	ARGUMENTS_MAX = 128 * 1024, /* bytes; more is cut */
	PADDING_MIN = 2,	    /* one empty argument may have been given */
};

static char *read_executable(const char *proc)
{
	char *link = xasprintf("%s/exe", proc);
	char path[PATH_MAX];
	ssize_t nr = readlink(link, path, sizeof(path) - 1);

	free(link);
	return nr < 0 ? NULL : xstrndup(path, (size_t)nr);
}

static void split_arguments(struct image_facts *facts, const char *text, size_t size)
{
	size_t nr = 0;

	for (size_t i = 0; i < size; i++)
		nr += !text[i] || i + 1 == size;
	facts->arguments = xcalloc(nr + 1, sizeof(*facts->arguments));
	for (const char *at = text; at < text + size;) {
		size_t length = strnlen(at, (size_t)(text + size - at));

		facts->arguments[facts->nr_arguments++] = xstrndup(at, length);
		at += length + 1;
	}
}

static void read_arguments(struct image_facts *facts, const char *proc)
{
	char *path = xasprintf("%s/cmdline", proc);
	char *text = xmalloc(ARGUMENTS_MAX);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t nr;

	while (fd >= 0 && size < ARGUMENTS_MAX &&
	       (nr = read(fd, text + size, ARGUMENTS_MAX - size)) > 0)
		size += (size_t)nr;
	if (fd >= 0)
		close(fd);
	if (size)
		split_arguments(facts, text, size);
	free(text);
	free(path);
}

void image_facts_read(struct image_facts *facts, int32_t pid, const char *shim)
{
	const char *obstacle = obstacle_find(pid, shim);
	char proc[32];

	snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
	*facts = (struct image_facts){ .executable = read_executable(proc) };
	read_arguments(facts, proc);
	if (obstacle)
		facts->untracked_reason = xstrdup(obstacle);
}

void image_facts_drop_padding(struct image_facts *facts)
{
	size_t nr = facts->nr_arguments;

	while (nr > 1 && !*facts->arguments[nr - 1])
		nr--;
	if (facts->nr_arguments - nr < PADDING_MIN)
		return;
	while (facts->nr_arguments > nr)
		free(facts->arguments[--facts->nr_arguments]);
}

void image_facts_release(struct image_facts *facts)
{
	for (size_t i = 0; i < facts->nr_arguments; i++)
		free(facts->arguments[i]);
	free(facts->arguments);
	free(facts->executable);
	free(facts->untracked_reason);
	*facts = (struct image_facts){ 0 };
}
