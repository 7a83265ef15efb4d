/* SPDX-License-Identifier: MIT */
#include "record/stopper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/vec.h"
#include "record/attached.h"
#include "record/image_facts.h"
#include "record/mappings.h"
#include "record/samples.h"
#include "record/stops/group.h"
#include "record/stops/stops.h"

enum {
	FREQUENCY_HZ = 100,
	FREQUENCY_MAX_HZ = 500,
	STACK_WIDE_BYTES = 256 * 1024,
	SPINS = 16,	/* looks for a thread that stops at once, as most that run on a CPU do */
	OWN_SHARE = 20, /* of our own CPU time at most one in so many parts */
};

#define MS UINT64_C(1000000)
static const uint64_t remap_again_ns = 50 * MS, remap_latest_ns = 1000 * MS;
static const uint64_t put_every_ns = 1000 * MS;

struct stopper {
	struct stopper_config config;
	struct stops stops;
	struct modules modules;
	struct samples *samples;
	struct processes *processes;
	char *reason, *lowered;
	uint64_t period_ns;
	uint64_t random;

	VEC(struct group *) groups;
	struct map by_pid; /* to struct group */
	struct map by_tid; /* to struct group_thread */
	uint8_t *stack;	   /* of the sample at hand */
	uint64_t sampled_ns, put_ns;

	pthread_t thread;
	bool is_running;
	int wake_fd; /* an eventfd */
	atomic_bool is_sampling, is_over;
};

/* --- events -----------------------------------------------------------------------------------*/

static void put_missing(const struct stopper *stopper, uint32_t id, const struct event_type *type)
{
	aggregate_event(stopper->config.aggregate,
			&(struct profile_event){ .id = id,
						 .name = type->name,
						 .unit = type->unit,
						 .reason = stopper->config.refused,
						 .status = PROFILE_NOT_PERMITTED });
}

static void put_events(const struct stopper *stopper)
{
	const struct event_types *events = stopper->config.events;

	aggregate_event(stopper->config.aggregate,
			&(struct profile_event){
				.id = 0,
				.name = "cpu-time",
				.unit = "ns",
				.substituted_for = events->at[0].name,
				.reason = stopper->reason,
				.status = PROFILE_COUNTED,
				.value = (double)stopper->sampled_ns,
				.coverage = 1,
				.frequency_hz = stopper->config.sampling.frequency_hz,
			});
	for (size_t i = 0; i < events->nr; i++)
		put_missing(stopper, (uint32_t)i + 1, &events->at[i]);
}

static void put_now_and_then(struct stopper *stopper, uint64_t now_ns)
{
	if (now_ns - stopper->put_ns < put_every_ns)
		return;
	stopper->put_ns = now_ns;
	put_events(stopper);
}

/* --- processes and threads --------------------------------------------------------------------*/

static struct group *find_group(const struct stopper *stopper, pid_t pid)
{
	const uint64_t *found = map_find(&stopper->by_pid, (uint64_t)pid);

	return found ? (struct group *)(uintptr_t)*found : NULL;
}

static struct group *follow(struct stopper *stopper, pid_t pid)
{
	struct group *group = group_new(pid);

	vec_push(&stopper->groups, group);
	map_set(&stopper->by_pid, (uint64_t)pid, (uintptr_t)group);
	return group;
}

static void forget_thread(struct stopper *stopper, struct group_thread *thread)
{
	const uint64_t *found = map_find(&stopper->by_tid, (uint64_t)thread->task.tid);

	if (found && *found == (uintptr_t)thread)
		map_remove(&stopper->by_tid, (uint64_t)thread->task.tid);
	group_remove(thread->group, thread);
}

static void end_thread(struct stopper *stopper, struct group_thread *thread)
{
	processes_exit(stopper->processes, clock_now_ns(), thread->task.pid, thread->task.tid);
	forget_thread(stopper, thread);
}

static void end_group(struct stopper *stopper, size_t index)
{
	struct group *group = stopper->groups.at[index];

	while (group->threads.nr)
		end_thread(stopper, *vec_last(&group->threads));
	map_remove(&stopper->by_pid, (uint64_t)group->pid);
	stopper->groups.at[index] = *vec_last(&stopper->groups);
	stopper->groups.nr--;
	group_free(group);
}

static void read_mappings(struct stopper *stopper, struct group *group, struct process *process)
{
	group->mapped_ns = clock_now_ns();
	mappings_read(&process->space, group->pid, &stopper->modules);
}

