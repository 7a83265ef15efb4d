/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/endings.h"
#include "record/hellos.h"
#include "record/processes.h"
#include "record/unaccounted.h"

/* The rows as a flush gives them out: by id, the last put counts. */
static struct seen {
	struct profile_process processes[32];
	struct profile_thread threads[32];
	size_t nr_processes, nr_threads;
	VEC(char *) quality;
} seen;

static const char *const *copy_of(const char *const *texts, size_t nr)
{
	const char **copy = xcalloc(nr + 1, sizeof(*copy));

	for (size_t i = 0; i < nr; i++)
		copy[i] = xstrdup(texts[i]);
	return copy;
}

static void see_process(void *context, const struct profile_process *row)
{
	(void)context;
	seen.processes[row->id] = *row;
	if (row->id >= seen.nr_processes)
		seen.nr_processes = row->id + 1;
	/* Strings are valid during the flush only. */
	seen.processes[row->id].executable = row->executable ? xstrdup(row->executable) : NULL;
	seen.processes[row->id].arguments = copy_of(row->arguments, row->nr_arguments);
	seen.processes[row->id].untracked_reason =
		row->untracked_reason ? xstrdup(row->untracked_reason) : NULL;
}

static void see_thread(void *context, const struct profile_thread *row)
{
	(void)context;
	seen.threads[row->id] = *row;
	seen.threads[row->id].name = row->name ? xstrdup(row->name) : NULL;
	if (row->id >= seen.nr_threads)
		seen.nr_threads = row->id + 1;
}

static void see_quality(void *context, const struct profile_quality *row)
{
	(void)context;
	vec_push(&seen.quality, xasprintf("%s: %s", profile_quality_name(row->kind), row->detail));
}

static void see_module(void *context, const struct profile_module *row)
{
	(void)context, (void)row;
}

static struct aggregate *aggregate;
static struct images *images;
static struct processes *processes;

static void flush(void)
{
	const struct aggregate_sink sink = { .process = see_process,
					     .thread = see_thread,
					     .quality = see_quality,
					     .module = see_module };

	aggregate_flush(aggregate, &sink, NULL);
}

static bool has_quality(const char *text)
{
	vec_each(&seen.quality, line) if (strstr(*line, text)) return true;
	return false;
}

/* Times are in microseconds here, of a recording that starts at 0. */
enum { US = 1000, PROGRAM = 100 };

static void start(bool has_records)
{
	static char *const arguments[] = { (char *)"./app", NULL };

	aggregate = aggregate_new();
	images = images_new(aggregate, 0, has_records);
	processes = processes_new(images);
	processes_start(processes, PROGRAM, arguments, 0);
}

static void exec(int32_t pid, uint64_t time_us, const char *path)
{
	const struct image_facts facts = { .executable = (char *)path };

	processes_exec(processes, time_us * US, pid, strrchr(path, '/') + 1, &facts);
}

static void fork_process(int32_t parent, int32_t child, uint64_t time_us)
{
	processes_fork(processes, &(struct process_fork){ .time_ns = time_us * US,
							  .pid = child,
							  .tid = child,
							  .parent_pid = parent,
							  .parent_tid = parent });
}

static uint32_t hello(int32_t pid, uint64_t time_us)
{
	const struct process_hello said = { .pid = pid,
					    .parent_pid = PROGRAM,
					    .time_ns = time_us * US };

	return hellos_match(images, &said, false);
}

static void end(void)
{
	processes_free(processes);
	images_free(images);
	aggregate_free(aggregate);
}

TestSuite(processes, .fini = end);

Test(processes, the_first_exec_is_that_of_the_program)
{
	start(true);
	exec(PROGRAM, 10, "/bin/app");
	flush();
	cr_assert(eq(sz, seen.nr_processes, 1));
	cr_assert(eq(str, (char *)seen.processes[0].executable, (char *)"/bin/app"));
	cr_assert(eq(u32, seen.processes[0].image, 0));
}

