/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <sys/wait.h>

#include "shim/area.h"
#include "shim_file.h"

#define BLOCK (WIRE_ALIGN * 2)
#define BLOCKS 8

static struct shim_file file;
static struct area area;

static void set_up(void)
{
	shim_file_make(&file, 8);
	cr_assert(area_init(&area, file.fd, wire_segment_at(0) + WIRE_NODES_AT, BLOCK, BLOCKS));
	close(file.fd);
}

TestSuite(shim_area, .init = set_up);

Test(shim_area, maps_each_block_of_the_file_after_the_descriptor_is_gone)
{
	for (uint32_t i = BLOCKS; i-- > 0;) {
		uint64_t *block = area_block(&area, i);

		cr_assert(block != NULL);
		block[0] = 100 + i;
		block[BLOCK / 8 - 1] = 200 + i;
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const uint64_t *there = (void *)(file.segment + WIRE_NODES_AT + i * BLOCK);

		cr_expect(eq(u64, there[0], 100 + i));
		cr_expect(eq(u64, there[BLOCK / 8 - 1], 200 + i));
	}
}

Test(shim_area, has_no_block_beyond_the_last)
{
	cr_expect(eq(ptr, area_block(&area, BLOCKS), NULL));
	cr_expect(eq(ptr, area_block(&area, UINT32_MAX), NULL));
}

static void *map_last(void *arg)
{
	(void)arg;
	return area_block(&area, BLOCKS - 1);
}

Test(shim_area, threads_that_map_at_the_same_time_get_the_same_memory)
{
	pthread_t threads[8];
	void *block[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, map_last, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], &block[i]);
	for (int i = 0; i < 8; i++)
		cr_expect(eq(ptr, block[i], area_block(&area, BLOCKS - 1)));
}

static int run_child(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch(void)
{
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)area_block(&area, 2) = 1;
}

static void detach_and_touch(void)
{
	area_detach(&area);
	touch();
}

Test(shim_area, is_not_in_a_forked_child_unless_detached)
{
	area_block(&area, 2);
	cr_expect(eq(int, run_child(touch), SIGSEGV));
	cr_expect(eq(int, run_child(detach_and_touch), 0));
	cr_expect(eq(chr, *(char *)area_block(&area, 2), 0));
}
