/* SPDX-License-Identifier: MIT */
// PFLAGS: -Ilib
/*
 * heap_events - runs a program under the heap shim and checks its events by brute force.
 *
 *	heap_events [-r LOG2] [-d MS] [-x MS] [-k MS] [-s] SHIM PROGRAM [ARGUMENT...] 3>result.json
 *
 * The reader is written from wire.h alone and shares no code with the recorder: a plain hash table,
 * every event applied in order of its number.  What it saw comes as JSON on descriptor 3.
 *
 *	-r LOG2	slots of a ring (13)
 *	-d MS	pause between two looks at the rings (2)
 *	-x MS	stop reading, and the heartbeat, so long after the first image was there
 *	-k MS	kill the program then
 *	-s	print stacks too
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/wire.h"

#define MAX_IMAGES 512
#define NS_PER_MS UINT64_C(1000000)

struct block {
	uint64_t address, size;
	uint32_t stack;
};

struct table {
	struct block *slot; /* address 0: free */
	size_t mask, used;
};

struct reader {
	struct wire_slot *slots;
	uint32_t log2, tail;
	uint64_t last;
	int in_flight; /* a realloc has begun ... */
	int had_block; /* ... of this block */
	int was_inherited;
	struct block block;
};

struct image {
	char *base;
	struct wire_segment *head;
	struct reader *reader; /* by ring */
	struct table live;
	uint64_t allocations, frees, reallocations, allocated_bytes, freed_bytes;
	uint64_t live_bytes, peak_bytes, failed, forks, execs, threads, nested;
	uint64_t unknown_frees, unknown_reallocs, duplicates, bad_nodes, out_of_order;
	/* Of a forked one: a copy of what its parent had, its own and inherited blocks. */
	int has_begun;
	struct table inherited;
	uint64_t inherited_bytes, inherited_frees;
};

/* What a process had when it was about to fork. */
struct fork {
	struct table had;
	uint64_t sequence;
};

struct event {
	struct wire_event e;
	struct image *image;
	uint32_t ring;
};

static struct wire_control *control;
static int memfd;
static struct image images[MAX_IMAGES];
static int nr_images;
static struct fork *forks;
static size_t nr_forks;
static struct event *batch;
static size_t batch_used, batch_size;
static uint64_t nr_events, gaps, next_number = 1;
static struct rusage program_usage;
static FILE *out;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(125);
}

/* --- live blocks ------------------------------------------------------------------------------*/

static size_t place(const struct table *t, uint64_t address)
{
	size_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & t->mask;

	while (t->slot[i].address && t->slot[i].address != address)
		i = (i + 1) & t->mask;
	return i;
}

static void grow(struct table *t)
{
	struct table old = *t;

	t->mask = old.slot ? old.mask * 2 + 1 : 1023;
	t->slot = calloc(t->mask + 1, sizeof(*t->slot));
	for (size_t i = 0; old.slot && i <= old.mask; i++)
		if (old.slot[i].address)
			t->slot[place(t, old.slot[i].address)] = old.slot[i];
	free(old.slot);
}

static void insert(struct table *t, struct block block)
{
	if (!t->slot || t->used * 2 > t->mask)
		grow(t);
	size_t i = place(t, block.address);

	t->used += !t->slot[i].address;
	t->slot[i] = block;
}

static int take(struct table *t, uint64_t address, struct block *block)
{
	size_t i = t->slot ? place(t, address) : 0;

	if (!t->slot || !t->slot[i].address)
		return 0;
	*block = t->slot[i];
	t->slot[i].address = 0;
	t->used--;
	for (size_t j = (i + 1) & t->mask; t->slot[j].address; j = (j + 1) & t->mask) {
		struct block again = t->slot[j];

		t->slot[j].address = 0;
		t->slot[place(t, again.address)] = again;
	}
	return 1;
}

static void insert_all(struct table *t, const struct table *from)
{
	for (size_t i = 0; from->slot && i <= from->mask; i++)
		if (from->slot[i].address)
			insert(t, from->slot[i]);
}

