/* SPDX-License-Identifier: MIT */
/*
 * processes - who ran when: the processes of a recording, their images, threads and mappings.
 *
 *	processes = processes_new(aggregate, start_ns, true);
 *	processes_start(processes, pid, arguments, now_ns);	// the program: image 0
 *
 *	processes_fork(processes, &fork);	// perf's records, in the order of time
 *	processes_exec(processes, time_ns, pid, name, &facts);
 *	process = processes_at(processes, time_ns, pid);
 *	use(&process->space, processes_thread(processes, process, tid, time_ns));
 *	processes_passed(processes, time_ns);	// all records up to this time have been told
 *
 *	id = processes_hello(processes, &hello);	// from the heap side, any thread
 *	processes_finish(processes, now_ns, true);	// names what had no heap side, and why
 *
 * A fork starts a process, an exec the next image of it; each has a row of its own.  Images are
 * known to both sides of a recording.  Where perf's records are there they decide, and a hello
 * belongs to the image that the pid ran at that time; without perf each hello starts one.
 */
#ifndef RECORD_PROCESSES_H
#define RECORD_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "object/space.h"
#include "record/aggregate/aggregate.h"
#include "record/image_facts.h"

struct process {
	uint32_t id; /* of the image that runs now; profile's */
	int32_t pid;
	bool has_executable; /* its path is known */
	struct space space;
	/* ... and what only processes.c looks at. */
	struct image *image;
	char *name; /* comm */
	uint32_t nr_images;
	struct process_thread {
		int32_t tid;
		struct profile_thread row;
	} * threads;
	size_t nr_threads, threads_room;
	size_t nr_live;
};

struct processes;

/* Times are of CLOCK_MONOTONIC.  has_records: there will be perf's. */
struct processes *processes_new(struct aggregate *aggregate, int64_t start_ns, bool has_records);
void processes_free(struct processes *processes);

void processes_start(struct processes *processes, int32_t pid, char *const *arguments,
		     uint64_t time_ns);

/* A process that runs already, as it is now. */
struct process *processes_attach(struct processes *processes, int32_t pid,
				 const struct image_facts *facts, uint64_t time_ns);
/* What still runs at the end was left on purpose: that is no flaw of the recording. */
void processes_leave_running(struct processes *processes);

struct process_fork {
	uint64_t time_ns;
	int32_t pid, tid;
	int32_t parent_pid, parent_tid;
};
/* Of a thread (pid == parent_pid) or process. */
void processes_fork(struct processes *processes, const struct process_fork *fork);
void processes_exec(struct processes *processes, uint64_t time_ns, int32_t pid, const char *name,
		    const struct image_facts *facts);
/* What the image that runs now did not know of itself at its exec. */
void processes_learn(struct processes *processes, struct process *process,
		     const struct image_facts *facts);
void processes_rename(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid,
		      const char *name);
void processes_exit(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid);

/* The process with this pid, now in the order of records; made up if nobody told of it. */
struct process *processes_at(struct processes *processes, uint64_t time_ns, int32_t pid);
/* The profile's id of a thread; made up if nobody told of it. */
uint32_t processes_thread(struct processes *processes, struct process *process, int32_t tid,
			  uint64_t time_ns);

void processes_passed(struct processes *processes, uint64_t time_ns);

/* Without perf's records: the program itself is executed now. */
void processes_executed(struct processes *processes, const struct image_facts *facts);

/* --- the heap side: these may be called by another thread -------------------------------------*/

struct process_hello {
	int32_t pid, parent_pid;
	bool is_forked;	  /* not executed */
	uint64_t time_ns; /* when its heap began to be accounted */
	const char *executable;
	char *const *arguments;
	size_t nr_arguments;
};
/* The image that said so, now tracked; PROFILE_NONE: cannot be told yet, ask again later. */
uint32_t processes_hello(struct processes *processes, const struct process_hello *hello);
/* The same when there are no more records to wait for. */
uint32_t processes_hello_at_last(struct processes *processes, const struct process_hello *hello);
/* Its heap was not accounted, or no longer. */
void processes_untracked(struct processes *processes, uint32_t id, const char *reason);
/* It is over; where there are perf's records, they decide. */
void processes_ended(struct processes *processes, uint32_t id, uint64_t time_ns);

/* How the process that had this pid then ended, or is about to end: as wait() says. */
void processes_ended_as(struct processes *processes, int32_t pid, uint64_t time_ns,
			int wait_status);

/* --- who runs: any thread may ask -------------------------------------------------------------*/

/* The pid of each image that is not over. */
void processes_each_running(struct processes *processes, void (*use)(void *context, int32_t pid),
			    void *context);
/* The image that the pid ran at this time; PROFILE_NONE: none, or it cannot be told yet, unless
 * at_last. */
uint32_t processes_image_at(struct processes *processes, int32_t pid, uint64_t time_ns,
			    bool at_last);

/* --- at the end -------------------------------------------------------------------------------*/

/* How the program ended: as waitpid() says. */
void processes_program_ended(struct processes *processes, uint64_t time_ns, int wait_status);
/* heap_on: images without a hello are listed as untracked, each with its reason. */
void processes_finish(struct processes *processes, uint64_t time_ns, bool heap_on);
/* Whether any image's heap was accounted. */
bool processes_any_tracked(const struct processes *processes);
/* Why the program itself was not tracked, after processes_finish(); NULL: it was. */
const char *processes_untracked_reason(const struct processes *processes);

#endif
