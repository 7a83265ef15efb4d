# SPDX-License-Identifier: MIT
"""What is recorded of programs that are unusual to start, to find or to name."""

import json
import os
import re
import shutil
import subprocess

import pytest


# --- what can be run at all ----------------------------------------------------------------------

HOSTILE = b"\033[31mx y\n\007\xc2\x9b\xff"


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


def test_a_static_executable_without_the_cpu_side(record, programs):
    profile = record(programs / "static", options=["--cpu=off"])
    assert "static executable" in why_untracked(profile, "static")
    assert "static executable" in profile.report()["heap"]["reason"]


def test_static_executables_that_end_at_once(record, runner, need):
    """Before anybody could look at them."""
    need.tool("gcc")
    (runner.folder / "ends.c").write_text("int main(void) { return 0; }")
    runner.run("gcc", "-static", "-o", "ends", "ends.c")
    profile = record("sh", "-c", "for i in $(seq 300); do ./ends; done; ./ends", status=None)
    assert profile.sql("SELECT DISTINCT untracked_reason LIKE 'static executable%' FROM process"
                       " WHERE executable LIKE '%/ends'") == [(1,)]


def test_a_loader_takes_the_shim(record, programs, need):
    loader = need.file("/lib64/ld-linux-x86-64.so.2", "the loader of another machine is elsewhere")
    profile = record(loader, programs / "heap_sites", "/dev/null", options=["--cpu=off", "--heap=exact"])
    assert profile.sql("SELECT tracked FROM process") == [(1,)]


DROPPING = """
#define _GNU_SOURCE
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	if (setgroups(0, 0) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			for (int j = 0; j < 1000; j++)
				malloc(100);
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
"""


