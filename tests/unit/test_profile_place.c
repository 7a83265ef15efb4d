/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/reader.h"
#include "tests/unit/sample_profile.h"

/* Where a profile goes, what becomes of what is there, and what remains when the recorder dies. */
TestSuite(profile_place, .init = enter_test_folder, .fini = leave_test_folder);

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static size_t nr_events_in(const char *path)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	cr_assert_eq(profile_open(&profile, path, &err), 0, "%s", err.message);

	size_t nr = profile->nr_events;

	profile_free(profile);
	return nr;
}

static int try_open(const char *path, struct error *err)
{
	struct writer *writer;
	int ret = writer_open(&writer, path, err);

	writer_close(writer);
	return ret;
}

Test(profile_place, is_readable_by_its_owner_only)
{
	struct stat status;

	umask(0);
	sample_profile_write("p");
	cr_assert_eq(stat("p", &status), 0);
	cr_assert_eq(status.st_mode & 07777, 0600);
}

Test(profile_place, keeps_the_profile_that_was_there_as_old)
{
	sample_profile_write("p");
	writer_close(sample_profile_writer("p"));

	cr_assert_eq(nr_events_in("p"), 0);
	cr_assert_eq(nr_events_in("p.old"), 2);
}

Test(profile_place, keeps_only_one_old_profile)
{
	writer_close(sample_profile_writer("p"));
	sample_profile_write("p");
	writer_close(sample_profile_writer("p"));

	cr_assert_eq(nr_events_in("p.old"), 2);
	cr_assert_not(exists("p.old.old"));
}

Test(profile_place, that_is_discarded_is_as_it_was_before)
{
	writer_discard(sample_profile_writer("p"));
	cr_assert_not(exists("p"));

	sample_profile_write("p");
	writer_discard(sample_profile_writer("p"));
	cr_assert_eq(nr_events_in("p"), 2);
	cr_assert_not(exists("p.old"));
}

Test(profile_place, that_cannot_be_made_leaves_the_one_before)
{
	struct rlimit limit = { .rlim_cur = 5000, .rlim_max = RLIM_INFINITY };
	struct error err = ERROR_INIT;

	sample_profile_write("p");
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(try_open("p", &err), -EFBIG, "%s", err.message);
	cr_assert_eq(nr_events_in("p"), 2);
	cr_assert_not(exists("p.old"));
}

Test(profile_place, may_be_an_empty_file)
{
	struct stat status;

	write_text("p", "");
	sample_profile_write("p");
	cr_assert_eq(nr_events_in("p"), 2);
	cr_assert_not(exists("p.old"));
	cr_assert_eq(stat("p", &status), 0);
	cr_assert_eq(status.st_mode & 07777, 0600);
}

static void assert_untouched(const char *text)
{
	char read[100] = "";
	struct error err = ERROR_INIT;
	FILE *file;

	write_text("p", text);
	cr_assert_eq(try_open("p", &err), ERR_FORMAT);
	cr_assert(strstr(err.message, "p is not a profile"), "%s", err.message);
	cr_assert(strstr(err.hint, "-o"), "%s", err.hint);

	file = fopen("p", "r");
	cr_assert(file && fread(read, 1, sizeof(read) - 1, file) == strlen(text));
	cr_assert_str_eq(read, text);
	fclose(file);
	cr_assert_not(exists("p.old"));
}

Test(profile_place, is_not_taken_from_another_file)
{
	assert_untouched("x");
	assert_untouched("a text that is somewhat longer than the header of a database has "
			 "to be: eighty, ninety bytes");
}

Test(profile_place, is_not_taken_from_another_database)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(system("sqlite3 p 'CREATE TABLE t(a)'"), 0);
	cr_assert_eq(try_open("p", &err), ERR_FORMAT);
	cr_assert_not(exists("p.old"));
}

Test(profile_place, is_no_folder_and_no_device)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(mkdir("p", 0700), 0);
	cr_assert_eq(try_open("p", &err), -EISDIR);
	cr_assert_eq(try_open("/dev/null", &err), ERR_FORMAT);
	cr_assert(strstr(err.message, "/dev/null is not a regular file"), "%s", err.message);
	cr_assert_eq(try_open("nowhere/p", &err), -ENOENT);
	cr_assert(strstr(err.hint, "-o"), "%s", err.hint);
}

