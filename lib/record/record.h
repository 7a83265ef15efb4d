/* SPDX-License-Identifier: MIT */
/*
 * record - runs a program once and writes the profile of its CPU time and its heap; or watches
 * processes that run already, their CPU time only.
 *
 *	struct record_config config = { .arguments = argv, .output = "cprof.data", ... };
 *	struct record_result result;
 *	struct record *record;
 *
 *	if (record_run(&record, &config, &result, &err) < 0)
 *		return result.status;			// the program did not run
 *	name(result.path, record_module_fd, record);	// files are still open
 *	record_free(record);
 *	return result.status;				// the program's own
 *
 * The stages, each in a folder of its own, are joined by sides.h:
 *
 *	target ─ the program ──┬─ rings (events, ring) ─ order ─ stacks ──┐
 *	                       │                                          ├─ aggregate ─ store
 *	                       └─ heap shim ─ heap rings ─ heap model ────┘
 *
 * Five threads: this one (signals, the program), one reads perf's rings (sampler; where perf is refused
 * the stopper samples instead), one the heap's
 * (heap/collector), one looks at the memory of processes (memory), one writes the file (committer).
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "store/profile.h"

enum record_side {
	RECORD_AUTO, /* if it can be had; what cannot is said */
	RECORD_OFF,
	RECORD_REQUIRED, /* without it the program is not started */
};

enum record_heap {
	RECORD_HEAP_EXACT,
	RECORD_HEAP_SAMPLE,
	RECORD_HEAP_COUNTS,
};

enum record_call_graph {
	RECORD_STACKS_AUTO,
	RECORD_STACKS_DWARF,
	RECORD_STACKS_FRAME_POINTERS,
	RECORD_STACKS_NONE,
};

enum {
	RECORD_STACK_BYTES_MAX = 63 * 1024,
};

#define RECORD_SAMPLE_BYTES (UINT64_C(512) << 10)
#define RECORD_SAMPLE_BYTES_MIN (UINT64_C(1) << 10)
#define RECORD_SAMPLE_BYTES_MAX (UINT64_C(1) << 30)

/* As often as the kernel allows. */
#define RECORD_FREQUENCY_MOST UINT32_MAX

/* A zeroed struct with arguments and output is the default. */
struct record_config {
	char *const *arguments; /* of the program, itself first; NULL: */
	const pid_t *attach;	/* processes that run already */
	size_t nr_attach;
	const char *output;  /* output.h has what %p and the like mean */
	const char *options; /* as the user gave them, for the profile; NULL: none */

	enum record_side cpu, heap;
	enum record_heap heap_mode;
	bool page_faults;	    /* count for the blocks they are in */
	uint64_t heap_sample_bytes; /* of a sample: RECORD_SAMPLE_BYTES_MIN ... _MAX */
	const char *events;	    /* NULL: the default group */
	uint32_t frequency_hz;	    /* 0: 997 */
	uint64_t period;	    /* 0: by frequency */
	int64_t delay_ns;	    /* before which nothing is sampled; 0: at once */
	int64_t duration_ns; /* after the delay, then the recording ends; 0: with the program */
	bool no_inherit;     /* without what the program starts */
	enum record_call_graph call_graph;
	uint32_t stack_bytes; /* 0: 16 KiB, and more where stacks are deeper */
	const char *shim;     /* path of libcprof-heap.so; NULL: it was not found */

	/* Called by record_run()'s own thread, with what the user should know at once: message what
	 * is missing, remark what is done in another way than asked for.  May be NULL. */
	void (*message)(void *context, const char *message, const char *hint);
	void (*remark)(void *context, const char *message, const char *hint);
	void *context;
};

struct record_result {
	int status;		/* for exit(): the program's, 128 + N, or 125, 126, 127 */
	bool ran;		/* the program did */
	pid_t left;		/* it was left running, with this pid; 0: it ended */
	bool goes_on;		/* ... because the time was over: see record_outlast() */
	const char *asked_path; /* of the profile; until record_free() */
	const char *path;	/* where it really is; until record_free() */
	bool is_whole;		/* the profile was finished */
};

struct record;

/* Negative: the program did not run, or the profile could not be finished; see result. */
int record_run(struct record **record, const struct record_config *config,
	       struct record_result *result, struct error *err);
void record_free(struct record *record);

/*
 * After result->goes_on: waits for the program, passing on signals, and sets status and left in
 * result.  Nothing of it is recorded any more.
 */
void record_outlast(struct record *record, struct record_result *result);

/*
 * For a thread that gets no memory, which is to exit with the status returned.  While a program
 * runs it waits for its end first: what of it is in the file stays.  otherwise: where there is no
 * program.
 */
int record_status_without_memory(int otherwise);

/* For symbolize: the descriptor of this module of the profile, kept open, or -1. */
int record_module_fd(void *context, const struct profile_module *module);

#endif
