/* SPDX-License-Identifier: MIT */
/*
 * wire - the memory that the heap shim and the recorder share: what is where, who writes it, and
 * in which order.
 *
 * THE FILE.  One memfd for a whole recording, made by the recorder, sparse, WIRE_FILE_BYTES long:
 *
 *	0			struct wire_control
 *	WIRE_CONTROL_BYTES	segment 0	one segment for each process image (an exec
 *	+ WIRE_SEGMENT_BYTES	segment 1	starts a new one)
 *	...
 *
 *	in a segment:
 *	0			struct wire_segment
 *	WIRE_MODULES_AT		struct wire_module [WIRE_MODULES]	ids 1...
 *	WIRE_TEXT_AT		char [WIRE_TEXT_BYTES]			paths, build ids, arguments
 *	WIRE_NODES_AT		struct wire_node [WIRE_NODES]		ids 1...
 *	WIRE_SLOTS_AT		struct wire_slot [WIRE_SLOTS]		what the rings are made of
 *
 * The launcher creates it (wire_init), keeps the heartbeat going, and starts the program with
 * LD_PRELOAD and WIRE_ENV=/proc/<its pid>/fd/<n>.  The shim opens that path, maps, and closes it
 * again; no descriptor stays in the program.  If anything is wrong with it, the shim passes calls
 * through and nothing appears here.
 *
 * FILTERS of system calls (seccomp) outlast an exec, and the shim in the new image does not know what they
 * forbid, if it is not told.  So the value of WIRE_ENV goes on: PATH,BASE if the recorder has BASE filters
 * itself, which shims take no notice of; PATH,BASE,NR,CALLS as a shim hands it on whose image has NR of
 * them, that it knows all: CALLS is what they let through, in hexadecimal, a bit each (see filter.c).
 *
 * THE DOOR.  Where /proc does not lead there (it is another one, or the program is in another user
 * namespace, whose processes may not look into ours; or it gave up to be root), the recorder hands the
 * file out: at an abstract socket, wire_door_name(), which only another network namespace is out of
 * reach of.  Who connects gets one message: its pid in the recorder's eyes (int32_t), with the
 * descriptor.  Either side looks at whether the other one is of its own user, since anybody can have an
 * abstract name; a recorder that is root's also lets in what it has started, as whoever that is by now.
 *
 * SEGMENTS.  The shim claims segment i by changing owner[i] from 0 to its pid, raises
 * segments_used, fills in the header, and last stores state LIVE (release).  A new segment of a
 * pid that has one already means that the pid did an exec before start_sequence: the older image
 * is over.  When an image is over and drained, the recorder punches a hole over the segment and
 * sets owner[i] to 0, in this order.  It does so too when the owner of an empty one is gone: it
 * was killed on the way.
 *
 * FORKS.  A forked child gets none of its parent's mappings but that of the control block.  It
 * claims a segment of its own when fork() returns there, or before its first event if that is
 * earlier (or if it was made by a system call): `forked` is 1 then.  Its heap starts with what was
 * live at the event WIRE_FORK whose number is fork_sequence.
 *
 * EXECS.  What is executed does not come here if it is a static program, say.  So who executes tells
 * of it before: the image itself, a child that shares its memory (vfork), or the image for the child
 * that it spawned.  The entries are a ring that nobody waits for: one that was written over before it
 * was read is missed.
 *
 * STACKS are interned: a stack is the id of its innermost node, a node is { return address,
 * module, parent }, a node's parent always has a smaller id, 0 is the empty stack.  Nodes,
 * modules and text are only ever appended, and written before (release) the event that first
 * mentions them.  Ids are dense up to nodes_used and modules_used, but an unused id may lie
 * between (all zero).  What a stack does not show is said by nodes with a WIRE_MODULE_ mark.
 *
 * EVENTS travel through rings: each has one producer, a thread of the program at one level of
 * nesting (an allocation in a signal handler that interrupted the shim itself is level 1, in a
 * ring of its own), and one consumer, the recorder.  There is no head: slot `pos & mask` holds
 * event number pos when its lap is wire_lap(pos).  The consumer owns `tail`.  The first event in
 * a ring, and the first one of another thread that takes over the ring of a thread that ended, is
 * WIRE_THREAD.
 *
 * ORDER.  Each event takes the next number of `sequence`, shared by all processes: a free before
 * the real free, an allocation after the real allocation, a realloc at both ends.  So whoever
 * gets a block again got it later in this order, and for each address allocations and frees
 * strictly alternate.  Numbers are taken and published like this:
 *
 *	ring->low = number of its last event + 1;	// a lower bound of what comes; for the
 *						// first one, `sequence` when it got the ring
 *	n = sequence++;				// atomic, and a full fence
 *	slot = event with number n;		// its first word, with the lap, last (release)
 *	ring->pos++;
 *	ring->low = 0;				// release
 *
 * and merged like this:
 *
 *	S = sequence;				// acquire; before looking at anything else
 *	W = the smallest of S and every low that is not 0, of segments_used x rings_used rings
 *	consume every event below W, in order of numbers
 *
 * A ring or segment seen too late for this round can only hold numbers >= S.  In one ring numbers
 * grow.  A low stays behind when its thread stops for good between the two stores: ignore it when
 * the process is dead, or when owner is not alive, or after a while; then count what comes late.
 *
 * FULL RINGS.  A producer without room waits (futex on tail, 50 ms at a time, `waiting` set); it
 * holds no low meanwhile.  When the heartbeat is older than WIRE_HEARTBEAT_LIMIT_NS, and stays so
 * for another second of waiting (the two may have been stopped together), or the recorder's process
 * is gone, or no room comes for five seconds, the program goes on without it: state becomes OFF.
 * The consumer, having moved tail by at least a quarter of the ring, and whenever a ring was full:
 * full fence, then if `waiting` wakes all waiters.  It sleeps in a futex wait on `sleeping` (which
 * it sets to 1 before it looks at the rings one last time), and rather comes by itself before a ring
 * is half full; producers whose ring is more than half full reset it to 0 and wake it.
 *
 * SAMPLES.  In WIRE_MODE_SAMPLE points lie on the bytes that a thread allocates, at distances drawn
 * from the exponential distribution with the mean sample_bytes, and a block is of the sample when
 * one of its bytes (a block of size 0 has one) is hit: with the probability
 * 1 - exp(-size / sample_bytes), whatever happens to other blocks.  Only what happens to blocks of
 * the sample is an event.  A reallocation ends one block and draws anew for the other: BEGIN and
 * END (LEFT) if the old one was of the sample, then END (CAME) if the new one is.  WIRE_FREE has a
 * result then: DONE if the thread did nothing else since it allocated the block.
 *
 * TIME.  An event's clock is part of wire_clock(): a raw counter, good for lifetimes, no order.
 * It becomes CLOCK_MONOTONIC by wire_clock_expand() and pairs (wire_clock, clock_gettime) that the
 * recorder takes for itself.
 *
 * NOTHING IN HERE MAY BE TRUSTED by the recorder: the program can scribble over all of it.  The
 * file is sealed against shrinking.  Besides, check: state and op are known ones; ring numbers
 * below rings_used <= WIRE_RINGS; log2_slots within WIRE_RING_LOG2_MIN..MAX and slots_at plus the
 * size within WIRE_SLOTS (copy both once, at first sight, and do not read them again); stacks <
 * WIRE_NODES and parent < id; modules <= modules_used < WIRE_MODULES; text ranges within
 * WIRE_TEXT_BYTES; *_used within the limits; sequence numbers that grow within a ring and are
 * below S; pids that are really ours.  A number that fails costs its event, not the recording.
 */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "unwind/end.h"

