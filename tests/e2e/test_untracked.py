# SPDX-License-Identifier: MIT
"""Programs whose heap cannot be accounted are named with the reason, never an empty table."""

import os
import shutil
import stat

import pytest


def untracked(report):
    return [row["detail"] for row in report["quality"] if row["kind"] == "untracked"]


@pytest.mark.parametrize("program, reason", [
    ("static", "static executable"),
    ("own_malloc", "malloc"),
])
def test_the_program_itself(record, programs, program, reason):
    report = record(programs / program).report()
    heap = report["heap"]
    assert heap["tracked"] is False and reason in heap["reason"]
    assert heap["allocations"] is None and heap["peak_bytes"] is None
    assert report["processes"][0]["tracked"] is False
    assert any(program in detail and reason in detail for detail in untracked(report))


@pytest.mark.parametrize("mode", ["exact", "sample", "counts"])
def test_a_program_is_not_run_if_its_heap_is_asked_for(runner, programs, mode):
    result = runner.cprof_run("record", f"--heap={mode}", programs / "static")
    assert result.returncode == 125 and "static executable" in result.stderr
    assert not (runner.folder / "cprof.data").exists()
    assert runner.cprof_run("record", "-q", f"--heap={mode}", "sh", "-c", f"'{programs}/static'").returncode == 0


def test_the_cpu_half_of_a_static_executable(record, programs):
    report = record(programs / "static").report()
    functions = {function["name"]: function for function in report["cpu"]["functions"]}
    assert functions["main"]["self"] > 0.8


def test_one_among_others(record, programs):
    report = record("sh", "-c", f"'{programs}/static'; ls >list; '{programs}/own_malloc'").report()
    assert report["heap"]["tracked"] is True
    tracked = {process["command"][0].rsplit("/")[-1]: process["tracked"] for process in report["processes"]
               if process["image"] > 0 or process["parent"] is None}
    assert tracked == {"sh": True, "static": False, "ls": True, "own_malloc": False}
    assert len(untracked(report)) == 2


def test_a_fork_without_exec_is_followed(record):
    report = record("sh", "-c", "(echo a; echo b) >out; (echo c) | cat >out2").report()
    assert untracked(report) == []
    assert all(process["tracked"] for process in report["processes"])


def test_a_cleaned_environment_is_no_reason(record):
    report = record("env", "-i", "/bin/ls").report()
    assert [process["tracked"] for process in report["processes"]] == [True, True]
    assert untracked(report) == []


@pytest.mark.parametrize("compiler, sanitizer, how", [
    ("gcc", "address", ""), ("gcc", "leak", ""), ("gcc", "thread", ""),
    ("gcc", "address", "-static-libasan"),
    ("gcc", "leak", "-static-liblsan"),
    ("gcc", "thread", "-static-libtsan"),
    ("clang", "address", ""), ("clang", "leak", ""), ("clang", "memory", ""), ("clang", "thread", ""),
])
def test_a_program_with_a_sanitizer_runs_as_ever(record, runner, need, compiler, sanitizer, how):
    """libasan stops a program in which another library comes first, the child of a shell too."""
    need.tool(compiler)
    source = runner.folder / "sanitized.c"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(9)); return 3; }\n")
    made = runner.run(compiler, f"-fsanitize={sanitizer}", *how.split(), source, "-o", "sanitized")
    if made.returncode:
        pytest.skip(f"{compiler} makes no program with -fsanitize={sanitizer} {how}")
    for command in ["./sanitized"], ["sh", "-c", "env -i ./sanitized; exit $?"]:
        profile = record(*command, status=3)
        assert profile.stdout == "" and "ASan runtime" not in profile.stderr
        assert any("sanitizer" in detail for detail in untracked(profile.report()))


@pytest.mark.parametrize("tool", ["memcheck", "dhat"])
def test_a_program_in_valgrind_runs_as_ever(tool, record, runner, need):
    need.tool("valgrind")
    command = ["valgrind", f"--tool={tool}", "-q", "--error-exitcode=5", "ls", "/"]
    alone = runner.run(*command)
    profile = record(*command, options=["--no-symbols"], status=alone.returncode)
    assert alone.returncode == 0 and profile.stdout == alone.stdout
    assert "==" not in profile.stderr and "--" not in profile.stderr.replace(" ".join(command), "")
    assert any("run by valgrind" in detail for detail in untracked(profile.report()))


def test_a_program_that_ends_while_it_is_loaded(record, runner, need):
    """No guess that blames its environment alone: a library is missing, or a signal was faster."""
    need.tool("gcc")
    (runner.folder / "gone.c").write_text("int gone(void) { return 1; }\n")
    (runner.folder / "user.c").write_text("int gone(void);\nint main(void) { return gone(); }\n")
    for command in (["-shared", "-fPIC", "-o", "libgone.so", "gone.c"], ["-o", "user", "user.c", "./libgone.so"]):
        assert runner.run("gcc", *command).returncode == 0
    (runner.folder / "libgone.so").unlink()
    profile = record("./user", status=127)
    assert "libgone.so" in profile.stderr
    heap = profile.report()["heap"]
    assert heap["tracked"] is False and "ended before" in heap["reason"]


def test_a_set_uid_program(nobody):
    program = nobody.folder / "set-uid-true"
    shutil.copy(shutil.which("true"), program)
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    if os.statvfs(nobody.folder).f_flag & os.ST_NOSUID:
        pytest.skip(f"{nobody.folder} is mounted nosuid")
    assert program.stat().st_mode & stat.S_ISUID
    profile = nobody.record("./set-uid-true")
    report = profile.report()
    assert report["heap"]["tracked"] is False and "set-uid" in report["heap"]["reason"]


def test_preloads_of_the_user_are_kept(record, runner, need):
    need.tool("gcc")
    (runner.folder / "theirs.c").write_text("int theirs;\n")
    assert runner.run("gcc", "-shared", "-fPIC", "-o", "theirs.so", "theirs.c").returncode == 0
    theirs = str(runner.folder / "theirs.so")
    profile = record("sh", "-c", "echo $LD_PRELOAD; cat /proc/self/maps", env={"LD_PRELOAD": theirs})
    preload, *maps = profile.stdout.splitlines()
    assert preload.split(":")[0].endswith("/libcprof-heap.so") and preload.split(":")[1:] == [theirs]
    for library in preload.split(":"):
        assert any(line.endswith(library) for line in maps)
    assert profile.report()["heap"]["tracked"] is True


SHARING = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (!pid) {
			free(malloc(10));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
"""


def test_a_child_in_its_parents_memory_has_no_heap_of_its_own(record, runner, need):
    """What it allocates is its parent's."""
    need.tool("gcc")
    (runner.folder / "sharing.c").write_text(SHARING)
    assert runner.run("gcc", "-fno-builtin", "-w", "-o", "sharing", "sharing.c").returncode == 0
    report = record(runner.folder / "sharing").report()
    assert report["heap"]["allocations"] == report["heap"]["frees"] == 20
    assert all("used no heap of its own" in detail for detail in untracked(report))
