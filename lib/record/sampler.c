/* SPDX-License-Identifier: MIT */
#include "record/sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "object/module.h"
#include "record/events/cpus.h"
#include "record/events/events.h"
#include "record/events/ladder.h"
#include "record/events/perf_open.h"
#include "record/ring/decode.h"
#include "record/ring/merge.h"
#include "record/ring/rings.h"
#include "record/samples.h"

enum {
	ROUND_MS = 50,
	COUNT_EVERY_NS = 1000000000,
};

struct sampler {
	struct sampler_config config;
	struct access access;
	struct ladder ladder;
	struct events *events;
	struct rings rings;
	struct merge merge;
	struct modules modules;
	struct samples *samples;
	struct processes *processes;

	pthread_t thread;
	bool is_running;
	int stop_fd; /* an eventfd */
	struct pollfd *polls;
	size_t nr_polls;
	struct map awaited; /* pids whose arguments are not known yet */
	uint64_t counted_ns;
	uint64_t nr_damaged;
};

/* --- opening ----------------------------------------------------------------------------------*/

static int probe_open(void *context, const struct perf_event_attr *attr, int group_fd)
{
	struct cpus cpus;
	int fd;

	cpus_online(&cpus);
	fd = perf_open(attr, *(const pid_t *)context, cpus.at[0], group_fd);
	cpus_release(&cpus);
	return fd;
}

static void probe_close(void *context, int fd)
{
	(void)context;
	close(fd);
}

static void limit_rate(struct sampler *sampler)
{
	struct sampling *sampling = &sampler->config.sampling;
	uint32_t most = sampler->access.max_rate;
	char *detail;

	if (sampling->period || !most || sampling->frequency_hz <= most)
		return;
	detail = xasprintf("%u Hz lowered to %u, kernel.perf_event_max_sample_rate",
			   sampling->frequency_hz, most);
	aggregate_quality(sampler->config.aggregate, PROFILE_SUBSTITUTED, detail, 1);
	free(detail);
	sampling->frequency_hz = most;
}

static void set_polls(struct sampler *sampler)
{
	size_t nr = sampler->events->nr_cpus;

	sampler->polls = xcalloc(2 * nr + 1, sizeof(*sampler->polls));
	for (size_t i = 0; i < nr; i++) {
		sampler->polls[2 * i] = (struct pollfd){ sampler->events->cpus[i].side, POLLIN, 0 };
		sampler->polls[2 * i + 1] =
			(struct pollfd){ sampler->events->cpus[i].group[0], POLLIN, 0 };
	}
	sampler->polls[2 * nr] = (struct pollfd){ sampler->stop_fd, POLLIN, 0 };
	sampler->nr_polls = 2 * nr + 1;
}

static int open_all(struct sampler *sampler, pid_t pid, struct error *err)
{
	struct ladder_probe probe = { probe_open, probe_close, &pid };
	const struct sampling *sampling = &sampler->config.sampling;
	int ret;

	access_read(&sampler->access);
	limit_rate(sampler);
	ret = ladder_climb(&sampler->ladder, sampler->config.events, sampling, &sampler->access,
			   &probe, err);
	if (ret >= 0)
		ret = events_open(&sampler->events, pid, &sampler->ladder, sampling,
				  &sampler->access, err);
	if (ret >= 0)
		ret = rings_open(&sampler->rings, sampler->events, err);
	if (ret >= 0 && sampler->stop_fd < 0)
		ret = error_errno(err, errno, "make an eventfd");
	if (ret >= 0)
		set_polls(sampler);
	return ret;
}

int sampler_open(struct sampler **result, const struct sampler_config *config, pid_t pid,
		 struct error *err)
{
	struct sampler *sampler = xcalloc(1, sizeof(*sampler));
	int ret;

	sampler->config = *config;
	sampler->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = open_all(sampler, pid, err);
	if (ret < 0) {
		sampler_close(sampler);
		sampler = NULL;
	} else {
		sampler->samples = samples_new(&(struct samples_config){
			.aggregate = config->aggregate,
			.call_graph = config->sampling.call_graph,
			.stack_bytes = config->sampling.stack_bytes,
			.shim = config->shim,
			.start_ns = config->start_ns,
		});
	}
	*result = sampler;
	return ret;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler)
		return;
	samples_free(sampler->samples);
	merge_release(&sampler->merge);
	map_release(&sampler->awaited);
	modules_release(&sampler->modules);
	rings_close(&sampler->rings);
	events_close(sampler->events);
	ladder_release(&sampler->ladder);
	if (sampler->stop_fd >= 0)
		close(sampler->stop_fd);
	free(sampler->polls);
	free(sampler);
}

struct sampler_facts sampler_facts(const struct sampler *sampler)
{
	return (struct sampler_facts){ .paranoid = sampler->access.paranoid,
				       .ring_bytes = sampler->rings.data_bytes };
}