static uint64_t bytes_in(const struct table *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; t->slot && i <= t->mask; i++)
		bytes += t->slot[i].address ? t->slot[i].size : 0;
	return bytes;
}

/* --- forks ------------------------------------------------------------------------------------*/

static void about_to_fork(struct image *image, uint64_t sequence)
{
	struct fork fork = { .sequence = sequence };

	insert_all(&fork.had, &image->inherited);
	insert_all(&fork.had, &image->live);
	forks = realloc(forks, (nr_forks + 1) * sizeof(*forks));
	forks[nr_forks++] = fork;
}

static void begin(struct image *image)
{
	image->has_begun = 1;
	for (size_t i = 0; image->head->forked && i < nr_forks; i++)
		if (forks[i].sequence == image->head->fork_sequence) {
			image->inherited = forks[i].had;
			forks[i] = forks[--nr_forks];
			image->inherited_bytes = bytes_in(&image->inherited);
		}
}

/* --- events -----------------------------------------------------------------------------------*/

static struct wire_node *node_of(struct image *image, uint32_t id)
{
	return (struct wire_node *)(image->base + WIRE_NODES_AT) + id;
}

static void check_stack(struct image *image, uint32_t id)
{
	uint32_t used = atomic_load(&image->head->nodes_used);

	while (id) {
		struct wire_node *node = node_of(image, id);

		if (id >= used || node->parent >= id || !node->address) {
			image->bad_nodes++;
			return;
		}
		id = node->parent;
	}
}

static void add(struct image *image, const struct wire_event *e)
{
	struct block block = { e->address, e->size, e->stack }, old;

	if (take(&image->live, e->address, &old)) {
		image->duplicates++;
		image->live_bytes -= old.size;
	}
	insert(&image->live, block);
	image->live_bytes += e->size;
	image->allocated_bytes += e->size;
	if (image->live_bytes > image->peak_bytes)
		image->peak_bytes = image->live_bytes;
	check_stack(image, e->stack);
}

static void remove_block(struct image *image, const struct block *block)
{
	image->freed_bytes += block->size;
	image->live_bytes -= block->size;
}

static int take_inherited(struct image *image, uint64_t address)
{
	struct block block;

	if (!take(&image->inherited, address, &block))
		return 0;
	image->inherited_frees++;
	return 1;
}

static void begin_realloc(struct image *image, struct reader *reader, const struct wire_event *e)
{
	if (reader->in_flight && reader->had_block)
		insert(&image->live, reader->block);
	reader->in_flight = 1;
	reader->had_block = take(&image->live, e->address, &reader->block);
	reader->was_inherited =
		!reader->had_block && take(&image->inherited, e->address, &reader->block);
	image->unknown_reallocs += !reader->had_block && !reader->was_inherited;
}

static void end_realloc(struct image *image, struct reader *reader, const struct wire_event *e)
{
	image->unknown_reallocs += !reader->in_flight;
	reader->in_flight = 0;
	if (e->result == WIRE_RESULT_FAILED) {
		image->failed++;
		if (reader->had_block)
			insert(&image->live, reader->block);
		if (reader->was_inherited)
			insert(&image->inherited, reader->block);
		return;
	}
	image->inherited_frees += (uint64_t)reader->was_inherited;
	if (reader->had_block)
		remove_block(image, &reader->block);
	if (e->result == WIRE_RESULT_FREED) {
		image->frees++;
		return;
	}
	image->reallocations++;
	add(image, e);
}

static void apply(struct event *event)
{
	struct image *image = event->image;
	struct wire_event *e = &event->e;
	struct block block;

	nr_events++;
	gaps += e->sequence - next_number;
	next_number = e->sequence + 1;
	if (!image->has_begun)
		begin(image);
	switch (e->op) {
	case WIRE_ALLOC:
		image->allocations++;
		add(image, e);
		break;
	case WIRE_FREE:
		image->frees++;
		if (take(&image->live, e->address, &block))
			remove_block(image, &block);
		else if (!take_inherited(image, e->address))
			image->unknown_frees++;
		break;
	case WIRE_REALLOC_BEGIN:
		begin_realloc(image, &image->reader[event->ring], e);
		break;
	case WIRE_REALLOC_END:
		end_realloc(image, &image->reader[event->ring], e);
		break;
	case WIRE_THREAD:
		if (image->head->ring[event->ring].level)
			image->nested++;
		else
			image->threads++;
		break;
	case WIRE_FORK:
		image->forks++;
		about_to_fork(image, e->sequence);
		break;
	case WIRE_EXEC:
		image->execs++;
		break;
	}
}

