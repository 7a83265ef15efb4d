# SPDX-License-Identifier: MIT
"""Whatever the machine or the user gives it, cprof says what is wrong, once, and the program goes on."""

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess

import pytest
from conftest import Runner, wait_for

HOSTILE = b"\033[31mx\007\xc2\x9b\xff"


def shell(runner, script, *arguments, **options):
    """bash -c, with the arguments as $1, $2, ..."""
    return runner.run("bash", "-c", script, "bash", *arguments, **options)


def harmless(output):
    """Nothing a terminal would obey, and valid UTF-8."""
    text = output.decode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), ascii(text)
    return text


# --- what messages quote -------------------------------------------------------------------------

@pytest.mark.parametrize("arguments", [
    [HOSTILE], ["record", HOSTILE], ["record", "-o", b"/nowhere/" + HOSTILE, "true"], ["record", b"--" + HOSTILE, "true"],
    ["record", b"--heap=" + HOSTILE, "true"], ["record", "-F", HOSTILE, "true"], ["record", "-e", HOSTILE, "true"],
    ["record", b"--debug=" + HOSTILE, "true"], ["report", HOSTILE], ["report", b"./" + HOSTILE], ["symbolize", HOSTILE],
    ["stat", HOSTILE], ["stat", b"--" + HOSTILE], ["stat", "-e", HOSTILE, "true"], ["list", HOSTILE],
    ["record", "-p", HOSTILE], ["record", "--debuginfod=" + os.fsdecode(HOSTILE), "true"],
], ids=lambda arguments: " ".join(os.fsencode(a).decode(errors="replace").split("\033")[0] for a in arguments))
def test_messages_cannot_command_the_terminal(arguments, cprof, tmp_path):
    result = subprocess.run([cprof, *arguments], cwd=tmp_path, capture_output=True)
    assert result.returncode in (1, 64, 125, 127)
    assert "x" in harmless(result.stderr) and result.stdout == b""


def test_log_lines_cannot_command_the_terminal(cprof, tmp_path):
    program = os.fsencode(tmp_path) + b"/" + HOSTILE
    with open(program, "w") as script:
        script.write("#!/bin/sh\nexit 5\n")
    os.chmod(program, 0o755)
    result = subprocess.run([cprof, "record", "--debug=all", program], cwd=tmp_path, capture_output=True)
    assert result.returncode == 5
    assert "target: " in harmless(result.stderr)


# --- limits --------------------------------------------------------------------------------------

@pytest.mark.parametrize("files", [8, 13, 16, 18])
def test_too_few_descriptors_are_named_with_what_lifts_the_limit(files, runner, cprof, programs):
    result = shell(runner, 'ulimit -n "$1"; shift; exec "$@"', files, cprof, "record", "-q", programs / "burn", 20)
    assert result.returncode in (3, 125), result.stderr
    assert (result.returncode == 3) == (result.stdout == "done\n")
    assert "make room" not in result.stderr
    if result.stderr:
        assert "ulimit -n" in result.stderr
    if result.returncode == 125:
        assert "Too many open files" in result.stderr


@pytest.mark.parametrize("files", [10, 24])
def test_a_soft_limit_of_descriptors_is_the_programs_only(files, runner, cprof):
    script = "import ctypes, decimal, lzma, resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    result = shell(runner, 'ulimit -Sn "$1"; shift; exec "$@"', files, cprof, "record", "-q", "/usr/bin/python3", "-c", script)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{files}\n", "")


def test_too_little_address_space_for_the_heap_side_is_said(runner, cprof, programs):
    result = shell(runner, 'ulimit -v 300000; exec "$@"', cprof, "record", "-q", programs / "burn", 200)
    assert result.returncode == 3, result.stderr
    assert "no heap figures" in result.stderr and "ulimit -v" in result.stderr
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert "address space" in report["heap"]["reason"] and report["cpu"]["samples"] > 0


