/* SPDX-License-Identifier: MIT */
/* Processes of ours, told of by /proc only. */
#include "record/followed.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/clock.h"
#include "record/aggregate/aggregate.h"

static struct aggregate *aggregate;
static struct images *images;
static struct processes *processes;
static struct followed followed;
static size_t nr_images;
static pid_t program;
static int steps[2], told[2];

static void see_process(void *context, const struct profile_process *row)
{
	(void)context;
	if (row->id >= nr_images)
		nr_images = row->id + 1;
}

static void see_thread(void *context, const struct profile_thread *row)
{
	(void)context, (void)row;
}

/* How many programs the recording knows of. */
static size_t images_known(void)
{
	const struct aggregate_sink sink = { .process = see_process, .thread = see_thread };

	nr_images = 0;
	aggregate_flush(aggregate, &sink, NULL);
	return nr_images;
}

/* Until all of them rest. */
static void look(void)
{
	for (int turn = 0; turn < 20; turn++) {
		usleep(5000);
		for (size_t i = 0; i < followed.groups.nr; i++) {
			struct group *group = followed.groups.at[i];

			group_look(group);
			followed_list(&followed, group);
			for (size_t t = 0; t < group->threads.nr; t++)
				followed_look(&followed, group->threads.at[t]);
		}
	}
}

static void wait_for_step(void)
{
	char byte;

	if (read(steps[0], &byte, 1) != 1)
		_exit(1);
}

/* A child that waits for the third step, and then executes something itself; its pid is told. */
static void run_program(void)
{
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	wait_for_step();
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_for_step();
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	if (write(told[1], &child, sizeof(child)) != sizeof(child))
		_exit(1);
	execlp("sleep", "sleep", "200", NULL);
	_exit(1);
}

static void start(void)
{
	static char *const arguments[] = { (char *)"./app", NULL };

	cr_assert(eq(int, pipe(steps) | pipe(told), 0));
	program = fork();
	if (!program)
		run_program();
	aggregate = aggregate_new();
	images = images_new(aggregate, 0, true);
	processes = processes_new(images);
	processes_start(processes, program, arguments, clock_now_ns());
	followed.processes = processes;
	followed_begin(&followed, followed_add(&followed, program));
}

static void take_step(void)
{
	cr_assert(eq(long, write(steps[1], "", 1), 1));
}

static void end(void)
{
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	followed_release(&followed);
	processes_free(processes);
	images_free(images);
	aggregate_free(aggregate);
}

/* That the parent has executed another program since is noticed before the child is. */
Test(followed, a_child_forked_before_an_exec_has_executed_nothing)
{
	pid_t child;

	start();
	look(); /* the first image: the program's own */
	take_step();
	cr_assert(eq(long, read(told[0], &child, sizeof(child)), sizeof(child)));
	usleep(50000);
	look();
	cr_expect(eq(sz, followed.groups.nr, 2));
	cr_expect(eq(sz, images_known(), 3), "the program, its second image, its child");
	take_step();
	usleep(50000);
	look();
	cr_expect(eq(sz, images_known(), 4), "and that of the child");
	kill(child, SIGKILL);
	end();
}
