# SPDX-License-Identifier: MIT
"""Heap, memory and samples over time, threads, and the views of them.

Truth is what the program itself wrote down (tests/programs/heap_wave.c), and the kernel's own
figures.
"""

import json
import re
import struct

import pytest

CLOCK_SLACK_S = 0.0002 # between the clock of heap events and CLOCK_MONOTONIC


@pytest.fixture
def wave(record, runner, programs):
    """wave(cycles, steps, bytes, pause_us): the profile and [(before_s, after_s, live)] since its zero."""
    def run(*arguments, options=()):
        log = runner.folder / "log"
        profile = record(programs / "heap_wave", log, *arguments, options=options)
        [[zero_ns]] = profile.sql("SELECT value FROM meta WHERE key = 'start_monotonic_ns'")
        data = log.read_bytes()
        return profile, [((before - zero_ns) / 1e9, (after - zero_ns) / 1e9, live)
                         for before, after, live in struct.iter_unpack("<QQQ", data)]
    return run


def bounds(changes, start_s, end_s):
    """The least and the most that the maximum within this time can be: a change is somewhere between its times."""
    befores = [change[0] for change in changes] + [float("inf")]
    afters = [change[1] for change in changes] + [float("inf")]
    certain = [(float("-inf"), befores[0], 0)]
    possible = [(float("-inf"), afters[0], 0)]
    for i, (before, after, live) in enumerate(changes):
        certain.append((after, befores[i + 1], live))
        possible.append((before, afters[i + 1], live))
    least = [live for start, end, live in certain if start < end_s - CLOCK_SLACK_S and end > start_s + CLOCK_SLACK_S]
    most = [live for start, end, live in possible if start < end_s + CLOCK_SLACK_S and end > start_s - CLOCK_SLACK_S]
    return max(least, default=0), max(most)


def assert_is_course(rows, changes):
    for row in rows:
        end_s = row["t_s"] + row["duration_s"]
        least, most = bounds(changes, row["t_s"], end_s)
        assert least <= row["max_live_bytes"] <= most, row


def is_without_gaps(rows):
    duration = rows[0]["duration_s"]
    return all(abs(b["t_s"] - a["t_s"] - duration) < 1e-9 for a, b in zip(rows, rows[1:]))


def test_the_timeline_of_the_heap_is_what_the_program_did(wave):
    profile, changes = wave(3, 40, 100000, 2000)
    report = profile.report()
    heap = report["heap"]
    rows = heap["timeline"]
    assert_is_course(rows, changes)
    assert is_without_gaps(rows) and rows[0]["t_s"] == 0
    assert max(row["max_live_bytes"] for row in rows) == heap["peak_bytes"] == 2 * 40 * 100000
    assert sum(row["allocations"] for row in rows) == heap["allocations"] == 3 * 40 + 1
    assert sum(row["allocated_bytes"] for row in rows) == heap["allocated_bytes"]
    assert rows[-1]["live_bytes"] == heap["live_bytes"] == 0
    [process] = report["processes"]
    assert_is_course(process["heap"]["timeline"], changes)


def test_times_count_from_the_moment_the_program_was_let_run(wave):
    profile, changes = wave(2, 10, 1000, 1000)
    report = profile.report()
    [process] = report["processes"]
    assert process["start_s"] == 0 and process["end_s"] == pytest.approx(report["wall_s"], abs=1e-6)
    before, after, _ = max(changes, key=lambda change: change[2])
    assert before - CLOCK_SLACK_S <= report["heap"]["peak_time_s"] <= after + CLOCK_SLACK_S
    assert changes[0][0] > 0


def test_a_long_timeline_is_bounded_and_keeps_its_maxima(wave):
    """Some 1300 slices of a millisecond, or more, have to be merged."""
    profile, changes = wave(11, 60, 50000, 1200)
    rows = profile.report()["heap"]["timeline"]
    assert len(rows) <= 1024
    assert rows[0]["duration_s"] >= 0.002
    assert max(row["max_live_bytes"] for row in rows) == 2 * 60 * 50000
    assert_is_course(rows[::7], changes)
    [[most]] = profile.sql("SELECT max(n) FROM (SELECT count(*) AS n FROM slice GROUP BY process)")
    assert most <= 1024


