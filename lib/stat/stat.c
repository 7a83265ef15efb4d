/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/signal_text.h"
#include "base/vec.h"
#include "stat/compare.h"
#include "stat/plan.h"
#include "stat/run.h"

static char *const no_arguments[] = { NULL };

struct measurement {
	const struct stat_config *config;
	struct stat_result *result;
	struct tally **tallies; /* of each command, of each event */
	struct run run;
	struct usage usage_before; /* of processes that run already */
	bool has_usage_before;
	VEC(struct stat_interval) intervals;
	size_t command;	    /* that runs */
	unsigned int round; /* of counted runs, from 0 */
};

static struct stat_command *current(const struct measurement *m)
{
	return &m->result->commands[m->command];
}

/* Processes that run already stand where a command does. */
static size_t nr_commands(const struct stat_config *config)
{
	return config->nr_attach ? 1 : config->nr_commands;
}

static void prepare_command(struct measurement *m, size_t i)
{
	struct stat_result *result = m->result;
	struct stat_command *command = &result->commands[i];

	m->tallies[i] = xcalloc(result->nr_events, sizeof(m->tallies[i][0]));
	command->arguments = m->config->nr_attach ? no_arguments : m->config->commands[i];
	command->ipc = NAN;
	command->events = xcalloc(result->nr_events, sizeof(command->events[0]));
	for (size_t j = 0; j < result->nr_events; j++)
		stat_plan_describe(result->plan, j, &command->events[j]);
}

static int prepare(struct measurement *m, struct error *err)
{
	const struct stat_config *config = m->config;
	struct stat_result *result = m->result;
	int ret = stat_plan_make(&result->plan, config->events, config->full_pmu, err);

	if (ret < 0)
		return ret;
	result->nr_events = result->plan->nr;
	result->user_only = counters_are_user_only(&result->plan->counters);
	result->runs = config->runs;
	result->nr_commands = nr_commands(config);
	result->commands = xcalloc(result->nr_commands, sizeof(result->commands[0]));
	m->tallies = xcalloc(result->nr_commands, sizeof(m->tallies[0]));
	for (size_t i = 0; i < result->nr_commands; i++)
		prepare_command(m, i);
	return 0;
}

static void release(struct measurement *m)
{
	for (size_t i = 0; m->tallies && i < m->result->nr_commands; i++)
		free(m->tallies[i]);
	free(m->tallies);
}

static void take_interval(void *context, double time_s)
{
	struct measurement *m = context;
	struct stat_interval *interval = vec_add(&m->intervals);

	interval->command = m->command;
	interval->run = m->round;
	interval->time_s = time_s;
	interval->counts = xcalloc(m->result->nr_events, sizeof(interval->counts[0]));
	stat_plan_interval(m->result->plan, interval->counts);
	m->result->intervals = m->intervals.at;
	m->result->nr_intervals = m->intervals.nr;
	if (m->config->on_interval)
		m->config->on_interval(m->config->context, m->result, interval);
}

/* A run that somebody broke off says nothing beside others.  A single one says what it did until
 * then. */
static bool counts(const struct measurement *m)
{
	return !m->result->stopped_by || (m->config->runs == 1 && m->result->nr_commands == 1);
}

static void note_end(struct stat_result *result, struct stat_command *command,
		     const struct run *run)
{
	command->pid = run->launch.pid;
	command->left_running = run->left_running;
	if (run->attach.nr)
		return;
	if (run->left_running)
		result->status = LAUNCH_STATUS_OURS;
	if (!run->exit_status || run->left_running)
		return;
	command->exit_status = run->exit_status;
	command->signal = run->signal;
	result->status = run->signal ? 128 + run->signal : run->exit_status;
}

static int start_counting(struct stat_plan *plan, const struct run *run, struct error *err)
{
	if (run->attach.nr)
		return stat_plan_attach(plan, &run->attach, err);
	stat_plan_open(plan, &(struct group_threads){ &run->launch.pid, 1, GROUP_FROM_EXEC });
	return 0;
}

/* False: not known. */
static bool take_usage(const struct measurement *m, struct usage *usage)
{
	if (!m->run.attach.nr) {
		usage_of_program(usage, &m->run.supervisor.usage);
		return !m->run.left_running;
	}
	if (!m->has_usage_before || !usage_read(usage, &m->run.attach))
		return false;
	usage_subtract(usage, &m->usage_before);
	return true;
}

static int run_counted(struct measurement *m, struct error *err)
{
	struct run *run = &m->run;
	const struct stat_config *config = m->config;
	struct usage usage;
	struct run_times times = { config->duration_ns, config->interval_ms, take_interval, m };
	struct stat_plan *plan = m->result->plan;
	int ret = start_counting(plan, run, err);

	m->has_usage_before = run->attach.nr && usage_read(&m->usage_before, &run->attach);
	if (ret >= 0)
		ret = run_to_end(run, &times, err);
	if (ret < 0)
		return ret;
	m->result->stopped_by = supervise_asked(&run->supervisor);
	note_end(m->result, current(m), run);
	if (!counts(m)) {
		stat_plan_discard(plan);
		return 0;
	}
	stat_plan_close(plan, take_usage(m, &usage) ? &usage : NULL, m->tallies[m->command]);
	stats_add(&current(m)->wall_s, (double)run->wall_ns / 1e9);
	current(m)->runs++;
	return 0;
}

/* Of a run that does not count only matters whether it was broken off. */
static int run_uncounted(struct measurement *m, struct error *err)
{
	int ret = run_to_end(&m->run, &(struct run_times){ 0 }, err);

	if (!ret && supervise_asked(&m->run.supervisor))
		note_end(m->result, current(m), &m->run);
	return ret;
}

