# SPDX-License-Identifier: MIT
"""cprof record and stat between a shell, a terminal and a program: jobs, signals, sudo, timeout."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import Profile, clean_environment, is_running, wait_for


class Terminal:
    """A pseudo-terminal with a command in its foreground."""

    def __init__(self, folder, *command):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], [str(word) for word in command],
                       clean_environment({"TERM": "xterm", "PS1": "prompt> "}))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern, seconds=30):
        """What came up to there; the rest is for the next one."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern.encode(), self.text)):
            readable, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
            assert readable, f"no {pattern!r} in {self.text!r}"
            try:
                self.text += os.read(self.fd, 4096)
            except OSError:
                assert False, f"no {pattern!r} in {self.text!r}, then the end"
        result, self.text = self.text[:found.end()], self.text[found.end():]
        return result.decode(errors="replace")

    def settings(self):
        return termios.tcgetattr(self.fd)

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)


@pytest.fixture
def terminal(runner):
    """terminal(command...): a Terminal, closed with the test."""
    opened = []

    def open_one(*command):
        opened.append(Terminal(runner.folder, *command))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def shell(terminal):
    """A shell with job control."""
    bash = terminal("bash", "--norc", "--noediting", "-i")
    bash.read_until("prompt> ")
    return bash


def state(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    return wait_for(lambda: next((int(child) for child in
                                  open(f"/proc/{pid}/task/{pid}/children").read().split()), None))


# --- jobs ----------------------------------------------------------------------------------------

COUNTED = "import time; end = time.time() + {0}\nwhile time.time() < end: x = [bytes(600) for i in range(300)]\n"


def test_a_job_that_is_stopped_and_continued_loses_nothing(runner, shell, cprof, need):
    """For longer than the guest in the program waits for its recorder."""
    python = need.file("/usr/bin/python3", "the program under test")
    (runner.folder / "counted.py").write_text(COUNTED.format(3))
    shell.type(f"{cprof} record -q --no-symbols {python} -S counted.py\n")
    assert wait_for(runner.is_recording)
    time.sleep(0.3)
    shell.type("\x1a")
    shell.read_until("Stopped")
    shell.read_until("prompt> ")
    time.sleep(2.2)
    shell.type("fg\n")
    shell.read_until("prompt> ")
    profile = Profile(runner, runner.folder / "cprof.data", subprocess.CompletedProcess([], 0, "", ""))
    report = profile.report()
    heap = report["heap"]
    assert report["complete"] is True and report["exit_status"] == 0 and report["wall_s"] > 2.9
    assert heap["tracked"] is True and heap["peak_exact"] is True and heap["allocations"] > 1000
    assert not {"bounded", "untracked", "interrupted"} & {row["kind"] for row in report["quality"]}


def page_a_text(shell, cprof, runner, need):
    """less, recorded, when it waits for a key: a ^Z between its last look at signals and that is not
    heard, with cprof or without.  The settings that the terminal had before."""
    need.tool("less")
    (runner.folder / "text").write_text("line\n" * 100)
    before = shell.settings()
    shell.type(f"{cprof} record -q --no-symbols less text\n")
    shell.read_until(r"\x1b\[\?1049h")
    shell.read_until("text")
    shell.read_until(r"\x1b\[K")
    less = child_of(child_of(shell.pid))
    assert wait_for(lambda: state(less) == "S")
    return before


def test_a_program_of_the_terminal_puts_it_in_order_before_the_shell_takes_it(shell, cprof, runner, need):
    before = page_a_text(shell, cprof, runner, need)
    shell.type("\x1a")
    stopped = shell.read_until("Stopped")
    assert "\x1b[?1049l" in stopped
    shell.read_until("prompt> ")
    assert shell.settings() == before
    shell.type("fg\n")
    shell.read_until(r"\x1b\[\?1049h")
    shell.type("q")
    shell.read_until(r"\x1b\[\?1049l")
    shell.read_until("prompt> ")
    assert shell.settings() == before
    shell.type("echo status $?\n")
    shell.read_until("status 0\r\n")


def test_reading_the_terminal_in_the_background_stops_the_job(shell, cprof):
    shell.type(f"{cprof} record -q --no-symbols cat &\n")
    shell.read_until("prompt> ")
    assert wait_for(lambda: shell.type("\n") or "Stopped" in shell.read_until("prompt> "))
    shell.type("fg\n")
    shell.read_until("cat\r\n")
    shell.type("a line\n")
    shell.read_until("a line\r\na line\r\n")
    shell.type("\x04")
    shell.read_until("prompt> ")
    shell.type("echo status $?\n")
    shell.read_until("status 0\r\n")


def stopped_by(name):
    return f"echo $$; kill -{name} $$; echo continued; exit 6"


def start_job(runner, cprof, script):
    """In a group of its own that is not orphaned: the kernel stops no other."""
    process = runner.start(cprof, "record", "-q", "--no-symbols", "sh", "-c", script, stdout=subprocess.PIPE,
                           text=True, preexec_fn=os.setpgrp)
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("name", ["TSTP", "TTIN", "TTOU"])
def test_whoever_continues_us_continues_the_program(runner, cprof, name):
    process, program = start_job(runner, cprof, stopped_by(name))
    with process:
        try:
            assert wait_for(lambda: state(process.pid) == "T") and state(program) == "T"
            process.send_signal(signal.SIGCONT)
            assert process.stdout.read() == "continued\n"
            assert process.wait(60) == 6
        finally:
            process.kill()


def test_a_program_that_somebody_holds_is_left_to_him(runner, cprof):
    process, program = start_job(runner, cprof, stopped_by("STOP"))
    with process:
        try:
            assert wait_for(lambda: state(program) == "T")
            time.sleep(0.3)
            assert state(process.pid) != "T"
            os.kill(program, signal.SIGCONT)
            assert process.wait(60) == 6
        finally:
            process.kill()


def test_a_stop_that_is_sent_to_us_reaches_the_program(runner, cprof):
    process, program = start_job(runner, cprof, "echo $$; while :; do sleep 0.05; done")
    with process:
        try:
            process.send_signal(signal.SIGTSTP)
            assert wait_for(lambda: state(process.pid) == "T" and state(program) == "T")
            os.killpg(process.pid, signal.SIGCONT)
            assert wait_for(lambda: state(process.pid) != "T" and state(program) != "T")
            process.terminate()
            assert process.wait(60) == 143
        finally:
            with contextlib.suppress(ProcessLookupError):  # all is well, and the group gone
                os.killpg(process.pid, signal.SIGKILL)


# --- terminals -----------------------------------------------------------------------------------

def test_an_editor_finds_and_leaves_the_terminal_as_without_us(shell, cprof, runner, need):
    need.tool("vim")
    before = shell.settings()
    shell.type(f"{cprof} record -q --no-symbols vim -u NONE -N text\n")
    shell.read_until(r"\[New\]|\[New File\]")
    shell.type("ia word\x1b")
    shell.type(":wq\r")
    shell.read_until("prompt> ")
    assert shell.settings() == before
    assert (runner.folder / "text").read_text() == "a word\n"


@pytest.mark.parametrize("name", ["TERM", "HUP"])  # less puts things in order on one, and dies of the other
def test_ending_us_ends_a_pager_and_leaves_the_terminal_in_order(shell, cprof, runner, need, name):
    before = page_a_text(shell, cprof, runner, need)
    os.kill(child_of(shell.pid), getattr(signal, f"SIG{name}"))
    shell.read_until("prompt> ")
    assert wait_for(lambda: shell.settings() == before)


# --- signals -------------------------------------------------------------------------------------

WAITS = r"""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
print("ready", flush=True)
print("got", signal.Signals(signal.sigwait([signal.SIGTERM, signal.SIGINT])).name)
raise SystemExit(5)
"""


def test_an_interrupt_ends_all_runs_not_only_the_present_one(runner, terminal, cprof):
    script = "echo run >>log; [ $(wc -l <log) -lt 3 ] || { echo rea''dy; exec sleep 60; }"
    stat = terminal(cprof, "stat", "-r", "5", "--json", "-o", "stat.json", "sh", "-c", script)
    stat.read_until("ready")
    stat.type("\x03")
    _, status = os.waitpid(stat.pid, 0)
    command, = json.loads((runner.folder / "stat.json").read_text())["commands"]
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGINT
    assert (command["runs"], command["runs_asked"]) == (2, 5)
    assert (runner.folder / "log").read_text() == "run\n" * 3


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_program_that_blocks_signals_and_waits_for_them_gets_them(runner, cprof, name):
    with runner.start(cprof, "record", "-q", "--no-symbols", "/usr/bin/python3", "-S", "-c", WAITS,
                      stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, name))
        out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == (f"got {name}\n", 5)


