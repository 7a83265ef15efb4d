# SPDX-License-Identifier: MIT
"""cprof stat -p: counting in processes that run already."""

import json
import math
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import cpu_used_s, is_running, tell, wait_for
from counting import events_of, stat

# Writes to as many fresh pages as it is told, where it is told.
TOUCH = """
import contextlib, mmap, os, queue, sys, threading
told, done = queue.Queue(), queue.Queue()

def touch(pages):
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    with contextlib.suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(pages):
        memory[page * mmap.PAGESIZE] = 1

def before():
    while True:
        touch(told.get())
        done.put(None)

def main(pages):
    touch(pages)

def thread_before(pages):
    told.put(pages)
    done.get()

def thread(pages):
    new = threading.Thread(target=touch, args=[pages])
    new.start()
    new.join()

def child(pages):
    pid = os.fork()
    if not pid:
        touch(pages)
        os._exit(0)
    os.waitpid(pid, 0)

threading.Thread(target=before, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    where, pages = line.split()
    globals()[where](int(pages))
    print(line, end="", flush=True)
os._exit(0)
"""


def touch(program):
    return program(sys.executable, "-c", TOUCH)


def attach(runner, cprof, *pids, options=()):
    """Counting, when it is returned: it has written of the first interval."""
    counter = runner.start(cprof, "stat", "-I", "50", "--csv", "-o", "stat.csv", *options, "-p",
                           ",".join(str(pid) for pid in pids), stderr=subprocess.PIPE, text=True)
    output = runner.folder / "stat.csv"
    if not wait_for(lambda: counter.poll() is not None or (output.exists() and output.stat().st_size > 0)):
        counter.kill()
    assert counter.poll() is None, counter.stderr.read()
    return counter


def count(runner, event):
    """Of all intervals together."""
    for line in (runner.folder / "stat.csv").read_text().splitlines():
        command, pids, run, time_s, name, unit, status, runs, mean = line.split(",")[:9]
        if (name, run) == (event, ""):
            assert status == "counted"
            return float(mean)


def test_all_threads_count_and_what_they_start(runner, cprof, program, need):
    need.perf()
    need.root()
    target = touch(program)
    counter = attach(runner, cprof, target.pid)
    for where in ("main", "thread_before", "thread", "child"):
        tell(target, f"{where} 3000")
    counter.send_signal(signal.SIGINT)
    assert counter.wait(60) == 0, counter.stderr.read()
    # Python and a fork have faults of their own.
    assert 4 * 3000 <= count(runner, "page-faults") < 4 * 3000 + 1500
    assert is_running(target.pid)


@pytest.mark.parametrize("duration", ["0.3", "0.25", "0.05"])
def test_the_last_interval_ends_with_the_duration(runner, cprof, program, duration):
    target = touch(program)
    result = runner.cprof_run("stat", "-I", 100, "-o", "-", "-p", target.pid, "--duration", duration)
    groups = [group for group in result.stdout.split("\n\n") if re.match(r" +[0-9.]+ s ", group)]
    times = [{line.split()[0] for line in group.splitlines()} for group in groups]
    assert all(len(labels) == 1 for labels in times)
    times = [float(labels.pop()) for labels in times]
    assert times == sorted(set(times)) and len(times) <= math.ceil(float(duration) * 10)
    assert times[-1] >= float(duration)


def test_what_happens_before_and_in_others_does_not_count(runner, cprof, program, need):
    need.perf()
    need.root()
    target, other = touch(program), touch(program)
    tell(target, "main 3000")
    counter = attach(runner, cprof, target.pid)
    tell(other, "main 3000")
    tell(target, "main 2000")
    counter.send_signal(signal.SIGTERM)
    assert counter.wait(60) == 0, counter.stderr.read()
    assert 2000 <= count(runner, "page-faults") < 2500


def test_of_several_processes_the_last_one_ends_it(runner, cprof, program, need):
    need.perf()
    need.root()
    first, second = touch(program), touch(program)
    counter = attach(runner, cprof, first.pid, second.pid, first.pid)
    tell(first, "main 3000")
    first.stdin.close()
    first.wait(60)
    tell(second, "main 2000")
    assert counter.poll() is None
    second.stdin.close()
    assert counter.wait(60) == 0, counter.stderr.read()
    assert 5000 <= count(runner, "page-faults") < 6000


def test_a_duration_ends_it_not_the_process(runner, program, need):
    need.perf()
    target = touch(program)
    command = stat(runner, "-p", target.pid, "--duration", "200ms")
    assert command["command"] == []
    assert [process["pid"] for process in command["processes"]] == [target.pid]
    assert command["processes"][0]["name"].startswith("python")
    assert 0.2 <= command["wall_s"]["mean"]
    assert is_running(target.pid)
    text = runner.cprof_run("stat", "-p", target.pid, "--duration", "200ms").stderr
    assert f"process {target.pid} (python" in text and "still running" in text


SPIN = """
import sys, time
print("start"); sys.stdout.flush()
while time.process_time() < 60:
    pass
"""


