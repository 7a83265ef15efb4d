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