Test(profile_place, may_have_any_name)
{
	sample_profile_write(":memory:");
	cr_assert_eq(nr_events_in(":memory:"), 2);
	sample_profile_write("file:p?mode=memory");
	cr_assert_eq(nr_events_in("file:p?mode=memory"), 2);
	cr_assert_eq(nr_events_in("./file:p?mode=memory"), 2);
}

Test(profile_place, of_a_recording_in_progress_is_left_to_it)
{
	struct writer *first = sample_profile_writer("p"), *second = sample_profile_writer("p");
	char *with_pid = xasprintf("p.%d", (int)getpid());

	cr_assert_str_eq(writer_path(first), "p");
	cr_assert_str_eq(writer_path(second), with_pid);

	writer_begin(first);
	writer_begin(second);
	sample_profile_put(first);
	sample_profile_commit(first);
	sample_profile_commit(second);
	writer_close(first);
	writer_close(second);

	cr_assert_eq(nr_events_in("p"), 2);
	cr_assert_eq(nr_events_in(with_pid), 0);
	cr_assert_not(exists("p.old"));
	free(with_pid);
}

Test(profile_place, can_be_held_again_when_the_recording_is_over)
{
	struct error err = ERROR_INIT;
	struct writer *writer = sample_profile_writer("p"), *other;

	cr_assert_eq(writer_open_existing(&other, "p", &err), ERR_BUSY);
	cr_assert(strstr(err.message, "p is being recorded"), "%s", err.message);
	writer_close(writer);
	cr_assert_eq(writer_open_existing(&other, "p", &err), 0);
	writer_close(other);
}

Test(profile_place, is_held_against_replacement_of_its_names_only_if_it_exists)
{
	struct error err = ERROR_INIT;
	struct writer *writer;

	cr_assert_eq(writer_open_existing(&writer, "p", &err), -ENOENT);
	cr_assert_not(exists("p"));
	write_text("p", "something else");
	cr_assert_eq(writer_open_existing(&writer, "p", &err), ERR_FORMAT);
}

Test(profile_place, gets_new_names)
{
	struct error err = ERROR_INIT;
	struct profile_function function = { .id = 0, .name = "new", .has_name = true };
	struct profile *profile;
	struct writer *writer;

	sample_profile_write("p");
	cr_assert_eq(writer_open_existing(&writer, "p", &err), 0, "%s", err.message);
	writer_begin(writer);
	writer_clear_symbols(writer);
	writer_put_function(writer, &function);
	sample_profile_commit(writer);
	writer_close(writer);

	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	cr_assert_eq(profile->nr_functions, 1);
	cr_assert_str_eq(profile->functions[0].name, "new");
	cr_assert_eq(profile->nr_frames, 0);
	cr_assert_eq(profile->nr_events, 2);
	profile_free(profile);
}

Test(profile_place, can_be_read_between_two_commits)
{
	struct error err = ERROR_INIT;
	struct writer *writer = sample_profile_writer("p");
	struct profile *profile;

	writer_begin(writer);
	sample_profile_put(writer);
	cr_assert_eq(nr_events_in("p"), 0);
	sample_profile_commit(writer);

	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	cr_assert(profile->in_progress);
	cr_assert_eq(profile->nr_events, 2);
	writer_close(writer);
	profile_free(profile);
}

static int count_sample(void *context, const struct profile_sample *sample)
{
	(void)sample;
	++*(size_t *)context;
	return 0;
}

/* A stack that took long to complete is told late. */
static void commit_late_samples(struct writer *writer)
{
	const struct profile_first_sample first = { 3, { 600, 1, 1, 0, 1 } };
	const struct profile_later_sample later = { 610, 3, PROFILE_UNKNOWN };

	writer_begin(writer);
	writer_put_first_sample(writer, &first);
	writer_put_later_sample(writer, &later);
	sample_profile_commit(writer);
}

Test(profile_place, gives_no_samples_that_came_after_it_was_opened)
{
	struct error err = ERROR_INIT;
	struct writer *writer = sample_profile_writer("p");
	struct profile *profile;
	size_t nr = 0;

	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
	commit_late_samples(writer);

	cr_assert_eq(profile_each_sample(profile, count_sample, &nr, &err), 0, "%s", err.message);
	cr_expect_eq(nr, 7);
	writer_close(writer);
	profile_free(profile);
}