#define WIRE_ENV "CPROF_HEAP"

/* A program built with gcc's -fsanitize=address refuses to start if libasan is not the first
 * library in it, unless it is told this; the shim, in front of it, leaves such a program alone. */
#define WIRE_ASAN_ENV "ASAN_OPTIONS"
#define WIRE_ASAN_OPTIONS "verify_asan_link_order=0"

#define WIRE_MAGIC UINT64_C(0x31656e7772706325)
#define WIRE_VERSION 9

#define WIRE_DOOR "cprof-heap" /* then the path */

/* Everything that is mapped apart starts at a multiple of this, the largest page size. */
#define WIRE_ALIGN (UINT64_C(64) << 10)

#define WIRE_SEGMENTS 4096
#define WIRE_RINGS 2048
#define WIRE_MODULES 4096
#define WIRE_NODES (UINT32_C(1) << 24)
#define WIRE_SLOTS (UINT32_C(1) << 24)
#define WIRE_TEXT_BYTES (UINT32_C(1) << 20)
#define WIRE_EXECS 1024 /* a power of two */

#define WIRE_CONTROL_BYTES WIRE_ALIGN
#define WIRE_SEGMENT_BYTES (UINT64_C(1) << 30)
#define WIRE_FILE_BYTES (WIRE_CONTROL_BYTES + WIRE_SEGMENTS * WIRE_SEGMENT_BYTES)

