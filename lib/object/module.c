/* SPDX-License-Identifier: MIT */
#include "object/module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "base/vec.h"
#include "object/proc_maps.h"
#include "object/vdso.h"

enum { RESERVED_FILES = 8 };

/* --- which file it is ---------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t identity(const struct module_request *request)
{
	uint64_t hash =
		hash_bytes(UINT64_C(0xcbf29ce484222325), request->path, strlen(request->path));

	if (request->build_id_size)
		return hash_bytes(hash, request->build_id, request->build_id_size);
	hash = hash_bytes(hash, &request->device_major, sizeof(request->device_major));
	hash = hash_bytes(hash, &request->device_minor, sizeof(request->device_minor));
	hash = hash_bytes(hash, &request->inode, sizeof(request->inode));
	return hash_bytes(hash, &request->inode_generation, sizeof(request->inode_generation));
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Names the kernel gives to memory without a file. */
static bool is_anonymous(const char *path)
{
	return path[0] != '/' || has_prefix(path, "//anon") || has_prefix(path, "/dev/zero") ||
	       has_prefix(path, "/anon_hugepage") || has_prefix(path, "/SYSV");
}

/* --- opening the right one ------------------------------------------------------ */

struct attempt {
	struct module *module;
	const struct module_request *request;
	bool met_another; /* a file was there, but not the one of the mapping */
	int error;	  /* errno of the last that could not be opened */
};

static bool is_build_id(const struct module_request *request, const char *hex)
{
	if (!hex || strlen(hex) != 2 * request->build_id_size)
		return false;
	for (size_t i = 0; i < request->build_id_size; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1 || byte != request->build_id[i])
			return false;
	}
	return true;
}

/* By build id if the mapping has one.  st_dev is no help: overlayfs and btrfs show another.
 * trusted: it is the mapped file, as long as nothing else was mapped there since. */
static bool is_requested(const struct attempt *attempt, const struct stat *st, bool trusted)
{
	const struct module_request *request = attempt->request;

	if (request->build_id_size)
		return is_build_id(request, attempt->module->elf.build_id);
	return trusted || !request->inode || st->st_ino == request->inode;
}

/* Modules stay open; who writes the profile must still be able to open something. */
static bool is_one_of_the_last(int fd)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + RESERVED_FILES >= limit.rlim_cur;
}

/* Opens a regular file only: opening a device may have effects. */
static int open_regular(const char *path, struct stat *st)
{
	if (stat(path, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int error = fstat(fd, st) < 0 || !S_ISREG(st->st_mode) ? EINVAL
		    : is_one_of_the_last(fd)		       ? EMFILE
							       : 0;
	if (error)
		close(fd);
	return error ? -error : fd;
}

static void set_reason(struct module *module, enum module_state state, const char *reason)
{
	module->state = state;
	free(module->reason);
	module->reason = xstrdup(reason);
}

static void read_elf(struct module *module, int fd)
{
	struct error err = ERROR_INIT;

	if (elf_file_read(&module->elf, fd, &err) < 0)
		set_reason(module, MODULE_NOT_ELF, err.message);
}

static void forget_elf(struct module *module)
{
	elf_file_release(&module->elf);
	module->state = MODULE_THERE;
	free(module->reason);
	module->reason = NULL;
}

/* Takes the file at path if it is the one. */
static bool try_path(struct attempt *attempt, const char *path, bool trusted)
{
	struct module *module = attempt->module;
	struct stat st;
	int fd = open_regular(path, &st);

	if (fd < 0) {
		attempt->error = -fd;
		return false;
	}
	read_elf(module, fd);
	if (!is_requested(attempt, &st, trusted)) {
		attempt->met_another = true;
		forget_elf(module);
		close(fd);
		return false;
	}
	module->fd = fd;
	module->changed = st.st_mtim;
	module->size = (uint64_t)st.st_size;
	return true;
}

static bool try_map_files(struct attempt *attempt)
{
	const struct module_request *request = attempt->request;
	char path[80];

	if (!request->pid || !request->end)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)request->pid,
		 (unsigned long long)request->start, (unsigned long long)request->end);
	return try_path(attempt, path, true);
}

/* For whom map_files is forbidden: the program itself, even when its file is gone. */
static bool try_exe(struct attempt *attempt)
{
	const struct module_request *request = attempt->request;
	size_t length = strlen(attempt->module->path);
	char link[32], target[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)request->pid);
	ssize_t nr = request->pid ? readlink(link, target, sizeof(target) - 1) : -1;
	if (nr < (ssize_t)length || memcmp(target, attempt->module->path, length) != 0)
		return false;
	target[nr] = '\0';
	return (!target[length] || !strcmp(target + length, PROC_MAPS_DELETED)) &&
	       try_path(attempt, link, false);
}

static char *path_in_root(const struct module_request *request, const char *path)
{
	return xasprintf("/proc/%d/root%s", (int)request->pid, path);
}

static bool try_root(struct attempt *attempt)
{
	if (!attempt->request->pid)
		return false;

	char *path = path_in_root(attempt->request, attempt->module->path);
	bool opened = try_path(attempt, path, false);
	free(path);
	return opened;
}