@pytest.mark.parametrize("kilobytes", [20000, 32000, 36000, 40000, 44000])
def test_without_memory_the_program_does_not_run_or_has_its_own_status(kilobytes, runner, cprof, programs):
    """From too little to begin with, over running out of it somewhere, to enough for the CPU side."""
    result = shell(runner, 'ulimit -v "$1"; shift; exec "$@"', kilobytes, cprof, "record", "-q", programs / "burn", 100)
    assert (result.returncode, result.stdout) in [(125, ""), (3, "done\n")], result.stderr
    assert result.stderr.count("out of memory") <= 1
    if result.returncode == 125:
        assert "ulimit -v" in result.stderr or "out of memory" in result.stderr


def test_too_little_address_space_in_the_program_is_said(record, programs):
    profile = record("bash", "-c", 'ulimit -v 10000; exec "$@"', "bash", programs / "burn", 10, status=3)
    assert "ulimit -v" in profile.sql("SELECT untracked_reason FROM process WHERE image = 1")[0][0]


def test_no_process_for_the_program_is_said_with_the_limit(nobody):
    result = shell(nobody, 'ulimit -u 0; exec "$@"', nobody.cprof, "record", "touch", "ran")
    assert result.returncode == 125
    assert "ulimit -u" in result.stderr
    assert not (nobody.folder / "ran").exists() and not (nobody.folder / "cprof.data").exists()


# --- the environment -----------------------------------------------------------------------------

@pytest.mark.parametrize("columns", ["garbage", "-1", "99999999999999999999", "12x", ""])
def test_columns_that_make_no_sense_are_none(columns, record, run):
    record("true")
    assert run("report", env={"COLUMNS": columns}).stdout == run("report").stdout


def test_one_column_is_survived(record, run):
    record("true")
    assert run("report", env={"COLUMNS": "1"}).returncode == 0


def test_an_empty_environment_is_enough(runner, cprof, programs):
    result = runner.run("env", "-i", cprof, "record", "-q", programs / "burn", 20)
    assert (result.returncode, result.stdout, result.stderr) == (3, "done\n", "")
    result = runner.run("env", "-i", cprof, "report", "--json")
    report = json.loads(result.stdout)
    assert result.stderr == "" and report["complete"] and report["heap"]["tracked"]


# --- standard streams ----------------------------------------------------------------------------

def test_closed_streams_stay_closed_for_the_program_and_are_no_file_of_ours(runner, cprof):
    """A profile opened as descriptor 2 would get the messages of the program."""
    script = 'ls -l /proc/self/fd > fds 2>/dev/null; echo out; echo error >&2; exit 6'
    result = shell(runner, 'exec "$@" <&- >&- 2>&-', cprof, "record", "sh", "-c", script)
    assert result.returncode == 6
    plain = shell(runner, 'exec "$@" <&- >&- 2>&-', "sh", "-c", script.replace("fds", "plain"))
    assert plain.returncode == 6

    def open_files(name):
        lines = (runner.folder / name).read_text().splitlines()
        return [re.sub(r"/proc/\d+/fd", "/proc/N/fd", line.split(" ", 8)[-1].split(":", 1)[-1][3:]).replace(name, "F")
                for line in lines if "->" in line]
    assert open_files("fds") == open_files("plain")
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert report["complete"] and report["exit_status"] == 6


# --- file systems --------------------------------------------------------------------------------

def in_own_mounts(runner, script, *arguments, **options):
    """shell() where mounts are not those of others."""
    if runner.run("unshare", "-m", "true").returncode:
        pytest.skip("unshare -m is refused here")
    return runner.run("unshare", "-m", "bash", "-c", script, "bash", *arguments, **options)


def test_without_proc_the_cpu_side_works(runner, cprof, programs):
    result = in_own_mounts(runner, 'umount -l /proc && exec "$@"', cprof, "record", "-q", programs / "burn", 300)
    assert result.returncode == 3 and result.stdout == "done\n", result.stderr
    assert "no heap figures" in result.stderr and "mount -t proc" in result.stderr
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert {"seventy", "thirty"} <= {f["name"] for f in report["cpu"]["functions"]}
    assert "/proc/" in report["heap"]["reason"]