#define WIRE_MODULES_AT (UINT64_C(1) << 20)
#define WIRE_TEXT_AT (UINT64_C(2) << 20)
#define WIRE_HEAD_BYTES (UINT64_C(3) << 20) /* header, modules and text: one mapping */
#define WIRE_NODES_AT (UINT64_C(256) << 20)
#define WIRE_SLOTS_AT (UINT64_C(512) << 20)

#define WIRE_RING_LOG2_MIN 8
#define WIRE_RING_LOG2_MAX 18

#define WIRE_HEARTBEAT_LIMIT_NS UINT64_C(1000000000)

enum wire_mode {
	WIRE_MODE_EXACT = 1, /* every operation is an event */
	WIRE_MODE_SAMPLE,    /* those of a sample of blocks are, all are counted */
	WIRE_MODE_COUNTS,    /* all are counted */
};

#define WIRE_SAMPLE_BYTES_MIN (UINT64_C(1) << 10)
#define WIRE_SAMPLE_BYTES_MAX (UINT64_C(1) << 30)

struct wire_control {
	uint64_t magic;
	uint32_t version;
	uint32_t segment_header_bytes; /* sizeof(struct wire_segment), another check */
	int32_t launcher;	       /* pid */
	uint32_t mode;		       /* enum wire_mode */
	uint32_t ring_log2;	       /* slots of the first rings; later ones may be smaller */
	uint64_t sample_bytes;	       /* of WIRE_MODE_SAMPLE: see there */

	/* CLOCK_MONOTONIC, stored by the recorder at least every 100 ms, from before the start; 0:
	 * it has left. */
	_Alignas(64) _Atomic uint64_t heartbeat_ns;

	/* Futex; 1 while the recorder sleeps. */
	_Alignas(64) _Atomic uint32_t sleeping;

	/* The next number; starts at 1.  Every event changes it: so nothing else is in its line, nor
	 * in the next ones, which CPUs fetch with it. */
	char gap[5 * 64];
	_Alignas(64) _Atomic uint64_t sequence;
	char other_gap[4 * 64];

	_Alignas(64) _Atomic uint32_t segments_used;
	_Atomic int32_t owner[WIRE_SEGMENTS]; /* pid, 0 is free */
};

enum wire_state {
	WIRE_STATE_EMPTY,
	WIRE_STATE_LIVE,
	WIRE_STATE_OFF, /* the shim switched itself off: see reason */
};

