/* SPDX-License-Identifier: MIT */
/*
 * kernel_source - names from /proc/kallsyms, if it is still the kernel that was recorded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "symbolize/source.h"

/* kallsyms has no sizes: a function ends where the next symbol starts, but not later than this. */
enum { FUNCTION_MAX = 1 << 18 };

struct kernel_symbol {
	uint64_t start;
	const char *name;
	bool code;
};

struct kernel {
	struct source source;
	struct functions *functions;
	struct arena text;
	VEC(struct kernel_symbol) symbols;
	uint32_t nameless; /* the function that stands for all other addresses */
};

static int by_start(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (int)a->code - (int)b->code; /* code last: it is the one that is found */
}

/* "ffffffff81000000 T startup_64\t[module]" */
static void add_line(struct kernel *kernel, char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16);

	if (start == 0 || rest[0] != ' ' || !rest[1] || rest[2] != ' ')
		return;
	char *name = rest + 3;
	name[strcspn(name, "\t\n")] = '\0';
	vec_push(&kernel->symbols, (struct kernel_symbol){
					   .start = start,
					   .name = arena_strdup(&kernel->text, name),
					   .code = strchr("tTwW", rest[1]) != NULL,
				   });
}

static int read_symbols(struct kernel *kernel, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return error_errno(err, errno, "open %s", path);
	while (getline(&line, &room, file) > 0)
		add_line(kernel, line);
	free(line);
	fclose(file);
	if (!kernel->symbols.nr)
		return error_set(err, ERR_REFUSED,
				 "kernel addresses are hidden (kernel.kptr_restrict, "
				 "kernel.perf_event_paranoid); root can see them");
	qsort(kernel->symbols.at, kernel->symbols.nr, sizeof(kernel->symbols.at[0]), by_start);
	return 0;
}

/* Seconds since the epoch, or 0. */
static int64_t boot_time(void)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[256];
	int64_t time = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "btime %" SCNd64, &time) == 1)
			break;
	if (file)
		fclose(file);
	return time;
}

/* Addresses are other ones after each boot. */
static int check_kernel(const struct profile_run *run, struct error *err)
{
	struct utsname here;

	if (uname(&here) < 0)
		return error_errno(err, errno, "uname");
	if (run->host && strcmp(run->host, here.nodename) != 0)
		return error_set(err, ERR_UNSUPPORTED, "recorded on another host, %s", run->host);
	if (run->start_realtime_us && run->start_realtime_us / 1000000 < boot_time())
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

	vec_free(&kernel->symbols);
	arena_release(&kernel->text);
	free(kernel);
}

static struct source *kernel_open(const struct source_request *request)
{
	struct kernel *kernel = xcalloc(1, sizeof(*kernel));
	struct error err = ERROR_INIT;

	kernel->source.kind = &source_kernel;
	kernel->source.has_names = true;
	kernel->functions = request->functions;
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
	size_t low = 0, high = kernel->symbols.nr;

	while (low < high) { /* the number of symbols that start at or below the address */
		size_t middle = low + (high - low) / 2;

		if (kernel->symbols.at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct kernel_symbol *symbol = low ? &kernel->symbols.at[low - 1] : NULL;
	return symbol && symbol->code && address - symbol->start < FUNCTION_MAX ? symbol : NULL;
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