def test_what_a_parent_is_told_is_from_proc(runner, program):
    target = program(sys.executable, "-c", SPIN)
    before = cpu_used_s(target.pid)
    events = events_of(stat(runner, "-p", target.pid, "--duration", "1"))
    used = events["user-time"]["mean"] + events["system-time"]["mean"]
    assert 0 < used <= cpu_used_s(target.pid) - before + 0.011
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{target.pid}/status").read_text())[1]) * 1024
    assert 0 < events["max-rss"]["mean"] <= peak
    for name in ("user-time", "system-time", "max-rss"):
        assert events[name]["status"] == "counted" and "/proc/PID/stat" in events[name]["reason"]


def test_of_what_has_ended_nothing_is_known_but_the_reason(runner, cprof, program):
    target = touch(program)
    counter = attach(runner, cprof, target.pid)
    target.stdin.close()
    target.wait(60)
    assert counter.wait(60) == 0
    rows = [line for line in (runner.folder / "stat.csv").read_text().splitlines() if "user-time" in line]
    assert len(rows) == 1 and ",not-supported," in rows[0] and "of others until then" in rows[0]


def test_threads_that_start_meanwhile_count_once(runner, program, programs, need):
    """Against the time that the kernel says the process used."""
    need.perf()
    relay = program(programs / "relay", 3)

    for _ in range(5):
        before = cpu_used_s(relay.pid)
        events = events_of(stat(runner, "-p", relay.pid, "--duration", "300ms"))
        most = cpu_used_s(relay.pid) - before
        # The kernel leaves interrupts out of what it says, and counts in ticks of 10 ms.
        assert 0 < events["task-clock"]["mean"] / 1e9 <= most * 1.15 + 0.02


def test_groups_are_read_while_threads_end(runner, program, programs, need):
    """The kernel does not read a group that a thread which is just ending has inherited."""
    need.perf()
    relay = program(programs / "relay", 3, 60000, 100)
    used_ns = 0  # in some of them nothing, where others use the CPUs
    for _ in range(40):
        events = events_of(stat(runner, "-p", relay.pid, "--duration", "20ms"))
        assert events["task-clock"]["status"] == "counted"
        used_ns += events["task-clock"]["mean"]
    assert used_ns > 0


@pytest.mark.parametrize("chains", [1, 3])
def test_threads_that_start_others_all_the_time(runner, program, programs, need, chains):
    """Of such a chain all is counted, or, should one thread be missed, nothing."""
    need.perf()
    need.root()
    relay = program(programs / "relay", chains, 60000, 100)
    for _ in range(8):
        events = events_of(stat(runner, "-p", relay.pid, "--duration", "500ms"))
        used_s = events["user-time"]["mean"] + events["system-time"]["mean"]  # in steps of 10 ms each
        assert abs(events["task-clock"]["mean"] / 1e9 - used_s) < 0.2 * used_s + 0.04


def test_threads_that_start_others_where_perf_and_ptrace_are_refused(runner, cprof, program, programs):
    relay = program(programs / "relay", 1, 60000, 100)
    for _ in range(10):
        result = runner.run(programs / "noperf", "-p", 1, cprof, "stat", "--json", "-p", relay.pid,
                            "--duration", "300ms")
        assert result.returncode == 0, result.stderr
        task_clock = events_of(json.loads(result.stderr)["commands"][0])["task-clock"]
        assert "/proc/PID/stat" in task_clock["reason"]
        if task_clock["mean"] > 0:
            return
    pytest.fail("the program does not get 10 ms, a tick of what /proc says, on CPUs that others use")


def test_an_ordinary_user_counts_in_what_is_his(nobody, program, need):
    need.perf()
    own, other = program(sys.executable, "-c", TOUCH, starter=nobody), touch(program)
    events = events_of(stat(nobody, "-p", own.pid, "--duration", "100ms"))
    assert events["task-clock"]["status"] == "counted"
    result = nobody.cprof_run("stat", "-p", other.pid, "--duration", "100ms")
    assert result.returncode == 125 and "belongs to uid" in result.stderr


def test_where_perf_is_refused_all_have_the_reason(runner, cprof, program, programs):
    target = touch(program)
    result = runner.run(programs / "noperf", 1, cprof, "stat", "--json", "-p", target.pid, "--duration", "10ms")
    assert result.returncode == 0, result.stderr
    events = events_of(json.loads(result.stderr)["commands"][0])
    assert all(event["reason"] for event in events.values())
    for name in ("task-clock", "page-faults", "user-time"):
        assert events[name]["mean"] is not None and "/proc/PID/stat" in events[name]["reason"]
    assert events["context-switches"]["mean"] is None and "living threads" in events["context-switches"]["reason"]


@pytest.mark.parametrize("arguments, words", [
    (["-p", "999999999"], "no process 999999999"),
    (["-p", "0"], "--pid"),
    (["-p", "1", "true"], "exclude each other"),
    (["-p", "1", "-r", "3"], "--repeat"),
    (["-p", "1", "--warmup", "1"], "--warmup"),
    (["--duration", "1", "true"], "timeout"),
])
def test_bad_usage_is_125(run, arguments, words):
    result = run("stat", *arguments)
    assert result.returncode == 125 and words in result.stderr