def test_resident_memory_follows_the_heap(wave):
    """Everything is touched: 32 MiB that come slowly and stay for a while."""
    profile, changes = wave(1, 64, 512 * 1024, 5000, options=["--cpu=off"])
    report = profile.report()
    memory = report["memory"]
    rows = report["heap"]["timeline"]
    size = 64 * 512 * 1024
    assert memory["peak_rss_bytes"] >= 2 * size
    known = [row["rss_bytes"] for row in rows if row["rss_bytes"] is not None]
    assert size <= max(known) <= memory["peak_rss_bytes"]
    peak = memory["at_heap_peak"]
    assert (peak["reason"] is None) == (peak["other_bytes"] is not None)
    assert peak["rss_bytes"] == peak["anonymous_bytes"] + peak["file_bytes"] + peak["shared_bytes"]
    if peak["other_bytes"] is not None:
        assert peak["other_bytes"] == peak["anonymous_bytes"] - peak["heap_bytes"]


def test_the_memory_of_the_shim_is_said(record, programs):
    """Next to nothing else is shared, and what is private of it is little here."""
    profile = record(programs / "bench_alloc", 300000, 60, 1000, options=["--cpu=off"]).report()
    [said] = [row["count"] for row in profile["quality"] if row["detail"].startswith("bytes of memory")]
    assert said == pytest.approx(profile["memory"]["at_heap_peak"]["shared_bytes"], rel=0.2)


def test_an_ordinary_user_sees_the_memory_of_its_programs(nobody):
    profile = nobody.record("sleep", "2")  # busy CPUs may keep cprof from looking for much of that
    memory = profile.report()["memory"]
    assert memory["reason"] is None and memory["peak_rss_bytes"] > 100000


def test_the_memory_of_each_process_is_its_own(record, programs):
    wave = programs / "heap_wave"
    report = record("sh", "-c", f"'{wave}' a 1 10 5000000 5000 & '{wave}' b 1 10 1000000 5000; wait").report()
    peaks = {process["command"][1]: process["memory"]["peak_rss_bytes"] for process in report["processes"]
             if process["command"][0] == str(wave)}
    difference = 2 * 10 * (5000000 - 1000000)
    assert 0.97 * difference <= peaks["a"] - peaks["b"] <= 1.03 * difference


def test_the_text_shows_bars_within_the_width_and_where_the_peak_is(wave):
    profile, _ = wave(2, 30, 100000, 2000)
    for columns in ("40", "80", "200"):
        for locale, bars in (("C.UTF-8", "▁▂▃▄▅▆▇█"), ("C", ".:-=+*#@")):
            env = {"COLUMNS": columns, "LC_ALL": locale}
            text = profile.runner.cprof_run("report", "timeline", profile.path, env=env).stdout
            lines = text.splitlines()
            assert all(len(line) <= int(columns) for line in lines), text
            [mark] = [i for i, line in enumerate(lines) if re.fullmatch(r" +(\^ peak|peak \^|\^)", line)]
            assert lines[mark - 1][lines[mark].index("^")] == bars[-1]
            assert ("█" in text) == (locale == "C.UTF-8")
            assert re.search(r"^HEAP .*^ALLOC .*^RSS .*^CPU ", text, re.MULTILINE | re.DOTALL)


def test_the_summary_and_the_timeline_tell_one_time_on_cpu(record, programs, need):
    need.perf()
    profile = record(programs / "bench_alloc", 200000)
    said = [re.search(r"CPU +(.* on CPU)", profile.text(view)).group(1) for view in ("summary", "timeline")]
    assert said[0] == said[1]


