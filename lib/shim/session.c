/* SPDX-License-Identifier: MIT */
#include "shim/session.h"

#include <string.h>
#include <unistd.h>

#include "shim/door.h"
#include "shim/env.h"
#include "shim/filter.h"
#include "shim/guard.h"
#include "shim/inherited.h"
#include "shim/real.h"
#include "shim/ring.h"
#include "shim/sys.h"
#include "shim/track.h"

enum session_state {
	SESSION_NEW,
	SESSION_STARTING,
	SESSION_STARTED, /* by us, or by the process that we were forked from: the page tells */
	SESSION_OFF,
};

/* Zeroed by the kernel in the child of a fork. */
struct page {
	_Atomic uint32_t live;
	_Atomic uint32_t exact;
	_Atomic uint32_t ours; /* the session is this process's own */
};

static _Atomic uint32_t not_live;
static struct page *page;

struct session session;
_Atomic uint32_t *session_live_word = &not_live, *session_exact_word = &not_live;

/* Some part of a sanitizer's run-time library is in the process. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));

/* --- the header -------------------------------------------------------------------------------*/

/* The pid in the recorder's eyes: that of the /proc by which we reach it, if we do. */
static int32_t outer_pid(void)
{
	char digits[16];
	long length = sys_readlink("/proc/self", digits, sizeof(digits));
	int32_t pid = 0;

	for (long i = 0; i < length; i++)
		pid = pid * 10 + (digits[i] - '0');
	return pid > 0 ? pid : sys_getpid();
}

static uint32_t read_link(const char *path, char *buffer, size_t size)
{
	long length = sys_readlink(path, buffer, size);

	return length > 0 ? (uint32_t)length : 0;
}

static uint32_t read_file(const char *path, char *buffer, size_t size)
{
	long fd = sys_open(path, O_RDONLY), got, used = 0;

	if (fd < 0)
		return 0;
	while ((got = sys_read((int)fd, buffer + used, size - (size_t)used)) > 0)
		used += got;
	sys_close((int)fd);
	return (uint32_t)used;
}

/* The first of the text. */
static void fill_text(struct wire_segment *segment)
{
	char *text = (char *)segment + WIRE_TEXT_AT;

	segment->exe_bytes = read_link("/proc/self/exe", text, WIRE_EXE_BYTES);
	segment->argv_at = segment->exe_bytes;
	segment->argv_bytes =
		read_file("/proc/self/cmdline", text + segment->argv_at, WIRE_ARGV_BYTES);
	atomic_store(&segment->text_used, segment->argv_at + segment->argv_bytes);
}

static void fill_header(struct wire_segment *segment)
{
	fill_text(segment);
	segment->pid = session.outer_pid;
	segment->ppid = sys_getppid();
	segment->start_clock = wire_clock();
	segment->start_ns = sys_monotonic_ns();
	segment->start_sequence = atomic_load(&session.control->sequence);
	segment->fork_sequence = self.fork_sequence;
	segment->forked = session.forked;
}

/* --- mapping ----------------------------------------------------------------------------------*/

static void *map_shared(int fd, uint64_t at, size_t size)
{
	void *memory = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	return sys_failed(memory) ? NULL : memory;
}

/* When the recorder just gave us its memory.  False: it has left. */
static bool meet_recorder(void)
{
	const struct wire_control *control = session.control;

	session.out_of_sight = !sys_process_exists(control->launcher);
	return atomic_load_explicit(&control->heartbeat_ns, memory_order_relaxed);
}

/* Forked children keep it: whatever they do with it is harmless. */
static bool map_control(int fd)
{
	if (!session.control)
		session.control = map_shared(fd, 0, WIRE_CONTROL_BYTES);
	return session.control && wire_valid(session.control) &&
	       session.control->ring_log2 <= SESSION_SLOTS_LOG2 && meet_recorder();
}

