# SPDX-License-Identifier: MIT
"""The profile as a file: what SQL says of it, compared with brute force over its tables and with the
report, and what becomes of it when things go wrong."""

import json
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import time
from collections import Counter, defaultdict

import pytest

from conftest import Profile, Runner

ROUNDING = 1e-9


@pytest.fixture(scope="module")
def demo(cprof, programs, tmp_path_factory):
    """The demo program, recorded once, with names."""
    runner = Runner(tmp_path_factory.mktemp("demo"), cprof)
    profile = runner.record(programs / "demo")
    result = runner.cprof_run("symbolize", profile.path)
    assert result.returncode == 0, result.stderr
    return profile


def needs_samples(profile):
    if not profile.sql("SELECT 1 FROM v_sample LIMIT 1"):
        pytest.skip("no CPU samples: " + str(profile.sql("SELECT value FROM meta WHERE key = 'cpu_reason'")))


def needs_heap(profile):
    if not profile.sql("SELECT 1 FROM process WHERE tracked"):
        pytest.skip("no heap: " + str(profile.sql("SELECT value FROM meta WHERE key = 'heap_reason'")))


# --- the tables ------------------------------------------------------------------------------------

def test_the_file_is_a_sound_database_and_says_what_it_is(demo):
    assert demo.sql("PRAGMA integrity_check") == [("ok",)]
    assert demo.sql("PRAGMA application_id") == [(int.from_bytes(b"CPRF", "big"),)]
    assert demo.sql("PRAGMA user_version")[0][0] >= 1
    assert demo.sql("PRAGMA journal_mode") == [("delete",)]
    assert not os.path.exists(f"{demo.path}-journal")


def test_the_schema_explains_itself(demo):
    for name, sql in demo.sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        assert name in ("thread",) or "--" in sql, f"{name} has no comment"


def test_every_view_can_be_read(demo):
    views = [name for name, in demo.sql("SELECT name FROM sqlite_master WHERE type = 'view'")]
    assert {"v_function", "v_stack", "v_heap_site", "v_process", "v_thread", "v_counter",
            "v_quality"} <= set(views)
    for view in views:
        demo.sql(f"SELECT * FROM {view} LIMIT 5")


def test_totals_are_the_sums_of_the_samples(demo):
    needs_samples(demo)
    sums = defaultdict(lambda: [0, 0, 0.0])
    tables = Tables(demo)
    for thread, stack, event, weight in demo.sql("SELECT thread, stack, event, weight FROM v_sample"):
        if tables.is_overhead(stack):
            continue
        total = sums[stack, thread, event]
        total[0] += 1
        total[1] += weight
        total[2] += float(weight) ** 2
    rows = demo.sql("SELECT stack, thread, event, samples, weight, weight_squared FROM v_total")
    assert len(rows) == len(sums)
    for stack, thread, event, *total in rows:
        assert total == pytest.approx(sums[stack, thread, event])


def test_of_samples_only_what_is_new_takes_room(demo):
    needs_samples(demo)
    assert demo.sql("SELECT count(*) FROM (SELECT DISTINCT stack, thread, event FROM first_sample)") \
        == demo.sql("SELECT count(*) FROM first_sample")
    assert demo.sql("SELECT count(*) FROM later_sample JOIN first_sample ON first_sample.id = first"
                    " WHERE later_sample.weight = first_sample.weight") == [(0,)]
    assert demo.sql("SELECT count(*) FROM sample_sum WHERE samples < 2") == [(0,)]


def test_samples_lie_within_the_run_and_their_threads(demo):
    needs_samples(demo)
    (wall_us,), = demo.sql("SELECT value FROM meta WHERE key = 'wall_us'")
    (first, last), = demo.sql("SELECT min(time_us), max(time_us) FROM v_sample")
    assert 0 <= first <= last
    assert last - first <= wall_us + 1000
    outside = demo.sql("SELECT count(*) FROM v_sample JOIN thread ON thread.id = v_sample.thread"
                       " WHERE time_us < start_us - 1000 OR time_us > end_us + 1000")
    assert outside == [(0,)]


def test_a_sample_takes_at_most_about_twenty_bytes(demo):
    needs_samples(demo)
    for table in ("first_sample", "later_sample", "sample_sum"):
        try:
            (size,), = demo.sql(f"SELECT sum(pgsize) FROM dbstat WHERE name = '{table}'")
        except sqlite3.OperationalError:
            pytest.skip("this python3's SQLite has no dbstat")
        (nr,), = demo.sql(f"SELECT count(*) FROM {table}")
        assert size <= 25 * nr + 8192, table


