/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "stat/compare.h"
#include "stat/plan.h"
#include "stat/run.h"

static char *const no_arguments[] = { NULL };

struct measurement {
	const struct stat_config *config;
	struct stat_result *result;
	struct usage usage_before; /* of processes that run already */
	bool has_usage_before;
	struct tally **tallies; /* of each command, of each event */
	VEC(struct stat_interval) intervals;
	size_t command; /* that runs */
	unsigned int run;
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
	interval->run = m->run;
	interval->time_s = time_s;
	interval->counts = xcalloc(m->result->nr_events, sizeof(interval->counts[0]));
	stat_plan_interval(m->result->plan, interval->counts);
	m->result->intervals = m->intervals.at;
	m->result->nr_intervals = m->intervals.nr;
	if (m->config->on_interval)
		m->config->on_interval(m->config->context, m->result, interval);
}

static void note_end(struct stat_result *result, struct stat_command *command,
		     const struct run *run)
{
	command->runs++;
	command->pid = run->launch.pid;
	command->left_running = run->left_running;
	stats_add(&command->wall_s, (double)run->wall_ns / 1e9);
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
static bool take_usage(const struct measurement *m, const struct run *run, struct usage *usage)
{
	if (!run->attach.nr) {
		usage_of_program(usage, &run->supervisor.usage);
		return true;
	}
	if (!m->has_usage_before || !usage_read(usage, &run->attach))
		return false;
	usage_subtract(usage, &m->usage_before);
	return true;
}

static int run_counted(struct measurement *m, struct run *run, struct error *err)
{
	const struct stat_config *config = m->config;
	struct run_times times = { config->duration_ns, config->interval_ms, take_interval, m };
	struct stat_plan *plan = m->result->plan;
	struct usage usage;
	int ret = start_counting(plan, run, err);

	m->has_usage_before = run->attach.nr && usage_read(&m->usage_before, &run->attach);
	if (ret >= 0)
		ret = run_to_end(run, &times, err);
	if (ret < 0)
		return ret;
	stat_plan_close(plan, take_usage(m, run, &usage) ? &usage : NULL, m->tallies[m->command]);
	note_end(m->result, current(m), run);
	return 0;
}

/* Of a run that does not count only matters whether it was left. */
static int run_uncounted(struct measurement *m, struct run *run, struct error *err)
{
	int ret = run_to_end(run, &(struct run_times){ 0 }, err);

	if (!ret && run->left_running) {
		current(m)->left_running = true;
		current(m)->pid = run->launch.pid;
		m->result->status = LAUNCH_STATUS_OURS;
	}
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

static int begin(struct measurement *m, struct run *run, struct error *err)
{
	const struct stat_config *config = m->config;
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
	struct run run;
	int ret = begin(m, &run, err);

	if (ret < 0) {
		m->result->status = LAUNCH_STATUS_OURS;
		return ret;
	}
	ret = counted ? run_counted(m, &run, err) : run_uncounted(m, &run, err);
	if (ret < 0)
		m->result->status = run.launch.status;
	run_release(&run);
	return ret;
}

/* Each command once; 1: one was left running, no more. */
static int measure_round(struct measurement *m, bool counted, struct error *err)
{
	int ret = 0;

	for (m->command = 0; !ret && m->command < m->result->nr_commands; m->command++) {
		ret = measure_once(m, counted, err);
		if (!ret && current(m)->left_running)
			ret = 1;
	}
	return ret;
}

static int measure_all(struct measurement *m, struct error *err)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < m->config->warmup; i++)
		ret = measure_round(m, false, err);
	for (m->run = 0; !ret && m->run < m->config->runs; m->run++)
		ret = measure_round(m, true, err);
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
		ret = measure_all(&m, err);
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
