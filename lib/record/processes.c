/* SPDX-License-Identifier: MIT */
#include "record/processes.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/map.h"
#include "base/vec.h"

struct image {
	struct profile_process row;
	bool over;
	int32_t said_parent_pid; /* by its hello; 0: nothing */
};

static const char not_loaded[] = "libcprof-heap.so was not loaded: LD_PRELOAD was taken out of its "
				 "environment, its loader ignores it, or it ended before that";

/* How a process ended. */
struct ending {
	int32_t pid;
	int wait_status;
	uint64_t time_ns;
};

struct processes {
	pthread_mutex_t lock; /* of images; the rest belongs to the thread of perf's records */
	struct aggregate *aggregate;
	int64_t start_ns;
	bool has_records;
	bool leave_running;
	uint64_t passed_ns;
	VEC(struct image *) images; /* in the order of their start */
	struct map by_pid;	    /* to struct process */
	VEC(struct process *) all;
	VEC(struct ending) endings; /* in the future of perf's records */
};

struct processes *processes_new(struct aggregate *aggregate, int64_t start_ns, bool has_records)
{
	struct processes *processes = xcalloc(1, sizeof(*processes));

	pthread_mutex_init(&processes->lock, NULL);
	processes->aggregate = aggregate;
	processes->start_ns = start_ns;
	processes->has_records = has_records;
	return processes;
}

/* --- strings that rows own --------------------------------------------------------------------*/

static char **copy_arguments(char *const *arguments, size_t nr)
{
	char **copy = xcalloc(nr + 1, sizeof(*copy));

	for (size_t i = 0; i < nr; i++)
		copy[i] = xstrdup(arguments[i]);
	return copy;
}

static void free_arguments(char **arguments, size_t nr)
{
	for (size_t i = 0; arguments && i < nr; i++)
		free(arguments[i]);
	free(arguments);
}

static void set_text(const char **place, const char *text)
{
	char *copy = text ? xstrdup(text) : NULL;

	free((char *)*place);
	*place = copy;
}

static void set_arguments(struct image *image, char *const *arguments, size_t nr)
{
	free_arguments((char **)image->row.arguments, image->row.nr_arguments);
	image->row.arguments = (const char *const *)copy_arguments(arguments, nr);
	image->row.nr_arguments = nr;
}

static void image_free(struct image *image)
{
	free_arguments((char **)image->row.arguments, image->row.nr_arguments);
	free((char *)image->row.executable);
	free((char *)image->row.untracked_reason);
	free(image);
}

static void process_free(struct process *process)
{
	for (size_t i = 0; i < process->nr_threads; i++)
		free((char *)process->threads[i].row.name);
	free(process->threads);
	free(process->name);
	space_release(&process->space);
	free(process);
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	vec_each(&processes->images, image) image_free(*image);
	vec_each(&processes->all, process) process_free(*process);
	vec_free(&processes->images);
	vec_free(&processes->all);
	vec_free(&processes->endings);
	map_release(&processes->by_pid);
	pthread_mutex_destroy(&processes->lock);
	free(processes);
}

/* --- images -----------------------------------------------------------------------------------*/

static int64_t to_us(const struct processes *processes, uint64_t time_ns)
{
	return ((int64_t)time_ns - processes->start_ns) / 1000;
}

/* Writes the row out as it is now. */
static void publish(struct processes *processes, struct image *image)
{
	image->row.id = aggregate_process(processes->aggregate, &image->row);
}

static struct image *image_add(struct processes *processes, int32_t pid, uint32_t number,
			       uint32_t parent, uint64_t time_ns)
{
	struct image *image = xcalloc(1, sizeof(*image));

	image->row = (struct profile_process){ .id = PROFILE_NONE,
					       .parent = parent,
					       .pid = pid,
					       .image = number,
					       .start_us = to_us(processes, time_ns),
					       .end_us = PROFILE_NO_TIME,
					       .exit_status = -1 };
	publish(processes, image);
	vec_push(&processes->images, image);
	return image;
}