def test_a_script_that_signals_its_group_hears_it_once(runner, cprof):
    script = "trap 'n=$((n+1)); echo got it' TERM; n=0; kill 0; sleep 0.5; exit $n"
    result = runner.run(cprof, "record", "-q", "--no-symbols", "sh", "-c", script, preexec_fn=os.setpgrp)
    assert (result.stdout, result.returncode) == ("got it\n", 1)


def test_timeout_outside_and_inside(runner, cprof):
    outside = runner.run("timeout", "1", cprof, "record", "-q", "sleep", "20")
    assert outside.returncode == 124
    assert Profile(runner, runner.folder / "cprof.data", outside).report()["signal"] == 15
    inside = runner.cprof_run("record", "-q", "timeout", "1", "sleep", "20")
    assert inside.returncode == 124
    commands = [p["command"] for p in Profile(runner, runner.folder / "cprof.data", inside).report()["processes"]]
    assert ["sleep", "20"] in commands


def test_a_second_stop_within_timeouts_grace_leaves_a_whole_profile(runner, cprof):
    script = "trap '' TERM; while :; do sleep 0.05; done"
    result = runner.run("timeout", "-k", "1", "1", cprof, "record", "-q", "--no-symbols", "sh", "-c", script)
    assert result.returncode in (137, -9)  # timeout kills its group, and so itself
    report = runner.cprof_run("report", "--json")
    assert report.returncode == 0 and '"complete":false' in report.stdout.replace(" ", "")


