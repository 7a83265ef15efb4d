# SPDX-License-Identifier: MIT
"""The threads of cprof against each other: recordings by a build with ThreadSanitizer.

`make SAN=thread` makes it, as scripts/check --long does.  The program and the shim are the ordinary
ones: what they do at the same time is in memory that another process shares.
"""

import os
import signal
import subprocess

import pytest

from conftest import Runner, wait_for

pytestmark = pytest.mark.long

RACE_STATUS = 66
CHILDREN = "i=0; while [ $i -lt 40 ]; do /bin/true $i; (: $i) & i=$((i + 1)); done; wait; exit 3"


class Watched(Runner):
    """Runs that sanitized cprof, and keeps what it complains of."""

    def environment(self):
        return {"TSAN_OPTIONS": f"exitcode={RACE_STATUS}:log_path={self.folder}/race"}

    def cprof_run(self, *arguments, **options):
        return self.run(self.cprof, *arguments, env=self.environment(), **options)

    def cprof_start(self, *arguments, by=()):
        return self.start(*by, self.cprof, *arguments, env=self.environment(), start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def complaints(self):
        texts = [path.read_text() for path in self.folder.glob("race.[0-9]*")]
        return "".join(text for text in texts if "WARNING" in text)


@pytest.fixture
def watched(programs, tmp_path):
    cprof = programs.parent.parent / "san-thread" / "cprof"
    if not cprof.exists():
        pytest.skip(f"{cprof} is not there: make SAN=thread")
    assert b"__tsan_init" in cprof.read_bytes()
    watched = Watched(tmp_path, cprof)
    yield watched
    assert watched.complaints() == ""


def test_a_race_would_be_seen(runner, need, tmp_path):
    """The sanitizer works here, and says so as is expected below."""
    need.tool("gcc")
    (tmp_path / "race.c").write_text("""
        #include <pthread.h>
        static int shared;
        static void *add(void *unused) { for (int i = 0; i < 100000; i++) shared++; return unused; }
        int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); add(0); return pthread_join(t, 0); }""")
    assert runner.run("gcc", "-O1", "-fsanitize=thread", "-o", "race", "race.c").returncode == 0
    result = runner.run("./race", env=Watched(tmp_path, "").environment())
    assert result.returncode == RACE_STATUS and "data race" in Watched(tmp_path, "").complaints()


@pytest.mark.parametrize("options", [[], ["--heap=off"], ["--cpu=off"], ["--heap=sample=1K"], ["--heap=counts"],
                                     ["--page-faults"]], ids=" ".join)
def test_a_program_of_many_threads(watched, programs, options):
    result = watched.cprof_run("record", *options, programs / "heap_threads", 4, 20000)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("options", [[], ["--heap=off"], ["--cpu=off"]], ids=" ".join)
def test_many_processes(watched, options):
    result = watched.cprof_run("record", *options, "sh", "-c", CHILDREN)
    assert result.returncode == 3, result.stderr


def test_samples_without_perf(watched, programs):
    for command, status in (([programs / "heap_threads", 4, 20000], 0), (["sh", "-c", CHILDREN], 3)):
        result = watched.run(programs / "noperf", 1, watched.cprof, "record", *command, env=watched.environment())
        assert result.returncode == status, result.stderr


@pytest.mark.parametrize("without_perf", [False, True])
def test_processes_that_run_already(watched, programs, program, without_perf):
    by = [programs / "noperf", 1] if without_perf else []
    started = [program(programs / "stages", 100) for _ in range(2)]
    process = watched.cprof_start("record", "-p", ",".join(str(p.pid) for p in started), by=by)
    assert wait_for(watched.is_recording)
    for stage in ("before", "after", "child", "main"):
        for one in started:
            one.stdin.write(f"{stage}\n")
            one.stdin.flush()
            assert one.stdout.readline() == f"{stage}\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0, process.stderr.read()


def test_a_duration_a_delay_and_commits_on_demand(watched, programs):
    process = watched.cprof_start("record", "--delay", "0.3", "--duration", "1.5", programs / "heap_threads", 2, 300000)
    assert wait_for(watched.is_recording)
    for _ in range(20):
        process.send_signal(signal.SIGUSR1)
        signal.sigtimedwait([], 0.05)
    assert process.wait(120) == 0, process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("times", [1, 2])
def test_signals(watched, programs, number, times):
    """As by ^C: to the program, too."""
    process = watched.cprof_start("record", programs / "heap_threads", 2, 100000000)
    assert wait_for(watched.is_recording)
    for _ in range(times):
        os.killpg(process.pid, number)
    assert process.wait(120) == 128 + number, process.stderr.read()


@pytest.mark.parametrize("options", [["-r", "3"], ["--json"], ["-I", "100"]], ids=" ".join)
def test_counting(watched, programs, options):
    result = watched.cprof_run("stat", *options, "--", programs / "heap_threads", 4, 20000)
    assert result.returncode == 0, result.stderr


def test_counting_what_runs_already(watched, programs, program):
    started = program(programs / "stages", 100)
    result = watched.cprof_run("stat", "-p", started.pid, "--duration", "1")
    assert result.returncode == 0, result.stderr
