/* SPDX-License-Identifier: MIT */
#include "record/processes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/endings.h"

/* From the end of a process or thread until it is forgotten: longer than records are late. */
#define KEEP_NS UINT64_C(2000000000)
#define KEEP_US ((int64_t)KEEP_NS / 1000)

struct processes {
	struct images *images;
	struct map by_pid; /* to struct process */
	VEC(struct ended {
		int32_t pid;
		uint64_t time_ns;
	})
	ended; /* to be forgotten, the first first */
};

struct processes *processes_new(struct images *images)
{
	struct processes *processes = xcalloc(1, sizeof(*processes));

	processes->images = images;
	return processes;
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
	map_each(&processes->by_pid, entry) process_free((struct process *)(uintptr_t)entry->value);
	map_release(&processes->by_pid);
	vec_free(&processes->ended);
	free(processes);
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
		process_free(former);
	process->pid = pid;
	map_set(&processes->by_pid, (uint64_t)pid, (uintptr_t)process);
	return process;
}

static void process_runs(struct process *process, struct process_image *image)
{
	process->image = image;
	process->id = image->row.id;
	process->has_executable = true;
	process->first_code = NULL;
	process->facts_ns = 0;
}

/* The newest: a tid is used again once its thread has ended. */
static struct process_thread *thread_find(struct process *process, int32_t tid)
{
	for (size_t i = process->nr_threads; i--;)
		if (process->threads[i].tid == tid)
			return &process->threads[i];
	return NULL;
}

/* The first thread says whether the process may be over. */
static bool may_forget_thread(const struct process *process, const struct process_thread *thread,
			      int64_t now_us)
{
	return thread->tid != process->pid && thread->row.end_us != PROFILE_NO_TIME &&
	       now_us - thread->row.end_us >= KEEP_US;
}

static void forget_threads(struct process *process, int64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->nr_threads; i++)
		if (may_forget_thread(process, &process->threads[i], now_us))
			free((char *)process->threads[i].row.name);
		else
			process->threads[kept++] = process->threads[i];
	process->nr_threads = kept;
}

static void make_room(struct process *process, int64_t now_us)
{
	if (process->nr_threads < process->threads_room)
		return;
	forget_threads(process, now_us);
	if (process->nr_threads <= process->threads_room / 2 && process->threads_room)
		return;
	process->threads_room = process->threads_room ? 2 * process->threads_room : 1;
	process->threads =
		xreallocarray(process->threads, process->threads_room, sizeof(*process->threads));
}

static struct process_thread *thread_add(struct processes *processes, struct process *process,
					 int32_t tid, uint64_t time_ns)
{
	struct process_thread *thread;

	make_room(process, images_to_us(processes->images, time_ns));
	thread = &process->threads[process->nr_threads++];
	*thread = (struct process_thread){
		.tid = tid,
		.row = { .id = PROFILE_NONE,
			 .process = process->id,
			 .tid = tid,
			 .name = process->name ? xstrdup(process->name) : NULL,
			 .start_us = images_to_us(processes->images, time_ns),
			 .end_us = PROFILE_NO_TIME }
	};
	thread->row.id = aggregate_thread(processes->images->aggregate, &thread->row);
	process->nr_live++;
	return thread;
}