/* For samples.h. */
static bool remap(void *context, struct process *process)
{
	struct stopper *stopper = context;
	struct group *group = find_group(stopper, process->pid);
	size_t nr = process->space.nr;

	if (!group || clock_now_ns() - group->fruitless_ns < remap_again_ns)
		return false;
	read_mappings(stopper, group, process);
	if (process->space.nr == nr)
		group->fruitless_ns = group->mapped_ns;
	return true;
}

/* An exec ends all threads but one, which gets the pid as its tid. */
static void forget_former_threads(struct stopper *stopper, const struct group_thread *but)
{
	struct group *group = but->group;

	for (size_t i = group->threads.nr; i--;)
		if (group->threads.at[i] != but && group->threads.at[i]->task.tid != group->pid)
			forget_thread(stopper, group->threads.at[i]);
	group->nr_listed = 0;
}

static void use_exec(struct stopper *stopper, const struct group_thread *thread,
		     const struct task_look *look)
{
	struct group *group = thread->group;
	uint64_t now = clock_now_ns();
	struct image_facts facts;

	group->program = look->program;
	image_facts_read(&facts, group->pid, stopper->config.shim);
	processes_exec(stopper->processes, now, group->pid, look->name, &facts);
	image_facts_release(&facts);
	forget_former_threads(stopper, thread);
	read_mappings(stopper, group, processes_at(stopper->processes, now, group->pid));
}

static void use_look(struct stopper *stopper, struct group_thread *thread,
		     const struct task_look *look)
{
	if (look->program && look->program != thread->group->program)
		use_exec(stopper, thread, look);
	if (!strcmp(thread->name, look->name))
		return;
	memcpy(thread->name, look->name, sizeof(thread->name));
	processes_rename(stopper->processes, clock_now_ns(), thread->task.pid, thread->task.tid,
			 look->name);
}

static void use_fork(struct stopper *stopper, const struct group_thread *parent, pid_t pid)
{
	if (map_find(&stopper->by_pid, (uint64_t)pid))
		return;
	processes_fork(stopper->processes,
		       &(struct process_fork){ .time_ns = clock_now_ns(),
					       .pid = pid,
					       .tid = pid,
					       .parent_pid = parent->task.pid,
					       .parent_tid = parent->task.tid });
	follow(stopper, pid)->program = parent->group->program;
}

static void look_for_children(struct stopper *stopper, const struct group_thread *thread)
{
	struct task_pids children = { 0 };

	if (stopper->config.sampling.no_inherit)
		return;
	task_children(&thread->task, &children);
	vec_each(&children, pid) use_fork(stopper, thread, *pid);
	vec_free(&children);
}

/* --- samples ----------------------------------------------------------------------------------*/

/* Of all stopped at that moment: copied while it is, walked when it goes on. */
struct sight {
	struct stop_registers registers;
	struct task_look look;
	uint64_t used_ns, time_ns;
	size_t stack_bytes, asked_bytes;
};

static size_t copy_stack(struct stopper *stopper, pid_t tid, uint64_t sp, size_t size)
{
	struct iovec to = { stopper->stack, size }, from = { (void *)(uintptr_t)sp, size };
	ssize_t nr = process_vm_readv(tid, &to, 1, &from, 1, 0);

	return nr < 0 ? 0 : (size_t)nr;
}

static bool see(struct stopper *stopper, const struct stop *stop, const struct group_thread *thread,
		struct sight *sight)
{
	const struct sampling *sampling = &stopper->config.sampling;

	sight->time_ns = clock_now_ns();
	sight->asked_bytes =
		samples_width(stopper->samples)->is_wide ? STACK_WIDE_BYTES : sampling->stack_bytes;
	if (stop_read(stop, &sight->registers) < 0 ||
	    task_used(&thread->task, &sight->used_ns) < 0 ||
	    task_look(&thread->task, &sight->look) < 0)
		return false;
	if (sampling->call_graph != CALL_GRAPH_NONE && !sight->registers.is_32_bit)
		sight->stack_bytes =
			copy_stack(stopper, stop->tid, sight->registers.sp, sight->asked_bytes);
	return true;
}

/*
 * Of a thread that is met for the first time, the time since the last look that found it would be
 * too little: of those that live for less than that, most are never met.
 */