const char *sampler_reason(const struct sampler *sampler)
{
	return sampler->ladder.events[0].reason;
}

bool sampler_user_only(const struct sampler *sampler)
{
	return sampler->ladder.limits.user_only;
}

int sampler_module_fd(const struct sampler *sampler, uint32_t profile_module)
{
	const struct module *module = samples_module(sampler->samples, profile_module);

	return module ? module->fd : -1;
}

/* --- counting ---------------------------------------------------------------------------------*/

static enum profile_status counted_status(const struct events_count *count)
{
	if (count->coverage >= 0.99)
		return PROFILE_COUNTED;
	return count->coverage > 0 ? PROFILE_SCALED : PROFILE_NOT_COUNTED;
}

static void put_sampled(struct sampler *sampler, uint32_t id, const struct ladder_event *event)
{
	const struct sampling *sampling = &sampler->config.sampling;
	struct events_count count;

	events_count(sampler->events, id, &count);
	aggregate_event(sampler->config.aggregate,
			&(struct profile_event){
				.id = id,
				.name = event->type->name,
				.unit = event->type->unit,
				.substituted_for = event->substituted_for,
				.reason = event->reason,
				.status = counted_status(&count),
				.value = count.value,
				.coverage = count.coverage,
				.frequency_hz = sampling->period
							? 0
							: sampling_rate_hz(event->type, sampling),
				.period = sampling->period,
				.precise = id == 0 ? sampler->ladder.limits.precise : 0,
			});
}

static void put_refused(struct sampler *sampler, uint32_t id, const struct ladder_event *event)
{
	aggregate_event(sampler->config.aggregate,
			&(struct profile_event){
				.id = id,
				.name = event->type->name,
				.unit = event->type->unit,
				.reason = event->reason,
				.status = event->state == LADDER_NOT_PERMITTED
						  ? PROFILE_NOT_PERMITTED
						  : PROFILE_NOT_SUPPORTED,
			});
}

/* The program's time on CPUs is counted beside the group, unless it is in there already. */
static void put_task_clock(struct sampler *sampler, uint32_t id)
{
	const struct event_type *clock = event_type_find("task-clock");
	struct events_count count;

	for (size_t i = 0; i < sampler->ladder.nr; i++)
		if (!strcmp(sampler->ladder.events[i].type->name, clock->name))
			return;
	events_count(sampler->events, sampler->events->nr_events, &count);
	aggregate_event(sampler->config.aggregate,
			&(struct profile_event){ .id = id,
						 .name = clock->name,
						 .unit = clock->unit,
						 .status = PROFILE_COUNTED,
						 .value = count.value,
						 .coverage = 1 });
}

static void put_events(struct sampler *sampler)
{
	const struct ladder *ladder = &sampler->ladder;

	for (uint32_t i = 0; i < ladder->nr; i++) {
		if (ladder->events[i].state == LADDER_SAMPLED)
			put_sampled(sampler, i, &ladder->events[i]);
		else
			put_refused(sampler, i, &ladder->events[i]);
	}
	put_task_clock(sampler, (uint32_t)ladder->nr);
}

/* --- reading ----------------------------------------------------------------------------------*/

enum source {
	SOURCE_SIDE,
	SOURCE_DATA,
};

/* The event of a record; -1: not one of the group. */
static int event_of(const struct sampler *sampler, const struct perf_event_header *header)
{
	return events_find(sampler->events, decode_id(header, header->size));
}

static int decode_entry(const struct sampler *sampler, enum source source,
			const struct perf_event_header *header, struct decoded *decoded)
{
	int event = source == SOURCE_DATA ? event_of(sampler, header) : -1;
	const struct perf_event_attr *attr =
		event < 0 ? &sampler->events->side_attr : &sampler->events->attrs[event];
	const struct decode_layout layout = { .sample_type = attr->sample_type,
					      .registers = attr->sample_regs_user };

	return decode(decoded, header, header->size, &layout);
}

static struct module *get_module(struct sampler *sampler, const struct decoded *decoded)
{
	const struct decoded_mmap *mmap = &decoded->mmap;

	return module_get(&sampler->modules, &(struct module_request){
						     .path = mmap->path,
						     .pid = decoded->pid,
						     .start = mmap->start,
						     .end = mmap->end,
						     .device_major = mmap->device_major,
						     .device_minor = mmap->device_minor,
						     .inode = mmap->inode,
						     .inode_generation = mmap->inode_generation,
						     .build_id = mmap->build_id,
						     .build_id_size = mmap->build_id_bytes,
					     });
}

/* What had to be asked while the process was still there, not in its turn. */
struct early {
	struct module *module;	   /* of a mapping */
	struct image_facts *facts; /* of an exec, or what could not be known until now */
};

