/* SPDX-License-Identifier: MIT */
#include "record/image_facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/proc_file.h"
#include "record/obstacle.h"
#include "record/target/launch.h"

enum {
	ARGUMENTS_MAX = 128 * 1024, /* bytes; more is cut */
	ARGUMENTS_SHORT = 4096,
	PADDING_MIN = 2, /* one empty argument may have been given */
};

static char *read_executable(int32_t pid)
{
	char link[32], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);

	ssize_t nr = readlink(link, path, sizeof(path) - 1);

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

/* The whole file if it is not larger, or the first `room` bytes. */
static size_t read_up_to(int fd, char *text, size_t room)
{
	size_t size = 0;
	ssize_t nr;

	while (size < room && (nr = read(fd, text + size, room - size)) > 0)
		size += (size_t)nr;
	return size;
}

static void read_long_arguments(struct image_facts *facts, int fd, const char *start)
{
	char *text = xmalloc(ARGUMENTS_MAX);
	size_t size;

	memcpy(text, start, ARGUMENTS_SHORT);
	size = read_up_to(fd, text + ARGUMENTS_SHORT, ARGUMENTS_MAX - ARGUMENTS_SHORT);
	split_arguments(facts, text, ARGUMENTS_SHORT + size);
	free(text);
}

bool image_facts_read_arguments(struct image_facts *facts, int32_t pid)
{
	char path[40], text[ARGUMENTS_SHORT];
	size_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read_up_to(fd, text, sizeof(text));
	if (size == sizeof(text))
		read_long_arguments(facts, fd, text);
	else if (size)
		split_arguments(facts, text, size);
	close(fd);
	return true;
}

void image_facts_read(struct image_facts *facts, int32_t pid, const char *shim)
{
	const char *obstacle = obstacle_find(pid, shim);

	*facts = (struct image_facts){ .executable = read_executable(pid) };
	image_facts_read_arguments(facts, pid);
	if (obstacle)
		facts->untracked_reason = xstrdup(obstacle);
}

static bool is_child(int32_t pid, int32_t parent)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return proc_field(path, "PPid:") == (uint64_t)parent;
}

/* From the folder of who executed it, if that has one of that name. */
static char *find_file(const struct image_told *told)
{
	bool is_relative = *told->path != '/' && strchr(told->path, '/');
	char *there =
		is_relative ? xasprintf("/proc/%d/cwd/%s", (int)told->by_pid, told->path) : NULL;
	char *found = there ? launch_find_elf(there) : NULL, *real = NULL;

	found = found ?: launch_find_elf(told->path);
	if (found && obstacle_find_in(found))
		real = realpath(found, NULL);
	free(found);
	free(there);
	return real;
}

void image_facts_find(struct image_facts *facts, const struct image_told *told, const char *shim)
{
	*facts = (struct image_facts){ 0 };
	if (told->pid == told->by_pid || is_child(told->pid, told->by_pid))
		image_facts_read(facts, told->pid, shim);
	if (!told->path)
		return;
	if (!facts->executable)
		facts->executable = find_file(told);
	if (!facts->arguments)
		split_arguments(facts, told->path, strlen(told->path) + 1);
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
