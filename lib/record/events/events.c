/* SPDX-License-Identifier: MIT */
#include "record/events/events.h"

#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "record/events/cpus.h"
#include "record/events/perf_open.h"

static const double coverage_whole = 0.99;

static struct events *events_new(const struct ladder *ladder, const struct sampling *sampling,
				 size_t nr_cpus)
{
	struct events *events = xcalloc(1, sizeof(*events));

	events->nr_events = ladder->nr_sampled;
	events->attrs = xcalloc(events->nr_events, sizeof(*events->attrs));
	for (size_t i = 0; i < events->nr_events; i++)
		sampling_attr(&events->attrs[i], ladder->events[i].type, i == 0, sampling,
			      &ladder->limits);
	events->cpus = xcalloc(nr_cpus, sizeof(*events->cpus));
	return events;
}

static void close_cpu(const struct events *events, struct events_cpu *cpu)
{
	for (size_t i = 0; cpu->group && i < events->nr_events; i++)
		if (cpu->group[i] >= 0)
			close(cpu->group[i]);
	if (cpu->side >= 0)
		close(cpu->side);
	free(cpu->group);
}

void events_close(struct events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->nr_cpus; i++)
		close_cpu(events, &events->cpus[i]);
	free(events->cpus);
	free(events->attrs);
	map_release(&events->by_id);
	free(events);
}

static int remember_id(struct events *events, int fd, size_t event)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	map_set(&events->by_id, id, event);
	return 0;
}

/* 0, or -errno and in *failed the event. */
static int open_cpu(struct events *events, struct events_cpu *cpu, pid_t pid, size_t *failed)
{
	int ret = 0;

	cpu->group = xcalloc(events->nr_events, sizeof(*cpu->group));
	for (size_t i = 0; i < events->nr_events; i++)
		cpu->group[i] = -1;

	*failed = events->nr_events;
	cpu->side = perf_open(&events->side_attr, pid, cpu->cpu, -1);
	if (cpu->side < 0)
		return cpu->side;

	for (size_t i = 0; i < events->nr_events && ret >= 0; i++) {
		*failed = i;
		ret = cpu->group[i] =
			perf_open(&events->attrs[i], pid, cpu->cpu, i ? cpu->group[0] : -1);
		if (ret >= 0)
			ret = remember_id(events, cpu->group[i], i);
	}
	return ret < 0 ? ret : 0;
}

/* Since Linux 5.12 mappings come with build ids, which are worth more than inodes. */
static void choose_side_attr(struct events *events, pid_t pid, int cpu, bool user_only)
{
	int fd;

	sampling_side_attr(&events->side_attr, user_only, true);
	fd = perf_open(&events->side_attr, pid, cpu, -1);
	if (fd >= 0)
		close(fd);
	else
		sampling_side_attr(&events->side_attr, user_only, false);
}

int events_open(struct events **result, pid_t pid, const struct ladder *ladder,
		const struct sampling *sampling, const struct access *access, struct error *err)
{
	struct cpus cpus;
	struct events *events;
	int ret = 0;

	cpus_online(&cpus);
	events = events_new(ladder, sampling, cpus.nr);
	choose_side_attr(events, pid, cpus.at[0], ladder->limits.user_only);

	for (size_t i = 0; i < cpus.nr && !ret; i++) {
		struct events_cpu *cpu = &events->cpus[events->nr_cpus];
		size_t failed;

		cpu->cpu = cpus.at[i];
		ret = open_cpu(events, cpu, pid, &failed);
		if (ret == -ENODEV) { /* went offline, or has no such PMU */
			close_cpu(events, cpu);
			ret = 0;
			continue;
		}
		events->nr_cpus++;
		if (ret)
			ret = access_explain(access, -ret,
					     failed < events->nr_events
						     ? ladder->events[failed].type
						     : event_type_find("task-clock"),
					     err);
	}
	if (!ret && !events->nr_cpus)
		ret = error_set(err, ERR_UNSUPPORTED, "no CPU has these events");
	log_debug(LOG_EVENTS, "%zu events on %zu CPUs", events->nr_events, events->nr_cpus);

	cpus_release(&cpus);
	if (ret < 0) {
		events_close(events);
		events = NULL;
	}
	*result = events;
	return ret;
}

void events_stop(struct events *events)
{
	for (size_t i = 0; i < events->nr_cpus; i++) {
		ioctl(events->cpus[i].group[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		ioctl(events->cpus[i].side, PERF_EVENT_IOC_DISABLE, 0);
	}
}

/* In the order that read_format asks for. */
struct reading {
	uint64_t value, enabled, running;
};

static struct reading sum(const struct events *events, size_t event)
{
	struct reading total = { 0 };

	for (size_t i = 0; i < events->nr_cpus; i++) {
		const struct events_cpu *cpu = &events->cpus[i];
		int fd = event < events->nr_events ? cpu->group[event] : cpu->side;
		struct reading one;

		if (read(fd, &one, sizeof(one)) != sizeof(one))
			continue;
		total.value += one.value;
		total.running += one.running;
	}
	return total;
}

void events_count(const struct events *events, size_t event, struct events_count *count)
{
	struct reading counted = sum(events, event);
	uint64_t present = sum(events, events->nr_events).value;

	/* "enabled" runs on every CPU wherever the thread is, so it says nothing here. */
	*count = (struct events_count){ .value = (double)counted.value, .coverage = 1 };
	if (event == events->nr_events || !present)
		return;
	count->coverage = (double)counted.running / (double)present;
	if (count->coverage > 1)
		count->coverage = 1;
	if (counted.running && count->coverage < coverage_whole)
		count->value /= count->coverage;
}

int events_find(const struct events *events, uint64_t id)
{
	const uint64_t *event = map_find(&events->by_id, id);

	return event ? (int)*event : -1;
}