static struct image_facts *read_facts(int32_t pid)
{
	struct image_facts *facts = xcalloc(1, sizeof(*facts));

	image_facts_read(facts, pid);
	return facts;
}

/* The arguments show only when the kernel is done with the exec, after it told of it. */
static struct image_facts *look_at_exec(struct sampler *sampler, int32_t pid)
{
	struct image_facts *facts = read_facts(pid);

	if (facts->arguments)
		map_remove(&sampler->awaited, (uint64_t)pid);
	else
		map_set(&sampler->awaited, (uint64_t)pid, 1);
	return facts;
}

static struct image_facts *look_again(struct sampler *sampler, int32_t pid)
{
	if (!map_find(&sampler->awaited, (uint64_t)pid))
		return NULL;
	return look_at_exec(sampler, pid);
}

static struct early *look_early(struct sampler *sampler, const struct decoded *decoded)
{
	bool is_exec = decoded->kind == DECODED_COMM && decoded->comm.is_exec;
	bool is_code = decoded->kind == DECODED_MMAP && decoded->mmap.executable;
	struct early *early;

	if (!is_exec && !is_code)
		return NULL;
	early = xcalloc(1, sizeof(*early));
	if (is_exec) {
		early->facts = look_at_exec(sampler, decoded->pid);
	} else {
		early->module = get_module(sampler, decoded);
		early->facts = look_again(sampler, decoded->pid);
	}
	return early;
}

static void early_free(struct early *early)
{
	if (!early)
		return;
	if (early->facts)
		image_facts_release(early->facts);
	free(early->facts);
	free(early);
}

static void read_ring(struct sampler *sampler, struct ring *ring, enum source source)
{
	const struct perf_event_header *header;

	while ((header = ring_next(ring))) {
		struct decoded decoded;
		struct merge_entry *entry;

		if (decode_entry(sampler, source, header, &decoded) < 0) {
			sampler->nr_damaged++;
			continue;
		}
		entry = merge_add(&sampler->merge, decoded.time_ns, header, header->size);
		entry->source = source;
		entry->context = look_early(sampler, &decoded);
	}
}

static void read_rings(struct sampler *sampler)
{
	merge_round(&sampler->merge, clock_now_ns());
	for (size_t i = 0; i < sampler->rings.nr; i++)
		read_ring(sampler, &sampler->rings.side[i], SOURCE_SIDE);
	for (size_t i = 0; i < sampler->rings.nr; i++)
		read_ring(sampler, &sampler->rings.data[i], SOURCE_DATA);
}

/* --- in order ---------------------------------------------------------------------------------*/

static void use_sample(struct sampler *sampler, const struct decoded *decoded,
		       const struct merge_entry *entry)
{
	int event = event_of(sampler, &entry->header);
	struct process *process;
	uint64_t weight;
	uint32_t thread;

	if (event < 0 || decoded->pid <= 0) /* of the idle task, or gone already */
		return;
	process = processes_at(sampler->processes, decoded->time_ns, decoded->pid);
	thread = processes_thread(sampler->processes, process, decoded->tid, decoded->time_ns);
	weight = sampling_period_is_fixed(&sampler->events->attrs[event])
			 ? sampler->events->attrs[event].sample_period
			 : decoded->sample.period;
	samples_add(sampler->samples, process, thread, decoded, (uint32_t)event, weight);
}

static void use_mapping(struct sampler *sampler, const struct decoded *decoded,
			const struct early *early)
{
	struct process *process;

	if (!early)
		return;
	process = processes_at(sampler->processes, decoded->time_ns, decoded->pid);
	space_map(&process->space, decoded->mmap.start, decoded->mmap.end, decoded->mmap.pgoff,
		  early->module);
	if (early->facts)
		processes_learn(sampler->processes, process, early->facts);
	/* The first code that is mapped is that of the program. */
	if (!process->has_executable)
		processes_learn(sampler->processes, process,
				&(struct image_facts){ .executable = early->module->path });
}

static void use_comm(struct sampler *sampler, const struct decoded *decoded,
		     const struct early *early)
{
	if (early)
		processes_exec(sampler->processes, decoded->time_ns, decoded->pid,
			       decoded->comm.name, early->facts);
	else
		processes_rename(sampler->processes, decoded->time_ns, decoded->pid, decoded->tid,
				 decoded->comm.name);
}

static void use_fork(struct sampler *sampler, const struct decoded *decoded)
{
	processes_fork(sampler->processes,
		       &(struct process_fork){ .time_ns = decoded->time_ns,
					       .pid = decoded->pid,
					       .tid = decoded->tid,
					       .parent_pid = decoded->task.parent_pid,
					       .parent_tid = decoded->task.parent_tid });
}

