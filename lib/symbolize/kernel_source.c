/* SPDX-License-Identifier: MIT */
/*
 * kernel_source - names from /proc/kallsyms, if it is still the kernel that was recorded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/proc_file.h"
#include "base/search.h"
#include "symbolize/source.h"

/* kallsyms has no sizes: a function ends where the next symbol starts, but not later than this. */
enum { FUNCTION_MAX = 1 << 18 };

/* stdio would read 1 KiB at a time; the kernel gives out a page. */
enum { READ_SIZE = 1 << 16 };

/* The last symbol at or below an address, if it is above the address before that one. */
struct kernel_symbol {
	uint64_t start;
	char *name; /* NULL: there is none */
	size_t room;
	bool code;
};

struct kernel {
	struct source source;
	struct functions *functions;
	const struct profile_address *const *addresses; /* to be named, ascending */
	struct kernel_symbol *symbols;			/* one each */
	size_t nr;
	uint32_t nameless; /* the function that stands for all that no symbol names */
};

/* The first of the addresses that is not below this one. */
static size_t first_from(const struct kernel *kernel, uint64_t address)
{
	return search_count(kernel->nr, i, kernel->addresses[i]->value < address);
}

static void set_name(struct kernel_symbol *symbol, const char *name)
{
	size_t size = strlen(name) + 1;

	if (symbol->room < size) {
		symbol->room = size > 64 ? size : 64;
		symbol->name = xreallocarray(symbol->name, symbol->room, 1);
	}
	memcpy(symbol->name, name, size);
}

/* Of symbols with the same start the last one, but rather code. */
static void offer(struct kernel_symbol *symbol, uint64_t start, bool code, const char *name)
{
	if (symbol->name &&
	    (start < symbol->start || (start == symbol->start && code < symbol->code)))
		return;
	symbol->start = start;
	symbol->code = code;
	set_name(symbol, name);
}

/* "ffffffff81000000 T startup_64\t[module]"; false: it has no address. */
static bool take_line(struct kernel *kernel, char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16);

	if (start == 0 || rest[0] != ' ' || !rest[1] || rest[2] != ' ')
		return false;
	size_t i = first_from(kernel, start);
	char *name = rest + 3;

	name[strcspn(name, "\t\n")] = '\0';
	if (i < kernel->nr)
		offer(&kernel->symbols[i], start, strchr("tTwW", rest[1]) != NULL, name);
	return true;
}

static int read_symbols(struct kernel *kernel, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, buffer[READ_SIZE];
	size_t room = 0;
	bool any = false;

	if (!file)
		return error_errno(err, errno, "open %s", path);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while (getline(&line, &room, file) > 0)
		any |= take_line(kernel, line);
	free(line);
	fclose(file);
	if (any)
		return 0;
	return error_set(err, ERR_REFUSED,
			 "kernel addresses are hidden (kernel.kptr_restrict, "
			 "kernel.perf_event_paranoid); root can see them");
}

/* Addresses are other ones after each boot. */
static int check_kernel(const struct profile_run *run, struct error *err)
{
	struct utsname here;

	if (uname(&here) < 0)
		return error_errno(err, errno, "uname");
	if (run->host && strcmp(run->host, here.nodename) != 0)
		return error_set(err, ERR_UNSUPPORTED, "recorded on another host, %s", run->host);
	if (run->start_realtime_us &&
	    run->start_realtime_us / 1000000 < (int64_t)proc_field("/proc/stat", "btime "))
		return error_set(err, ERR_UNSUPPORTED, "recorded before the last boot");
	return 0;
}

static uint32_t add_nameless(const struct source_request *request)
{
	struct function function = { .name = request->module->name, .nameless = true };

	return functions_add(request->functions, &function);
}

static void kernel_close(struct source *source)
{
	struct kernel *kernel = (struct kernel *)source;

	for (size_t i = 0; i < kernel->nr; i++)
		free(kernel->symbols[i].name);
	free(kernel->symbols);
	free(kernel);
}

static struct source *kernel_open(const struct source_request *request)
{
	struct kernel *kernel = xcalloc(1, sizeof(*kernel));
	struct error err = ERROR_INIT;

	kernel->source.kind = &source_kernel;
	kernel->source.has_names = true;
	kernel->functions = request->functions;
	kernel->addresses = request->addresses;
	kernel->nr = request->nr_addresses;
	kernel->symbols = xcalloc(kernel->nr, sizeof(*kernel->symbols));
	if (check_kernel(&request->profile->run, &err) < 0 ||
	    read_symbols(kernel, "/proc/kallsyms", &err) < 0) {
		kernel_close(&kernel->source);
		return source_without(request, err.message);
	}
	kernel->nameless = add_nameless(request);
	return &kernel->source;
}

static const struct kernel_symbol *find(const struct kernel *kernel, uint64_t address)
{
	size_t i = first_from(kernel, address);

	while (i > 0 && !kernel->symbols[i].name)
		i--;
	const struct kernel_symbol *symbol = &kernel->symbols[i];
	bool found = symbol->name && symbol->code && address - symbol->start < FUNCTION_MAX;
	return found ? symbol : NULL;
}

static void kernel_resolve(struct source *source, uint64_t address, struct chain *chain)
{
	struct kernel *kernel = (struct kernel *)source;
	const struct kernel_symbol *symbol = find(kernel, address);
	uint32_t id = kernel->nameless;

	if (symbol) {
		struct function function = { .symbol = symbol->name, .start = symbol->start };

		id = functions_add(kernel->functions, &function);
	}
	vec_push(&chain->at, (struct place){ .function = id });
}

static void kernel_describe(struct source *source, struct profile_module *module)
{
	(void)source;
	module->debug = PROFILE_DEBUG_SYMBOLS;
	module->debug_path = "/proc/kallsyms";
	module->reason = NULL;
}

const struct source_kind source_kernel = {
	.open = kernel_open,
	.resolve = kernel_resolve,
	.describe = kernel_describe,
	.close = kernel_close,
};
