/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/place.h"
#include "store/reader.h"
#include "tests/unit/sample_profile.h"

/* Files that are no profiles, or no longer, or were made to do harm. */
TestSuite(profile_hostile, .init = enter_test_folder, .fini = leave_test_folder);

static void write_bytes(const char *path, const void *bytes, size_t nr)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fwrite(bytes, 1, nr, file) == nr && !fclose(file));
}

static unsigned char *read_bytes(const char *path, size_t *nr)
{
	struct stat status;
	FILE *file = fopen(path, "r");

	cr_assert(file && !stat(path, &status));

	unsigned char *bytes = xmalloc(status.st_size);

	*nr = fread(bytes, 1, status.st_size, file);
	fclose(file);
	return bytes;
}

/* Must be refused with this code and these words. */
static void assert_refused(const char *path, int code, const char *words)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	cr_assert_eq(profile_open(&profile, path, &err), code, "%s: %d %s", words, err.code,
		     err.message);
	cr_assert_null(profile);
	cr_assert(strstr(err.message, words), "\"%s\" is not in \"%s\"", words, err.message);
	cr_assert(strstr(err.message, path), "%s", err.message);
}

Test(profile_hostile, missing_file_is_named_with_what_to_do)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	cr_assert_eq(profile_open(&profile, "nothing", &err), -ENOENT);
	cr_assert_str_eq(err.message, "open nothing: No such file or directory");
	cr_assert(strstr(err.hint, "cprof record"), "%s", err.hint);
}

Test(profile_hostile, a_recording_before_its_first_commit_has_not_ended)
{
	struct error err = ERROR_INIT;
	struct place place;

	cr_assert_eq(place_claim(&place, "new", &err), 0, "%s", err.message);
	assert_refused("new", ERR_BUSY, "has only just begun");
	place_release(&place);
	assert_refused("new", ERR_FORMAT, "recording ended before");
}

Test(profile_hostile, files_of_other_kinds_are_named)
{
	cr_assert_eq(mkdir("folder", 0700), 0);
	assert_refused("folder", -EISDIR, "Is a directory");
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	assert_refused("fifo", ERR_FORMAT, "not a regular file");
	write_bytes("empty", "", 0);
	assert_refused("empty", ERR_FORMAT, "is empty");
	assert_refused("empty", ERR_FORMAT, "recording ended before");
	write_bytes("text", "SQL", 3);
	assert_refused("text", ERR_FORMAT, "truncated");
	write_bytes("text", "hello", 5);
	assert_refused("text", ERR_FORMAT, "not a profile");
	cr_assert_eq(system("sqlite3 database 'CREATE TABLE t(a)'"), 0);
	assert_refused("database", ERR_FORMAT, "not a profile");
}

static void change(const char *sql)
{
	char *command = xasprintf("sqlite3 p \"%s\"", sql);

	sample_profile_write("p");
	cr_assert_eq(system(command), 0, "%s", sql);
	free(command);
}

Test(profile_hostile, newer_version_is_said_to_be_one)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	change("PRAGMA user_version = 1000");
	assert_refused("p", ERR_VERSION, "format version 1000");
	profile_open(&profile, "p", &err);
	cr_assert_neq(err.hint[0], '\0');
}

/* Not "damaged", as its schema is not ours any more. */
Test(profile_hostile, older_version_is_said_to_be_one)
{
	change("PRAGMA user_version = 1; DROP TABLE quality");
	assert_refused("p", ERR_VERSION, "format version 1");
}

Test(profile_hostile, other_application_id_is_no_profile)
{
	change("PRAGMA application_id = 1");
	assert_refused("p", ERR_FORMAT, "not a profile");
}

Test(profile_hostile, write_ahead_log_is_told_with_the_way_back)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	change("PRAGMA journal_mode = WAL");
	assert_refused("p", ERR_FORMAT, "write-ahead log");
	profile_open(&profile, "p", &err);
	cr_assert_eq(system(strstr(err.hint, "sqlite3")), 0);
	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	profile_free(profile);
}