static bool is_file_at(const char *path, const struct stat *st)
{
	struct stat there;

	return !stat(path, &there) && there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/* What became of the path the program used, now that its file is open. */
static void compare_with_path(struct module *module, const struct module_request *request)
{
	struct stat st;

	if (fstat(module->fd, &st) < 0)
		return;
	if (is_file_at(module->path, &st)) {
		module->open_path = xstrdup(module->path);
		return;
	}

	char *path = path_in_root(request, module->path);
	if (!request->pid || !is_file_at(path, &st))
		module->state = access(path, F_OK) ? MODULE_DELETED : MODULE_REPLACED;
	free(path);
}

static void explain(const struct attempt *attempt)
{
	struct module *module = attempt->module;
	int error = attempt->error;

	if (attempt->met_another)
		set_reason(module, MODULE_REPLACED, "another file is there now");
	else if (error == ENOENT || error == ENOTDIR)
		set_reason(module, MODULE_DELETED, "the file is gone");
	else
		set_reason(module, MODULE_UNREADABLE, strerror(error));
}

/* Of a file that was unlinked before it was mapped. */
static void strip_deleted(char *path)
{
	size_t length = proc_maps_path_length(path);

	if (path[length] && access(path, F_OK))
		path[length] = '\0';
}

static void open_file(struct module *module, const struct module_request *request)
{
	struct attempt attempt = { .module = module, .request = request, .error = ENOENT };

	if (try_map_files(&attempt) || try_exe(&attempt) || try_root(&attempt) ||
	    try_path(&attempt, module->path, false))
		compare_with_path(module, request);
	else
		explain(&attempt);
}

/* --- the set -------------------------------------------------------------------- */

static struct module *add(struct modules *modules, enum module_kind kind, const char *path)
{
	struct module *module = xcalloc(1, sizeof(*module));

	module->id = (uint32_t)modules->nr;
	module->kind = kind;
	module->path = xstrdup(path);
	module->fd = -1;
	vec_push(modules, module);
	return module;
}

static struct module *anonymous(struct modules *modules)
{
	if (!modules->anonymous)
		modules->anonymous = add(modules, MODULE_ANONYMOUS, "[anon]");
	return modules->anonymous;
}

static struct module *vdso(struct modules *modules)
{
	struct error err = ERROR_INIT;

	if (modules->vdso)
		return modules->vdso;

	struct module *module = modules->vdso = add(modules, MODULE_VDSO, "[vdso]");
	module->fd = vdso_copy(&err);
	if (module->fd < 0)
		set_reason(module, MODULE_UNREADABLE, err.message);
	else
		read_elf(module, module->fd);
	if (module->elf.build_id)
		module->build_id = xstrdup(module->elf.build_id);
	return module;
}

static char *hex_of(const struct module_request *request)
{
	char *hex = xmalloc(2 * request->build_id_size + 1);

	for (size_t i = 0; i < request->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", request->build_id[i]);
	return hex;
}

static struct module *add_file(struct modules *modules, const struct module_request *request)
{
	struct module *module = add(modules, MODULE_FILE, request->path);

	strip_deleted(module->path);
	open_file(module, request);
	if (request->build_id_size)
		module->build_id = hex_of(request);
	else if (module->elf.build_id)
		module->build_id = xstrdup(module->elf.build_id);
	if (module->reason)
		log_debug(LOG_OBJECT, "%s: %s", module->path, module->reason);
	return module;
}

/* A file may have been written anew without becoming another: cc -o over a library in use. */
static bool was_rewritten(const struct module *module)
{
	struct stat st;

	return module->fd >= 0 && !fstat(module->fd, &st) &&
	       (st.st_mtim.tv_sec != module->changed.tv_sec ||
		st.st_mtim.tv_nsec != module->changed.tv_nsec ||
		(uint64_t)st.st_size != module->size);
}

/* Code written to a memfd by a JIT compiler is no file either. */
static bool is_jit_memory(const struct module *module)
{
	return has_prefix(module->path, "/memfd:") && !module->elf.nr_loads;
}

struct module *module_get(struct modules *modules, const struct module_request *request)
{
	if (!strcmp(request->path, "[vdso]"))
		return vdso(modules);
	if (is_anonymous(request->path))
		return anonymous(modules);

	bool added;
	uint64_t *id = map_add(&modules->by_identity, identity(request), &added);
	if (!added && !was_rewritten(modules->at[*id]))
		return modules->at[*id];

	struct module *module = add_file(modules, request);
	if (is_jit_memory(module))
		module->kind = MODULE_ANONYMOUS;
	*id = module->id;
	return module;
}

static void module_free(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	elf_file_release(&module->elf);
	free(module->path);
	free(module->open_path);
	free(module->build_id);
	free(module->reason);
	free(module);
}

void modules_release(struct modules *modules)
{
	vec_each(modules, module) module_free(*module);
	vec_free(modules);
	map_release(&modules->by_identity);
	*modules = (struct modules){ 0 };
}

const char *module_name(const struct module *module)
{
	return path_name(module->path);
}
