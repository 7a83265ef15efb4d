/* SPDX-License-Identifier: MIT */
#include "record/stops/halt.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proc_file.h"
#include "base/vec.h"

enum {
	STEP_NS = 300000000,
	STEPS_MAX = 20,
};

/* As in proc(5); X: it has ended. */
static char state_of(pid_t tid)
{
	char text[4096];
	const char *name_end = NULL;

	if (proc_text(tid, "stat", text, sizeof(text)))
		name_end = strrchr(text, ')');
	return name_end && name_end[1] ? name_end[2] : 'X';
}

/* It has ended, or is in the hands of a debugger and stopped already. */
static bool is_still(pid_t tid)
{
	return strchr("tTZX", state_of(tid)) != NULL;
}

static size_t ask_new(struct halt *halt, pid_t pid)
{
	struct attach_threads threads = { 0 };
	size_t nr = 0;

	attach_threads(pid, &threads);
	vec_each(&threads, tid)
	{
		if (map_find(&halt->known, (uint64_t)*tid))
			continue;
		map_set(&halt->known, (uint64_t)*tid, 1);
		vec_push(&halt->threads, *tid);
		if (stops_ask(&halt->stops, *tid) < 0)
			halt->others_trace |= !is_still(*tid);
		nr++;
	}
	vec_free(&threads);
	return nr;
}

static bool has_stopped(const struct halt *halt, pid_t tid)
{
	vec_each(&halt->halted, stop) if (stop->tid == tid) return true;
	return false;
}

/* Or has stopped by now, or ended. */
static bool is_runnable(pid_t tid)
{
	return strchr("RtZX", state_of(tid)) != NULL;
}

/* Where many others run, one may get none for a second. */
static bool wait_for_cpus(const struct halt *halt)
{
	bool all = true;

	vec_each(&halt->stops.pending, tid) all &= has_stopped(halt, *tid) || is_runnable(*tid);
	return all;
}

static bool stop_asked(struct halt *halt)
{
	for (int i = 0; i < STEPS_MAX && (!i || wait_for_cpus(halt)); i++)
		if (stops_halt(&halt->stops, &halt->halted, clock_now_ns() + STEP_NS))
			return true;
	return false;
}

/* One that was asked may start another before it stops, which has to be found then: each of them
 * stops for one that is new, so this comes to an end. */
static bool stop_all(struct halt *halt, const struct attach *attach)
{
	unsigned int looks = 0;
	size_t nr_new;

	do {
		nr_new = 0;
		vec_each(attach, process) nr_new += ask_new(halt, process->pid);
		looks++;
		if (halt->others_trace || !stop_asked(halt))
			return false;
	} while (nr_new);
	log_debug(LOG_TARGET, "%zu threads stopped, looked for %u times", halt->halted.nr, looks);
	return true;
}

int halt_begin(struct halt *halt, const struct attach *attach, struct error *err)
{
	int ret = 0;

	*halt = (struct halt){ 0 };
	vec_each(attach, process)
	{
		ret = stops_probe(process->pid, err);
		if (ret < 0 && ret != -ESRCH)
			return ret;
	}
	ret = stops_open(&halt->stops, 0, err);
	if (ret < 0)
		return ret;
	if (!stop_all(halt, attach)) {
		halt_end(halt);
		return error_set(err, -EAGAIN,
				 halt->others_trace ? "another program traces its threads"
						    : "its threads do not stop");
	}
	return 0;
}

/* Reading one also has an interrupted system call taken up again. */
void halt_end(struct halt *halt)
{
	struct stop_registers registers;

	vec_each(&halt->halted, stop)
	{
		stop_read(stop, &registers);
		stops_let_go(&halt->stops, stop);
	}
	stops_close(&halt->stops);
	vec_free(&halt->halted);
	vec_free(&halt->threads);
	map_release(&halt->known);
}
