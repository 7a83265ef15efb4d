/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_family - processes that fork, execute and end at random, one operation of one of them at a
 * time, and that count what each of them does to its heap.
 *
 *	heap_family STEPS SEED
 *
 * Whose turn it is stands in memory that all of them share; so the order of all operations is
 * known, and with it the sum of all heaps at any time.  At the end it prints, as JSON, what every
 * image did, in the order of their starts, and the peak of the sum.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_IMAGES 400
#define MOST_ALIVE 8
#define MOST_BLOCKS 4096

struct image {
	int32_t pid, number, parent; /* parent: index of the image that forked it, or -1 */
	int alive, children;
	int32_t to_wait_for; /* a child that ended */
	uint64_t allocations, frees, reallocations, allocated_bytes, freed_bytes;
	uint64_t live_bytes, live_blocks, peak_bytes;
	uint64_t inherited_bytes, inherited_frees;
};

struct family {
	_Atomic uint32_t turn; /* index of an image */
	uint64_t seed;
	int64_t steps;
	uint32_t nr_images, nr_alive;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	struct image images[MOST_IMAGES];
};

struct block {
	void *at;
	size_t size;
};

struct blocks {
	struct block at[MOST_BLOCKS];
	size_t nr;
};

static int memory_fd;
static struct family *family;
static uint32_t self; /* index */
static struct image *me;
static struct blocks own, inherited;

static uint64_t random_below(uint64_t limit)
{
	family->seed = family->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (family->seed >> 33) % limit;
}

/* --- taking turns -----------------------------------------------------------------------------*/

static void futex(int operation, uint32_t value)
{
	syscall(SYS_futex, &family->turn, operation, value, NULL, NULL, 0);
}

static void await_turn(void)
{
	uint32_t turn;

	while ((turn = family->turn) != self)
		futex(FUTEX_WAIT, turn);
}

static void give_turn(uint32_t to)
{
	family->turn = to;
	futex(FUTEX_WAKE, INT32_MAX);
}

static uint32_t anybody(void)
{
	for (;;) {
		uint32_t i = (uint32_t)random_below(family->nr_images);

		if (family->images[i].alive)
			return i;
	}
}

/* --- what is counted --------------------------------------------------------------------------*/

static void change(int64_t bytes, int64_t blocks)
{
	me->live_bytes += (uint64_t)bytes;
	me->live_blocks += (uint64_t)blocks;
	family->live_bytes += (uint64_t)bytes;
	family->live_blocks += (uint64_t)blocks;
	if (me->live_bytes > me->peak_bytes)
		me->peak_bytes = me->live_bytes;
	if (family->live_bytes >= family->peak_bytes) {
		family->peak_bytes = family->live_bytes;
		family->peak_blocks = family->live_blocks;
	}
}

static uint32_t new_image(int32_t number, int32_t parent)
{
	struct image *image = &family->images[family->nr_images];

	*image = (struct image){ .number = number, .parent = parent, .alive = 1 };
	family->nr_alive++;
	return family->nr_images++;
}

/* What it had is gone with it. */
static void end_image(void)
{
	me->alive = 0;
	family->nr_alive--;
	family->live_bytes -= me->live_bytes;
	family->live_blocks -= me->live_blocks;
}

/* --- operations -------------------------------------------------------------------------------*/

static void add(struct blocks *blocks, void *at, size_t size)
{
	if (!at)
		_exit(50);
	blocks->at[blocks->nr++] = (struct block){ at, size };
}

static struct block take_any(struct blocks *blocks)
{
	size_t i = random_below(blocks->nr);
	struct block block = blocks->at[i];

	blocks->at[i] = blocks->at[--blocks->nr];
	return block;
}

static size_t any_size(void)
{
	return 1 + random_below(random_below(20) ? 500 : 200000);
}

static void allocate(void)
{
	size_t size = any_size();

	if (own.nr + inherited.nr == MOST_BLOCKS)
		return;
	add(&own, random_below(2) ? malloc(size) : calloc(1, size), size);
	me->allocations++;
	me->allocated_bytes += size;
	change((int64_t)size, 1);
}

static void release(void)
{
	if (!own.nr)
		return;
	struct block block = take_any(&own);

	free(block.at);
	me->frees++;
	me->freed_bytes += block.size;
	change(-(int64_t)block.size, -1);
}

static void reallocate(void)
{
	size_t size = any_size();

	if (!own.nr)
		return;
	struct block block = take_any(&own);

	add(&own, realloc(block.at, size), size);
	me->reallocations++;
	me->allocated_bytes += size;
	me->freed_bytes += block.size;
	change((int64_t)size - (int64_t)block.size, 0);
}

static void release_inherited(void)
{
	if (!inherited.nr)
		return;
	free(take_any(&inherited).at);
	me->inherited_frees++;
}

