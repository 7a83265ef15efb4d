/* SPDX-License-Identifier: MIT */
#include "record/sides.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/endings.h"
#include "record/events/sampling.h"
#include "record/hellos.h"
#include "record/obstacle.h"
#include "record/target/launch.h"
#include "record/unaccounted.h"
#include "shim/wire.h"

void sides_say(const struct sides *sides, const struct error *error)
{
	if (sides->config->message)
		sides->config->message(sides->config->context, error->message, error->hint);
}

static void remark(const struct sides *sides, const struct error *error)
{
	if (sides->config->remark)
		sides->config->remark(sides->config->context, error->message, error->hint);
}

/* --- opening ----------------------------------------------------------------------------------*/

static struct sampling choose_sampling(const struct record_config *config)
{
	static const enum call_graph walks[] = {
		[RECORD_STACKS_AUTO] = CALL_GRAPH_STACKS,
		[RECORD_STACKS_DWARF] = CALL_GRAPH_STACKS,
		[RECORD_STACKS_FRAME_POINTERS] = CALL_GRAPH_FRAME_POINTERS,
		[RECORD_STACKS_NONE] = CALL_GRAPH_NONE,
	};

	return (struct sampling){
		.frequency_hz = config->frequency_hz ? config->frequency_hz : SAMPLING_FREQUENCY_HZ,
		.period = config->period,
		.call_graph = walks[config->call_graph],
		.stack_bytes = config->stack_bytes ? config->stack_bytes : SAMPLING_STACK_BYTES,
		.stack_is_fixed = config->stack_bytes,
		.attached = config->nr_attach,
		.delayed = config->delay_ns > 0,
		.no_inherit = config->no_inherit,
	};
}

static void tell_substitution(const struct sides *sides)
{
	if (sides->run->cpu_reason)
		aggregate_quality(sides->aggregate, PROFILE_SUBSTITUTED, sides->run->cpu_reason, 1);
}

/* Whether CPU time will do instead: not for what the kernel does. */
static bool may_substitute(const struct error *refused, const struct event_type *asked)
{
	return !asked->exclude_user &&
	       (refused->code == ERR_REFUSED || refused->code == ERR_UNSUPPORTED);
}

/* Neither can be had. */
static void add_refusal(struct error *perf, const struct error *ptrace)
{
	char *both, *hint;

	if (!perf->code) {
		*perf = *ptrace;
		return;
	}
	both = xasprintf("%s; and %s", perf->message, ptrace->message);
	hint = xstrdup(perf->hint);
	error_set(perf, perf->code, "%s", both);
	error_hint(perf, "%s", hint);
	free(hint);
	free(both);
}

static void note_common(const struct sides *sides, struct committer *committer,
			const struct sampling *sampling)
{
	static const char *const walks[] = { [CALL_GRAPH_NONE] = "none",
					     [CALL_GRAPH_FRAME_POINTERS] = "fp",
					     [CALL_GRAPH_STACKS] = "dwarf" };

	committer_meta(committer, "attached", xasprintf("%zu", sides->config->nr_attach));
	committer_meta(committer, "call_graph", xstrdup(walks[sampling->call_graph]));
	committer_meta(committer, "stack_bytes", xasprintf("%u", sampling->stack_bytes));
}

static void note_sampling(const struct sides *sides, struct committer *committer,
			  const struct sampling *sampling)
{
	struct sampler_facts facts = sampler_facts(sides->sampler);

	note_common(sides, committer, sampling);
	committer_meta(committer, "ring_bytes", xasprintf("%zu", facts.ring_bytes));
	committer_meta(committer, "perf_event_paranoid", xasprintf("%d", facts.paranoid));
}

static void say_lowered(const struct sides *sides, const char *lowered)
{
	struct error error = ERROR_INIT;

	if (!lowered)
		return;
	error_set(&error, ERR_UNSUPPORTED, "%s", lowered);
	remark(sides, &error);
}

/* Says why this and not what was asked for; the hint says what lifts that. */
static void say_substitution(const struct sides *sides)
{
	struct error said = ERROR_INIT;

	if (!stopper_reason(sides->stopper))
		return;
	error_set(&said, ERR_REFUSED, "%s", stopper_reason(sides->stopper));
	error_hint(&said, "%s", sides->perf_refused.hint);
	remark(sides, &said);
}