Test(profile_hostile, schema_must_be_ours_to_the_letter)
{
	change("CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END");
	assert_refused("p", ERR_FORMAT, "trigger \"t\" that cprof did not make");
	change("CREATE VIEW v AS SELECT 1");
	assert_refused("p", ERR_FORMAT, "view \"v\" that cprof did not make");
	change("CREATE TABLE t(a)");
	assert_refused("p", ERR_FORMAT, "table \"t\" that cprof did not make");
	change("DROP VIEW v_quality");
	assert_refused("p", ERR_FORMAT, "missing");
	change("DROP VIEW v_quality; CREATE VIEW v_quality AS SELECT 1");
	assert_refused("p", ERR_FORMAT, "view \"v_quality\" is not as cprof made it");
	change("ALTER TABLE meta ADD COLUMN more");
	assert_refused("p", ERR_FORMAT, "table \"meta\" is not as cprof made it");
}

Test(profile_hostile, table_replaced_by_a_view_is_refused)
{
	change("DROP TABLE quality; CREATE VIEW quality AS SELECT 'lost' AS kind, 1 AS count,"
	       " 'x' AS detail");
	assert_refused("p", ERR_FORMAT, "view \"quality\" is not as cprof made it");
}

Test(profile_hostile, statistics_of_sqlite_do_no_harm)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	change("ANALYZE");
	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	profile_free(profile);
}

static void assert_change_refused(const char *sql, const char *words)
{
	change(sql);
	assert_refused("p", ERR_FORMAT, words);
}

Test(profile_hostile, ids_that_lead_nowhere_are_refused)
{
	assert_change_refused("UPDATE thread SET process = 2", "thread 0: process refers");
	assert_change_refused("UPDATE thread SET process = -1", "thread 0: process is out of");
	assert_change_refused("UPDATE address SET module = 3", "address 0: module refers");
	assert_change_refused("UPDATE address SET module = NULL", "address 0: module does not");
	assert_change_refused("UPDATE address SET module = 0", "address 2: module does not");
	assert_change_refused("UPDATE stack SET address = 4294967295", "stack 0: address is out");
	assert_change_refused("UPDATE stack SET parent = id", "stack 0: parent is not before");
	assert_change_refused("UPDATE stack SET parent = 3 WHERE id = 1", "stack 1: parent is not");
	assert_change_refused("UPDATE function SET module = 9", "function 0: module refers");
	assert_change_refused("UPDATE frame SET function = 2", "frame 0: function refers");
	assert_change_refused("UPDATE frame SET address = 77 WHERE depth = 1",
			      "frame 2: address refers");
	assert_change_refused("UPDATE frame SET file = 2", "frame 0: file refers");
	assert_change_refused("UPDATE function SET file = -1", "function 0: file refers");
	assert_change_refused("UPDATE first_sample SET stack = stack + 4",
			      "first_sample 0: stack refers");
	assert_change_refused("UPDATE first_sample SET event = 2", "first_sample 0: event refers");
	assert_change_refused("UPDATE sample_sum SET first = 3 WHERE first = 1",
			      "sample_sum 1: first refers");
	assert_change_refused("UPDATE heap SET process = 5 WHERE process = 1", "heap 1: process");
	assert_change_refused("UPDATE heap SET process = -2 WHERE process = 1", "heap 0: process");
	assert_change_refused("UPDATE heap_site SET stack = 5", "heap_site 0: stack refers");
	assert_change_refused("UPDATE process SET parent = 1", "process 0: parent leads to itself");
	assert_change_refused("UPDATE process SET parent = 2", "process 0: parent refers");
	assert_change_refused("UPDATE process_argument SET process = 9", "process_argument 0");
}

Test(profile_hostile, gaps_are_refused)
{
	assert_change_refused("DELETE FROM stack WHERE id = 2", "stack 2: id is not dense");
	assert_change_refused("DELETE FROM first_sample WHERE id = 1",
			      "first_sample 1: id is not dense");
	assert_change_refused("UPDATE frame SET depth = depth + 5", "frame 0: depth is not dense");
	assert_change_refused("DELETE FROM process_argument WHERE position = 1",
			      "process_argument 1");
}

