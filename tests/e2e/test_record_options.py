# SPDX-License-Identifier: MIT
"""cprof record: when it samples and how often, whom, and into which file."""

import json
import os
import signal
import socket
import sqlite3
import subprocess

import pytest

from conftest import Profile, is_running, wait_for

CPU_ONLY = ["--heap=off"]


def totals(profile):
    return {function["name"]: function["total"] for function in profile.report()["cpu"]["functions"]}


def event(profile):
    return profile.sql("SELECT name, frequency_hz, period FROM event WHERE id = 0")[0]


def sampling_has_begun(runner):
    """By what the events have counted at the last commit."""
    connection = sqlite3.connect(f"file:{runner.folder}/cprof.data?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM event WHERE id = 0 AND value > 0").fetchone()[0]
    finally:
        connection.close()


# --- when ----------------------------------------------------------------------------------------

def test_after_its_duration_a_recording_is_whole_and_the_program_goes_on(runner, cprof, programs, need):
    need.perf()
    with runner.start(cprof, "record", "--duration", "300ms", programs / "stages", 200, stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        # The summary, with the program still there.
        assert any(line.startswith("more: cprof report") for line in process.stderr)
        report = json.loads(runner.cprof_run("report", "--json").stdout)
        assert report["complete"] is True and 0.25 < report["wall_s"]
        assert report["exit_status"] is None and report["processes"][0]["end_s"] is None
        assert not {"interrupted", "bounded"} & {row["kind"] for row in report["quality"]}
        assert report["heap"]["tracked"] is True
        assert process.poll() is None and is_running(report["processes"][0]["pid"])
        # Its input, its output and its status are what they were.
        process.stdin.write("main\n")
        process.stdin.close()
        assert process.stdout.readline() == "main\n"
        assert process.wait(60) == 4
    # Nothing was added.
    assert "in_main" not in totals(Profile(runner, runner.folder / "cprof.data", process))


@pytest.mark.parametrize("name, status", [("TERM", 143), ("INT", 130)])
def test_after_its_duration_signals_still_reach_the_program(runner, cprof, programs, name, status):
    with runner.start(cprof, "record", "-q", "--duration", "10ms", programs / "stages", stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert wait_for(lambda: (runner.folder / "cprof.data").exists() and not runner.is_recording())
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(60) == status


def test_a_program_that_ends_before_the_duration_ends_the_recording(record, programs):
    report = record(programs / "burn", 50, options=CPU_ONLY + ["--duration", "1h"], status=3).report()
    assert report["exit_status"] == 3 and report["wall_s"] < 60


def test_a_delay_leaves_out_the_start(runner, cprof, programs, need):
    need.perf()
    with runner.start(cprof, "record", "-q", "--delay", "1s", programs / "stages", 400, stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdin.write("before\n")
        process.stdin.flush()
        assert wait_for(lambda: runner.is_recording())
        started = sampling_has_begun(runner)
        assert process.stdout.readline() == "before\n"
        # Until the event counts something, as it does a moment after the delay.
        while not sampling_has_begun(runner):
            process.stdin.write("main\n")
            process.stdin.flush()
            assert process.stdout.readline() == "main\n"
        process.stdin.write("child\n")
        process.stdin.close()
        assert process.wait(60) == 4
    assert not started
    profile = Profile(runner, runner.folder / "cprof.data", process)
    functions = totals(profile)
    assert "in_the_child" in functions
    first = profile.sql("SELECT min(time_us) FROM v_sample")[0][0]
    assert first >= 1000000
    counted = profile.sql("SELECT value FROM event WHERE id = 0")[0][0]
    sampled = profile.sql("SELECT sum(weight) FROM v_total WHERE event = 0")[0][0]
    assert sampled == pytest.approx(counted, rel=0.2)
    # The heap is whole.
    assert profile.report()["heap"]["tracked"] is True


def test_a_program_that_ends_within_the_delay_has_no_samples_and_that_is_said(record, programs):
    profile = record(programs / "burn", 10, options=["--delay", "1h"], status=3)
    assert "--delay" in profile.stderr
    report = profile.report()
    assert report["cpu"]["samples"] == 0
    assert report["complete"] is True
    reason = "no CPU samples: the program ended before --delay was over"
    about = [(row["kind"], row["count"]) for row in report["quality"] if row["detail"] == reason]
    assert about == [("unsampled", 1)]
    assert not {row["kind"] for row in report["quality"]} & {"interrupted"}
    assert f"caveats: unsampled: {reason}" in " ".join(profile.text().split())
    assert f"samples that never came {reason}" in " ".join(profile.text("quality").split())


# --- whom ----------------------------------------------------------------------------------------

def test_without_inheritance_threads_count_and_children_do_not(runner, programs, need):
    need.perf()
    result = runner.cprof_run("record", "-q", "--heap=off", "--no-inherit", programs / "stages", 200,
                              input="before\nafter\nchild\nmain\n")
    assert result.returncode == 4, result.stderr
    profile = Profile(runner, runner.folder / "cprof.data", result)
    functions = totals(profile)
    for name in ("in_the_thread_before", "in_the_thread_after", "in_main"):
        assert 0.2 <= functions[name] <= 0.47
    assert "in_the_child" not in functions
    assert len(profile.report()["processes"]) == 1


def test_children_that_are_not_sampled_are_known_by_their_heap_only(runner, programs, need):
    """A shell that forks, and executes what counts its own blocks."""
    need.perf()
    script = f"(exit 7); '{programs / 'heap_sites'}' 100; sh -c 'exit 5'; exit 0"
    profile = runner.record("sh", "-c", script, options=["-q", "--no-inherit"])
    program, *children = profile.report()["processes"]
    assert program["cpu"]["samples"] is not None
    assert all(child["cpu"] == {"reason": "not followed (--no-inherit)", "samples": None, "share": None}
               for child in children)
    assert {child["command"][0] for child in children} >= {str(programs / "heap_sites"), "sh"}
    assert all(child["end_s"] is not None for child in children)
    assert not [row for row in profile.report()["quality"] if row["kind"] == "interrupted"]


# --- how often -----------------------------------------------------------------------------------

def expect_distance_ns(profile, distance_ns, least_ns):
    """On a busy host cpu-clock is more than the program has used, in samples as in the count."""
    cpu = profile.report()["cpu"]
    counted_ns = cpu["counters"]["cpu-clock"]["value"]
    assert counted_ns >= least_ns and cpu["samples"] == pytest.approx(counted_ns / distance_ns, rel=0.15)


def test_a_count_is_the_distance_of_samples(record, programs, need):
    need.perf()
    profile = record(programs / "burn", 300, options=CPU_ONLY + ["-e", "cpu-clock", "-c", 2000000], status=3)
    assert event(profile) == ("cpu-clock", None, 2000000)
    expect_distance_ns(profile, 2e6, 250e6)
    assert profile.sql("SELECT DISTINCT weight FROM v_sample WHERE event = 0") == [(2000000,)]


@pytest.mark.parametrize("options, with_cprof", [([], True), (CPU_ONLY, False)], ids=["heap", "cpu_only"])
def test_time_on_cpu_is_not_reckoned_by_samples_of_something_else(record, programs, need, options, with_cprof):
    need.perf()
    profile = record(programs / "burn", 300, options=["-e", "page-faults", "-c", "1", *options], status=3)
    cpu = profile.report()["cpu"]
    assert cpu["cpu_s"] == pytest.approx(cpu["counters"]["task-clock"]["value"] / 1e9)
    assert cpu["cpu_s_with_cprof"] is with_cprof
    assert ("on CPU (with cprof's part)" in profile.text()) is with_cprof
    assert "% of CPU (not in shares)" not in profile.text()


@pytest.mark.parametrize("refuse, options, words", [
    ((), ["-e", "cpu-clock", "-c", "100"], "every 50000 ns instead of every 100"),
    ((), ["-e", "cpu-clock", "-F", "100000"], "lowered to 20000"),
    (("1",), ["-F", "600"], "600 Hz lowered to 500"),
    (("1",), ["-F", "600"], "sampled cpu-time by stopping threads"),
], ids=["period", "frequency", "frequency_of_stops", "event"])
def test_quiet_leaves_to_reports_what_was_done_otherwise(runner, programs, need, refuse, options, words):
    if not refuse:
        need.perf()
    noperf = [programs / "noperf", *refuse] if refuse else []
    command = [*noperf, runner.cprof, "record", *CPU_ONLY, *options]
    assert words in " ".join(runner.run(*command, "true").stderr.split())
    result = runner.run(*command, "-q", "true")
    assert (result.returncode, result.stderr) == (0, "")
    told = Profile(runner, runner.folder / "cprof.data", result).report()["quality"]
    assert any(words in row["detail"] for row in told if row["kind"] == "substituted")


def test_quiet_says_what_is_missing_nevertheless(runner, programs):
    """With perf and ptrace refused: a side, and why."""
    result = runner.run(programs / "noperf", "-p", 1, runner.cprof, "record", "-q", "true")
    assert result.returncode == 0 and result.stderr.startswith("cprof: no CPU samples: ")


def test_a_frequency_is_met(record, programs, need):
    need.perf()
    profile = record(programs / "burn", 500, options=CPU_ONLY + ["-e", "cpu-clock", "-F", 2000], status=3)
    assert event(profile)[:2] == ("cpu-clock", 2000)
    expect_distance_ns(profile, 0.5e6, 450e6)


@pytest.mark.parametrize("options, words", [
    (["-c", 1], "every 50000 ns instead of every 1"),
    (["-F", 100000], "lowered to 20000"),
    (["-F", "max"], None),
])
def test_a_clock_leaves_the_program_time(record, programs, need, options, words):
    need.perf()
    profile = record(programs / "burn", 100, options=CPU_ONLY + ["-e", "cpu-clock", "--no-symbols"] + options, status=3)
    (used_ns,) = profile.sql("SELECT value FROM event WHERE name = 'task-clock' OR id = 0 ORDER BY id DESC")[0]
    assert used_ns < 1e9  # of its own it uses a tenth of that
    assert event(profile) in [("cpu-clock", 20000, 0), ("cpu-clock", 20000, None), ("cpu-clock", None, 50000)]
    if words:
        assert words in profile.stderr
        assert any(words in row["detail"] for row in profile.report()["quality"])
    else:
        assert "lowered" not in profile.stderr


def kinds_of_modules(record, event):
    profile = record("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=1500", options=CPU_ONLY + ["-e", event])
    return profile.sql("""SELECT DISTINCT module.kind FROM v_total JOIN stack ON stack.id = v_total.stack
                          JOIN address ON address.id = stack.address JOIN module ON module.id = address.module""")


def test_only_the_kernel_is_sampled_when_asked(record, need):
    need.root()
    assert kinds_of_modules(record, "cpu-clock:k") == [("kernel",)]


def test_only_the_program_is_sampled_when_asked(record, need):
    need.root()
    assert ("kernel",) not in kinds_of_modules(record, "cpu-clock:u")


# --- into which file -----------------------------------------------------------------------------

def test_the_name_has_the_pid_and_the_host(run, runner):
    result = run("record", "-q", "-o", "100%%-%h-%p.data", "sh", "-c", "echo $$")
    assert result.returncode == 0, result.stderr
    assert os.listdir(runner.folder) == [f"100%-{socket.gethostname()}-{result.stdout.strip()}.data"]


@pytest.mark.parametrize("name", ["a%d", "a%"])
def test_a_percent_sign_with_an_unknown_letter_is_bad_usage(run, runner, name):
    result = run("record", "-o", name, "touch", "ran")
    assert result.returncode == 125 and "%p is the pid" in result.stderr
    assert os.listdir(runner.folder) == []


def test_a_recording_in_progress_can_be_read(runner, cprof, programs, need):
    need.perf()
    with runner.start(cprof, "record", "-q", "--heap=off", programs / "stages", 200, stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdin.write("main\n")
        process.stdin.flush()
        process.stdout.readline()
        assert wait_for(runner.is_recording)

        def report():
            process.send_signal(signal.SIGUSR1)
            result = runner.cprof_run("report", "--json")
            assert result.returncode == 0, result.stderr
            return json.loads(result.stdout)

        report_with_samples = wait_for(lambda: (now := report())["cpu"]["samples"] and now)
        assert report_with_samples["complete"] is False
        # Names are looked up by the report: nobody else has had the time.
        assert wait_for(lambda: any(f["name"] == "in_main" for f in report()["cpu"]["functions"]))
        process.stdin.close()
        assert process.wait(60) == 4
    whole = json.loads(runner.cprof_run("report", "--json").stdout)
    assert whole["complete"] is True
