# SPDX-License-Identifier: MIT
"""Names of code that is in no file: the kernel, and what programs make at run time."""

import collections
import contextlib
import os
import random
import sqlite3
import struct
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


def java_class():
    """As compiled: class Spin { static int sum; static void main(String[] args) { for (int i = 0; i < 600000000; i++) sum += i; } }

    The JDK that would compile it is seldom installed."""
    def utf8(text):
        return struct.pack(">BH", 1, len(text)) + text.encode()
    constants = [utf8("Spin"), bytes((7, 0, 1)), utf8("java/lang/Object"), bytes((7, 0, 3)), utf8("main"),
                 utf8("([Ljava/lang/String;)V"), utf8("Code"), utf8("sum"), utf8("I"), bytes((12, 0, 8, 0, 9)),
                 bytes((9, 0, 2, 0, 10)), struct.pack(">Bi", 3, 600000000)]
    code = (bytes((0x03, 0x3c,                                    # iconst_0, istore_1
                   0xb2, 0, 11, 0x1b, 0x60, 0xb3, 0, 11,          # getstatic sum, iload_1, iadd, putstatic sum
                   0x84, 1, 1, 0x1b, 0x12, 12, 0xa1, 0xff, 0xf2,  # iinc, iload_1, ldc, if_icmplt -14
                   0xb1)))                                        # return
    body = struct.pack(">HHI", 2, 2, len(code)) + code + bytes(4)
    return (struct.pack(">IHHH", 0xcafebabe, 0, 49, len(constants) + 1) + b"".join(constants) +
            struct.pack(">HHHH", 0x21, 2, 4, 0) + struct.pack(">HHHHH", 1, 8, 8, 9, 0) +
            struct.pack(">HHHHH", 1, 9, 5, 6, 1) + struct.pack(">HI", 7, len(body)) + body + bytes(2))


SPIN_JS = "function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }\nspin(1e8);\n"
SPIN_PY = "def spin(n):\n    while n:\n        n -= 1\nspin(20000000)\n"
COMPILERS = {"node": (["node", "--perf-basic-prof", "spin.js"], "spin"),
             "java": (["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:TieredStopAtLevel=1",
                       "-cp", ".", "Spin"], "void Spin.main(java.lang.String[])"),
             "python3": (["python3", "-X", "perf", "spin.py"], "py::spin:")}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_code_that_a_compiler_makes_at_run_time_is_named_by_the_map_that_it_writes(compiler, record, runner, need, tmp_path):
    command, name = COMPILERS[compiler]
    need.tool(command[0])
    if compiler == "python3" and runner.run("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 12))").returncode:
        pytest.skip("this python3 writes no map: it takes 3.12")
    for file, contents in (("spin.js", SPIN_JS.encode()), ("spin.py", SPIN_PY.encode()), ("Spin.class", java_class())):
        (tmp_path / file).write_bytes(contents)
    profile = record(*command, options=["--heap=off"])
    report = profile.report()
    for process in report["processes"]:
        Path(f"/tmp/perf-{process['pid']}.map").unlink(missing_ok=True)
    total = sum(f["total"] for f in report["cpu"]["functions"] if name in f["name"] and f["module"].startswith("[anon"))
    assert total > 0.2, [f["name"] for f in report["cpu"]["functions"][:10]]


def test_a_program_that_makes_code_is_named_by_its_perf_map(record, programs):
    profile = record(programs / "jit", "600")
    report = profile.report()
    path = Path(f"/tmp/perf-{report['processes'][0]['pid']}.map")
    assert path.read_text().count("\n") == 2
    path.unlink()
    functions = {f["name"]: f for f in report["cpu"]["functions"]}
    assert functions["jit_early"]["self"] > 0.3 and functions["jit_late one.js:7"]["self"] > 0.3
    assert functions["jit_early"]["module"].startswith("[anon")
