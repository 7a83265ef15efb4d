/* SPDX-License-Identifier: MIT */
/*
 * real - the functions that the shim stands in front of.
 *
 *	block = real.malloc(size);
 *
 * Always callable.  Until real_find() has found them, and while dlsym() allocates, they are
 * stand-ins that take from the pool; what the program does not have is made of what it has.  Found
 * is the next definition after ours, so that another preloaded allocator keeps its place.
 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

/* What _dl_find_object() fills in; <dlfcn.h> has it since glibc 2.35. */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame_hdr;
	unsigned long long reserved[7];
};

struct real {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t number, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*reallocarray)(void *block, size_t number, size_t size);
	int (*posix_memalign)(void **block, size_t align, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	void *(*memalign)(size_t align, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	void (*free)(void *block);
	void (*cfree)(void *block);
	void (*free_sized)(void *block, size_t size);
	void (*free_aligned_sized)(void *block, size_t align, size_t size);
	size_t (*malloc_usable_size)(void *block);

	int (*dlclose)(void *handle);
	pid_t (*fork)(void);
	pid_t (*_Fork)(void);
	void (*exit)(int status);
	void (*quick_exit)(int status);
	void (*_exit)(int status);
	int (*daemon)(int no_chdir, int no_close);
	pid_t (*wait)(int *status);
	pid_t (*waitpid)(pid_t pid, int *status, int options);
	pid_t (*wait3)(int *status, int options, struct rusage *usage);
	pid_t (*wait4)(pid_t pid, int *status, int options, struct rusage *usage);
	long (*syscall)(long number, ...);
	int (*prctl)(int option, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d);
	int (*waitid)(idtype_t type, id_t id, siginfo_t *info, int options);
	int (*execve)(const char *path, char *const argv[], char *const env[]);
	int (*execvpe)(const char *file, char *const argv[], char *const env[]);
	int (*fexecve)(int fd, char *const argv[], char *const env[]);
	int (*execveat)(int fd, const char *path, char *const argv[], char *const env[], int flags);
	int (*posix_spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[],
			   char *const env[]);
	int (*posix_spawnp)(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			    const posix_spawnattr_t *attributes, char *const argv[],
			    char *const env[]);

	/* glibc 2.35: NULL where there is none. */
	int (*_dl_find_object)(void *address, struct found_object *result);
};

extern struct real real;

/* Finds all of them.  Harmless to call again.  errno stays as it was. */
void real_find(void);
/* It is at it, for one of the process_hooks: what allocates now is dlsym(). */
bool real_is_finding(void);

/* True if the program reaches another malloc than ours: its own. */
bool real_is_foreign(void);

/* The next definition after ours, or NULL: while they are being found. */
void *real_next(const char *name);

/* Whether both are in the same object. */
bool real_are_together(const void *function, const void *other);

/* The path by which the shim was loaded, or NULL. */
const char *real_own_path(void);

#endif
