/* SPDX-License-Identifier: MIT */
/*
 * samplers - what unwinds a copy of a stack, as a sample has it: the recorder, and libdwfl.
 *
 *	sample_take(&sample);			// of the calling thread
 *	samplers_init();
 *	struct sampler *sampler = &samplers[i];
 *	void *state = sampler->new_state();
 *	nr_frames = sampler->walk(state, &sample);
 *	sampler->free(state);
 */
#ifndef BENCH_UNWIND_SAMPLERS_H
#define BENCH_UNWIND_SAMPLERS_H

#include <stddef.h>
#include <stdint.h>

enum {
	SAMPLE_BYTES = 16 * 1024,
	SAMPLERS_NR = 2,
};

struct sample {
	uint64_t registers[16]; /* by DWARF number */
	uint64_t pc;
	uint8_t bytes[SAMPLE_BYTES];
	size_t nr_bytes;
};

struct sampler {
	const char *name;
	void *(*new_state)(void); /* that has seen nothing yet */
	size_t (*walk)(void *state,
		       const struct sample *sample); /* frames up to the root; 0 without */
	void (*free)(void *state);
};

extern const struct sampler samplers[SAMPLERS_NR];

/* Looks at what this process has mapped. */
void samplers_init(void);

void sample_take(struct sample *sample);

#endif
