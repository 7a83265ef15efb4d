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
#include "base/thread.h"
#include "base/vec.h"
#include "record/attached.h"
#include "record/counters.h"
#include "record/events/cpus.h"
#include "record/events/events.h"
#include "record/events/ladder.h"
#include "record/events/perf_open.h"
#include "record/events/rate.h"
#include "record/feed.h"
#include "record/samples.h"
#include "record/stops/calm.h"

/* What may be added to the eventfd: each may be there at once. */
#define COMMAND_BEGIN UINT64_C(1)
#define COMMAND_STOP (UINT64_C(1) << 32)

enum {
	ROUND_MS = 20,
	AFTER_EXEC_MS = 1,
	COUNT_EVERY_NS = 250000000,
	CALM_TRIES = 2, /* each opens some events per thread and CPU */
	HALT_MOST_NS = 100000000,
};

struct sampler {
	struct sampler_config config;
	struct access access;
	struct ladder ladder;
	struct events *events;
	struct feed feed;
	struct attached attached;
	char *lowered;	  /* see sampler_facts() */
	bool begins_wide; /* see width.h */
	struct samples *samples;
	struct processes *processes;

	pthread_t thread;
	bool is_running;
	int command_fd; /* an eventfd */
	struct pollfd *polls;
	size_t nr_polls;
	uint64_t counted_ns;
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

static void tell_lowered(struct sampler *sampler, char *detail)
{
	if (!detail)
		return;
	aggregate_quality(sampler->config.aggregate, PROFILE_SUBSTITUTED, detail, 1);
	free(sampler->lowered);
	sampler->lowered = detail;
}

static void set_polls(struct sampler *sampler)
{
	const struct rings *rings = &sampler->feed.rings;
	size_t nr = 0;

	sampler->polls = xcalloc(RING_KINDS * rings->nr + 1, sizeof(*sampler->polls));
	sampler->polls[nr++] = (struct pollfd){ sampler->command_fd, POLLIN, 0 };
	for (size_t kind = 0; kind < RING_KINDS; kind++)
		for (size_t i = 0; i < rings->nr; i++)
			sampler->polls[nr++] = (struct pollfd){ rings->fds[kind][i], POLLIN, 0 };
	sampler->nr_polls = nr;
}

static uint64_t samples_per_second(const struct sampler *sampler)
{
	const struct ladder *ladder = &sampler->ladder;
	uint64_t rate = 0;

	for (size_t i = 0; i < ladder->nr_sampled; i++)
		rate += sampling_rate_hz(ladder->events[i].type, &sampler->config.sampling);
	return rate;
}

/* What happens in bursts would have the rest of a period on each side of the change. */
static bool samples_evenly(const struct ladder *ladder)
{
	for (size_t i = 0; i < ladder->nr_sampled; i++)
		if (event_type_is_software(ladder->events[i].type) &&
		    !event_type_is_clock(ladder->events[i].type))
			return false;
	return true;
}

/* For stacks deeper than what is copied at first. */
static void open_wide(struct sampler *sampler)
{
	const struct sampling *sampling = &sampler->config.sampling;
	uint32_t bytes =
		width_wide_bytes(sampling->stack_bytes, SAMPLING_WIDE_BYTES,
				 sampler->feed.rings.data_bytes, samples_per_second(sampler));

	if (sampling->call_graph != CALL_GRAPH_STACKS || !bytes)
		return;
	events_open_wide(sampler->events, bytes);
	sampler->begins_wide = bytes == SAMPLING_WIDE_BYTES && samples_evenly(&sampler->ladder);
}

static int open_first(struct sampler *sampler, pid_t pid, struct error *err)
{
	return events_open(&sampler->events, pid, &sampler->ladder, &sampler->config.sampling,
			   &sampler->access, err);
}

/* Of all events that are open by now. */
static int open_rings(struct sampler *sampler, struct error *err)
{
	int ret = feed_open(&sampler->feed, sampler->events,
			    sampler->config.attach ? NULL : sampler->config.shim, err);

	if (ret >= 0 && !sampler->config.sampling.stack_is_fixed)
		open_wide(sampler);
	return ret;
}

static int open_launched(struct sampler *sampler, pid_t pid, struct error *err)
{
	int ret = open_first(sampler, pid, err);

	return ret < 0 ? ret : open_rings(sampler, err);
}

static void close_all(void *context)
{
	struct sampler *sampler = context;

	feed_close(&sampler->feed);
	attached_release(&sampler->attached);
	events_close(sampler->events);
	sampler->events = NULL;
}

/* --- opening what runs already ----------------------------------------------------------------*/

static int open_threads(struct sampler *sampler, const struct attach_threads *threads,
			struct error *err)
{
	struct error error = ERROR_INIT;
	int ret = error_set(&error, -ESRCH, "the process has ended");

