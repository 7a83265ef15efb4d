/* SPDX-License-Identifier: MIT */
/*
 * jit_source - names of code that a program made while it ran, from the /tmp/perf-PID.map that
 * node, java and python write when asked to: "START SIZE NAME", in hexadecimal.
 *
 * It grows while the program runs and is read as it is now, as a whole; where code was made in the
 * place of other code, the last says what is there.  Nobody removes such files, and pids are used
 * again: one that was last written before the process began is another's.
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
	bool stale; /* there was a map, of a former process */
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
static FILE *open_map(struct jit *jit, int pid, int64_t start_us)
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
	if (st.st_mtime < start_us / 1000000 - 1) {
		jit->stale = true;
		close(fd);
		return NULL;
	}
	return fdopen(fd, "r");
}

static void read_map(struct jit *jit, int pid, int64_t start_us)
{
	FILE *file = open_map(jit, pid, start_us);
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0)
		add_line(jit, line);
	free(line);
	if (file)
		fclose(file);
}

/* Since the epoch, or 0: before the recording, or not known. */
static int64_t start_of(const struct profile *profile, const struct profile_process *process)
{
	const char *attached = profile_meta_value(profile, "attached");

	if (process->parent == PROFILE_NONE && attached && strcmp(attached, "0") != 0)
		return 0;
	return profile->run.start_realtime_us ? profile->run.start_realtime_us + process->start_us
					      : 0;
}

static void read_process(struct jit *jit, const struct profile *profile,
			 const struct profile_process *process)
{
	if (process->image == 0)
		read_map(jit, process->pid, start_of(profile, process));
}

/* The module is called "[anon:PID]", or stands for the memory of all processes. */
static void read_maps(struct jit *jit, const struct source_request *request)
{
	const struct profile *profile = request->profile;
	int pid = 0;

	sscanf(request->module->name, "[anon:%d]", &pid);
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (!pid || profile->processes[i].pid == pid)
			read_process(jit, profile, &profile->processes[i]);
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
		const char *reason =
			jit->stale ? "code made at run time; its /tmp/perf-PID.map is older than "
				     "the process"
				   : "code made at run time; no /tmp/perf-PID.map names it (node "
				     "--perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions "
				     "-XX:+DumpPerfMapAtExit, python -X perf write one)";

		jit_close(&jit->source);
		return source_without(request, reason);
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