# --- the views, against brute force ----------------------------------------------------------------

class Tables:
    """The tables in dictionaries, and what the views say computed in the slow and obvious way."""

    def __init__(self, profile):
        sql = profile.sql
        self.stacks = {i: (parent, address) for i, parent, address in sql("SELECT id, parent, address FROM stack")}
        self.kinds = dict(sql("SELECT address.id, module.kind FROM address"
                              " LEFT JOIN module ON module.id = address.module"))
        self.frames = defaultdict(list)
        for address, function in sql("SELECT address, function FROM frame ORDER BY address, depth"):
            self.frames[address].append(function)
        self.totals = [row for row in sql("""
            SELECT stack, thread, event, coalesce(samples, 1), coalesce(sample_sum.weight, first_sample.weight)
            FROM first_sample LEFT JOIN sample_sum ON first = id""")
                       if not self.is_overhead(row[0])]

    def addresses(self, stack):
        """Innermost first."""
        while stack is not None:
            stack, address = self.stacks[stack]
            yield address

    def is_overhead(self, stack):
        kinds = [self.kinds[address] for address in self.addresses(stack)]
        while len(kinds) > 1 and kinds[0] == "kernel":
            kinds.pop(0)
        return kinds[0] == "self"

    def functions(self):
        own, total = Counter(), Counter()
        for stack, thread, event, samples, weight in self.totals:
            if event != 0:
                continue
            lists = [self.frames[address] for address in self.addresses(stack)]
            if lists[0]:
                own[lists[0][-1]] += weight
            for function in {function for frames in lists for function in frames}:
                total[function] += weight
        return own, total


def test_v_function_is_what_adding_up_gives(demo):
    needs_samples(demo)
    tables = Tables(demo)
    own, total = tables.functions()
    whole = sum(row[4] for row in tables.totals if row[2] == 0)
    rows = demo.sql("SELECT function, self_weight, self, total_weight, total FROM v_function")
    assert {row[0] for row in rows} >= set(total)
    for function, self_weight, self_share, total_weight, total_share in rows:
        assert self_weight == own[function]
        assert total_weight == total[function]
        assert self_share == pytest.approx(self_weight / whole)
        assert total_share == pytest.approx(total_weight / whole)


def test_v_function_is_what_the_report_says(demo):
    needs_samples(demo)
    shares = defaultdict(lambda: [0.0, 0.0])
    for *function, own, total in demo.sql("SELECT name, module, file, line, self, total FROM v_function"):
        share = shares[tuple(function)]
        share[0] += own
        share[1] = max(share[1], total)
    functions = demo.report()["cpu"]["functions"]
    assert functions
    for function in functions:
        key = tuple(function[k] for k in ("name", "module", "file", "line"))
        if key not in shares:  # what has no name at all is no function in the file
            assert "+0x" in function["name"] or function["name"].startswith("["), function
            continue
        assert shares[key] == pytest.approx([function["self"], function["total"]], abs=ROUNDING)


def test_the_hot_functions_of_the_demo_are_there(demo):
    needs_samples(demo)
    top = [name for name, in demo.sql("SELECT name FROM v_function ORDER BY self DESC LIMIT 5")]
    assert any("Matrix::multiply" in name for name in top), top
    assert any("Index::follow" in name for name in top), top


def test_v_stack_walks_from_the_innermost_frame_to_the_root(demo):
    needs_samples(demo)
    tables = Tables(demo)
    names = dict(demo.sql("SELECT id, name FROM function"))
    for (stack,) in demo.sql("SELECT stack FROM v_total ORDER BY weight DESC LIMIT 20"):
        expected = [(depth, names[function])
                    for depth, address in enumerate(tables.addresses(stack))
                    for function in reversed(tables.frames[address])]
        rows = demo.sql("SELECT depth, function FROM v_stack WHERE stack = ? AND function IN"
                        " (SELECT name FROM function) ORDER BY depth, inlined DESC", stack)
        assert rows == expected


def test_shares_of_processes_and_threads_add_up_to_one(demo):
    needs_samples(demo)
    assert demo.sql("SELECT sum(share) FROM v_process")[0][0] == pytest.approx(1)
    assert demo.sql("SELECT sum(share) FROM v_thread")[0][0] == pytest.approx(1)
    assert demo.sql("SELECT sum(samples) FROM v_thread") == demo.sql("SELECT sum(samples) FROM v_total WHERE event = 0")


