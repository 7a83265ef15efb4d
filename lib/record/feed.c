/* SPDX-License-Identifier: MIT */
#include "record/feed.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Nothing is lost as long as a ring lasts that long ... */
#define AHEAD_NS UINT64_C(4000000)
/* ... and so many samples, of 64 KiB at most, are all that may have to be kept. */
#define AHEAD_RECORDS 1024
#define REST_RECORDS 256	   /* of these with the rest of the stack: others are old already */
#define START_NS UINT64_C(3000000) /* that a program takes to map its files */

int feed_open(struct feed *feed, const struct events *events, const char *shim, struct error *err)
{
	*feed = (struct feed){ .events = events, .shim = shim };
	return rings_open(&feed->rings, events, err);
}

/* --- what has to be asked at once -------------------------------------------------------------*/

struct early {
	struct module *module;	   /* of a mapping */
	struct image_facts *facts; /* of an exec, or what could not be known until now */
	struct stack_rest *rest;   /* of a sample's stack */
};

static struct module *get_module(struct feed *feed, const struct decoded *decoded)
{
	const struct decoded_mmap *mmap = &decoded->mmap;

	return module_get(&feed->modules, &(struct module_request){
						  .path = mmap->path,
						  .pid = decoded->pid,
						  .start = mmap->start,
						  .end = mmap->end,
						  .device_major = mmap->device_major,
						  .device_minor = mmap->device_minor,
						  .inode = mmap->inode,
						  .inode_generation = mmap->inode_generation,
						  .build_id = mmap->build_id,
						  .build_id_size = mmap->build_id_bytes,
					  });
}

/* The arguments show only when the kernel is done with the exec, after it told of it. */
static struct image_facts *look_at_exec(struct feed *feed, int32_t pid)
{
	struct image_facts *facts = xcalloc(1, sizeof(*facts));

	feed->exec_ns = clock_now_ns();
	image_facts_read(facts, pid, feed->shim);
	facts->read_ns = clock_now_ns();
	if (facts->arguments)
		map_remove(&feed->awaited, (uint64_t)pid);
	else
		map_set(&feed->awaited, (uint64_t)pid, 1);
	return facts;
}

/* NULL: nothing is awaited, or it does not show yet. */
static struct image_facts *look_again(struct feed *feed, int32_t pid)
{
	struct image_facts found = { 0 }, *facts = NULL;

	if (!map_find(&feed->awaited, (uint64_t)pid))
		return NULL;
	if (!image_facts_read_arguments(&found, pid) || found.arguments)
		map_remove(&feed->awaited, (uint64_t)pid);
	if (!found.arguments)
		return NULL;
	facts = xmalloc(sizeof(*facts));
	*facts = found;
	facts->read_ns = clock_now_ns();
	return facts;
}

/* NULL: not of a sample, or of no use. */
static struct stack_rest *look_at_rest(struct feed *feed, const struct decoded *decoded)
{
	if (!feed->reads_rest || decoded->kind != DECODED_SAMPLE || feed->merge.nr >= REST_RECORDS)
		return NULL;
	return rest_read(&feed->rest_reader, decoded);
}

static struct early *look_early(struct feed *feed, const struct decoded *decoded)
{
	bool is_exec = decoded->kind == DECODED_COMM && decoded->comm.is_exec;
	bool is_code = decoded->kind == DECODED_MMAP && decoded->mmap.executable;
	struct stack_rest *rest = look_at_rest(feed, decoded);
	struct early *early;

	if (!is_exec && !is_code && !rest)
		return NULL;
	early = xcalloc(1, sizeof(*early));
	early->rest = rest;
	if (is_exec) {
		early->facts = look_at_exec(feed, decoded->pid);
	} else if (is_code) {
		early->module = get_module(feed, decoded);
		early->facts = look_again(feed, decoded->pid);
	}
	return early;
}

static void early_free(struct early *early)
{
	if (!early)
		return;
	if (early->facts)
		image_facts_release(early->facts);
	free(early->facts);
	free(early->rest);
	free(early);
}

/* --- in ---------------------------------------------------------------------------------------*/

