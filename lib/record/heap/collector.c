/* SPDX-License-Identifier: MIT */
#include "record/heap/collector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "record/heap/door.h"
#include "record/heap/intake.h"
#include "record/heap/mode.h"

#define SLEEP_NS UINT64_C(20000000)
/* From the end of a sleep until we run. */
#define WAKE_NS UINT64_C(60000)
#define BLOCKED_NS 2000000
/* If nobody asks for it. */
#define PUSH_NS UINT64_C(2000000000)
#define CATCH_UP_NS UINT64_C(300000000)

struct heap_collector {
	struct heap_collector_config config;
	heap_take_faults *take_faults; /* NULL: nobody knows of them */
	struct channel channel;
	struct door *door; /* NULL: there is none */
	struct heap_model *model;
	struct frames *frames;
	struct intake intake;
	uint64_t pushed_ns;
	bool is_cut;		     /* an image was, see there */
	bool has_tracked;	     /* an image was accounted: there is a tree */
	struct profile_heap tree;    /* as last pushed */
	struct profile_heap retired; /* what the shims of forgotten images counted */
	uint64_t shim_bytes;	     /* of the image whose shim used most */

	pthread_t thread;
	bool running;
	_Atomic bool stopping;

	_Atomic uint64_t asked; /* so often to catch up */
	_Atomic bool push;	/* asked for that, too */
	uint64_t answered;
	pthread_mutex_t lock; /* of that */
	pthread_cond_t caught_up;
};

/* --- what the profile gets --------------------------------------------------------------------*/

static void find_process(struct heap_collector *c, struct image *image, bool at_last)
{
	if (image->process == PROFILE_NONE && c->config.image_of)
		image->process = c->config.image_of(c->config.context, &image->hello, at_last);
}

/* The shim switched itself off, or the image is over. */
static void tell_state(struct heap_collector *c, struct image *image)
{
	if (image->process == PROFILE_NONE)
		return;
	image_note_off(image, &c->intake.ticks, c->intake.start_ns);
	c->is_cut |= image->is_cut;
	/* Where it was accounted up to then the quality tells of it. */
	if (image->off_reason && !image->was_tracked && !image->told_off && c->config.untracked) {
		c->config.untracked(c->config.context, image->process, image_off_reason(image));
		image->told_off = true;
	}
	if (image->end_ns && !image->told_end && c->config.ended) {
		c->config.ended(c->config.context, image->process, image->end_ns);
		image->told_end = true;
	}
}

static void add_counted(struct profile_heap *to, const struct profile_heap *from)
{
	to->stall_us += from->stall_us;
	to->counted_allocations += from->counted_allocations;
	to->counted_reallocations += from->counted_reallocations;
	to->counted_frees += from->counted_frees;
	to->counted_bytes += from->counted_bytes;
}

static void tree_figures(const struct heap_collector *c, struct profile_heap *tree)
{
	heap_model_figures(c->model, PROFILE_NONE, tree);
	add_counted(tree, &c->retired);
	vec_each(&c->intake.images, image)
	{
		struct profile_heap counted;

		image_figures(*image, &counted);
		add_counted(tree, &counted);
	}
	mode_adjust(c->config.mode, tree);
	if (c->is_cut)
		tree->peak_most_bytes = PROFILE_UNKNOWN;
}

static bool may_fail(void *context, const struct heap_exec *exec)
{
	return intake_exec_may_fail(&((const struct heap_collector *)context)->intake, exec);
}

static void tell_exec(void *context, const struct heap_exec *exec)
{
	const struct heap_collector *c = context;

	if (c->config.executed)
		c->config.executed(c->config.context, exec);
}

static void tell_execs(struct heap_collector *c, bool at_last)
{
	execs_settle(&c->intake.execs, at_last ? UINT64_MAX : clock_now_ns(),
		     &(struct execs_fate){ c, may_fail, tell_exec });
}

/* But for what somebody just said to execute. */
static void tell_endings(struct heap_collector *c, bool at_last)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->intake.endings.nr; i++) {
		const struct intake_ending *ending = &c->intake.endings.at[i];

		if (!at_last && execs_has(&c->intake.execs, ending->pid))
			c->intake.endings.at[kept++] = *ending;
		else if (c->config.ended_as)
			c->config.ended_as(c->config.context, ending->pid, ending->time_ns,
					   ending->wait_status);
	}
	c->intake.endings.nr = kept;
}