	for (size_t i = 0; i < threads->nr && ret == -ESRCH; i++)
		ret = open_first(sampler, threads->at[i], &error);
	if (ret >= 0)
		return attached_open_threads(&sampler->attached, threads, sampler->events, err);
	*err = error;
	return ret;
}

static int open_calm(void *context, const struct attach_threads *threads, struct error *err)
{
	struct sampler *sampler = context;
	int ret = open_threads(sampler, threads, err);

	return ret < 0 ? ret : open_rings(sampler, err);
}

static void tell_disturbed(const struct sampler *sampler, int nr, const struct error *why)
{
	char *detail = xasprintf("threads started while events were opened: some may be missing, "
				 "or count twice (not halted for it: %s)",
				 why->message);

	aggregate_quality(sampler->config.aggregate, PROFILE_BOUNDED, detail,
			  nr > 0 ? (uint64_t)nr : 1);
	free(detail);
}

static int open_disturbed(struct sampler *sampler, const struct error *why, struct error *err)
{
	struct attach_threads threads = { 0 };
	int ret, nr = 0;

	attach_all_threads(sampler->config.attach, &threads);
	ret = open_threads(sampler, &threads, err);
	if (ret >= 0)
		ret = nr = attached_open_others(&sampler->attached, sampler->config.attach,
						sampler->events, err);
	if (ret >= 0)
		ret = open_rings(sampler, err);
	if (ret >= 0)
		tell_disturbed(sampler, nr, why);
	vec_free(&threads);
	return ret;
}

static int open_attached(struct sampler *sampler, struct error *err)
{
	const struct calm calm = { .attach = sampler->config.attach,
				   .tries = CALM_TRIES,
				   .halt_most_ns = HALT_MOST_NS,
				   .context = sampler,
				   .open = open_calm,
				   .close = close_all };
	struct error why = ERROR_INIT;
	int ret = calm_open(&calm, &why, err);

	return ret ? ret : open_disturbed(sampler, &why, err);
}

/* --- opening all ------------------------------------------------------------------------------*/

static int open_all(struct sampler *sampler, pid_t pid, struct error *err)
{
	struct ladder_probe probe = { probe_open, probe_close, &pid };
	struct sampling *sampling = &sampler->config.sampling;
	uint32_t asked_hz = sampling->frequency_hz;
	int ret;

	if (sampler->config.attach)
		pid = sampler->config.attach->at[0].thread;
	access_read(&sampler->access);
	tell_lowered(sampler, rate_limit(sampling, sampler->access.max_rate));
	ret = ladder_climb(&sampler->ladder, sampler->config.events, sampling, &sampler->access,
			   &probe, err);
	if (ret >= 0)
		tell_lowered(sampler,
			     rate_clock_detail(sampling, sampler->ladder.events[0].type, asked_hz));
	if (ret >= 0 && sampler->config.attach)
		ret = open_attached(sampler, err);
	else if (ret >= 0)
		ret = open_launched(sampler, pid, err);
	if (ret >= 0 && sampler->command_fd < 0)
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
	sampler->command_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = open_all(sampler, pid, err);
	if (ret < 0) {
		sampler_close(sampler);
		sampler = NULL;
	}
	*result = sampler;
	return ret;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler)
		return;
	samples_free(sampler->samples);
	close_all(sampler);
	ladder_release(&sampler->ladder);
	if (sampler->command_fd >= 0)
		close(sampler->command_fd);
	free(sampler->polls);
	free(sampler->lowered);
	free(sampler);
}

