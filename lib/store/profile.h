/* SPDX-License-Identifier: MIT */
/*
 * profile - the vocabulary: what a recording consists of.
 *
 * Recording fills these (record/aggregate), store/writer.h puts them into the file, store/reader.h
 * gets them out again, and the reports work on what was read.  Nothing here has behaviour.
 *
 *	process --< thread --< sample, total >-- event
 *	   |                        |
 *	   |                      stack >-- address >-- module
 *	   |                        |          |
 *	   +--< heap, heap_site >---+        frame >-- function     (after symbolization)
 *	   +--< heap_thread, heap_handoff, slice, memory
 *
 * Every kind has ids of its own, dense from 0 and given out by whoever fills the profile;
 * PROFILE_NONE means "none".  Times are microseconds of CLOCK_MONOTONIC since the program was let
 * run (run.start_monotonic_ns); PROFILE_NO_TIME is "not known".  Strings are UTF-8 if the
 * program's were; NULL is "absent".
 */
#ifndef STORE_PROFILE_H
#define STORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PROFILE_NONE UINT32_MAX
#define PROFILE_NO_TIME INT64_MIN
#define PROFILE_UNKNOWN UINT64_MAX /* a number that was not measured */

/* The recording as a whole: one. */
struct profile_run {
	const char *cprof_version;
	const char *host, *kernel, *cpu_model;
	uint32_t nr_cpus;
	int64_t start_realtime_us; /* since the epoch */
	int64_t start_monotonic_ns;
	int64_t wall_us;     /* from the release of the program to its end */
	const char *options; /* the options of `cprof record`, as text */

	int exit_status; /* of the program; -1: not ended by exit */
	int signal;	 /* that ended it; 0: none */
	bool complete;	 /* the recorder finished the file */

	bool cpu_on;		/* samples were taken */
	const char *cpu_reason; /* why not, or what was substituted and why; NULL: as asked */
	bool user_only;		/* kernel code was not sampled */
	bool no_inherit;	/* only processes with threads here were sampled */

	const char *heap_mode;	    /* "exact", "sample", "counts", "off": as recorded */
	uint32_t heap_sample_bytes; /* of "sample": mean distance of its points; 0: of no sample */
	bool heap_tracked;	    /* at least one image reported to us */
	const char *heap_reason;    /* why not; NULL when tracked */
};

enum profile_status {
	PROFILE_COUNTED,
	PROFILE_SCALED,	     /* ran for less than 99 % of the time; value is extrapolated */
	PROFILE_NOT_COUNTED, /* opened, but never scheduled on the hardware */
	PROFILE_NOT_SUPPORTED,
	PROFILE_NOT_PERMITTED,
	PROFILE_NR_STATUS
};

/* An event that was sampled, or asked for and refused. */
struct profile_event {
	uint32_t id;		     /* 0 leads: its weights are the CPU profile */
	const char *name;	     /* perf's name: "cycles", "cpu-clock" */
	const char *unit;	     /* of weights and value: "cycles", "ns", "" for plain counts */
	const char *substituted_for; /* the event asked for; NULL: this one was */
	const char *reason;	     /* why substituted, or not supported or permitted */
	enum profile_status status;
	double value;	       /* total over all processes */
	double coverage;       /* share of the time in which it counted, 0..1 */
	uint32_t frequency_hz; /* 0: by period */
	uint64_t period;       /* 0: by frequency */
	int precise;	       /* precise_ip in force */
};

/* Of a clock. */
static inline bool profile_unit_is_time(const char *unit)
{
	return unit && !strcmp(unit, "ns");
}

/* One executed image: a fork starts one, each exec the next of the same pid. */
struct profile_process {
	uint32_t id;	 /* 0: the program that was started */
	uint32_t parent; /* process id, or PROFILE_NONE */
	int32_t pid;
	uint32_t image;		      /* 0, 1, ... within the pid */
	const char *executable;	      /* path, or NULL */
	const char *const *arguments; /* NULL: while it is recorded, those put before */
	size_t nr_arguments;
	int64_t start_us, end_us;
	bool executed;	 /* it began by an exec, or as the program; if not, by a fork */
	bool replaced;	 /* it ended by an exec: the next image of the pid took its place */
	int exit_status; /* -1: not known, or not ended by exit */
	int signal;	 /* 0: none */
	bool tracked;	 /* its heap was accounted */
	const char *untracked_reason;
};