static uint64_t charge(const struct stopper *stopper, struct group_thread *thread, uint64_t used_ns)
{
	uint64_t weight = used_ns - thread->charged_ns;

	if (thread->is_new && weight < stopper->period_ns)
		weight = stopper->period_ns;
	thread->charged_ns = used_ns;
	thread->is_new = false;
	return weight;
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
	struct process *process = processes_at(stopper->processes, sight->time_ns, pid);
	uint64_t weight;

	if (sight->used_ns <= thread->charged_ns)
		return;
	if (sight->time_ns - thread->group->mapped_ns > remap_latest_ns)
		read_mappings(stopper, thread->group, process);
	weight = charge(stopper, thread, sight->used_ns);
	stopper->sampled_ns += weight;
	samples_add(stopper->samples, process,
		    processes_thread(stopper->processes, process, tid, sight->time_ns), &decoded, 0,
		    weight);
}

static void take(struct stopper *stopper, const struct stop *stop)
{
	const uint64_t *found = map_find(&stopper->by_tid, (uint64_t)stop->tid);
	struct group_thread *thread = found ? (struct group_thread *)(uintptr_t)*found : NULL;
	struct sight sight = { 0 };
	bool seen = thread && see(stopper, stop, thread, &sight);

	stops_let_go(&stopper->stops, stop);
	if (!seen)
		return;
	use_look(stopper, thread, &sight.look);
	use_sight(stopper, thread, &sight);
}

/* One on a CPU stops within some microseconds; one that waits for a CPU when it gets one. */
static void ask(struct stopper *stopper, const struct group_thread *thread)
{
	struct stop stop;

	if (stops_ask(&stopper->stops, thread->task.tid) < 0)
		return;
	for (int i = 0; i < SPINS; i++) {
		if (stops_next(&stopper->stops, &stop)) {
			take(stopper, &stop);
			return;
		}
		sched_yield();
	}
}

/* --- a look at all ----------------------------------------------------------------------------*/

static void look_at_thread(struct stopper *stopper, struct group_thread *thread)
{
	struct task_look look;
	uint64_t used_ns;

	if (task_used(&thread->task, &used_ns) < 0) {
		end_thread(stopper, thread);
		return;
	}
	if (used_ns == thread->seen_ns)
		return;
	thread->seen_ns = used_ns;
	if (task_look(&thread->task, &look) < 0) {
		end_thread(stopper, thread);
		return;
	}
	use_look(stopper, thread, &look);
	look_for_children(stopper, thread);
	if (look.state == 'R' && stopper->is_sampling)
		ask(stopper, thread);
}

static void list_threads(struct stopper *stopper, struct group *group)
{
	size_t nr = group->threads.nr;

	group_list(group);
	for (; nr < group->threads.nr; nr++) {
		struct group_thread *thread = group->threads.at[nr];

		map_set(&stopper->by_tid, (uint64_t)thread->task.tid, (uintptr_t)thread);
	}
}

static void look_at_group(struct stopper *stopper, size_t index)
{
	struct group *group = stopper->groups.at[index];

	switch (group_look(group)) {
	case GROUP_ENDED:
		end_group(stopper, index);
		break;
	case GROUP_IDLE:
		break;
	case GROUP_BUSY:
		list_threads(stopper, group);
		for (size_t i = group->threads.nr; i--;)
			if (i < group->threads.nr)
				look_at_thread(stopper, group->threads.at[i]);
		break;
	}
}

/* Processes that are found meanwhile are at the end, where this begins to look again. */
static void look_at_all(struct stopper *stopper)
{
	for (size_t i = 0; i < stopper->groups.nr; i++)
		look_at_group(stopper, i);
}

/* --- the thread -------------------------------------------------------------------------------*/

/* xorshift: moments that no program can be in step with. */
static uint64_t next_random(struct stopper *stopper)
{
	stopper->random ^= stopper->random << 13;
	stopper->random ^= stopper->random >> 7;
	stopper->random ^= stopper->random << 17;
	return stopper->random;
}

/* Half the period to one and a half, and longer where a look takes long. */
static uint64_t pause_ns(struct stopper *stopper, uint64_t took_ns)
{
	uint64_t pause = stopper->period_ns / 2 + next_random(stopper) % stopper->period_ns;

	return pause > OWN_SHARE * took_ns ? pause : OWN_SHARE * took_ns;
}