def test_v_process_is_what_the_report_says(demo):
    (command, exit_status, signal_number), = demo.sql("SELECT command, exit_status, signal FROM v_process")
    process, = demo.report()["processes"]
    assert json.loads(command) == process["command"]
    assert exit_status == process["exit_status"] == 0
    assert signal_number is None and process["signal"] is None


def test_v_counter_tells_no_value_of_what_was_not_counted(demo):
    for name, value, status, reason in demo.sql("SELECT name, value, status, reason FROM v_counter"):
        if status in ("counted", "scaled"):
            assert value > 0, name
        else:
            assert value is None and reason, name


def test_quality_is_what_the_report_says(demo):
    ledger = Counter((row["kind"], row["detail"]) for row in demo.report()["quality"])
    for kind, detail in demo.sql("SELECT kind, detail FROM v_quality"):
        assert ledger[kind, detail] == 1, (kind, detail)


def test_figures_of_the_sites_add_up_to_those_of_the_heap(demo):
    needs_heap(demo)
    figures = "allocations frees reallocations allocated_bytes freed_bytes live_bytes live_blocks temporary".split()
    for process, in demo.sql("SELECT process FROM heap WHERE process >= 0"):
        heap = demo.sql(f"SELECT {', '.join(figures)}, peak_bytes, peak_blocks FROM heap WHERE process = ?", process)
        sites = demo.sql(f"SELECT {', '.join(f'sum({f})' for f in figures)}, sum(at_peak_bytes), sum(at_peak_blocks)"
                         " FROM heap_site WHERE process = ?", process)
        assert dict(zip(figures + ["peak_bytes", "peak_blocks"], heap[0])) == \
            dict(zip(figures + ["peak_bytes", "peak_blocks"], sites[0]))


def test_figures_of_the_heap_are_consistent(demo):
    needs_heap(demo)
    rows = demo.sql("SELECT allocated_bytes - freed_bytes, live_bytes, allocations - frees, live_blocks,"
                    " churn_below_10us_bytes + churn_below_1ms_bytes + churn_below_100ms_bytes + churn_longer_bytes,"
                    " freed_bytes, peak_bytes, unknown_frees FROM heap WHERE unknown_frees = 0")
    assert rows
    for net_bytes, live_bytes, net_blocks, live_blocks, churn, freed, peak, _ in rows:
        assert net_bytes == live_bytes <= peak
        assert net_blocks == live_blocks
        assert churn <= freed


def test_v_heap_site_names_the_callers(demo):
    needs_heap(demo)
    callers = [text for text, in demo.sql("SELECT callers FROM v_heap_site ORDER BY at_peak_bytes DESC LIMIT 10")]
    assert any("build_report" in text and text.endswith("main") for text in callers), callers


# --- the file among others -------------------------------------------------------------------------

def test_the_file_is_its_owners_only(runner, record):
    profile = record("true")
    assert stat.S_IMODE(profile.path.stat().st_mode) == 0o600


def test_under_sudo_it_belongs_to_the_caller(record, need):
    need.root()
    profile = record("true", env={"SUDO_UID": "65534", "SUDO_GID": "65534"})
    assert profile.path.stat().st_uid == 65534
    assert profile.path.stat().st_gid == 65534


def test_the_one_before_is_kept_as_old(record):
    first, second = record("true"), record("false", status=1)
    assert second.sql("SELECT value FROM meta WHERE key = 'exit_status'") == [(1,)]
    assert Profile(first.runner, f"{first.path}.old", first.result).sql(
        "SELECT value FROM meta WHERE key = 'exit_status'") == [(0,)]


@pytest.mark.parametrize("command, status", [(["./nothing"], 127), (["/"], 126), (["./bad"], 127)])
def test_a_program_that_cannot_run_costs_no_profile(runner, record, command, status):
    (runner.folder / "bad").write_text("#!/nowhere/interpreter\n")
    (runner.folder / "bad").chmod(0o755)
    record("true")
    for _ in range(2):
        record(*command, status=status)
    assert sorted(p.name for p in runner.folder.iterdir()) == ["bad", "cprof.data"]
    assert runner.cprof_run("report", "cprof.data").returncode == 0


@pytest.mark.parametrize("content", [b"precious", b"SQLite format 3\0" + bytes(200)])
def test_another_file_is_not_overwritten(runner, run, content):
    (runner.folder / "out").write_bytes(content)
    result = run("record", "-o", "out", "--", "sh", "-c", "echo ran")
    assert result.returncode == 125
    assert result.stdout == ""
    assert "out" in result.stderr and "-o" in result.stderr
    assert (runner.folder / "out").read_bytes() == content