/* Why a process is not, or no longer, tracked. */
enum wire_reason {
	WIRE_REASON_NONE,
	WIRE_REASON_RECORDER_GONE,  /* no heartbeat, and a ring was full */
	WIRE_REASON_SANITIZER,	    /* has an allocator with an own idea of correctness */
	WIRE_REASON_FOREIGN_MALLOC, /* the executable defines malloc itself: ours is not called */
	WIRE_REASON_NO_MALLOC,	    /* no further definition of malloc to forward to */
	WIRE_REASON_NO_MEMORY,	    /* mmap refused */
	WIRE_REASON_NO_RINGS,	    /* more threads than WIRE_RINGS, or than there are slots for */
	WIRE_REASON_NO_FORK_GUARD,  /* madvise(MADV_WIPEONFORK) refused */
	WIRE_REASON_SECCOMP,	    /* gives up system calls that we need */
	WIRE_REASON_VALGRIND,	    /* has functions of its own in the place of malloc */
	WIRE_NR_REASONS
};

/* One ring.  Zero is an unused one.  Written by the producer, but for tail. */
struct wire_ring {
	_Atomic uint64_t low; /* 0: between events */
	_Atomic uint32_t pos; /* event number, modulo 2^32; informative, laps decide */
	uint32_t unused;
	/* What went through this ring in all, whoever had it; lost ones included. */
	_Atomic uint64_t allocations;
	_Atomic uint64_t reallocations; /* successful */
	_Atomic uint64_t frees;
	_Atomic uint64_t allocated_bytes; /* of allocations and reallocations */
	_Atomic uint64_t lost;		  /* events that did not get into the ring */
	_Atomic uint64_t stalled_ns;	  /* spent waiting for room */

	_Alignas(64) _Atomic uint32_t tail; /* by the consumer; futex */

	_Alignas(64) _Atomic uint32_t waiting; /* 1: wake me when tail moves */
	_Atomic int32_t owner;		       /* tid; stays when the thread ends */
	uint32_t level;			       /* of nesting in signal handlers, mostly 0 */
	uint32_t log2_slots;
	uint32_t slots_at; /* index of its first slot in the segment */
};

struct wire_counts {
	_Atomic uint64_t allocations, reallocations, frees, allocated_bytes, lost;
};

/* See EXECS.  Entry number n is at n modulo WIRE_EXECS. */
struct wire_exec {
	_Atomic uint32_t number; /* n + 1 when it is whole; stored last (release) */
	int32_t pid;		 /* of who executes */
	uint64_t clock;		 /* wire_clock() before that */
	uint16_t failed;	 /* 1: it did not, as it said before */
	uint16_t filtered;	 /* 1: under filters (seccomp) with which a shim stays off */
	char path[236]; /* as given, or argv[0]; ends with 0, cut if longer; empty: not known */
};

#define WIRE_EXE_BYTES 4096
#define WIRE_ARGV_BYTES 16384

/* Written once by the constructor or the first event, but for what is _Atomic. */
struct wire_segment {
	_Atomic uint32_t state;	       /* enum wire_state */
	_Atomic uint32_t reason;       /* enum wire_reason */
	_Atomic uint64_t off_sequence; /* when state became OFF; later events are missing */
	uint64_t off_clock;	       /* wire_clock() then */
	uint32_t was_live;	       /* 1: what came before that is here */
	uint32_t counts_on;	       /* 1: what came after that is counted, as lost */
	int32_t pid, ppid;
	uint64_t start_sequence;      /* no event of this image is below */
	uint64_t start_clock;	      /* wire_clock() ... */
	uint64_t start_ns;	      /* ... and CLOCK_MONOTONIC, then */
	_Atomic uint64_t missed;      /* calls before start_sequence, which could not be recorded */
	uint64_t fork_sequence;	      /* of a forked one: WIRE_FORK's; 0: nobody told of the fork */
	uint32_t forked;	      /* 1: by a fork; 0: by an exec */
	uint32_t allocator;	      /* the module whose malloc it is; 0: not known */
	_Atomic uint64_t index_bytes; /* of what finds nodes, which is in memory of the process */

