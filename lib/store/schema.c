/* SPDX-License-Identifier: MIT */
#include "store/schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Ids are dense from 0.  Times are microseconds since the program was let run on
 * CLOCK_MONOTONIC; NULL is "not known" or "none", in tables only where a column may be NULL.
 */
const struct schema_object schema_tables[] = {
	{ "meta",
	  "CREATE TABLE meta(\n"
	  "  -- The recording as a whole: one row for each thing known of it (host, kernel,\n"
	  "  -- options, exit_status, ...).  Times: *_us microseconds, *_ns nanoseconds.\n"
	  "  key TEXT NOT NULL PRIMARY KEY,\n"
	  "  value\n"
	  ") WITHOUT ROWID" },
	{ "event",
	  "CREATE TABLE event(\n"
	  "  -- What was sampled or counted, or asked for and refused.  Event 0 leads: its\n"
	  "  -- weights are the CPU profile.\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  name TEXT NOT NULL,       -- perf's: cycles, cpu-clock\n"
	  "  unit TEXT NOT NULL,       -- of value and weights: cycles, ns, '' for counts\n"
	  "  substituted_for TEXT,     -- the event asked for\n"
	  "  reason TEXT,              -- why substituted, not supported, not permitted\n"
	  "  status TEXT NOT NULL,     -- counted, scaled, not-counted, not-supported,\n"
	  "                            -- not-permitted\n"
	  "  value REAL NOT NULL,      -- total over all processes; 0 unless counted or scaled\n"
	  "  coverage REAL NOT NULL,   -- share of the time in which it counted, 0..1\n"
	  "  frequency_hz INTEGER,     -- sampled at this rate,\n"
	  "  period INTEGER NOT NULL,  -- or once in so many (0: by frequency)\n"
	  "  precise INTEGER NOT NULL  -- precise_ip in force\n"
	  ")" },
	{ "process",
	  "CREATE TABLE process(\n"
	  "  -- One executed image: a fork starts one, each exec the next of the same pid.\n"
	  "  id INTEGER PRIMARY KEY,         -- 0: the program that was started\n"
	  "  parent INTEGER,                 -- process.id\n"
	  "  pid INTEGER NOT NULL,\n"
	  "  image INTEGER NOT NULL,         -- 0, 1, ... within the pid\n"
	  "  executable TEXT,                -- path\n"
	  "  start_us INTEGER,\n"
	  "  end_us INTEGER,\n"
	  "  executed INTEGER NOT NULL,      -- 1: it began by an exec; 0: by a fork\n"
	  "  replaced INTEGER NOT NULL,      -- 1: it ended by an exec\n"
	  "  exit_status INTEGER,\n"
	  "  signal INTEGER,                 -- that ended it\n"
	  "  tracked INTEGER NOT NULL,       -- 1: its heap was accounted\n"
	  "  untracked_reason TEXT\n"
	  ")" },
	{ "process_argument", "CREATE TABLE process_argument(\n"
			      "  -- The command line of a process.\n"
			      "  process INTEGER NOT NULL,\n"
			      "  position INTEGER NOT NULL,  -- 0: the program's name\n"
			      "  text TEXT NOT NULL,         -- a BLOB where it is not UTF-8\n"
			      "  PRIMARY KEY(process, position)\n"
			      ") WITHOUT ROWID" },
	{ "thread", "CREATE TABLE thread(\n"
		    "  id INTEGER PRIMARY KEY,\n"
		    "  process INTEGER NOT NULL,\n"
		    "  tid INTEGER NOT NULL,\n"
		    "  name TEXT,\n"
		    "  start_us INTEGER,\n"
		    "  end_us INTEGER\n"
		    ")" },
	{ "module",
	  "CREATE TABLE module(\n"
	  "  -- Where code comes from.\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  kind TEXT NOT NULL,   -- file, kernel, vdso, anonymous (JIT), unknown, or self:\n"
	  "                        -- cprof's own code in the program, in no percentage\n"
	  "  path TEXT,            -- as the program saw it\n"
	  "  name TEXT NOT NULL,   -- base name, or [kernel], [vdso], [anon:PID], [unknown]\n"
	  "  build_id TEXT,        -- hexadecimal\n"
	  "  open_path TEXT,       -- where the same file can be opened\n"
	  "  debug TEXT NOT NULL,  -- names from: not-tried, full (DWARF), symbols, none\n"
	  "  debug_path TEXT,      -- the file the debug information came from\n"
	  "  reason TEXT           -- why there are no (better) names\n"
	  ")" },
	{ "address",
	  "CREATE TABLE address(\n"
	  "  -- A place in a module, as its ELF file numbers them; of a caller that of the\n"
	  "  -- call (return address - 1).\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  kind INTEGER NOT NULL,  -- 0: code; 1: callers are missing here, value says\n"
	  "                          -- why; 2: stands for value frames of a recursion\n"
	  "  module INTEGER,         -- NULL unless code\n"
	  "  value INTEGER NOT NULL  -- as 64 bits: negative from 2^63 on\n"
	  ")" },
	{ "stack", "CREATE TABLE stack(\n"
		   "  -- A node of the call trees: address, called from parent.\n"
		   "  id INTEGER PRIMARY KEY,\n"
		   "  parent INTEGER,            -- a smaller stack.id; NULL at the root\n"
		   "  address INTEGER NOT NULL\n"
		   ")" },
	{ "first_sample",
	  "CREATE TABLE first_sample(\n"
	  "  -- The first sample of each stack, thread and event; v_sample has all.\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  time_us INTEGER NOT NULL,\n"
	  "  thread INTEGER NOT NULL,\n"
	  "  stack INTEGER NOT NULL,\n"
	  "  event INTEGER NOT NULL,\n"
	  "  weight INTEGER NOT NULL  -- how many of the event's units it stands for\n"
	  ")" },
	{ "later_sample",
	  "CREATE TABLE later_sample(\n"
	  "  -- One more sample of the stack, thread and event of a first one.\n"
	  "  time_us INTEGER PRIMARY KEY,  -- of two in one microsecond one is put at the next\n"
	  "  first INTEGER NOT NULL,       -- first_sample.id\n"
	  "  weight INTEGER                -- NULL: that of the first\n"
	  ")" },
	{ "sample_sum",
	  "CREATE TABLE sample_sum(\n"
	  "  -- All samples of one stack, thread and event, the first one included, summed;\n"
	  "  -- where there are more than that.\n"
	  "  first INTEGER PRIMARY KEY,     -- first_sample.id\n"
	  "  samples INTEGER NOT NULL,\n"
	  "  weight INTEGER NOT NULL,\n"
	  "  weight_squared REAL NOT NULL   -- sum of the squares, for the sampling error\n"
	  ")" },
	{ "heap",
	  "CREATE TABLE heap(\n"
	  "  -- The heap of one process, or of the whole tree with its own peak.  Sizes are\n"
	  "  -- those asked for.  A reallocation is neither an allocation nor a free; its new\n"
	  "  -- size is in allocated_bytes, the old one in freed_bytes.  NULL is what was not\n"
	  "  -- measured (--heap=counts).\n"
	  "  process INTEGER PRIMARY KEY,         -- -1: the whole tree\n"
	  "  allocations INTEGER NOT NULL,\n"
	  "  frees INTEGER NOT NULL,\n"
	  "  reallocations INTEGER NOT NULL,\n"
	  "  allocated_bytes INTEGER NOT NULL,\n"
	  "  freed_bytes INTEGER,\n"
	  "  peak_bytes INTEGER,                  -- most bytes in live blocks at one time,\n"
	  "  peak_blocks INTEGER,                 -- the blocks live then,\n"
	  "  peak_time_us INTEGER,                -- and when\n"
	  "  peak_exact INTEGER NOT NULL,\n"
	  "  peak_most_bytes INTEGER,             -- if not: it was no more; NULL: no bound\n"
	  "  live_bytes INTEGER,                  -- at the end: not freed\n"
	  "  live_blocks INTEGER,\n"
	  "  peak_variance REAL NOT NULL,         -- of bytes; 0 unless estimated from a sample\n"
	  "  live_variance REAL NOT NULL,\n"
	  "  temporary INTEGER,                   -- freed by the thread's next operation\n"
	  "  -- What was freed before the end, by how long it lived:\n"
	  "  churn_below_10us_bytes INTEGER,\n"
	  "  churn_below_10us_blocks INTEGER,\n"
	  "  churn_below_1ms_bytes INTEGER,\n"
	  "  churn_below_1ms_blocks INTEGER,\n"
	  "  churn_below_100ms_bytes INTEGER,\n"
	  "  churn_below_100ms_blocks INTEGER,\n"
	  "  churn_longer_bytes INTEGER,\n"
	  "  churn_longer_blocks INTEGER,\n"
	  "  -- How sure the above is:\n"
	  "  unknown_frees INTEGER NOT NULL,      -- of blocks never seen allocated\n"
	  "  late_events INTEGER NOT NULL,        -- came after their place in the order\n"
	  "  lost_events INTEGER NOT NULL,\n"
	  "  stall_us INTEGER NOT NULL,           -- the program waited for the recorder\n"
	  "  inherited_bytes INTEGER NOT NULL,    -- live at the fork that began it\n"
	  "  inherited_frees INTEGER NOT NULL,\n"
	  "  page_faults INTEGER,                 -- NULL: not recorded (--page-faults)\n"
	  "  counted_allocations INTEGER NOT NULL,-- counted once more, in the program\n"
	  "  counted_reallocations INTEGER NOT NULL,\n"
	  "  counted_frees INTEGER NOT NULL,\n"
	  "  counted_bytes INTEGER NOT NULL,\n"
	  "  allocator TEXT,                      -- the library whose malloc it is\n"
	  "  slack_known INTEGER NOT NULL         -- 1: and how large that makes blocks\n"
	  ")" },
	{ "heap_site",
	  "CREATE TABLE heap_site(\n"
	  "  -- What one stack of one process allocated by one function.\n"
	  "  process INTEGER NOT NULL,\n"
	  "  stack INTEGER NOT NULL,              -- the caller of the allocator\n"
	  "  allocator TEXT NOT NULL,             -- malloc, realloc, posix_memalign, ...\n"
	  "  allocations INTEGER NOT NULL,\n"
	  "  frees INTEGER NOT NULL,\n"
	  "  reallocations INTEGER NOT NULL,\n"
	  "  allocated_bytes INTEGER NOT NULL,\n"
	  "  freed_bytes INTEGER NOT NULL,\n"
	  "  at_peak_bytes INTEGER NOT NULL,      -- at the process's own peak\n"
	  "  at_peak_blocks INTEGER NOT NULL,\n"
	  "  at_tree_peak_bytes INTEGER NOT NULL, -- at the peak of the whole tree\n"
	  "  at_tree_peak_blocks INTEGER NOT NULL,\n"
	  "  live_bytes INTEGER NOT NULL,\n"
	  "  live_blocks INTEGER NOT NULL,\n"
	  "  temporary INTEGER NOT NULL,\n"
	  "  cross_thread_frees INTEGER NOT NULL, -- see heap_handoff\n"
	  "  lifetime_us INTEGER NOT NULL,        -- sum over the freed blocks\n"
	  "  lifetime_blocks INTEGER NOT NULL,    -- their number\n"
	  "  allocations_variance REAL NOT NULL,  -- 0 unless estimated from a sample\n"
	  "  allocated_variance REAL NOT NULL,    -- of bytes, and so the others:\n"
	  "  at_peak_variance REAL NOT NULL,\n"
	  "  at_tree_peak_variance REAL NOT NULL,\n"
	  "  live_variance REAL NOT NULL,\n"
	  "  page_faults INTEGER NOT NULL,        -- in its blocks (heap.page_faults)\n"
	  "  -- Reallocations after which the block was elsewhere, and what was copied:\n"
	  "  moved INTEGER NOT NULL,\n"
	  "  copied_bytes INTEGER NOT NULL,\n"
	  "  -- What the allocator added to the blocks live at the peaks (heap.slack_known):\n"
	  "  at_peak_slack_bytes INTEGER NOT NULL,\n"
	  "  at_tree_peak_slack_bytes INTEGER NOT NULL,\n"
	  "  -- [[bound, blocks], ...], classes without blocks left out; NULL: all are in one\n"
	  "  -- class, that of the mean (v_heap_site has it):\n"
	  "  sizes TEXT,                          -- asked for; at most so many bytes\n"
	  "  lifetimes TEXT,                      -- of frees; below so many microseconds,\n"
	  "                                       -- null: longer\n"
	  "  PRIMARY KEY(process, stack, allocator)\n"
	  ") WITHOUT ROWID" },
	{ "heap_thread",
	  "CREATE TABLE heap_thread(\n"
	  "  -- What the threads of a process with this tid (one after the other) did to its\n"
	  "  -- heap; blocks may be freed by another thread than allocated them.\n"
	  "  process INTEGER NOT NULL,\n"
	  "  tid INTEGER NOT NULL,\n"
	  "  allocations INTEGER NOT NULL,\n"
	  "  frees INTEGER NOT NULL,\n"
	  "  reallocations INTEGER NOT NULL,\n"
	  "  allocated_bytes INTEGER NOT NULL,\n"
	  "  freed_bytes INTEGER NOT NULL,\n"
	  "  temporary INTEGER NOT NULL,\n"
	  "  PRIMARY KEY(process, tid)\n"
	  ") WITHOUT ROWID" },
	{ "heap_handoff",
	  "CREATE TABLE heap_handoff(\n"
	  "  -- Blocks that one thread allocated, or last reallocated, and another one freed.\n"
	  "  process INTEGER NOT NULL,\n"
	  "  from_tid INTEGER NOT NULL,           -- allocated them; -1, with to_tid: all\n"
	  "  to_tid INTEGER NOT NULL,             -- pairs that have no row of their own\n"
	  "  frees INTEGER NOT NULL,\n"
	  "  freed_bytes INTEGER NOT NULL,\n"
	  "  PRIMARY KEY(process, from_tid, to_tid)\n"
	  ") WITHOUT ROWID" },
	{ "heap_size",
	  "CREATE TABLE heap_size(\n"
	  "  -- What a process asked for, by allocations and reallocations, by size.\n"
	  "  process INTEGER NOT NULL,\n"
	  "  most_bytes INTEGER NOT NULL,         -- 16, 32, 64 ...: each block at most\n"
	  "  blocks INTEGER NOT NULL,\n"
	  "  bytes INTEGER NOT NULL,\n"
	  "  slack_bytes INTEGER NOT NULL,        -- the allocator added (heap.slack_known)\n"
	  "  PRIMARY KEY(process, most_bytes)\n"
	  ") WITHOUT ROWID" },
	{ "slice",
	  "CREATE TABLE slice(\n"
	  "  -- The heap of a process, or of the whole tree, over time; slices of one length,\n"
	  "  -- those in which nothing happened left out.\n"
	  "  process INTEGER NOT NULL,         -- -1: the whole tree\n"
	  "  time_us INTEGER NOT NULL,         -- of its start\n"
	  "  duration_us INTEGER NOT NULL,\n"
	  "  live_bytes INTEGER NOT NULL,      -- at its end\n"
	  "  max_live_bytes INTEGER NOT NULL,  -- most at one time within it\n"
	  "  allocations INTEGER NOT NULL,     -- within it\n"
	  "  allocated_bytes INTEGER NOT NULL,\n"
	  "  PRIMARY KEY(process, time_us)\n"
	  ") WITHOUT ROWID" },
	{ "memory",
	  "CREATE TABLE memory(\n"
	  "  -- The memory of a process at some moments, as the kernel counts it.\n"
	  "  process INTEGER NOT NULL,\n"
	  "  time_us INTEGER NOT NULL,\n"
	  "  anonymous_bytes INTEGER NOT NULL, -- resident: the heap, stacks, data; what\n"
	  "  file_bytes INTEGER NOT NULL,      -- is mapped from files, code among it;\n"
	  "  shared_bytes INTEGER NOT NULL,    -- shared memory; together they are the RSS\n"
	  "  swap_bytes INTEGER NOT NULL,\n"
	  "  peak_rss_bytes INTEGER NOT NULL,  -- the largest RSS so far\n"
	  "  PRIMARY KEY(process, time_us)\n"
	  ") WITHOUT ROWID" },
	{ "file", "CREATE TABLE file(\n"
		  "  -- Names of source files.\n"
		  "  id INTEGER PRIMARY KEY,\n"
		  "  path TEXT NOT NULL\n"
		  ")" },
	{ "function",
	  "CREATE TABLE function(\n"
	  "  -- After symbolization (meta.symbolized is 1).\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  module INTEGER NOT NULL,\n"
	  "  name TEXT NOT NULL,         -- demangled; libfoo.so.1+0x2a340 where nameless\n"
	  "  linkage_name TEXT,          -- as in the file; NULL: the same\n"
	  "  has_name INTEGER NOT NULL,  -- 0: only the address is known\n"
	  "  file INTEGER,               -- of the declaration\n"
	  "  line INTEGER\n"
	  ")" },
	{ "frame",
	  "CREATE TABLE frame(\n"
	  "  -- The functions at an address: at depth 0 the one called, then each one inlined\n"
	  "  -- into the one before.\n"
	  "  address INTEGER NOT NULL,\n"
	  "  depth INTEGER NOT NULL,\n"
	  "  function INTEGER NOT NULL,\n"
	  "  file INTEGER,            -- of the code at this address, at this depth\n"
	  "  line INTEGER,\n"
	  "  PRIMARY KEY(address, depth)\n"
	  ") WITHOUT ROWID" },
	{ "quality",
	  "CREATE TABLE quality(\n"
	  "  -- What was not measured as it should be.\n"
	  "  kind TEXT NOT NULL,      -- lost, truncated, stitched, no-symbol, no-debug,\n"
	  "                           -- untracked, throttled, substituted, bounded,\n"
	  "                           -- overhead, unreadable, interrupted, unsampled\n"
	  "  detail TEXT NOT NULL,\n"
	  "  count INTEGER NOT NULL,\n"
	  "  PRIMARY KEY(kind, detail)\n"
	  ") WITHOUT ROWID" },
	{ NULL, NULL },
};

