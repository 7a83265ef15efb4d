/* SPDX-License-Identifier: MIT */
#include "record/stopper.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/vec.h"
#include "record/attached.h"
#include "record/followed.h"
#include "record/peek.h"
#include "record/samples.h"
#include "record/stop_counters.h"
#include "record/stops/call_ends.h"
#include "record/stops/pace.h"
#include "record/stops/stops.h"

enum {
	FREQUENCY_HZ = 100,
	FREQUENCY_MAX_HZ = 500,
	STACK_WIDE_BYTES = 256 * 1024,
	UNMET_PERIODS = 20,
	LOST_NS = 50000, /* what we take to begin once we are awake */
	SPIN_NS = 60000, /* one that runs on a CPU stops within */
};

#define SECOND_NS UINT64_C(1000000000)
static const uint64_t remap_latest_ns = SECOND_NS;
static const uint64_t put_every_ns = SECOND_NS;

struct stopper {
	struct stopper_config config;
	struct stops stops;
	struct followed followed;
	struct samples *samples;
	char *reason, *lowered;
	uint32_t frequency_hz;
	struct pace pace;

	uint8_t *stack; /* of the sample at hand */
	uint64_t sampled_ns, put_ns;
	struct call_ends call_ends;
	uint64_t woken_ns;

	pthread_t thread;
	bool is_running;
	int wake_fd; /* an eventfd */
	atomic_bool is_sampling, is_over;
};

/* --- events -----------------------------------------------------------------------------------*/

static struct stop_counters counters_of(const struct stopper *stopper)
{
	return (struct stop_counters){ .aggregate = stopper->config.aggregate,
				       .asked = stopper->config.events,
				       .refused = stopper->config.refused,
				       .reason = stopper->reason,
				       .frequency_hz = stopper->frequency_hz };
}

static void put_events(const struct stopper *stopper)
{
	const struct stop_counters counters = counters_of(stopper);

	stop_counters_put(&counters, stopper->sampled_ns);
}

static void put_now_and_then(struct stopper *stopper, uint64_t now_ns)
{
	if (now_ns - stopper->put_ns < put_every_ns)
		return;
	stopper->put_ns = now_ns;
	put_events(stopper);
}

/* --- samples ----------------------------------------------------------------------------------*/

/* Of all stopped at that moment: copied while it is, walked when it goes on. */
struct sight {
	struct stop_registers registers;
	struct task_look look;
	struct task_use use;
	uint64_t time_ns;
	size_t stack_bytes, asked_bytes;
};

static bool see(struct stopper *stopper, const struct stop *stop, const struct group_thread *thread,
		struct sight *sight)
{
	const struct sampling *sampling = &stopper->config.sampling;

	sight->time_ns = clock_now_ns();
	sight->asked_bytes =
		samples_width(stopper->samples)->is_wide ? STACK_WIDE_BYTES : sampling->stack_bytes;

	if (stop_read(stop, &sight->registers) < 0 || task_used(&thread->task, &sight->use) < 0 ||
	    task_look(&thread->task, &sight->look) < 0)
		return false;
	if (sampling->call_graph != CALL_GRAPH_NONE && !sight->registers.is_32_bit)
		sight->stack_bytes =
			peek(stop->tid, sight->registers.sp, stopper->stack, sight->asked_bytes);
	return true;
}

/*
 * Of a thread that is met for the first time, the time since the last look that found it would be
 * too little: of those that live for less than that, most are never met.
 */
static uint64_t charge(const struct stopper *stopper, struct group_thread *thread, uint64_t used_ns)
{
	uint64_t weight = used_ns - thread->charged_ns;

	if (thread->is_new && weight < stopper->pace.period_ns)
		weight = stopper->pace.period_ns;
	thread->charged_ns = used_ns;
	thread->is_new = false;
	return weight;
}

/*
 * Whether it waited for a CPU since we woke up, not before: then the kernel's tick that woke us found
 * it running, and it lost its CPU to us there.
 */
static bool lost_its_cpu_to_us(const struct group_thread *thread, const struct sight *sight)
{
	uint64_t lost_ns = sight->time_ns - (sight->use.waited_ns - thread->use.waited_ns);

	return sight->use.turns == thread->use.turns + 1 && lost_ns + LOST_NS > thread->asked_ns &&
	       lost_ns < thread->asked_ns + LOST_NS;
}

/*
 * The kernel likes to take a CPU away at the end of a system call, so that a thread which waits for
 * one would be found there more often than it is there.  What counts is a thread that ran when we
 * woke up; but not to go on for long without any.
 */