	_Alignas(64) _Atomic uint32_t rings_used; /* of ring[]; grows */
	_Atomic uint32_t slots_used;
	_Atomic uint32_t modules_used; /* 1 more than the largest id in use, at least 1 */
	_Atomic uint32_t text_used;    /* bytes */
	_Atomic uint32_t execs_used;   /* entries of exec[] so far, modulo 2^32 */

	_Alignas(64) _Atomic uint32_t
		nodes_used; /* 1 more than the largest id in use, at least 1 */

	/* In the text; 0 bytes if not known: the path, not terminated, and the arguments, each
	 * terminated by \0, cut if longer. */
	_Alignas(64) uint32_t exe_at, exe_bytes;
	uint32_t argv_at, argv_bytes;

	/* What threads without a ring did. */
	_Alignas(64) struct wire_counts apart;

	_Alignas(64) struct wire_ring ring[WIRE_RINGS];
	struct wire_exec exec[WIRE_EXECS];
};

/* A mapped ELF image at one time; after dlclose another one may be at the same addresses. */
struct wire_module {
	uint64_t start, end;	      /* addresses it covers, first to last segment */
	uint64_t bias;		      /* address = address in the file's program headers + bias */
	uint32_t generation;	      /* dlcloses seen before it was */
	uint32_t path_at, path_bytes; /* in the text; absolute; 0 bytes if not known */
	uint32_t build_id_at, build_id_bytes;
	uint32_t unused;
};

/* Values of node.module that are not modules. */
#define WIRE_MODULE_NONE 0	    /* code in no ELF image: generated at run time, say */
#define WIRE_MODULE_STOP UINT32_MAX /* the walk ended early; address is an enum unwind_end */
#define WIRE_MODULE_ELIDED (UINT32_MAX - 1) /* address is a number of frames left out here */

/* The bit of address that says: the exact pc, interrupted by a signal, not a return address. */
#define WIRE_EXACT_PC (UINT64_C(1) << 63)

struct wire_node {
	uint64_t address;
	uint32_t parent; /* the caller's node */
	uint32_t module;
};

/* The id for stacks that found no room in the table. */
#define WIRE_STACK_OTHER 0

enum wire_op {
	WIRE_NONE,
	WIRE_ALLOC,	    /* address, size, function, stack */
	WIRE_FREE,	    /* address, function */
	WIRE_REALLOC_BEGIN, /* address of a block that the allocator now has in its hands */
	WIRE_REALLOC_END,   /* ends the last BEGIN of this ring: result; address, size, function,
			     * stack of the new block.  A BEGIN without END before the next BEGIN of
			     * its ring, or the end of the process, counts as FAILED. */
	WIRE_THREAD,	    /* address is the tid that owns the ring from here on */
	WIRE_FORK,	    /* about to fork; if that fails, nobody refers to this event */
	WIRE_EXEC,	    /* about to replace the program; if it fails, more events follow */
	WIRE_END,	    /* address is the pid of this process, which is about to end, or of a
			     * child that it waited for; size WIRE_END_KNOWN | wait()'s status */
	WIRE_NR_OPS
};

#define WIRE_END_KNOWN (1 << 16)

/* Which function the program called. */
enum wire_function {
	WIRE_FN_NONE,
	WIRE_FN_MALLOC,
	WIRE_FN_CALLOC,
	WIRE_FN_REALLOC,
	WIRE_FN_REALLOCARRAY,
	WIRE_FN_POSIX_MEMALIGN,
	WIRE_FN_ALIGNED_ALLOC,
	WIRE_FN_MEMALIGN,
	WIRE_FN_VALLOC,
	WIRE_FN_PVALLOC,
	WIRE_FN_FREE,
	WIRE_FN_CFREE,
	WIRE_FN_FREE_SIZED,
	WIRE_FN_FREE_ALIGNED_SIZED,
	WIRE_FN_NEW, /* of any kind; and so below */
	WIRE_FN_NEW_ARRAY,
	WIRE_FN_DELETE,
	WIRE_NR_FUNCTIONS
};