def test_a_folder_that_cannot_be_written_is_said_before_the_program_runs(nobody):
    os.chmod(nobody.folder, 0o555)
    os.chown(nobody.folder, 0, 0)
    result = nobody.cprof_run("record", "--", "echo", "ran")
    assert result.returncode == 125
    assert result.stdout == ""
    assert "cprof.data" in result.stderr and "Permission denied" in result.stderr and "-o" in result.stderr


def test_arguments_that_are_not_utf8(record):
    profile = record("true", b"caf\xe9".decode(errors="surrogateescape"), "naïve")
    assert profile.sql("SELECT text FROM process_argument ORDER BY position") == [("true",), (b"caf\xe9",), ("naïve",)]
    (command,), = profile.sql("SELECT command FROM v_process")
    assert json.loads(command) == ["true", "hex:636166E9", "naïve"]
    assert profile.report()["command"] == ["true", "caf\ufffd", "naïve"]


# --- while it is being recorded, and after the recorder's death ------------------------------------

BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: sum(range(1000))"


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not within 30 s: {what}")


def nr_samples(path):
    """0 while there is no such table yet."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM thread").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


@pytest.fixture
def recording(runner, cprof):
    """A recording in progress that has committed something."""
    with runner.start(cprof, "record", "--", "/usr/bin/python3", "-c", BUSY.format(60), start_new_session=True,
                      stderr=subprocess.PIPE) as process:
        try:
            wait_for(lambda: nr_samples(runner.folder / "cprof.data") > 0, "a commit")
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_recording_in_progress_can_be_read(runner, recording):
    report = json.loads(runner.cprof_run("report", "--json", "cprof.data").stdout)
    assert report["complete"] is False
    assert report["command"][0] == "/usr/bin/python3"


def test_a_second_recording_in_the_folder_gets_a_name_of_its_own(runner, recording):
    with runner.start(runner.cprof, "record", "--", "true", stderr=subprocess.PIPE) as second:
        assert second.wait() == 0
    assert (runner.folder / f"cprof.data.{second.pid}").exists()
    assert not (runner.folder / "cprof.data.old").exists()
    report = json.loads(runner.cprof_run("report", "--json", f"cprof.data.{second.pid}").stdout)
    assert report["command"] == ["true"]


def test_names_are_not_written_into_a_recording_in_progress(runner, recording):
    result = runner.cprof_run("symbolize", "cprof.data")
    assert result.returncode == 1
    assert "cprof.data" in result.stderr and "recorded" in result.stderr


def test_a_killed_recorder_leaves_what_it_had(runner, recording):
    recording.kill()
    recording.wait()
    report = json.loads(runner.cprof_run("report", "--json", "cprof.data").stdout)
    assert report["complete"] is False
    assert report["exit_status"] is None


def test_a_recorder_killed_within_a_commit_leaves_what_it_had(nobody, runner, record):
    """Its journal has to be rolled back, which the reader may not, and does in a copy."""
    profile = record("true")
    writer = sqlite3.connect(profile.path, isolation_level=None)
    writer.executescript("PRAGMA cache_size = 1; PRAGMA synchronous = OFF; BEGIN;"
                         "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                         "INSERT INTO quality(kind, count, detail) SELECT 'lost', i, i || ' rows that never were' FROM n")
    folder = nobody.folder
    for suffix in ("", "-journal"):
        data = (profile.path.parent / f"cprof.data{suffix}").read_bytes()
        (folder / f"cprof.data{suffix}").write_bytes(data)
        (folder / f"cprof.data{suffix}").chmod(0o444)
    writer.close()
    folder.chmod(0o555)
    os.chown(folder, 0, 0)
    assert (folder / "cprof.data").stat().st_size > profile.path.stat().st_size
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = nobody.cprof_run("report", "--json", "cprof.data")
    assert result.returncode == 0, result.stderr
    assert "never were" not in result.stdout
    assert json.loads(result.stdout)["command"] == ["true"]
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


# --- files that are no profiles --------------------------------------------------------------------

def refused(runner, path):
    result = runner.cprof_run("report", f"./{path}")
    assert result.returncode == 1
    assert result.stdout == ""
    assert path in result.stderr
    return result.stderr


def test_what_is_no_profile_is_told_by_name(runner, record):
    profile = record("true")
    folder = runner.folder
    assert "No such file" in refused(runner, "nothing")
    (folder / "empty").touch()
    assert "empty" in refused(runner, "empty")
    (folder / "folder").mkdir()
    assert "directory" in refused(runner, "folder")
    (folder / "text").write_text("hello, this is no profile" * 20)
    assert "not a profile" in refused(runner, "text")
    (folder / "short").write_bytes(profile.path.read_bytes()[:50000])
    assert "truncated" in refused(runner, "short")


def test_a_newer_profile_is_told_to_be_one(runner, record):
    profile = record("true")
    connection = sqlite3.connect(profile.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    said = refused(runner, "cprof.data")
    assert "version 99" in said and "newer" in said


def test_a_trigger_is_refused(runner, record):
    profile = record("true")
    connection = sqlite3.connect(profile.path)
    connection.execute("CREATE TRIGGER surprise AFTER DELETE ON frame BEGIN DELETE FROM meta; END")
    connection.close()
    assert "surprise" in refused(runner, "cprof.data")
    assert runner.cprof_run("symbolize", "cprof.data").returncode == 1


# --- files that cannot grow ------------------------------------------------------------------------

def limited(kilobytes):
    """In the child before exec: ulimit -f."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, resource.RLIM_INFINITY))


