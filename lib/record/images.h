/* SPDX-License-Identifier: MIT */
/*
 * images - all images of a recording, which both of its sides know.
 *
 *	images = images_new(aggregate, start_ns, true);
 *	image = images_start(images, pid, arguments, now_ns);	// the program: image 0
 *	child = images_fork(images, image, pid, time_ns);
 *	image = images_exec(images, image, comm, &facts, time_ns);
 *	images_free(images);
 *
 * Perf's records start and end images by processes.h, hellos of the heap side by hellos.h;
 * endings.h is about how they ended and unaccounted.h about what the profile lacks of them.  Where
 * perf's records are there they decide, and they come late: passed_ns is the time that they have
 * reached.  What another thread says of a later time waits until then.
 *
 * All images are kept, for what is told of them late and for how they are called at the end, but not
 * their arguments, which are much: some seconds after the end they are in the profile only.
 */
#ifndef RECORD_IMAGES_H
#define RECORD_IMAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/aggregate/aggregate.h"
#include "record/image_facts.h"
#include "record/process_image.h"

/* How a process ended. */
struct ending {
	int32_t pid;
	int wait_status;
	uint64_t time_ns;
};

/* From then on the process had filters of system calls under which nothing is accounted. */
struct filtered {
	int32_t pid;
	int64_t since_us;
};

struct images {
	pthread_mutex_t lock; /* of all below and of every image */
	struct aggregate *aggregate;
	int64_t start_ns;
	bool has_records;
	bool of_program_only; /* those, not of what it starts */
	bool leave_running;
	void (*hear)(void *context);
	void *hear_context;
	uint64_t passed_ns;
	VEC(struct process_image *) all; /* in the order of their start; ids are indexes of it */
	struct map newest_of;		 /* by pid: the one before is its older */
	struct intern texts;		 /* executables, reasons */
	VEC(struct process_image *) running; /* and some that are over by now */
	VEC(struct process_image *) over;    /* which have their arguments yet, the first first */
	VEC(struct ending) endings;	     /* in the future of perf's records */
	VEC(struct filtered) filtered;
};

/* Times are of CLOCK_MONOTONIC.  has_records: there will be perf's. */
struct images *images_new(struct aggregate *aggregate, int64_t start_ns, bool has_records);
/* Perf's records will be of the program, whose children are as if there were none. */
void images_of_program_only(struct images *images);
/* Without perf's records: what returns when all that was said up to now is known. */
void images_hear_by(struct images *images, void (*hear)(void *context), void *context);
void images_free(struct images *images);

/* --- any thread may call these ----------------------------------------------------------------*/

/* The program itself, not executed yet. */
struct process_image *images_start(struct images *images, int32_t pid, char *const *arguments,
				   uint64_t time_ns);
/* One that runs already; facts: NULL: nothing is known of it. */
struct process_image *images_join(struct images *images, int32_t pid,
				  const struct image_facts *facts, uint64_t time_ns);
struct process_image *images_fork(struct images *images, const struct process_image *parent,
				  int32_t pid, uint64_t time_ns);
/* What runs after the exec; former: it is over already. */
struct process_image *images_exec(struct images *images, struct process_image *former,
				  const char *comm, const struct image_facts *facts,
				  uint64_t time_ns);
/* What an executed image did not know of itself at its exec. */
void images_learn(struct images *images, struct process_image *image,
		  const struct image_facts *facts);
/* What it knows may be of the image after it: forgotten, but for what it said itself.
 * first_code: the path of what it mapped first, which is its executable; NULL: not known. */
void images_doubt(struct images *images, struct process_image *image, const char *first_code);
bool images_knows_executable(struct images *images, const struct process_image *image);
void images_end(struct images *images, struct process_image *image, uint64_t time_ns);

/* Without perf's records: the program itself is executed now. */
void images_executed(struct images *images, const struct image_facts *facts);
/* What still runs at the end was left on purpose: that is no flaw of the recording. */
void images_leave_running(struct images *images);

/* The pid of each image that is not over. */
void images_each_running(struct images *images, void (*use)(void *context, int32_t pid),
			 void *context);
bool images_is_over(struct images *images, uint32_t id);
/* The image that the pid ran at this time; PROFILE_NONE: none, or it cannot be told yet, unless
 * at_last. */
uint32_t images_id_at(struct images *images, int32_t pid, uint64_t time_ns, bool at_last);

/* --- with the lock held: for those named above ------------------------------------------------*/

/* Whether perf's records tell of this process. */
bool images_have_records_of(const struct images *images, int32_t pid);
int64_t images_to_us(const struct images *images, uint64_t time_ns);
struct process_image *images_add(struct images *images, int32_t pid, uint32_t number,
				 uint32_t parent, uint64_t time_ns);
/* What the process of the former image, the newest that is known of it, executed then. */
struct process_image *images_replace(struct images *images, struct process_image *former,
				     uint64_t time_ns);
/* Writes the row out as it is now. */
void images_publish(struct images *images, struct process_image *image);
/* Once: what is over stays so. */
void images_end_locked(struct images *images, struct process_image *image, uint64_t time_ns);
/* The one of this pid that started last; NULL: none.  Others are its older ones. */
struct process_image *images_newest(const struct images *images, int32_t pid);
/* The image that the pid ran then; the newest if there was one by then. */
struct process_image *images_at(struct images *images, int32_t pid, int64_t time_us, bool executed);
/* NULL: there is none. */
struct process_image *images_by_id(struct images *images, uint32_t id);

#endif