static bool is_fair(const struct stopper *stopper, const struct group_thread *thread,
		    const struct sight *sight)
{
	if (sight->use.turns == thread->use.turns || lost_its_cpu_to_us(thread, sight))
		return true;
	if (sight->use.used_ns - thread->charged_ns < UNMET_PERIODS * stopper->pace.period_ns)
		return false;
	aggregate_quality(stopper->config.aggregate, PROFILE_BOUNDED,
			  "samples of threads that waited for a CPU, which is mostly at the end of "
			  "a system call",
			  1);
	return true;
}

static void tell_call_ends(const struct stopper *stopper)
{
	char *text = call_ends_text(&stopper->call_ends);

	if (text)
		aggregate_quality(stopper->config.aggregate, PROFILE_BOUNDED, text,
				  stopper->call_ends.nr_at_end);
	free(text);
}

static void use_sight(struct stopper *stopper, struct group_thread *thread,
		      const struct sight *sight)
{
	const pid_t pid = thread->task.pid, tid = thread->task.tid;
	const struct decoded decoded = {
		.kind = DECODED_SAMPLE,
		.time_ns = sight->time_ns,
		.pid = pid,
		.tid = tid,
		.sample = { .ip = sight->registers.pc,
			    .registers = sight->registers.words,
			    .is_32_bit = sight->registers.is_32_bit,
			    .stack = stopper->stack,
			    .stack_bytes = sight->stack_bytes,
			    .stack_cut = sight->stack_bytes == sight->asked_bytes },
	};
	struct process *process = processes_at(stopper->followed.processes, sight->time_ns, pid);
	uint64_t weight;

	if (sight->use.used_ns <= thread->charged_ns || !is_fair(stopper, thread, sight))
		return;
	if (sight->time_ns - thread->group->mapped_ns > remap_latest_ns)
		followed_map(&stopper->followed, thread->group, process);
	weight = charge(stopper, thread, sight->use.used_ns);
	stopper->sampled_ns += weight;
	call_ends_add(&stopper->call_ends, &thread->calls,
		      &(struct call_sample){ .at_end = sight->registers.ends_call,
					     .used_ns = weight,
					     .kernel_ns = sight->look.kernel_ns });
	samples_add(
		stopper->samples,
		&(struct samples_input){ .process = process,
					 .thread = processes_thread(stopper->followed.processes,
								    process, tid, sight->time_ns),
					 .decoded = &decoded,
					 .weight = weight });
}

static void take(struct stopper *stopper, const struct stop *stop)
{
	struct group_thread *thread = followed_thread(&stopper->followed, stop->tid);
	struct sight sight = { 0 };
	bool seen = thread && see(stopper, stop, thread, &sight);

	stops_let_go(&stopper->stops, stop);
	if (!seen)
		return;
	followed_use_look(&stopper->followed, thread, &sight.look);
	use_sight(stopper, thread, &sight);
}

static void tell_refused(const struct stopper *stopper, const struct group_thread *thread)
{
	bool is_traced = task_tracer(&thread->task);
	struct task_look look;
	char *detail;

	if (!is_traced && (task_look(&thread->task, &look) < 0 || look.state != 'R'))
		return; /* it has just ended */
	detail = xasprintf("samples of %s: %s", thread->name,
			   is_traced ? "another program traces it, as a debugger does"
				     : "ptrace is refused, as of set-user-ID programs");
	aggregate_quality(stopper->config.aggregate, PROFILE_LOST, detail, 1);
	free(detail);
}

/* One on a CPU stops within some microseconds; one that waits for a CPU when it gets one. */
static void ask(struct stopper *stopper, struct group_thread *thread)
{
	const pid_t tid = thread->task.tid;
	struct stop stop;
	int ret = stops_ask(&stopper->stops, tid);
	uint64_t until_ns;

	if (ret == -EPERM)
		tell_refused(stopper, thread);
	if (ret < 0)
		return;
	thread->asked_ns = stopper->woken_ns;
	until_ns = clock_now_ns() + SPIN_NS;
	do {
		if (stops_next(&stopper->stops, &stop)) {
			take(stopper, &stop);
			if (stop.tid == tid)
				return;
		}
	} while (clock_now_ns() < until_ns);
}

/* --- a look at all ----------------------------------------------------------------------------*/

/* Returns one of those that run, any of them as likely as another; 0: none does. */
static pid_t look_at_threads(struct stopper *stopper, struct group *group)
{
	uint64_t nr = 0;
	pid_t chosen = 0;

	for (size_t i = group->threads.nr; i--;) {
		struct group_thread *thread = i < group->threads.nr ? group->threads.at[i] : NULL;
		pid_t tid = thread ? thread->task.tid : 0;

		if (thread && followed_look(&stopper->followed, thread) &&
		    !(pace_random(&stopper->pace) % ++nr))
			chosen = tid;
	}
	return chosen;
}

