/* SPDX-License-Identifier: MIT */
#include "record/ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
	RECORD_BYTES_MAX = 65536,
};

int ring_open(struct ring *ring, int fd, size_t data_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, page_bytes + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*ring = (struct ring){ 0 };
	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	ring->data = (const uint8_t *)page + page_bytes;
	ring->bytes = data_bytes;
	ring->whole = xmalloc(RECORD_BYTES_MAX);
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->bytes);
	free(ring->whole);
	*ring = (struct ring){ 0 };
}

static void give_back(struct ring *ring)
{
	if (ring->taken == ring->position)
		return;
	ring->position = ring->taken;
	__atomic_store_n(&ring->page->data_tail, ring->position, __ATOMIC_RELEASE);
}

static const struct perf_event_header *join(struct ring *ring, size_t at, size_t size)
{
	size_t first = ring->bytes - at;

	memcpy(ring->whole, ring->data + at, first);
	memcpy(ring->whole + first, ring->data, size - first);
	return (const struct perf_event_header *)ring->whole;
}

const struct perf_event_header *ring_next(struct ring *ring)
{
	const struct perf_event_header *header;
	uint64_t head;
	size_t at, size;

	if (!ring->page)
		return NULL;
	give_back(ring);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (head == ring->position)
		return NULL;

	/* Records start at multiples of 8 and so does the ring's end: a header never wraps. */
	at = ring->position & (ring->bytes - 1);
	header = (const struct perf_event_header *)(ring->data + at);
	size = header->size;
	if (size < sizeof(*header) || size % 8 || size > head - ring->position) {
		ring->damaged++;
		ring->taken = head;
		give_back(ring);
		return NULL;
	}
	ring->taken = ring->position + size;
	return at + size <= ring->bytes ? header : join(ring, at, size);
}