# --- a profile that breaks off ---------------------------------------------------------------------

# It asks for commits until its samples are in the profile, then something happens to that, then it asks again
# until cprof has nothing left but its main thread.
BROKEN = """
"$1" 200
until [ "$(sqlite3 -readonly "$2" 'SELECT count(*) > 50 FROM v_sample' 2>/dev/null)" = 1 ]; do kill -USR1 $PPID; sleep 0.1; done
case $3 in
full) cat /dev/zero > small/fill 2>/dev/null ;;
unwritable) chmod 555 out ;;
removed) rm "$2" ;;
renamed) mv "$2" other ;;
esac
"$1" 20
until [ "$(cat /proc/$PPID/task/*/comm 2>/dev/null)" = cprof ]; do kill -USR1 $PPID; sleep 0.1; done
"$1" 20
exit 9
"""


def broken(what, program, profile="cprof.data"):
    if not shutil.which("sqlite3"):
        pytest.skip("sqlite3 is not installed")
    return ["record", "-o", profile, "bash", "-c", BROKEN, "bash", program, profile, what]


def check_broken_off(result, words, kept=None):
    """The program went on, its status is there, the message came once; kept: the path of what was committed."""
    assert result.returncode == 9 and result.stdout == "done\ndone\ndone\n", result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 2 and lines[0].startswith("cprof: write ") and words in lines[0], lines
    assert lines[1] == "cprof: the program goes on" + (f"; what was recorded before is in {kept}" if kept else ""), lines


def check_kept(run, path):
    result = run("report", "--json", path)
    report = json.loads(result.stdout)
    assert result.returncode == 0 and report["complete"] is False and report["exit_status"] is None
    assert report["cpu"]["samples"] > 50
    assert "interrupted" in [entry["kind"] for entry in report["quality"]]


def test_a_full_disk_ends_the_recording_not_the_program(runner, run, cprof, programs, need):
    need.root()
    (runner.folder / "small").mkdir()
    result = in_own_mounts(runner, 'mount -t tmpfs -o size=4m none small && "$@"; status=$?; '
                           'rm small/fill; cp small/cprof.data .; exit $status', cprof,
                           *broken("full", programs / "burn", "small/cprof.data"))
    check_broken_off(result, "No space left on device", "small/cprof.data")
    check_kept(run, "cprof.data")


def test_a_folder_that_becomes_unwritable_ends_the_recording_not_the_program(nobody, programs):
    program = shutil.copy(programs / "burn", nobody.folder)
    (nobody.folder / "out").mkdir()
    os.chown(nobody.folder / "out", pwd.getpwnam("nobody").pw_uid, -1)
    result = nobody.cprof_run(*broken("unwritable", program, "out/cprof.data"))
    check_broken_off(result, "Permission denied", "out/cprof.data")
    os.chmod(nobody.folder / "out", 0o755)
    check_kept(nobody.cprof_run, "out/cprof.data")


@pytest.mark.parametrize("what", ["removed", "renamed"])
def test_a_profile_that_is_taken_away_ends_the_recording_not_the_program(what, run, programs):
    result = run(*broken(what, programs / "burn"))
    check_broken_off(result, "removed or renamed meanwhile")
    if what == "renamed":
        check_kept(run, "other")


# --- filters of system calls ---------------------------------------------------------------------

FILTERED = """
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct sock_filter only_exit[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { 4, only_exit };
	/* libc's own: calls of prctl() and syscall() are seen */
	long (*system_call)(long, ...) = (long (*)(long, ...))dlsym(dlopen("libc.so.6", RTLD_LAZY), "syscall");

	free(malloc(30));  /* gets it memory, for which malloc() asks the kernel */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	for (int i = 0; i < 1000000; i++) {
		void *volatile block = malloc(30);
		free(block);
	}
	_exit(4);
}
"""