Test(profile_hostile, values_of_other_types_are_refused)
{
	assert_change_refused("UPDATE thread SET tid = 'x'", "thread 0: tid is not an integer");
	assert_change_refused("UPDATE thread SET tid = 4294967296", "thread 0: tid is out of");
	assert_change_refused("UPDATE thread SET tid = 1.5", "thread 0: tid is not an integer");
	assert_change_refused("UPDATE slice SET time_us = 9223372036854775807 WHERE process = 1",
			      "time_us is out of");
	assert_change_refused("UPDATE thread SET start_us = -9223372036854775807",
			      "thread 0: start_us is out of");
	assert_change_refused("UPDATE event SET status = 'x'", "event 0: status is not a known");
	assert_change_refused("UPDATE event SET value = 'x'", "event 0: value is not a number");
	assert_change_refused("UPDATE event SET value = 9e999", "event 0: value is not finite");
	assert_change_refused("UPDATE address SET kind = 3", "address 0: kind is not known");
	assert_change_refused("UPDATE process SET tracked = 2", "process 0: tracked is neither");
	assert_change_refused("UPDATE meta SET value = 'x' WHERE key = 'wall_us'",
			      "meta 1: wall_us is not an integer");
	assert_change_refused("UPDATE meta SET value = NULL WHERE key = 'nr_cpus'",
			      "nr_cpus is NULL");
	assert_change_refused("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
			      " replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = "
			      "'event'; PRAGMA writable_schema = RESET; UPDATE event SET name = "
			      "NULL; PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
			      " replace(sql, 'name TEXT', 'name TEXT NOT NULL') WHERE name = "
			      "'event'",
			      "event 0: name is NULL");
}

Test(profile_hostile, samples_are_checked_as_they_are_read)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	change("UPDATE later_sample SET first = 3");
	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	cr_assert_eq(profile_each_sample(profile, NULL, NULL, &err), ERR_FORMAT);
	cr_assert(strstr(err.message, "later_sample 0: first refers to nothing"), "%s",
		  err.message);
	profile_free(profile);
}

static volatile size_t seen; /* so that no read is optimized away */

static void see(const char *text)
{
	seen += text ? strlen(text) : 0;
}

static int see_sample(void *context, const struct profile_sample *sample)
{
	const struct profile *profile = context;

	seen += profile->stacks[sample->stack].address + profile->threads[sample->thread].tid +
		profile->events[sample->event].status;
	return 0;
}

static void see_stack(const struct profile *profile, uint32_t stack)
{
	for (; stack != PROFILE_NONE; stack = profile->stacks[stack].parent) {
		uint32_t address = profile->stacks[stack].address;

		for (uint32_t i = profile->first_frame[address];
		     i < profile->first_frame[address + 1]; i++)
			see(profile->functions[profile->frames[i].function].name);
	}
}

/* Uses everything as a report would, without looking. */
static void see_all(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_events; i++) {
		see(profile->events[i].name);
		see(profile_status_name(profile->events[i].status));
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		for (size_t k = 0; k < profile->processes[i].nr_arguments; k++)
			see(profile->processes[i].arguments[k]);
		for (uint32_t p = i; p != PROFILE_NONE; p = profile->processes[p].parent)
			seen++;
	}
	for (size_t i = 0; i < profile->nr_modules; i++)
		see(profile->modules[i].name);
	for (size_t i = 0; i < profile->nr_totals; i++) {
		see_stack(profile, profile->totals[i].stack);
		seen += profile_is_overhead(profile, profile->totals[i].stack);
	}
	for (size_t i = 0; i < profile->nr_heap_sites; i++) {
		see_stack(profile, profile->heap_sites[i].stack);
		see(profile_allocator_name(profile->heap_sites[i].allocator));
	}
	for (size_t i = 0; i < profile->nr_quality; i++) {
		see(profile_quality_name(profile->quality[i].kind));
		see(profile->quality[i].detail);
	}
	profile_each_sample(profile, see_sample, (void *)profile, NULL);
}

