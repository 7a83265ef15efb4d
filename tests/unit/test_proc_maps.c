/* SPDX-License-Identifier: MIT */
#include "object/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static bool find(const void *at, struct proc_mapping *mapping, struct proc_maps *maps)
{
	cr_assert(eq(int, proc_maps_open(maps, getpid()), 0));
	while (proc_maps_next(maps, mapping))
		if (mapping->start <= (uintptr_t)at && (uintptr_t)at < mapping->end)
			return true;
	return false;
}

Test(proc_maps, has_the_file_that_code_is_from)
{
	struct proc_mapping mapping;
	struct proc_maps maps;
	char self[4096] = "";
	struct stat st;

	cr_assert(find((void *)(uintptr_t)find, &mapping, &maps));
	cr_assert(mapping.executable);
	cr_assert(gt(int, (int)readlink("/proc/self/exe", self, sizeof(self) - 1), 0));
	cr_assert(eq(str, (char *)mapping.path, self));
	stat(self, &st);
	cr_assert(eq(u64, mapping.inode, st.st_ino));
	cr_assert(eq(u64, mapping.pgoff % 4096, 0));
	proc_maps_close(&maps);
}

Test(proc_maps, has_anonymous_memory_without_a_path)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct proc_mapping mapping;
	struct proc_maps maps;

	cr_assert(find(memory, &mapping, &maps));
	cr_assert(mapping.executable);
	cr_assert(eq(str, (char *)mapping.path, ""));
	proc_maps_close(&maps);
	munmap(memory, 4096);
}

/* Maps a new file of that name in the folder, and says what path its line has. */
static void expect_path(const char *folder, const char *name)
{
	struct proc_mapping mapping;
	struct proc_maps maps;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(ge(int, fd, 0));
	cr_assert(eq(int, ftruncate(fd, 4096), 0));
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);

	cr_assert(find(memory, &mapping, &maps));
	cr_expect(eq(str, (char *)mapping.path, path));
	proc_maps_close(&maps);
	munmap(memory, 4096);
	unlink(path);
}

Test(proc_maps, has_newlines_in_paths_as_they_are)
{
	char folder[] = "/tmp/cprof-maps-XXXXXX";

	cr_assert(ne(ptr, mkdtemp(folder), NULL));
	expect_path(folder, "plain");
	expect_path(folder, "a\nb\n\nc");
	expect_path(folder, "\n");
	expect_path(folder, "a\\012b");
	rmdir(folder);
}

Test(proc_maps, says_when_there_is_no_process)
{
	struct proc_mapping mapping;
	struct proc_maps maps;

	cr_assert(eq(int, proc_maps_open(&maps, 1 << 30), -ENOENT));
	cr_assert(not(proc_maps_next(&maps, &mapping)));
	proc_maps_close(&maps);
}
