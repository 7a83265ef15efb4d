# SPDX-License-Identifier: MIT
"""cprof list: the events there are, and whether they can be counted."""

import json
import os

import pytest

GENERIC_CACHES = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}


def events(runner, *arguments):
    result = runner.cprof_run("list", "--json", *arguments)
    assert result.returncode == 0, result.stderr
    return {event["name"]: event for event in json.loads(result.stdout)["events"]}


def test_all_kinds_are_there_with_what_they_are(runner):
    listed = events(runner)
    assert set(listed["cycles"]) == {"name", "alias", "kind", "unit", "about", "status", "user_only", "reason"}
    assert {event["kind"] for event in listed.values()} >= {"hardware", "cache", "software"}
    assert all(event["about"] for event in listed.values() if event["kind"] in ("hardware", "cache", "software"))
    assert {name.rsplit("-", 2 if name.endswith("misses") else 1)[0]
            for name, event in listed.items() if event["kind"] == "cache"} == GENERIC_CACHES
    assert listed["page-faults"]["alias"] == "faults" and listed["task-clock"]["unit"] == "ns"


def test_generic_names_are_those_of_perf(runner, need):
    """Every name of `perf list` of the kinds that need no PMU description."""
    need.tool("perf")
    text = runner.run("perf", "list", "--no-desc", "sw", "hw", "cache").stdout
    theirs = {name for line in text.splitlines() if "[" in line and "event]" in line
              for name in line.split("[")[0].split() if name != "OR"}
    theirs = {name for name in theirs if "/" not in name} - {"bpf-output", "dummy", "duration_time", "user_time",
                                                             "system_time"}
    ours = events(runner)
    names = set(ours) | {event["alias"] for event in ours.values()}
    assert len(theirs) > 8
    assert theirs <= names


def test_what_is_said_to_count_does(runner):
    names = [name for name, event in events(runner).items()
             if event["status"] == "counted" and event["kind"] in ("software", "hardware")]
    if not names:
        pytest.skip("perf is refused here")
    result = runner.cprof_run("stat", "--json", "-o", "-", "-e", ",".join(names), "true")
    counted = {event["name"]: event["status"] for event in json.loads(result.stdout)["commands"][0]["events"]}
    assert {counted[name] for name in names} <= {"counted", "scaled"}


def test_events_of_sysfs_are_listed(runner):
    devices = "/sys/bus/event_source/devices"
    there = {f"{pmu}/{event}/" for pmu in os.listdir(devices) if os.path.isdir(f"{devices}/{pmu}/events")
             for event in os.listdir(f"{devices}/{pmu}/events") if "." not in event}
    assert {name for name, event in events(runner).items() if event["kind"] == "pmu"} == there


def test_without_a_pmu_the_reason_is_that(runner):
    if any(d.startswith(("cpu", "armv8")) for d in os.listdir("/sys/bus/event_source/devices")):
        pytest.skip("this machine has a hardware PMU")
    listed = events(runner, "cache-")
    assert set(listed) >= {"cache-references", "cache-misses"}
    assert all(e["status"] == "not-supported" and "no hardware PMU" in e["reason"] for e in listed.values())


def test_an_ordinary_user_is_told_what_is_left_out(nobody):
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) != 2:
        pytest.skip("perf_event_paranoid is not 2")
    listed = events(nobody)
    assert listed["cpu-clock"]["status"] == "counted" and listed["cpu-clock"]["user_only"] is True
    assert listed["cgroup-switches"]["status"] == "not-permitted"
    assert "perf_event_paranoid is 2" in listed["cgroup-switches"]["reason"]


def test_a_word_picks_by_name_alias_and_kind(runner):
    assert set(events(runner, "FAULTS")) == {"page-faults", "minor-faults", "major-faults", "alignment-faults",
                                             "emulation-faults"}
    assert "context-switches" in events(runner, "cs")
    assert {event["kind"] for event in events(runner, "software").values()} == {"software"}


def test_tracepoints_are_listed_where_tracefs_is(runner, need, cprof):
    need.root()
    script = f"mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec '{cprof}' list --json sched:"
    result = runner.run("unshare", "-m", "sh", "-c", script)
    if not result.stdout:
        pytest.skip(f"no tracefs: {result.stderr}")
    switch = next(e for e in json.loads(result.stdout)["events"] if e["name"] == "sched:sched_switch")
    assert (switch["kind"], switch["status"]) == ("tracepoint", "counted")


def test_no_match_fails_with_a_suggestion(run):
    result = run("list", "cylces")
    assert result.returncode == 1 and result.stdout == ""
    assert "did you mean 'cycles'" in result.stderr


def test_the_table_fits_a_screen_and_tells_each_reason_once(run):
    text = run("list", "cache").stdout
    lines = text.splitlines()
    assert max(len(line) for line in lines) <= 80
    reasons = [line for line in lines if line.startswith("  [")]
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_text_is_as_wide_as_columns_says(run, columns):
    text = run("list", "ache", env={"COLUMNS": str(columns)}).stdout
    assert max(map(len, text.splitlines())) <= columns
    wide = run("list", "ache", env={"COLUMNS": "200"}).stdout
    assert len(wide.splitlines()) <= len(text.splitlines()) and "(or " in wide


@pytest.mark.parametrize("arguments", [["a", "b"], ["--jso=x"], ["--nonsense"]])
def test_bad_usage_is_64(run, arguments):
    assert run("list", *arguments).returncode == 64