static int create_all(sqlite3 *db, const struct schema_object *object)
{
	int ret = SQLITE_OK;

	for (; ret == SQLITE_OK && object->name; object++)
		ret = sqlite3_exec(db, object->sql, NULL, NULL, NULL);
	return ret;
}

static int stamp(sqlite3 *db)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 SCHEMA_APPLICATION_ID, SCHEMA_VERSION);
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int schema_create(sqlite3 *db)
{
	int ret = stamp(db);

	if (ret == SQLITE_OK)
		ret = create_all(db, schema_tables);
	if (ret == SQLITE_OK)
		ret = create_all(db, schema_views);
	return ret;
}

static const struct schema_object *find_in(const struct schema_object *object, const char *name)
{
	while (object->name && strcmp(object->name, name) != 0)
		object++;
	return object->name ? object : NULL;
}

static size_t nr_objects(void)
{
	size_t nr = 0;

	for (const struct schema_object *object = schema_tables; object->name; object++)
		nr++;
	for (const struct schema_object *object = schema_views; object->name; object++)
		nr++;
	return nr;
}

/* SQLite's own: statistics and automatic indexes.  Nobody can create others of such a name, and
 * a file made by other means could not harm through a table or an index. */
static bool is_internal(const char *type, const char *name)
{
	return !strncmp(name, "sqlite_", 7) && (!strcmp(type, "table") || !strcmp(type, "index"));
}

