# SPDX-License-Identifier: MIT
"""What was not measured is null, with the reason beside it: never 0, and never an empty table."""

import sys

import pytest

OF_BLOCKS = ["leaks"]
OF_BOTH = ["callers", "modules", "threads"]
NO_CPU, NO_HEAP = "not asked for (--cpu=off)", "not asked for (--heap=off)"
COUNTED = "operations were only counted (--heap=counts): no peak, no stacks"


def is_absent(document, view, reason):
    assert document == {view: None, "reason": document["reason"]}
    assert reason in document["reason"]


def lines_of(text):
    """As one: words are where the lines end."""
    return " ".join(text.split())


@pytest.mark.parametrize("options, reason", [(["--heap=off"], NO_HEAP), (["--heap=counts"], COUNTED)])
def test_leaks_of_blocks_that_were_not_followed(record, programs, options, reason):
    profile = record(programs / "heap_sites", options=options, status=None)
    is_absent(profile.report("leaks"), "leaks", reason)
    assert profile.report()["heap"]["reason"] == profile.report("leaks")["reason"]
    assert reason in lines_of(profile.text("leaks"))


def test_leaks_of_a_program_that_is_not_tracked(record, programs):
    profile = record(programs / "static")
    is_absent(profile.report("leaks"), "leaks", "static executable")


@pytest.mark.parametrize("filters, reason", [(["--time", "0,1"], "of the whole run"), (["--tid"], "of whole processes")])
def test_leaks_of_a_part_of_what_was_recorded(record, programs, need, filters, reason):
    need.perf()
    profile = record(programs / "threads", 20)
    tid = [row["tid"] for row in profile.report("threads")["threads"] if row["tid"] != row["pid"]][:1]
    for view in OF_BLOCKS:
        is_absent(profile.report(view, *filters, *(tid if filters == ["--tid"] else [])), view, reason)


def test_a_list_that_was_measured_may_be_empty(record):
    profile = record("true", options=["--cpu=off"])
    assert profile.report("callers", "--function", "^nothing is called so$")["callers"] == []
    assert record("true").report("leaks", "--function", "^nothing is called so$") == {"leaks": []}


def test_functions_of_what_was_not_sampled(record, programs):
    profile = record(programs / "heap_sites", options=["--cpu=off"], status=None)
    assert profile.report("functions") == {"functions": None, "reason": NO_CPU}
    assert profile.report()["cpu"]["functions"] is None


@pytest.mark.parametrize("view", OF_BOTH)
def test_a_view_of_both_sides_where_neither_was_measured(record, programs, view):
    profile = record(programs / "heap_sites", options=["--cpu=off", "--heap=counts"], status=None)
    is_absent(profile.report(view), view, f"CPU: {NO_CPU}; heap: {COUNTED}")
    text = lines_of(profile.text(view))
    assert f"no {view} are known" in text and NO_CPU in text and COUNTED in text


@pytest.mark.parametrize("view", ["callers", "modules", "timeline"])
def test_a_view_of_both_sides_says_why_one_is_null(record, programs, view):
    document = record(programs / "heap_sites", options=["--cpu=off"], status=None).report(view)
    assert document["reason"] == NO_CPU
    assert document[view] and all(row["samples"] is None for row in document[view])


def test_a_timeline_of_nothing(record):
    """Of the heap, the CPU and what the kernel says of the memory nothing may be known at all."""
    document = record("true", options=["--cpu=off", "--heap=counts"]).report("timeline")
    assert COUNTED in document["reason"]
    rows = document["timeline"]
    assert rows is None or any(row["rss_bytes"] for row in rows)


@pytest.mark.parametrize("view", ["functions", "leaks", "heap", *OF_BOTH])
def test_the_csv_of_what_is_not_known_is_its_heading(record, programs, view):
    profile = record(programs / "heap_sites", options=["--cpu=off", "--heap=counts"], status=None)
    result = profile.runner.cprof_run("report", view, "--csv", profile.path)
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 1
    assert result.stderr.startswith(f"cprof: {view}: not known: ")
    assert NO_CPU in result.stderr or COUNTED in result.stderr
    assert profile.runner.cprof_run("report", "-q", view, "--csv", profile.path).stderr == ""


# --- parts of documents ---

def test_threads_without_the_cpu_side_say_so(record, programs):
    for row in record(programs / "heap_sites", options=["--cpu=off"], status=None).report("threads")["threads"]:
        assert row["samples"] is None and row["share"] is None and row["reason"] == NO_CPU


