# SPDX-License-Identifier: MIT
"""Real programs do under cprof what they do without it, and both halves are there."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from sums import check_stored_sums

pytestmark = pytest.mark.slow

# python3's hashes and its allocator are fixed so that two runs do the same.
FIXED = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}

PYTHON = """
import sys
words = ("the quick brown fox jumps over a lazy dog " * 8000).split()
index = {}
for i, word in enumerate(words):
    index.setdefault(word, []).append(str(i))
text = "".join(f"{k}: {v[:50]}" for k, v in sorted(index.items()))
print(len(text), sum(len(v) for v in index.values()))
print(text[:200], file=sys.stderr)
sys.exit(3)
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 300000)
    insert into t select x, 'row ' || (x * 7919 % 300000), x * 1.5 from n;
create index i on t(b);
select count(*), sum(c) from t where b like 'row 1%';
select t1.b, t2.c from t t1 join t t2 on t1.a = t2.a + 1 where t1.a % 30000 = 0 order by t1.b;
"""


def c_source(functions):
    """A translation unit that keeps the optimizer busy for a second or two."""
    lines = ["#include <stdio.h>", "#include <string.h>"]
    for i in range(functions):
        lines.append(f"static int f{i}(int *v, int n) {{ int s = {i}; for (int k = 0; k < n; k++) "
                     f"{{ v[k] = v[k] * {i + 3} ^ s; s += v[k] % {i + 7}; }} return s; }}")
    lines.append("int main(void) { int v[64]; memset(v, 1, sizeof v); int s = 0;")
    lines += [f"s += f{i}(v, 64);" for i in range(functions)]
    lines.append('printf("%d\\n", s); return 0; }')
    return "\n".join(lines)


@pytest.fixture
def same(runner, record):
    """Runs a command plainly and under cprof; all that it leaves behind must be equal."""
    def run(*command, makes=None, env=None):
        made = []
        plain = runner.run(*command, env=env, text=False)
        made.append((runner.folder / makes).read_bytes() if makes else None)
        profile = record(*command, status=plain.returncode, env=env, text=False, options=["-q"])
        made.append((runner.folder / makes).read_bytes() if makes else None)
        assert profile.stdout == plain.stdout
        assert profile.stderr == plain.stderr
        assert made[0] == made[1]
        return profile.report()
    return run


def both_halves(report):
    """A sampled CPU half, a heap half that adds up, and everything named by what was there."""
    cpu, heap = report["cpu"], report["heap"]
    assert cpu["samples"] > 20 and cpu["functions"]
    assert sum(f["self"] for f in cpu["functions"]) == pytest.approx(1, abs=1e-6)
    assert heap["tracked"] and heap["peak_exact"]
    assert heap["allocated_bytes"] - heap["freed_bytes"] == heap["live_bytes"]
    assert sum(s["at_peak_bytes"] for s in heap["sites"]) == heap["peak_bytes"]
    assert sum(s["live_bytes"] for s in heap["sites"]) == heap["live_bytes"]
    return True


def test_python(same, runner):
    (runner.folder / "script.py").write_text(PYTHON)
    report = same("/usr/bin/python3", "script.py", env=FIXED)
    assert report["exit_status"] == 3 and both_halves(report)
    assert report["heap"]["allocations"] > 50000


def test_sqlite3(same, runner, need):
    need.tool("sqlite3")
    (runner.folder / "script.sql").write_text(SQL)
    report = same("sqlite3", ":memory:", ".read script.sql")
    assert both_halves(report)
    assert any(f["module"].startswith("libsqlite3") for f in report["cpu"]["functions"])


def test_the_compiler_and_its_children(same, runner):
    (runner.folder / "big.c").write_text(c_source(200))
    report = same("/usr/bin/gcc", "-O2", "-c", "big.c", "-o", "big.o", makes="big.o")
    assert both_halves(report)
    commands = {p["command"][0].split("/")[-1] for p in report["processes"] if p["tracked"]}
    assert {"gcc", "cc1", "as"} <= commands
    cc1 = next(p for p in report["processes"] if p["command"][0].endswith("cc1"))
    assert cc1["cpu"]["share"] > 0.5


def test_xz(same, runner):
    (runner.folder / "data").write_bytes(bytes(i * i * i // 7 % 253 for i in range(2_000_000)))
    report = same("xz", "-k", "-f", "-T2", "data", makes="data.xz")
    assert both_halves(report)


def test_a_cxx_program(same, programs):
    report = same(programs / "demo")
    assert both_halves(report)
    names = {f["name"] for f in report["cpu"]["functions"]}
    assert "Matrix::multiply(Matrix const&, Matrix&) const" in names


def test_a_rust_program(same, runner, programs, need):
    program = need.file(programs / "rust_words", "no rustc")
    report = same(program)
    assert both_halves(report)
    hot = max(report["cpu"]["functions"], key=lambda f: f["total"])
    assert any(f["name"] == "rust_words::count" and f["file"].endswith("rust_words.rs")
               for f in report["cpu"]["functions"]), hot
    assert any(frame["name"] == "rust_words::main" for site in report["heap"]["sites"]
               for frame in site["frames"])


# --- while others have the CPUs ---------------------------------------------------------------


@pytest.fixture
def busy(runner):
    """Three loops for each CPU."""
    loops = [runner.start("sh", "-c", "while :; do :; done") for _ in range(3 * os.cpu_count())]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def check_nothing_is_missing(profile):
    """What was followed is what the shim counted, image by image.  (A reallocation of a block that a fork left is a
    free and an allocation.)"""
    assert profile.spoiled_heap() == []
    assert profile.sql("SELECT * FROM heap WHERE late_events OR lost_events OR unknown_frees OR NOT peak_exact") == []
    assert profile.sql("SELECT * FROM heap WHERE allocated_bytes <> counted_bytes "
                       "OR allocations + reallocations <> counted_allocations + counted_reallocations "
                       "OR allocations - frees - inherited_frees <> counted_allocations - counted_frees") == []
    check_stored_sums(profile)


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--cpu=off"]], ids=["beside_samples", "alone"])
def test_nothing_of_python_is_missed_on_busy_cpus(busy, record, options):
    work = Path(__file__).parent.parent / "bench" / "json_work.py"
    profile = record("/usr/bin/python3", work, 20, options=["-q", *options], env=FIXED)
    check_nothing_is_missing(profile)
    assert profile.report()["heap"]["allocations"] > 1000000


@pytest.mark.long
def test_nothing_of_a_build_is_missed_on_busy_cpus(busy, runner, record, need):
    need.tool("make")
    names = [f"part{i}" for i in range(12)]
    for name in names:
        (runner.folder / f"{name}.c").write_text(c_source(20))
    (runner.folder / "Makefile").write_text(f"all: {' '.join(f'{name}.o' for name in names)}\nCC = /usr/bin/gcc\n")
    profile = record("make", "-j2", options=["-q"])
    check_nothing_is_missing(profile)
    programs = profile.sql("SELECT executable FROM v_process WHERE executed AND tracked")
    assert sum(path.endswith("/cc1") for path, in programs) == len(names)


# --- what others test themselves with ---------------------------------------------------------

PYTHON_LIBRARY = "/usr/lib/python3.11/test"
PYTHON_TESTS = ["ctypes", "fork1", "gc", "json", "mmap", "os", "popen", "shutil", "signal", "subprocess", "thread",
                "threading", "tracemalloc", "zlib"]


def failures(result):
    """Of python3 -m test -w: what failed the last time it was tried."""
    output = result.stdout + result.stderr
    return set(re.findall(r"^(?:FAIL|ERROR): .*", output.rpartition("Re-running failed tests")[2], re.MULTILINE))


@pytest.mark.long
@pytest.mark.parametrize("module", PYTHON_TESTS)
def test_pythons_own_tests(runner, record, need, module):
    """Threads, signals, processes, foreign code: what fails there fails without cprof, too."""
    name = f"test_{module}"
    need.file(f"{PYTHON_LIBRARY}/test_json", "libpython3.11-testsuite")
    command = ["/usr/bin/python3", "-m", "test", "-w", name]
    plain = runner.run(*command, timeout=600)
    profile = record(*command, status=None, options=["-q"], timeout=600)
    assert "Tests result: " in plain.stdout
    assert failures(profile) == failures(plain)
    assert profile.returncode == plain.returncode
    assert profile.sql("SELECT tracked FROM process WHERE parent IS NULL AND image = 0") == [(1,)]


# Of modules that take long, the parts with processes, pipes and signals.
PYTHON_PARTS = {
    "test_asyncio": ["test.test_asyncio.test_subprocess.*", "test.test_asyncio.test_unix_events.*",
                     "test.test_asyncio.test_streams.*"],
    "test_concurrent_futures": ["ThreadPoolExecutorTest", "ProcessPoolForkProcessPoolExecutorTest"],
    "test_faulthandler": ["*"],
    "test_multiprocessing_fork": ["WithProcessesTestProcess"],
    "test_multiprocessing_spawn": ["WithProcessesTestQueue"],
}


@pytest.mark.long
@pytest.mark.parametrize("module", PYTHON_PARTS)
@pytest.mark.parametrize("malloc", ["malloc", "pymalloc"])
def test_pythons_own_tests_of_processes(runner, record, need, module, malloc):
    """Those that fail are run once more: they are for machines with time."""
    need.file(f"{PYTHON_LIBRARY}/test_json", "libpython3.11-testsuite")
    parts = [word for part in PYTHON_PARTS[module] for word in ("-m", part)]
    command = ["/usr/bin/python3", "-m", "test", "-w", *parts, module]
    env = {"PYTHONMALLOC": malloc}
    plain = runner.run(*command, env=env, timeout=500)
    profile = record(*command, status=plain.returncode, options=["-q"], env=env, timeout=600)
    assert "Tests result: SUCCESS" in plain.stdout or plain.returncode
    # Not by JSON, which has all stacks of each of hundreds of interpreters.
    assert profile.sql("SELECT tracked FROM process WHERE parent IS NULL AND image = 0") == [(1,)]
    assert "PROCESSES" in profile.text()


def operations(text):
    """Of stress-ng: how often each stressor did what it does."""
    return dict(re.findall(r"metrc: \[\d+\] (\w+) +(\d+) +[\d.]+ ", text))


STRESSORS = {"malloc": 20000, "vm": 2000, "fork": 200, "exec": 50, "dynlib": 200}


@pytest.mark.long
def test_stressors(nobody, need):
    """As an ordinary user: root may not run exec."""
    command = [need.tool("stress-ng"), "--vm-bytes", "64M", "--metrics-brief"]
    for name, number in STRESSORS.items():
        command += [f"--{name}", "1", f"--{name}-ops", number]
    plain = nobody.run(*command, timeout=600)
    profile = nobody.record(*command, status=plain.returncode, options=["-q"], timeout=600)
    done = operations(plain.stdout + plain.stderr)
    assert plain.returncode == 0 and done.keys() == STRESSORS.keys()
    assert all(int(done[name]) >= number for name, number in STRESSORS.items())
    assert operations(profile.stdout + profile.stderr) == done
    assert profile.report()["heap"]["tracked"]


def serve(runner, name, *before):
    """What redis-server keeps after redis-benchmark, and how both ended."""
    folder = runner.folder / name
    folder.mkdir()
    socket = str(folder / "socket")
    server = runner.start(*before, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                          "--dir", str(folder), "--daemonize", "no", "--logfile", "log")
    deadline = time.monotonic() + 60
    while not (folder / "socket").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    load = runner.run("redis-benchmark", "-s", socket, "-q", "-n", "20000", "-t", "set,get,lpush,lrange_100,mset",
                      timeout=600)
    keys = runner.run("redis-cli", "-s", socket, "llen", "mylist").stdout
    runner.run("redis-cli", "-s", socket, "shutdown", "nosave")
    return keys, load.returncode, server.wait(120)


@pytest.mark.long
def test_a_server_under_load(runner, cprof, need):
    need.tool("redis-server")
    need.tool("redis-benchmark")
    profile = runner.folder / "redis.data"
    plain = serve(runner, "plain")
    recorded = serve(runner, "recorded", cprof, "record", "-q", "-o", profile)
    assert recorded == plain and plain[1:] == (0, 0)
    heap = json.loads(runner.run(cprof, "report", "heap", "--json", profile).stdout)["heap"]
    assert heap["peak_exact"] and heap["allocations"] > 100000 and heap["counted"]["difference"] == 0