/* It becomes our own. */
static void reallocate_inherited(void)
{
	size_t size = any_size();

	if (!inherited.nr)
		return;
	add(&own, realloc(take_any(&inherited).at, size), size);
	me->inherited_frees++;
	me->allocations++;
	me->allocated_bytes += size;
	change((int64_t)size, 1);
}

/* --- processes --------------------------------------------------------------------------------*/

static void be(uint32_t index)
{
	self = index;
	me = &family->images[index];
	me->pid = getpid();
}

static void begin_child(uint32_t index)
{
	be(index);
	for (; own.nr; own.nr--)
		inherited.at[inherited.nr++] = own.at[own.nr - 1];
	for (size_t i = 0; i < inherited.nr; i++)
		me->inherited_bytes += inherited.at[i].size;
}

static void fork_child(void)
{
	if (family->nr_alive == MOST_ALIVE || family->nr_images == MOST_IMAGES)
		return;
	uint32_t index = new_image(0, (int32_t)self);
	pid_t pid = fork();

	if (pid < 0)
		_exit(51);
	if (!pid) {
		begin_child(index);
		await_turn();
		return;
	}
	me->children++;
}

static void execute(void)
{
	char fd[16], index[16];
	char *arguments[] = { (char *)"heap_family", (char *)"-", fd, index, NULL };

	if (me->children || family->nr_images == MOST_IMAGES)
		return;
	end_image();
	snprintf(fd, sizeof(fd), "%d", memory_fd);
	snprintf(index, sizeof(index), "%u", new_image(me->number + 1, me->parent));
	execv("/proc/self/exe", arguments);
	_exit(52);
}

static void wait_for_child(void)
{
	int status;

	if (waitpid(me->to_wait_for, &status, 0) < 0 || status)
		_exit(53);
	me->to_wait_for = 0;
	me->children--;
}

/* The parent waits for our end before anybody does anything else.  It does not execute anything as
 * long as it has children. */
static void leave(void)
{
	uint32_t parent = (uint32_t)me->parent;

	end_image();
	family->images[parent].to_wait_for = me->pid;
	give_turn(parent);
	_exit(0);
}

static void step(void)
{
	switch (random_below(40)) {
	case 0:
		fork_child();
		break;
	case 1:
		if (me->parent >= 0)
			execute();
		break;
	case 2:
		if (me->parent >= 0 && !me->children)
			leave();
		break;
	case 3 ... 7:
		release_inherited();
		break;
	case 8 ... 10:
		reallocate_inherited();
		break;
	case 11 ... 15:
		reallocate();
		break;
	case 16 ... 22:
		release();
		break;
	default:
		allocate();
	}
}

static void live(void)
{
	for (;;) {
		await_turn();
		if (me->to_wait_for)
			wait_for_child();
		if (family->steps-- > 0)
			step();
		else if (me->parent >= 0 && !me->children)
			leave();
		else if (family->nr_alive == 1)
			return;
		give_turn(anybody());
	}
}

static void print_image(const struct image *image, const char *end)
{
	printf(" {\"pid\": %d, \"image\": %d, \"allocations\": %" PRIu64 ", \"frees\": %" PRIu64
	       ", \"reallocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
	       ", \"freed_bytes\": %" PRIu64 ", \"live_bytes\": %" PRIu64
	       ", \"live_blocks\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
	       ", \"inherited_bytes\": %" PRIu64 ", \"inherited_frees\": %" PRIu64 "}%s\n",
	       image->pid, image->number, image->allocations, image->frees, image->reallocations,
	       image->allocated_bytes, image->freed_bytes, image->live_bytes, image->live_blocks,
	       image->peak_bytes, image->inherited_bytes, image->inherited_frees, end);
}

static void print(void)
{
	static char buffer[8192];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	printf("{\"peak_bytes\": %" PRIu64 ", \"peak_blocks\": %" PRIu64 ", \"images\": [\n",
	       family->peak_bytes, family->peak_blocks);
	for (uint32_t i = 0; i < family->nr_images; i++)
		print_image(&family->images[i], i + 1 < family->nr_images ? "," : "");
	printf("]}\n");
}

static void map_family(void)
{
	family = mmap(NULL, sizeof(*family), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	if (family == MAP_FAILED)
		_exit(54);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-")) {
		memory_fd = atoi(argv[2]);
		map_family();
		be((uint32_t)atoi(argv[3]));
		/* It is still our turn: of the image before. */
		give_turn(self);
	} else if (argc == 3) {
		memory_fd = memfd_create("family", 0);
		if (memory_fd < 0 || ftruncate(memory_fd, sizeof(*family)) < 0)
			return 55;
		map_family();
		family->steps = atoll(argv[1]);
		family->seed = strtoull(argv[2], NULL, 10);
		be(new_image(0, -1));
	} else {
		return 2;
	}
	live();
	print();
	return 0;
}