/* --- reading ----------------------------------------------------------------------------------*/

static void find_images(void)
{
	uint32_t used = atomic_load(&control->segments_used);

	for (uint32_t i = (uint32_t)nr_images; i < used && nr_images < MAX_IMAGES; i++) {
		struct image *image = &images[nr_images++];

		image->base = mmap(NULL, WIRE_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_NORESERVE, memfd, (off_t)wire_segment_at(i));
		if (image->base == MAP_FAILED)
			die("mmap");
		image->head = (struct wire_segment *)image->base;
		image->reader = calloc(WIRE_RINGS, sizeof(*image->reader));
	}
}

/* When all programs are dead, nothing comes any more. */
static uint64_t watermark(int all_dead)
{
	uint64_t mark = atomic_load(&control->sequence);

	find_images();
	for (int i = 0; i < nr_images && !all_dead; i++)
		for (uint32_t r = 0; r < atomic_load(&images[i].head->rings_used); r++) {
			uint64_t low = atomic_load(&images[i].head->ring[r].low);

			if (low && low < mark)
				mark = low;
		}
	return mark;
}

static void collect(const struct event *event)
{
	if (batch_used == batch_size) {
		batch_size = batch_size ? batch_size * 2 : 4096;
		batch = realloc(batch, batch_size * sizeof(*batch));
	}
	batch[batch_used++] = *event;
}

static void drain_ring(struct image *image, uint32_t r, uint64_t below)
{
	struct wire_ring *ring = &image->head->ring[r];
	struct reader *reader = &image->reader[r];
	struct event event = { .image = image, .ring = r };

	reader->slots = (struct wire_slot *)(image->base + WIRE_SLOTS_AT) + ring->slots_at;
	reader->log2 = ring->log2_slots;
	if (!reader->log2)
		return;
	for (;;) {
		uint8_t lap = wire_lap(reader->tail, reader->log2);
		struct wire_slot *slot = &reader->slots[reader->tail & ((1u << reader->log2) - 1)];
		uint64_t number = wire_slot_sequence(slot, lap);

		if (!number || number >= below || !wire_slot_get(slot, lap, &event.e))
			break;
		image->out_of_order += number <= reader->last;
		reader->last = number;
		reader->tail++;
		collect(&event);
	}
	atomic_store(&ring->tail, reader->tail);
	if (atomic_load(&ring->waiting))
		syscall(SYS_futex, &ring->tail, 1 /* FUTEX_WAKE */, INT32_MAX, NULL, NULL, 0);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct event *)a)->e.sequence;
	uint64_t y = ((const struct event *)b)->e.sequence;

	return x < y ? -1 : x > y;
}

static void drain(int all_dead)
{
	uint64_t below = watermark(all_dead);

	batch_used = 0;
	for (int i = 0; i < nr_images; i++)
		for (uint32_t r = 0; r < atomic_load(&images[i].head->rings_used); r++)
			drain_ring(&images[i], r, below);
	qsort(batch, batch_used, sizeof(*batch), by_number);
	for (size_t i = 0; i < batch_used; i++)
		apply(&batch[i]);
}

/* --- output -----------------------------------------------------------------------------------*/

static void print_text(const char *name, const char *text, uint32_t bytes)
{
	fprintf(out, ", \"%s\": \"", name);
	for (uint32_t i = 0; i < bytes; i++)
		if (text[i] == '"' || text[i] == '\\' || (unsigned char)text[i] < ' ')
			fprintf(out, "\\u%04x", (unsigned char)text[i]);
		else
			putc(text[i], out);
	putc('"', out);
}

static void print_number(const char *name, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, name, value);
}

