# SPDX-License-Identifier: MIT
"""Names of code that is in no file: the kernel, and what programs make at run time."""

import collections
import contextlib
import os
import random
import sqlite3
import time
import types
from pathlib import Path

import pytest

from frames import Frames, put_addresses


def test_kernel_functions_are_named_by_kallsyms(resolve, need):
    need.root()
    with open("/proc/kallsyms") as file:
        symbols = [line.split()[:3] for line in file]
    texts = {int(a, 16): name for a, kind, name in symbols if kind in "tT" and int(a, 16)}
    if not texts:
        pytest.skip("kallsyms shows no addresses")
    starts = collections.Counter(int(a, 16) for a, *_ in symbols)
    some = random.Random(3).sample([a for a in texts if starts[a] == 1], 200)
    frames = resolve("[kernel]", some, kind="kernel", name="[kernel]")
    assert frames.names() == {a: texts[a] for a in some}


def test_hidden_kernel_addresses_are_said(nobody, need):
    if Path("/proc/sys/kernel/kptr_restrict").read_text().strip() == "0" and int(
            Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2:
        pytest.skip("this kernel shows its addresses to everybody")
    profile = nobody.record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, "[kernel]", [0xffffffff81000000], "kernel", "[kernel]")
    assert nobody.cprof_run("symbolize", profile.path).returncode == 0
    frames = Frames(profile)
    assert frames.names() == {0xffffffff81000000: "[kernel]"}
    assert "hidden" in frames.reason


@contextlib.contextmanager
def perf_map(runner):
    """A profile of one process with code at 0x1000 to 0x1030 made at run time, and the map of that process."""
    pid = 2 ** 22 + 17  # above what the kernel gives out
    profile = runner.record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, "[anon]", [0x1000, 0x101f, 0x1024, 0x1030], "anonymous", f"[anon:{pid}]")
    with contextlib.closing(sqlite3.connect(profile.path)) as connection:
        connection.execute("UPDATE process SET pid = ?", (pid,))
        connection.commit()

    def names():
        assert runner.cprof_run("symbolize", profile.path).returncode == 0
        return Frames(profile)
    path = Path(f"/tmp/perf-{pid}.map")
    try:
        yield types.SimpleNamespace(path=path, names=names, nameless=f"[anon:{pid}]")
    finally:
        path.unlink(missing_ok=True)


def test_jit_code_is_named_by_perf_map_as_it_grows(runner):
    with perf_map(runner) as jit:
        jit.path.write_text("1000 20 LazyCompile:~work app.js:7\nnonsense\n")
        work = "LazyCompile:~work app.js:7"
        assert jit.names().names() == {0x1000: work, 0x101f: work, 0x1024: jit.nameless, 0x1030: jit.nameless}
        with jit.path.open("a") as file:
            file.write("1020 8 Builtin:Add\n1018 8 Builtin:Instead\n")
        assert jit.names().names() == {0x1000: work, 0x101f: "Builtin:Instead", 0x1024: "Builtin:Add",
                                       0x1030: jit.nameless}


def test_the_perf_map_of_a_former_process_is_not_used(runner):
    with perf_map(runner) as jit:
        jit.path.write_text("1000 40 another_program\n")
        before = time.time() - 3600
        os.utime(jit.path, (before, before))
        frames = jit.names()
    assert set(frames.names().values()) == {jit.nameless}
    assert frames.debug == "none" and "is older than the process" in frames.reason


@pytest.mark.parametrize("kind", ["a link", "another user's"])
def test_a_perf_map_that_anybody_may_have_put_there_is_not_used(kind, nobody, tmp_path):
    with perf_map(nobody) as jit:
        if kind == "a link":
            (tmp_path / "map").write_text("1000 40 somewhere_else\n")
            jit.path.symlink_to(tmp_path / "map")
        else:
            jit.path.write_text("1000 40 something_else\n")
            os.chown(jit.path, 12345, -1)
        frames = jit.names()
    assert set(frames.names().values()) == {jit.nameless} and "--perf-basic-prof" in frames.reason


def test_a_program_that_makes_code_is_named_by_its_perf_map(record, programs):
    profile = record(programs / "jit", "600")
    report = profile.report()
    path = Path(f"/tmp/perf-{report['processes'][0]['pid']}.map")
    assert path.read_text().count("\n") == 2
    path.unlink()
    functions = {f["name"]: f for f in report["cpu"]["functions"]}
    assert functions["jit_early"]["self"] > 0.3 and functions["jit_late one.js:7"]["self"] > 0.3
    assert functions["jit_early"]["module"].startswith("[anon")