def test_a_program_that_forbids_what_the_heap_side_calls(runner, run, need):
    """Its filter ends it; cprof says how to do without."""
    need.tool("gcc")
    (runner.folder / "filtered.c").write_text(FILTERED)
    assert runner.run("gcc", "-o", "filtered", "filtered.c", "-ldl").returncode == 0
    result = run("record", "-q", "./filtered")
    assert result.returncode == 128 + signal.SIGSYS and "--heap=off" in result.stderr
    result = run("record", "-q", "--heap=off", "./filtered")
    assert (result.returncode, result.stderr) == (4, "")


# --- readers that leave --------------------------------------------------------------------------

@pytest.mark.parametrize("command", ["record", "stat"])
def test_nobody_reads_what_is_said(command, runner, cprof, programs):
    """As in `cprof record ./app 2>&1 | head -1` under pipefail."""
    result = shell(runner, '{ "$@"; echo $? >status; } 2> >(exec <&-); wait', cprof, command, programs / "burn", 20)
    assert (runner.folder / "status").read_text() == "3\n", result.stderr
    if command == "record":
        assert json.loads(runner.cprof_run("report", "--json").stdout)["complete"]


@pytest.mark.parametrize("command", ["record", "stat"])
def test_a_full_pipe_holds_up_what_is_said_not_the_program(command, runner, cprof):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    process = runner.start(cprof, command, "sh", "-c", "touch ended; exit 7", stderr=writer)
    os.close(writer)
    assert wait_for((runner.folder / "ended").exists)
    with open(reader, "rb") as pipe:
        said = pipe.read().lstrip(b"\0").decode()
    assert process.wait(60) == 7 and "sh -c 'touch ended; exit 7'" in said


# --- paths ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("output, words", [
    ("fifo", "not a regular file"), ("/dev/null", "not a regular file"), ("loop", "symbolic links"), ("", "--output"),
])
def test_an_output_that_is_no_file_is_said_before_the_program_runs(output, words, run, runner):
    os.mkfifo(runner.folder / "fifo")
    (runner.folder / "loop").symlink_to("loop")
    result = run("record", "-o", output, "touch", "ran")
    assert result.returncode == 125 and words in result.stderr
    assert not (runner.folder / "ran").exists()


def test_a_report_that_cannot_be_made_leaves_the_file_as_it_was(record, run, runner):
    record("true")
    (runner.folder / "old").write_text("what was there\n")
    for name in ("old", "new"):
        assert run("report", "--sort", "nonsense", "-o", name).returncode == 64
    assert (runner.folder / "old").read_text() == "what was there\n" and not (runner.folder / "new").exists()
    (runner.folder / "old").write_text("what was there\n" * 10000)
    assert run("report", "-o", "old").returncode == 0
    assert "what was there" not in (runner.folder / "old").read_text()


def test_a_report_does_not_overwrite_its_profile(record, run):
    profile = record("true")
    content = profile.path.read_bytes()
    result = run("report", "-o", "./cprof.data", profile.path)
    assert result.returncode == 64 and "the profile itself" in result.stderr
    assert profile.path.read_bytes() == content


def test_an_output_may_be_a_symbolic_link(record, runner):
    (runner.folder / "link").symlink_to("real")
    assert record("true", output="link").report()["complete"]
    assert (runner.folder / "real").is_file() and (runner.folder / "link").is_symlink()


@pytest.mark.parametrize("command", ["report", "symbolize"])
@pytest.mark.parametrize("path", ["fifo", "/dev/zero"])
def test_what_is_no_file_is_not_waited_for(command, path, run, runner):
    os.mkfifo(runner.folder / "fifo")
    result = run(command, path if path.startswith("/") else f"./{path}", timeout=20)
    assert result.returncode == 1 and "not a regular file" in result.stderr and result.stdout == ""