/* The event of a record; -1: not one of the group. */
static int event_of(const struct feed *feed, enum ring_kind kind,
		    const struct perf_event_header *header, pid_t *root)
{
	*root = 0;
	if (kind != RING_DATA)
		return -1;
	return events_find(feed->events, decode_id(header, header->size), root);
}

static int decode_entry(const struct feed *feed, int event, const struct perf_event_header *header,
			struct decoded *decoded)
{
	const struct perf_event_attr *attr =
		event < 0 ? &feed->events->side_attr : &feed->events->attrs[event];
	const struct decode_layout layout = { .sample_type = attr->sample_type,
					      .registers = attr->sample_regs_user };

	return decode(decoded, header, header->size, &layout);
}

/* Every event that tells of mappings or names tells of forks and exits, too. */
static bool is_double(enum ring_kind kind, const struct decoded *decoded)
{
	return kind == RING_SIDE &&
	       (decoded->kind == DECODED_FORK || decoded->kind == DECODED_EXIT);
}

static void read_ring(struct feed *feed, struct ring *ring, enum ring_kind kind)
{
	const struct perf_event_header *header;

	while ((header = ring_next(ring))) {
		struct decoded decoded;
		struct merge_entry *entry;
		pid_t root;

		if (decode_entry(feed, event_of(feed, kind, header, &root), header, &decoded) < 0) {
			feed->nr_damaged++;
			continue;
		}
		if (is_double(kind, &decoded))
			continue;
		entry = merge_add(&feed->merge, decoded.time_ns,
				  decode_packed_size(header, &decoded));
		decode_pack(&entry->header, header, &decoded);
		entry->source = (int)kind;
		entry->context = look_early(feed, &decoded);
	}
}

static void read_rings(struct feed *feed)
{
	feed->read_ns = clock_now_ns();
	for (enum ring_kind kind = 0; kind < RING_KINDS; kind++)
		for (size_t i = 0; i < feed->rings.nr; i++)
			read_ring(feed, &feed->rings.of[kind][i], kind);
}

void feed_read(struct feed *feed)
{
	merge_round(&feed->merge, clock_now_ns());
	read_rings(feed);
}

bool feed_sees_execs(const struct feed *feed)
{
	return feed->exec_ns && feed->read_ns < feed->exec_ns + START_NS;
}

void feed_make_room(struct feed *feed)
{
	if (feed->merge.nr < AHEAD_RECORDS && clock_now_ns() - feed->read_ns > AHEAD_NS)
		read_rings(feed);
}

void feed_read_last(struct feed *feed)
{
	feed_read(feed);
	merge_end(&feed->merge);
}

/* --- out --------------------------------------------------------------------------------------*/

static void done_with_passed(struct feed *feed)
{
	if (!feed->passed)
		return;
	early_free(feed->passed->context);
	merge_entry_free(feed->passed);
	feed->passed = NULL;
}

bool feed_next(struct feed *feed, struct feed_record *record)
{
	const struct merge_entry *entry;
	const struct early *early;
	pid_t root;
	int event;

	done_with_passed(feed);
	entry = feed->passed = merge_next(&feed->merge);
	if (!entry)
		return false;

	early = entry->context;
	event = event_of(feed, (enum ring_kind)entry->source, &entry->header, &root);
	*record = (struct feed_record){ .event = event,
					.root = root,
					.is_data = entry->source == RING_DATA,
					.module = early ? early->module : NULL,
					.facts = early ? early->facts : NULL };
	/* It could be decoded when it came in. */
	decode_entry(feed, record->event, &entry->header, &record->decoded);
	record->rest = early ? early->rest : NULL;
	return true;
}

uint64_t feed_passed_ns(const struct feed *feed)
{
	return feed->merge.barrier;
}

uint64_t feed_damaged(const struct feed *feed)
{
	uint64_t nr = feed->nr_damaged;

	for (size_t kind = 0; kind < RING_KINDS; kind++)
		for (size_t i = 0; i < feed->rings.nr; i++)
			nr += feed->rings.of[kind][i].damaged;
	return nr;
}

void feed_close(struct feed *feed)
{
	done_with_passed(feed);
	merge_release(&feed->merge);
	map_release(&feed->awaited);
	rest_reader_release(&feed->rest_reader);
	modules_release(&feed->modules);
	rings_close(&feed->rings);
}
