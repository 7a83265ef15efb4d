/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/events/access.h"
#include "stat/hardware.h"
#include "stat/run.h"
#include "stat/software.h"

struct counters {
	struct access access;
	struct hardware hardware;
	struct software software;
};

static void plan(struct counters *counters, bool full_pmu)
{
	access_read(&counters->access);
	hardware_plan(&counters->hardware, full_pmu, &counters->access);
	software_plan(&counters->software, &counters->access);
}

static void release(struct counters *counters)
{
	hardware_release(&counters->hardware);
	software_release(&counters->software);
}

static void note_end(struct stat_result *result, const struct run *run)
{
	result->runs++;
	result->pid = run->launch.pid;
	result->left_running = run->left_running;
	stats_add(&result->wall_s, (double)run->wall_ns / 1e9);
	if (run->left_running)
		result->status = LAUNCH_STATUS_OURS;
	if (!run->exit_status || run->left_running)
		return;
	result->exit_status = run->exit_status;
	result->signal = run->signal;
	result->status = run->signal ? 128 + run->signal : run->exit_status;
}

static int measure_once(struct stat_result *result, struct counters *counters, struct error *err)
{
	struct run run;
	int ret = run_begin(&run, result->arguments, err);

	if (ret < 0) {
		result->status = LAUNCH_STATUS_OURS;
		return ret;
	}
	software_open(&counters->software, run.launch.pid);
	hardware_open(&counters->hardware, run.launch.pid);
	ret = run_to_end(&run, err);
	if (ret < 0) {
		result->status = run.launch.status;
	} else {
		hardware_close(&counters->hardware);
		software_close(&counters->software, &run.supervisor.usage);
		note_end(result, &run);
	}
	run_release(&run);
	return ret;
}

static struct stat_event *find(const struct stat_result *result, const char *name)
{
	size_t i = 0;

	while (strcmp(result->events[i].name, name) != 0)
		i++;
	return &result->events[i];
}

static void relate(struct stat_event *event, const char *to, double whole)
{
	event->ratio_of = to;
	event->ratio = event->value.nr && whole > 0 ? stats_mean(&event->value) / whole : NAN;
}

/* What relates to the time: CPUs in use, and the clock rate (time in the kernel has none if its
 * cycles are not counted). */
static void relate_to_time(struct stat_result *result)
{
	struct stat_event *clock = find(result, "task-clock"), *cycles = find(result, "cycles");
	double clock_ns = clock->value.nr ? stats_mean(&clock->value) : 0;

	relate(clock, "wall-time", stats_mean(&result->wall_s) * 1e9);
	relate(cycles, "task-clock", result->user_only ? 0 : clock_ns);
}

static void take_results(struct stat_result *result, struct counters *counters)
{
	result->nr_events = counters->hardware.nr + SOFTWARE_NR;
	result->events = xcalloc(result->nr_events, sizeof(result->events[0]));
	hardware_result(&counters->hardware, result->events);
	software_result(&counters->software, result->events + counters->hardware.nr);
	result->user_only = counters->hardware.user_only;
	result->ipc = find(result, "instructions")->ratio;
	relate_to_time(result);
}

int stat_measure(struct stat_result *result, const struct stat_config *config, struct error *err)
{
	struct counters counters;
	int ret = 0;

	*result = (struct stat_result){ .arguments = config->arguments, .ipc = NAN };
	plan(&counters, config->full_pmu);
	for (unsigned int i = 0; !ret && i < config->runs && !result->left_running; i++)
		ret = measure_once(result, &counters, err);
	if (!ret)
		take_results(result, &counters);
	release(&counters);
	return ret;
}

void stat_result_release(struct stat_result *result)
{
	for (size_t i = 0; i < result->nr_events; i++)
		free(result->events[i].reason);
	free(result->events);
	result->events = NULL;
	result->nr_events = 0;
}