/* How a realloc ended. */
enum wire_result {
	WIRE_RESULT_NONE,   /* of other events */
	WIRE_RESULT_DONE,   /* the block is at `address` now, moved or not */
	WIRE_RESULT_FAILED, /* the block is where and what it was */
	WIRE_RESULT_FREED,  /* realloc(p, 0) returned NULL: a free */
	WIRE_RESULT_LEFT,   /* done: so the block, as it was, is not of the sample any more */
	WIRE_RESULT_CAME,   /* done, and the block, as it is now, is of the sample: without BEGIN */
};

/* An event, unpacked. */
struct wire_event {
	uint64_t address;  /* 48 bits */
	uint64_t size;	   /* 48 bits; the size asked for */
	uint64_t sequence; /* 48 bits */
	uint64_t clock;	   /* see wire_clock_expand() */
	uint32_t stack;	   /* node */
	uint8_t op, function, result;
};

/* An event in 32 bytes. */
struct wire_slot {
	_Atomic uint64_t commit; /* address << 16 | op << 8 | lap; stored last */
	uint64_t what;		 /* size << 16 | function << 8 | result */
	uint64_t sequence;	 /* sequence << 16 | clock's bits 32... */
	uint32_t stack;
	uint32_t clock;
};

_Static_assert(sizeof(struct wire_slot) == 32, "two slots in a cache line");
_Static_assert(sizeof(struct wire_ring) == 192, "three cache lines");
_Static_assert(offsetof(struct wire_control, sequence) == 512, "the sequence is apart");
_Static_assert(sizeof(struct wire_control) <= WIRE_CONTROL_BYTES, "control");
_Static_assert(_Alignof(struct wire_control) == 64 && _Alignof(struct wire_segment) == 64,
	       "any page will do");
_Static_assert(sizeof(struct wire_exec) == 256, "four cache lines");
_Static_assert(sizeof(struct wire_segment) <= WIRE_MODULES_AT, "header");
_Static_assert(sizeof(struct wire_module) * WIRE_MODULES <= WIRE_TEXT_AT - WIRE_MODULES_AT,
	       "modules");
_Static_assert(sizeof(struct wire_node) * WIRE_NODES <= WIRE_SLOTS_AT - WIRE_NODES_AT, "nodes");
_Static_assert(sizeof(struct wire_slot) * WIRE_SLOTS <= WIRE_SEGMENT_BYTES - WIRE_SLOTS_AT,
	       "slots");

/* --- the recorder sets up ---------------------------------------------------------------------*/

/* Makes a zeroed control block valid.  ring_log2: 15 is 1 MiB a ring. */
static inline void wire_init(struct wire_control *control, int32_t launcher, uint32_t ring_log2)
{
	control->magic = WIRE_MAGIC;
	control->version = WIRE_VERSION;
	control->segment_header_bytes = sizeof(struct wire_segment);
	control->launcher = launcher;
	control->mode = WIRE_MODE_EXACT;
	control->ring_log2 = ring_log2;
	atomic_store_explicit(&control->sequence, 1, memory_order_release);
}

/* False if this is no control block of this version. */
static inline bool wire_valid(const struct wire_control *control)
{
	return control->magic == WIRE_MAGIC && control->version == WIRE_VERSION &&
	       control->segment_header_bytes == sizeof(struct wire_segment) &&
	       control->ring_log2 >= WIRE_RING_LOG2_MIN && control->ring_log2 <= WIRE_RING_LOG2_MAX;
}

/* Raises a mark that others may be raising too. */
static inline void wire_raise(_Atomic uint32_t *mark, uint32_t value)
{
	uint32_t now = atomic_load(mark);

	while (now < value && !atomic_compare_exchange_weak(mark, &now, value))
		;
}

/* Where segment i starts in the file. */
static inline uint64_t wire_segment_at(uint32_t i)
{
	return WIRE_CONTROL_BYTES + i * WIRE_SEGMENT_BYTES;
}

