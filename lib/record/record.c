/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "record/aggregate/aggregate.h"
#include "record/committer.h"
#include "record/events/event_types.h"
#include "record/heap/collector.h"
#include "record/image_facts.h"
#include "record/memory.h"
#include "record/output.h"
#include "record/processes.h"
#include "record/sampler.h"
#include "record/shortage.h"
#include "record/target/attach.h"
#include "record/target/environment.h"
#include "record/target/launch.h"
#include "record/target/privileges.h"
#include "record/target/supervise.h"
#include "record/wakeups.h"
#include "shim/wire.h"

struct record {
	const struct record_config *config;
	struct event_types events;
	struct launch_inheritance inheritance;
	struct supervisor supervisor;
	struct environment environment;
	struct launch launch;
	struct attach attach; /* instead of launch; nr 0 */
	struct wakeups wakeups;

	struct aggregate *aggregate;
	struct processes *processes;
	struct sampler *sampler;	  /* NULL: no CPU side */
	struct heap_collector *collector; /* NULL: no heap side */
	struct memory *memory;
	struct committer *committer;
	char *output;	     /* where the profile shall be */
	char *path;	     /* where it is, in the end */
	bool has_broken_off; /* it could not be written any more, which was said */

	struct utsname host;
	char *cpu_model;
	struct profile_run run;
	struct error cpu_refused, heap_refused; /* why a side is missing */
	int64_t cpu_used_us;			/* by us, then */
	bool delay_over;
};

static int64_t cpu_used_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void say(const struct record *record, const struct error *error)
{
	if (record->config->message)
		record->config->message(record->config->context, error->message, error->hint);
}

/* --- what is told of the recording as a whole -------------------------------------------------*/

static char *read_cpu_model(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512], model[256];
	char *found = NULL;

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "model name : %255[^\n]", model) == 1)
			found = xstrdup(model);
	if (file)
		fclose(file);
	return found;
}

static void describe(struct record *record)
{
	uname(&record->host);
	record->cpu_model = read_cpu_model();
	record->run = (struct profile_run){
		.cprof_version = CPROF_VERSION,
		.host = record->host.nodename,
		.kernel = record->host.release,
		.cpu_model = record->cpu_model,
		.nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start_realtime_us = (int64_t)clock_ns(CLOCK_REALTIME) / 1000,
		.start_monotonic_ns = (int64_t)clock_now_ns(),
		.options = record->config->options,
		.exit_status = -1,
		.heap_mode = record->config->heap == RECORD_OFF || record->config->nr_attach
				     ? "off"
				     : "exact",
	};
}

/* --- the sides --------------------------------------------------------------------------------*/

static struct sampling choose_sampling(const struct record_config *config)
{
	static const enum call_graph walks[] = {
		[RECORD_STACKS_AUTO] = CALL_GRAPH_STACKS,
		[RECORD_STACKS_DWARF] = CALL_GRAPH_STACKS,
		[RECORD_STACKS_FRAME_POINTERS] = CALL_GRAPH_FRAME_POINTERS,
		[RECORD_STACKS_NONE] = CALL_GRAPH_NONE,
	};

	return (struct sampling){
		.frequency_hz = config->frequency_hz ? config->frequency_hz : SAMPLING_FREQUENCY_HZ,
		.period = config->period,
		.call_graph = walks[config->call_graph],
		.stack_bytes = config->stack_bytes ? config->stack_bytes : SAMPLING_STACK_BYTES,
		.stack_is_fixed = config->stack_bytes,
		.attached = config->nr_attach,
		.delayed = config->delay_ns > 0,
		.no_inherit = config->no_inherit,
	};
}

static void tell_substitution(struct record *record)
{
	if (record->run.cpu_reason)
		aggregate_quality(record->aggregate, PROFILE_SUBSTITUTED, record->run.cpu_reason,
				  1);
}

static void note_sampling(struct record *record, const struct sampling *sampling)
{
	static const char *const walks[] = { [CALL_GRAPH_NONE] = "none",
					     [CALL_GRAPH_FRAME_POINTERS] = "fp",
					     [CALL_GRAPH_STACKS] = "dwarf" };
	struct sampler_facts facts = sampler_facts(record->sampler);

	committer_meta(record->committer, "call_graph", xstrdup(walks[sampling->call_graph]));
	committer_meta(record->committer, "stack_bytes", xasprintf("%u", sampling->stack_bytes));
	committer_meta(record->committer, "ring_bytes", xasprintf("%zu", facts.ring_bytes));
	committer_meta(record->committer, "perf_event_paranoid", xasprintf("%d", facts.paranoid));
}