/* Its index, or WIRE_SEGMENTS if none is free. */
static uint32_t claim_segment(int32_t pid)
{
	struct wire_control *control = session.control;

	for (uint32_t i = 0; i < WIRE_SEGMENTS; i++) {
		int32_t nobody = 0;

		if (!atomic_load_explicit(&control->owner[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&control->owner[i], &nobody, pid)) {
			wire_raise(&control->segments_used, i + 1);
			return i;
		}
	}
	return WIRE_SEGMENTS;
}

static bool map_segment(int fd)
{
	if (!session.outer_pid)
		session.outer_pid = outer_pid();

	uint32_t i = claim_segment(session.outer_pid);

	if (i == WIRE_SEGMENTS)
		return false;
	session.segment = map_shared(fd, wire_segment_at(i), WIRE_HEAD_BYTES);
	if (!session.segment)
		atomic_store(&session.control->owner[i], 0);
	else
		sys_madvise(session.segment, WIRE_HEAD_BYTES, MADV_DONTFORK);
	return session.segment &&
	       trie_init(&session.trie, fd, wire_segment_at(i) + WIRE_NODES_AT, session.segment) &&
	       area_init(&session.slots, fd, wire_segment_at(i) + WIRE_SLOTS_AT,
			 sizeof(struct wire_slot) << SESSION_SLOTS_LOG2,
			 WIRE_SLOTS >> SESSION_SLOTS_LOG2);
}

/* One is enough for a process and all that come from it. */
static bool make_page(void)
{
	const size_t size = 4096;
	struct page *made = page ? page : sys_mmap_private(size);

	if (sys_failed(made) || sys_madvise(made, size, MADV_WIPEONFORK))
		return false;
	if (page != made) {
		page = made;
		session_live_word = &page->live;
		session_exact_word = &page->exact;
	}
	atomic_store(&page->ours, 1);
	return true;
}

/* --- starting ---------------------------------------------------------------------------------*/

/* Against the program: what a forked child goes on with was looked at before. */
static enum wire_reason objection_to_program(void)
{
	if (__asan_init || __tsan_init || __msan_init || __hwasan_init || __lsan_init)
		return WIRE_REASON_SANITIZER;
	if (env_is_of_valgrind())
		return WIRE_REASON_VALGRIND;
	return real_is_foreign() ? WIRE_REASON_FOREIGN_MALLOC : WIRE_REASON_NONE;
}

static enum wire_reason objection(void)
{
	enum wire_reason reason = session.forked ? WIRE_REASON_NONE : objection_to_program();

	if (reason)
		return reason;
	if (!make_page())
		return WIRE_REASON_NO_FORK_GUARD;
	if (session.mode == WIRE_MODE_SAMPLE && !chosen_init(&session.chosen))
		return WIRE_REASON_NO_MEMORY;
	return WIRE_REASON_NONE;
}

static uint32_t allocator_module(void)
{
	const struct module *m = modules_find(&session.modules, (uintptr_t)real.malloc);

	return m ? m->id : 0;
}

/* A fork in a signal handler that interrupted the shim: the child will return into it. */
static bool is_inside(void)
{
	for (int level = 0; level < TRACK_LEVELS; level++)
		if (self.hook[level] & GUARD_OURS)
			return true;
	return false;
}

/* Where the fork came in the middle of the shim, some may be half known. */
static void know_modules(void)
{
	if (session.forked && !is_inside())
		modules_inherit(&session.modules, session.segment);
	else
		modules_init(&session.modules, session.segment, &session.trie);
}

static bool go_live(void)
{
	enum wire_reason reason = objection();

	fill_header(session.segment);
	know_modules();
	if (reason) {
		session_off(reason);
		return false;
	}
	session.segment->allocator = allocator_module();
	session.segment->was_live = 1;
	session.segment->missed = session.missed;
	atomic_store(&session.segment->state, WIRE_STATE_LIVE);
	session.state = SESSION_STARTED;
	atomic_store(session_exact_word, session.mode == WIRE_MODE_EXACT);
	atomic_store(session_live_word, 1);
	return true;
}

/* The program can scribble over what is shared. */
static void copy_mode(void)
{
	uint64_t bytes = session.control->sample_bytes;

	session.mode = (enum wire_mode)session.control->mode;
	session.sample_bytes = bytes < WIRE_SAMPLE_BYTES_MIN   ? WIRE_SAMPLE_BYTES_MIN
			       : bytes > WIRE_SAMPLE_BYTES_MAX ? WIRE_SAMPLE_BYTES_MAX
							       : bytes;
}

/* fd, or -1 where it cannot be that of a recording. */
static long sized(long fd)
{
	if (fd < 0 || sys_seek_end((int)fd) == (long)WIRE_FILE_BYTES)
		return fd;
	sys_close((int)fd);
	return -1;
}

/* In another /proc the path may lead elsewhere. */
static long open_file(const char *path)
{
	long fd = sized(sys_open(path, O_RDWR));

	session.outer_pid = 0;
	return fd < 0 ? sized(door_ask(path, &session.outer_pid)) : fd;
}

bool session_open(const char *path)
{
	long fd = open_file(path);
	bool mapped = fd >= 0 && map_control((int)fd) && map_segment((int)fd);

	if (fd >= 0)
		sys_close((int)fd);
	session.pid = sys_getpid();
	if (mapped) {
		copy_mode();
		return go_live();
	}
	if (session.segment) {
		fill_header(session.segment);
		session_off(WIRE_REASON_NO_MEMORY);
	}
	session.state = SESSION_OFF;
	return false;
}

/* What the starting thread does meanwhile is not the program's; what others do is. */
static void count_missed(void)
{
	if (session.state == SESSION_STARTING && session.starter != (void *)&self)
		atomic_fetch_add(&session.missed, 1);
}

/* --- the child of a fork ----------------------------------------------------------------------*/

static bool is_forked(void)
{
	return atomic_load(&session.state) == SESSION_STARTED && !atomic_load(&page->ours);
}

/* Puts private memory where the parent's was that somebody may still write to. */
static void detach(void)
{
	area_detach(&session.slots);
	area_detach(&session.trie.nodes);
	sys_mmap_over(session.segment, WIRE_HEAD_BYTES);
}

static bool start_child(void)
{
	uint32_t state = SESSION_STARTED;

	if (!atomic_compare_exchange_strong(&session.state, &state, SESSION_STARTING)) {
		count_missed();
		return session_live();
	}
	session.starter = &self;
	if (is_inside())
		detach();
	track_inherit(!is_inside());
	session.segment = NULL;
	session.missed = 0;
	session.forked = 1;
	return session_open(env_heap_path());
}

bool session_start(void)
{
	uint32_t state = SESSION_NEW;

	if (is_forked())
		return start_child();
	if (real_is_finding())
		return false;
	if (atomic_load_explicit(&session.state, memory_order_relaxed) != SESSION_NEW ||
	    !atomic_compare_exchange_strong(&session.state, &state, SESSION_STARTING)) {
		count_missed();
		return session_live();
	}
	session.starter = &self;
	real_find();
	if (env_remember() && inherited_allow_session(env_filters(), env_filters_of_recorder()))
		return session_open(env_heap_path());
	session.state = SESSION_OFF;
	return false;
}

static void end_events(enum wire_reason reason)
{
	atomic_store(session_exact_word, 0);
	session.state = SESSION_OFF;
	session.segment->reason = reason;
	session.segment->off_clock = wire_clock();
	session.segment->off_sequence = atomic_load(&session.control->sequence);
	atomic_store(&session.segment->state, WIRE_STATE_OFF);
}

void session_off(enum wire_reason reason)
{
	atomic_store(session_live_word, 0);
	end_events(reason);
}

/* All else is for more of something, or can be left out. */
static bool may_wait_and_wake(void)
{
	static const int operations[] = { FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT | FUTEX_PRIVATE_FLAG };

	for (unsigned int i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		const uint64_t argument[FILTER_ARGUMENTS] = { (uintptr_t)session.control,
							      (uint64_t)operations[i] };

		if (!filter_allows(__NR_futex, argument))
			return false;
	}
	return true;
}

void session_filter(const struct sock_fprog *program)
{
	trie_reserve(&session.trie);
	if (!filter_add(program) || !may_wait_and_wake())
		session_count_lost(WIRE_REASON_SECCOMP);
}

void session_count_lost(enum wire_reason reason)
{
	if (atomic_exchange(&session.lost, true))
		return;
	session.mode = WIRE_MODE_COUNTS;
	session.segment->counts_on = 1;
	end_events(reason);
}