/* --- time -------------------------------------------------------------------------------------*/

/* Low bits of the counter that events leave out: what is left is finer than 100 ns. */
#if defined(__x86_64__)
#define WIRE_CLOCK_SHIFT 6
#else
#define WIRE_CLOCK_SHIFT 0
#endif
#define WIRE_CLOCK_BITS (48 + WIRE_CLOCK_SHIFT)

/* The CPU's constant-rate counter, not ordered with the instructions around it. */
static inline uint64_t wire_clock(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "no counter for this CPU"
#endif
}

/* An event has the low WIRE_CLOCK_BITS: the whole value, within weeks before or after `now`. */
static inline uint64_t wire_clock_expand(uint64_t clock, uint64_t now)
{
	const unsigned int above = 64 - WIRE_CLOCK_BITS;

	return now + (uint64_t)((int64_t)((clock - now) << above) >> above);
}

/* Fills in the name of the door to the file of this path; 0 if that is too long. */
static inline uint32_t wire_door_name(struct sockaddr_un *name, const char *path)
{
	size_t prefix = sizeof(WIRE_DOOR) - 1, length = strlen(path);

	if (1 + prefix + length > sizeof(name->sun_path))
		return 0;
	name->sun_family = AF_UNIX;
	name->sun_path[0] = '\0';
	memcpy(name->sun_path + 1, WIRE_DOOR, prefix);
	memcpy(name->sun_path + 1 + prefix, path, length);
	return (uint32_t)(offsetof(struct sockaddr_un, sun_path) + 1 + prefix + length);
}

/* --- slots ------------------------------------------------------------------------------------*/

/* The lap of event number pos in a ring of 1 << log2 slots.  Zeroed slots are of lap 0. */
static inline uint8_t wire_lap(uint32_t pos, uint32_t log2)
{
	return (uint8_t)((pos >> log2) + 1);
}

/* Publishes an event as number pos. */
static inline void wire_slot_put(struct wire_slot *slot, uint8_t lap,
				 const struct wire_event *event)
{
	uint64_t clock = event->clock >> WIRE_CLOCK_SHIFT;

	slot->what = event->size << 16 | (uint64_t)event->function << 8 | event->result;
	slot->sequence = event->sequence << 16 | (clock >> 32 & 0xffff);
	slot->stack = event->stack;
	slot->clock = (uint32_t)clock;
	atomic_store_explicit(&slot->commit, event->address << 16 | (uint64_t)event->op << 8 | lap,
			      memory_order_release);
}

/* The sequence number in the slot if it is of this lap, or 0.  Cheap: for merging. */
static inline uint64_t wire_slot_sequence(const struct wire_slot *slot, uint8_t lap)
{
	if ((uint8_t)atomic_load_explicit(&slot->commit, memory_order_acquire) != lap)
		return 0;
	return slot->sequence >> 16;
}

/* Reads the event that wire_slot_sequence() found. */
static inline void wire_slot_read(const struct wire_slot *slot, struct wire_event *event)
{
	uint64_t commit = atomic_load_explicit(&slot->commit, memory_order_relaxed);

	event->address = commit >> 16;
	event->op = (uint8_t)(commit >> 8);
	event->size = slot->what >> 16;
	event->function = (uint8_t)(slot->what >> 8);
	event->result = (uint8_t)slot->what;
	event->sequence = slot->sequence >> 16;
	event->clock = ((slot->sequence & 0xffff) << 32 | slot->clock) << WIRE_CLOCK_SHIFT;
	event->stack = slot->stack;
}

/* Reads the event; false if the slot is of another lap, that is, nothing has come yet. */
static inline bool wire_slot_get(const struct wire_slot *slot, uint8_t lap,
				 struct wire_event *event)
{
	if ((uint8_t)atomic_load_explicit(&slot->commit, memory_order_acquire) != lap)
		return false;
	wire_slot_read(slot, event);
	return true;
}

#endif
