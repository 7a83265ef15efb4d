# SPDX-License-Identifier: MIT
"""Without the CPU side: programs whose heap cannot be accounted are in the profile all the same."""

import pytest

from conftest import Profile

OTHERS = {
    # Each executes ./apart 7, as a process or in the place of one.
    "exec": ("sh", "-c", "exec ./apart 7"),
    "shell": ("sh", "-c", "./apart 7; exit 0"),    # vfork
    "fork": ("sh", "-c", "./apart 7 & wait; exit 0"),
    "found in PATH": ("sh", "-c", "PATH=/nonexistent:.:/bin:/usr/bin; apart 7; exit 0"),
    "env": ("env", "-i", "./apart", "7"),
    "system": ("/usr/bin/python3", "-c", "import os; os.system('./apart 7')"),
    "subprocess": ("/usr/bin/python3", "-c", "import subprocess; subprocess.run(['./apart', '7'])"),
    "posix_spawn": ("/usr/bin/python3", "-c",
                    "import os; os.waitpid(os.posix_spawn('./apart', ['./apart', '7'], os.environ), 0)"),
    "by descriptor": ("/usr/bin/python3", "-c", "import os; os.execve(os.open('apart', os.O_RDONLY), ['./apart', '7'], os.environ)"),
}
MODES = {"not asked for": None, "refused": ("-p", 1), "by ptrace": (1,)}    # programs/noperf


@pytest.fixture
def apart(runner, need):
    """./apart N, a static program that allocates and exits with N."""
    need.tool("gcc")
    (runner.folder / "apart.c").write_text("""
        #include <stdlib.h>
        #include <string.h>
        int main(int argc, char **argv) { memset(malloc(1 << 20), 1, 1 << 20); return atoi(argv[1]); }
    """)
    runner.run("gcc", "-static", "-o", "apart", "apart.c")


def processes(profile):
    return profile.report()["processes"]