Test(processes, a_program_that_ended_before_it_could_be_looked_at_is_called_by_its_name)
{
	const struct image_facts nothing = { 0 };

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	processes_exec(processes, 30 * US, 200, "static", &nothing);
	processes_exit(processes, 40 * US, 200, 200);
	unaccounted_finish(images, 50 * US, true);
	flush();
	cr_assert(eq(sz, seen.nr_processes, 3));
	cr_assert(eq(sz, seen.processes[0].nr_arguments, 1));
	cr_assert(eq(str, (char *)seen.processes[0].arguments[0], (char *)"./app"));
	cr_assert(eq(sz, seen.processes[2].nr_arguments, 1));
	cr_assert(eq(str, (char *)seen.processes[2].arguments[0], (char *)"static"));
}

/* /proc tells of what a process runs now, which may be later than its records say. */
static void exec_read_at(int32_t pid, uint64_t time_us, const char *path, uint64_t read_us)
{
	const char *argument = path;
	const struct image_facts facts = { .executable = (char *)path,
					   .arguments = (char **)&argument,
					   .nr_arguments = 1,
					   .untracked_reason = (char *)"static executable",
					   .read_ns = read_us * US };

	processes_exec(processes, time_us * US, pid, strrchr(path, '/') + 1, &facts);
}

Test(processes, what_was_read_after_the_next_exec_is_not_believed)
{
	start(true);
	fork_process(PROGRAM, 200, 5);
	exec_read_at(200, 10, "/bin/third", 35);
	processes_map_code(processes, processes_at(processes, 11 * US, 200), "/bin/first");
	processes_map_code(processes, processes_at(processes, 11 * US, 200), "/lib/libc.so.6");
	exec_read_at(200, 20, "/bin/third", 35);
	exec_read_at(200, 30, "/bin/third", 35);
	exec_read_at(200, 40, "/bin/fourth", 45);
	unaccounted_finish(images, 200 * US, true);
	flush();
	cr_assert(eq(str, (char *)seen.processes[2].executable, (char *)"/bin/first"));
	cr_assert(eq(ptr, (void *)seen.processes[3].executable, NULL));
	cr_assert(eq(str, (char *)seen.processes[4].executable, (char *)"/bin/third"));
	cr_assert(eq(str, (char *)seen.processes[5].executable, (char *)"/bin/fourth"));
	cr_assert(not(has_quality("/bin/first: static executable")));
	cr_assert(has_quality("/bin/third: static executable"));
}

Test(processes, what_an_image_says_of_itself_is_true)
{
	const char *given[] = { "first", "of all" };
	struct process_hello said = { .pid = 200,
				      .parent_pid = PROGRAM,
				      .time_ns = 15 * US,
				      .executable = "/bin/first",
				      .arguments = (char *const *)given,
				      .nr_arguments = 2 };

	start(true);
	fork_process(PROGRAM, 200, 5);
	exec_read_at(200, 10, "/bin/second", 25);
	processes_passed(processes, 18 * US);
	cr_assert(eq(u32, hellos_match(images, &said, false), 2));
	exec_read_at(200, 20, "/root/of/its/own/bin/second", 25);
	said.time_ns = 22 * US;
	said.executable = "/bin/second";
	processes_passed(processes, 24 * US);
	cr_assert(eq(u32, hellos_match(images, &said, false), 3));
	flush();
	cr_assert(eq(str, (char *)seen.processes[2].executable, (char *)"/bin/first"));
	cr_assert(eq(sz, seen.processes[2].nr_arguments, 2));
	cr_assert(eq(str, (char *)seen.processes[3].executable,
		     (char *)"/root/of/its/own/bin/second"));
}

Test(processes, a_fork_starts_a_process_and_each_exec_an_image)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	exec(200, 30, "/bin/ls");
	exec(200, 40, "/bin/true");
	processes_exit(processes, 50 * US, 200, 200);
	flush();

	cr_assert(eq(sz, seen.nr_processes, 4));
	for (uint32_t i = 1; i < 4; i++) {
		cr_assert(eq(int, seen.processes[i].pid, 200));
		cr_assert(eq(u32, seen.processes[i].image, i - 1));
		cr_assert(eq(u32, seen.processes[i].parent, 0));
	}
	cr_assert(eq(str, (char *)seen.processes[1].executable, (char *)"/bin/sh"));
	cr_assert(eq(str, (char *)seen.processes[3].executable, (char *)"/bin/true"));
	cr_assert(eq(i64, seen.processes[1].end_us, 30));
	cr_assert(eq(i64, seen.processes[2].end_us, 40));
	cr_assert(eq(i64, seen.processes[3].end_us, 50));
}

