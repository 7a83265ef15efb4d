/* SPDX-License-Identifier: MIT */
#include "record/heap/intake.h"

#include <time.h>

#include "base/clock.h"
#include "record/heap/intake_images.h"

/* Sites: some hundred microseconds. */
#define RESOLVE_AT_ONCE 32

#define BEAT_NS UINT64_C(50000000)
/* How long one thread may hold up all others: on a loaded machine it may be out of a CPU for long. */
#define PATIENCE_NS UINT64_C(500000000)

void intake_init(struct intake *intake, struct channel *channel, struct heap_model *model,
		 struct frames *frames)
{
	*intake = (struct intake){
		.channel = channel, .model = model, .frames = frames, .mode = WIRE_MODE_EXACT
	};
	intake->rested_ns = clock_now_ns();
	ticks_start(&intake->ticks);
}

void intake_release(struct intake *intake)
{
	vec_each(&intake->segments, segment) segment_close(*segment);
	vec_each(&intake->images, image) image_free(*image);
	vec_each(&intake->over, segment) segment_close(*segment);
	vec_free(&intake->segments);
	vec_free(&intake->over);
	vec_free(&intake->fresh);
	vec_free(&intake->images);
	vec_free(&intake->pidfds);
	forks_release(&intake->forks);
	execs_release(&intake->execs);
	vec_free(&intake->endings);
	order_release(&intake->order);
	fault_queue_release(&intake->faults);
}

/* --- events -----------------------------------------------------------------------------------*/

static void beat(struct intake *intake)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - intake->beat_ns < BEAT_NS)
		return;
	intake->beat_ns = now_ns;
	channel_beat(intake->channel, now_ns);
}

static const struct segment *segment_of(const struct intake *intake, int32_t pid)
{
	vec_each(&intake->segments, segment) if ((*segment)->pid == pid) return *segment;
	return NULL;
}

/* Of a process that we do not follow, or whose first event is still to come, it is nobody's. */
static void take_fault(struct intake *intake, const struct fault *fault)
{
	const struct segment *segment = segment_of(intake, fault->pid);
	bool found = segment &&
		     heap_model_fault(intake->model, intake_model_id(segment), fault->address);

	if (!found && !fault_queue_again(&intake->faults) && segment)
		heap_model_fault_elsewhere(intake->model, intake_model_id(segment));
}

static void take_faults_until(struct intake *intake, uint64_t until_ns)
{
	const struct fault *fault;

	while ((fault = fault_queue_next(&intake->faults, until_ns)))
		take_fault(intake, fault);
}

/* How many events from the first on are before the next page fault; one at least. */
static size_t nr_until_fault(const struct intake *intake, size_t first)
{
	uint64_t next_ns = fault_queue_next_ns(&intake->faults);
	size_t end = first + 1;

	while (end < intake->nr_batch && intake->start_ns + intake->batch[end].time_ns < next_ns)
		end++;
	return end - first;
}

/* Each event after the page faults before it. */
static __attribute__((noinline)) void apply_with_faults(struct intake *intake)
{
	size_t nr;

	for (size_t i = 0; i < intake->nr_batch; i += nr) {
		take_faults_until(intake, intake->start_ns + intake->batch[i].time_ns);
		nr = nr_until_fault(intake, i);
		heap_model_apply(intake->model, &intake->batch[i], nr);
	}
}

static void reach(struct intake *intake, uint64_t time_ns)
{
	if (time_ns > intake->reached_ns)
		intake->reached_ns = time_ns;
}

void intake_flush(struct intake *intake)
{
	if (__builtin_expect(intake->take_faults != NULL, 0))
		apply_with_faults(intake);
	else
		heap_model_apply(intake->model, intake->batch, intake->nr_batch);
	if (intake->nr_batch)
		reach(intake, intake->batch[intake->nr_batch - 1].time_ns);
	intake->nr_batch = 0;
	beat(intake);
}

struct over {
	struct heap_model *model;
	uint32_t image;
};

static void take_last_fault(void *context, const struct fault *fault)
{
	const struct over *over = context;

	if (!heap_model_fault(over->model, over->image, fault->address))
		heap_model_fault_elsewhere(over->model, over->image);
}

void intake_finish_faults(struct intake *intake, const struct segment *segment)
{
	struct over over = { intake->model, intake_model_id(segment) };

	if (!intake->take_faults)
		return;
	fault_queue_fill(&intake->faults, intake->take_faults, intake->context);
	fault_queue_take_of(&intake->faults, segment->pid, take_last_fault, &over);
}

/* Events from before the patience with threads was over have been applied. */
static void take_old_faults(struct intake *intake, uint64_t now_ns)
{
	if (intake->take_faults)
		take_faults_until(intake, now_ns - 2 * PATIENCE_NS);
}

