/* SPDX-License-Identifier: MIT */
#include "record/events/events.h"

#include <string.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"
#include "record/events/perf_open.h"

enum { CONFIRMATIONS = 3 };

static const double coverage_whole = 0.99;

static struct events *events_new(const struct ladder *ladder, const struct sampling *sampling,
				 const struct access *access)
{
	struct events *events = xcalloc(1, sizeof(*events));

	events->ladder = ladder;
	events->access = access;
	events->nr_events = ladder->nr_sampled;
	events->attrs = xcalloc(events->nr_events, sizeof(*events->attrs));
	for (size_t i = 0; i < events->nr_events; i++)
		sampling_attr(&events->attrs[i], ladder->events[i].type, i == 0, sampling,
			      &ladder->limits);
	cpus_online(&events->cpus);
	return events;
}

static void close_group(const struct events *events, int **group)
{
	for (size_t i = 0; *group && i < events->nr_events; i++)
		if ((*group)[i] >= 0)
			close((*group)[i]);
	free(*group);
	*group = NULL;
}

static void close_at(const struct events *events, struct events_at *at)
{
	close_group(events, &at->wide);
	close_group(events, &at->group);
	if (at->names >= 0)
		close(at->names);
	if (at->side >= 0)
		close(at->side);
	at->side = at->names = -1;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	vec_each(events, at) close_at(events, at);
	vec_free(events);
	cpus_release(&events->cpus);
	free(events->attrs);
	map_release(&events->by_id);
	free(events);
}

static int remember_id(struct events *events, int fd, size_t number)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	map_set(&events->by_id, id, number);
	return 0;
}

/* 0, or -errno and in *failed the event. */
static int open_group(struct events *events, const struct perf_event_attr *attrs, size_t number,
		      int **result, size_t *failed)
{
	const struct events_at *at = &events->at[number];
	int *group = xcalloc(events->nr_events, sizeof(*group));
	int ret = 0;

	*result = group;
	for (size_t i = 0; i < events->nr_events; i++)
		group[i] = -1;
	for (size_t i = 0; i < events->nr_events && ret >= 0; i++) {
		*failed = i;
		ret = group[i] =
			perf_open(&attrs[i], at->tid, events->cpus.at[at->cpu], i ? group[0] : -1);
		if (ret >= 0)
			ret = remember_id(events, group[i], number * events->nr_events + i);
	}
	return ret < 0 ? ret : 0;
}

/* Likewise. */
static int open_at(struct events *events, size_t number, size_t *failed)
{
	struct events_at *at = &events->at[number];

	*failed = events->nr_events;
	at->side = perf_open(&events->side_attr, at->tid, events->cpus.at[at->cpu], -1);
	if (at->side < 0)
		return at->side;
	at->names = perf_open(&events->names_attr, at->tid, events->cpus.at[at->cpu], -1);
	if (at->names < 0)
		return at->names;
	return open_group(events, events->attrs, number, &at->group, failed);
}

/* Since Linux 5.12 mappings come with build ids, which are worth more than inodes. */
static void choose_side_attrs(struct events *events, pid_t pid, const struct sampling *sampling)
{
	bool user_only = events->ladder->limits.user_only;
	int fd;

	sampling_names_attr(&events->names_attr, sampling, user_only);
	sampling_side_attr(&events->side_attr, sampling, user_only, true);
	fd = perf_open(&events->side_attr, pid, events->cpus.at[0], -1);
	if (fd >= 0)
		close(fd);
	else
		sampling_side_attr(&events->side_attr, sampling, user_only, false);
}

static int explain(const struct events *events, int error, size_t failed, struct error *err)
{
	return access_explain(events->access, error,
			      failed < events->nr_events ? events->ladder->events[failed].type
							 : event_type_find("task-clock"),
			      err);
}

/* 1: open; 0: this CPU went offline, or has no such PMU. */
static int add_on_cpu(struct events *events, pid_t tid, size_t cpu, struct error *err)
{
	size_t number = events->nr, failed;
	int ret;

	vec_push(events, (struct events_at){ .tid = tid, .cpu = cpu, .side = -1, .names = -1 });
	ret = open_at(events, number, &failed);
	if (!ret)
		return 1;
	close_at(events, &events->at[number]);
	events->nr--;
	if (ret == -ENODEV)
		return 0;
	if (ret == -ESRCH)
		return error_set(err, -ESRCH, "thread %d has ended", (int)tid);
	return explain(events, -ret, failed, err);
}

int events_add(struct events *events, pid_t tid, struct error *err)
{
	int ret = 0, nr = 0;

	for (size_t cpu = 0; cpu < events->cpus.nr && ret >= 0; cpu++) {
		ret = add_on_cpu(events, tid, cpu, err);
		nr += ret > 0;
	}
	if (ret < 0)
		events_remove(events, tid);
	else if (!nr)
		ret = error_set(err, ERR_UNSUPPORTED, "no CPU has these events");
	return ret < 0 ? ret : 0;
}

void events_remove(struct events *events, pid_t tid)
{
	vec_each(events, at) if (at->tid == tid) close_at(events, at);
}

