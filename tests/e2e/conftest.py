# SPDX-License-Identifier: MIT
"""Fixtures of the end-to-end tests.

    def test_burns_in_two_functions(record, programs):
        profile = record(programs / "burn", "3")
        cpu = profile.report()["cpu"]
        assert cpu["samples"] > 100

CPROF names the cprof under test and PROGRAMS the folder of built tests/programs; `make check-e2e`
sets both.  Each test runs in a folder of its own (tmp_path).  A test that cannot run here says why:
need.pmu(), need.tool("valgrind"), nobody (root only).  Everything runs with a clean environment
and a time limit, so that a hang is a failure.
"""

import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

pytest_plugins = ["frames", "shim_events"]

TIME_LIMIT_S = 300

# Files that --quick leaves out as wholes: each of their tests runs real programs, or programs under stress.
SLOW_FILES = {f"test_{name}.py" for name in (
    "attach", "bench", "damaged_files", "debug_files", "debuginfod", "guest", "heap_modes", "heap_shapes",
    "inline_chains", "jobs", "own_allocators", "reach", "real_programs", "remedies", "shim", "stat_attach",
    "stops", "timeline", "trees", "untracked")}

# What would change the output of cprof or of the programs under it.
FOREIGN = ("DEBUGINFOD_URLS", "NO_COLOR", "PAGER", "COLUMNS", "LESS", "LD_PRELOAD", "SUDO_UID", "SUDO_GID")


def clean_environment(extra=None):
    env = {k: v for k, v in os.environ.items() if k not in FOREIGN and not k.startswith("CPROF")}
    env["LC_ALL"] = "C.UTF-8"
    env.update(extra or {})
    return env


class Runner:
    """Runs commands in a folder, as us or as another user."""

    def __init__(self, folder, cprof, user=None):
        self.folder = Path(folder)
        self.cprof = Path(cprof)
        self.user = user

    def _popen_arguments(self, env, cwd):
        arguments = {"cwd": cwd or self.folder, "env": clean_environment(env)}
        if self.user:
            entry = pwd.getpwnam(self.user)
            arguments.update(user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])
            arguments["env"]["HOME"] = str(self.folder)
        return arguments

    def start(self, *command, env=None, cwd=None, **popen):
        """A subprocess.Popen; ends with the test at the latest if used as context manager."""
        return subprocess.Popen([str(c) for c in command], **self._popen_arguments(env, cwd), **popen)

    def run(self, *command, env=None, cwd=None, text=True, input=None, timeout=TIME_LIMIT_S, **popen):
        """A finished subprocess.CompletedProcess with stdout and stderr; never raises on failure."""
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        if input is None:
            popen.setdefault("stdin", subprocess.DEVNULL)
        else:
            popen["input"] = input
        if text:
            popen.setdefault("errors", "surrogateescape")
        return subprocess.run([str(c) for c in command], text=text, timeout=timeout,
                              **self._popen_arguments(env, cwd), **popen)

    def cprof_run(self, *arguments, **options):
        return self.run(self.cprof, *arguments, **options)

    def record(self, program, *arguments, options=(), output="cprof.data", status=0, **run):
        """Records one run.  status: the exit status expected, None for any."""
        result = self.cprof_run("record", "-o", output, *options, "--", program, *arguments, **run)
        assert status is None or result.returncode == status, result.stderr
        return Profile(self, self.folder / output, result)

    def is_recording(self, output="cprof.data"):
        """Whether a recording in this folder has begun: its first commit is there."""
        try:
            connection = sqlite3.connect(f"file:{self.folder / output}?mode=ro", uri=True)
            rows = connection.execute("SELECT value FROM meta WHERE key = 'complete'").fetchall()
            connection.close()
        except sqlite3.Error:
            return False
        return rows == [(0,)]


class Profile:
    """A recorded profile and the run that made it."""

    def __init__(self, runner, path, result):
        self.runner, self.path, self.result = runner, path, result
        self.returncode, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr

    def report(self, *arguments):
        """`cprof report ARGUMENTS --json`, parsed."""
        result = self.runner.cprof_run("report", *arguments, "--json", self.path)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def text(self, *arguments):
        """`cprof report ARGUMENTS`, as printed to a file."""
        result = self.runner.cprof_run("report", *arguments, self.path)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def sql(self, query, *parameters):
        """The rows of an SQL query on the file."""
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return connection.execute(query, parameters).fetchall()
        finally:
            connection.close()

    def spoiled_heap(self):
        """What the quality ledger says against the heap's figures.  It may say of samples that the
        kernel dropped some: nobody promises that the recorder gets a CPU in time."""
        return self.sql("SELECT * FROM quality WHERE kind IN ('lost', 'bounded', 'untracked') "
                        "AND detail NOT LIKE 'samples dropped%'")


def wait_for(condition, seconds=20):
    """Waits until the condition holds; the last value either way."""
    until = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return value


def tell(program, stage):
    """A line for its standard input, until it says the same."""
    program.stdin.write(f"{stage}\n")
    program.stdin.flush()
    assert program.stdout.readline() == f"{stage}\n"


