# SPDX-License-Identifier: MIT
"""cprof record -p: processes that run already."""

import os
import select
import signal
import subprocess
import time

import pytest

from conftest import Profile, cpu_used_s, is_running, tell, wait_for


def attach(runner, cprof, *pids, output="cprof.data"):
    """Recording, when it is returned: perf's events are open."""
    recorder = runner.start(cprof, "record", "-q", "-o", output, "-p", ",".join(str(pid) for pid in pids),
                            stderr=subprocess.PIPE, text=True)
    if not wait_for(lambda: recorder.poll() is not None or runner.is_recording(output)):
        recorder.kill()
    assert recorder.poll() is None, recorder.stderr.read()
    return recorder


def milliseconds_by_thread(profile):
    return dict(profile.sql("""SELECT thread.name || '/' || process.pid, sum(weight) / 1e6 FROM v_total
                               JOIN thread ON thread.id = v_total.thread JOIN process ON process.id = thread.process
                               WHERE event = 0 GROUP BY 1"""))


def test_threads_and_children_of_a_running_process_are_sampled(runner, cprof, program, programs, need):
    need.perf()
    stages = program(programs / "stages", 300)
    tell(stages, "main")  # nobody looks yet
    recorder = attach(runner, cprof, stages.pid)
    for stage in ("before", "after", "child"):
        tell(stages, stage)
    stages.stdin.close()
    assert stages.wait(60) == 4
    assert recorder.wait(60) == 0, recorder.stderr.read()
    profile = Profile(runner, runner.folder / "cprof.data", recorder)

    report = profile.report()
    functions = {function["name"]: function["total"] for function in report["cpu"]["functions"]}
    for name in ("in_the_thread_before", "in_the_thread_after", "in_the_child"):
        assert 0.2 <= functions[name] <= 0.45, functions
    assert functions.get("in_main", 0) == 0
    first, child = report["processes"]
    assert (first["pid"], first["command"]) == (stages.pid, [str(programs / "stages"), "300"])
    assert (child["parent"], child["command"]) == (stages.pid, first["command"])
    assert report["command"] == first["command"] and report["complete"] is True
    assert report["exit_status"] is None and report["cpu"]["samples"] > 500
    threads = milliseconds_by_thread(profile)
    assert {name.split("/")[0] for name in threads} == {"before", "after", "stages"}
    # Whoever was there already is known as well.
    assert profile.sql("SELECT count(*) FROM thread WHERE process = 0") == [(3,)]
    # Stacks reach the root: what was mapped before is known.
    assert report["cpu"]["truncated_stacks"] <= 0.02 * report["cpu"]["samples"]


def test_the_heap_side_says_why_there_is_none(runner, cprof, program, programs, need):
    need.perf()
    stages = program(programs / "stages")
    result = runner.cprof_run("record", "-q", "-p", stages.pid, "--duration", "100ms")
    assert result.returncode == 0, result.stderr
    heap = Profile(runner, runner.folder / "cprof.data", result).report()["heap"]
    assert heap["tracked"] is False and "from its start" in heap["reason"]
    assert heap["peak_bytes"] is None


def test_interrupt_ends_the_recording_not_the_program(runner, cprof, program, programs, need):
    need.perf()
    stages = program(programs / "stages", 100)
    for number in (signal.SIGINT, signal.SIGTERM):
        recorder = attach(runner, cprof, stages.pid, output=f"{number}.data")
        tell(stages, "main")
        recorder.send_signal(number)
        assert recorder.wait(60) == 0, recorder.stderr.read()
        profile = Profile(runner, runner.folder / f"{number}.data", recorder)
        report = profile.report()
        assert report["complete"] is True and report["cpu"]["samples"] > 0
        assert "interrupted" not in [row["kind"] for row in report["quality"]]
        assert is_running(stages.pid)
        assert report["processes"][0]["end_s"] is None


def test_several_processes_end_it_with_the_last_one(runner, cprof, program, programs, need):
    need.perf()
    first, second = program(programs / "stages", 100), program(programs / "stages", 300)
    recorder = attach(runner, cprof, first.pid, second.pid, first.pid)
    tell(first, "main")
    first.stdin.close()
    first.wait(60)
    tell(second, "main")
    assert recorder.poll() is None
    second.stdin.close()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    profile = Profile(runner, runner.folder / "cprof.data", recorder)
    weight = milliseconds_by_thread(profile)
    assert weight[f"stages/{first.pid}"] == pytest.approx(100, rel=0.2)
    assert weight[f"stages/{second.pid}"] == pytest.approx(300, rel=0.2)
    assert [process["pid"] for process in profile.report()["processes"]] == [first.pid, second.pid]


