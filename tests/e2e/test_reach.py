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