/* A process that writes a profile until told, then is killed. */
static pid_t start_writer(void (*work)(struct writer *writer, int ready), const char *path)
{
	int ends[2];
	char byte;

	cr_assert_eq(pipe(ends), 0);

	pid_t pid = fork();

	if (!pid) {
		close(ends[0]);
		work(sample_profile_writer(path), ends[1]);
		_exit(0);
	}
	close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static void kill_writer(pid_t pid)
{
	int status;

	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
}

static void commit_and_wait(struct writer *writer, int ready)
{
	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	if (write(ready, "x", 1) == 1)
		pause();
}

static void put_more_and_wait(struct writer *writer, int ready)
{
	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	writer_begin(writer);
	for (uint32_t i = 2; i < 5000; i++)
		writer_put_event(writer, &(struct profile_event){ .id = i });
	if (write(ready, "x", 1) == 1)
		pause();
}

Test(profile_place, of_a_killed_recorder_has_what_was_committed)
{
	kill_writer(start_writer(commit_and_wait, "p"));
	cr_assert_eq(nr_events_in("p"), 2);
}

Test(profile_place, of_a_recorder_killed_between_commits_has_what_was_committed)
{
	kill_writer(start_writer(put_more_and_wait, "p"));
	cr_assert_eq(nr_events_in("p"), 2);
}

Test(profile_place, of_a_killed_recorder_is_free_again)
{
	kill_writer(start_writer(commit_and_wait, "p"));

	struct writer *writer = sample_profile_writer("p");

	cr_assert_str_eq(writer_path(writer), "p");
	writer_close(writer);
	cr_assert_eq(nr_events_in("p.old"), 2);
}

/* Each commit adds as many events as there are pages to write, so that a kill hits one. */
static void commit_for_ever(struct writer *writer, int ready)
{
	uint32_t id = 0;

	for (int round = 0;; round++) {
		writer_begin(writer);
		for (int i = 0; i < 1000; i++, id++)
			writer_put_event(writer, &(struct profile_event){ .id = id, .name = "e" });
		writer_put_quality(writer, &(struct profile_quality){ .count = id, .detail = "" });
		sample_profile_commit(writer);
		if (round == 1 && write(ready, "x", 1) != 1)
			_exit(1);
	}
}

Test(profile_place, of_a_recorder_killed_at_any_moment_has_whole_commits)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = start_writer(commit_for_ever, "p");
		struct error err = ERROR_INIT;
		struct profile *profile;

		usleep(1000 * i);
		kill_writer(pid);
		cr_assert_eq(profile_open(&profile, "p", &err), 0, "%s", err.message);
		cr_assert_geq(profile->nr_events, 2000);
		cr_assert_eq(profile->nr_events % 1000, 0);
		cr_assert_eq(profile->quality[0].count, profile->nr_events);
		profile_free(profile);
	}
}

static void copy_file(const char *from, const char *to)
{
	char *command = xasprintf("cp %s %s", from, to);

	cr_assert_eq(system(command), 0);
	free(command);
}

static size_t size_of(const char *path)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0);
	return status.st_size;
}

/*
 * What a kill within a commit leaves: the journal complete, the file half written.  SQLite itself
 * makes the journal; the half is ours.
 */
static void break_off_a_commit(void)
{
	cr_assert_eq(
		system("sqlite3 p 'PRAGMA cache_spill = 1; PRAGMA cache_size = 2;"
		       " PRAGMA synchronous = OFF; BEGIN;"
		       " UPDATE event SET name = hex(randomblob(90000));"
		       " INSERT INTO event SELECT id + 2, hex(randomblob(90000)), unit, NULL, NULL,"
		       " status, 0, 0, NULL, 0, 0 FROM event;' '.shell cp p half' "
		       "'.shell cp p-journal half-journal'"),
		0);
}

Test(profile_place, of_a_broken_off_commit_is_read_as_before_it)
{
	sample_profile_write("p");
	break_off_a_commit();
	cr_assert_gt(size_of("half"), size_of("p"));
	cr_assert_gt(size_of("half-journal"), 512);

	size_t journal_size = size_of("half-journal"), size = size_of("half");

	cr_assert_eq(nr_events_in("half"), 2);
	/* and reading has changed nothing: */
	cr_assert_eq(size_of("half"), size);
	cr_assert_eq(size_of("half-journal"), journal_size);
}

Test(profile_place, of_a_broken_off_commit_is_rolled_back_before_it_gets_old)
{
	sample_profile_write("p");
	break_off_a_commit();
	writer_close(sample_profile_writer("half"));

	cr_assert_not(exists("half-journal"));
	cr_assert_not(exists("half.old-journal"));
	cr_assert_eq(nr_events_in("half.old"), 2);
	cr_assert_eq(nr_events_in("half"), 0);
}