def test_who_gave_up_to_be_root_is_accounted(record, runner, nobody, programs, need):
    """What it executes, and what it forks."""
    need.tool("gcc")
    program = shutil.copy(programs / "heap_sites", nobody.folder)
    profile = record(need.tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", program, "/dev/null")
    assert profile.sql("SELECT tracked, untracked_reason FROM process") == [(1, None)] * 2
    (runner.folder / "dropping.c").write_text(DROPPING)
    assert runner.run("gcc", "-fno-builtin", "-w", "-o", "dropping", "dropping.c").returncode == 0
    heap = record(runner.folder / "dropping").report()["heap"]
    assert heap["allocations"] == 3000 and heap["peak_exact"]


def test_a_program_with_capabilities(nobody, programs, need):
    need.root()
    program = nobody.folder / "burn"
    shutil.copy(programs / "burn", program)
    if subprocess.run([need.tool("setcap"), "cap_net_raw+ep", program], capture_output=True).returncode:
        pytest.skip("setcap is refused here")
    profile = nobody.record(program, 100, status=3)
    assert "capabilities" in profile.report()["heap"]["reason"]


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


@pytest.mark.parametrize("options", [["-U"], ["-Ur"], ["-Urm"], ["-Urpf", "--mount-proc"]], ids=" ".join)
def test_other_namespaces_of_a_user_are_no_obstacle(nobody, programs, options):
    """The recorder hands out its memory at a socket where /proc does not lead there."""
    can_unshare(nobody, *options)
    program = shutil.copy(programs / "heap_sites", nobody.folder)
    profile = nobody.record("unshare", *options, program, "/dev/null")
    assert profile.sql("SELECT tracked, untracked_reason FROM process WHERE executable LIKE '%/heap_sites'") == [
        (1, None)]
    assert profile.report()["heap"]["peak_exact"] is True


def test_a_user_namespace_with_a_network_of_its_own_is_named(nobody, programs):
    can_unshare(nobody, "-Urn")
    program = shutil.copy(programs / "burn", nobody.folder)
    profile = nobody.record("unshare", "-Urn", program, 300, status=3)
    assert "user namespace" in why_untracked(profile, "burn")
    assert "seventy" in {f["name"] for f in profile.report()["cpu"]["functions"]}


@pytest.mark.parametrize("network", [False, True])
def test_another_pid_namespace_with_a_proc_of_its_own(runner, record, programs, need, network):
    need.root()
    options = ["-pf", "--mount-proc", *(["-n"] if network else [])]
    can_unshare(runner, *options)
    profile = record("unshare", *options, programs / "burn", 300, status=3)
    if network:
        assert "network namespace" in why_untracked(profile, "burn")
    else:
        assert profile.sql("SELECT tracked FROM process WHERE executable LIKE '%/burn'") == [(1,)]


def test_a_root_without_proc_is_no_obstacle(need, runner, record, programs, cprof):
    need.root()
    root = runner.folder / "root"
    libraries = subprocess.run(["ldd", programs / "burn"], capture_output=True, text=True).stdout.split()
    for file in [str(programs / "burn"), str(cprof.parent / "libcprof-heap.so"),
                 *(word for word in libraries if word.startswith("/"))]:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    profile = record("chroot", root, programs / "burn", 10, status=3)
    assert profile.sql("SELECT max(tracked) FROM process WHERE tracked AND image > 0") == [(1,)]


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


# --- names -----------------------------------------------------------------------------------------

HOSTILE_SOURCE = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
static volatile double sink;
static void *volatile kept;
__attribute__((noinline)) void NAME_OF_THE_WORK(void) { for (long i = 0; i < 300000; i++) sink += i; }
__attribute__((noinline)) void NAME_OF_THE_LEAK(void) { kept = malloc(77); memset(kept, 1, 77); }
int main(void)
{
	struct timespec used;
	prctl(PR_SET_NAME, "\033]0;x\007\n\377");
	NAME_OF_THE_LEAK();
	do {
		NAME_OF_THE_WORK();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_nsec < 150000000 && !used.tv_sec);
	return 5;
}
"""


def build_hostile(folder):
    """A program with escape sequences and bytes that are no UTF-8 in its path, its source's and its functions' names."""
    home = os.fsencode(folder) + b"/" + HOSTILE
    os.mkdir(home)
    source, program = home + b"/" + HOSTILE + b".c", home + b"/p" + HOSTILE
    with open(source, "w") as file:
        file.write(HOSTILE_SOURCE)
    subprocess.run([b"gcc", b"-O2", b"-g", b"-o", program, source], check=True)
    with open(program, "r+b") as file:
        binary = file.read()
        for name, hostile in ((b"NAME_OF_THE_WORK", b"work\033[2J\007\n\xff\xc2\x9b"),
                              (b"NAME_OF_THE_LEAK", b"leak\033]0;x\007\xfe\xfd")):
            binary = binary.replace(name, hostile.ljust(len(name), b"!"))
        file.seek(0)
        file.write(binary)
    return program


def test_hostile_names_cannot_command_the_terminal(anybody, need):
    need.tool("gcc")
    program, run = build_hostile(anybody.folder), anybody.cprof_run
    output = os.fsencode(anybody.folder) + b"/profile" + HOSTILE
    result = run("record", "-o", os.fsdecode(output), os.fsdecode(program), os.fsdecode(HOSTILE), text=False)
    assert result.returncode == 5 and result.stdout == b""
    texts = [result.stderr, run("stat", os.fsdecode(program), os.fsdecode(HOSTILE), text=False).stderr]
    views = run("report", "no-such-view").stderr.split("views are: ")[1].strip().split(", ")
    for view in views:
        result = run("report", view, os.fsdecode(output), text=False)
        assert result.returncode == 0 and result.stderr == b"", (view, result.stderr)
        texts.append(result.stdout)
    for text in texts:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text.decode()), text
    assert {"summary", "functions", "heap"} <= set(views)
    assert any(b"work\\x1b[2J\\x07\\n" in text for text in texts) and any(b"leak\\x1b]0;x" in text for text in texts)
    report = json.loads(run("report", "--json", os.fsdecode(output)).stdout)
    assert report["command"][1].startswith("\033[31mx y\n") and report["complete"]
    assert [f for f in report["cpu"]["functions"] if f["name"].startswith("work\033[2J\007\n") and f["self"] > 0.5]
    stacks = [site["stack"] for site in report["heap"]["sites"]]
    assert [stack for stack in stacks if stack[-2].startswith("leak\033]0;x")], "the file is the same to both sides"


@pytest.mark.parametrize("debug", [["-g"], []], ids=["DWARF", "symbols"])
def test_functions_with_very_long_names_are_named_whole(record, runner, need, debug):
    need.tool("gcc")
    name = "x" * 70000
    (runner.folder / "long.c").write_text(
        HOSTILE_SOURCE.replace("NAME_OF_THE_WORK", f"work_{name}").replace("NAME_OF_THE_LEAK", f"leak_{name}"))
    assert runner.run("gcc", "-O1", *debug, "-o", "long", "long.c").returncode == 0
    report = record("./long", status=5).report()
    assert report["cpu"]["functions"][0]["name"] == f"work_{name}"
    assert report["heap"]["sites"][0]["stack"] == ["main", f"leak_{name}", "malloc"]


@pytest.mark.parametrize("name", ["with space", "line\nbreak", "'quoted' \"twice\"", "$(false)", "-q", "caf\udce9"])
def test_a_program_of_any_name_is_run_and_named(name, record, runner, programs):
    (runner.folder / name).symlink_to(programs / "burn")
    profile = record(f"./{name}", 300, status=3)
    assert profile.stdout == "done\n"
    report = profile.report()
    assert report["command"] == [f"./{name}".replace("\udce9", "\ufffd"), "300"]
    assert {"seventy", "thirty"} <= {f["name"] for f in report["cpu"]["functions"]}


def test_a_script_whose_interpreter_is_a_script(record, runner):
    (runner.folder / "inner").write_text("#!/bin/sh\necho inner \"$@\"\nexec /bin/sh \"$@\"\n")
    (runner.folder / "outer").write_text(f"#!{runner.folder}/inner -e\necho outer $1\nfalse\necho not reached\n")
    for name in ("inner", "outer"):
        (runner.folder / name).chmod(0o755)
    profile = record("./outer", "a b", status=1)
    assert profile.stdout == "inner -e ./outer a b\nouter a b\n"
    assert profile.report()["heap"]["tracked"] is True


# --- code that is in no file -----------------------------------------------------------------------

def test_code_of_the_vdso_is_named(record, runner, need):
    need.tool("gcc")
    (runner.folder / "clock.c").write_text(
        "#include <time.h>\nint main(void)\n{\n\tstruct timespec t, used;\n\tdo {\n"
        "\t\tfor (int i = 0; i < 1000; i++)\n\t\t\tclock_gettime(CLOCK_MONOTONIC, &t);\n"
        "\t\tclock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);\n"
        "\t} while (used.tv_nsec < 300000000 && !used.tv_sec);\n\treturn 0;\n}\n")
    assert runner.run("gcc", "-O2", "-g", "-o", "clock", "clock.c").returncode == 0
    report = record("./clock", options=["--heap=off"]).report()
    functions = report["cpu"]["functions"]
    inside = [f for f in functions if f["module"] == "[vdso]"]
    if sum(f["self"] for f in inside) < 0.2:
        pytest.skip("the clock is read by a system call here")
    assert any(f["name"] in ("clock_gettime", "__vdso_clock_gettime", "__kernel_clock_gettime") and f["total"] > 0.2
               for f in inside), inside
    assert not any("-g" in entry["detail"] for entry in report["quality"] if "[vdso]" in entry["detail"])
    [main] = [f for f in functions if f["name"] == "main"]
    assert main["total"] > 0.8  # found from inside the vDSO