Test(processes, a_pid_that_is_used_again_is_another_process)
{
	uint32_t first;

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	first = processes_at(processes, 21 * US, 200)->id;
	processes_exit(processes, 30 * US, 200, 200);
	fork_process(PROGRAM, 200, 40);
	cr_assert(ne(u32, processes_at(processes, 41 * US, 200)->id, first));
}

static uint64_t run_compiler(int32_t pid, uint64_t time_us)
{
	char *arguments[20];

	for (size_t i = 0; i < 20; i++)
		arguments[i] = xasprintf("-I/some/where/in/the/source/tree/%zu/of/%d", i, pid);
	fork_process(PROGRAM, pid, time_us);
	processes_exec(processes, (time_us + 10) * US, pid, "cc",
		       &(struct image_facts){ .executable = (char *)"/bin/cc",
					      .arguments = arguments,
					      .nr_arguments = 20 });
	processes_exit(processes, (time_us + 20000) * US, pid, pid);
	for (size_t i = 0; i < 20; i++)
		free(arguments[i]);
	return time_us + 20000;
}

static void ignore_process(void *context, const struct profile_process *row)
{
	(void)context, (void)row;
}

static void ignore_thread(void *context, const struct profile_thread *row)
{
	(void)context, (void)row;
}

/* What is allocated after so many more processes. */
static size_t bytes_after(int32_t *pid, uint64_t *time_us, int nr)
{
	const struct aggregate_sink nowhere = { .process = ignore_process,
						.thread = ignore_thread };

	for (int i = 0; i < nr; i++) {
		*time_us = run_compiler(++*pid, *time_us);
		if (!(i % 50))
			aggregate_flush(aggregate, &nowhere, NULL);
	}
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

Test(processes, a_process_that_has_ended_takes_little_memory)
{
	const struct mapping mapping = { .start = 0x1000, .end = 0x2000 };
	int32_t pid = PROGRAM;
	uint64_t time_us = 20;
	size_t before, after;

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	for (int i = 0; i < 20; i++)
		vec_push(&processes_at(processes, 15 * US, PROGRAM)->space, mapping);
	before = bytes_after(&pid, &time_us, 5000);
	after = bytes_after(&pid, &time_us, 5000);
	cr_assert(lt(sz, after, before + 5000 * 700));
}

Test(processes, a_thread_that_has_ended_takes_no_memory)
{
	size_t room;

	start(true);
	exec(PROGRAM, 10, "/bin/app");
	for (int i = 1; i < 5000; i++) {
		uint64_t time_ns = (uint64_t)i * 100000 * US;

		processes_fork(processes, &(struct process_fork){ time_ns, PROGRAM, PROGRAM + i,
								  PROGRAM, PROGRAM });
		processes_exit(processes, time_ns + US, PROGRAM, PROGRAM + i);
	}
	room = processes_at(processes, UINT64_C(5000) * 100000 * US, PROGRAM)->threads_room;
	cr_assert(lt(sz, room, 100));
}

Test(processes, what_comes_soon_after_the_end_of_a_process_is_of_it)
{
	uint32_t id;

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	id = processes_at(processes, 21 * US, 200)->id;
	processes_exit(processes, 30 * US, 200, 200);
	fork_process(PROGRAM, 201, 1500000);
	processes_exit(processes, UINT64_C(1900000) * US, 201, 201);
	cr_assert(eq(u32, processes_at(processes, UINT64_C(1900001) * US, 200)->id, id));
}

Test(processes, one_whose_first_thread_nobody_told_of_may_go_on)
{
	uint32_t id;

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	processes_fork(processes, &(struct process_fork){ 30 * US, 200, 201, 200, 200 });
	id = processes_at(processes, 31 * US, 200)->id;
	processes_exit(processes, 40 * US, 200, 201);
	fork_process(PROGRAM, 300, 50);
	processes_exit(processes, UINT64_C(60000000) * US, 300, 300);
	cr_assert(eq(u32, processes_at(processes, UINT64_C(60000001) * US, 200)->id, id));
}

Test(processes, a_fork_copies_the_mappings_and_an_exec_drops_them)
{
	struct module module = { .kind = MODULE_ANONYMOUS };
	struct process *child;

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	space_map(&processes_at(processes, 11 * US, PROGRAM)->space, 0x1000, 0x2000, 0, &module);
	fork_process(PROGRAM, 200, 20);
	child = processes_at(processes, 21 * US, 200);
	cr_assert(not(zero(ptr, (void *)space_find(&child->space, 0x1800))));
	exec(200, 30, "/bin/ls");
	cr_assert(zero(ptr, (void *)space_find(&child->space, 0x1800)));
	cr_assert(
		not(zero(ptr, (void *)space_find(&processes_at(processes, 31 * US, PROGRAM)->space,
						 0x1800))));
}

Test(processes, threads_have_the_names_they_end_with)
{
	start(true);
	exec(PROGRAM, 10, "/bin/app");
	processes_fork(processes,
		       &(struct process_fork){ 20 * US, PROGRAM, 101, PROGRAM, PROGRAM });
	processes_rename(processes, 30 * US, PROGRAM, 101, "worker");
	processes_exit(processes, 40 * US, PROGRAM, 101);
	processes_exit(processes, 50 * US, PROGRAM, PROGRAM);
	flush();

	cr_assert(eq(sz, seen.nr_threads, 2));
	cr_assert(eq(str, (char *)seen.threads[0].name, (char *)"app"));
	cr_assert(eq(str, (char *)seen.threads[1].name, (char *)"worker"));
	cr_assert(eq(int, seen.threads[1].tid, 101));
	cr_assert(eq(i64, seen.threads[1].start_us, 20));
	cr_assert(eq(i64, seen.threads[1].end_us, 40));
	cr_assert(eq(i64, seen.processes[0].end_us, 50), "when its last thread ended");
}

Test(processes, a_tid_that_is_used_again_is_another_thread)
{
	const struct process_fork spawn = { 20 * US, PROGRAM, 101, PROGRAM, PROGRAM };
	const struct process_fork again = { 40 * US, PROGRAM, 101, PROGRAM, PROGRAM };

	start(true);
	exec(PROGRAM, 10, "/bin/app");
	processes_fork(processes, &spawn);
	processes_exit(processes, 30 * US, PROGRAM, 101);
	processes_fork(processes, &again);
	processes_exit(processes, 41 * US, PROGRAM, PROGRAM);
	processes_exit(processes, 50 * US, PROGRAM, 101);
	flush();

	cr_assert(eq(sz, seen.nr_threads, 3));
	cr_assert(eq(i64, seen.threads[1].end_us, 30));
	cr_assert(eq(i64, seen.threads[2].start_us, 40));
	cr_assert(eq(i64, seen.threads[2].end_us, 50));
	cr_assert(eq(i64, seen.processes[0].end_us, 50), "when its last thread ended");
}

Test(processes, a_hello_waits_until_the_records_of_its_time_have_come)
{
	start(true);
	exec(PROGRAM, 10, "/bin/app");
	processes_passed(processes, 11 * US);
	cr_assert(eq(u32, hello(PROGRAM, 12), PROFILE_NONE));

	processes_passed(processes, 13 * US);
	cr_assert(eq(u32, hello(PROGRAM, 12), 0));
	cr_assert(unaccounted_any_tracked(images));
}

Test(processes, a_hello_belongs_to_the_image_that_ran_then)
{
	start(true);
	exec(PROGRAM, 10, "/bin/first");
	exec(PROGRAM, 20, "/bin/static");
	exec(PROGRAM, 30, "/bin/third");
	processes_passed(processes, 100 * US);
	cr_assert(eq(u32, hello(PROGRAM, 32), 2));
	cr_assert(eq(u32, hello(PROGRAM, 12), 0));

	unaccounted_finish(images, 200 * US, true);
	flush();
	cr_assert(seen.processes[0].tracked);
	cr_assert(not(seen.processes[1].tracked));
	cr_assert(seen.processes[2].tracked);
	cr_assert(has_quality("untracked: /bin/static: "));
	cr_assert(not(has_quality("untracked: /bin/third")));
}

Test(processes, a_hello_whose_exec_was_lost_starts_an_image_at_last)
{
	const struct process_hello said = {
		.pid = 200, .parent_pid = PROGRAM, .time_ns = 25 * US, .executable = "/bin/ls"
	};

	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	processes_passed(processes, UINT64_MAX);
	cr_assert(eq(u32, hellos_match(images, &said, false), PROFILE_NONE));
	cr_assert(eq(u32, hellos_match(images, &said, true), 1));
	flush();
	cr_assert(eq(str, (char *)seen.processes[1].executable, (char *)"/bin/ls"));
	cr_assert(eq(u32, seen.processes[1].parent, 0));
}

static uint32_t hello_from(int32_t parent, int32_t pid, uint64_t time_us)
{
	const struct process_hello said = { .pid = pid,
					    .parent_pid = parent,
					    .time_ns = time_us * US };

	return hellos_match(images, &said, false);
}

Test(processes, without_records_each_hello_starts_an_image)
{
	start(false);
	cr_assert(eq(u32, hello_from(1, PROGRAM, 5), 0));
	cr_assert(eq(u32, hello_from(PROGRAM, 200, 10), 1));
	cr_assert(eq(u32, hello_from(PROGRAM, 200, 20), 2), "an exec");
	endings_image(images, 2, 30 * US);
	cr_assert(eq(u32, hello_from(7, 200, 40), 3), "the pid is used again");
	unaccounted_finish(images, 50 * US, true);
	flush();

	cr_assert(eq(u32, seen.processes[1].image, 0));
	cr_assert(eq(u32, seen.processes[1].parent, 0));
	cr_assert(eq(u32, seen.processes[2].image, 1));
	cr_assert(eq(u32, seen.processes[3].image, 0));
	cr_assert(eq(u32, seen.processes[3].parent, PROFILE_NONE));
	cr_assert(eq(i64, seen.processes[1].end_us, 20));
	cr_assert(eq(i64, seen.processes[2].end_us, 30));
	cr_assert(eq(i64, seen.processes[0].end_us, 50));
}

Test(processes, without_records_an_image_ends_when_the_next_begins)
{
	start(false);
	hello_from(1, PROGRAM, 5);
	/* The end of the first was noticed after the second had begun. */
	endings_image(images, 0, 30 * US);
	cr_assert(eq(u32, hello_from(1, PROGRAM, 20), 1));
	flush();
	cr_assert(eq(i64, seen.processes[0].end_us, 20));
	cr_assert(eq(u32, seen.processes[1].image, 1));
}

Test(processes, what_ran_only_between_fork_and_exec_is_no_gap)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	exec(200, 30, "/bin/ls");
	fork_process(PROGRAM, 201, 40);
	processes_passed(processes, 100 * US);
	hello(PROGRAM, 11);
	hello(200, 31);
	unaccounted_finish(images, 200 * US, true);
	flush();

	cr_assert(eq(str, (char *)seen.processes[1].untracked_reason,
		     (char *)"ran only between fork and exec"));
	cr_assert(has_quality("untracked: /bin/sh: forked, and used no heap"), "that is 201");
	cr_assert(not(has_quality("between fork")));
}