static int check_object(const char *type, const char *name, const char *sql, const char *path,
			struct error *err)
{
	const struct schema_object *known = find_in(schema_tables, name);

	if (!known)
		known = find_in(schema_views, name);
	if (!known)
		return error_set(err, ERR_FORMAT, "%s: has a %s \"%s\" that cprof did not make",
				 path, type, name);
	if (strcmp(known->sql, sql) != 0)
		return error_set(err, ERR_FORMAT, "%s: its %s \"%s\" is not as cprof made it", path,
				 type, name);
	return 0;
}

static const char *column_text(sqlite3_stmt *statement, int index)
{
	const char *text = (const char *)sqlite3_column_text(statement, index);

	return text ? text : "";
}

static int check_rows(sqlite3_stmt *statement, const char *path, struct error *err)
{
	size_t nr = 0;
	int ret = 0;

	while (!ret && sqlite3_step(statement) == SQLITE_ROW) {
		const char *type = column_text(statement, 0), *name = column_text(statement, 1);

		if (is_internal(type, name))
			continue;
		ret = check_object(type, name, column_text(statement, 2), path, err);
		nr++;
	}
	if (!ret && nr != nr_objects())
		ret = error_set(err, ERR_FORMAT, "%s: tables are missing", path);
	return ret;
}

int schema_check(sqlite3 *db, const char *path, struct error *err)
{
	sqlite3_stmt *statement;
	int ret;

	if (sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_master", -1, &statement,
			       NULL) != SQLITE_OK)
		return error_set(err, ERR_FORMAT, "%s: %s", path, sqlite3_errmsg(db));

	ret = check_rows(statement, path, err);
	sqlite3_finalize(statement);
	return ret;
}
