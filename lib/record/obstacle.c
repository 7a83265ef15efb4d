/* SPDX-License-Identifier: MIT */
#include "record/obstacle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/path.h"
#include "base/proc_file.h"
#include "object/elf_file.h"

const char obstacle_filtered[] =
	"a filter of system calls (seccomp) that was set before it was executed may forbid what "
	"libcprof-heap.so needs";

/* --- what it is -------------------------------------------------------------------------------*/

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

static const char *look_into_file(int fd)
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

/* It has no interpreter as it is one, and takes LD_PRELOAD. */
static bool is_loader(const char *path)
{
	const char *name = path_name(path);

	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5);
}

const char *obstacle_find_in(const char *path)
{
	const char *reason = NULL;
	int fd = is_loader(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		reason = look_into_file(fd);
		close(fd);
	}
	return reason;
}

static const char *look_into_executable(int32_t pid)
{
	char path[32];
	const char *reason = NULL;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		reason = look_into_file(fd);
	else if (errno == EACCES)
		reason = "set-uid, set-gid, with capabilities or not readable: perf does not "
			 "follow it and its loader takes no LD_PRELOAD";
	if (fd >= 0)
		close(fd);
	return reason;
}

/* --- where it is ------------------------------------------------------------------------------*/

/* It has a root or mounts of its own.  One that has ended has none, and no file in it either. */
static bool has_no_file(int32_t pid, const char *file)
{
	char *path = xasprintf("/proc/%d/root%s", (int)pid, file);
	char root[32];
	bool missing = access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);

	snprintf(root, sizeof(root), "/proc/%d/root/", (int)pid);
	free(path);
	return missing && !access(root, F_OK) && !access(file, F_OK);
}

static bool is_in_another_namespace(int32_t pid, const char *kind)
{
	char own[32], its[32];
	struct stat here, there;

	snprintf(own, sizeof(own), "/proc/self/ns/%s", kind);
	snprintf(its, sizeof(its), "/proc/%d/ns/%s", (int)pid, kind);
	return !stat(own, &here) && !stat(its, &there) &&
	       (here.st_ino != there.st_ino || here.st_dev != there.st_dev);
}

static bool is_short_of_addresses(int32_t pid)
{
	struct rlimit limit;

	return !prlimit(pid, RLIMIT_AS, NULL, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* Than we have: they were set before it was executed. */
static bool has_more_filters(int32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return proc_filters(path) > proc_filters("/proc/self/status");
}

static const char *look_around(int32_t pid, const char *shim)
{
	if (has_no_file(pid, shim))
		return "libcprof-heap.so is not in its file system (chroot, container)";
	if (is_in_another_namespace(pid, "user"))
		return "in another user namespace, as another user or with a network of its own: "
		       "it may not open the memory shared with cprof";
	if (is_in_another_namespace(pid, "pid") && is_in_another_namespace(pid, "net"))
		return "in PID and network namespaces of its own: neither its /proc nor a socket "
		       "leads to cprof";
	if (has_more_filters(pid))
		return obstacle_filtered;
	if (is_short_of_addresses(pid))
		return "too little address space for libcprof-heap.so (ulimit -v)";
	return NULL;
}

const char *obstacle_find(int32_t pid, const char *shim)
{
	const char *reason = look_into_executable(pid);

	return reason || !shim ? reason : look_around(pid, shim);
}
