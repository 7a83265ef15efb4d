/* SPDX-License-Identifier: MIT */
/*
 * process_image - one image of a process: what a pid ran from a fork or exec to the next exec or
 * its end.
 *
 *	image = process_image_new(&texts, pid, number, parent_id, start_us);
 *	process_image_set_executable(image, "/bin/true");
 *	use(&image->row);
 *	process_image_free(image);
 *
 * An image is a row of the profile and owns its arguments; other strings are among the texts that
 * images share.  Where it is kept, and who may look at it when, is the matter of images.h.
 */
#ifndef RECORD_PROCESS_IMAGE_H
#define RECORD_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "store/profile.h"

struct process_image {
	struct profile_process row;
	bool over;
	bool is_seen;	     /* without perf's records: the CPU side knows what it executes */
	bool is_told;	     /* who executed it said so */
	uint64_t said_ns;    /* when it said hello; 0: not yet */
	uint64_t unheard_ns; /* by then it had not said hello; 0: it may have */
	char comm[16]; /* what the kernel called it at its exec, cut to 15 bytes; "": not known */
	int32_t said_parent_pid; /* by its hello; 0: nothing */
	bool is_put;		 /* into the queue of those that are over, see images.h */
	struct intern *texts;
	struct process_image *older; /* of the same pid; NULL: none */
};

struct process_image *process_image_new(struct intern *texts, int32_t pid, uint32_t number,
					uint32_t parent, int64_t start_us);
void process_image_free(struct process_image *image);

/* These copy what they are given; NULL: it is not known. */
void process_image_set_executable(struct process_image *image, const char *path);
void process_image_set_arguments(struct process_image *image, const char *const *arguments,
				 size_t nr);
void process_image_set_untracked_reason(struct process_image *image, const char *reason);
/* As waitpid() says. */
void process_image_set_wait_status(struct process_image *image, int wait_status);

/* Whether that may be its executable, by another path maybe: it has another root.  NULL: whatever it is. */
bool process_image_is_called(const struct process_image *image, const char *executable);

/* For what ended before its arguments could be read: the program alone.  False: it has some. */
bool process_image_need_arguments(struct process_image *image);
/* They are in the profile: from now on the row says only how many. */
void process_image_drop_arguments(struct process_image *image);
/* Or had some, and dropped them. */
bool process_image_has_arguments(const struct process_image *image);

/* What to call it in a message. */
const char *process_image_name(const struct process_image *image);

#endif
