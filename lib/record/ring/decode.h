/* SPDX-License-Identifier: MIT */
/*
 * decode - what the bytes of a perf record say.
 *
 *	struct decoded decoded;
 *
 *	if (decode(&decoded, header, size, &layout) < 0)
 *		damaged++;
 *	else if (decoded.kind == DECODED_SAMPLE)
 *		use(decoded.sample.ip);
 *
 * What a record contains depends on the attributes of its event, so of all events in a ring
 * sample_type must have PERF_SAMPLE_IDENTIFIER: decode_id() finds it first, then the layout is
 * known.  Every length is checked: bytes may come from a file.  Pointers in the result point
 * into the record.
 */
#ifndef RECORD_RING_DECODE_H
#define RECORD_RING_DECODE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum decoded_kind {
	DECODED_OTHER, /* of no interest here */
	DECODED_SAMPLE,
	DECODED_MMAP,
	DECODED_COMM,
	DECODED_FORK,
	DECODED_EXIT,
	DECODED_LOST,
	DECODED_THROTTLE,
	DECODED_UNTHROTTLE,
};

struct decoded_sample {
	uint64_t ip;
	uint64_t period;
	bool in_kernel;
	const uint64_t *chain; /* leaf first, with PERF_CONTEXT_* marks */
	size_t nr_chain;
	const uint64_t *registers; /* as many as the mask has bits; NULL: none (kernel thread) */
	bool is_32_bit;		   /* of the registers */
	const uint8_t *stack;	   /* from sp on */
	size_t stack_bytes;
	bool stack_cut; /* there is more of the stack than was copied */
};

struct decoded_mmap {
	uint64_t start, end, pgoff;
	const char *path;
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	const uint8_t *build_id; /* NULL: the fields above count */
	size_t build_id_bytes;
	bool executable;
};

struct decoded {
	enum decoded_kind kind;
	uint64_t time_ns;
	uint64_t id; /* perf's, of the event */
	int32_t pid, tid;
	union {
		struct decoded_sample sample;
		struct decoded_mmap mmap;
		struct {
			const char *name;
			bool is_exec;
		} comm;
		struct {
			int32_t parent_pid, parent_tid;
		} task; /* FORK, EXIT */
		struct {
			uint64_t nr;
		} lost;
	};
};

struct decode_layout {
	uint64_t sample_type;
	uint64_t registers; /* mask */
};

/* The id of the event; 0 if the record is too short to have one. */
uint64_t decode_id(const struct perf_event_header *header, size_t size);

/* size: how many bytes there are, at least header->size.  -1: they do not make sense. */
int decode(struct decoded *decoded, const struct perf_event_header *header, size_t size,
	   const struct decode_layout *layout);

/*
 * Of the room for a copy of the stack mostly little is used.  How large the record is without the
 * rest; and that record, which decode() reads like the whole one.
 */
size_t decode_packed_size(const struct perf_event_header *header, const struct decoded *decoded);
void decode_pack(struct perf_event_header *packed, const struct perf_event_header *header,
		 const struct decoded *decoded);

#endif
