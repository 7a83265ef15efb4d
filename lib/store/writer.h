/* SPDX-License-Identifier: MIT */
/*
 * writer - puts a profile into its file, a transaction at a time.
 *
 *	writer_open(&writer, "cprof.data", &err);
 *	while (recording) {
 *		writer_begin(writer);
 *		writer_put_module(writer, &module);	// by id: a later put replaces
 *		...
 *		writer_commit(writer, &err);		// once a second
 *	}
 *	writer_close(writer);
 *
 * For one thread.  Within a transaction the puts do not report: the first failure (disk full) is
 * kept, and writer_commit() rolls back and returns it.  From then on puts and commits do nothing
 * but return it again, because later rows would refer to lost ones; what was committed before
 * stays in the file.  ERR_BUSY from writer_commit() is no failure: somebody is reading the file
 * and did not get done within ten seconds; the next commit includes what this one would have.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "base/error.h"
#include "store/profile.h"

struct writer;

/*
 * Creates the profile at path, mode 0600 (under sudo, owned by the caller).  A profile already
 * there becomes path.old; if a recording in progress holds it, the new file is path.PID instead.
 * writer_path() tells what it became.  Something at path that is not a profile is ERR_FORMAT and
 * stays as it is.
 */
int writer_open(struct writer **writer, const char *path, struct error *err);
/* Opens a finished (or abandoned) profile to replace its names. */
int writer_open_existing(struct writer **writer, const char *path, struct error *err);
const char *writer_path(const struct writer *writer);
void writer_close(struct writer *writer);
/* Instead of close: removes what writer_open() made, and the profile that was there is back. */
void writer_discard(struct writer *writer);

void writer_begin(struct writer *writer);
int writer_commit(struct writer *writer, struct error *err);

void writer_put_run(struct writer *writer, const struct profile_run *run);
/* Anything else worth keeping, as text. */
void writer_put_meta(struct writer *writer, const char *key, const char *value);
void writer_put_event(struct writer *writer, const struct profile_event *event);
void writer_put_process(struct writer *writer, const struct profile_process *process);
void writer_put_thread(struct writer *writer, const struct profile_thread *thread);
void writer_put_module(struct writer *writer, const struct profile_module *module);
void writer_put_address(struct writer *writer, const struct profile_address *address);
void writer_put_stack(struct writer *writer, const struct profile_stack *stack);
void writer_put_first_sample(struct writer *writer, const struct profile_first_sample *sample);
/* At the next free microsecond if its own is taken. */
void writer_put_later_sample(struct writer *writer, const struct profile_later_sample *sample);
void writer_put_sample_sum(struct writer *writer, const struct profile_sample_sum *sum);
void writer_put_heap(struct writer *writer, const struct profile_heap *heap);
void writer_put_heap_site(struct writer *writer, const struct profile_heap_site *site);
void writer_put_heap_thread(struct writer *writer, const struct profile_heap_thread *thread);
void writer_put_heap_handoff(struct writer *writer, const struct profile_heap_handoff *handoff);
void writer_put_heap_size(struct writer *writer, const struct profile_heap_size *size);
/* Forgets the slices, or what was seen of the memory, of this process (PROFILE_NONE: the tree). */
void writer_clear_slices(struct writer *writer, uint32_t process);
void writer_clear_memory(struct writer *writer, uint32_t process);
void writer_put_slice(struct writer *writer, const struct profile_slice *slice);
void writer_put_memory(struct writer *writer, const struct profile_memory *memory);
/* Replaces the row of the same kind and detail. */
void writer_put_quality(struct writer *writer, const struct profile_quality *quality);

/* Symbolization: forget all functions and frames, then put new ones, in the same transaction.  The
 * profile counts as symbolized from then on. */
void writer_clear_symbols(struct writer *writer);
void writer_put_function(struct writer *writer, const struct profile_function *function);
void writer_put_frame(struct writer *writer, const struct profile_frame *frame);

#endif
