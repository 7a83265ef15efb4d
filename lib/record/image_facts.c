/* SPDX-License-Identifier: MIT */
#include "record/image_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "object/elf_file.h"

enum {
	ARGUMENTS_MAX = 128 * 1024, /* bytes; more is cut */
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

/* The loader works in "secure" mode then and takes no LD_PRELOAD with a path. */
static bool is_privileged(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return true;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
		return true;
	return getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static const char *find_untracked_reason(int fd)
{
	struct elf_file elf = { 0 };
	const char *reason = NULL;

	if (is_privileged(fd))
		return "set-uid, set-gid or with capabilities: its loader takes no LD_PRELOAD";
	if (elf_file_read(&elf, fd, NULL) < 0)
		return NULL;
	if (elf.machine != ARCH_ELF_MACHINE || !elf.is_64)
		reason = "a program for another kind of CPU than cprof";
	else if (!elf.has_interpreter)
		reason = "static executable: there is no loader that takes LD_PRELOAD";
	elf_file_release(&elf);
	return reason;
}

static void look_into_executable(struct image_facts *facts, const char *proc)
{
	char *path = xasprintf("%s/exe", proc);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *reason = NULL;

	if (fd >= 0)
		reason = find_untracked_reason(fd);
	else if (errno == EACCES)
		reason = "set-uid, set-gid, with capabilities or not readable: perf does not "
			 "follow it and its loader takes no LD_PRELOAD";
	if (reason)
		facts->untracked_reason = xstrdup(reason);
	if (fd >= 0)
		close(fd);
	free(path);
}

void image_facts_read(struct image_facts *facts, int32_t pid)
{
	char proc[32];

	snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
	*facts = (struct image_facts){ .executable = read_executable(proc) };
	read_arguments(facts, proc);
	look_into_executable(facts, proc);
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
