/* SPDX-License-Identifier: MIT */
#include "record/followed.h"

#include <string.h>

#include "base/clock.h"
#include "record/heap/channel.h"
#include "record/image_facts.h"
#include "record/mappings.h"

static const uint64_t remap_again_ns = 50000000;

static struct group *find_group(const struct followed *followed, pid_t pid)
{
	const uint64_t *found = map_find(&followed->by_pid, (uint64_t)pid);

	return found ? (struct group *)(uintptr_t)*found : NULL;
}

struct group *followed_add(struct followed *followed, pid_t pid)
{
	struct group *group = group_new(pid);

	vec_push(&followed->groups, group);
	map_set(&followed->by_pid, (uint64_t)pid, (uintptr_t)group);
	return group;
}

static void forget_thread(struct followed *followed, struct group_thread *thread)
{
	const uint64_t *found = map_find(&followed->by_tid, (uint64_t)thread->task.tid);

	if (found && *found == (uintptr_t)thread)
		map_remove(&followed->by_tid, (uint64_t)thread->task.tid);
	group_remove(thread->group, thread);
}

static void tell_end(struct followed *followed, struct group_thread *thread)
{
	if (!thread->is_over)
		processes_exit(followed->processes, clock_now_ns(), thread->task.pid,
			       thread->task.tid);
	thread->is_over = true;
}

static void end_thread(struct followed *followed, struct group_thread *thread)
{
	tell_end(followed, thread);
	forget_thread(followed, thread);
}

void followed_end(struct followed *followed, size_t index)
{
	struct group *group = followed->groups.at[index];

	while (group->threads.nr)
		end_thread(followed, *vec_last(&group->threads));
	map_remove(&followed->by_pid, (uint64_t)group->pid);
	followed->groups.at[index] = *vec_last(&followed->groups);
	followed->groups.nr--;
	group_free(group);
}

void followed_map(struct followed *followed, struct group *group, struct process *process)
{
	group->mapped_ns = clock_now_ns();
	mappings_read(&process->space, group->pid, &followed->modules);
}

bool followed_remap(void *context, struct process *process)
{
	struct followed *followed = context;
	struct group *group = find_group(followed, process->pid);
	size_t nr = process->space.nr;

	if (!group || clock_now_ns() - group->fruitless_ns < remap_again_ns)
		return false;
	followed_map(followed, group, process);
	if (process->space.nr == nr)
		group->fruitless_ns = group->mapped_ns;
	return true;
}

/* An exec ends all threads but one, which gets the pid as its tid. */
static void forget_former_threads(struct followed *followed, const struct group_thread *but)
{
	struct group *group = but->group;

	for (size_t i = group->threads.nr; i--;)
		if (group->threads.at[i] != but && group->threads.at[i]->task.tid != group->pid)
			forget_thread(followed, group->threads.at[i]);
	group->nr_listed = 0;
}

/* False: the next exec came meanwhile, and facts may be of either. */
static bool read_facts(const struct followed *followed, const struct group_thread *thread,
		       const struct task_look *look, struct image_facts *facts)
{
	uint64_t now_ns = clock_now_ns();
	bool has_guest = followed->shim && channel_is_mapped_by(thread->task.pid, false);
	struct task_look now;

	image_facts_read(facts, thread->task.pid, followed->shim);
	facts->unheard_ns = has_guest ? 0 : now_ns;
	return task_look(&thread->task, &now) < 0 || now.program == look->program;
}

static void use_exec(struct followed *followed, const struct group_thread *thread,
		     const struct task_look *look)
{
	struct group *group = thread->group;
	struct image_facts facts;
	bool is_of_one = read_facts(followed, thread, look, &facts);
	uint64_t now = clock_now_ns();

	if (is_of_one)
		processes_exec(followed->processes, now, group->pid, look->name, &facts);
	image_facts_release(&facts);
	if (!is_of_one)
		return;
	group->former = group->program;
	group->program = look->program;
	forget_former_threads(followed, thread);
	followed_map(followed, group, processes_at(followed->processes, now, group->pid));
}