/* The last rung, or what was asked for. */
static void open_stopper(struct sides *sides, const struct sides_target *target)
{
	struct stopper_config stopper = {
		.events = target->events,
		.refused = sides->cpu_refused.code ? sides->perf_refused.message : NULL,
		.attach = target->attach->nr ? target->attach : NULL,
		.sampling = choose_sampling(sides->config),
		.shim = sides->config->shim,
		.aggregate = sides->aggregate,
	};
	struct error error = ERROR_INIT;

	sides->perf_refused = sides->cpu_refused;
	stopper.sampling.frequency_hz = sides->config->frequency_hz;
	if (stopper.sampling.call_graph == CALL_GRAPH_FRAME_POINTERS) /* the kernel's business */
		stopper.sampling.call_graph = CALL_GRAPH_STACKS;
	if (sides->cpu_refused.code &&
	    !may_substitute(&sides->cpu_refused, &target->events->at[0])) {
		sides->run->cpu_reason = sides->cpu_refused.message;
		return;
	}
	if (stopper_open(&sides->stopper, &stopper, target->pid, &error) < 0) {
		add_refusal(&sides->cpu_refused, &error);
		sides->run->cpu_reason = sides->cpu_refused.message;
		return;
	}
	sides->cpu_refused = (struct error)ERROR_INIT;
	note_common(sides, target->committer, &stopper.sampling);
	sides->run->cpu_on = true;
	sides->run->cpu_reason = stopper_reason(sides->stopper);
	tell_substitution(sides);
	say_substitution(sides);
	say_lowered(sides, stopper_lowered(sides->stopper));
}

void sides_open_cpu(struct sides *sides, const struct sides_target *target)
{
	const struct record_config *config = sides->config;
	const struct sampler_config sampler = {
		.events = target->events,
		.attach = target->attach->nr ? target->attach : NULL,
		.sampling = choose_sampling(config),
		.shim = config->shim,
		.aggregate = sides->aggregate,
	};

	if (config->cpu == RECORD_OFF) {
		sides->run->cpu_reason = "not asked for (--cpu=off)";
		return;
	}
	if (event_type_is_stops(&target->events->at[0]) ||
	    sampler_open(&sides->sampler, &sampler, target->pid, &sides->cpu_refused) < 0) {
		open_stopper(sides, target);
		return;
	}
	sides->run->cpu_on = true;
	sides->run->cpu_reason = sampler_reason(sides->sampler);
	sides->run->user_only = sampler_user_only(sides->sampler);
	tell_substitution(sides);
	note_sampling(sides, target->committer, &sampler.sampling);
	say_lowered(sides, sampler_facts(sides->sampler).lowered);
}

/* Why the shim cannot be preloaded; NULL: it can. */
static const char *shim_problem(const char *shim, struct error *err)
{
	if (!shim) {
		error_set(err, ERR_UNSUPPORTED, "libcprof-heap.so was not found");
		error_hint(err, "it belongs beside cprof, or into " CPROF_LIBDIR);
		return err->message;
	}
	/* LD_PRELOAD has no way to quote. */
	if (strpbrk(shim, " :")) {
		error_set(err, ERR_UNSUPPORTED,
			  "%s cannot be preloaded: there is a space or colon in its path", shim);
		error_hint(err, "install cprof in another folder");
		return err->message;
	}
	return NULL;
}

static uint32_t image_of(void *context, const struct heap_hello *hello, bool at_last)
{
	const struct sides *sides = context;
	const struct process_hello process = { .pid = hello->pid,
					       .parent_pid = hello->parent_pid,
					       .is_forked = hello->is_forked,
					       .time_ns = hello->time_ns,
					       .executable = hello->executable,
					       .arguments = hello->arguments,
					       .nr_arguments = hello->nr_arguments };

	return hellos_match(sides->images, &process, at_last);
}

static void image_untracked(void *context, uint32_t process, const char *reason)
{
	unaccounted_heap(((const struct sides *)context)->images, process, reason);
}

static void image_ended(void *context, uint32_t process, uint64_t time_ns)
{
	endings_image(((const struct sides *)context)->images, process, time_ns);
}