def test_threads_that_start_meanwhile_count_once(runner, program, programs, need):
    """Against the time that the kernel says the process used."""
    need.perf()
    relay = program(programs / "relay", 3)

    for attempt in range(5):
        before = cpu_used_s(relay.pid)
        result = runner.cprof_run("record", "--no-symbols", "-q", "-p", relay.pid, "--duration", "300ms",
                                  "-o", f"{attempt}.data")
        most = cpu_used_s(relay.pid) - before
        assert result.returncode == 0, result.stderr
        profile = Profile(runner, runner.folder / f"{attempt}.data", result)
        (counted,) = profile.sql("SELECT value / 1e9 FROM event WHERE name = 'task-clock'")[0]
        (sampled,) = profile.sql("SELECT sum(weight) / 1e9 FROM v_total WHERE event = 0")[0]
        # The kernel leaves interrupts out of what it says, and counts in ticks of 10 ms.
        assert 0 < counted <= most * 1.15 + 0.02
        # A thread gets its first sample a whole period after its start: these live for three.
        assert 0.3 * counted < sampled <= 1.1 * counted


def test_a_thread_that_starts_while_events_do_has_them_started(runner, program, programs, need):
    """Or all that it starts would be missing: in the group, or in the task-clock that is counted beside it."""
    need.perf()
    relay = program(programs / "relay", 3, 60000, 50)
    for attempt in range(20):
        result = runner.cprof_run("record", "--no-symbols", "-q", "-p", relay.pid, "--duration", "150ms",
                                  "-e", "cpu-clock", "-o", f"{attempt}.data")
        assert result.returncode == 0, result.stderr
        counted = dict(Profile(runner, runner.folder / f"{attempt}.data", result).sql(
            "SELECT name, value FROM event WHERE name IN ('cpu-clock', 'task-clock')"))
        assert counted["task-clock"] == pytest.approx(counted["cpu-clock"], rel=0.15)


@pytest.mark.parametrize("chains", [1, 3])
def test_a_chain_of_threads_is_neither_missed_nor_counted_twice(runner, cprof, program, programs, need, chains):
    """Between the kernel's figures from well within the recording and from around it."""
    need.perf()
    need.root()
    relay = program(programs / "relay", chains, 60000, 100)
    for attempt in range(8):
        before = cpu_used_s(relay.pid)
        recorder = attach(runner, cprof, relay.pid, output=f"{attempt}.data")
        time.sleep(0.1)  # by now all events have been started
        within = cpu_used_s(relay.pid)
        time.sleep(0.8)
        least = cpu_used_s(relay.pid) - within
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0, recorder.stderr.read()
        most = cpu_used_s(relay.pid) - before
        profile = Profile(runner, runner.folder / f"{attempt}.data", recorder)
        (counted,) = profile.sql("SELECT value / 1e9 FROM event WHERE name = 'task-clock'")[0]
        assert 0.85 * least - 0.02 <= counted <= 1.1 * most + 0.02


def test_a_chain_of_threads_that_cannot_be_halted_for_it(runner, cprof, program, programs, need):
    """Seldom none of them starts or ends for long enough, when these do not get to run: all is well then."""
    need.perf()
    need.root()
    relay = program(programs / "relay", 3, 60000, 100)
    said = set()
    for attempt in range(8):
        recorder = runner.run(programs / "noperf", "-t", 1, cprof, "record", "-q", "--no-symbols", "-o", f"{attempt}.data",
                              "-p", relay.pid, "--duration", "50ms")
        assert recorder.returncode == 0, recorder.stderr
        profile = Profile(runner, runner.folder / f"{attempt}.data", recorder)
        said.update(row["detail"] for row in profile.report()["quality"] if row["kind"] == "bounded")
    assert said == {"threads started while events were opened: some may be missing, or count twice "
                    "(not halted for it: ptrace is refused (Operation not permitted))"}