/* Looking at others may have taken long, or ended it. */
static void sample_thread(struct stopper *stopper, pid_t tid)
{
	struct group_thread *thread = followed_thread(&stopper->followed, tid);

	if (!thread || task_used(&thread->task, &thread->use) < 0)
		return;
	ask(stopper, thread);
}

/* During the delay. */
static void charge_nobody(const struct group *group)
{
	vec_each(&group->threads, thread)
	{
		(*thread)->charged_ns = (*thread)->use.used_ns;
		(*thread)->is_new = false;
	}
}

static void look_at_group(struct stopper *stopper, size_t index, bool only_if_fired)
{
	struct group *group = stopper->followed.groups.at[index];
	enum group_state state = group_look(group);
	bool shall_sample;
	pid_t chosen;

	if (state == GROUP_ENDED) {
		followed_end(&stopper->followed, index);
		return;
	}
	if (state == GROUP_IDLE)
		return;
	shall_sample = stopper->is_sampling && group_has_fired(group);
	if (only_if_fired && !shall_sample)
		return;
	if (followed_list(&stopper->followed, group) == -EMFILE)
		aggregate_quality(stopper->config.aggregate, PROFILE_LOST,
				  "looks at threads: too many files are open (ulimit -n)", 1);
	chosen = look_at_threads(stopper, group);
	if (!stopper->is_sampling)
		charge_nobody(group);
	if (!shall_sample)
		return;
	sample_thread(stopper, chosen);
	group_arm(group, pace_pause_ns(&stopper->pace));
}

/* Processes that are found meanwhile are at the end, where this begins to look again. */
static void look_at_all(struct stopper *stopper, bool only_if_fired)
{
	stopper->woken_ns = clock_now_ns();
	for (size_t i = 0; i < stopper->followed.groups.nr; i++)
		look_at_group(stopper, i, only_if_fired);
}

/* --- the thread -------------------------------------------------------------------------------*/

static void rest(struct stopper *stopper, uint64_t until_ns)
{
	struct stop stop;

	while (!stopper->is_over && clock_now_ns() < until_ns) {
		if (stops_wait(&stopper->stops, stopper->wake_fd, until_ns, &stop))
			take(stopper, &stop);
		else
			look_at_all(stopper, true);
	}
}