struct sampler_facts sampler_facts(const struct sampler *sampler)
{
	return (struct sampler_facts){ .paranoid = sampler->access.paranoid,
				       .ring_bytes = sampler->feed.rings.data_bytes,
				       .lowered = sampler->lowered };
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

/* --- records ----------------------------------------------------------------------------------*/

static void use_sample(struct sampler *sampler, const struct feed_record *record)
{
	const struct decoded *decoded = &record->decoded;
	struct process *process;
	uint64_t weight;
	uint32_t thread;

	if (record->event < 0 || decoded->pid <= 0) /* of the idle task, or gone already */
		return;
	if (!attached_counts(&sampler->attached, sampler->events, record->root, decoded->tid))
		return;
	process = processes_at(sampler->processes, decoded->time_ns, decoded->pid);
	thread = processes_thread(sampler->processes, process, decoded->tid, decoded->time_ns);
	weight = sampling_period_is_fixed(&sampler->events->attrs[record->event])
			 ? sampler->events->attrs[record->event].sample_period
			 : decoded->sample.period;
	samples_add(sampler->samples, &(struct samples_input){ .process = process,
							       .thread = thread,
							       .decoded = decoded,
							       .rest = record->rest,
							       .event = (uint32_t)record->event,
							       .weight = weight });
}

static void use_mapping(struct sampler *sampler, const struct feed_record *record)
{
	const struct decoded *decoded = &record->decoded;
	struct process *process;

	if (!record->module)
		return;
	process = processes_at(sampler->processes, decoded->time_ns, decoded->pid);
	space_map(&process->space, decoded->mmap.start, decoded->mmap.end, decoded->mmap.pgoff,
		  record->module);
	if (record->facts)
		processes_learn(sampler->processes, process, record->facts);
	processes_map_code(sampler->processes, process, record->module->path);
}

static void use_comm(struct sampler *sampler, const struct feed_record *record)
{
	const struct decoded *decoded = &record->decoded;

	if (record->facts)
		processes_exec(sampler->processes, decoded->time_ns, decoded->pid,
			       decoded->comm.name, record->facts);
	else
		processes_rename(sampler->processes, decoded->time_ns, decoded->pid, decoded->tid,
				 decoded->comm.name);
}

static void use_fork(struct sampler *sampler, const struct decoded *decoded)
{
	if (sampler->config.sampling.no_inherit && decoded->pid != decoded->task.parent_pid)
		return;
	processes_fork(sampler->processes,
		       &(struct process_fork){ .time_ns = decoded->time_ns,
					       .pid = decoded->pid,
					       .tid = decoded->tid,
					       .parent_pid = decoded->task.parent_pid,
					       .parent_tid = decoded->task.parent_tid });
}

static void use_lost(struct sampler *sampler, const struct feed_record *record)
{
	if (record->is_data)
		width_lost(samples_width(sampler->samples), record->decoded.lost.nr);
	aggregate_quality(sampler->config.aggregate, PROFILE_LOST,
			  record->is_data
				  ? PROFILE_LOST_SAMPLES
				  : "records of processes and mappings dropped by the kernel",
			  record->decoded.lost.nr);
}

static void use(struct sampler *sampler, const struct feed_record *record)
{
	const struct decoded *decoded = &record->decoded;

	switch (decoded->kind) {
	case DECODED_SAMPLE:
		use_sample(sampler, record);
		break;
	case DECODED_MMAP:
		use_mapping(sampler, record);
		break;
	case DECODED_COMM:
		use_comm(sampler, record);
		break;
	case DECODED_FORK:
		use_fork(sampler, decoded);
		break;
	case DECODED_EXIT:
		attached_ended(&sampler->attached, decoded->tid);
		processes_exit(sampler->processes, decoded->time_ns, decoded->pid, decoded->tid);
		break;
	case DECODED_LOST:
		use_lost(sampler, record);
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
	const struct width *width = samples_width(sampler->samples);
	struct feed_record record;

	while (feed_next(&sampler->feed, &record)) {
		use(sampler, &record);
		events_widen(sampler->events, width->is_wide);
		sampler->feed.reads_rest = width_wants_rest(width);
		feed_make_room(&sampler->feed);
	}
	processes_passed(sampler->processes, feed_passed_ns(&sampler->feed));
}

static void put_counters(struct sampler *sampler)
{
	counters_put(&(struct counters){ .aggregate = sampler->config.aggregate,
					 .ladder = &sampler->ladder,
					 .events = sampler->events,
					 .sampling = &sampler->config.sampling });
}

static void count_now_and_then(struct sampler *sampler)
{
	uint64_t now = clock_now_ns();

	if (now - sampler->counted_ns < COUNT_EVERY_NS)
		return;
	sampler->counted_ns = now;
	put_counters(sampler);
}

/* --- the thread -------------------------------------------------------------------------------*/

/* False: stop. */
static bool wait_for_records(struct sampler *sampler)
{
	eventfd_t commands;

	/* Where programs are executed one after the other, to be woken by each record costs them
	 * as much as all else that perf does. */
	if (feed_sees_execs(&sampler->feed))
		poll(sampler->polls, 1, AFTER_EXEC_MS);
	else
		poll(sampler->polls, sampler->nr_polls, ROUND_MS);
	if (eventfd_read(sampler->command_fd, &commands) < 0)
		return true;
	if (commands & ~COMMAND_STOP)
		events_start(sampler->events);
	return commands < COMMAND_STOP;
}

static void *sampler_thread(void *context)
{
	struct sampler *sampler = context;

	thread_be_prompt();
	while (wait_for_records(sampler)) {
		feed_read(&sampler->feed);
		use_all(sampler);
		events_confirm(sampler->events);
		count_now_and_then(sampler);
	}
	events_stop(sampler->events);
	feed_read_last(&sampler->feed);
	use_all(sampler);
	put_counters(sampler);
	return NULL;
}

/* Mappings first: what is made from now on is told of, and may be told of twice. */
static void start_attached(struct sampler *sampler)
{
	events_start_side(sampler->events);
	attached_tell(sampler->config.attach, &sampler->feed.modules, sampler->processes,
		      clock_now_ns());
	if (!sampler->config.sampling.delayed)
		events_start(sampler->events);
}

void sampler_begin(struct sampler *sampler)
{
	eventfd_write(sampler->command_fd, COMMAND_BEGIN);
}

static struct samples *make_samples(const struct sampler *sampler, int64_t start_ns)
{
	const struct sampler_config *config = &sampler->config;

	return samples_new(&(struct samples_config){
		.aggregate = config->aggregate,
		.call_graph = config->sampling.call_graph,
		.stack_bytes = config->sampling.stack_bytes,
		.begins_wide = sampler->begins_wide,
		.shim = config->shim,
		.start_ns = start_ns,
	});
}

int sampler_start(struct sampler *sampler, struct processes *processes, int64_t start_ns,
		  struct error *err)
{
	int ret;

	sampler->processes = processes;
	sampler->samples = make_samples(sampler, start_ns);
	if (sampler->config.attach)
		start_attached(sampler);
	put_counters(sampler);
	ret = thread_start(&sampler->thread, "cprof-rings", sampler_thread, sampler, err);
	sampler->is_running = ret >= 0;
	return ret;
}

static void tell_damaged(struct sampler *sampler)
{
	uint64_t nr = feed_damaged(&sampler->feed);

	if (nr)
		aggregate_quality(sampler->config.aggregate, PROFILE_LOST,
				  "records of perf that make no sense", nr);
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
	eventfd_write(sampler->command_fd, COMMAND_STOP);
	pthread_join(sampler->thread, NULL);
	sampler->is_running = false;
	samples_finish(sampler->samples);
	tell_damaged(sampler);
	tell_lowered_rate(sampler);
	log_debug(LOG_RING, "%llu records, %llu late",
		  (unsigned long long)sampler->feed.merge.nr_added,
		  (unsigned long long)sampler->feed.merge.nr_late);
}