def test_a_thread_that_cannot_be_halted_goes_on_as_soon_as_it_can(runner, cprof, program, programs, need):
    """The parent of a vfork() stops for nobody before its child has gone on."""
    need.perf()
    need.root()
    relay = program(programs / "relay", 3, 60000, 100, 3000)
    recorder = attach(runner, cprof, relay.pid)
    for _ in range(2):
        assert select.select([relay.stdout], [], [], 20)[0], "it stands still"
        assert relay.stdout.readline() == "vfork\n"
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(60) == 0, recorder.stderr.read()
    said = [row["detail"] for row in Profile(runner, runner.folder / "cprof.data", recorder).report()["quality"]
            if row["kind"] == "bounded"]
    assert any("not halted for it: its threads do not stop" in detail for detail in said), said


def test_a_thread_stands_for_its_process(runner, program, programs, need):
    need.perf()
    stages = program(programs / "stages", 100)
    thread = max(int(tid) for tid in os.listdir(f"/proc/{stages.pid}/task"))
    assert thread != stages.pid
    result = runner.cprof_run("record", "-q", "-p", thread, "--duration", "100ms")
    assert result.returncode == 0, result.stderr
    (process,) = Profile(runner, runner.folder / "cprof.data", result).report()["processes"]
    assert process["pid"] == stages.pid


# --- what cannot be attached to ------------------------------------------------------------------

def ended_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("arguments, words", [
    (["-p", "999999999"], "no process 999999999"),
    (["-p", "0"], "--pid"),
    (["-p", "x"], "--pid"),
    (["-p", "1,,2"], "--pid"),
    (["-p", str(os.getpid()), "true"], "exclude each other"),
    (["-p", str(os.getpid()), "--heap=exact"], "from its start"),
    (["-p", str(os.getpid()), "--cpu=off"], "nothing to record"),
])
def test_bad_usage_is_125(run, runner, arguments, words):
    result = run("record", *arguments)
    assert result.returncode == 125 and words in result.stderr
    assert os.listdir(runner.folder) == []


def test_a_process_that_is_gone_leaves_the_former_profile(run, runner):
    (runner.folder / "cprof.data").write_bytes(b"")
    pid = ended_pid()
    result = run("record", "-p", pid)
    assert result.returncode == 125 and f"no process {pid}" in result.stderr
    assert os.listdir(runner.folder) == ["cprof.data"]


def test_a_process_that_nobody_has_waited_for_is_over(run):
    process = subprocess.Popen(["true"])
    try:
        assert wait_for(lambda: not is_running(process.pid))
        result = run("record", "-p", process.pid)
    finally:
        process.wait()
    assert result.returncode == 125 and "has ended already" in result.stderr


def test_threads_of_the_kernel_are_refused(run):
    if "kthreadd" not in open("/proc/2/comm").read():
        pytest.skip("no thread of the kernel is to be seen: a container")
    result = run("record", "-p", 2)
    assert result.returncode == 125 and "thread of the kernel" in result.stderr


def test_processes_of_others_are_refused_with_the_reason(nobody, program, programs):
    stages = program(programs / "stages")
    result = nobody.cprof_run("record", "-p", stages.pid)
    assert result.returncode == 125
    assert f"process {stages.pid} (stages) belongs to uid 0, you are uid 65534" in result.stderr
    assert "root" in result.stderr and len(os.listdir(nobody.folder)) == 2


def test_what_is_shielded_from_root_too_is_refused_with_a_hint_that_fits(nobody, runner, cprof, program, need):
    need.tool("setpriv")
    other = program("sh", "-c", "echo; exec sleep 60", starter=nobody)
    result = runner.run("setpriv", "--bounding-set=-all", cprof, "record", "-p", other.pid)
    assert result.returncode == 125
    assert f"process {other.pid} (" in result.stderr and "is shielded, from root too" in result.stderr
    assert "CAP_SYS_PTRACE" in result.stderr and "as root" not in result.stderr


def test_an_ordinary_user_attaches_to_what_is_his(nobody, program, programs, need):
    need.perf()
    copy = nobody.folder / "stages"
    copy.write_bytes((programs / "stages").read_bytes())
    copy.chmod(0o755)
    stages = program(copy, 200, starter=nobody)
    recorder = attach(nobody, nobody.cprof, stages.pid)
    tell(stages, "before")
    stages.stdin.close()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    profile = Profile(nobody, nobody.folder / "cprof.data", recorder)
    functions = {f["name"]: f["total"] for f in profile.report()["cpu"]["functions"]}
    assert functions["in_the_thread_before"] > 0.8