static void push_tree(const struct heap_collector *c, const struct profile_heap *tree)
{
	struct timeline_slices slices = heap_model_timeline(c->model, PROFILE_NONE);

	aggregate_heap(c->config.aggregate, tree);
	aggregate_slices(c->config.aggregate, PROFILE_NONE, slices.at, slices.nr, slices.whole);
}

static void push_images(struct heap_collector *c, bool at_last)
{
	struct profile_heap tree;

	vec_each(&c->intake.images, image)
	{
		c->has_tracked |= (*image)->was_tracked;
		find_process(c, *image, at_last);
		tell_state(c, *image);
		image_read_counters(*image);
	}
	tell_execs(c, at_last);
	tell_endings(c, at_last);
	tree_figures(c, &tree);

	bool moved =
		tree.peak_time_us != c->tree.peak_time_us || tree.peak_bytes != c->tree.peak_bytes;

	vec_each(&c->intake.images, image) image_push(*image, c->config.aggregate, moved);
	if (c->has_tracked && memcmp(&tree, &c->tree, sizeof(tree)) != 0) {
		push_tree(c, &tree);
		c->tree = tree;
	}
}

static bool is_settled(const struct image *image)
{
	return image->told_end && !image->segment && !(image->changed && image->was_tracked) &&
	       heap_model_is_settled(image->model, image->id);
}

static void note_shim(struct heap_collector *c, const struct image *image)
{
	if (image->shim_bytes > c->shim_bytes)
		c->shim_bytes = image->shim_bytes;
}

static void retire(struct heap_collector *c, struct image *image)
{
	struct profile_heap counted;

	image_tell_quality(image, c->frames, c->config.aggregate);
	image_figures(image, &counted);
	add_counted(&c->retired, &counted);
	note_shim(c, image);
	heap_model_retire(c->model, image->id);
	image_free(image);
}

/* Ten thousands of short-lived processes are no reason to need more and more memory. */
static void retire_images(struct heap_collector *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->intake.images.nr; i++) {
		struct image *image = c->intake.images.at[i];

		if (is_settled(image))
			retire(c, image);
		else
			c->intake.images.at[kept++] = image;
	}
	c->intake.images.nr = kept;
}

/* The program does not wait for that. */
static void resolve(struct heap_collector *c)
{
	while (intake_resolve(&c->intake))
		if (intake_is_pressed(&c->intake))
			intake_round(&c->intake);
}

static void push_now_and_then(struct heap_collector *c)
{
	bool is_asked = atomic_exchange(&c->push, false);
	uint64_t now_ns = clock_now_ns();

	if (!is_asked && now_ns - c->pushed_ns < PUSH_NS)
		return;
	c->pushed_ns = now_ns;
	intake_tidy(&c->intake);
	resolve(c);
	push_images(c, false);
	retire_images(c);
}

static void tell_quality(struct heap_collector *c)
{
	vec_each(&c->intake.images, image)
	{
		image_tell_quality(*image, c->frames, c->config.aggregate);
		note_shim(c, *image);
	}
	if (c->intake.execs.missed)
		aggregate_quality(c->config.aggregate, PROFILE_UNTRACKED,
				  "programs may be missing: too many were executed at once to hear "
				  "of each",
				  c->intake.execs.missed);
	if (c->shim_bytes)
		aggregate_quality(c->config.aggregate, PROFILE_OVERHEAD, PROFILE_OVERHEAD_MEMORY,
				  c->shim_bytes);
}

/* --- the thread -------------------------------------------------------------------------------*/

/* To be back when the first ring is two thirds of the way to half full: its thread would have to wake us
 * then, which costs it some ten microseconds. */
static uint64_t nap_ns(uint64_t until_ns)
{
	uint64_t ns = until_ns / 3 * 2;

	ns = ns > WAKE_NS ? ns - WAKE_NS : 1;
	return ns < SLEEP_NS ? ns : SLEEP_NS;
}

static void rest(struct heap_collector *c)
{
	static const struct timespec blocked = { .tv_nsec = BLOCKED_NS };

	if (intake_is_blocked(&c->intake)) {
		nanosleep(&blocked, NULL);
		return;
	}
	channel_going_to_sleep(&c->channel);

	uint64_t until_ns = intake_until_pressed_ns(&c->intake);

	if (until_ns && !atomic_load(&c->stopping) && atomic_load(&c->asked) == c->answered)
		channel_sleep(&c->channel, nap_ns(until_ns));
}