static uint64_t time_of(const struct intake *intake, uint64_t clock)
{
	uint64_t ns = ticks_ns(&intake->ticks, clock);

	return ns > intake->start_ns ? ns - intake->start_ns : 0;
}

static struct image *image_of(const struct ring_view *ring)
{
	return ring->segment->image;
}

static enum heap_op end_of_realloc(const struct wire_event *event)
{
	switch (event->result) {
	case WIRE_RESULT_DONE:
		return HEAP_REALLOC_DONE;
	case WIRE_RESULT_FREED:
		return HEAP_REALLOC_FREED;
	case WIRE_RESULT_LEFT:
		return HEAP_REALLOC_LEFT;
	case WIRE_RESULT_CAME:
		return HEAP_REALLOC_CAME;
	default:
		return HEAP_REALLOC_FAILED;
	}
}

static enum heap_op heap_op_of(const struct wire_event *event)
{
	if (event->op == WIRE_ALLOC)
		return HEAP_ALLOC;
	if (event->op == WIRE_FREE)
		return HEAP_FREE;
	return event->op == WIRE_REALLOC_BEGIN ? HEAP_REALLOC_BEGIN : end_of_realloc(event);
}

static inline bool has_site(enum heap_op op)
{
	return op == HEAP_ALLOC || op == HEAP_REALLOC_DONE || op == HEAP_REALLOC_CAME;
}

static inline void add_to_batch(struct intake *intake, const struct ring_view *ring,
				enum heap_op op, const struct wire_event *event)
{
	intake->batch[intake->nr_batch] = (struct heap_event){
		.address = event->address,
		.size = event->size,
		.time_ns = time_of(intake, event->clock),
		.site = has_site(op) ? image_site(image_of(ring), event->stack, event->function,
						  event->size)
				     : 0,
		.lane = ring->lane & 0xffffff,
		.op = op & 0xff,
	};
	if (++intake->nr_batch == INTAKE_BATCH)
		intake_flush(intake);
}

/* A reallocation between what is of the sample and what is not. */
static bool is_of_sample(enum heap_op op)
{
	return op == HEAP_REALLOC_LEFT || op == HEAP_REALLOC_CAME;
}

/* Of a sample: since the last event the thread did what is none. */
static bool is_behind_others(const struct intake *intake, const struct wire_event *event)
{
	return intake->mode == WIRE_MODE_SAMPLE &&
	       (event->op == WIRE_REALLOC_BEGIN ||
		(event->op == WIRE_FREE && event->result != WIRE_RESULT_DONE));
}

static void take_heap_event(struct intake *intake, struct ring_view *ring,
			    const struct wire_event *event)
{
	enum heap_op op = heap_op_of(event);

	if (intake->mode != WIRE_MODE_SAMPLE && is_of_sample(op)) {
		ring->damaged++;
		return;
	}
	if (is_behind_others(intake, event))
		add_to_batch(intake, ring, HEAP_OTHERS, event);
	if (event->address || op == HEAP_REALLOC_FAILED || op == HEAP_REALLOC_FREED)
		add_to_batch(intake, ring, op, event);
	else
		ring->damaged++;
}

/* The ring is of this thread from here on. */
static void take_thread(struct intake *intake, struct ring_view *ring,
			const struct wire_event *event)
{
	intake_flush(intake);
	heap_model_thread(intake->model, ring->lane, (int32_t)event->address, !ring->shared->level);
}

static struct segment *child_of_fork(const struct intake *intake, uint64_t sequence)
{
	vec_each(&intake->segments,
		 segment) if ((*segment)->fork_sequence == sequence) return *segment;
	return NULL;
}

/* What is live now is what its child starts with, which may have said hello already. */
static void take_fork(struct intake *intake, const struct ring_view *ring, uint64_t sequence)
{
	const struct segment *child = child_of_fork(intake, sequence);
	struct heritage *heritage;

	intake_flush(intake);
	heritage = heap_model_fork(intake->model, intake_model_id(ring->segment));
	if (child)
		heap_model_inherit(intake->model, intake_model_id(child), heritage);
	else
		forks_add(&intake->forks, sequence, heritage, clock_now_ns());
}

static void take_ending(struct intake *intake, const struct wire_event *event)
{
	if (event->size & WIRE_END_KNOWN)
		vec_push(&intake->endings,
			 (struct intake_ending){ .pid = (int32_t)event->address,
						 .wait_status = (int)event->size & 0xffff,
						 .time_ns =
							 ticks_ns(&intake->ticks, event->clock) });
}

static inline void note_order(struct intake *intake, const struct ring_view *ring,
			      uint64_t sequence)
{
	if (sequence > intake->applied && intake->patience != IGNORE_NUMBERS)
		intake->applied = sequence;
	else
		heap_model_late(intake->model, image_of(ring)->id, 1);
}