static uint32_t hello_of_fork(int32_t parent, int32_t pid, uint64_t time_us)
{
	const struct process_hello said = {
		.pid = pid, .parent_pid = parent, .is_forked = true, .time_ns = time_us * US
	};

	return hellos_match(images, &said, false);
}

Test(processes, a_forked_child_and_what_it_executes_say_hello_each)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	exec(200, 30, "/bin/ls");
	processes_passed(processes, 100 * US);

	cr_assert(eq(u32, hello_of_fork(PROGRAM, 200, 21), 1));
	cr_assert(eq(u32, hello(200, 31), 2));
	flush();
	cr_assert(seen.processes[1].tracked && seen.processes[2].tracked);
	cr_assert(eq(str, (char *)seen.processes[1].executable, (char *)"/bin/sh"));
}

Test(processes, without_records_a_fork_starts_a_process_also_where_its_pid_was_before)
{
	start(false);
	cr_assert(eq(u32, hello_from(1, PROGRAM, 5), 0));
	cr_assert(eq(u32, hello_of_fork(PROGRAM, 200, 10), 1));
	cr_assert(eq(u32, hello_from(PROGRAM, 200, 20), 2));
	cr_assert(eq(u32, hello_of_fork(PROGRAM, 200, 30), 3));
	flush();
	cr_assert(eq(u32, seen.processes[2].image, 1));
	cr_assert(eq(u32, seen.processes[3].image, 0));
	cr_assert(eq(u32, seen.processes[3].parent, 0));
}