/* No program is the same twice, so a child with its parent's former one was forked before the exec
 * that the parent was seen to have made when the child was found. */
static bool has_executed(const struct group *group, uint64_t program)
{
	return program && program != group->program && program != group->former;
}

void followed_use_look(struct followed *followed, struct group_thread *thread,
		       const struct task_look *look)
{
	if (has_executed(thread->group, look->program))
		use_exec(followed, thread, look);
	if (!strcmp(thread->name, look->name))
		return;
	memcpy(thread->name, look->name, sizeof(thread->name));
	processes_rename(followed->processes, clock_now_ns(), thread->task.pid, thread->task.tid,
			 look->name);
}

static void use_fork(struct followed *followed, const struct group_thread *parent, pid_t pid)
{
	struct group *child;

	if (map_find(&followed->by_pid, (uint64_t)pid))
		return;
	processes_fork(followed->processes,
		       &(struct process_fork){ .time_ns = clock_now_ns(),
					       .pid = pid,
					       .tid = pid,
					       .parent_pid = parent->task.pid,
					       .parent_tid = parent->task.tid });
	child = followed_add(followed, pid);
	child->program = parent->group->program;
	child->former = parent->group->former;
}

static void look_for_children(struct followed *followed, const struct group_thread *thread)
{
	struct task_pids children = { 0 };

	if (followed->no_inherit)
		return;
	task_children(&thread->task, &children);
	vec_each(&children, pid) use_fork(followed, thread, *pid);
	vec_free(&children);
}

struct group_thread *followed_thread(const struct followed *followed, pid_t tid)
{
	const uint64_t *found = map_find(&followed->by_tid, (uint64_t)tid);

	return found ? (struct group_thread *)(uintptr_t)*found : NULL;
}

bool followed_look(struct followed *followed, struct group_thread *thread)
{
	struct task_look look;
	struct task_use use;

	if (task_used(&thread->task, &use) < 0) {
		end_thread(followed, thread);
		return false;
	}
	if (use.used_ns == thread->use.used_ns && use.turns == thread->use.turns)
		return false;
	thread->use = use;
	if (task_look(&thread->task, &look) < 0) {
		end_thread(followed, thread);
		return false;
	}
	if (look.state == 'Z' || look.state == 'X') {
		tell_end(followed, thread);
		return false;
	}
	followed_use_look(followed, thread, &look);
	look_for_children(followed, thread);
	return look.state == 'R';
}

int followed_list(struct followed *followed, struct group *group)
{
	size_t nr = group->threads.nr;
	int ret = group_list(group);

	for (; nr < group->threads.nr; nr++) {
		struct group_thread *thread = group->threads.at[nr];

		map_set(&followed->by_tid, (uint64_t)thread->task.tid, (uintptr_t)thread);
	}
	return ret;
}

static void ignore_children(struct followed *followed, const struct group_thread *thread)
{
	struct task_pids children = { 0 };

	task_children(&thread->task, &children);
	vec_each(&children, pid) map_add(&followed->by_pid, (uint64_t)*pid, NULL);
	vec_free(&children);
}

/* What they have used and started so far is not the recording's. */
void followed_begin(struct followed *followed, struct group *group)
{
	const bool is_attached = followed->is_attached;
	struct task_look look;

	group_look(group);
	followed_list(followed, group);
	vec_each(&group->threads, at)
	{
		struct group_thread *thread = *at;

		task_used(&thread->task, &thread->use);
		thread->charged_ns = thread->use.used_ns;
		thread->is_new = !is_attached;
		/* That of a program which is still to be executed is none of them. */
		if (!is_attached)
			continue;
		ignore_children(followed, thread);
		if (task_look(&thread->task, &look) >= 0)
			group->program = look.program;
	}
}

void followed_release(struct followed *followed)
{
	vec_each(&followed->groups, group) group_free(*group);
	vec_free(&followed->groups);
	map_release(&followed->by_pid);
	map_release(&followed->by_tid);
	modules_release(&followed->modules);
}
