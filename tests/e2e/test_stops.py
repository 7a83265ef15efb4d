# SPDX-License-Identifier: MIT
"""CPU time where perf is refused: threads stopped by ptrace for a moment."""

import errno
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import Profile, wait_for


# Where other programs have the CPUs, many moments cannot be used: more of them, for narrower bands.
OFTEN = ("--heap=off", "-F", "500")


@pytest.fixture
def record_stops(runner, programs, cprof):
    """record_stops(program, *args): a Profile, recorded where perf is refused."""
    def record(*command, options=OFTEN, status=0, error=1, by=runner, **run):
        result = by.run(programs / "noperf", error, by.cprof, "record", *options, "--", *command, **run)
        assert status is None or result.returncode == status, result.stderr
        return Profile(by, by.folder / "cprof.data", result)

    return record


def functions_of(report):
    return {function["name"]: function for function in report["cpu"]["functions"]}


def is_seventy_of_both(functions):
    """Of each other: the kernel has a larger share where others use the CPUs, and there are fewer samples then."""
    seventy, thirty = functions["seventy"], functions["thirty"]
    of_both = seventy["self"] / (seventy["self"] + thirty["self"])
    return of_both == pytest.approx(0.7, abs=max(0.2, 2 * seventy["error"]))


def lost(profile):
    return [detail for detail, in profile.sql("SELECT detail FROM quality WHERE kind = 'lost'")]


# --- what it says -------------------------------------------------------------------------------

@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_shares_are_right_and_the_event_has_a_name_of_its_own(record_stops, programs, error):
    profile = record_stops(programs / "burn", 1500, status=3, error=error)
    report = profile.report()
    cpu, functions = report["cpu"], functions_of(report)
    assert cpu["event"] == "cpu-time" and cpu["unit"] == "ns"
    assert cpu["substituted_for"] == "cycles" and "seccomp" in cpu["reason"]
    assert cpu["counters"]["cycles"]["status"] == "not-permitted"
    assert cpu["ipc"] is None
    said = " ".join(profile.stderr.split())
    assert "sampled cpu-time" in said and "--cap-add=PERFMON" in said
    assert is_seventy_of_both(functions)
    assert functions["main"]["total"] > 0.9
    assert cpu["counters"]["cpu-time"]["value"] == pytest.approx(1.5e9, rel=0.2)
    assert cpu["counters"]["task-clock"]["value"] == pytest.approx(1.5e9, rel=0.1)


@pytest.mark.parametrize("refusal, option, reason", [
    (("13",), "--cpu=on", "perf_event_open is refused: Permission denied"),
    (("13",), "--heap=off", "perf_event_open is refused: Permission denied"),
    (("12",), "--cpu=on", "open event 'cycles': Cannot allocate memory"),
    (("-m", "1"), "--heap=off", "map the rings of perf events: Operation not permitted"),
    (("-m", "12"), "--heap=off", "map the rings of perf events: Cannot allocate memory"),
], ids=["a_policy", "a_policy_with_heap_off", "want_of_memory", "the_limit_of_rings", "want_of_memory_for_rings"])
def test_whatever_refuses_perf_cpu_time_is_sampled(runner, programs, refusal, option, reason):
    result = runner.run(programs / "noperf", *refusal, runner.cprof, "record", option, programs / "burn", 300)
    assert result.returncode == 3, result.stderr
    cpu = Profile(runner, runner.folder / "cprof.data", result).report()["cpu"]
    assert cpu["event"] == "cpu-time" and cpu["substituted_for"] == "cycles"
    assert cpu["reason"].startswith(reason)


def test_an_ordinary_user_needs_no_right(record_stops, nobody, programs):
    program = nobody.folder / "burn"
    program.write_bytes((programs / "burn").read_bytes())
    program.chmod(0o755)
    noperf = nobody.folder / "noperf"
    noperf.write_bytes((programs / "noperf").read_bytes())
    noperf.chmod(0o755)
    result = nobody.run("./noperf", 1, nobody.cprof, "record", "-F", 500, "--", "./burn", 1000)
    assert result.returncode == 3, result.stderr
    report = Profile(nobody, nobody.folder / "cprof.data", result).report()
    assert report["cpu"]["event"] == "cpu-time"
    assert is_seventy_of_both(functions_of(report))
    assert report["heap"]["tracked"] is True


def test_it_can_be_asked_for(record, run, programs):
    profile = record(programs / "burn", 500, options=["--heap=off", "-e", "cpu-time", "-F", "20000"], status=3)
    cpu = profile.report()["cpu"]
    assert cpu["event"] == "cpu-time" and cpu["substituted_for"] is None and cpu["reason"] is None
    assert cpu["frequency_hz"] < 20000 and "20000 Hz lowered to" in profile.stderr
    refused = run("stat", "-e", "cpu-time", "true")
    assert refused.returncode == 125 and "task-clock" in refused.stderr


