# SPDX-License-Identifier: MIT
"""cprof stat -e: every way to name an event, against perf's counts and what programs are known to do."""

import json
import os

import pytest

from counting import events_of, perf_counts, stat

BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def paranoid():
    return int(open("/proc/sys/kernel/perf_event_paranoid").read())


def test_events_asked_for_come_first_and_in_their_order(runner):
    names = [event["name"] for event in stat(runner, "-e", "cs,cycles:u,faults", "true")["events"]]
    assert names == ["context-switches", "cycles:u", "page-faults", "task-clock", "minor-faults",
                     "major-faults", "cpu-migrations", "user-time", "system-time", "max-rss"]


def test_counts_are_those_of_perf(runner, need, programs):
    need.tool("perf")
    need.kernel()
    events = "page-faults,minor-faults,major-faults,alignment-faults,emulation-faults"
    ours = events_of(stat(runner, "-e", events, programs / "pages", "2000"))
    theirs = perf_counts(runner, events, programs / "pages", "2000")
    for name in events.split(","):
        assert ours[name]["mean"] == pytest.approx(theirs[name], abs=20), name


def test_modifiers_divide_the_faults_into_user_and_kernel(runner, need):
    need.root()
    names = [f"software/config=2/{modifier}" for modifier in ("", "u", "k")]
    events = events_of(stat(runner, "-e", ",".join(names), "sh", "-c", BUSY))
    whole, user, kernel = (events[name]["mean"] for name in names)
    assert user > 0 and kernel > 0
    assert user + kernel == whole


def test_a_group_in_braces_has_the_modifiers_behind_it(runner):
    events = events_of(stat(runner, "-e", "{cpu-clock,alignment-faults}:u,cgroup-switches", "true"))
    assert {"cpu-clock:u", "alignment-faults:u", "cgroup-switches"} < set(events)


def test_a_pmu_of_sysfs_counts_by_the_name_of_its_event(runner, need):
    need.root()
    need.file("/sys/bus/event_source/devices/msr/events/tsc", "no msr PMU")
    events = events_of(stat(runner, "-e", "msr/tsc/", "sh", "-c", BUSY))
    if events["msr/tsc/"]["status"] != "counted":
        pytest.skip(f"msr/tsc/: {events['msr/tsc/']['reason']}")
    assert 0.5 < events["msr/tsc/"]["mean"] / events["task-clock"]["mean"] < 7  # GHz


def test_a_tracepoint_counts_exactly(runner, need, cprof):
    """In a mount namespace of its own, with tracefs whether it is mounted outside or not."""
    need.root()
    program = "import os; [os.getppid() for i in range(1234)]"
    script = ("mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; "
              "test -e /sys/kernel/tracing/events/syscalls/sys_enter_getppid/id || exit 99; "
              f"exec '{cprof}' stat --json -o - -e syscalls:sys_enter_getppid /usr/bin/python3 -c '{program}'")
    result = runner.run("unshare", "-m", "sh", "-c", script)
    if not result.stdout:
        pytest.skip(f"no tracefs with the tracepoints of system calls {result.stderr}")
    event = events_of(json.loads(result.stdout)["commands"][0])["syscalls:sys_enter_getppid"]
    assert (event["status"], event["mean"]) == ("counted", 1234)


@pytest.mark.parametrize("events, message", [
    ("cylces", "did you mean 'cycles'"),
    ("cycles,", "an empty name"),
    ("cycles:q", "'q' is no modifier"),
    ("nopmu/x/", "there is no PMU 'nopmu'"),
    ("software/x/", "'software' has no event or term 'x'"),
    ("{cycles,cs", "a brace that does not match"),
    ("", "events '': an empty name"),
    ("{cs", "events '{cs': a brace that does not match"),
    ("cs:", "'' is no modifier"),
    ("cs,cs", "is there twice"),
    ("{" + ",".join(f"r{i:x}" for i in range(17)) + "}", "17 events in a group, at most 16"),
])
def test_a_bad_list_of_events_is_told_and_starts_nothing(run, runner, events, message):
    result = run("stat", "-e", events, "touch", "ran")
    assert result.returncode == 125
    assert message in result.stderr
    assert not (runner.folder / "ran").exists()


def test_a_tracepoint_that_cannot_be_looked_up_says_so(nobody):
    if nobody.run("ls", "/sys/kernel/tracing/events/sched").returncode == 0:
        pytest.skip("tracefs is readable for everybody")
    result = nobody.cprof_run("stat", "-e", "sched:sched_switch", "true")
    assert result.returncode == 125
    assert "tracefs cannot be read" in result.stderr


def test_kernel_events_are_not_counted_for_user_code_only_instead(nobody):
    if paranoid() != 2:
        pytest.skip("perf_event_paranoid is not 2")
    events = events_of(stat(nobody, "-e", "cpu-clock,alignment-faults,cpu-clock:k", "true"))
    assert events["cpu-clock"]["status"] == "counted"
    for name in ("alignment-faults", "cpu-clock:k"):
        assert events[name]["status"] == "not-permitted"
        assert "perf_event_paranoid is 2" in events[name]["reason"]


def test_events_of_a_list_that_fail_for_different_reasons_keep_their_own(nobody):
    if paranoid() != 2 or os.path.exists("/sys/bus/event_source/devices/cpu"):
        pytest.skip("perf_event_paranoid is not 2, or there is a PMU")
    events = events_of(stat(nobody, "-e", "cycles:u,cgroup-switches", "true"))
    assert events["cycles:u"]["status"] == "not-supported"
    assert events["cgroup-switches"]["status"] == "not-permitted"
