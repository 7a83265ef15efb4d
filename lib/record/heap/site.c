/* SPDX-License-Identifier: MIT */
#include "record/heap/site.h"

#include "base/vec.h"

#define ROOM_MIN 256
/* At once: some hundred microseconds. */
#define ROOM_STEP 8192

void sites_release(struct sites *sites)
{
	vec_each(sites, site) histogram_release(&site->other_sizes);
	stretch_release(&sites->stretch);
	stretch_release(&sites->stretch_of_past);
	vec_free(&sites->free);
	*sites = (struct sites){ 0 };
}

static void sites_grow(struct sites *sites)
{
	size_t more = sites->room < ROOM_STEP ? sites->room : ROOM_STEP;
	size_t room = sites->room + (more ? more : ROOM_MIN);

	stretch_grow(&sites->stretch, room * sizeof(struct site));
	stretch_grow(&sites->stretch_of_past, room * sizeof(struct site_past));
	sites->at = stretch_start(&sites->stretch);
	sites->past = stretch_start(&sites->stretch_of_past);
	sites->room = room;
}

uint32_t sites_add(struct sites *sites, uint32_t image, uint32_t older)
{
	uint32_t id;

	if (sites->free.nr) {
		id = sites->free.at[--sites->free.nr];
	} else {
		if (sites->nr == sites->room)
			sites_grow(sites);
		id = (uint32_t)sites->nr++;
	}
	sites->at[id] = (struct site){ .image = image, .older = older, .main_size = SITE_NO_SIZE };
	sites->past[id] = (struct site_past){ 0 };
	return id;
}

void sites_remove(struct sites *sites, uint32_t id)
{
	histogram_release(&sites->at[id].other_sizes);
	vec_push(&sites->free, id);
}

void site_keep_now(struct sites *sites, uint32_t id, uint64_t epochs, uint64_t glibc_page)
{
	struct site *site = &sites->at[id];
	struct site_past *past = &sites->past[id];
	struct peak_part now = site_now(site, glibc_page);

	if ((uint32_t)(site->epochs ^ epochs))
		past->in_image = now;
	if ((site->epochs ^ epochs) >> 32)
		past->in_tree = now;
	site->epochs = epochs;
}

void site_get_other(struct site *site, uint64_t address, uint64_t size, uint64_t glibc_page)
{
	uint64_t slack = slack_of(glibc_page, address, size);

	if (site->main_size == SITE_NO_SIZE && site_can_be_main(size)) {
		site->main_size = size;
		return;
	}
	site->other_blocks++;
	site->other_slack += slack;
	histogram_add(&site->other_sizes, size, slack);
}

static uint64_t main_slack(const struct site *site, uint64_t glibc_page)
{
	return site->main_size == SITE_NO_SIZE ? 0 : slack_of(glibc_page, 0, site->main_size);
}

struct peak_part site_now(const struct site *site, uint64_t glibc_page)
{
	uint64_t blocks = site->got_blocks - site->gone_blocks;

	return (struct peak_part){
		.bytes = site->got_bytes - site->gone_bytes,
		.blocks = blocks,
		.slack = (blocks - site->other_blocks) * main_slack(site, glibc_page) +
			 site->other_slack,
	};
}

uint64_t site_frees(const struct site *site)
{
	uint64_t frees = 0;

	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		frees += site->lifetimes[i];
	return frees;
}

static void sum_add(struct histogram_sum *sum, const struct histogram_sum *more)
{
	sum->blocks += more->blocks;
	sum->bytes += more->bytes;
	sum->slack_bytes += more->slack_bytes;
}

void site_add_sizes(const struct site *site, uint64_t glibc_page, struct histogram_sum *sums)
{
	struct histogram_sum main = { .blocks = site->got_blocks };

	for (unsigned int i = 0; i < site->other_sizes.nr; i++) {
		main.blocks -= site->other_sizes.at[i].blocks;
		sum_add(&sums[site->other_sizes.first + i], &site->other_sizes.at[i]);
	}
	if (!main.blocks)
		return;
	main.bytes = main.blocks * site->main_size;
	main.slack_bytes = main.blocks * main_slack(site, glibc_page);
	sum_add(&sums[size_class(site->main_size)], &main);
}