struct profile_thread {
	uint32_t id;
	uint32_t process;
	int32_t tid;
	const char *name;
	int64_t start_us, end_us;
};

enum profile_module_kind {
	PROFILE_MODULE_FILE,
	PROFILE_MODULE_KERNEL,	  /* named "[kernel]" */
	PROFILE_MODULE_VDSO,	  /* "[vdso]" */
	PROFILE_MODULE_ANONYMOUS, /* executable memory without a file (JIT); "[anon:PID]" */
	PROFILE_MODULE_UNKNOWN,	  /* an address outside every mapping; "[unknown]" */
	PROFILE_MODULE_SELF,	  /* cprof's own shim: overhead, in no percentage */
	PROFILE_MODULE_NR
};

enum profile_debug {
	PROFILE_DEBUG_NOT_TRIED, /* not symbolized yet */
	PROFILE_DEBUG_FULL,	 /* DWARF: functions, lines, inlines */
	PROFILE_DEBUG_SYMBOLS,	 /* a symbol table only */
	PROFILE_DEBUG_NONE,	 /* no names at all; reason says why */
	PROFILE_DEBUG_NR
};

struct profile_module {
	uint32_t id;
	enum profile_module_kind kind;
	const char *path;     /* as the program saw it */
	const char *name;     /* base name, or the bracketed names above */
	const char *build_id; /* lower-case hex, or NULL */
	/* Where the same file can be opened (never below /proc); NULL: nowhere. */
	const char *open_path;
	enum profile_debug debug;
	const char *debug_path; /* the file the debug information came from */
	const char *reason;	/* why there are no (better) names */
};

enum profile_address_kind {
	PROFILE_ADDRESS_CODE,
	PROFILE_ADDRESS_TRUNCATED, /* stands for callers missing from a stack; value: the reason */
	PROFILE_ADDRESS_ELIDED,	   /* stands for `value` frames of a recursion */
	PROFILE_ADDRESS_NR
};

/*
 * A place in a module.  For code, value is the address to look up in the module's ELF file (its
 * virtual address there, without load bias): that of the call for callers (return address - 1),
 * the exact pc for a leaf or a frame that a signal interrupted.
 */
struct profile_address {
	uint32_t id;
	enum profile_address_kind kind;
	uint32_t module; /* PROFILE_NONE for the other kinds */
	uint64_t value;
};

/* A node of the call trees of all processes: address, called from parent. */
struct profile_stack {
	uint32_t id;
	uint32_t parent; /* stack id, always below id; PROFILE_NONE at the root */
	uint32_t address;
};

struct profile_sample {
	int64_t time_us;
	uint32_t thread, stack, event;
	uint64_t weight; /* periods of the event that this sample stands for */
};

/*
 * As what samples are written: the first one of each (stack, thread, event), by which later ones
 * are called, and the sum of all where there are more.
 */
struct profile_first_sample {
	uint32_t id;
	struct profile_sample sample;
};

struct profile_later_sample {
	int64_t time_us;
	uint32_t first;
	uint64_t weight; /* PROFILE_UNKNOWN: that of the first one */
};

struct profile_sample_sum {
	uint32_t first;
	uint64_t samples;
	uint64_t weight;
	double weight_squared;
};

/* All samples of one (stack, thread, event), summed. */
struct profile_total {
	uint32_t stack, thread, event;
	uint64_t samples;
	uint64_t weight;
	double weight_squared; /* sum of the squares: for the sampling error */
};

#define PROFILE_NR_LIFETIMES 4 /* below 10 us, below 1 ms, below 100 ms, longer */

