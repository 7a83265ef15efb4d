/* SPDX-License-Identifier: MIT */
/*
 * processes - what perf's records say: the processes of a recording, their threads and mappings.
 *
 *	processes = processes_new(images);
 *	processes_start(processes, pid, arguments, now_ns);	// the program
 *
 *	processes_fork(processes, &fork);	// perf's records, in the order of time
 *	processes_exec(processes, time_ns, pid, name, &facts);
 *	process = processes_at(processes, time_ns, pid);
 *	use(&process->space, processes_thread(processes, process, tid, time_ns));
 *	processes_passed(processes, time_ns);	// all records up to this time have been told
 *	processes_free(processes);
 *
 * A fork starts a process, an exec the next image of it; each has a row of its own among the
 * images, which the heap side knows as well.  The rest belongs to the thread that tells of the
 * records, and is forgotten some seconds after the end of the process or thread.
 */
#ifndef RECORD_PROCESSES_H
#define RECORD_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "object/space.h"
#include "record/images.h"

struct process {
	uint32_t id; /* of the image that runs now; profile's */
	int32_t pid;
	struct space space;
	/* ... and what only processes.c looks at. */
	struct process_image *image;
	bool has_executable;	/* its path is known */
	const char *first_code; /* the path of what it mapped first; NULL: nothing yet */
	uint64_t facts_ns;	/* when they were read; see image_facts.h */
	char *name;		/* comm */
	struct process_thread {
		int32_t tid;
		struct profile_thread row;
	} * threads;
	size_t nr_threads, threads_room;
	size_t nr_live;
	uint64_t ended_ns; /* when none was live; it may go on with one that nobody told of */
};

struct processes;

/* Uses images and does not take it over.  Times are of CLOCK_MONOTONIC. */
struct processes *processes_new(struct images *images);
void processes_free(struct processes *processes);

void processes_start(struct processes *processes, int32_t pid, char *const *arguments,
		     uint64_t time_ns);

/* A process that runs already, as it is now; facts: NULL: nothing is known of it. */
struct process *processes_attach(struct processes *processes, int32_t pid,
				 const struct image_facts *facts, uint64_t time_ns);

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
/* It has mapped code of this file, whose path stays valid. */
void processes_map_code(struct processes *processes, struct process *process, const char *path);
void processes_rename(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid,
		      const char *name);
void processes_exit(struct processes *processes, uint64_t time_ns, int32_t pid, int32_t tid);

/* The process with this pid, now in the order of records; made up if nobody told of it. */
struct process *processes_at(struct processes *processes, uint64_t time_ns, int32_t pid);
/* The profile's id of a thread; made up if nobody told of it. */
uint32_t processes_thread(struct processes *processes, struct process *process, int32_t tid,
			  uint64_t time_ns);

void processes_passed(struct processes *processes, uint64_t time_ns);

#endif