static __attribute__((noinline)) void take_other(struct intake *intake, struct ring_view *ring)
{
	struct wire_event event;

	ring_read(ring, &event);
	switch (event.op) {
	case WIRE_ALLOC:
	case WIRE_FREE:
	case WIRE_REALLOC_BEGIN:
	case WIRE_REALLOC_END:
		take_heap_event(intake, ring, &event);
		break;
	case WIRE_THREAD:
		take_thread(intake, ring, &event);
		break;
	case WIRE_FORK:
		take_fork(intake, ring, event.sequence);
		break;
	case WIRE_END:
		take_ending(intake, &event);
		break;
	case WIRE_EXEC:
		break;
	default:
		ring->damaged++;
	}
}

_Static_assert(WIRE_FREE - WIRE_ALLOC == 1 && HEAP_ALLOC == 0 && HEAP_FREE == 1, "as in take()");

/* Most are allocations and frees: all that is done with these is inline.  Returns its op. */
static inline unsigned int take(struct intake *intake, struct ring_view *ring)
{
	struct wire_event event;

	ring_read(ring, &event);
	note_order(intake, ring, event.sequence);

	unsigned int op = event.op - WIRE_ALLOC;

	if (__builtin_expect(op <= HEAP_FREE && event.address && intake->mode == WIRE_MODE_EXACT,
			     1))
		add_to_batch(intake, ring, op, &event);
	else
		take_other(intake, ring); /* which reads it anew: so it is never in memory here */
	ring_step(ring);
	return event.op;
}

/* --- stacks -----------------------------------------------------------------------------------*/

static void forget_segment(struct intake *intake, struct segment *segment)
{
	uint32_t index = segment->index;

	image_leave_segment(segment->image);
	intake->segment_at[index] = NULL;
	segment_close(segment);
	channel_recycle(intake->channel, index);
}

static bool resolve_over(struct intake *intake)
{
	if (!intake->over.nr)
		return false;

	struct segment *segment = *vec_last(&intake->over);

	if (!image_resolve(segment->image, intake->frames, RESOLVE_AT_ONCE)) {
		forget_segment(intake, segment);
		intake->over.nr--;
	}
	return true;
}

bool intake_resolve(struct intake *intake)
{
	if (resolve_over(intake))
		return true;
	for (size_t i = 0; i < intake->segments.nr; i++) {
		struct image *image = intake->segments.at[i]->image;

		if (image->nr_resolved < image->sites.nr) {
			image_resolve(image, intake->frames, RESOLVE_AT_ONCE);
			return true;
		}
	}
	return false;
}

/* --- rounds -----------------------------------------------------------------------------------*/

static uint64_t ring_low(const struct ring_view *ring)
{
	return atomic_load_explicit(&ring->shared->low, memory_order_acquire);
}

/* Every event below has been published, but for those that were given up. */
static uint64_t watermark(const struct intake *intake, uint64_t sequence)
{
	if (intake->patience == IGNORE_NUMBERS)
		return UINT64_MAX;
	for (size_t i = 0; i < intake->segments.nr; i++) {
		const struct segment *segment = intake->segments.at[i];

		for (size_t r = 0; r < segment->rings.nr && !segment->dead; r++) {
			const struct ring_view *ring = segment->rings.at[r];
			uint64_t low = ring_low(ring);

			if (low && low < sequence && low != ring->given_up_low)
				sequence = low;
		}
	}
	return sequence;
}

/* Of those that are about to publish an event; they may be stopped, or have jumped away. */
static void give_up_lows(struct intake *intake)
{
	vec_each(&intake->segments, segment) vec_each(&(*segment)->rings, ring)(*ring)
		->given_up_low = ring_low(*ring);
}

/* The rings with events below; *waiting: there are others. */
static void fill_order(struct intake *intake, uint64_t below, bool *waiting)
{
	order_clear(&intake->order);
	*waiting = false;
	vec_each(&intake->segments, segment) vec_each(&(*segment)->rings, ring)
	{
		ring_peek(*ring);
		if ((*ring)->next && (*ring)->next < below)
			order_add(&intake->order, *ring);
		else if ((*ring)->next)
			*waiting = true;
	}
}

/* Takes events of the ring, one at least, as long as they are below the number, or until a quarter
 * of the ring can be given back, and then gives it back.  True: nothing below is left. */
static bool take_part(struct intake *intake, struct ring_view *ring, uint64_t until)
{
	uint32_t end = ring->given + (1u << (ring->log2 - 2)), nr = 0;
	unsigned int op;

	do {
		op = take(intake, ring);
		nr++;
	} while (ring_has_below(ring, until) && (int32_t)(end - ring->pos) > 0);
	intake->events += nr;
	ring->segment->executing = op == WIRE_EXEC;
	if ((int32_t)(end - ring->pos) <= 0)
		ring_give_back(ring);
	return !ring_has_below(ring, until);
}