Test(profile_place, of_a_broken_off_commit_is_rolled_back_before_it_gets_names)
{
	struct error err = ERROR_INIT;
	struct writer *writer;

	sample_profile_write("p");
	break_off_a_commit();
	cr_assert_eq(writer_open_existing(&writer, "half", &err), 0, "%s", err.message);
	writer_close(writer);
	cr_assert_not(exists("half-journal"));
	cr_assert_eq(nr_events_in("half"), 2);
}

/* SQLite deletes the file that a journal names as its super-journal. */
static void name_super_journal(const char *journal, const char *name)
{
	static const unsigned char magic[] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	FILE *file = fopen(journal, "a");
	uint32_t sum = 0, length = strlen(name);

	for (uint32_t i = 0; i < length; i++)
		sum += (unsigned char)name[i];
	cr_assert(file);
	fwrite("\0\0\0\1", 1, 4, file);
	fputs(name, file);
	for (int shift = 24; shift >= 0; shift -= 8)
		fputc(length >> shift, file);
	for (int shift = 24; shift >= 0; shift -= 8)
		fputc(sum >> shift, file);
	fwrite(magic, 1, sizeof(magic), file);
	fclose(file);
}

Test(profile_place, with_a_journal_that_names_another_file_leaves_that_alone)
{
	struct error err = ERROR_INIT;
	struct profile *profile;
	struct writer *writer;
	char *here = get_current_dir_name(), *victim = xasprintf("%s/victim", here);

	sample_profile_write("p");
	break_off_a_commit();
	copy_file("half", "other");
	copy_file("half-journal", "other-journal");
	name_super_journal("half-journal", victim);
	name_super_journal("other-journal", victim);
	write_text(victim, "precious");

	cr_assert_eq(profile_open(&profile, "half", &err), ERR_FORMAT);
	cr_assert(strstr(err.message, "half-journal"), "%s", err.message);
	cr_assert_eq(writer_open_existing(&writer, "half", &err), ERR_FORMAT);
	cr_assert_eq(try_open("half", &err), ERR_FORMAT);
	cr_assert(exists(victim));

	/* The oracle: SQLite does delete it. */
	cr_assert_eq(system("sqlite3 other 'SELECT count(*) FROM event' >/dev/null"), 0);
	cr_assert_not(exists(victim));
	free(victim);
	free(here);
}

static void put_many_events(struct writer *writer)
{
	for (uint32_t i = 2; i < 100000; i++)
		writer_put_event(writer, &(struct profile_event){ .id = i, .name = "event" });
}

static void limit_file_size(const char *path)
{
	struct rlimit limit = { .rlim_cur = size_of(path) + 10000, .rlim_max = RLIM_INFINITY };

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(profile_place, that_is_full_says_so_from_then_on_and_keeps_what_was_committed)
{
	struct error err = ERROR_INIT;
	struct writer *writer = sample_profile_writer("p");

	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	limit_file_size("p");

	writer_begin(writer);
	put_many_events(writer);
	cr_assert_eq(writer_commit(writer, &err), -EFBIG, "%d %s", err.code, err.message);
	cr_assert_str_eq(err.message, "write p: File too large");

	writer_begin(writer);
	writer_put_event(writer, &(struct profile_event){ .id = 100000 });
	cr_assert_eq(writer_commit(writer, &err), -EFBIG);
	writer_close(writer);
	cr_assert_eq(nr_events_in("p"), 2);
}

static void read_for_a_while(const char *path)
{
	char *command = xasprintf("sqlite3 %s 'BEGIN; SELECT count(*) FROM event'"
				  " '.shell touch reading' '.shell sleep 0.3' >/dev/null",
				  path);

	if (!fork())
		_exit(system(command) != 0);
	free(command);
	while (!exists("reading"))
		usleep(1000);
}

Test(profile_place, that_is_being_read_makes_a_commit_wait)
{
	struct writer *writer = sample_profile_writer("p");

	read_for_a_while("p");
	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	writer_close(writer);
	cr_assert_eq(nr_events_in("p"), 2);
	wait(NULL);
}

Test(profile_place, under_sudo_belongs_to_who_called_it)
{
	struct stat status;

	if (geteuid() != 0)
		cr_skip_test("only root can give files away");
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65533", 1);
	sample_profile_write("p");
	cr_assert_eq(stat("p", &status), 0);
	cr_assert_eq(status.st_uid, 65534);
	cr_assert_eq(status.st_gid, 65533);
}
