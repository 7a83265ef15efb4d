/* SPDX-License-Identifier: MIT */
/*
 * ring - reads one perf ring buffer.
 *
 *	struct ring ring = { 0 };
 *	const struct perf_event_header *header;
 *
 *	ring_open(&ring, fd, 128 * page_size);
 *	while ((header = ring_next(&ring)))
 *		use(header, header->size);	// valid until the next call
 *	ring_close(&ring);
 *
 * A record that wraps around the end is put together first.  Space goes back to the kernel one
 * record at a time.  Records that the kernel had to drop appear as PERF_RECORD_LOST, in place.  Not
 * for overwrite (backward) rings.  A ring that is not open is empty.
 */
#ifndef RECORD_RING_RING_H
#define RECORD_RING_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes;	   /* of data, a power of two */
	uint64_t position; /* of the next record, like data_head never wrapping */
	uint64_t taken;	   /* end of the one given out */
	uint8_t *whole;	   /* a record put together */
	uint64_t damaged;  /* times that what was there was no record */
};

/* Maps data_bytes (a power of two pages) of fd, which stays the caller's: 0 or -errno. */
int ring_open(struct ring *ring, int fd, size_t data_bytes);
void ring_close(struct ring *ring);

const struct perf_event_header *ring_next(struct ring *ring);

#endif