static void print_modules(struct image *image)
{
	struct wire_module *m = (struct wire_module *)(image->base + WIRE_MODULES_AT);

	fprintf(out, ",\n \"modules\": [null");
	for (uint32_t i = 1; i < image->head->modules_used; i++) {
		fprintf(out, ",\n  {\"id\": %u", i);
		print_number("start", m[i].start);
		print_number("end", m[i].end);
		print_number("bias", m[i].bias);
		print_number("generation", m[i].generation);
		print_text("path", image->base + WIRE_TEXT_AT + m[i].path_at, m[i].path_bytes);
		fprintf(out, ", \"build_id\": \"");
		for (uint32_t b = 0; b < m[i].build_id_bytes; b++)
			fprintf(out, "%02x",
				(unsigned char)image->base[WIRE_TEXT_AT + m[i].build_id_at + b]);
		fprintf(out, "\"}");
	}
	fprintf(out, "]");
}

/* Nodes as [address, parent, module], live blocks as [address, size, node]. */
static void print_stacks(struct image *image)
{
	struct table *live = &image->live;

	fprintf(out, ",\n \"nodes\": [null");
	for (uint32_t i = 1; i < image->head->nodes_used; i++) {
		struct wire_node *n = node_of(image, i);

		fprintf(out, ",[%" PRIu64 ",%u,%u]", n->address & ~WIRE_EXACT_PC, n->parent,
			n->module);
	}
	fprintf(out, "],\n \"live\": [null");
	for (size_t i = 0; live->slot && i <= live->mask; i++)
		if (live->slot[i].address)
			fprintf(out, ",[%" PRIu64 ",%" PRIu64 ",%u]", live->slot[i].address,
				live->slot[i].size, live->slot[i].stack);
	fprintf(out, "]");
}

static uint64_t count_stops(struct image *image)
{
	uint64_t nr = 0;

	for (uint32_t i = 1; i < image->head->nodes_used; i++)
		nr += node_of(image, i)->module == WIRE_MODULE_STOP;
	return nr;
}

/* What the program counted by itself. */
static void print_counters(const struct wire_segment *head)
{
	uint64_t allocations = 0, reallocations = 0, frees = 0, bytes = 0, lost = 0, stalled_ns = 0;

	for (uint32_t r = 0; r < head->rings_used; r++) {
		allocations += head->ring[r].allocations;
		reallocations += head->ring[r].reallocations;
		frees += head->ring[r].frees;
		bytes += head->ring[r].allocated_bytes;
		lost += head->ring[r].lost;
		stalled_ns += head->ring[r].stalled_ns;
	}
	print_number("counted_allocations", allocations);
	print_number("counted_reallocations", reallocations);
	print_number("counted_frees", frees);
	print_number("counted_bytes", bytes);
	print_number("lost", lost);
	print_number("stalled_ns", stalled_ns);
}

static void print_image(struct image *image, int with_stacks)
{
	struct wire_segment *head = image->head;

	fprintf(out, "{\"pid\": %d", head->pid);
	const char *text = (const char *)head + WIRE_TEXT_AT;

	print_text("exe", text + head->exe_at, head->exe_bytes);
	print_text("argv", text + head->argv_at, head->argv_bytes);
	print_number("state", head->state);
	print_number("reason", head->reason);
	print_number("allocations", image->allocations);
	print_number("frees", image->frees);
	print_number("reallocations", image->reallocations);
	print_number("allocated_bytes", image->allocated_bytes);
	print_number("freed_bytes", image->freed_bytes);
	print_number("live_blocks", image->live.used);
	print_number("live_bytes", image->live_bytes);
	print_number("peak_bytes", image->peak_bytes);
	print_number("forked", head->forked);
	print_number("inherited_bytes", image->inherited_bytes);
	print_number("inherited_frees", image->inherited_frees);
	print_number("unknown_frees", image->unknown_frees);
	print_number("unknown_reallocs", image->unknown_reallocs);
	print_number("duplicates", image->duplicates);
	print_number("out_of_order", image->out_of_order);
	print_number("bad_nodes", image->bad_nodes);
	print_number("failed_reallocs", image->failed);
	print_number("forks", image->forks);
	print_number("execs", image->execs);
	print_number("threads", image->threads);
	print_number("nested", image->nested);
	print_number("rings", head->rings_used);
	print_number("nr_nodes", head->nodes_used - 1);
	print_number("stops", count_stops(image));
	print_number("missed", head->missed);
	print_counters(head);
	print_modules(image);
	if (with_stacks)
		print_stacks(image);
	fprintf(out, "}");
}

