# SPDX-License-Identifier: MIT
"""What is recorded of programs that are unusual to start, to find or to name."""

import shutil
import subprocess

import pytest


# --- what can be run at all ----------------------------------------------------------------------

@pytest.mark.parametrize("command", ["record", "stat"])
@pytest.mark.parametrize("way", ["path", "PATH"])
def test_a_program_for_another_cpu_is_refused_and_not_run_by_the_shell(command, way, run, runner, programs):
    """execvp() has /bin/sh run what the kernel refuses."""
    binary = bytearray((programs / "burn").read_bytes())
    binary[18:20] = b"\xff\x7f"  # e_machine
    (runner.folder / "alien").write_bytes(binary)
    (runner.folder / "alien").chmod(0o755)
    if way == "path":
        result = run(command, "./alien")
    else:
        result = run(command, "alien", env={"PATH": f"{runner.folder}:/usr/bin:/bin"})
    assert result.returncode == 126
    assert "alien: Exec format error" in result.stderr and "another kind of CPU" in result.stderr
    assert "yntax" not in result.stderr


# --- what keeps the heap from being accounted is named --------------------------------------------

def why_untracked(profile, program):
    """The reason of the image whose executable ends so."""
    rows = profile.sql("SELECT tracked, untracked_reason FROM process WHERE executable LIKE '%/' || ?", program)
    assert rows, profile.sql("SELECT executable FROM process")
    [(tracked, reason)] = rows
    assert not tracked
    return reason


@pytest.mark.parametrize("options", [[], ["--cpu=off"]], ids=["cpu", "no cpu"])
def test_a_static_executable(options, record, programs):
    profile = record(programs / "static", options=options)
    assert "static executable" in why_untracked(profile, "static")
    assert "static executable" in profile.report()["heap"]["reason"]


def test_a_root_without_the_shim(need, runner, record, programs):
    need.root()
    root = runner.folder / "root"
    libraries = subprocess.run(["ldd", programs / "burn"], capture_output=True, text=True).stdout.split()
    for file in [str(programs / "burn"), *(word for word in libraries if word.startswith("/"))]:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    profile = record("chroot", root, programs / "burn", 300, status=3)
    assert "not in its file system" in why_untracked(profile, "burn")
    assert {"seventy", "thirty"} <= {f["name"] for f in profile.report()["cpu"]["functions"]}


def can_unshare(runner, *options):
    result = runner.run("unshare", *options, "true")
    if result.returncode:
        pytest.skip(f"unshare {' '.join(options)}: {result.stderr.strip()}")


def test_another_user_namespace(nobody, programs):
    can_unshare(nobody, "-Ur")
    program = shutil.copy(programs / "burn", nobody.folder)
    profile = nobody.record("unshare", "-Ur", program, 300, status=3)
    assert "user namespace" in why_untracked(profile, "burn")
    assert "seventy" in {f["name"] for f in profile.report()["cpu"]["functions"]}


def test_another_pid_namespace_with_a_proc_of_its_own(runner, record, programs, need):
    need.root()
    can_unshare(runner, "-pf", "--mount-proc")
    profile = record("unshare", "-pf", "--mount-proc", programs / "burn", 10, status=3)
    assert "PID namespace" in why_untracked(profile, "burn")


def test_a_pid_namespace_under_our_proc_is_no_obstacle(runner, record, programs, need):
    need.root()
    can_unshare(runner, "-pf")
    profile = record("unshare", "-pf", programs / "burn", 10, status=3)
    assert ("burn", 1) in [(path.rsplit("/", 1)[-1], tracked)
                           for path, tracked in profile.sql("SELECT executable, tracked FROM process")]


# --- files that go away ---------------------------------------------------------------------------

SIDES = pytest.mark.parametrize("options", [[], ["--cpu=off"]], ids=["both", "heap"])


def check_vanished(profile):
    """Names from the file that ran, as the side that is on saw it."""
    report = profile.report()
    if report["cpu"]["event"]:
        [work] = [f for f in report["cpu"]["functions"] if f["name"] == "work"]
        assert work["self"] > 0.5 and work["file"].endswith("vanish.c")
    if report["heap"]["tracked"]:
        [site] = report["heap"]["sites"]
        assert site["stack"] == ["main", "forget", "malloc"] and site["live_bytes"] == 1234
    assert report["cpu"]["event"] or report["heap"]["tracked"]
    return {f["name"] for f in report["cpu"].get("functions") or []}


@SIDES
def test_a_program_that_removes_itself_keeps_its_names(options, record, runner, programs):
    check_vanished(record(shutil.copy(programs / "vanish", runner.folder), options=options))
    assert not (runner.folder / "vanish").exists()


@SIDES
def test_a_program_replaced_while_it_runs_keeps_its_names(options, record, runner, programs):
    other = shutil.copy(programs / "burn", runner.folder / "other")
    names = check_vanished(record(shutil.copy(programs / "vanish", runner.folder), other, options=options))
    assert not other.exists() and not names & {"seventy", "thirty"}


@SIDES
def test_both_hold_for_an_ordinary_user(options, nobody, programs):
    """Who may not look into /proc/PID/map_files."""
    for other in ([], [shutil.copy(programs / "burn", nobody.folder / "other")]):
        program = shutil.copy(programs / "vanish", nobody.folder / "vanish")
        check_vanished(nobody.record(program, *other, options=options))


def test_names_are_kept_when_the_file_is_rebuilt_afterwards(record, run, runner, programs):
    """Symbolized again, the build id tells that another file is there."""
    program = shutil.copy(programs / "burn", runner.folder)
    profile = record(program, 200, options=["--heap=off"], status=3)
    shutil.copy(programs / "vanish", program)
    result = run("symbolize", profile.path)
    assert result.returncode == 0, result.stderr
    names = {f["name"] for f in profile.report()["cpu"]["functions"] if f["module"] == "burn"}
    assert {"seventy", "thirty"} <= names and "work" not in names


def test_a_program_in_a_mount_namespace_of_its_own_is_named(record, runner, programs, need):
    """What it ran is nowhere to be seen from here, then or later."""
    need.root()
    can_unshare(runner, "-m")
    (runner.folder / "hidden").mkdir()
    script = 'mount -t tmpfs none hidden && cp "$1" hidden/inner && hidden/inner 300; exit $?'
    profile = record("unshare", "-m", "sh", "-c", script, "sh", programs / "burn", status=3)
    assert not (runner.folder / "hidden" / "inner").exists()
    functions = {f["name"]: f for f in profile.report()["cpu"]["functions"]}
    assert functions["seventy"]["module"] == "inner" and functions["seventy"]["file"].endswith("burn.c")
