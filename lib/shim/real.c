/* SPDX-License-Identifier: MIT */
#include "shim/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "shim/operators.h"
#include "shim/pool.h"
#include "shim/sys.h"

#if defined(__x86_64__) && defined(__GLIBC__)
/* Since 2.34 they are in libc; the shim shall also load where they are not. */
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
#endif

/* Not in musl. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

#define PAGE 4096

/* --- before anything is found -----------------------------------------------------------------*/

static void *early_malloc(size_t size)
{
	return pool_alloc(size, 0);
}

static void *early_calloc(size_t number, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(number, size, &bytes) ? NULL : pool_alloc(bytes, 0);
}

static void *early_realloc(void *block, size_t size)
{
	void *new_block = pool_alloc(size, 0);

	if (block && new_block && pool_owns(block))
		memcpy(new_block, block, pool_size(block) < size ? pool_size(block) : size);
	return new_block;
}

static int early_posix_memalign(void **block, size_t align, size_t size)
{
	*block = pool_alloc(size, align);
	return *block ? 0 : ENOMEM;
}

static void *early_memalign(size_t align, size_t size)
{
	return pool_alloc(size, align);
}

static void early_free(void *block)
{
	(void)block;
}

/* --- what old or small libcs lack, made of the rest -------------------------------------------*/

static void *plain_reallocarray(void *block, size_t number, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(number, size, &bytes))
		return real.realloc(block, bytes);
	errno = ENOMEM;
	return NULL;
}

static void *plain_aligned_alloc(size_t align, size_t size)
{
	return real.memalign(align, size);
}

static void *plain_memalign(size_t align, size_t size)
{
	void *block;
	int error = real.posix_memalign(&block, align, size);

	if (!error)
		return block;
	errno = error;
	return NULL;
}

static void *plain_valloc(size_t size)
{
	return real.memalign(PAGE, size);
}

static void *plain_pvalloc(size_t size)
{
	return real.memalign(PAGE, (size + PAGE - 1) / PAGE * PAGE);
}

static void plain_cfree(void *block)
{
	real.free(block);
}

static void plain_free_sized(void *block, size_t size)
{
	(void)size;
	real.free(block);
}

static void plain_free_aligned_sized(void *block, size_t align, size_t size)
{
	(void)align;
	(void)size;
	real.free(block);
}

static size_t plain_usable_size(void *block)
{
	(void)block;
	return 0;
}

static int plain_dlclose(void *handle)
{
	(void)handle;
	return 0;
}

static pid_t plain_fork(void)
{
	return real.fork();
}

static long plain_syscall(long number, ...)
{
	long argument[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	result = arch_syscall(number, argument[0], argument[1], argument[2], argument[3],
			      argument[4], argument[5]);
	if (result >= 0 || result < -SYS_ERRNO_MAX)
		return result;
	errno = (int)-result;
	return -1;
}

static int plain_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d)
{
	return (int)plain_syscall(__NR_prctl, option, a, b, c, d, 0);
}

static int plain_execveat(int fd, const char *path, char *const argv[], char *const env[],
			  int flags)
{
	long error = arch_syscall(__NR_execveat, fd, (long)path, (long)argv, (long)env, flags, 0);

	errno = (int)-error;
	return -1;
}

struct real real = {
	.malloc = early_malloc,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.reallocarray = plain_reallocarray,
	.posix_memalign = early_posix_memalign,
	.aligned_alloc = plain_aligned_alloc,
	.memalign = early_memalign,
	.valloc = plain_valloc,
	.pvalloc = plain_pvalloc,
	.free = early_free,
	.cfree = plain_cfree,
	.free_sized = plain_free_sized,
	.free_aligned_sized = plain_free_aligned_sized,
	.malloc_usable_size = plain_usable_size,
	.dlclose = plain_dlclose,
	._Fork = plain_fork,
	.syscall = plain_syscall,
	.prctl = plain_prctl,
	.execveat = plain_execveat,
};

/* --- finding ----------------------------------------------------------------------------------*/

static bool finding, found_all;

void *real_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Leaves what is there if there is nothing to be found. */
static void find(const char *name, void *where)
{
	void *function = real_next(name);

	if (function)
		memcpy(where, &function, sizeof(function));
}

/* What was not found is not the program's business.  glibc keeps the last failure until something is
 * found, and to put it into words it must have started, which need not be so yet. */
static void forget_failures(void)
{
	real_next("malloc");
	dlerror();
}

void real_find(void)
{
	int saved_errno = errno;

	if (finding)
		return;
	finding = true;

	/* A pool block must not reach a real realloc or free, so malloc is last. */
	struct real found = real;
#define FIND(name) find(#name, &found.name)
	FIND(reallocarray);
	FIND(aligned_alloc);
	found.memalign = plain_memalign;
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(cfree);
	FIND(free_sized);
	FIND(free_aligned_sized);
	FIND(malloc_usable_size);
	FIND(dlclose);
	FIND(fork);
	FIND(_Fork);
	FIND(exit);
	FIND(quick_exit);
	FIND(_exit);
	FIND(daemon);
	FIND(wait);
	FIND(waitpid);
	FIND(wait3);
	FIND(wait4);
	FIND(waitid);
	FIND(prctl);
	FIND(syscall);
	FIND(execve);
	FIND(execvpe);
	FIND(fexecve);
	FIND(execveat);
	FIND(posix_spawn);
	FIND(posix_spawnp);
	FIND(posix_memalign);
	FIND(realloc);
	FIND(free);
	FIND(calloc);
	FIND(malloc);
#undef FIND
	void *function = dlsym(RTLD_DEFAULT, "_dl_find_object");

	memcpy(&found._dl_find_object, &function, sizeof(function));
	real = found;
	operators_find();
	forget_failures();
	found_all = true;
	errno = saved_errno;
}

bool real_is_finding(void)
{
	return finding && !found_all;
}

/* A program that only takes malloc's address has it in its symbol table too, but undefined. */
static bool is_defined(const void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return !dladdr1 || (dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
			    symbol->st_shndx != SHN_UNDEF);
}

bool real_is_foreign(void)
{
	const void *first = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info program, theirs;

	return dladdr((void *)getauxval(AT_ENTRY), &program) && dladdr(first, &theirs) &&
	       theirs.dli_fbase == program.dli_fbase && is_defined(first);
}

/* Something that tells it from all others, or NULL. */
static const void *object_of(const void *function)
{
	struct found_object object;
	Dl_info info;

	/* It looks through no table of names. */
	if (real._dl_find_object)
		return real._dl_find_object((void *)function, &object) ? NULL : object.link_map;
	return dladdr(function, &info) ? info.dli_fbase : NULL;
}

bool real_are_together(const void *function, const void *other)
{
	const void *object = object_of(function);

	return object && object == object_of(other);
}

const char *real_own_path(void)
{
	Dl_info ours;

	return dladdr(&real, &ours) ? ours.dli_fname : NULL;
}