/* Takes events of the ring that is first, while they are below the number. */
static void take_run(struct intake *intake, struct ring_view *ring, uint64_t below)
{
	uint64_t second = order_second(&intake->order);
	unsigned int parts = 8; /* two laps: a hostile ring may never end */

	while (!take_part(intake, ring, second < below ? second : below) && --parts)
		;
	if (!parts)
		ring->next = 0; /* for this round */
	image_of(ring)->changed = true;
	order_settle(&intake->order);
}

/* Takes all events below the number, and ends images where they end. */
static bool merge(struct intake *intake, uint64_t below)
{
	struct ring_view *ring;
	struct segment *dead;
	bool waiting, any = false;

	fill_order(intake, below, &waiting);
	while ((ring = order_first(&intake->order)) && ring->next < below) {
		dead = intake_first_dead(intake, ring->next);
		if (dead) {
			intake_end_image(intake, dead);
			fill_order(intake, below, &waiting);
			continue;
		}
		dead = intake_first_dead(intake, below);
		take_run(intake, ring, dead ? dead->end : below);
		any = true;
	}
	while ((dead = intake_first_dead(intake, below)))
		intake_end_image(intake, dead);
	intake_flush(intake);
	if (any || !waiting)
		intake->blocked_ns = 0;
	else if (!intake->blocked_ns)
		intake->blocked_ns = clock_now_ns();
	return any;
}

static void give_back(struct intake *intake)
{
	vec_each(&intake->segments, segment) vec_each(&(*segment)->rings, ring)
		ring_give_back(*ring);
}

/* Blocked for too long: the next round goes on without whom it waited for. */
static void lose_patience(struct intake *intake)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - intake->blocked_ns < PATIENCE_NS || intake->patience == IGNORE_NUMBERS)
		return;
	intake->blocked_ns = now_ns;
	intake->patience++;
	give_up_lows(intake);
}

bool intake_round(struct intake *intake)
{
	/* Who ended before an event with a lower number is seen to have ended; whose successors have
	 * higher ones may have ended just after that look. */
	uint64_t before = atomic_load(&intake->channel->control->sequence);
	bool any;

	beat(intake);
	ticks_sync(&intake->ticks);
	intake_find_new(intake);
	intake_find_dead(intake, before);
	/* Not before: those that were before an event which is taken now have to be there. */
	if (intake->take_faults)
		fault_queue_fill(&intake->faults, intake->take_faults, intake->context);
	any = merge(intake, watermark(intake, before));
	take_old_faults(intake, clock_now_ns());
	give_back(intake);
	if (any)
		intake->patience = PATIENT;
	else if (intake->blocked_ns)
		lose_patience(intake);
	return any;
}

void intake_drain(struct intake *intake)
{
	static const struct timespec moment = { .tv_nsec = 100000 };
	uint64_t end = atomic_load(&intake->channel->control->sequence);
	bool is_last = false;

	/* A program that runs on may be about to publish an event: this waits as a round would. */
	while (intake->applied < end && !is_last) {
		is_last = intake->patience == IGNORE_NUMBERS;
		if (intake_round(intake))
			is_last = false;
		else if (intake->blocked_ns)
			nanosleep(&moment, NULL);
		else
			is_last = true;
	}
}

bool intake_is_pressed(const struct intake *intake)
{
	for (size_t i = 0; i < intake->segments.nr; i++) {
		const struct segment *segment = intake->segments.at[i];

		for (size_t r = 0; r < segment->rings.nr; r++)
			if (ring_filled(segment->rings.at[r]) >=
			    1u << (segment->rings.at[r]->log2 - 1))
				return true;
	}
	return false;
}

/* At its pace of the last elapsed_ns. */
static uint64_t ring_until_half_full_ns(struct ring_view *ring, uint64_t elapsed_ns)
{
	uint32_t half = 1u << (ring->log2 - 1), filled = ring_filled(ring);
	uint32_t came = ring->pos + filled - ring->rested_pos;

	ring->rested_pos = ring->pos + filled;
	if (filled >= half)
		return 0;
	return came ? elapsed_ns * (half - filled) / came : UINT64_MAX;
}

uint64_t intake_until_pressed_ns(struct intake *intake)
{
	uint64_t now_ns = clock_now_ns(), elapsed_ns = now_ns - intake->rested_ns;
	uint64_t least_ns = UINT64_MAX;

	intake->rested_ns = now_ns;
	vec_each(&intake->segments, segment) vec_each(&(*segment)->rings, ring)
	{
		uint64_t ns = ring_until_half_full_ns(*ring, elapsed_ns);

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return least_ns;
}

bool intake_is_blocked(const struct intake *intake)
{
	return intake->blocked_ns != 0;
}