static void say_lowered(const struct record *record)
{
	const char *lowered = sampler_facts(record->sampler).lowered;
	struct error error = ERROR_INIT;

	if (!lowered)
		return;
	error_set(&error, ERR_UNSUPPORTED, "%s", lowered);
	say(record, &error);
}

/* Of the program, or the first one attached to. */
static pid_t leader_pid(const struct record *record)
{
	return record->attach.nr ? record->attach.at[0].pid : record->launch.pid;
}

/* Once the program has a pid. */
static void open_cpu_side(struct record *record)
{
	const struct record_config *config = record->config;
	const struct sampler_config sampler = {
		.events = &record->events,
		.attach = record->attach.nr ? &record->attach : NULL,
		.sampling = choose_sampling(config),
		.shim = config->shim,
		.aggregate = record->aggregate,
	};

	if (config->cpu == RECORD_OFF) {
		record->run.cpu_reason = "not asked for (--cpu=off)";
		return;
	}
	if (sampler_open(&record->sampler, &sampler, leader_pid(record), &record->cpu_refused) <
	    0) {
		record->run.cpu_reason = record->cpu_refused.message;
		return;
	}
	record->run.cpu_on = true;
	record->run.cpu_reason = sampler_reason(record->sampler);
	record->run.user_only = sampler_user_only(record->sampler);
	tell_substitution(record);
	note_sampling(record, &sampler.sampling);
	say_lowered(record);
}

/* Why the shim cannot be preloaded; NULL: it can. */
static const char *shim_problem(const char *shim, struct error *err)
{
	if (!shim) {
		error_set(err, ERR_UNSUPPORTED, "libcprof-heap.so was not found");
		error_hint(err, "it belongs beside cprof, or into " CPROF_LIBDIR);
		return err->message;
	}
	/* LD_PRELOAD has no way to quote. */
	if (strpbrk(shim, " :")) {
		error_set(err, ERR_UNSUPPORTED,
			  "%s cannot be preloaded: there is a space or colon in its path", shim);
		error_hint(err, "install cprof in another folder");
		return err->message;
	}
	return NULL;
}

static uint32_t image_of(void *context, const struct heap_hello *hello, bool at_last)
{
	struct record *record = context;
	const struct process_hello process = { .pid = hello->pid,
					       .parent_pid = hello->parent_pid,
					       .is_forked = hello->is_forked,
					       .time_ns = hello->time_ns,
					       .executable = hello->executable,
					       .arguments = hello->arguments,
					       .nr_arguments = hello->nr_arguments };

	return at_last ? processes_hello_at_last(record->processes, &process)
		       : processes_hello(record->processes, &process);
}

static void image_untracked(void *context, uint32_t process, const char *reason)
{
	processes_untracked(((struct record *)context)->processes, process, reason);
}

static void image_ended(void *context, uint32_t process, uint64_t time_ns)
{
	processes_ended(((struct record *)context)->processes, process, time_ns);
}

static void process_ended_as(void *context, int32_t pid, uint64_t time_ns, int wait_status)
{
	processes_ended_as(((struct record *)context)->processes, pid, time_ns, wait_status);
}

static int open_collector(struct record *record, struct error *err)
{
	const struct heap_collector_config collector = {
		.aggregate = record->aggregate,
		.context = record,
		.image_of = image_of,
		.untracked = image_untracked,
		.ended = image_ended,
		.ended_as = process_ended_as,
	};
	const char *shim = record->config->shim;

	if (shim_problem(shim, err))
		return err->code;
	if (heap_collector_open(&record->collector, &collector, err) < 0)
		return err->code;
	environment_prepend(&record->environment, "LD_PRELOAD", shim, ':');
	environment_prepend(&record->environment, WIRE_ASAN_ENV, WIRE_ASAN_OPTIONS, ':');
	environment_set(&record->environment, WIRE_ENV, heap_collector_path(record->collector));
	return 0;
}

/* Before the program is started: it is told by its environment. */
static void open_heap_side(struct record *record)
{
	if (record->config->heap == RECORD_OFF) {
		record->run.heap_reason = "not asked for (--heap=off)";
		return;
	}
	if (record->config->nr_attach) {
		record->run.heap_reason = "attached to (-p): the heap of a process can only be "
					  "accounted from its start";
		return;
	}
	if (open_collector(record, &record->heap_refused) < 0)
		record->run.heap_reason = record->heap_refused.message;
}

static int refuse(const struct error *refused, const char *what, struct error *err)
{
	*err = *refused;
	return error_prefix(err, "%s", what);
}