/* Heap figures of one image, or of the whole tree (process == PROFILE_NONE).  With heap_mode "counts"
 * all but the sums are PROFILE_UNKNOWN. */
struct profile_heap {
	uint32_t process;
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t peak_bytes, peak_blocks;
	int64_t peak_time_us;
	bool peak_exact;
	uint64_t peak_most_bytes; /* it was no more; PROFILE_UNKNOWN: no bound is known */
	uint64_t live_bytes, live_blocks;
	double peak_variance, live_variance; /* of bytes, in a sample: the squares of errors */
	uint64_t temporary;
	struct {
		uint64_t bytes, blocks;
	} churn[PROFILE_NR_LIFETIMES];
	uint64_t unknown_frees; /* of blocks that were never seen allocated */
	uint64_t late_events;	/* came after their place in the order had passed */
	uint64_t lost_events;
	uint64_t stall_us; /* time the program waited for the recorder */
	uint64_t inherited_bytes, inherited_frees;
	uint64_t page_faults; /* wherever; PROFILE_UNKNOWN: not counted */
	/* The shim's own counters, to check the above against. */
	uint64_t counted_allocations, counted_reallocations, counted_frees, counted_bytes;
	const char *allocator; /* the library whose malloc it is; NULL: not known, or the tree */
	bool slack_known;      /* of an image: how large that makes blocks */
};

/* The function a program called; the last frame of a site. */
enum profile_allocator {
	PROFILE_MALLOC,
	PROFILE_CALLOC,
	PROFILE_REALLOC,
	PROFILE_REALLOCARRAY,
	PROFILE_POSIX_MEMALIGN,
	PROFILE_ALIGNED_ALLOC,
	PROFILE_MEMALIGN,
	PROFILE_VALLOC,
	PROFILE_PVALLOC,
	PROFILE_NEW, /* an allocator's own: others call malloc */
	PROFILE_NEW_ARRAY,
	PROFILE_NR_ALLOCATORS
};

/* Blocks by the classes of classes.h; those without any are left out. */
struct profile_histogram {
	const struct profile_class {
		uint64_t bound; /* UINT64_MAX: none */
		uint64_t blocks;
	} * at;
	size_t nr;
};

/* What one stack of one image allocated by one function. */
struct profile_heap_site {
	uint32_t process;
	uint32_t stack; /* the caller of the allocator */
	enum profile_allocator allocator;
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t at_peak_bytes, at_peak_blocks;		  /* at the image's own peak */
	uint64_t at_tree_peak_bytes, at_tree_peak_blocks; /* at the peak of the whole tree */
	uint64_t live_bytes, live_blocks;
	uint64_t temporary;
	uint64_t cross_thread_frees; /* by another thread than allocated or last reallocated it */
	uint64_t lifetime_us;	     /* sum over the freed blocks */
	uint64_t lifetime_blocks;    /* their number */
	/* Of a sample, the squares of standard errors: of sites they add up. */
	double allocations_variance, allocated_variance;
	double at_peak_variance, at_tree_peak_variance, live_variance;
	uint64_t page_faults; /* in its blocks: first touches, mostly */
	/* Of the reallocations: those after which the block was elsewhere, and what was copied. */
	uint64_t moved, copied_bytes;
	/* What the allocator added to the blocks live at the peaks; see profile_heap.slack_known. */
	uint64_t at_peak_slack_bytes, at_tree_peak_slack_bytes;
	struct profile_histogram
		sizes; /* of allocations and reallocations; at most so many bytes */
	struct profile_histogram lifetimes; /* of frees; below so many microseconds */
};

/* What an image asked for: blocks of at most so many bytes, and of more than the next smaller class. */
struct profile_heap_size {
	uint32_t process;
	uint64_t most_bytes;
	uint64_t blocks, bytes; /* by allocations and reallocations */
	uint64_t slack_bytes;	/* the allocator made them larger by so much */
};

/* What the threads of a process with this tid (one after the other) did to its heap: the blocks that
 * they allocated, whoever freed them, and those that they freed, whoever had allocated them. */
struct profile_heap_thread {
	uint32_t process;
	int32_t tid;
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t temporary;
};