/* Either it is read, or refused with a message that names the file. */
static bool survives(const char *path)
{
	struct error err = ERROR_INIT;
	struct profile *profile;
	int ret = profile_open(&profile, path, &err);

	if (ret < 0) {
		cr_assert(strstr(err.message, path), "%s", err.message);
		cr_assert_neq(ret, ERR_INTERNAL, "%s", err.message);
		return false;
	}
	see_all(profile);
	profile_free(profile);
	return true;
}

Test(profile_hostile, truncation_anywhere_is_told)
{
	size_t nr;

	sample_profile_write("p");

	unsigned char *bytes = read_bytes("p", &nr);

	write_bytes("cut", bytes, nr);
	cr_assert(survives("cut"));
	for (size_t length = 1; length < nr; length += length < 600 ? 7 : 501) {
		write_bytes("cut", bytes, length);
		assert_refused("cut", ERR_FORMAT, "is truncated");
	}
	free(bytes);
}

Test(profile_hostile, flipped_bits_are_survived)
{
	unsigned char flips[] = { 0x01, 0x80, 0xff };
	size_t nr, nr_refused = 0;

	sample_profile_write("p");

	unsigned char *bytes = read_bytes("p", &nr);

	for (size_t at = 0; at < nr; at += 41) {
		bytes[at] ^= flips[at % 3];
		write_bytes("flipped", bytes, nr);
		nr_refused += !survives("flipped");
		bytes[at] ^= flips[at % 3];
	}
	cr_assert_gt(nr_refused, 10); /* some of it matters */
	free(bytes);
}

enum { PAGE_SIZE = 4096, INTERIOR = 2 /* page of a table without rowid */ };

static uint32_t get(const unsigned char *at, int nr)
{
	uint32_t value = 0;

	while (nr--)
		value = value << 8 | *at++;
	return value;
}

static void put(unsigned char *at, uint32_t page)
{
	for (int i = 0; i < 4; i++)
		at[i] = page >> (24 - 8 * i);
}

static bool is_interior(const unsigned char *bytes, uint32_t page)
{
	return bytes[(page - 1) * PAGE_SIZE] == INTERIOR;
}

static unsigned char *cell_of(unsigned char *page, int cell)
{
	return page + get(page + 12 + 2 * cell, 2);
}

/* Makes all children of a page the same one. */
static void point_to(unsigned char *bytes, uint32_t from, uint32_t to)
{
	unsigned char *page = bytes + (from - 1) * PAGE_SIZE;

	for (uint32_t i = 0; i < get(page + 3, 2); i++)
		put(cell_of(page, i), to);
	put(page + 8, to);
}

/* The one interior page whose children are interior. */
static uint32_t find_root(unsigned char *bytes, uint32_t nr_pages)
{
	for (uint32_t page = 2; page <= nr_pages; page++)
		if (is_interior(bytes, page) &&
		    is_interior(bytes, get(cell_of(bytes + (page - 1) * PAGE_SIZE, 0), 4)))
			return page;
	return 0;
}

/* From the root through all other interior pages: each has its one child some hundred times. */
static int chain_pages(unsigned char *bytes, uint32_t nr_pages)
{
	uint32_t last = find_root(bytes, nr_pages), root = last;
	int nr = 0;

	for (uint32_t page = 2; root && page <= nr_pages && nr < 12; page++) {
		if (page == root || !is_interior(bytes, page))
			continue;
		point_to(bytes, last, page);
		last = page;
		nr++;
	}
	return nr;
}

Test(profile_hostile, pages_that_repeat_themselves_are_not_read_for_ever)
{
	size_t nr;

	change("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
	       " INSERT INTO quality(kind, count, detail) SELECT 'lost', i, printf('%060d', i) "
	       "FROM n");
	cr_assert(survives("p"));

	unsigned char *bytes = read_bytes("p", &nr);

	cr_assert_geq(chain_pages(bytes, nr / PAGE_SIZE), 10); /* 50^10 rows */
	write_bytes("repeated", bytes, nr);
	assert_refused("repeated", ERR_FORMAT, "quality");
	free(bytes);
}

Test(profile_hostile, huge_text_is_refused)
{
	assert_change_refused("UPDATE module SET name = hex(zeroblob(9000000))", "too big");
}
