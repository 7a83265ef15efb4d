/* SPDX-License-Identifier: MIT */
/*
 * module - a file (or the vDSO, or JIT memory) that programs execute code of.
 *
 *	struct modules modules = { 0 };
 *	struct module_request request = { .path = path, .pid = pid, .start = start, .end = end,
 *					  .device_major = ..., .inode = ... };
 *	struct module *module = module_get(&modules, &request);
 *
 * Asked for at the moment the mapping is seen, a module is opened then and kept open, so that what
 * happens to its path later - rebuilt, deleted, the container gone - does not matter.  It is
 * looked for where it is certainly the right file first: /proc/PID/map_files, /proc/PID/exe, then
 * the path in the program's mount namespace, then in ours; what does not have the inode or build id
 * of the mapping is another file and not taken.
 *
 * The same file mapped by many processes is one module.  module_get() never fails: a module
 * whose file cannot be had has fd -1 and says why.  All of them live until modules_release().
 */
#ifndef OBJECT_MODULE_H
#define OBJECT_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/map.h"
#include "object/elf_file.h"

enum module_kind {
	MODULE_FILE,
	MODULE_VDSO,	  /* a copy of our own: same kernel */
	MODULE_ANONYMOUS, /* executable memory without a file; one for all processes */
};

/* What became of the path since the mapping was made. */
enum module_state {
	MODULE_THERE,
	MODULE_DELETED,	   /* the path is gone */
	MODULE_REPLACED,   /* another file is there now */
	MODULE_UNREADABLE, /* no permission */
	MODULE_NOT_ELF,
};

struct module {
	uint32_t id; /* dense, from 0, in the order they were seen */
	enum module_kind kind;
	enum module_state state;
	char *path;	 /* as the program named it: "/usr/lib/libfoo.so.1", "[vdso]", "[anon]" */
	char *open_path; /* where the very same file is in our namespace, or NULL */
	char *build_id;	 /* lower-case hex, of the mapping or else the file; or NULL */
	char *reason;	 /* why fd is -1 or the file is no use; NULL: all is well */
	int fd;		 /* open for reading, or -1 */
	struct elf_file elf; /* nr_loads is 0 where it could not be read */

	/* To notice a file rewritten in place. */
	struct timespec changed;
	uint64_t size;
};

struct modules {
	struct module **at; /* by id */
	size_t nr, room;
	struct map by_identity;
	struct module *anonymous, *vdso;
};

/* What a mapping says of its file; what is 0 is not known. */
struct module_request {
	const char *path;
	pid_t pid; /* whose mapping it is; 0: only try the path */
	uint64_t start, end;
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	const uint8_t *build_id;
	size_t build_id_size;
};

struct module *module_get(struct modules *modules, const struct module_request *request);
void modules_release(struct modules *modules);

/* The last part of the path. */
const char *module_name(const struct module *module);

#endif
