/* SPDX-License-Identifier: MIT */
#include "record/stops/stops.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/stops/group.h"
#include "record/stops/task.h"

/* A child that counts in shared memory, until it is killed. */
struct child {
	pid_t pid;
	volatile uint64_t *count;
};

static struct child start_child(void)
{
	struct child child = { .count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0) };

	child.pid = fork();
	if (!child.pid)
		for (;;)
			++*child.count;
	while (!*child.count)
		usleep(1000);
	return child;
}

static int end_child(const struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	cr_assert(eq(int, waitpid(child->pid, &status, 0), child->pid));
	return status;
}

static bool counts(const struct child *child)
{
	uint64_t before = *child->count;

	for (int i = 0; i < 1000 && *child->count == before; i++)
		usleep(10000);
	return *child->count != before;
}

static void open_stops(struct stops *stops, pid_t child)
{
	struct error err = ERROR_INIT;

	if (stops_probe(child, &err) < 0)
		cr_skip_test("%s", err.message);
	cr_assert(eq(int, stops_open(stops, child, &err), 0));
}

/* Within ten seconds. */
static void wait_for_stop(struct stops *stops, struct stop *stop)
{
	uint64_t until_ns = clock_now_ns() + UINT64_C(10000000000);

	while (!stops_wait(stops, -1, until_ns, stop))
		cr_assert(clock_now_ns() < until_ns);
}

static void stop_thread(struct stops *stops, pid_t tid, struct stop *stop)
{
	cr_assert(eq(int, stops_ask(stops, tid), 0));
	wait_for_stop(stops, stop);
}

Test(stops, a_thread_stands_still_while_it_is_looked_at_and_goes_on)
{
	struct child child = start_child();
	struct stop_registers registers;
	struct stops stops;
	struct stop stop;

	open_stops(&stops, child.pid);
	cr_assert(eq(int, stops_ask(&stops, child.pid), 0));
	cr_assert(eq(int, stops_ask(&stops, child.pid), -EALREADY));
	wait_for_stop(&stops, &stop);
	cr_assert(eq(int, stop.tid, child.pid));
	cr_assert(eq(int, stop_read(&stop, &registers), 0));
	uint64_t count = *child.count;
	usleep(50000);
	cr_expect(eq(u64, *child.count, count));
	cr_expect(ne(u64, registers.pc, 0));
	cr_expect(ne(u64, registers.sp, 0));
	cr_expect(eq(int, registers.ends_call, false));
	stops_let_go(&stops, &stop);
	cr_expect(eq(int, counts(&child), true));
	stops_close(&stops);
	cr_assert(eq(int, WTERMSIG(end_child(&child)), SIGKILL));
}

Test(stops, a_thread_that_is_killed_meanwhile_is_left_to_its_parent)
{
	struct child child = start_child();
	struct stops stops;
	struct stop stop;

	open_stops(&stops, child.pid);
	stop_thread(&stops, child.pid, &stop);
	kill(child.pid, SIGKILL);
	stops_let_go(&stops, &stop);
	while (stops.pending.nr)
		stops_wait(&stops, -1, clock_now_ns() + 1000000, &stop);
	cr_assert(eq(int, WTERMSIG(end_child(&child)), SIGKILL));
	stops_close(&stops);
}

Test(stops, a_signal_that_comes_meanwhile_is_delivered)
{
	struct child child = start_child();
	struct stops stops;
	struct stop stop;

	open_stops(&stops, child.pid);
	stop_thread(&stops, child.pid, &stop);
	kill(child.pid, SIGUSR1);
	stops_let_go(&stops, &stop);
	int status;
	cr_assert(eq(int, waitpid(child.pid, &status, 0), child.pid));
	cr_assert(eq(int, WTERMSIG(status), SIGUSR1));
	stops_close(&stops);
}

Test(stops, a_timer_fires_when_the_process_has_used_so_much)
{
	struct child child = start_child();
	struct group *group = group_new(child.pid);
	struct stops stops;

	open_stops(&stops, child.pid);
	cr_expect(eq(int, group_has_fired(group), true));
	group_arm(group, UINT64_C(1000000000000));
	cr_expect(eq(int, group_has_fired(group), false));
	group_arm(group, 20000000);
	for (int i = 0; i < 1000 && !group_has_fired(group); i++)
		usleep(10000);
	cr_expect(eq(int, group_has_fired(group), true));
	group_free(group);
	end_child(&child);
	stops_close(&stops);
}

#if defined(__x86_64__)
Test(stops, a_thread_that_waits_in_a_system_call_stops_at_its_end)
{
	struct child child = { .pid = fork() };
	struct task_look look = { 0 };
	struct stop_registers registers;
	struct stops stops;
	struct stop stop;
	struct task task;

	while (!child.pid)
		pause();
	open_stops(&stops, child.pid);
	cr_assert(eq(int, task_open(&task, child.pid, child.pid), 0));
	while (look.state != 'S')
		cr_assert(eq(int, task_look(&task, &look), 0));
	stop_thread(&stops, child.pid, &stop);
	cr_assert(eq(int, stop_read(&stop, &registers), 0));
	cr_expect(eq(int, registers.ends_call, true));
	stops_let_go(&stops, &stop);
	task_close(&task);
	end_child(&child);
	stops_close(&stops);
}
#endif

static uint64_t own_kernel_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
}

Test(stops, the_time_of_a_thread_in_the_kernel_is_known_by_the_tick)
{
	const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct task_look look;
	struct task task;
	uint64_t before_us;

	while (own_kernel_us() < 3 * tick_us)
		getppid();
	cr_assert(eq(int, task_open(&task, getpid(), gettid()), 0));
	before_us = own_kernel_us();
	cr_assert(eq(int, task_look(&task, &look), 0));
	cr_expect(ge(u64, look.kernel_ns / 1000 + tick_us, before_us));
	cr_expect(le(u64, look.kernel_ns / 1000, own_kernel_us()));
	task_close(&task);
}

Test(stops, an_exec_makes_another_program_of_it_and_a_fork_does_not)
{
	struct task_look own, forked, executed;
	struct child child;
	struct task task;
	int ready[2];
	char byte;

	prctl(PR_SET_NAME, "a) (b");
	child = start_child();
	cr_assert(eq(int, task_open(&task, getpid(), getpid()), 0));
	cr_assert(eq(int, task_look(&task, &own), 0));
	task_close(&task);
	cr_assert(eq(int, task_open(&task, child.pid, child.pid), 0));
	cr_assert(eq(int, task_look(&task, &forked), 0));
	task_close(&task);
	end_child(&child);
	cr_expect(eq(u64, own.program, forked.program));
	cr_expect(ne(u64, own.program, 0));
	cr_expect(eq(str, forked.name, "a) (b"));

	cr_assert(eq(int, pipe(ready), 0));
	child.pid = fork();
	if (!child.pid) {
		dup2(ready[1], STDOUT_FILENO);
		execlp("sh", "sh", "-c", "echo; while :; do :; done", NULL);
		_exit(1);
	}
	close(ready[1]);
	cr_assert(eq(int, (int)read(ready[0], &byte, 1), 1));
	cr_assert(eq(int, task_open(&task, child.pid, child.pid), 0));
	cr_assert(eq(int, task_look(&task, &executed), 0));
	cr_expect(ne(u64, executed.program, own.program));
	cr_expect(ne(u64, executed.program, 0));
	task_close(&task);
	end_child(&child);
}
