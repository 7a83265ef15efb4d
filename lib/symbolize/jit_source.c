/* SPDX-License-Identifier: MIT */
/*
 * jit_source - names of code that a program made while it ran, from the /tmp/perf-PID.map that
 * node, java and python write when asked to: "START SIZE NAME", in hexadecimal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "symbolize/segments.h"
#include "symbolize/source.h"

struct jit_function {
	uint64_t start;
	const char *name;
};

struct jit {
	struct source source;
	struct functions *functions;
	struct arena text;
	VEC(struct jit_function) at;
	struct segments segments; /* of functions at the same start, the later one */
	uint32_t nameless;
};

static void add_line(struct jit *jit, char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16);
	uint64_t size = strtoull(rest, &rest, 16);

	if (*rest != ' ' || !rest[1] || start + size < start)
		return;
	rest[strcspn(rest, "\n")] = '\0';
	segments_add(&jit->segments, start, start + size, (uint32_t)jit->at.nr);
	vec_push(&jit->at, (struct jit_function){ start, arena_strdup(&jit->text, rest + 1) });
}

/* Anybody may put files into /tmp: it has to be a plain one, ours or root's. */
static FILE *open_map(int pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != 0 && geteuid() != 0)) {
		close(fd);
		return NULL;
	}
	return fdopen(fd, "r");
}

static void read_map(struct jit *jit, int pid)
{
	FILE *file = open_map(pid);
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0)
		add_line(jit, line);
	free(line);
	if (file)
		fclose(file);
}

/* The module is called "[anon:PID]", or stands for the memory of all processes. */
static void read_maps(struct jit *jit, const struct source_request *request)
{
	const struct profile *profile = request->profile;
	int pid;

	if (sscanf(request->module->name, "[anon:%d]", &pid) == 1) {
		read_map(jit, pid);
		return;
	}
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (profile->processes[i].image == 0)
			read_map(jit, profile->processes[i].pid);
}

static void jit_close(struct source *source)
{
	struct jit *jit = (struct jit *)source;

	vec_free(&jit->at);
	segments_release(&jit->segments);
	arena_release(&jit->text);
	free(jit);
}

static struct source *jit_open(const struct source_request *request)
{
	struct jit *jit = xcalloc(1, sizeof(*jit));
	struct function nameless = { .name = request->module->name, .nameless = true };

	jit->source.kind = &source_jit;
	jit->source.has_names = true;
	jit->functions = request->functions;
	read_maps(jit, request);
	if (!jit->at.nr) {
		jit_close(&jit->source);
		return source_without(request,
				      "code made at run time; no /tmp/perf-PID.map names it");
	}
	segments_build(&jit->segments);
	jit->nameless = functions_add(jit->functions, &nameless);
	return &jit->source;
}

static void jit_resolve(struct source *source, uint64_t address, struct chain *chain)
{
	struct jit *jit = (struct jit *)source;
	uint32_t i = segments_find(&jit->segments, address), id = jit->nameless;

	if (i != SEGMENT_NONE) {
		struct function function = { .symbol = jit->at.at[i].name };

		id = functions_add(jit->functions, &function);
	}
	vec_push(&chain->at, (struct place){ .function = id });
}

static void jit_describe(struct source *source, struct profile_module *module)
{
	(void)source;
	module->debug = PROFILE_DEBUG_SYMBOLS;
	module->debug_path = NULL;
	module->reason = NULL;
}

const struct source_kind source_jit = {
	.open = jit_open,
	.resolve = jit_resolve,
	.describe = jit_describe,
	.close = jit_close,
};