def test_no_room_for_the_profile_is_said_before_the_program_runs(run):
    result = run("record", "--", "echo", "ran", preexec_fn=limited(20))
    assert result.returncode == 125
    assert result.stdout == ""
    assert "cprof.data" in result.stderr and "File too large" in result.stderr and "ulimit -f" in result.stderr


@pytest.mark.slow
def test_no_room_while_the_program_runs_leaves_its_status_and_what_was_kept(runner, programs):
    """Names of many threads fill the file; the limit is between the first and the last of four commits."""
    script = ("import sys, threading, time\n"
              "def work():\n    time.sleep(0.01)\n"
              "for _ in range(int(sys.argv[1])):\n"
              "    threads = [threading.Thread(target=work) for _ in range(20)]\n"
              "    [t.start() for t in threads]; [t.join() for t in threads]\n"
              "print('finished')\nraise SystemExit(7)")
    command = ["/usr/bin/python3", "-c", script]

    def kilobytes(rounds):
        runner.record(*command, rounds, status=7, options=["--no-symbols"])
        return (runner.folder / "cprof.data").stat().st_size // 1024

    least, most = kilobytes(0), kilobytes(200)
    profile = runner.record(*command, 200, status=7, options=["--no-symbols"],
                            preexec_fn=limited(least + (most - least) * 6 // 10))
    assert profile.stdout == "finished\n"
    assert "File too large" in profile.stderr and "cprof.data" in profile.stderr
    report = profile.report()
    assert report["complete"] is False
    assert report["command"][0] == "/usr/bin/python3"


def test_the_program_keeps_its_own_file_size_signal(record):
    profile = record("sh", "-c", "exec dd if=/dev/zero of=big bs=1024 count=2000 2>/dev/null", status=128 + signal.SIGXFSZ,
                     preexec_fn=limited(1000))
    assert profile.sql("SELECT value FROM meta WHERE key = 'signal'") == [(signal.SIGXFSZ,)]


STACKS = """
#include <stdlib.h>
#define noinline __attribute__((noipa))
noinline void *descend(unsigned int path, int depth)
{
	void *block;
	if (!depth)
		return malloc(16 + path % 100);
	if (path & 1)
		block = descend(path >> 1, depth - 1);
	else
		block = descend(path >> 1, depth - 1);
	__asm__ volatile("" : "+r"(block));
	return block;
}
int main(int argc, char **argv)
{
	for (int turns = atoi(argv[1]); turns; turns--)
		for (unsigned int path = 0; path < 2000; path++)
			free(descend(path, 11));
	return 0;
}
"""


def test_the_file_grows_with_the_stacks_and_not_with_the_run(record, runner, need):
    """Its course over time included: 2,000 stacks, ten times as often."""
    need.tool("gcc")
    (runner.folder / "stacks.c").write_text(STACKS)
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-fno-crossjumping", "-fno-optimize-sibling-calls", "-o",
                    runner.folder / "stacks", runner.folder / "stacks.c"], check=True)
    once, often = (record(runner.folder / "stacks", turns, options=["--cpu=off"], output=f"{turns}.data")
                   for turns in (20, 200))
    assert once.sql("SELECT count(*) FROM heap_site WHERE allocations = 20") == [(2000,)]
    assert often.sql("SELECT count(*) FROM heap_site WHERE allocations = 200") == [(2000,)]

    def bytes_of(profile):
        return profile.sql("SELECT sum(pgsize) FROM dbstat")[0][0]

    assert bytes_of(often) == pytest.approx(bytes_of(once), rel=0.05)
    assert bytes_of(often) < 1000000
