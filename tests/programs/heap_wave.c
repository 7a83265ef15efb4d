// SPDX-License-Identifier: MIT
/*
 * heap_wave LOG CYCLES STEPS BYTES PAUSE_US
 *
 * A heap that rises in STEPS steps of BYTES bytes, stays for 20 pauses, falls at once, stays for 20
 * pauses, CYCLES times; between steps it sleeps for PAUSE_US.  What it allocates it touches.  In
 * the middle of the last cycle it holds as much again for a moment: the peak.
 *
 * LOG gets what happened, 24 bytes each: CLOCK_MONOTONIC in ns before and after, bytes live since.
 * Nothing else allocates.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STEPS = 4096, MOST_CHANGES = 1 << 20, STAY = 20 };

static struct change {
	uint64_t before_ns, after_ns, live;
} changes[MOST_CHANGES];
static size_t nr_changes;
static uint64_t live;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void changed(uint64_t before_ns)
{
	if (nr_changes < MOST_CHANGES)
		changes[nr_changes++] = (struct change){ before_ns, now_ns(), live };
}

static void *grow(size_t bytes)
{
	uint64_t before_ns = now_ns();
	void *block = malloc(bytes);

	live += bytes;
	changed(before_ns);
	memset(block, 1, bytes);
	return block;
}

static void shrink(void *block, size_t bytes)
{
	uint64_t before_ns = now_ns();

	free(block);
	live -= bytes;
	changed(before_ns);
}

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

int main(int argc, char **argv)
{
	static void *blocks[MOST_STEPS];

	if (argc != 6)
		return 2;

	int cycles = atoi(argv[2]), steps = atoi(argv[3]);
	size_t bytes = strtoul(argv[4], NULL, 10);
	long us = atol(argv[5]);

	if (steps > MOST_STEPS)
		return 2;
	for (int cycle = 0; cycle < cycles; cycle++) {
		for (int i = 0; i < steps; i++) {
			blocks[i] = grow(bytes);
			pause_us(us);
		}
		if (cycle == cycles - 1)
			shrink(grow(bytes * (size_t)steps), bytes * (size_t)steps);
		pause_us(STAY * us);
		for (int i = 0; i < steps; i++)
			shrink(blocks[i], bytes);
		pause_us(STAY * us);
	}

	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t size = nr_changes * sizeof(changes[0]);

	return fd < 0 || write(fd, changes, size) != (ssize_t)size;
}