/* What is refused is said, and the program runs with the other side, unless it was asked for. */
static int judge_sides(const struct record *record, struct error *err)
{
	static const char no_cpu[] = "no CPU samples", no_heap[] = "no heap figures";
	const struct record_config *config = record->config;
	bool cpu_refused = record->cpu_refused.code, heap_refused = record->heap_refused.code;
	struct error said;

	if (heap_refused && !record->sampler && !cpu_refused)
		return refuse(&record->heap_refused, no_heap, err);
	if (heap_refused && config->heap == RECORD_REQUIRED)
		return refuse(&record->heap_refused, no_heap, err);
	if (heap_refused) {
		refuse(&record->heap_refused, no_heap, &said);
		say(record, &said);
	}
	if (cpu_refused && (config->cpu == RECORD_REQUIRED || !record->collector))
		return refuse(&record->cpu_refused, no_cpu, err);
	if (cpu_refused) {
		refuse(&record->cpu_refused, no_cpu, &said);
		say(record, &said);
	}
	return 0;
}

/* --- the course of things ---------------------------------------------------------------------*/

static int prepare(struct record *record, struct error *err)
{
	const struct record_config *config = record->config;
	int ret;

	if (config->cpu == RECORD_OFF && config->heap == RECORD_OFF)
		return error_set(err, ERR_USAGE, "nothing to record: CPU and heap are both off");
	if (config->cpu == RECORD_OFF && config->nr_attach)
		return error_set(err, ERR_USAGE,
				 "nothing to record: of processes that run already (-p) only CPU "
				 "time can be");
	ret = event_types_parse(&record->events,
				config->events ? config->events : event_types_default, err);
	if (ret >= 0)
		ret = config->nr_attach
			      ? attach_open(&record->attach, config->attach, config->nr_attach, err)
			      : launch_check(&record->launch, config->arguments[0], err);
	if (ret >= 0)
		ret = supervise_begin(&record->supervisor, err);
	if (ret >= 0)
		ret = wakeups_open(&record->wakeups, err);
	if (ret >= 0)
		open_heap_side(record);
	return ret;
}

static int open_file(struct record *record, struct error *err)
{
	int ret = output_expand(&record->output, record->config->output, leader_pid(record), err);

	if (ret < 0)
		return ret;
	return committer_open(&record->committer, record->output, record->aggregate, err);
}

/* Up to where the program is about to run. */
static int open_program(struct record *record, struct error *err)
{
	const struct launch_config launch = { .arguments = record->config->arguments,
					      .environment = record->environment.at,
					      .inheritance = &record->inheritance };
	int ret = record->attach.nr ? 0 : launch_fork(&record->launch, &launch, err);

	if (ret >= 0)
		ret = open_file(record, err);
	if (ret < 0)
		return ret;
	open_cpu_side(record);
	privileges_give_up();
	return judge_sides(record, err);
}

/* What the records of an exec would tell. */
static void look_at_program(struct record *record)
{
	struct image_facts facts;

	image_facts_read(&facts, record->launch.pid, record->config->shim);
	processes_executed(record->processes, &facts);
	image_facts_release(&facts);
}

static int set_clocks(struct record *record, struct error *err)
{
	const struct record_config *config = record->config;
	int ret = 0;

	if (config->delay_ns > 0)
		ret = wakeups_after(&record->wakeups, config->delay_ns, WAKEUP_DELAY_OVER, err);
	if (config->duration_ns > 0 && ret >= 0)
		ret = wakeups_after(&record->wakeups, config->delay_ns + config->duration_ns,
				    WAKEUP_TIME_OVER, err);
	return ret;
}

/* Apart from signals and the end of a child. */
static int watch(struct record *record, struct error *err)
{
	int ret = wakeups_when(&record->wakeups, committer_failed_fd(record->committer),
			       WAKEUP_FILE_FAILED, err);

	for (size_t i = 0; i < record->attach.nr && ret >= 0; i++)
		ret = wakeups_when(&record->wakeups, record->attach.at[i].fd, WAKEUP_PROCESS_ENDED,
				   err);
	return ret;
}

/* All times of the recording count from here. */
static int start_sides(struct record *record, struct error *err)
{
	uint64_t start_ns = clock_now_ns();
	int ret = 0;

	record->run.start_monotonic_ns = (int64_t)start_ns;
	record->run.start_realtime_us = (int64_t)clock_ns(CLOCK_REALTIME) / 1000;
	record->processes =
		processes_new(record->aggregate, (int64_t)start_ns, record->sampler != NULL);
	if (!record->attach.nr)
		processes_start(record->processes, record->launch.pid, record->config->arguments,
				start_ns);
	committer_run(record->committer, &record->run);
	if (record->sampler)
		ret = sampler_start(record->sampler, record->processes, (int64_t)start_ns, err);
	if (ret >= 0 && record->collector)
		ret = heap_collector_start(record->collector, start_ns, err);
	return ret;
}