/* The program, its child, and what that executes, found in /proc. */
static void meet_all(uint64_t time_us)
{
	exec(PROGRAM, time_us, "/bin/sh");
	fork_process(PROGRAM, 200, time_us);
	exec(200, time_us, "/bin/ls");
}

static void say_hello_all(void)
{
	cr_assert(eq(u32, hello_from(1, PROGRAM, 5), 0));
	cr_assert(eq(u32, hello_of_fork(PROGRAM, 200, 10), 1));
	cr_assert(eq(u32, hello_from(PROGRAM, 200, 20), 2));
}

static void expect_all(void)
{
	flush();
	cr_assert(eq(sz, seen.nr_processes, 3));
	for (int i = 0; i < 3; i++)
		cr_expect(eq(int, seen.processes[i].tracked, true), "%d", i);
	cr_expect(eq(u32, seen.processes[1].image, 0));
	cr_expect(eq(u32, seen.processes[2].image, 1));
	cr_expect(eq(u32, seen.processes[2].parent, 0));
	cr_expect(eq(str, (char *)seen.processes[2].executable, (char *)"/bin/ls"));
}

Test(processes, without_records_what_has_said_hello_is_met_later)
{
	start(false);
	say_hello_all();
	meet_all(30);
	expect_all();
}

Test(processes, without_records_what_was_met_says_hello_later)
{
	start(false);
	meet_all(30);
	say_hello_all();
	expect_all();
}