def cpu_used_s(pid):
    """What the kernel says that a process has used until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_running(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


SQLITE_SOURCE = "sqlite3.c"


class Need:
    """Skips a test with the reason when this machine lacks something."""

    def tool(self, name):
        path = shutil.which(name)
        if not path:
            pytest.skip(f"{name} is not installed")
        return path

    def file(self, path, why):
        if not os.path.exists(path):
            pytest.skip(f"{path} is not there: {why}")
        return Path(path)

    def sqlite_source(self, folder):
        """Of all that can be fetched with a package manager, this has the one large C file in it."""
        npm = self.tool("npm")
        fetched = subprocess.run([npm, "pack", "better-sqlite3"], cwd=folder, capture_output=True, text=True)
        if fetched.returncode:
            pytest.skip("npm has no network: " + fetched.stderr.strip().splitlines()[-1])
        subprocess.run(["tar", "-xzf", fetched.stdout.split()[-1], "--strip-components=3", "package/deps/sqlite3"],
                       cwd=folder, check=True)
        return folder / SQLITE_SOURCE

    def pmu(self):
        if not has_pmu():
            pytest.skip("no hardware PMU: perf offers no 'cycles' here")

    def perf(self):
        """Any sampling at all, as the user of the test."""
        if paranoid() > 2 and os.geteuid() != 0:
            pytest.skip(f"perf_event_paranoid is {paranoid()}: perf is refused to this user")

    def kernel(self):
        """Counts of what the kernel does, such as page faults and switches, while it happens."""
        if paranoid() > 1 and os.geteuid() != 0:
            pytest.skip(f"perf_event_paranoid is {paranoid()}: this user counts user code only")

    def root(self):
        if os.geteuid() != 0:
            pytest.skip("needs root")


def has_pmu():
    """A CPU PMU registers itself as 'cpu' (x86), 'cpu_core' (hybrid) or 'armv8_...'."""
    devices = os.listdir("/sys/bus/event_source/devices")
    return any(d.startswith(("cpu", "armv8")) for d in devices)


def paranoid():
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that hangs fails instead.  @pytest.mark.time_limit(SECONDS) is for one that takes long."""
    own = request.node.get_closest_marker("time_limit")
    limit_s = own.args[0] if own else TIME_LIMIT_S * (4 if request.node.get_closest_marker("long") else 1)

    def give_up(number, frame):
        raise TimeoutError(f"not done within {limit_s} s")
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(limit_s)
    yield
    signal.alarm(0)


@pytest.fixture(scope="session")
def cprof():
    path = Path(os.environ.get("CPROF", "build/release/cprof")).resolve()
    assert path.exists(), f"{path} is not built; run `make check-e2e`"
    return path


@pytest.fixture(scope="session")
def programs():
    return Path(os.environ.get("PROGRAMS", "build/release/programs")).resolve()


@pytest.fixture
def need():
    return Need()


@pytest.fixture
def runner(cprof, tmp_path):
    return Runner(tmp_path, cprof)


@pytest.fixture
def run(runner):
    """run("record", "--", "true"): cprof with these arguments."""
    return runner.cprof_run


@pytest.fixture
def program(runner):
    """program(command...): started, and its first line read; ended with the test."""
    started = []

    def start(*command, starter=runner, **options):
        process = starter.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        started.append(process)
        process.first_line = process.stdout.readline().strip()
        return process

    yield start
    for process in started:
        process.kill()
        process.stdin.close()
        process.wait()


@pytest.fixture
def record(runner):
    """record(program, *arguments, options=[...]): a Profile."""
    return runner.record


@pytest.fixture
def nobody(cprof):
    """A Runner as an ordinary user, in a folder of that user's; skips when we are not root."""
    if os.geteuid() != 0:
        pytest.skip("only root can run something as nobody (the other tests ran as an ordinary user)")
    folder = Path(tempfile.mkdtemp(prefix="cprof-nobody-"))
    entry = pwd.getpwnam("nobody")
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    try:
        yield Runner(folder, reachable_copy(cprof, folder), user="nobody")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["root", "nobody"])
def anybody(request, runner):
    """A Runner as we are, and as an ordinary user."""
    return runner if request.param == "root" else request.getfixturevalue("nobody")


def reachable_copy(cprof, folder):
    """cprof and its shim where everybody can read them (a checkout may be below /root)."""
    for file in (cprof, cprof.parent / "libcprof-heap.so"):
        if file.exists():
            shutil.copy(file, folder)
            os.chmod(folder / file.name, 0o755)
    return folder / cprof.name


def pytest_addoption(parser):
    for option, help in (("--quick", "leave out tests marked slow"), ("--full", "the default"),
                         ("--long", "also tests marked long")):
        parser.addoption(option, action="store_true", help=help)


def pytest_configure(config):
    # Started in the background by a shell, or by nohup, we would hand down that these are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.addinivalue_line("markers", "slow: left out by scripts/check --quick")
    config.addinivalue_line("markers", "long: only with scripts/check --long")
    config.addinivalue_line("markers", "time_limit(seconds): instead of TIME_LIMIT_S")


def pytest_collection_modifyitems(config, items):
    left_out = {"long"} if not config.getoption("--long") else set()
    left_out |= {"slow"} if config.getoption("--quick") else set()
    files_left_out = SLOW_FILES if config.getoption("--quick") else set()
    deselected = [item for item in items if any(item.get_closest_marker(name) for name in left_out) or
                  item.path.name in files_left_out]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if item not in deselected]


def pytest_report_header(config):
    return [f"cprof: PMU {'yes' if has_pmu() else 'no'}, perf_event_paranoid {paranoid()}, uid {os.geteuid()}"]