static void process_ended_as(void *context, int32_t pid, uint64_t time_ns, int wait_status)
{
	endings_tell(((const struct sides *)context)->images, pid, time_ns, wait_status);
}

/* The CPU side may find out by itself: perf's records do, a look at /proc now and then may. */
static void process_executed(void *context, const struct heap_exec *exec)
{
	const struct sides *sides = context;
	const struct process_exec process = { exec->pid, exec->by_pid, exec->time_ns,
					      exec->by_said_ns };
	struct process_image *image = hellos_executed(sides->images, &process);
	struct image_facts facts;

	if (exec->is_filtered)
		unaccounted_filtered(sides->images, exec->pid, exec->time_ns);
	if (!image)
		return;
	image_facts_find(&facts, &(struct image_told){ exec->pid, exec->by_pid, exec->path },
			 sides->config->shim);
	images_learn(sides->images, image, &facts);
	image_facts_release(&facts);
}

static int open_collector(struct sides *sides, struct environment *environment, struct error *err)
{
	static const enum wire_mode modes[] = { [RECORD_HEAP_EXACT] = WIRE_MODE_EXACT,
						[RECORD_HEAP_SAMPLE] = WIRE_MODE_SAMPLE,
						[RECORD_HEAP_COUNTS] = WIRE_MODE_COUNTS };
	const struct heap_collector_config collector = {
		.aggregate = sides->aggregate,
		.mode = modes[sides->config->heap_mode],
		.sample_bytes = sides->config->heap_sample_bytes,
		.context = sides,
		.image_of = image_of,
		.untracked = image_untracked,
		.ended = image_ended,
		.executed = process_executed,
		.ended_as = process_ended_as,
	};
	const char *shim = sides->config->shim;

	if (shim_problem(shim, err))
		return err->code;
	if (heap_collector_open(&sides->collector, &collector, err) < 0)
		return err->code;
	environment_prepend(environment, "LD_PRELOAD", shim, ':');
	environment_prepend(environment, WIRE_ASAN_ENV, WIRE_ASAN_OPTIONS, ':');
	environment_set(environment, WIRE_ENV, heap_collector_variable(sides->collector));
	return 0;
}

/* Its own heap is what was asked for, whatever it will execute. */
static int check_program(const struct sides *sides, struct error *err)
{
	const char *program = sides->config->arguments[0];
	char *path = sides->config->heap == RECORD_REQUIRED ? launch_find_elf(program) : NULL;
	const char *reason = path ? obstacle_find_in(path) : NULL;

	free(path);
	if (!reason)
		return 0;
	error_set(err, ERR_UNSUPPORTED, "%s: %s", program, reason);
	return error_hint(
		err,
		"without --heap it is run, and the heap of programs that it starts is accounted");
}

void sides_open_heap(struct sides *sides, struct environment *environment)
{
	if (sides->config->heap == RECORD_OFF) {
		sides->run->heap_reason = "not asked for (--heap=off)";
		return;
	}
	if (sides->config->nr_attach) {
		sides->run->heap_reason = "attached to (-p): the heap of a process can only be "
					  "accounted from its start";
		return;
	}
	if (check_program(sides, &sides->heap_refused) < 0 ||
	    open_collector(sides, environment, &sides->heap_refused) < 0)
		sides->run->heap_reason = sides->heap_refused.message;
}

static size_t take_faults(void *context, struct fault *to, size_t room)
{
	const struct sides *sides = context;

	return faults_take(sides->faults, to, room);
}

void sides_open_faults(struct sides *sides, pid_t pid)
{
	struct error error = ERROR_INIT;

	if (!sides->config->page_faults || !sides->collector)
		return;
	if (faults_open(&sides->faults, pid, !sides->config->no_inherit, &error) < 0) {
		error_prefix(&error, "no page faults");
		sides_say(sides, &error);
		aggregate_quality(sides->aggregate, PROFILE_SUBSTITUTED, error.message, 1);
		return;
	}
	heap_collector_take_faults(sides->collector, take_faults);
}

/* Those that are missing. */
static void tell_faults(const struct sides *sides)
{
	if (!sides->faults)
		return;
	if (faults_lost(sides->faults))
		aggregate_quality(sides->aggregate, PROFILE_LOST,
				  "page faults dropped by the kernel: the ring was full",
				  faults_lost(sides->faults));
	if (faults_user_only(sides->faults))
		aggregate_quality(sides->aggregate, PROFILE_SUBSTITUTED,
				  "page faults of system calls on the program's memory are not "
				  "counted: perf_event_paranoid forbids it",
				  1);
}