Test(processes, how_one_ended_is_the_last_that_was_told_of_its_last_image)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	fork_process(PROGRAM, 200, 20);
	exec(200, 30, "/bin/ls");
	endings_tell(images, 200, 40 * US, 3 << 8); /* it was about to exit(3), */
	endings_tell(images, 200, 42 * US, 9);	    /* but was killed */
	fork_process(PROGRAM, 200, 50);
	processes_passed(processes, 45 * US);
	flush();

	cr_assert(eq(int, seen.processes[1].exit_status, -1));
	cr_assert(eq(int, seen.processes[1].signal, 0));
	cr_assert(eq(int, seen.processes[2].exit_status, -1));
	cr_assert(eq(int, seen.processes[2].signal, 9));
	cr_assert(eq(int, seen.processes[3].signal, 0));
}

Test(processes, an_ending_waits_for_the_records_of_its_time)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	endings_tell(images, 200, 40 * US, 3 << 8);
	fork_process(PROGRAM, 200, 20);
	processes_passed(processes, 45 * US);
	flush();
	cr_assert(eq(int, seen.processes[1].exit_status, 3));
}

Test(processes, a_program_that_ends_before_it_is_executed_was_forked_by_no_program)
{
	start(true);
	endings_program(images, 30 * US, SIGKILL);
	unaccounted_finish(images, 200 * US, true);
	flush();
	cr_assert(has_quality("it ended before that"));
	cr_assert(not(has_quality("forked by")));
}

Test(processes, of_a_side_that_is_off_nothing_is_untracked)
{
	start(true);
	exec(PROGRAM, 10, "/bin/app");
	processes_exit(processes, 20 * US, PROGRAM, PROGRAM);
	unaccounted_finish(images, 200 * US, false);
	flush();
	cr_assert(eq(sz, seen.quality.nr, 0));
}

Test(processes, the_last_image_of_the_program_has_its_exit_status)
{
	start(true);
	exec(PROGRAM, 10, "/bin/sh");
	exec(PROGRAM, 20, "/bin/app");
	endings_program(images, 30 * US, 7 << 8);
	flush();
	cr_assert(eq(int, seen.processes[0].exit_status, -1));
	cr_assert(eq(int, seen.processes[1].exit_status, 7));
	cr_assert(eq(i64, seen.processes[1].end_us, 30));
}