def test_processes_that_were_not_followed_say_so(record, programs, need):
    need.perf()
    profile = record("sh", "-c", f"'{programs}/heap_sites'; exit 0", options=["--no-inherit"])
    parent, child = [process for process in profile.report()["processes"] if process["image"] == 0][:2]
    assert parent["cpu"]["reason"] is None and parent["cpu"]["samples"] is not None
    assert child["cpu"] == {"reason": "not followed (--no-inherit)", "samples": None, "share": None}
    threads = [row for row in profile.report("threads")["threads"] if row["pid"] == child["pid"]]
    assert threads and all(row["reason"] == "not followed (--no-inherit)" for row in threads)
    assert profile.report("functions", "--pid", child["pid"]) == {"functions": None,
                                                                  "reason": "not followed (--no-inherit)"}
    assert profile.report("--pid", child["pid"])["cpu"]["event"] is None


NOT_OF_ONE_MOMENT = "the peaks of several processes are not of one moment"


def test_the_largest_memory_of_several_processes_is_not_known_and_that_is_said(record, programs):
    report = record("sh", "-c", f"'{programs}/heap_sites'; exit 0").report()
    assert report["memory"]["peak_rss_bytes"] is None and report["memory"]["reason"] == NOT_OF_ONE_MOMENT
    for process in report["processes"]:
        assert (process["memory"]["peak_rss_bytes"] is None) == (process["memory"]["reason"] is not None)


def test_memory_that_is_less_than_the_heap_says_so(record):
    """Blocks that nobody touches are not resident."""
    script = ("import ctypes, time\n"
              "for i in range(50): ctypes.CDLL(None).malloc(ctypes.c_size_t(1 << 24)); time.sleep(0.005)")
    profile = record(sys.executable, "-c", script, options=["--cpu=off"])
    moment = profile.report()["memory"]["at_heap_peak"]
    assert moment["rss_bytes"] and moment["other_bytes"] is None
    assert moment["reason"] == "less was resident at that moment than live"


def test_a_peak_of_some_processes_of_a_tree_is_not_known_and_that_is_said(record, programs, need):
    """Images of one pid have peaks of their own; the tree's is that of all."""
    need.perf()
    profile = record("sh", "-c", f"'{programs}/heap_sites'; exec '{programs}/heap_sites'", status=None)
    pid = profile.report()["processes"][0]["pid"]
    heap = profile.report("heap", "--pid", pid)["heap"]
    assert heap["tracked"] is True and heap["peak_bytes"] is None
    assert heap["reason"] == NOT_OF_ONE_MOMENT


# --- the file ---

def test_the_views_of_a_file_without_a_cpu_side_have_null(record, programs):
    profile = record(programs / "heap_sites", options=["--cpu=off"], status=None)
    for view, columns in (("v_process", "samples, weight, share"), ("v_thread", "samples, weight, share"),
                          ("v_function", "samples, self_weight, self, total_samples, total_weight, total")):
        rows = profile.sql(f"SELECT {columns} FROM {view}")
        assert rows and all(value is None for row in rows for value in row), view


def test_the_views_of_a_file_have_null_for_a_process_that_was_not_followed(record, programs, need):
    need.perf()
    profile = record("sh", "-c", f"'{programs}/heap_sites'; exit 0", options=["--no-inherit"])
    rows = profile.sql("SELECT samples, weight, share FROM v_process ORDER BY process")
    assert rows[0][0] is not None and set(rows[1:]) == {(None, None, None)}


def test_the_views_of_a_file_have_0_for_what_was_sampled_and_did_nothing(record, programs, need):
    need.perf()
    profile = record("sh", "-c", f"true; /bin/true; '{programs}/burn' 50; exit 0")
    rows = profile.sql("SELECT samples, weight, share FROM v_process")
    assert all(value is not None for row in rows for value in row)


def test_counters_have_no_coverage_unless_they_counted_and_no_period_unless_it_applies(record, programs, need):
    need.perf()
    profile = record(programs / "burn", 20, options=["-e", "cpu-clock"], status=None)
    counted = profile.sql("SELECT status IN ('counted', 'scaled'), value, coverage FROM v_counter")
    assert all((value is not None) == (coverage is not None) == bool(is_counted)
               for is_counted, value, coverage in counted)
    assert set(profile.sql("SELECT period FROM v_counter")) == {(None,)}
    profile = record(programs / "burn", 20, options=["-e", "cpu-clock", "-c", "1000000"], status=None)
    assert profile.sql("SELECT frequency_hz, period FROM v_counter WHERE event = 0") == [(None, 1000000)]


@pytest.mark.parametrize("program", ["static", "own_malloc"])
def test_a_heap_that_was_not_tracked_has_no_row(record, programs, program):
    profile = record(programs / program)
    assert profile.sql("SELECT (SELECT count(*) FROM heap), (SELECT count(*) FROM slice)") == [(0, 0)]


def test_the_distance_of_points_is_null_without_a_sample(record):
    query = "SELECT value FROM meta WHERE key = 'heap_sample_bytes'"
    assert record("true").sql(query) == [(None,)]
    assert record("true", options=["--heap=sample=64K"]).sql(query) == [(65536,)]