static void use_lost(struct sampler *sampler, const struct decoded *decoded, enum source source)
{
	aggregate_quality(sampler->config.aggregate, PROFILE_LOST,
			  source == SOURCE_DATA
				  ? PROFILE_LOST_SAMPLES
				  : "records of processes and mappings dropped by the kernel",
			  decoded->lost.nr);
}

static void use(struct sampler *sampler, const struct merge_entry *entry)
{
	struct decoded decoded;

	if (decode_entry(sampler, entry->source, &entry->header, &decoded) < 0)
		return;
	switch (decoded.kind) {
	case DECODED_SAMPLE:
		use_sample(sampler, &decoded, entry);
		break;
	case DECODED_MMAP:
		use_mapping(sampler, &decoded, entry->context);
		break;
	case DECODED_COMM:
		use_comm(sampler, &decoded, entry->context);
		break;
	case DECODED_FORK:
		use_fork(sampler, &decoded);
		break;
	case DECODED_EXIT:
		processes_exit(sampler->processes, decoded.time_ns, decoded.pid, decoded.tid);
		break;
	case DECODED_LOST:
		use_lost(sampler, &decoded, entry->source);
		break;
	case DECODED_THROTTLE:
		aggregate_quality(sampler->config.aggregate, PROFILE_THROTTLED,
				  "sampling paused by the kernel: too many interrupts", 1);
		break;
	case DECODED_UNTHROTTLE:
	case DECODED_OTHER:
		break;
	}
}

static void use_all(struct sampler *sampler)
{
	struct merge_entry *entry;

	while ((entry = merge_next(&sampler->merge))) {
		use(sampler, entry);
		early_free(entry->context);
		merge_entry_free(entry);
	}
	processes_passed(sampler->processes, sampler->merge.barrier);
}

static void count_now_and_then(struct sampler *sampler)
{
	uint64_t now = clock_now_ns();

	if (now - sampler->counted_ns < COUNT_EVERY_NS)
		return;
	sampler->counted_ns = now;
	put_events(sampler);
}

/* --- the thread -------------------------------------------------------------------------------*/

/* A ring whose processes are all gone would wake us for ever. */
static bool wait_for_records(struct sampler *sampler)
{
	const struct pollfd *stop = &sampler->polls[sampler->nr_polls - 1];

	poll(sampler->polls, sampler->nr_polls, ROUND_MS);
	for (size_t i = 0; i + 1 < sampler->nr_polls; i++)
		if (sampler->polls[i].revents & (POLLHUP | POLLERR))
			sampler->polls[i].fd = -1;
	return !(stop->revents & POLLIN);
}

static void *sampler_thread(void *context)
{
	struct sampler *sampler = context;

	while (wait_for_records(sampler)) {
		read_rings(sampler);
		use_all(sampler);
		count_now_and_then(sampler);
	}
	events_stop(sampler->events);
	read_rings(sampler);
	merge_end(&sampler->merge);
	use_all(sampler);
	put_events(sampler);
	return NULL;
}

int sampler_start(struct sampler *sampler, struct processes *processes, struct error *err)
{
	int error;

	sampler->processes = processes;
	put_events(sampler);
	error = pthread_create(&sampler->thread, NULL, sampler_thread, sampler);
	if (error)
		return error_errno(err, error, "start a thread");
	pthread_setname_np(sampler->thread, "cprof-rings");
	sampler->is_running = true;
	return 0;
}

static void tell_damaged(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.nr; i++)
		sampler->nr_damaged +=
			sampler->rings.side[i].damaged + sampler->rings.data[i].damaged;
	if (sampler->nr_damaged)
		aggregate_quality(sampler->config.aggregate, PROFILE_LOST,
				  "records of perf that make no sense", sampler->nr_damaged);
}

/* The kernel does so for the whole machine, and for good, when sampling takes it too long. */
static void tell_lowered_rate(struct sampler *sampler)
{
	struct access now;
	char *detail;

	access_read(&now);
	if (!now.max_rate || now.max_rate >= sampler->access.max_rate)
		return;
	detail = xasprintf("kernel.perf_event_max_sample_rate went from %u to %u meanwhile",
			   sampler->access.max_rate, now.max_rate);
	aggregate_quality(sampler->config.aggregate, PROFILE_THROTTLED, detail, 1);
	free(detail);
}

void sampler_finish(struct sampler *sampler)
{
	if (!sampler || !sampler->is_running)
		return;
	eventfd_write(sampler->stop_fd, 1);
	pthread_join(sampler->thread, NULL);
	sampler->is_running = false;
	tell_damaged(sampler);
	tell_lowered_rate(sampler);
	log_debug(LOG_RING, "%llu records, %llu late", (unsigned long long)sampler->merge.nr_added,
		  (unsigned long long)sampler->merge.nr_late);
}