static void image_end(struct processes *processes, struct image *image, uint64_t time_ns)
{
	if (image->over)
		return;
	image->over = true;
	image->row.end_us = to_us(processes, time_ns);
	publish(processes, image);
}

static void image_executes(struct processes *processes, struct image *image,
			   const struct image_facts *facts)
{
	image->row.executed = true;
	if (facts->executable)
		set_text(&image->row.executable, facts->executable);
	/* Of the program itself we know the arguments as they were given. */
	if (facts->arguments && !image->row.arguments)
		set_arguments(image, facts->arguments, facts->nr_arguments);
	if (facts->untracked_reason)
		set_text(&image->row.untracked_reason, facts->untracked_reason);
	publish(processes, image);
}

static void set_wait_status(struct image *image, int wait_status)
{
	image->row.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	image->row.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

/* The image that the pid ran then; the newest if there was one by then. */
static struct image *image_at(struct processes *processes, int32_t pid, int64_t time_us,
			      bool executed)
{
	for (size_t i = processes->images.nr; i--;) {
		struct image *image = processes->images.at[i];

		if (image->row.pid == pid && image->row.start_us <= time_us &&
		    (image->row.executed || !executed))
			return image;
	}
	return NULL;
}

/* --- processes and threads --------------------------------------------------------------------*/

static struct process *process_find(const struct processes *processes, int32_t pid)
{
	const uint64_t *found = map_find(&processes->by_pid, (uint64_t)pid);

	return found ? (struct process *)(uintptr_t)*found : NULL;
}

/* What had this pid before is history. */
static struct process *process_add(struct processes *processes, int32_t pid)
{
	struct process *process = xcalloc(1, sizeof(*process));
	struct process *former = process_find(processes, pid);

	if (former)
		space_clear(&former->space);
	process->pid = pid;
	vec_push(&processes->all, process);
	map_set(&processes->by_pid, (uint64_t)pid, (uintptr_t)process);
	return process;
}

static void process_runs(struct process *process, struct image *image)
{
	process->image = image;
	process->id = image->row.id;
	process->has_executable = true;
	process->nr_images++;
}

/* The newest: a tid is used again once its thread has ended. */
static struct process_thread *thread_find(struct process *process, int32_t tid)
{
	for (size_t i = process->nr_threads; i--;)
		if (process->threads[i].tid == tid)
			return &process->threads[i];
	return NULL;
}

static struct process_thread *thread_add(struct processes *processes, struct process *process,
					 int32_t tid, uint64_t time_ns)
{
	struct process_thread *thread;

	if (process->nr_threads == process->threads_room) {
		process->threads_room = process->threads_room ? 2 * process->threads_room : 4;
		process->threads = xreallocarray(process->threads, process->threads_room,
						 sizeof(*process->threads));
	}
	thread = &process->threads[process->nr_threads++];
	*thread = (struct process_thread){ .tid = tid,
					   .row = { .id = PROFILE_NONE,
						    .process = process->id,
						    .tid = tid,
						    .name = process->name ? xstrdup(process->name)
									  : NULL,
						    .start_us = to_us(processes, time_ns),
						    .end_us = PROFILE_NO_TIME } };
	thread->row.id = aggregate_thread(processes->aggregate, &thread->row);
	process->nr_live++;
	return thread;
}

static void thread_end(struct processes *processes, struct process *process,
		       struct process_thread *thread, uint64_t time_ns)
{
	if (thread->row.end_us != PROFILE_NO_TIME)
		return;
	thread->row.end_us = to_us(processes, time_ns);
	aggregate_thread(processes->aggregate, &thread->row);
	process->nr_live--;
}

static void end_all_threads(struct processes *processes, struct process *process, uint64_t time_ns)
{
	for (size_t i = 0; i < process->nr_threads; i++) {
		thread_end(processes, process, &process->threads[i], time_ns);
		free((char *)process->threads[i].row.name);
	}
	process->nr_threads = 0;
}

static void set_name(char **place, const char *name)
{
	free(*place);
	*place = name ? xstrdup(name) : NULL;
}

void processes_start(struct processes *processes, int32_t pid, char *const *arguments,
		     uint64_t time_ns)
{
	struct process *process;
	struct image *image;
	size_t nr = 0;

	while (arguments[nr])
		nr++;
	pthread_mutex_lock(&processes->lock);
	image = image_add(processes, pid, 0, PROFILE_NONE, time_ns);
	set_arguments(image, arguments, nr);
	publish(processes, image);
	process = process_add(processes, pid);
	process_runs(process, image);
	pthread_mutex_unlock(&processes->lock);
}

struct process *processes_attach(struct processes *processes, int32_t pid,
				 const struct image_facts *facts, uint64_t time_ns)
{
	struct process *process = process_add(processes, pid);

	pthread_mutex_lock(&processes->lock);
	process_runs(process, image_add(processes, pid, 0, PROFILE_NONE, time_ns));
	image_executes(processes, process->image, facts);
	pthread_mutex_unlock(&processes->lock);
	return process;
}

void processes_leave_running(struct processes *processes)
{
	processes->leave_running = true;
}

static void fork_process(struct processes *processes, const struct process_fork *fork)
{
	struct process *parent = processes_at(processes, fork->time_ns, fork->parent_pid);
	const struct process_thread *forker = thread_find(parent, fork->parent_tid);
	struct process *child = process_add(processes, fork->pid);

	pthread_mutex_lock(&processes->lock);
	process_runs(child, image_add(processes, fork->pid, 0, parent->id, fork->time_ns));
	if (parent->image->row.executable)
		set_text(&child->image->row.executable, parent->image->row.executable);
	if (parent->image->row.arguments)
		set_arguments(child->image, (char *const *)parent->image->row.arguments,
			      parent->image->row.nr_arguments);
	publish(processes, child->image);
	pthread_mutex_unlock(&processes->lock);

	set_name(&child->name, forker ? forker->row.name : parent->name);
	space_copy(&child->space, &parent->space);
}

void processes_fork(struct processes *processes, const struct process_fork *fork)
{
	const struct process_thread *thread;
	struct process *process;

	if (fork->pid != fork->parent_pid) {
		fork_process(processes, fork);
		return;
	}
	process = processes_at(processes, fork->time_ns, fork->pid);
	thread = thread_find(process, fork->tid);
	if (!thread || thread->row.end_us != PROFILE_NO_TIME)
		thread_add(processes, process, fork->tid, fork->time_ns);
}

void processes_exec(struct processes *processes, uint64_t time_ns, int32_t pid, const char *name,
		    const struct image_facts *facts)
{
	struct process *process = processes_at(processes, time_ns, pid);
	struct image *former = process->image;

	space_clear(&process->space);
	set_name(&process->name, name);
	end_all_threads(processes, process, time_ns);

	pthread_mutex_lock(&processes->lock);
	/* What was started for the purpose of executing this is this. */
	if (former->row.executed || former->row.id != 0) {
		former->row.replaced = true;
		image_end(processes, former, time_ns);
		process_runs(process, image_add(processes, pid, process->nr_images,
						former->row.parent, time_ns));
	}
	image_executes(processes, process->image, facts);
	process->has_executable = process->image->row.executable;
	pthread_mutex_unlock(&processes->lock);

	thread_add(processes, process, pid, time_ns);
}

void processes_learn(struct processes *processes, struct process *process,
		     const struct image_facts *facts)
{
	pthread_mutex_lock(&processes->lock);
	if (process->image->row.executed)
		image_executes(processes, process->image, facts);
	process->has_executable = process->image->row.executable;
	pthread_mutex_unlock(&processes->lock);
}

void processes_rename(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid,
		      const char *name)
{
	struct process *process = processes_at(processes, time_ns, pid);
	struct process_thread *thread = thread_find(process, tid);

	if (tid == pid)
		set_name(&process->name, name);
	if (!thread)
		thread = thread_add(processes, process, tid, time_ns);
	set_text(&thread->row.name, name);
	aggregate_thread(processes->aggregate, &thread->row);
}

void processes_exit(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid)
{
	struct process *process = process_find(processes, pid);
	struct process_thread *thread;

	if (!process)
		return;
	thread = thread_find(process, tid);
	if (!thread)
		thread = thread_add(processes, process, tid, time_ns);
	thread_end(processes, process, thread, time_ns);
	if (process->nr_live)
		return;

	pthread_mutex_lock(&processes->lock);
	image_end(processes, process->image, time_ns);
	pthread_mutex_unlock(&processes->lock);
}

struct process *processes_at(struct processes *processes, uint64_t time_ns, int32_t pid)
{
	struct process *process = process_find(processes, pid);

	if (process)
		return process;
	process = process_add(processes, pid);
	pthread_mutex_lock(&processes->lock);
	process_runs(process, image_add(processes, pid, 0, PROFILE_NONE, time_ns));
	pthread_mutex_unlock(&processes->lock);
	return process;
}

uint32_t processes_thread(struct processes *processes, struct process *process, int32_t tid,
			  uint64_t time_ns)
{
	struct process_thread *thread = thread_find(process, tid);

	if (!thread)
		thread = thread_add(processes, process, tid, time_ns);
	return thread->row.id;
}

/* Its hello may have come already, and takes the reason away when it comes. */
void processes_executed(struct processes *processes, const struct image_facts *facts)
{
	struct image *image;

	pthread_mutex_lock(&processes->lock);
	image = processes->images.at[0];
	if (!image->row.executed) {
		set_text(&image->row.executable, facts->executable);
		set_text(&image->row.untracked_reason,
			 facts->untracked_reason ? facts->untracked_reason : not_loaded);
		publish(processes, image);
	}
	pthread_mutex_unlock(&processes->lock);
}

/* --- the heap side ----------------------------------------------------------------------------*/

/* The newest image, for better or worse: what was told last is right. */
static void end_as(struct processes *processes, const struct ending *ending)
{
	struct image *image =
		image_at(processes, ending->pid, to_us(processes, ending->time_ns), false);

	if (!image)
		return;
	set_wait_status(image, ending->wait_status);
	publish(processes, image);
}

/* Those whose time perf's records have reached. */
static void apply_endings(struct processes *processes, uint64_t until_ns)
{
	size_t kept = 0;

	vec_each(&processes->endings, ending)
	{
		if (ending->time_ns <= until_ns)
			end_as(processes, ending);
		else
			processes->endings.at[kept++] = *ending;
	}
	processes->endings.nr = kept;
}

void processes_passed(struct processes *processes, uint64_t time_ns)
{
	pthread_mutex_lock(&processes->lock);
	processes->passed_ns = time_ns;
	if (processes->endings.nr)
		apply_endings(processes, time_ns);
	pthread_mutex_unlock(&processes->lock);
}

/* Of the same process: a pid is not used again by a child of the same parent as soon as that. */
static bool is_successor(const struct image *former, const struct process_hello *hello)
{
	return !former->over || former->said_parent_pid == hello->parent_pid;
}

static void image_is_replaced(struct processes *processes, struct image *former, uint64_t time_ns)
{
	/* Its end may have been noticed later than it was. */
	if (former->row.end_us == PROFILE_NO_TIME || former->row.end_us > to_us(processes, time_ns))
		former->row.end_us = to_us(processes, time_ns);
	former->over = true;
	former->row.replaced = true;
	publish(processes, former);
}

/* Where only the heap side knows of it. */
static struct image *image_from_hello(struct processes *processes,
				      const struct process_hello *hello)
{
	int64_t time_us = to_us(processes, hello->time_ns);
	struct image *former = image_at(processes, hello->pid, INT64_MAX, false);
	struct image *parent = image_at(processes, hello->parent_pid, time_us, false);

	if (former && !former->row.executed && former->row.id == 0)
		return former;
	if (former && !hello->is_forked && is_successor(former, hello)) {
		image_is_replaced(processes, former, hello->time_ns);
		return image_add(processes, hello->pid, former->row.image + 1, former->row.parent,
				 hello->time_ns);
	}
	return image_add(processes, hello->pid, 0, parent ? parent->row.id : PROFILE_NONE,
			 hello->time_ns);
}

static void image_says_hello(struct processes *processes, struct image *image,
			     const struct process_hello *hello)
{
	image->row.executed |= !hello->is_forked;
	image->said_parent_pid = hello->parent_pid;
	image->row.tracked = true;
	set_text(&image->row.untracked_reason, NULL);
	if (hello->executable && !image->row.executable)
		set_text(&image->row.executable, hello->executable);
	if (hello->arguments && !image->row.arguments)
		set_arguments(image, hello->arguments, hello->nr_arguments);
	publish(processes, image);
}

/* The one that said so, by perf's records. */
static struct image *image_of_hello(struct processes *processes, const struct process_hello *hello)
{
	struct image *image = image_at(processes, hello->pid, to_us(processes, hello->time_ns),
				       !hello->is_forked);

	/* Two hellos of one image cannot be: an exec came between that nobody told of. */
	if (image && (image->row.tracked || (hello->is_forked && image->row.executed)))
		return NULL;
	return image;
}

static uint32_t match_hello(struct processes *processes, const struct process_hello *hello,
			    bool at_last)
{
	struct image *image = NULL;

	if (processes->has_records)
		image = image_of_hello(processes, hello);
	if (!image && (!processes->has_records || at_last))
		image = image_from_hello(processes, hello);
	if (!image)
		return PROFILE_NONE;
	image_says_hello(processes, image, hello);
	return image->row.id;
}

uint32_t processes_hello(struct processes *processes, const struct process_hello *hello)
{
	uint32_t id = PROFILE_NONE;

	pthread_mutex_lock(&processes->lock);
	if (!processes->has_records || processes->passed_ns >= hello->time_ns)
		id = match_hello(processes, hello, false);
	pthread_mutex_unlock(&processes->lock);
	return id;
}

uint32_t processes_hello_at_last(struct processes *processes, const struct process_hello *hello)
{
	uint32_t id;

	pthread_mutex_lock(&processes->lock);
	id = match_hello(processes, hello, true);
	pthread_mutex_unlock(&processes->lock);
	return id;
}

/* Ids are given out in the order of the images, by us alone. */
static struct image *image_by_id(struct processes *processes, uint32_t id)
{
	return id < processes->images.nr ? processes->images.at[id] : NULL;
}

void processes_untracked(struct processes *processes, uint32_t id, const char *reason)
{
	struct image *image;

	pthread_mutex_lock(&processes->lock);
	image = image_by_id(processes, id);
	if (image) {
		image->row.tracked = false;
		set_text(&image->row.untracked_reason, reason);
		publish(processes, image);
	}
	pthread_mutex_unlock(&processes->lock);
}

void processes_ended(struct processes *processes, uint32_t id, uint64_t time_ns)
{
	struct image *image;

	pthread_mutex_lock(&processes->lock);
	image = image_by_id(processes, id);
	if (image && !processes->has_records)
		image_end(processes, image, time_ns);
	pthread_mutex_unlock(&processes->lock);
}

void processes_ended_as(struct processes *processes, int32_t pid, uint64_t time_ns, int wait_status)
{
	pthread_mutex_lock(&processes->lock);
	vec_push(&processes->endings,
		 (struct ending){ .pid = pid, .time_ns = time_ns, .wait_status = wait_status });
	apply_endings(processes, processes->has_records ? processes->passed_ns : UINT64_MAX);
	pthread_mutex_unlock(&processes->lock);
}

bool processes_any_tracked(const struct processes *processes)
{
	vec_each(&processes->images, image) if ((*image)->row.tracked) return true;
	return false;
}

/* --- who runs ---------------------------------------------------------------------------------*/

void processes_each_running(struct processes *processes, void (*use)(void *context, int32_t pid),
			    void *context)
{
	pthread_mutex_lock(&processes->lock);
	vec_each(&processes->images, image) if (!(*image)->over) use(context, (*image)->row.pid);
	pthread_mutex_unlock(&processes->lock);
}

uint32_t processes_image_at(struct processes *processes, int32_t pid, uint64_t time_ns,
			    bool at_last)
{
	const struct image *image = NULL;

	pthread_mutex_lock(&processes->lock);
	if (!processes->has_records || at_last || processes->passed_ns >= time_ns)
		image = image_at(processes, pid, to_us(processes, time_ns), false);
	pthread_mutex_unlock(&processes->lock);
	return image ? image->row.id : PROFILE_NONE;
}

/* --- at the end -------------------------------------------------------------------------------*/

void processes_program_ended(struct processes *processes, uint64_t time_ns, int wait_status)
{
	struct image *image =
		image_at(processes, processes->images.at[0]->row.pid, INT64_MAX, false);

	set_wait_status(image, wait_status);
	image->over = false;
	image_end(processes, image, time_ns);
}

static bool parent_is_tracked(const struct processes *processes, const struct image *image)
{
	uint32_t parent = image->row.parent;

	return parent < processes->images.nr && processes->images.at[parent]->row.tracked;
}

static const char *why_untracked(const struct processes *processes, const struct image *image)
{
	if (image->row.untracked_reason)
		return image->row.untracked_reason;
	if (!image->row.executed && image->row.replaced)
		return "ran only between fork and exec";
	if (!image->row.executed && parent_is_tracked(processes, image))
		return "forked, and did not use its heap or was killed before it could be followed";
	if (!image->row.executed && image->row.parent != PROFILE_NONE)
		return "forked by a program whose heap was not accounted";
	return not_loaded;
}

static const char *image_name(const struct image *image)
{
	if (image->row.executable)
		return image->row.executable;
	return image->row.nr_arguments ? image->row.arguments[0] : "?";
}

static void tell_untracked(struct processes *processes, struct image *image)
{
	const char *reason = why_untracked(processes, image);
	char *detail = xasprintf("%s: %s", image_name(image), reason);

	if (image->row.executed || !image->row.replaced)
		aggregate_quality(processes->aggregate, PROFILE_UNTRACKED, detail, 1);
	set_text(&image->row.untracked_reason, reason);
	publish(processes, image);
	free(detail);
}

static void tell_unfinished(struct processes *processes, const struct image *image)
{
	bool gone = kill(image->row.pid, 0) < 0 && errno == ESRCH;
	char *detail = xasprintf("%s: %s", image_name(image),
				 gone ? "was lost sight of, as when it executes a set-uid program"
				      : "still ran when the recording ended");

	aggregate_quality(processes->aggregate, PROFILE_INTERRUPTED, detail, 1);
	free(detail);
}

void processes_finish(struct processes *processes, uint64_t time_ns, bool heap_on)
{
	pthread_mutex_lock(&processes->lock);
	apply_endings(processes, UINT64_MAX);
	for (size_t i = processes->images.nr; i--;) {
		struct image *image = processes->images.at[i];

		if (!image->row.tracked && heap_on)
			tell_untracked(processes, image);
		if (!image->over && processes->has_records && !processes->leave_running)
			tell_unfinished(processes, image);
		if (!image->over && !processes->has_records)
			image_end(processes, image, time_ns);
	}
	pthread_mutex_unlock(&processes->lock);
}

const char *processes_untracked_reason(const struct processes *processes)
{
	return processes->images.at[0]->row.untracked_reason;
}