int events_open(struct events **result, pid_t pid, const struct ladder *ladder,
		const struct sampling *sampling, const struct access *access, struct error *err)
{
	struct events *events = events_new(ladder, sampling, access);
	int ret;

	choose_side_attrs(events, pid, sampling);
	ret = events_add(events, pid, err);
	log_debug(LOG_EVENTS, "%zu events on %zu CPUs", events->nr_events, events->nr);
	if (ret < 0) {
		events_close(events);
		events = NULL;
	}
	*result = events;
	return ret;
}

/* A sample may take up a large part of the ring, and the program is to be read soon after it. */
static struct perf_event_attr *wide_attrs(const struct events *events, uint32_t stack_bytes)
{
	struct perf_event_attr *attrs = xcalloc(events->nr_events, sizeof(*attrs));

	for (size_t i = 0; i < events->nr_events; i++) {
		attrs[i] = events->attrs[i];
		attrs[i].sample_stack_user = stack_bytes;
		attrs[i].enable_on_exec = 0;
		attrs[i].watermark = 0;
		attrs[i].wakeup_events = 1;
	}
	return attrs;
}

static int open_wide(struct events *events, const struct perf_event_attr *attrs, size_t number)
{
	struct events_at *at = &events->at[number];
	size_t failed;
	int ret = open_group(events, attrs, number, &at->wide, &failed);

	for (size_t i = 0; i < events->nr_events && !ret; i++)
		if (ioctl(at->wide[i], PERF_EVENT_IOC_SET_OUTPUT, at->group[0]) < 0)
			ret = -errno;
	return ret;
}

void events_open_wide(struct events *events, uint32_t stack_bytes)
{
	struct perf_event_attr *attrs = wide_attrs(events, stack_bytes);
	int ret = 0;

	for (size_t i = 0; i < events->nr && !ret; i++)
		if (events->at[i].side >= 0)
			ret = open_wide(events, attrs, i);
	if (ret)
		vec_each(events, at) close_group(events, &at->wide);
	log_debug(LOG_EVENTS, "the same with %u bytes of stack: %s", stack_bytes,
		  ret ? strerror(-ret) : "ok");
	free(attrs);
}

static void enable_groups(const struct events *events)
{
	vec_each(events, at)
	{
		const bool wide = at->wide && events->is_wide;

		if (at->side < 0)
			continue;
		if (at->wide)
			ioctl(wide ? at->group[0] : at->wide[0], PERF_EVENT_IOC_DISABLE,
			      PERF_IOC_FLAG_GROUP);
		ioctl(wide ? at->wide[0] : at->group[0], PERF_EVENT_IOC_ENABLE,
		      PERF_IOC_FLAG_GROUP);
	}
}

static void enable_side(const struct events *events)
{
	vec_each(events, at)
	{
		if (at->side < 0)
			continue;
		ioctl(at->side, PERF_EVENT_IOC_ENABLE, 0);
		ioctl(at->names, PERF_EVENT_IOC_ENABLE, 0);
	}
}

void events_widen(struct events *events, bool wide)
{
	if (wide == events->is_wide)
		return;
	events->is_wide = wide;
	events->is_started = true;
	events->confirmations = CONFIRMATIONS;
	enable_groups(events);
}

void events_start_side(struct events *events)
{
	events->confirmations = CONFIRMATIONS;
	enable_side(events);
}

void events_confirm(struct events *events)
{
	if (!events->confirmations)
		return;
	events->confirmations--;
	enable_side(events);
	if (events->is_started)
		enable_groups(events);
}

void events_stop(struct events *events)
{
	vec_each(events, at)
	{
		if (at->side < 0)
			continue;
		ioctl(at->group[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		if (at->wide)
			ioctl(at->wide[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		ioctl(at->side, PERF_EVENT_IOC_DISABLE, 0);
		ioctl(at->names, PERF_EVENT_IOC_DISABLE, 0);
	}
}

/* In the order that read_format asks for. */
struct reading {
	uint64_t value, enabled, running;
};

static void add_reading(struct reading *total, int fd)
{
	struct reading one;

	if (read(fd, &one, sizeof(one)) != sizeof(one))
		return;
	total->value += one.value;
	total->running += one.running;
}

static struct reading sum(const struct events *events, size_t event)
{
	struct reading total = { 0 };

	vec_each(events, at)
	{
		if (at->side < 0)
			continue;
		add_reading(&total, event < events->nr_events ? at->group[event] : at->side);
		if (event < events->nr_events && at->wide)
			add_reading(&total, at->wide[event]);
	}
	return total;
}

static uint64_t present_ns(const struct events *events)
{
	uint64_t all_ns = sum(events, events->nr_events).value;

	return all_ns > events->before_ns ? all_ns - events->before_ns : 0;
}

void events_start(struct events *events)
{
	events->before_ns = sum(events, events->nr_events).value;
	events->is_started = true;
	events->confirmations = CONFIRMATIONS;
	enable_groups(events);
}

void events_count(const struct events *events, size_t event, struct events_count *count)
{
	uint64_t present = present_ns(events);
	struct reading counted = { .value = present };

	if (event < events->nr_events)
		counted = sum(events, event);

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

int events_find(const struct events *events, uint64_t id, pid_t *tid)
{
	const uint64_t *number = map_find(&events->by_id, id);

	if (!number)
		return -1;
	*tid = events->at[*number / events->nr_events].tid;
	return (int)(*number % events->nr_events);
}