/* Once the program is what is in the process, not a copy of us. */
static void watch_memory(struct record *record)
{
	struct error error = ERROR_INIT;

	if (memory_start(&record->memory, record->aggregate, record->processes,
			 (uint64_t)record->run.start_monotonic_ns, &error) >= 0)
		return;
	error_prefix(&error, "no memory over time");
	say(record, &error);
}

static int start(struct record *record, struct error *err)
{
	/* Takes milliseconds, so it comes before the clock starts. */
	int ret = committer_start(record->committer, &record->run, err);

	record->cpu_used_us = cpu_used_us();
	if (ret >= 0)
		ret = start_sides(record, err);
	if (ret >= 0)
		ret = watch(record, err);
	if (ret >= 0)
		ret = set_clocks(record, err);
	if (ret >= 0 && !record->attach.nr)
		ret = launch_exec(&record->launch, err);
	if (ret < 0)
		return ret;

	/* It runs: nothing here may fail any more. */
	shortage_begin();
	if (!record->sampler)
		look_at_program(record);
	watch_memory(record);
	return 0;
}

static void stop_sides(struct record *record)
{
	sampler_finish(record->sampler);
	if (record->collector)
		heap_collector_finish(record->collector, NULL);
	memory_finish(record->memory);
	record->memory = NULL;
}

/* Behind the advice: the file may have been removed. */
static void tell_what_is_kept(const struct record *record, const char *advice, struct error *err)
{
	const char *path = committer_path(record->committer);

	if (access(path, F_OK) < 0)
		error_hint(err, "%s", advice);
	else
		error_hint(err, "%s; what was recorded before is in %s", advice, path);
}

/* What cannot be kept need not disturb the program. */
static void break_off(struct record *record)
{
	struct error error = ERROR_INIT;

	if (!committer_error(record->committer, &error))
		return;
	stop_sides(record);
	tell_what_is_kept(record, "the program goes on", &error);
	say(record, &error);
	record->has_broken_off = true;
}

/* True: that was the end. */
static bool take_wakeup(struct record *record, struct record_result *result, size_t *nr_running)
{
	switch (wakeups_next(&record->wakeups)) {
	case WAKEUP_FILE_FAILED:
		break_off(record);
		return false;
	case WAKEUP_DELAY_OVER:
		record->delay_over = true;
		if (record->sampler)
			sampler_begin(record->sampler);
		return false;
	case WAKEUP_TIME_OVER:
		result->goes_on = !record->attach.nr;
		result->left = leader_pid(record);
		return true;
	case WAKEUP_PROCESS_ENDED:
		return --*nr_running == 0;
	case WAKEUP_NONE:
		break;
	}
	return false;
}

static void wait_for_program(struct record *record, struct record_result *result)
{
	pid_t child = record->attach.nr ? -1 : record->launch.pid;
	size_t nr_running = record->attach.nr;

	for (;;) {
		switch (supervise_wait(&record->supervisor, child, record->wakeups.fd)) {
		case SUPERVISE_ENDED:
			return;
		case SUPERVISE_LEAVE:
			result->left = leader_pid(record);
			return;
		case SUPERVISE_COMMIT:
			committer_now(record->committer);
			break;
		case SUPERVISE_OTHER:
			if (take_wakeup(record, result, &nr_running))
				return;
			break;
		}
	}
}

static int status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* What record_run() will say. */
static int final_status(const struct record *record, const struct record_result *result)
{
	if (record->attach.nr || result->goes_on)
		return 0;
	return result->left ? LAUNCH_STATUS_OURS : status_of(record->supervisor.wait_status);
}

/* By ourselves, before the program. */
static void take_our_ending(struct record *record, const struct record_result *result)
{
	if (record->attach.nr || result->goes_on)
		processes_leave_running(record->processes);
	else
		aggregate_quality(record->aggregate, PROFILE_INTERRUPTED,
				  "the recording was ended while the program still ran", 1);
}

static void take_programs_ending(struct record *record)
{
	int status = record->supervisor.wait_status;

	record->run.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	record->run.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	processes_program_ended(record->processes, record->supervisor.ended_ns, status);
}

static void take_ending(struct record *record, const struct record_result *result)
{
	bool is_ours = result->left || record->attach.nr;
	uint64_t end_ns = is_ours ? clock_now_ns() : record->supervisor.ended_ns;

	if (is_ours)
		take_our_ending(record, result);
	else
		take_programs_ending(record);
	record->run.wall_us = ((int64_t)end_ns - record->run.start_monotonic_ns) / 1000;
	processes_finish(record->processes, end_ns, record->collector != NULL);
}