static void answer(struct heap_collector *c, uint64_t asked)
{
	if (asked == c->answered)
		return;
	vec_each(&c->intake.images, image) find_process(c, *image, false);
	pthread_mutex_lock(&c->lock);
	c->answered = asked;
	pthread_cond_broadcast(&c->caught_up);
	pthread_mutex_unlock(&c->lock);
}

void heap_collector_catch_up(struct heap_collector *c)
{
	uint64_t until_ns = clock_now_ns() + CATCH_UP_NS;
	const struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
					.tv_nsec = (long)(until_ns % 1000000000) };
	uint64_t asked = atomic_fetch_add(&c->asked, 1) + 1;

	channel_wake(&c->channel);
	pthread_mutex_lock(&c->lock);
	while (c->answered < asked &&
	       pthread_cond_clockwait(&c->caught_up, &c->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&c->lock);
}

void heap_collector_push(struct heap_collector *c)
{
	atomic_store(&c->push, true);
	heap_collector_catch_up(c);
}

static void *collect(void *argument)
{
	struct heap_collector *c = argument;

	answer(c, 0);
	prctl(PR_SET_TIMERSLACK, 1); /* naps are of some 100 microseconds */
	while (!atomic_load(&c->stopping)) {
		uint64_t asked = atomic_load(&c->asked);

		intake_round(&c->intake);
		push_now_and_then(c);
		answer(c, asked);
		if (c->intake.over.nr)
			resolve(c);
		rest(c);
	}
	intake_drain(&c->intake);
	resolve(c);
	push_images(c, true);
	answer(c, UINT64_MAX);
	tell_quality(c);
	channel_leave(&c->channel);
	return NULL;
}

int heap_collector_start(struct heap_collector *c, uint64_t start_ns, struct error *err)
{
	int ret;

	c->intake.start_ns = start_ns;
	c->intake.take_faults = c->take_faults;
	if (c->take_faults)
		heap_model_follow_faults(c->model);
	c->pushed_ns = clock_now_ns();
	channel_beat(&c->channel, c->pushed_ns);
	ret = thread_start(&c->thread, "cprof-heap", collect, c, err);
	c->running = ret >= 0;
	return ret;
}

static void set_mode(struct heap_collector *c)
{
	if (!c->config.mode)
		c->config.mode = WIRE_MODE_EXACT;
	channel_set_mode(&c->channel, c->config.mode, c->config.sample_bytes);
}

int heap_collector_open(struct heap_collector **collector,
			const struct heap_collector_config *config, struct error *err)
{
	struct heap_collector *c = xcalloc(1, sizeof(*c));
	int ret;

	*collector = NULL;
	c->config = *config;
	c->answered = UINT64_MAX; /* while nobody would answer */
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->caught_up, NULL);
	c->tree.peak_time_us = PROFILE_NO_TIME;
	ret = channel_open(&c->channel, config->ring_log2, err);
	if (ret < 0) {
		heap_collector_free(c);
		return ret;
	}
	set_mode(c);
	c->door = door_open(c->channel.path, c->channel.fd);
	c->model = heap_model_new();
	c->frames = frames_new(config->aggregate);
	intake_init(&c->intake, &c->channel, c->model, c->frames);
	c->intake.mode = c->config.mode;
	c->intake.sample_bytes = c->config.sample_bytes;
	c->intake.context = c->config.context;
	if (c->config.mode == WIRE_MODE_SAMPLE)
		heap_model_is_sample(c->model);
	*collector = c;
	return 0;
}

void heap_collector_take_faults(struct heap_collector *c, heap_take_faults *take)
{
	c->take_faults = take;
}

const char *heap_collector_variable(const struct heap_collector *c)
{
	return c->channel.variable;
}

int heap_collector_module_fd(const struct heap_collector *c, uint32_t profile_module)
{
	const struct module *module = frames_module(c->frames, profile_module);

	return module ? module->fd : -1;
}

void heap_collector_finish(struct heap_collector *c)
{
	door_close(c->door);
	c->door = NULL;
	if (c->running) {
		atomic_store(&c->stopping, true);
		channel_wake(&c->channel);
		pthread_join(c->thread, NULL);
		c->running = false;
	}
}

void heap_collector_free(struct heap_collector *c)
{
	if (!c)
		return;
	heap_collector_finish(c);
	intake_release(&c->intake);
	frames_free(c->frames);
	heap_model_free(c->model);
	channel_close(&c->channel);
	pthread_cond_destroy(&c->caught_up);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