/* Whoever pins the program to a CPU pins us, and does not mean to. */
static void leave_its_cpu(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static void *stopper_thread(void *context)
{
	struct stopper *stopper = context;
	struct error error = ERROR_INIT;
	pid_t child = stopper->config.attach ? 0 : stopper->followed.groups.at[0]->pid;

	leave_its_cpu();
	if (stops_open(&stopper->stops, child, &error) < 0)
		aggregate_quality(stopper->config.aggregate, PROFILE_LOST, error.message, 1);
	else
		while (!stopper->is_over) {
			rest(stopper, clock_now_ns() + pace_pause_ns(&stopper->pace));
			look_at_all(stopper, false);
			pace_limit(&stopper->pace, clock_now_ns(),
				   clock_ns(CLOCK_THREAD_CPUTIME_ID));
			put_now_and_then(stopper, clock_now_ns());
		}
	stops_close(&stopper->stops);
	put_events(stopper);
	tell_call_ends(stopper);
	return NULL;
}

/* --- its course -------------------------------------------------------------------------------*/

/* Of what was asked for; a period is one of cpu-time if that was. */
static uint64_t asked_hz(const struct stopper *stopper)
{
	const struct sampling *sampling = &stopper->config.sampling;

	if (sampling->period && !stopper->config.refused)
		return sampling->period < SECOND_NS ? SECOND_NS / sampling->period : 1;
	return !sampling->period && sampling->frequency_hz ? sampling->frequency_hz : FREQUENCY_HZ;
}

static char *lowered_text(const struct stopper *stopper, uint64_t hz)
{
	static const char why[] = "cpu-time stops the program for each sample";

	if (stopper->config.sampling.period && stopper->config.refused)
		return xasprintf("%d samples a second instead of one every %" PRIu64 " %s: %s",
				 FREQUENCY_HZ, stopper->config.sampling.period,
				 stopper->config.events->at[0].name, why);
	if (hz <= FREQUENCY_MAX_HZ || hz == SAMPLING_HZ_MOST)
		return NULL;
	return xasprintf("%" PRIu64 " Hz lowered to %d: %s", hz, FREQUENCY_MAX_HZ, why);
}

static void set_rate(struct stopper *stopper)
{
	uint64_t hz = asked_hz(stopper);

	stopper->lowered = lowered_text(stopper, hz);
	if (stopper->lowered)
		aggregate_quality(stopper->config.aggregate, PROFILE_SUBSTITUTED, stopper->lowered,
				  1);
	stopper->frequency_hz = (uint32_t)(hz < FREQUENCY_MAX_HZ ? hz : FREQUENCY_MAX_HZ);
	stopper->pace.period_ns = SECOND_NS / stopper->frequency_hz;
}

static char *reason_text(const struct stopper_config *config)
{
	const char *asked = config->events->at[0].name;

	if (!config->refused)
		return NULL;
	return xasprintf("%s: sampled cpu-time by stopping threads (ptrace); %s not available",
			 config->refused, strcmp(asked, "cycles") ? asked : "IPC");
}

static int probe(const struct stopper *stopper, pid_t pid, struct error *err)
{
	const struct attach *attach = stopper->config.attach;
	int ret = 0;

	if (!task_use_is_told())
		return error_set(err, ERR_UNSUPPORTED,
				 "this kernel does not tell the CPU time of threads "
				 "(CONFIG_SCHED_INFO)");
	if (!task_children_are_told())
		aggregate_quality(stopper->config.aggregate, PROFILE_LOST,
				  "processes that the program starts: this kernel does not tell of "
				  "them (CONFIG_PROC_CHILDREN)",
				  1);
	if (!attach)
		return stops_probe(pid, err);
	for (size_t i = 0; i < attach->nr && ret >= 0; i++)
		ret = stops_probe(attach->at[i].pid, err);
	return ret;
}

int stopper_open(struct stopper **result, const struct stopper_config *config, pid_t pid,
		 struct error *err)
{
	struct stopper *stopper = xcalloc(1, sizeof(*stopper));
	int ret;

	stopper->config = *config;
	stopper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	stopper->stack = xmalloc(STACK_WIDE_BYTES);
	stopper->followed.shim = config->shim;
	stopper->followed.is_attached = config->attach;
	stopper->followed.no_inherit = config->sampling.no_inherit;
	set_rate(stopper);
	stopper->reason = reason_text(config);
	if (!config->attach)
		followed_add(&stopper->followed, pid);
	ret = stopper->wake_fd < 0 ? error_errno(err, errno, "make an eventfd")
				   : probe(stopper, pid, err);
	if (ret < 0) {
		stopper_close(stopper);
		stopper = NULL;
	}
	*result = stopper;
	return ret;
}

void stopper_close(struct stopper *stopper)
{
	if (!stopper)
		return;
	samples_free(stopper->samples);
	followed_release(&stopper->followed);
	if (stopper->wake_fd >= 0)
		close(stopper->wake_fd);
	free(stopper->stack);
	free(stopper->reason);
	free(stopper->lowered);
	free(stopper);
}

void stopper_start(struct stopper *stopper, struct processes *processes, int64_t start_ns)
{
	const struct stopper_config *config = &stopper->config;

	stopper->followed.processes = processes;
	pace_begin(&stopper->pace, (uint64_t)start_ns);
	stopper->samples = samples_new(&(struct samples_config){
		.aggregate = config->aggregate,
		.call_graph = config->sampling.call_graph,
		.stack_bytes = config->sampling.stack_bytes,
		.shim = config->shim,
		.start_ns = start_ns,
		.remap = followed_remap,
		.context = &stopper->followed,
	});
	for (size_t i = 0; config->attach && i < config->attach->nr; i++)
		followed_add(&stopper->followed, config->attach->at[i].pid);
	vec_each(&stopper->followed.groups, group) followed_begin(&stopper->followed, *group);
	if (config->attach)
		attached_tell(config->attach, &stopper->followed.modules, processes,
			      (uint64_t)start_ns);
	atomic_store(&stopper->is_sampling, !config->sampling.delayed);
	put_events(stopper);
}

int stopper_run(struct stopper *stopper, struct error *err)
{
	int ret = thread_start(&stopper->thread, "cprof-stops", stopper_thread, stopper, err);

	stopper->is_running = ret >= 0;
	return ret;
}

void stopper_begin(struct stopper *stopper)
{
	atomic_store(&stopper->is_sampling, true);
}

void stopper_finish(struct stopper *stopper)
{
	if (!stopper || !stopper->is_running)
		return;
	atomic_store(&stopper->is_over, true);
	eventfd_write(stopper->wake_fd, 1);
	pthread_join(stopper->thread, NULL);
	stopper->is_running = false;
	samples_finish(stopper->samples);
}

void stopper_count(const struct stopper *stopper, uint64_t used_ns)
{
	const struct sampling *sampling = &stopper->config.sampling;
	const struct stop_counters counters = counters_of(stopper);

	if (!sampling->delayed && !sampling->no_inherit)
		stop_counters_put_used(&counters, used_ns);
}

const char *stopper_reason(const struct stopper *stopper)
{
	return stopper->reason;
}

const char *stopper_lowered(const struct stopper *stopper)
{
	return stopper->lowered;
}

int stopper_module_fd(const struct stopper *stopper, uint32_t profile_module)
{
	const struct module *module = samples_module(stopper->samples, profile_module);

	return module ? module->fd : -1;
}