#define PROFILE_OTHER_THREADS (-1) /* all pairs of threads that have no row of their own */

/* Blocks of a process that one thread allocated, or last reallocated, and another one freed. */
struct profile_heap_handoff {
	uint32_t process;
	int32_t from_tid, to_tid;
	uint64_t frees, freed_bytes;
};

/*
 * What the heap of an image, or of the tree (process == PROFILE_NONE), did from time_us on.  Where
 * there is no slice nothing happened.  The slices of a process do not overlap.
 */
struct profile_slice {
	uint32_t process;
	int64_t time_us;
	uint64_t duration_us;
	uint64_t live_bytes;	 /* at the end of the slice */
	uint64_t max_live_bytes; /* within it */
	uint64_t allocations, allocated_bytes;
};

/* What memory an image had at one moment, by the kernel's count. */
struct profile_memory {
	uint32_t process;
	int64_t time_us;
	uint64_t anonymous_bytes, file_bytes, shared_bytes; /* resident: together the RSS */
	uint64_t swap_bytes;
	uint64_t peak_rss_bytes; /* the most so far */
};

static inline uint64_t profile_rss_bytes(const struct profile_memory *memory)
{
	return memory->anonymous_bytes + memory->file_bytes + memory->shared_bytes;
}

struct profile_function {
	uint32_t id;
	uint32_t module;
	const char *name;	  /* demangled; "libfoo.so.1+0x2a340" where nothing names it */
	const char *linkage_name; /* as in the file; NULL: the same */
	bool has_name;		  /* false: only the address is known */
	const char *file;	  /* of the declaration, or NULL */
	uint32_t line;		  /* 0: not known */
};

/* A function at an address: the real one at depth 0, then each one inlined into the one before. */
struct profile_frame {
	uint32_t address;
	uint32_t depth;
	uint32_t function;
	const char *file; /* of the code at this address, at this depth; NULL: not known */
	uint32_t line;
};

enum profile_quality_kind {
	PROFILE_LOST,
	PROFILE_TRUNCATED,
	PROFILE_STITCHED,
	PROFILE_NO_SYMBOL,
	PROFILE_NO_DEBUG,
	PROFILE_UNTRACKED,
	PROFILE_THROTTLED,
	PROFILE_SUBSTITUTED,
	PROFILE_BOUNDED,
	PROFILE_OVERHEAD,
	PROFILE_UNREADABLE,
	PROFILE_INTERRUPTED,
	PROFILE_UNSAMPLED, /* in files: why there are none; reports: what they lack of what was counted */
	PROFILE_NR_QUALITY
};

/* The detail of PROFILE_LOST that counts samples; others count records or heap events. */
#define PROFILE_LOST_SAMPLES "samples dropped by the kernel: the ring was full"

/* The detail of PROFILE_UNREADABLE begins so when the memory of processes cannot be seen. */
#define PROFILE_MEMORY_UNREADABLE "memory of processes: /proc/PID/status: "

/* The details of PROFILE_OVERHEAD, in files, that say what they count. */
#define PROFILE_OVERHEAD_CPU "microseconds of CPU time that cprof itself used meanwhile"
#define PROFILE_OVERHEAD_MEMORY \
	"bytes of memory, about, that cprof's heap shim used in the process where it used most"

/* Something that was not measured as it should be.  One row per (kind, detail). */
struct profile_quality {
	enum profile_quality_kind kind;
	uint64_t count;
	const char *detail; /* "" if there is nothing to add */
};

/* The words of the enums, as in the file and in JSON ("not-counted", "posix_memalign", ...). */
const char *profile_status_name(enum profile_status status);
/* Of an event that counted for this share of the time, 0..1. */
enum profile_status profile_status_of(double coverage);
const char *profile_module_kind_name(enum profile_module_kind kind);
const char *profile_debug_name(enum profile_debug debug);
const char *profile_allocator_name(enum profile_allocator allocator);
const char *profile_quality_name(enum profile_quality_kind kind);

#endif
