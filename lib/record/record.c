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
#include "record/endings.h"
#include "record/events/event_types.h"
#include "record/image_facts.h"
#include "record/images.h"
#include "record/output.h"
#include "record/processes.h"
#include "record/shortage.h"
#include "record/sides.h"
#include "record/target/attach.h"
#include "record/target/environment.h"
#include "record/target/launch.h"
#include "record/target/privileges.h"
#include "record/target/supervise.h"
#include "record/target/wakeups.h"
#include "record/unaccounted.h"

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
	struct images *images;
	struct processes *processes;
	struct sides sides;
	struct committer *committer;
	char *output;	     /* where the profile shall be */
	char *path;	     /* where it is, in the end */
	bool has_broken_off; /* it could not be written any more, which was said */

	struct utsname host;
	char *cpu_model;
	struct profile_run run;
	int64_t cpu_used_us; /* by us, then */
	bool delay_over;
};

static int64_t used_us(const struct rusage *usage)
{
	return (int64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
	       usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static int64_t cpu_used_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return used_us(&usage);
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

static const char *heap_mode(const struct record_config *config)
{
	static const char *const names[] = { [RECORD_HEAP_EXACT] = "exact",
					     [RECORD_HEAP_SAMPLE] = "sample",
					     [RECORD_HEAP_COUNTS] = "counts" };

	return config->heap == RECORD_OFF || config->nr_attach ? "off" : names[config->heap_mode];
}

static uint32_t sample_bytes(const struct record_config *config)
{
	return config->heap != RECORD_OFF && config->heap_mode == RECORD_HEAP_SAMPLE
		       ? (uint32_t)config->heap_sample_bytes
		       : 0;
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
		.no_inherit = record->config->no_inherit,
		.heap_mode = heap_mode(record->config),
		.heap_sample_bytes = sample_bytes(record->config),
	};
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
		sides_open_heap(&record->sides, &record->environment);
	return ret;
}

/* Of the program, or the first one attached to. */
static pid_t leader_pid(const struct record *record)
{
	return record->attach.nr ? record->attach.at[0].pid : record->launch.pid;
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
	sides_open_cpu(&record->sides, &(struct sides_target){ .events = &record->events,
							       .attach = &record->attach,
							       .pid = leader_pid(record),
							       .committer = record->committer });
	if (!record->attach.nr)
		sides_open_faults(&record->sides, leader_pid(record));
	privileges_give_up();
	return sides_judge(&record->sides, err);
}

static char *find_executable(const char *program)
{
	char *path = launch_find_elf(program), *whole = path ? realpath(path, NULL) : NULL;

	free(path);
	return whole;
}

/* What the records of an exec would tell.  It may have ended already. */
static void look_at_program(struct record *record)
{
	struct image_facts facts;

	image_facts_read(&facts, record->launch.pid, record->config->shim);
	if (!facts.executable && !record->attach.nr)
		facts.executable = find_executable(record->config->arguments[0]);
	images_executed(record->images, &facts);
	image_facts_release(&facts);
}

static int set_clocks(struct record *record, struct error *err)
{
	const struct record_config *config = record->config;
	int64_t end_ns;
	int ret = 0;

	if (__builtin_add_overflow(config->delay_ns, config->duration_ns, &end_ns))
		end_ns = INT64_MAX;
	if (config->delay_ns > 0)
		ret = wakeups_after(&record->wakeups, config->delay_ns, WAKEUP_DELAY_OVER, err);
	if (config->duration_ns > 0 && ret >= 0)
		ret = wakeups_after(&record->wakeups, end_ns, WAKEUP_TIME_OVER, err);
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

	record->run.start_monotonic_ns = (int64_t)start_ns;
	record->run.start_realtime_us = (int64_t)clock_ns(CLOCK_REALTIME) / 1000;
	record->images =
		images_new(record->aggregate, (int64_t)start_ns, record->sides.sampler != NULL);
	if (record->config->no_inherit && !record->config->nr_attach)
		images_of_program_only(record->images);
	record->processes = processes_new(record->images);
	if (!record->attach.nr)
		processes_start(record->processes, record->launch.pid, record->config->arguments,
				start_ns);
	committer_run(record->committer, &record->run);
	return sides_start(&record->sides, record->images, record->processes, start_ns, err);
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
	if (!record->sides.sampler)
		look_at_program(record);
	committer_before(record->committer, sides_gather, &record->sides);
	/* What is recorded is known from now on, however soon we are killed. */
	committer_now(record->committer);
	sides_watch(&record->sides, (uint64_t)record->run.start_monotonic_ns);
	return 0;
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
	sides_stop(&record->sides);
	tell_what_is_kept(record, "the program goes on", &error);
	sides_say(&record->sides, &error);
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
		sides_begin(&record->sides);
		return false;
	case WAKEUP_TIME_OVER:
		result->goes_on = !record->attach.nr;
		result->left = leader_pid(record);
		return true;
	case WAKEUP_PROCESS_ENDED:
		return --*nr_running == 0;
	case WAKEUP_INTERVAL:
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
		images_leave_running(record->images);
	else
		aggregate_quality(record->aggregate, PROFILE_INTERRUPTED,
				  "the recording was ended while the program still ran", 1);
}

static void take_programs_ending(struct record *record)
{
	int status = record->supervisor.wait_status;

	record->run.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	record->run.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	endings_program(record->images, record->supervisor.ended_ns, status);
	if (record->sides.stopper)
		stopper_count(record->sides.stopper,
			      (uint64_t)used_us(&record->supervisor.usage) * 1000);
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
	unaccounted_finish(record->images, end_ns, record->sides.collector != NULL);
}

static void tell_overhead(struct record *record)
{
	int64_t used_us = cpu_used_us() - record->cpu_used_us;

	aggregate_quality(record->aggregate, PROFILE_OVERHEAD, PROFILE_OVERHEAD_CPU,
			  used_us > 0 ? (uint64_t)used_us : 0);
}

static void tell_too_early(struct record *record)
{
	struct error error = ERROR_INIT;

	if (!sides_has_cpu(&record->sides) || record->config->delay_ns <= 0 || record->delay_over)
		return;
	error_set(&error, ERR_UNSUPPORTED,
		  "no CPU samples: the program ended before --delay was over");
	sides_say(&record->sides, &error);
	aggregate_quality(record->aggregate, PROFILE_UNSAMPLED, error.message, 1);
}

static int finish(struct record *record, struct record_result *result, struct error *err)
{
	int ret;

	tell_too_early(record);
	sides_stop(&record->sides);
	take_ending(record, result);
	tell_overhead(record);
	record->run.heap_tracked = unaccounted_any_tracked(record->images);
	if (record->sides.collector && !record->run.heap_tracked)
		record->run.heap_reason = unaccounted_reason(record->images);
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
	launch_init(&record->launch, NULL);
	record->supervisor.signal_fd = -1;
	record->wakeups.fd = -1;
	record->aggregate = aggregate_new();
	record->sides = (struct sides){ .config = config,
					.aggregate = record->aggregate,
					.run = &record->run };
	launch_remember(&record->inheritance);
	environment_copy(&record->environment, environ);
	describe(record);
	return record;
}

int record_run(struct record **handle, const struct record_config *config,
	       struct record_result *result, struct error *err)
{
	alloc_share_heap();

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
	sides_release(&record->sides);
	committer_close(record->committer);
	processes_free(record->processes);
	images_free(record->images);
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

	return sides_module_fd(&record->sides, module->id);
}