static void rest(struct stopper *stopper, uint64_t until_ns)
{
	struct stop stop;

	while (!stopper->is_over && clock_now_ns() < until_ns)
		if (stops_wait(&stopper->stops, stopper->wake_fd, until_ns, &stop))
			take(stopper, &stop);
}

static void *stopper_thread(void *context)
{
	struct stopper *stopper = context;
	struct error error = ERROR_INIT;
	uint64_t used_ns = 0;
	pid_t child = stopper->config.attach ? 0 : stopper->groups.at[0]->pid;

	if (stops_open(&stopper->stops, child, &error) < 0)
		aggregate_quality(stopper->config.aggregate, PROFILE_LOST, error.message, 1);
	else
		while (!stopper->is_over) {
			rest(stopper, clock_now_ns() + pause_ns(stopper, used_ns));
			used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			look_at_all(stopper);
			used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
			put_now_and_then(stopper, clock_now_ns());
		}
	stops_close(&stopper->stops);
	put_events(stopper);
	return NULL;
}

/* --- its course -------------------------------------------------------------------------------*/

static void set_rate(struct stopper *stopper)
{
	struct sampling *sampling = &stopper->config.sampling;

	if (!sampling->frequency_hz)
		sampling->frequency_hz = FREQUENCY_HZ;
	if (sampling->frequency_hz > FREQUENCY_MAX_HZ) {
		if (sampling->frequency_hz != SAMPLING_HZ_MOST)
			stopper->lowered = xasprintf(
				"%u Hz lowered to %d: each sample of cpu-time stops a thread",
				sampling->frequency_hz, FREQUENCY_MAX_HZ);
		sampling->frequency_hz = FREQUENCY_MAX_HZ;
	}
	stopper->period_ns = 1000000000 / sampling->frequency_hz;
}

static int probe(const struct stopper *stopper, pid_t pid, struct error *err)
{
	const struct attach *attach = stopper->config.attach;
	int ret = 0;

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
	set_rate(stopper);
	stopper->reason =
		xasprintf("%s: sampled cpu-time by stopping threads (ptrace)", config->refused);
	if (!config->attach)
		follow(stopper, pid);
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
	vec_each(&stopper->groups, group) group_free(*group);
	vec_free(&stopper->groups);
	map_release(&stopper->by_pid);
	map_release(&stopper->by_tid);
	modules_release(&stopper->modules);
	if (stopper->wake_fd >= 0)
		close(stopper->wake_fd);
	free(stopper->stack);
	free(stopper->reason);
	free(stopper->lowered);
	free(stopper);
}

static void ignore_children(struct stopper *stopper, const struct group_thread *thread)
{
	struct task_pids children = { 0 };

	task_children(&thread->task, &children);
	vec_each(&children, pid) map_add(&stopper->by_pid, (uint64_t)*pid, NULL);
	vec_free(&children);
}

/* What they have used and started so far is not the recording's. */
static void begin_with(struct stopper *stopper, struct group *group)
{
	const bool is_attached = stopper->config.attach;
	struct task_look look;

	group_look(group);
	list_threads(stopper, group);
	vec_each(&group->threads, at)
	{
		struct group_thread *thread = *at;

		task_used(&thread->task, &thread->charged_ns);
		thread->is_new = !is_attached;
		/* That of a program which is still to be executed is none of them. */
		if (!is_attached)
			continue;
		ignore_children(stopper, thread);
		if (task_look(&thread->task, &look) >= 0)
			group->program = look.program;
	}
}

void stopper_start(struct stopper *stopper, struct processes *processes, int64_t start_ns)
{
	const struct stopper_config *config = &stopper->config;

	stopper->processes = processes;
	stopper->random = (uint64_t)start_ns | 1;
	stopper->samples = samples_new(&(struct samples_config){
		.aggregate = config->aggregate,
		.call_graph = config->sampling.call_graph == CALL_GRAPH_NONE ? CALL_GRAPH_NONE
									     : CALL_GRAPH_STACKS,
		.stack_bytes = config->sampling.stack_bytes,
		.shim = config->shim,
		.start_ns = start_ns,
		.remap = remap,
		.context = stopper,
	});
	for (size_t i = 0; config->attach && i < config->attach->nr; i++)
		follow(stopper, config->attach->at[i].pid);
	vec_each(&stopper->groups, group) begin_with(stopper, *group);
	if (config->attach)
		attached_tell(config->attach, &stopper->modules, processes, (uint64_t)start_ns);
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
