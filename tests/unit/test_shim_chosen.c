/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "shim/chosen.h"

static struct chosen chosen;

static void set_up(void)
{
	cr_assert(chosen_init(&chosen));
}

TestSuite(shim_chosen, .init = set_up);

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

Test(shim_chosen, an_address_is_in_until_it_is_taken)
{
	cr_expect(not(chosen_take(&chosen, at(0x1000))));
	cr_assert(chosen_add(&chosen, at(0x1000)));
	cr_expect(not(chosen_take(&chosen, at(0x1010))));
	cr_expect(chosen_take(&chosen, at(0x1000)));
	cr_expect(not(chosen_take(&chosen, at(0x1000))));
}

/* Many more than the first table has room for, so that all tables are in use. */
Test(shim_chosen, knows_hundred_thousands_of_addresses_from_their_neighbours)
{
	const uint64_t nr = 400000, step = 48, first = 0x7f0000000000;

	for (uint64_t i = 0; i < nr; i++)
		cr_assert(chosen_add(&chosen, at(first + i * step)));
	for (uint64_t i = 0; i < nr; i++) {
		cr_assert(not(chosen_take(&chosen, at(first + i * step + 16))));
		cr_assert(chosen_take(&chosen, at(first + i * step)));
	}
	for (uint64_t i = 0; i < nr; i++)
		cr_assert(not(chosen_take(&chosen, at(first + i * step))));
}

/* What was behind in a full bucket is found when there is room before it again. */
Test(shim_chosen, addresses_of_one_bucket_find_each_other_in_any_order)
{
	uint64_t same[40], nr = 0;
	uint64_t bucket = chosen_hash(at(16)) >> (64 - CHOSEN_LOG2);

	for (uint64_t address = 16; nr < 40; address += 16)
		if (chosen_hash(at(address)) >> (64 - CHOSEN_LOG2) == bucket)
			same[nr++] = address;
	for (int i = 0; i < 40; i++)
		cr_assert(chosen_add(&chosen, at(same[i])));
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < 40; i++) {
			cr_assert(chosen_take(&chosen, at(same[(i * 7 + round) % 40])));
			cr_assert(not(chosen_take(&chosen, at(same[(i * 7 + round) % 40]))));
			cr_assert(chosen_add(&chosen, at(same[(i * 7 + round) % 40])));
		}
}

#define THREADS 4
#define OF_EACH 5000

/* Adds and takes its own, whose buckets it shares with the others. */
static void *churn(void *argument)
{
	uint64_t mine = *(uint64_t *)argument;

	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < OF_EACH; i++)
			if (!chosen_add(&chosen, at((i * THREADS + mine + 1) * 16)))
				abort();
		for (uint64_t i = 0; i < OF_EACH; i++)
			if (!chosen_take(&chosen, at((i * THREADS + mine + 1) * 16)))
				abort();
	}
	return NULL;
}

Test(shim_chosen, threads_do_not_lose_each_others_addresses)
{
	pthread_t thread[THREADS];
	uint64_t number[THREADS];

	for (uint64_t i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, churn, &number[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint64_t i = 0; i < OF_EACH * THREADS; i++)
		cr_assert(not(chosen_take(&chosen, at((i + 1) * 16))));
}