static uint64_t microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void print(int status, int with_stacks)
{
	fprintf(out, "{\"status\": %d", status);
	print_number("events", nr_events);
	print_number("gaps", gaps);
	print_number("user_us", microseconds(&program_usage.ru_utime));
	print_number("system_us", microseconds(&program_usage.ru_stime));
	fprintf(out, ", \"images\": [\n");
	for (int i = 0; i < nr_images; i++) {
		if (i)
			fprintf(out, ",\n");
		print_image(&images[i], with_stacks);
	}
	fprintf(out, "]}\n");
	fflush(out);
}

/* --- running ----------------------------------------------------------------------------------*/

static void make_file(uint32_t log2)
{
	memfd = memfd_create("heap", MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, (off_t)WIRE_FILE_BYTES))
		die("memfd");
	control = mmap(NULL, WIRE_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (control == MAP_FAILED)
		die("mmap");
	wire_init(control, getpid(), log2);
	atomic_store(&control->heartbeat_ns, now_ns());
}

/* Of system calls, as a container may have. */
static unsigned int nr_filters(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned int nr = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Seccomp_filters: %u", &nr);
	if (status)
		fclose(status);
	return nr;
}

static pid_t start(const char *shim, char **argv)
{
	char path[64];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d,%u", getppid(), memfd, nr_filters());
	setenv(WIRE_ENV, path, 1);
	setenv("LD_PRELOAD", shim, 1);
	execvp(argv[0], argv);
	_exit(127);
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* False when no process is left. */
static int reap(pid_t program, int *status)
{
	struct rusage usage;
	int child_status;
	pid_t child;

	while ((child = wait4(-1, &child_status, WNOHANG, &usage)) > 0)
		if (child == program) {
			*status = child_status;
			program_usage = usage;
		}
	return child == 0;
}

int main(int argc, char **argv)
{
	uint64_t first_ns = 0, stop_after_ns = UINT64_MAX, kill_after_ns = UINT64_MAX;
	uint64_t pause_ns = 2 * NS_PER_MS;
	uint32_t log2 = 13;
	int option, status = 0, with_stacks = 0, alive = 1;

	while ((option = getopt(argc, argv, "+r:d:x:k:s")) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (option == 'r')
			log2 = (uint32_t)value;
		else if (option == 'd')
			pause_ns = value * NS_PER_MS;
		else if (option == 'x')
			stop_after_ns = value * NS_PER_MS;
		else if (option == 'k')
			kill_after_ns = value * NS_PER_MS;
		else if (option == 's')
			with_stacks = 1;
		else
			return 125;
	}
	out = fdopen(3, "w");
	if (!out || argc - optind < 2)
		return 125;
	fcntl(3, F_SETFD, FD_CLOEXEC);
	make_file(log2);
	/* Grandchildren whose parents end first are ours to wait for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	pid_t pid = start(argv[optind], argv + optind + 1);

	while (alive) {
		struct timespec pause = { (time_t)(pause_ns / 1000000000),
					  (long)(pause_ns % 1000000000) };

		uint64_t since_ns = first_ns ? now_ns() - first_ns : 0;

		if (since_ns > kill_after_ns)
			kill(pid, SIGKILL);
		alive = reap(pid, &status);
		if (since_ns < stop_after_ns) {
			atomic_store(&control->heartbeat_ns, now_ns());
			drain(!alive);
			if (!first_ns && nr_images)
				first_ns = now_ns();
		}
		if (alive)
			nanosleep(&pause, NULL);
	}
	gaps += atomic_load(&control->sequence) - next_number;
	print(exit_code(status), with_stacks);
	return exit_code(status);
}
