/* SPDX-License-Identifier: MIT */
/*
 * rest - what of the stack follows the copy of a sample, read from the program at once.
 *
 *	struct rest_reader reader = { 0 };
 *	struct stack_rest *rest = rest_read(&reader, &decoded); // as soon as there is the record
 *	...
 *	free(rest);
 *	rest_reader_release(&reader);
 *
 * A sample is walked a millisecond after it was taken at the earliest, see merge.h.  By then the frame
 * where the copy ends has often returned; a tenth of a millisecond after the sample half as often.
 */
#ifndef RECORD_REST_H
#define RECORD_REST_H

#include "record/ring/decode.h"
#include "record/stacks/words.h"

struct rest_reader {
	uint8_t *room; /* that is in memory already: nothing is to be waited for */
};

/* NULL: all of the stack was copied, or the program has nothing there any more. */
struct stack_rest *rest_read(struct rest_reader *reader, const struct decoded *decoded);
void rest_reader_release(struct rest_reader *reader);

#endif