# --- sudo ----------------------------------------------------------------------------------------

def test_the_profile_belongs_to_whoever_called_sudo(runner, cprof, need):
    need.root()
    result = runner.cprof_run("record", "-q", "true", env={"SUDO_UID": "65534", "SUDO_GID": "65533"})
    assert result.returncode == 0, result.stderr
    status = os.stat(runner.folder / "cprof.data")
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65533, 0o600)


def test_sudo_itself(runner, cprof, need):
    need.root()
    sudo = need.tool("sudo")
    outside = runner.run(sudo, "-u", "root", cprof, "record", "-q", "true")
    assert outside.returncode == 0, outside.stderr
    # Inside, it is a set-uid program: root may follow it.
    inside = runner.cprof_run("record", "-q", sudo, "-u", "nobody", "sh", "-c", "exit 3")
    assert inside.returncode == 3


# --- a server ------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_server_under_load_stopped_by_us_saves_and_is_whole(runner, cprof, need):
    server, benchmark = need.tool("redis-server"), need.tool("redis-benchmark")
    with runner.start(cprof, "record", "-q", server, "--port", "0", "--unixsocket", "s", "--save", "1 1",
                      "--dir", ".", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
        assert wait_for(lambda: (runner.folder / "s").exists())
        load = runner.run(benchmark, "-s", "s", "-n", "30000", "-r", "1000", "-q", "-t", "set,lpush")
        assert load.returncode == 0, load.stderr
        recorder.terminate()
        assert recorder.wait(60) == 0, recorder.stderr.read()
    assert (runner.folder / "dump.rdb").stat().st_size > 1000
    report = Profile(runner, runner.folder / "cprof.data", recorder).report()
    assert report["complete"] is True and report["exit_status"] == 0
    assert report["heap"]["tracked"] is True and report["heap"]["allocations"] > 30000
    assert report["cpu"]["samples"] > 0
    assert not is_running(report["processes"][0]["pid"])
