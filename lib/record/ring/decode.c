/* SPDX-License-Identifier: MIT */
#include "record/ring/decode.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

/* Takes values off the front.  Once something was missing, all further values are 0. */
struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static const void *take(struct cursor *cursor, size_t size)
{
	const void *taken = cursor->at;

	if (cursor->failed || size > (size_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size;
	return taken;
}

static uint64_t take_u64(struct cursor *cursor)
{
	const void *bytes = take(cursor, sizeof(uint64_t));
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint32_t take_u32(struct cursor *cursor)
{
	const void *bytes = take(cursor, sizeof(uint32_t));
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static const uint64_t *take_words(struct cursor *cursor, uint64_t nr)
{
	/* Checked before the multiplication. */
	if (nr > (size_t)(cursor->end - cursor->at) / sizeof(uint64_t)) {
		cursor->failed = true;
		return NULL;
	}
	return take(cursor, nr * sizeof(uint64_t));
}

/* What is left up to the terminating zero, which has to be there. */
static const char *take_text(struct cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	size_t left = (size_t)(cursor->end - cursor->at);

	if (cursor->failed || !memchr(text, '\0', left)) {
		cursor->failed = true;
		return "";
	}
	return text;
}

static struct cursor start(const struct perf_event_header *header, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)header;
	struct cursor cursor = { .failed = true };

	if (size < sizeof(*header) || header->size < sizeof(*header) || header->size > size)
		return cursor;
	return (struct cursor){ .at = bytes + sizeof(*header), .end = bytes + header->size };
}

uint64_t decode_id(const struct perf_event_header *header, size_t size)
{
	struct cursor cursor = start(header, size);

	if (cursor.failed || cursor.end - cursor.at < 8)
		return 0;
	if (header->type != PERF_RECORD_SAMPLE)
		cursor.at = cursor.end - 8;
	return take_u64(&cursor);
}

/* What sample_id_all puts behind every other record: takes it off the end. */
static void take_trailer(struct cursor *cursor, struct decoded *decoded, uint64_t sample_type)
{
	static const uint64_t fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					   PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					   PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
	struct cursor trailer = *cursor;
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		size += sample_type & fields[i] ? 8 : 0;
	if (size > (size_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return;
	}
	trailer.at = cursor->end -= size;

	if (sample_type & PERF_SAMPLE_TID) {
		decoded->pid = (int32_t)take_u32(&trailer);
		decoded->tid = (int32_t)take_u32(&trailer);
	}
	if (sample_type & PERF_SAMPLE_TIME)
		decoded->time_ns = take_u64(&trailer);
	if (sample_type & PERF_SAMPLE_IDENTIFIER) {
		trailer.at = trailer.end - 8;
		decoded->id = take_u64(&trailer);
	}
}

static void take_registers(struct cursor *cursor, struct decoded_sample *sample, uint64_t mask)
{
	uint64_t abi = take_u64(cursor);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	sample->is_32_bit = abi == PERF_SAMPLE_REGS_ABI_32;
	sample->registers = take_words(cursor, (uint64_t)__builtin_popcountll(mask));
}

static void take_stack(struct cursor *cursor, struct decoded_sample *sample)
{
	uint64_t room = take_u64(cursor), valid;

	if (!room)
		return;
	sample->stack = room % 8 ? NULL : (const uint8_t *)take_words(cursor, room / 8);
	if (!sample->stack)
		cursor->failed = true;
	valid = take_u64(cursor);
	if (valid > room)
		cursor->failed = true;
	sample->stack_bytes = valid;
	sample->stack_cut = valid == room;
}

/* The order is that of perf_event_open(2). */
static void take_sample(struct cursor *cursor, struct decoded *decoded, uint16_t misc,
			const struct decode_layout *layout)
{
	struct decoded_sample *sample = &decoded->sample;
	uint64_t type = layout->sample_type;
	const uint64_t unknown =
		~(uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);

	if (type & unknown) {
		cursor->failed = true;
		return;
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		decoded->id = take_u64(cursor);
	if (type & PERF_SAMPLE_IP)
		sample->ip = take_u64(cursor);
	if (type & PERF_SAMPLE_TID) {
		decoded->pid = (int32_t)take_u32(cursor);
		decoded->tid = (int32_t)take_u32(cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		decoded->time_ns = take_u64(cursor);
	if (type & PERF_SAMPLE_CPU)
		take_u64(cursor);
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = take_u64(cursor);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		sample->nr_chain = take_u64(cursor);
		sample->chain = take_words(cursor, sample->nr_chain);
	}
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(cursor, sample, layout->registers);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(cursor, sample);
	sample->in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static void take_build_id(struct cursor *cursor, struct decoded_mmap *mmap)
{
	const uint8_t *field = take(cursor, 24); /* u8 size, 3 unused, 20 bytes */

	if (!field)
		return;
	mmap->build_id = field + 4;
	mmap->build_id_bytes = field[0];
	if (field[0] > 20)
		cursor->failed = true;
}

static void take_mmap(struct cursor *cursor, struct decoded *decoded, uint16_t misc)
{
	struct decoded_mmap *mmap = &decoded->mmap;
	uint64_t length;

	decoded->pid = (int32_t)take_u32(cursor);
	decoded->tid = (int32_t)take_u32(cursor);
	mmap->start = take_u64(cursor);
	length = take_u64(cursor);
	mmap->pgoff = take_u64(cursor);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		take_build_id(cursor, mmap);
	} else {
		mmap->device_major = take_u32(cursor);
		mmap->device_minor = take_u32(cursor);
		mmap->inode = take_u64(cursor);
		mmap->inode_generation = take_u64(cursor);
	}
	mmap->executable = take_u32(cursor) & PROT_EXEC;
	take_u32(cursor); /* flags */
	mmap->path = take_text(cursor);

	if (__builtin_add_overflow(mmap->start, length, &mmap->end))
		cursor->failed = true;
}

static void take_task(struct cursor *cursor, struct decoded *decoded)
{
	decoded->pid = (int32_t)take_u32(cursor);
	decoded->task.parent_pid = (int32_t)take_u32(cursor);
	decoded->tid = (int32_t)take_u32(cursor);
	decoded->task.parent_tid = (int32_t)take_u32(cursor);
	decoded->time_ns = take_u64(cursor);
}

static void take_comm(struct cursor *cursor, struct decoded *decoded, uint16_t misc)
{
	decoded->pid = (int32_t)take_u32(cursor);
	decoded->tid = (int32_t)take_u32(cursor);
	decoded->comm.name = take_text(cursor);
	decoded->comm.is_exec = misc & PERF_RECORD_MISC_COMM_EXEC;
}

static enum decoded_kind kind_of(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
		return DECODED_SAMPLE;
	case PERF_RECORD_MMAP2:
		return DECODED_MMAP;
	case PERF_RECORD_COMM:
		return DECODED_COMM;
	case PERF_RECORD_FORK:
		return DECODED_FORK;
	case PERF_RECORD_EXIT:
		return DECODED_EXIT;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return DECODED_LOST;
	case PERF_RECORD_THROTTLE:
		return DECODED_THROTTLE;
	case PERF_RECORD_UNTHROTTLE:
		return DECODED_UNTHROTTLE;
	default:
		return DECODED_OTHER;
	}
}

int decode(struct decoded *decoded, const struct perf_event_header *header, size_t size,
	   const struct decode_layout *layout)
{
	struct cursor cursor = start(header, size);

	if (cursor.failed)
		return -1;
	*decoded = (struct decoded){ .kind = kind_of(header->type) };
	if (decoded->kind != DECODED_SAMPLE)
		take_trailer(&cursor, decoded, layout->sample_type);

	switch (decoded->kind) {
	case DECODED_SAMPLE:
		take_sample(&cursor, decoded, header->misc, layout);
		break;
	case DECODED_MMAP:
		take_mmap(&cursor, decoded, header->misc);
		break;
	case DECODED_COMM:
		take_comm(&cursor, decoded, header->misc);
		break;
	case DECODED_FORK:
	case DECODED_EXIT:
		take_task(&cursor, decoded);
		break;
	case DECODED_LOST:
		if (header->type == PERF_RECORD_LOST)
			take_u64(&cursor); /* id */
		decoded->lost.nr = take_u64(&cursor);
		break;
	default:
		break;
	}
	return cursor.failed ? -1 : 0;
}

/* --- packing ----------------------------------------------------------------------------------*/

/* Of a copy that is not full: whole words, one byte more at least, as it has to stay so. */
static size_t packed_room(const struct decoded_sample *sample)
{
	return (sample->stack_bytes + 8) & ~(size_t)7;
}

/* Up to the copy, with its size. */
static size_t before_stack(const struct perf_event_header *header,
			   const struct decoded_sample *sample)
{
	return (size_t)(sample->stack - (const uint8_t *)header);
}

static bool can_be_packed(const struct decoded *decoded)
{
	return decoded->kind == DECODED_SAMPLE && decoded->sample.stack &&
	       !decoded->sample.stack_cut;
}

size_t decode_packed_size(const struct perf_event_header *header, const struct decoded *decoded)
{
	const struct decoded_sample *sample = &decoded->sample;

	return can_be_packed(decoded)
		       ? before_stack(header, sample) + packed_room(sample) + sizeof(uint64_t)
		       : header->size;
}

void decode_pack(struct perf_event_header *packed, const struct perf_event_header *header,
		 const struct decoded *decoded)
{
	const struct decoded_sample *sample = &decoded->sample;
	uint8_t *to = (uint8_t *)packed;
	size_t before;

	if (!can_be_packed(decoded)) {
		memcpy(packed, header, header->size);
		return;
	}
	const uint64_t room = packed_room(sample), valid = sample->stack_bytes;

	before = before_stack(header, sample);
	memcpy(to, header, before - sizeof(room));
	memcpy(to + before - sizeof(room), &room, sizeof(room));
	memcpy(to + before, sample->stack, valid);
	memset(to + before + valid, 0, room - valid);
	memcpy(to + before + room, &valid, sizeof(valid));
	packed->size = (uint16_t)(before + room + sizeof(valid));
}
