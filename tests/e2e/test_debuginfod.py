# SPDX-License-Identifier: MIT
"""Debug files that are fetched, from a server of the test."""

import http.server
import os
import pty
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import wait_for
from elf import SOURCES, build_id, make, source, stripped_program
from frames import Frames, put_addresses


class Debuginfod(http.server.BaseHTTPRequestHandler):
    """As `debuginfod` answers: /buildid/HEX/debuginfo."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.stalls:
            self.server.stop.wait(60)
            return
        file = self.server.files.get(self.path)
        self.send_response(200 if file else 404)
        data = file.read_bytes() if file else b""
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(need, tmp_path):
    """A debuginfod with .files {path: file}, which lists what it was .asked; if it .stalls, it never answers."""
    if not list(Path("/usr/lib").glob("*/libdebuginfod.so.1")):
        pytest.skip("libdebuginfod is not installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
    server.files, server.asked, server.stalls, server.stop = {}, [], False, threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}/"
    server.env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "DEBUGINFOD_URLS": server.url,
                  "no_proxy": "127.0.0.1"}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.stop.set()
    server.shutdown()
    thread.join()
    server.server_close()


def asks_for(path):
    return f"/buildid/{build_id(path)}/debuginfo"


@pytest.mark.parametrize("option", ["--debuginfod", "--debuginfod=auto", "--debuginfod={url}"])
def test_debug_files_are_fetched_when_asked(option, server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    server.files[asks_for(app)] = debug
    option = option.format(url=server.url)
    env = dict(server.env, DEBUGINFOD_URLS="http://localhost:1/") if "://" in option else server.env
    frames = resolve(app, [main], option, env=env)
    assert frames.names() == {main: "main"}
    assert frames.at[main][-1][2].endswith("pages.c")
    assert frames.debug_path.startswith(str(tmp_path / "cache"))
    assert server.asked == [asks_for(app)]


@pytest.mark.parametrize("option, urls", [([], True), (["--debuginfod=auto"], False)])
def test_nothing_is_fetched_unasked(option, urls, server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    server.files[asks_for(app)] = debug
    frames = resolve(app, [main], *option, env=dict(server.env, DEBUGINFOD_URLS=server.url if urls else ""))
    assert frames.debug == "none" and "try --debuginfod" in frames.reason
    assert not server.asked


def program_of_three(folder):
    """A program that spends its time in one of its two libraries.  All are stripped."""
    for name in ("busy", "idle"):
        make("gcc", "-O1", "-shared", "-fPIC", "-s", "-o", f"lib{name}.so", f"{name}.c", cwd=source(
            folder, f"{name}.c", f"int {name}(long n) {{ while (n--) __asm__ volatile(\"\"); return 0; }}"))
    make("gcc", "-O1", "-s", "-o", "app", "app.c", "-L.", "-Wl,--no-as-needed", "-lbusy", "-lidle", "-Wl,-rpath,$ORIGIN",
         cwd=source(folder, "app.c", "int busy(long); int main(void) { return busy(500000000); }"))
    return folder / "app"


def test_asked_for_are_only_files_that_samples_are_in(server, record, tmp_path):
    record(program_of_three(tmp_path), options=["--heap=off", "--debuginfod"], env=server.env)
    assert asks_for(tmp_path / "libbusy.so") in server.asked
    assert asks_for(tmp_path / "libidle.so") not in server.asked


def test_a_fetched_file_of_another_build_is_not_used(server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    make("gcc", "-O1", "-g", "-DANOTHER", "-o", "other", SOURCES / "pages.c", cwd=tmp_path)
    server.files[asks_for(app)] = tmp_path / "other"
    frames = resolve(app, [main], "--debuginfod", env=server.env)
    assert frames.debug == "none" and "is of another build" in frames.reason


def test_what_the_server_lacks_is_said(server, resolve, tmp_path):
    app, _, main = stripped_program(tmp_path)
    frames = resolve(app, [main], "--debuginfod", env=server.env)
    assert frames.debug == "none" and "debuginfod has none either" in frames.reason


def test_a_server_that_does_not_answer_is_given_up(server, resolve, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    frames = resolve(app, [main], "--debuginfod", env=dict(server.env, DEBUGINFOD_TIMEOUT="1"))
    assert frames.debug == "none" and "debuginfod does not answer" in frames.reason


def test_an_interrupt_skips_what_is_fetched_and_a_terminal_shows_it(server, record, runner, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(app), [main], "file", "app")
    ours, theirs = pty.openpty()
    with runner.start(runner.cprof, "symbolize", "--debuginfod", profile.path, env=server.env, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"fetching" not in shown:
            shown += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    os.close(ours)
    assert b"looking up names: 0 of 1 modules, app: fetching" in shown
    assert "skipped" in Frames(profile).reason


def test_a_second_interrupt_skips_all_that_is_left(server, record, runner, tmp_path):
    profile = record(program_of_three(tmp_path), options=["--heap=off"])
    modules = {name for name, in profile.sql("SELECT name FROM module")}
    assert {"app", "libbusy.so"} <= modules
    server.stalls = True
    with runner.start(runner.cprof, "symbolize", "--debuginfod", profile.path, env=server.env) as process:
        for nr in (1, 2):
            assert wait_for(lambda: len(server.asked) == nr, 60)
            process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    assert len(server.asked) == 2
    reasons = profile.sql("SELECT reason FROM module WHERE reason LIKE '%skipped%'")
    assert len(reasons) >= 2


def test_asked_to_end_it_leaves_the_profile_as_it_was(server, record, runner, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(app), [main], "file", "app")
    with runner.start(runner.cprof, "symbolize", "--debuginfod", profile.path, env=server.env, text=True,
                      stderr=subprocess.PIPE) as process:
        assert wait_for(lambda: server.asked, 60)
        process.send_signal(signal.SIGTERM)
        message = process.communicate()[1]
        assert "stopped by SIGTERM while looking up names" in message
        assert f"`cprof symbolize {profile.path}`" in message
        assert process.returncode == 1
    assert profile.sql("SELECT count(*) FROM frame") == [(0,)]
    assert profile.sql("SELECT debug FROM module") == [("not-tried",)]