static void tell_overhead(struct record *record)
{
	int64_t used_us = cpu_used_us() - record->cpu_used_us;

	aggregate_quality(record->aggregate, PROFILE_OVERHEAD,
			  "microseconds of CPU time that cprof itself used meanwhile",
			  used_us > 0 ? (uint64_t)used_us : 0);
}

static void tell_too_early(struct record *record)
{
	struct error error = ERROR_INIT;

	if (!record->sampler || record->config->delay_ns <= 0 || record->delay_over)
		return;
	error_set(&error, ERR_INTERRUPTED,
		  "no CPU samples: the program ended before --delay was over");
	say(record, &error);
	aggregate_quality(record->aggregate, PROFILE_INTERRUPTED, error.message, 1);
}

static int finish(struct record *record, struct record_result *result, struct error *err)
{
	int ret;

	tell_too_early(record);
	stop_sides(record);
	take_ending(record, result);
	tell_overhead(record);
	record->run.heap_tracked = processes_any_tracked(record->processes);
	if (record->collector && !record->run.heap_tracked)
		record->run.heap_reason = processes_untracked_reason(record->processes);
	record->run.complete = true;
	ret = committer_finish(record->committer, &record->run, err);
	result->is_whole = ret >= 0;
	if (ret < 0 && err) {
		char *advice = xstrdup(err->hint);

		tell_what_is_kept(record, advice, err);
		free(advice);
	}
	return record->has_broken_off ? 0 : ret;
}

static struct record *record_new(const struct record_config *config)
{
	struct record *record = xcalloc(1, sizeof(*record));

	record->config = config;
	record->launch = (struct launch){
		.pid = -1, .release_fd = -1, .error_fd = -1, .status = LAUNCH_STATUS_OURS
	};
	record->supervisor.signal_fd = -1;
	record->wakeups.fd = -1;
	record->aggregate = aggregate_new();
	launch_remember(&record->inheritance);
	environment_copy(&record->environment, environ);
	describe(record);
	return record;
}

int record_run(struct record **handle, const struct record_config *config,
	       struct record_result *result, struct error *err)
{
	struct record *record = *handle = record_new(config);
	int ret = prepare(record, err);

	*result = (struct record_result){ 0 };
	if (ret >= 0)
		ret = open_program(record, err);
	if (ret >= 0)
		ret = start(record, err);
	if (ret >= 0) {
		result->ran = true;
		wait_for_program(record, result);
		result->status = final_status(record, result);
		shortage_end(result->status);
		ret = finish(record, result, err);
	} else {
		result->status = record->launch.status;
		launch_cancel(&record->launch);
		/* Nothing was recorded: the profile of the run before is still wanted. */
		committer_discard(record->committer);
		record->committer = NULL;
	}
	if (record->committer)
		result->path = record->path = xstrdup(committer_path(record->committer));
	result->asked_path = record->output;
	/* Whoever reads it or looks up names finds it closed. */
	committer_close(record->committer);
	record->committer = NULL;
	if (!result->goes_on)
		launch_restore_signals(&record->inheritance);
	return ret;
}

void record_outlast(struct record *record, struct record_result *result)
{
	enum supervise_event event;

	do
		event = supervise_wait(&record->supervisor, record->launch.pid, -1);
	while (event == SUPERVISE_COMMIT);

	if (event == SUPERVISE_ENDED) {
		result->left = 0;
		result->status = status_of(record->supervisor.wait_status);
	} else {
		result->status = LAUNCH_STATUS_OURS;
	}
	launch_restore_signals(&record->inheritance);
}

void record_free(struct record *record)
{
	if (!record)
		return;
	heap_collector_free(record->collector);
	sampler_finish(record->sampler);
	sampler_close(record->sampler);
	committer_close(record->committer);
	processes_free(record->processes);
	aggregate_free(record->aggregate);
	wakeups_close(&record->wakeups);
	attach_close(&record->attach);
	supervise_end(&record->supervisor);
	environment_release(&record->environment);
	event_types_release(&record->events);
	free(record->cpu_model);
	free(record->path);
	free(record->output);
	free(record);
}

int record_module_fd(void *context, const struct profile_module *module)
{
	const struct record *record = context;
	int fd = record->sampler ? sampler_module_fd(record->sampler, module->id) : -1;

	if (fd < 0 && record->collector)
		fd = heap_collector_module_fd(record->collector, module->id);
	return fd;
}