@pytest.mark.parametrize("refuse", [(), ("noperf", "1")], ids=["asked_for", "refused"])
@pytest.mark.parametrize("asked", ["cpu-time", "cpu-time,page-faults", "cpu-time,task-clock,cycles", "cycles,cpu-time",
                                   "cycles,task-clock", "page-faults,cpu-time,task-clock,cs"])
def test_each_event_asked_for_is_there_once(runner, programs, asked, refuse):
    """With and without cpu-time: whatever its place is."""
    if refuse:
        refuse = (programs / refuse[0], *refuse[1:])
    result = runner.run(*refuse, runner.cprof, "record", "--heap=off", "-e", asked, "true")
    assert result.returncode == 0, result.stderr
    profile = Profile(runner, runner.folder / "cprof.data", result)
    events = profile.sql("SELECT id, name, status, reason FROM event ORDER BY id")
    names = [name for _, name, _, _ in events]
    wanted = {"context-switches" if name == "cs" else name for name in asked.split(",")} | {"task-clock"}
    assert len(names) == len(set(names)) and all(names) and [row[0] for row in events] == list(range(len(events)))
    assert set(names) - wanted <= {"cpu-time", "cpu-clock"} and wanted <= set(names)
    status = {name: row for _, name, *row in events}
    assert status["task-clock"][0] == "counted"
    if names[0] != "cpu-time" and "cpu-time" in wanted:
        assert status["cpu-time"] == ["not-supported", "cpu-time is not of perf: it is sampled alone (-e cpu-time)"]
    assert "" not in profile.report()["cpu"]["counters"]


def test_the_list_of_events_tells_whether_it_can_be_had(run, runner, cprof, programs):
    assert json.loads(run("list", "--json", "cpu-time").stdout)["events"][0]["status"] == "counted"
    refused = runner.run(programs / "noperf", "-p", 1, cprof, "list", "--json", "cpu-time")
    event = json.loads(refused.stdout)["events"][0]
    assert event["status"] == "not-permitted" and "ptrace" in event["reason"]


# --- what it finds ------------------------------------------------------------------------------

def test_stacks_are_whole(record_stops, programs):
    profile = record_stops(programs / "deep", 100, 1000)
    report = profile.report()
    cpu, functions = report["cpu"], functions_of(report)
    assert functions["main"]["total"] > 0.95 and functions["bottom"]["total"] > 0.9
    depths = dict(profile.sql('''
        WITH RECURSIVE up(leaf, parent, depth) AS (
          SELECT id, parent, 1 FROM stack
          UNION ALL SELECT leaf, stack.parent, depth + 1 FROM up JOIN stack ON stack.id = up.parent)
        SELECT depths.depth, sum(samples) FROM v_total
          JOIN (SELECT leaf, max(depth) AS depth FROM up GROUP BY leaf) AS depths ON depths.leaf = v_total.stack
          GROUP BY 1'''))
    deep = sum(samples for depth, samples in depths.items() if depth > 100)
    assert deep > 0.9 * cpu["samples"], depths
    assert cpu["truncated_stacks"] <= 0.02 * cpu["samples"]


def test_threads_have_the_time_that_they_used(record_stops, programs):
    profile = record_stops(programs / "threads", 500)
    used = dict(profile.sql("""SELECT thread.name, sum(weight) / 1e6 FROM v_total
                               JOIN thread ON thread.id = v_total.thread GROUP BY 1"""))
    assert used["one"] == pytest.approx(500, rel=0.3)
    assert used["two"] == pytest.approx(1000, rel=0.3)


def test_threads_that_come_and_go_are_met(record_stops, programs):
    report = record_stops(programs / "relay", 2, 2000).report()
    assert functions_of(report)["compute"]["total"] > 0.5


@pytest.mark.parametrize("options", [OFTEN, ("-F", "500")])
def test_each_program_of_a_tree_has_its_share(record_stops, programs, options):
    """Forked, executed, executed again; with the heap side, which knows of processes as well."""
    script = "{0}/burn 600 & exec sh -c '{0}/deep 100 600 & {0}/threads 300; wait'".format(programs)
    report = record_stops("sh", "-c", script, options=options).report()
    samples = {}
    for process in report["processes"]:
        name = process["command"][0].split("/")[-1]
        samples[name] = samples.get(name, 0) + process["cpu"]["samples"]
        assert process["cpu"]["samples"] == 0 or process["end_s"] > process["start_s"]
    executed = [process["command"][0].split("/")[-1] for process in report["processes"]
                if process["command"][0].startswith("/")]
    assert sorted(executed) == ["burn", "deep", "threads"]
    assert all(samples[name] > 0 for name in executed), samples


