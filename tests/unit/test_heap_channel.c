/* SPDX-License-Identifier: MIT */
#include "record/heap/channel.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct channel channel;

static void open_channel(void)
{
	cr_assert_eq(channel_open(&channel, 8, NULL), 0);
}

static void close_channel(void)
{
	channel_close(&channel);
}

TestSuite(heap_channel, .init = open_channel, .fini = close_channel);

/* As its process sees it. */
static char *segment_of_process(uint32_t segment)
{
	char *memory = channel_map(&channel, wire_segment_at(segment), WIRE_SEGMENT_BYTES,
				   PROT_READ | PROT_WRITE);

	cr_assert(memory);
	return memory;
}

/* The pages of the segment that exist. */
static size_t nr_pages(uint32_t segment)
{
	off_t at = (off_t)wire_segment_at(segment), end = at + (off_t)WIRE_SEGMENT_BYTES;
	off_t bytes = 0, hole;

	while ((at = lseek(channel.fd, at, SEEK_DATA)) >= 0 && at < end) {
		hole = lseek(channel.fd, at, SEEK_HOLE);
		bytes += hole - at;
		at = hole;
	}
	return (size_t)(bytes / sysconf(_SC_PAGESIZE));
}

/* In all parts, and where no correct process writes. */
static const uint64_t places[] = { 0,
				   offsetof(struct wire_segment, ring[WIRE_RINGS - 1]),
				   WIRE_MODULES_AT + 4095,
				   WIRE_TEXT_AT + WIRE_TEXT_BYTES - 1,
				   WIRE_NODES_AT - 1,
				   WIRE_NODES_AT + 123456,
				   WIRE_SLOTS_AT + 99999,
				   WIRE_SEGMENT_BYTES - 1 };
enum { NR_PLACES = sizeof(places) / sizeof(places[0]) };

static void scribble(char *memory)
{
	for (size_t i = 0; i < NR_PLACES; i++)
		memory[places[i]] = 'x';
}

Test(heap_channel, gives_a_segment_to_the_next_process_zeroed_but_with_its_pages)
{
	char *memory = segment_of_process(3);
	const char *ours = channel_segment(&channel, 3);

	channel.control->owner[3] = 42;
	scribble(memory);
	channel_recycle(&channel, 3);

	for (size_t i = 0; i < NR_PLACES; i++)
		cr_assert_eq(memory[places[i]], 0, "at %#llx", (unsigned long long)places[i]);
	cr_assert_eq(nr_pages(3), NR_PLACES);
	cr_assert_eq(channel.control->owner[3], 0);
	cr_assert_eq(channel_segment(&channel, 3), ours);
}

Test(heap_channel, gives_back_the_pages_of_a_segment_that_has_many)
{
	char *memory = segment_of_process(0);

	channel_segment(&channel, 0);
	scribble(memory);
	memset(memory + WIRE_SLOTS_AT, 'x', 1 << 20);
	channel_recycle(&channel, 0);
	cr_assert_eq(nr_pages(0), 0);
	cr_assert_eq(memory[0], 0);
}

Test(heap_channel, gives_back_the_pages_of_segments_that_are_seldom_used)
{
	char *memory = segment_of_process(WIRE_SEGMENTS - 1);

	scribble(memory);
	channel_recycle(&channel, WIRE_SEGMENTS - 1);
	cr_assert_eq(nr_pages(WIRE_SEGMENTS - 1), 0);
}