def untracked(profile):
    return [row for row in processes(profile) if not row["heap"]["tracked"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", OTHERS)
def test_a_static_program_that_another_executes_is_listed(way, mode, apart, runner, programs, record):
    if MODES[mode]:
        result = runner.run(programs / "noperf", *MODES[mode], runner.cprof, "record", "-o", "cprof.data", *OTHERS[way])
        profile = Profile(runner, runner.folder / "cprof.data", result)
    else:
        profile = record(*OTHERS[way], options=["--cpu=off"], status=None)
    [row] = [row for row in untracked(profile) if "static executable" in row["heap"]["reason"]]
    assert mode == "by ptrace" or (row["command"][0].endswith("apart") and row["exit_status"] == 7)
    assert [q["count"] for q in profile.report()["quality"] if q["kind"] == "untracked" and "static" in q["detail"]] == [1]


def test_it_replaces_what_executed_it(apart, record):
    former, row = processes(record(*OTHERS["exec"], options=["--cpu=off"], status=7))
    assert former["pid"] == row["pid"] and (former["image"], row["image"]) == (0, 1)
    assert former["replaced"] and not row["replaced"]
    assert former["heap"]["tracked"] and former["exit_status"] is None


def test_it_is_the_child_of_who_started_it(apart, record):
    parent, row = processes(record(*OTHERS["shell"], options=["--cpu=off"]))
    assert row["parent"] == parent["pid"] and row["image"] == 0


def test_its_memory_is_its_own(apart, runner, record):
    """Resident: as the kernel has it, of a program that takes its time."""
    (runner.folder / "slow.c").write_text("""
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        int main(void) { memset(malloc(40 << 20), 1, 40 << 20); usleep(300000); return 0; }
    """)
    runner.run("gcc", "-static", "-o", "slow", "slow.c")
    profile = record("sh", "-c", "exec ./slow", options=["--cpu=off"])
    [(most,)] = profile.sql("SELECT max(anonymous_bytes) FROM memory JOIN process ON memory.process = process.id WHERE NOT tracked")
    assert 40 << 20 <= most < 44 << 20


def test_several_by_one_process(apart, record):
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do ./apart $i; /bin/true; done; exit 0"
    profile = record("sh", "-c", script, options=["--cpu=off"])
    assert sorted(row["exit_status"] for row in untracked(profile)) == list(range(1, 11))
    assert len(processes(profile)) == 21


@pytest.mark.parametrize("script", [
    "./nonexistent; nonexistent; exit 0",
    "for i in $(seq 50); do /bin/true; done; exit 0",
    "env ./nonexistent; env nonexistent; exit 0",
    "exec /bin/true",
    "(exec ./nonexistent); exit 0",
])
def test_what_says_hello_or_is_not_there_is_no_further_process(script, record):
    profile = record("sh", "-c", script, options=["--cpu=off"])
    assert not untracked(profile)


def test_where_the_cpu_side_is_it_is_listed_once(apart, record):
    profile = record("sh", "-c", "./apart 7; ./apart 8; exit 0")
    rows = [row for row in untracked(profile) if "static executable" in row["heap"]["reason"]]
    assert sorted(row["exit_status"] for row in rows) == [7, 8]



def test_an_exec_that_takes_long_to_fail_is_no_further_process(record, runner, need):
    """A PATH of a few thousand folders; and what runs is the program all the while."""
    need.tool("gcc")
    (runner.folder / "slow.c").write_text("""
        #include <stdlib.h>
        #include <string.h>
        #include <time.h>
        #include <unistd.h>
        int main(void) {
            char *path = malloc(100000 * 10 + 1), *nothing[] = { "nothing", NULL };
            for (int i = 0; i < 100000; i++) memcpy(path + 10 * i, "/none/at/:", 11);
            setenv("PATH", path, 1);
            for (int i = 0; i < 30; i++) execvp("nothing", nothing);
            return 5; }""")
    runner.run("gcc", "-O1", "-o", "slow", "slow.c")
    [row] = processes(record("./slow", options=["--cpu=off"], status=5))
    assert row["heap"]["tracked"] and not row["replaced"] and row["exit_status"] == 5


def test_execs_of_what_is_no_address_fail_as_without(record, runner, need):
    need.tool("gcc")
    (runner.folder / "bad.c").write_text("""
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
            char *none[] = { NULL }, *volatile bad = (char *)8;
            execve(bad, none, none); printf("%d ", errno);
            execveat(3, bad, none, none, 0); printf("%d ", errno);
            fexecve(77, (char **)bad, none); printf("%d ", errno);
            execve("/nonexistent", (char **)bad, none); printf("%d", errno);
            return 0; }""")
    runner.run("gcc", "-O1", "-o", "bad", "bad.c")
    alone = runner.run("./bad").stdout
    assert record("./bad", options=["--cpu=off"]).stdout == alone == "14 14 9 2"


def test_what_is_not_accounted_at_first_has_figures_of_all_in_the_end(record, runner, need):
    """The figures of the tree: also where the first program that is tracked comes after a second."""
    need.tool("gcc")
    (runner.folder / "first.c").write_text("""
        #include <unistd.h>
        int main(void) { usleep(1500000); return execl("/bin/true", "true", (char *)0); }""")
    runner.run("gcc", "-static", "-o", "first", "first.c")
    profile = record("./first", options=["--cpu=off"])
    assert profile.sql("SELECT count(*) FROM heap WHERE process IS NULL OR process = -1") == [(1,)]


def test_a_file_of_that_name_elsewhere_is_not_it(apart, runner, record):
    """Its path is from where it was executed."""
    (runner.folder / "below").mkdir()
    (runner.folder / "apart").rename(runner.folder / "below/apart")
    (runner.folder / "apart").symlink_to("/bin/true")
    profile = record("/usr/bin/python3", "-c", "import subprocess; subprocess.run(['./apart', '7'], cwd='below')",
                     options=["--cpu=off"])
    [row] = untracked(profile)
    assert row["exit_status"] == 7 and row["command"] == ["./apart"]
    [(executable,)] = profile.sql("SELECT executable FROM process WHERE NOT tracked")
    assert executable is None or executable.endswith("/below/apart")
    [row] = untracked(record("sh", "-c", "cd below; ./apart 8; exit 0", options=["--cpu=off"]))
    assert "static executable" in row["heap"]["reason"] or "not loaded" in row["heap"]["reason"]