def test_libraries_loaded_later_are_known(record_stops, need):
    """As by dlopen."""
    need.file("/usr/bin/python3", "the test is about a library it loads")
    profile = record_stops("/usr/bin/python3", "-c", """
import _ctypes, time, sqlite3
database = sqlite3.connect(":memory:")
query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT sum(i) FROM n"
database.execute(query).fetchall()
""")
    samples = profile.report()["cpu"]["samples"]
    assert profile.report()["cpu"]["truncated_stacks"] <= 0.1 * samples
    loaded, = profile.sql("""SELECT sum(samples) FROM v_total JOIN stack ON stack.id = v_total.stack
                             JOIN address ON address.id = stack.address JOIN module ON module.id = address.module
                             WHERE module.name LIKE 'libsqlite3%'""")
    assert loaded[0] > 0.3 * samples


def test_running_processes_can_be_attached_to(runner, cprof, programs):
    """Started without us: what they had started before is not ours."""
    stages = runner.start(programs / "stages", 500, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        stages.stdout.readline()
        recorder = runner.start(programs / "noperf", 1, cprof, "record", "-q", "-F", 500, "-p", stages.pid,
                                stderr=subprocess.PIPE, text=True)
        assert wait_for(runner.is_recording), recorder.stderr.read()
        for stage in ("before", "after", "child"):
            stages.stdin.write(f"{stage}\n")
            stages.stdin.flush()
            assert stages.stdout.readline() == f"{stage}\n"
        stages.stdin.close()
        assert stages.wait(60) == 4
        assert recorder.wait(60) == 0, recorder.stderr.read()
    finally:
        stages.kill()
        stages.wait()
    report = Profile(runner, runner.folder / "cprof.data", recorder).report()
    functions = {function["name"]: function["total"] for function in report["cpu"]["functions"]}
    for name in ("in_the_thread_before", "in_the_thread_after", "in_the_child"):
        assert 0.2 <= functions[name] <= 0.47, functions
    assert [process["command"][0] for process in report["processes"]] == 2 * [str(programs / "stages")]


# --- that the program notices nothing -------------------------------------------------------------

def test_queued_signals_and_timers_arrive_as_sent(record_stops, programs):
    profile = record_stops(programs / "signals", 20000)
    assert profile.stdout == "20000 came, 0 wrong, ticks: yes\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86-64 lets a tracer take an interruption back")
def test_no_system_call_is_broken_off(record_stops, programs):
    profile = record_stops(programs / "unbroken", 2000, status=None)
    assert " 0 early" in profile.stdout
    assert re.findall(r"^.*: [1-9]\d* of .*$", profile.stdout, re.MULTILINE) == []


def test_what_another_program_traces_is_left_to_it(record_stops, programs):
    profile = record_stops(programs / "debugger", 500, status=7)
    assert profile.stdout == "stopped 1 times\n"
    functions = functions_of(profile.report())
    assert functions["tracing"]["total"] > 0.8 and "traced" not in functions
    assert "samples of debugger: another program traces it, as a debugger does" in lost(profile)


@pytest.mark.parametrize("script, status", [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_status_is_the_programs(record_stops, script, status):
    record_stops("sh", "-c", f"i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; {script}", status=status)


def test_a_killed_recorder_leaves_the_program_running(runner, cprof, programs):
    recorder = runner.start(cprof, "record", "-q", "-e", "cpu-time", *OFTEN, programs / "burn", 1500,
                            stdout=subprocess.PIPE, text=True)
    assert wait_for(lambda: program_of(recorder))
    time.sleep(0.2)  # it is sampled
    recorder.kill()
    recorder.wait()
    assert recorder.stdout.read() == "done\n"


def test_a_stopped_program_stays_stopped_until_it_is_continued(runner, cprof, programs):
    recorder = runner.start(cprof, "record", "-q", "-e", "cpu-time", *OFTEN, programs / "burn", 1000,
                            stdout=subprocess.PIPE, text=True)
    assert wait_for(lambda: program_of(recorder))
    program = program_of(recorder)
    for _ in range(10):
        os.kill(program, signal.SIGSTOP)
        assert wait_for(lambda: state_of(program) == "T")
        assert state_of(recorder.pid) != "T"
        os.kill(program, signal.SIGCONT)
        assert wait_for(lambda: state_of(program) != "T")
    assert recorder.wait(60) == 3
    assert recorder.stdout.read() == "done\n"


def program_of(recorder):
    """The pid of what it started, once that is executed."""
    for pid in open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split():
        if os.readlink(f"/proc/{pid}/exe") != os.readlink(f"/proc/{recorder.pid}/exe"):
            return int(pid)
    return None


def state_of(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "X"