def test_the_view_has_the_samples_too(record, programs, need):
    need.perf()
    profile = record(programs / "burn", 300, status=3)
    rows = profile.report("timeline")["timeline"]
    report = profile.report()
    assert sum(row["samples"] for row in rows) == report["cpu"]["samples"]
    if report["cpu"]["unit"] == "ns":
        assert sum(row["cpu_s"] for row in rows) == pytest.approx(
            sum(f["self_weight"] for f in report["cpu"]["functions"]) / 1e9, rel=1e-6)
    most = profile.report("timeline", "--sort", "samples", "--limit", "3")["timeline"]
    assert len(most) == 3 and most[0]["samples"] == max(row["samples"] for row in rows)


def test_without_a_heap_there_are_memory_and_samples(record, programs):
    profile = record(programs / "burn", 300, options=["--heap=off"], status=3)
    rows = profile.report("timeline")["timeline"]
    assert all(row["live_bytes"] is None for row in rows)
    assert any(row["rss_bytes"] for row in rows)
    assert profile.report()["heap"]["timeline"] is None
    assert "not recorded" in profile.text("timeline")


def test_threads_are_listed_with_their_part_of_the_time(record, programs, need):
    need.perf()
    profile = record(programs / "threads", 300)
    threads = profile.report("threads")["threads"]
    assert sum(thread["share"] for thread in threads) == pytest.approx(1)
    assert sum(thread["samples"] for thread in threads) == profile.report()["cpu"]["samples"]
    shares = [thread["share"] for thread in threads]
    assert shares == sorted(shares, reverse=True)
    [main] = [thread for thread in threads if thread["tid"] == thread["pid"]]
    for thread in threads:
        assert main["start_s"] <= thread["start_s"] <= thread["end_s"]
        assert f"{thread['tid']}" in profile.text("threads")
    assert len(profile.report("threads", "--limit", "1")["threads"]) == 1


def test_a_recording_without_perf_says_why_it_knows_no_threads(record):
    profile = record("true", options=["--cpu=off"])
    document = profile.report("threads")
    assert document["threads"] is None and "not asked for" in document["reason"]
    assert "not asked for" in profile.text("threads")


def test_the_json_of_the_view_is_an_object_with_its_name(record):
    profile = record("true")
    assert list(json.loads(json.dumps(profile.report("timeline")))) == ["timeline"]


def test_parts_of_the_time_make_up_the_whole(record, programs, need):
    need.perf()
    profile = record(programs / "burn", 300, status=3)
    whole, end = profile.report(), profile.report()["wall_s"]
    parts = [profile.report("--time", times)
             for times in (f",{end / 3}", f"{end / 3},{end / 2 * 1000}ms", f"{end / 2 * 1000}ms,")]
    assert sum(part["cpu"]["samples"] for part in parts) == whole["cpu"]["samples"]
    for name in ("seventy", "thirty"):
        weights = [function["self_weight"] for report in parts for function in report["cpu"]["functions"]
                   if function["name"] == name]
        [all_of_it] = [f["self_weight"] for f in whole["cpu"]["functions"] if f["name"] == name]
        assert sum(weights) == all_of_it
    for part in parts:
        assert sum(function["self"] for function in part["cpu"]["functions"]) == pytest.approx(1)
        assert part["heap"]["tracked"] is False and "whole run" in part["heap"]["reason"]
    assert "HEAP  not shown" in profile.text("--time", f",{end / 3}")


def test_a_part_of_the_time_is_as_long_as_asked(wave):
    profile, _ = wave(1, 20, 1000, 2000)
    rows = profile.report("timeline", "--time", "10ms,20ms")["timeline"]
    assert rows == [row for row in profile.report("timeline")["timeline"]
                    if row["t_s"] + row["duration_s"] > 0.01 + 1e-9 and row["t_s"] < 0.02 - 1e-9]
    assert len(rows) == 10 and all(row["live_bytes"] is not None for row in rows)


@pytest.mark.parametrize("times", ["5", "a,b", "2,1", "1,1", "-1,2", "1,2,3", ""])
def test_a_wrong_part_of_the_time_is_bad_usage(run, times):
    result = run("report", f"--time={times}")
    assert result.returncode == 64 and "FROM,TO" in result.stderr