static void note_processes(struct stat_command *command, const struct attach *attach)
{
	command->processes = xcalloc(attach->nr + 1, sizeof(command->processes[0]));
	command->nr_processes = attach->nr;
	for (size_t i = 0; i < attach->nr; i++) {
		command->processes[i].pid = attach->at[i].pid;
		snprintf(command->processes[i].name, sizeof(command->processes[i].name), "%s",
			 attach->at[i].name);
	}
}

static int begin(struct measurement *m, struct error *err)
{
	const struct stat_config *config = m->config;
	struct run *run = &m->run;
	int ret;

	if (!config->nr_attach)
		return run_begin(run, current(m)->arguments, err);
	ret = run_attach(run, config->attach, config->nr_attach, err);
	if (ret >= 0)
		note_processes(current(m), &run->attach);
	return ret;
}

static int measure_once(struct measurement *m, bool counted, struct error *err)
{
	int ret = begin(m, err);

	if (ret < 0) {
		m->result->status = LAUNCH_STATUS_OURS;
		return ret;
	}
	ret = counted ? run_counted(m, err) : run_uncounted(m, err);
	if (ret < 0)
		m->result->status = m->run.launch.status;
	run_finish(&m->run);
	return ret;
}

/* Each command once; 1: somebody asked for the end, no more. */
static int measure_round(struct measurement *m, bool counted, struct error *err)
{
	int ret = 0;

	for (m->command = 0; !ret && m->command < m->result->nr_commands; m->command++) {
		ret = measure_once(m, counted, err);
		if (!ret && supervise_asked(&m->run.supervisor))
			ret = 1;
	}
	return ret;
}

static int measure_all(struct measurement *m, struct error *err)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < m->config->warmup; i++)
		ret = measure_round(m, false, err);
	for (m->round = 0; !ret && m->round < m->config->runs; m->round++)
		ret = measure_round(m, true, err);
	return ret;
}

/* The status is that of the program that was broken off, unless it took no notice. */
static void note_request(struct measurement *m)
{
	struct stat_result *result = m->result;
	const struct stat_command *last = &result->commands[result->nr_commands - 1];

	result->stopped_by = supervise_asked(&m->run.supervisor);
	if (!result->status && last->runs < result->runs)
		result->status = 128 + result->stopped_by;
}

static int measure(struct measurement *m, struct error *err)
{
	int ret = run_open(&m->run, err);

	if (ret >= 0)
		ret = measure_all(m, err);
	if (ret >= 0)
		note_request(m);
	run_close(&m->run);
	return ret;
}

static struct stat_event *find(const struct stat_result *result, const struct stat_command *command,
			       const char *name)
{
	for (size_t i = 0; i < result->nr_events; i++) {
		if (!strcmp(command->events[i].name, name))
			return &command->events[i];
	}
	return NULL;
}

static void relate(struct stat_event *event, const char *to, double whole)
{
	event->ratio_of = to;
	event->ratio = event->value.nr && whole > 0 ? stats_mean(&event->value) / whole : NAN;
}

/* What relates to the time: CPUs in use, and the clock rate (time in the kernel has none if its
 * cycles are not counted). */
static void relate_to_time(const struct stat_result *result, struct stat_command *command)
{
	struct stat_event *clock = find(result, command, "task-clock");
	struct stat_event *cycles = find(result, command, "cycles");
	double clock_ns = clock->value.nr ? stats_mean(&clock->value) : 0;

	relate(clock, "wall-time", stats_mean(&command->wall_s) * 1e9);
	if (cycles)
		relate(cycles, "task-clock", result->user_only ? 0 : clock_ns);
}

/* Somebody asked for the end before. */
static void note_no_run(const struct stat_result *result, struct stat_command *command)
{
	for (size_t i = 0; i < result->nr_events; i++) {
		free(command->events[i].reason);
		command->events[i].status = PROFILE_NOT_COUNTED;
		command->events[i].reason = xasprintf("stopped by %s before a run was over",
						      signal_text(result->stopped_by).text);
	}
}

static void take_results(struct measurement *m)
{
	struct stat_result *result = m->result;

	for (size_t i = 0; i < result->nr_commands; i++) {
		struct stat_command *command = &result->commands[i];
		const struct stat_event *instructions = find(result, command, "instructions");

		for (size_t j = 0; j < result->nr_events; j++)
			stat_plan_result(result->plan, j, &m->tallies[i][j], &command->events[j]);
		if (instructions)
			command->ipc = instructions->ratio;
		relate_to_time(result, command);
		if (!command->runs)
			note_no_run(result, command);
	}
	compare_commands(result);
}

int stat_measure(struct stat_result *result, const struct stat_config *config, struct error *err)
{
	struct measurement m = { .config = config, .result = result };
	int ret;

	*result = (struct stat_result){ .status = LAUNCH_STATUS_OURS };
	ret = prepare(&m, err);
	if (!ret) {
		result->status = 0;
		ret = measure(&m, err);
	}
	if (ret >= 0)
		take_results(&m);
	release(&m);
	return ret < 0 ? ret : 0;
}

static void release_command(const struct stat_result *result, struct stat_command *command)
{
	for (size_t i = 0; i < result->nr_events; i++)
		free(command->events[i].reason);
	free(command->processes);
	free(command->events);
}

void stat_result_release(struct stat_result *result)
{
	for (size_t i = 0; i < result->nr_commands; i++)
		release_command(result, &result->commands[i]);
	for (size_t i = 0; i < result->nr_intervals; i++)
		free(result->intervals[i].counts);
	free(result->intervals);
	free(result->commands);
	free(result->differences);
	stat_plan_free(result->plan);
	*result = (struct stat_result){ 0 };
}