static int refuse(const struct error *refused, const char *what, struct error *err)
{
	*err = *refused;
	return error_prefix(err, "%s", what);
}

int sides_judge(const struct sides *sides, struct error *err)
{
	static const char no_cpu[] = "no CPU samples", no_heap[] = "no heap figures";
	const struct record_config *config = sides->config;
	bool cpu_refused = sides->cpu_refused.code, heap_refused = sides->heap_refused.code;
	struct error said;

	if (heap_refused && !sides_has_cpu(sides) && !cpu_refused)
		return refuse(&sides->heap_refused, no_heap, err);
	if (heap_refused && config->heap == RECORD_REQUIRED)
		return refuse(&sides->heap_refused, no_heap, err);
	if (heap_refused) {
		refuse(&sides->heap_refused, no_heap, &said);
		sides_say(sides, &said);
	}
	if (cpu_refused && (config->cpu == RECORD_REQUIRED || !sides->collector))
		return refuse(&sides->cpu_refused, no_cpu, err);
	if (cpu_refused) {
		refuse(&sides->cpu_refused, no_cpu, &said);
		sides_say(sides, &said);
	}
	return 0;
}

/* --- running ----------------------------------------------------------------------------------*/

static void hear(void *context)
{
	heap_collector_catch_up(context);
}

int sides_start(struct sides *sides, struct images *images, struct processes *processes,
		uint64_t start_ns, struct error *err)
{
	int ret = 0;

	sides->images = images;
	if (sides->sampler)
		ret = sampler_start(sides->sampler, processes, (int64_t)start_ns, err);
	if (sides->stopper)
		stopper_start(sides->stopper, processes, (int64_t)start_ns);
	if (ret >= 0 && sides->collector)
		ret = heap_collector_start(sides->collector, start_ns, err);
	if (ret >= 0 && sides->collector && sides->stopper)
		images_hear_by(images, hear, sides->collector);
	return ret;
}

static void run_stopper(const struct sides *sides)
{
	struct error error = ERROR_INIT;

	if (!sides->stopper || stopper_run(sides->stopper, &error) >= 0)
		return;
	error_prefix(&error, "no CPU samples");
	sides_say(sides, &error);
}

void sides_watch(struct sides *sides, uint64_t start_ns)
{
	struct error error = ERROR_INIT;

	run_stopper(sides);
	if (memory_start(&sides->memory, sides->aggregate, sides->images, start_ns, &error) >= 0)
		return;
	error_prefix(&error, "no memory over time");
	sides_say(sides, &error);
}

void sides_gather(void *context)
{
	const struct sides *sides = context;

	if (sides->collector)
		heap_collector_push(sides->collector);
}

void sides_begin(struct sides *sides)
{
	if (sides->sampler)
		sampler_begin(sides->sampler);
	if (sides->stopper)
		stopper_begin(sides->stopper);
}

void sides_stop(struct sides *sides)
{
	sampler_finish(sides->sampler);
	stopper_finish(sides->stopper);
	if (sides->collector)
		heap_collector_finish(sides->collector);
	tell_faults(sides);
	faults_close(sides->faults);
	sides->faults = NULL;
	memory_finish(sides->memory);
	sides->memory = NULL;
}

void sides_release(struct sides *sides)
{
	heap_collector_free(sides->collector);
	faults_close(sides->faults);
	sampler_finish(sides->sampler);
	sampler_close(sides->sampler);
	stopper_finish(sides->stopper);
	stopper_close(sides->stopper);
}

bool sides_has_cpu(const struct sides *sides)
{
	return sides->sampler || sides->stopper;
}

int sides_module_fd(const struct sides *sides, uint32_t profile_module)
{
	int fd = -1;

	if (sides->sampler)
		fd = sampler_module_fd(sides->sampler, profile_module);
	if (sides->stopper)
		fd = stopper_module_fd(sides->stopper, profile_module);
	if (fd < 0 && sides->collector)
		fd = heap_collector_module_fd(sides->collector, profile_module);
	return fd;
}