static void thread_end(struct processes *processes, struct process *process,
		       struct process_thread *thread, uint64_t time_ns)
{
	if (thread->row.end_us != PROFILE_NO_TIME)
		return;
	thread->row.end_us = images_to_us(processes->images, time_ns);
	aggregate_thread(processes->images->aggregate, &thread->row);
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

/* All of its threads have ended, the first one too: no more records of it are to come. */
static bool is_over(struct process *process)
{
	return !process->nr_live && thread_find(process, process->pid);
}

static void forget_process(struct processes *processes, const struct ended *ended)
{
	struct process *process = process_find(processes, ended->pid);

	if (!process || process->ended_ns != ended->time_ns || !is_over(process))
		return;
	map_remove(&processes->by_pid, (uint64_t)ended->pid);
	process_free(process);
}

/* Those that ended long before, if it was for good: many at once. */
static void forget_processes(struct processes *processes, uint64_t now_ns)
{
	size_t nr = 0;

	if (!processes->ended.nr || processes->ended.at[0].time_ns + KEEP_NS + KEEP_NS / 8 > now_ns)
		return;
	while (nr < processes->ended.nr && processes->ended.at[nr].time_ns + KEEP_NS <= now_ns)
		forget_process(processes, &processes->ended.at[nr++]);
	vec_remove(&processes->ended, 0, nr);
}

static void set_name(char **place, const char *name)
{
	free(*place);
	*place = name ? xstrdup(name) : NULL;
}

void processes_start(struct processes *processes, int32_t pid, char *const *arguments,
		     uint64_t time_ns)
{
	struct process_image *image = images_start(processes->images, pid, arguments, time_ns);

	process_runs(process_add(processes, pid), image);
}

struct process *processes_attach(struct processes *processes, int32_t pid,
				 const struct image_facts *facts, uint64_t time_ns)
{
	struct process *process = process_add(processes, pid);

	process_runs(process, images_join(processes->images, pid, facts, time_ns));
	return process;
}

static void fork_process(struct processes *processes, const struct process_fork *fork)
{
	struct process *parent = processes_at(processes, fork->time_ns, fork->parent_pid);
	const struct process_thread *forker = thread_find(parent, fork->parent_tid);
	struct process *child = process_add(processes, fork->pid);

	process_runs(child,
		     images_fork(processes->images, parent->image, fork->pid, fork->time_ns));
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
	struct process_image *image;

	space_clear(&process->space);
	set_name(&process->name, name);
	end_all_threads(processes, process, time_ns);
	if (process->facts_ns > time_ns)
		images_doubt(processes->images, process->image, process->first_code);
	process->first_code = NULL;

	image = images_exec(processes->images, process->image, name, facts, time_ns);
	if (image != process->image)
		process_runs(process, image);
	process->has_executable = images_knows_executable(processes->images, image);
	process->facts_ns = facts->read_ns;
	thread_add(processes, process, pid, time_ns);
}

void processes_learn(struct processes *processes, struct process *process,
		     const struct image_facts *facts)
{
	if (facts->read_ns > process->facts_ns)
		process->facts_ns = facts->read_ns;
	images_learn(processes->images, process->image, facts);
	process->has_executable = images_knows_executable(processes->images, process->image);
}

void processes_map_code(struct processes *processes, struct process *process, const char *path)
{
	if (!process->first_code)
		process->first_code = path;
	if (!process->has_executable)
		processes_learn(processes, process,
				&(struct image_facts){ .executable = (char *)path });
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
	set_name((char **)&thread->row.name, name);
	aggregate_thread(processes->images->aggregate, &thread->row);
}

void processes_passed(struct processes *processes, uint64_t time_ns)
{
	endings_passed(processes->images, time_ns);
}

static void process_ends(struct processes *processes, struct process *process, uint64_t time_ns)
{
	images_end(processes->images, process->image, time_ns);
	process->ended_ns = time_ns;
	vec_push(&processes->ended, (struct ended){ .pid = process->pid, .time_ns = time_ns });
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
	if (!process->nr_live)
		process_ends(processes, process, time_ns);
	forget_processes(processes, time_ns);
}

struct process *processes_at(struct processes *processes, uint64_t time_ns, int32_t pid)
{
	struct process *process = process_find(processes, pid);

	return process ? process : processes_attach(processes, pid, NULL, time_ns);
}

uint32_t processes_thread(struct processes *processes, struct process *process, int32_t tid,
			  uint64_t time_ns)
{
	struct process_thread *thread = thread_find(process, tid);

	if (!thread)
		thread = thread_add(processes, process, tid, time_ns);
	return thread->row.id;
}