def test_in_a_folder_that_is_gone(runner, cprof):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    result = shell(runner, script, cprof, "record", "-q", "touch", "../ran")
    assert result.returncode == 125 and "cprof.data: No such file or directory" in result.stderr
    result = shell(runner, script, cprof, "record", "-q", "-o", runner.folder / "cprof.data", "true")
    assert (result.returncode, result.stderr) == (0, "")


def test_without_shared_memory_and_temporary_files(runner, cprof, programs, need):
    need.root()
    script = ('mount -t tmpfs -o ro none /dev/shm && mount -t tmpfs -o ro none /var/tmp && '
              'export TMPDIR=/var/tmp && exec "$@"')
    result = in_own_mounts(runner, script, cprof, "record", "-q", programs / "burn", 50)
    assert (result.returncode, result.stdout, result.stderr) == (3, "done\n", "")
    report = json.loads(runner.cprof_run("report", "--json", env={"TMPDIR": "/nowhere"}).stdout)
    assert report["heap"]["tracked"] and report["cpu"]["samples"] > 0


def test_an_ordinary_user_needs_no_locked_memory_and_no_core_files(nobody, programs):
    program = shutil.copy(programs / "burn", nobody.folder)
    result = shell(nobody, 'ulimit -l 0; ulimit -c 0; exec "$@"', nobody.cprof, "record", "-q", program, 100)
    assert (result.returncode, result.stderr) == (3, "")
    report = json.loads(nobody.cprof_run("report", "--json").stdout)
    assert report["cpu"]["samples"] > 10 and report["heap"]["tracked"]


def test_where_others_processes_are_hidden(nobody, programs):
    program = shutil.copy(programs / "vanish", nobody.folder)
    result = in_own_mounts(Runner(nobody.folder, nobody.cprof), 'mount -t proc -o hidepid=2 proc /proc; '
                           'exec su nobody -s /bin/sh -c "./cprof record -q ./vanish"')
    assert (result.returncode, result.stderr) == (0, ""), program
    report = json.loads(nobody.cprof_run("report", "--json").stdout)
    assert "work" in {f["name"] for f in report["cpu"]["functions"]}
    assert [site["stack"] for site in report["heap"]["sites"]] == [["main", "forget", "malloc"]]


def test_a_profile_that_cannot_be_written_gets_names_for_the_report(nobody, programs):
    program = shutil.copy(programs / "burn", nobody.folder)
    (nobody.folder / "out").mkdir()
    os.chown(nobody.folder / "out", pwd.getpwnam("nobody").pw_uid, -1)
    profile = nobody.record(program, 100, options=["--no-symbols", "--heap=off"], output="out/cprof.data", status=3)
    os.chmod(profile.path, 0o444)
    os.chmod(nobody.folder / "out", 0o555)
    content = profile.path.read_bytes()
    temporary = nobody.folder / "temporary"
    temporary.mkdir(mode=0o777)
    os.chmod(temporary, 0o777)
    for _ in range(2):
        result = nobody.cprof_run("report", "--json", profile.path, env={"TMPDIR": str(temporary)})
        assert (result.returncode, result.stderr) == (0, "")
        assert "seventy" in {f["name"] for f in json.loads(result.stdout)["cpu"]["functions"]}
    assert os.listdir(temporary) == [] and profile.path.read_bytes() == content
    # With no room for a copy either there are addresses.
    result = nobody.cprof_run("report", "--json", profile.path, env={"TMPDIR": "/nowhere"})
    assert result.returncode == 0 and "has no names yet" in result.stderr
    assert "burn" in {f["module"] for f in json.loads(result.stdout)["cpu"]["functions"]}


def test_a_path_that_is_too_long_for_sqlite_is_said_to_be(run, runner):
    folder = runner.folder
    while len(str(folder)) < 520:
        folder = folder / ("x" * 100)
    folder.mkdir(parents=True)
    result = run("record", "true", cwd=folder)
    assert result.returncode == 125
    assert "cprof.data: its whole path is longer than SQLite can take" in result.stderr and "-o" in result.stderr
