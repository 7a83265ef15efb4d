# SPDX-License-Identifier: MIT
"""The shim as a guest: programs that leave it little room run with it as they do without it.

Most run twice, with the shim and alone, and must print the same and end the same; what the shim
saw is checked event by event (shim_events.py).  tests/README.md has the list that this follows.
"""

import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from conftest import wait_for
from shim_events import REASON_NO_RINGS, REASON_SECCOMP, STATE_OFF, build, sound


LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


def shell_status(result):
    return result.returncode if result.returncode >= 0 else 128 - result.returncode


@pytest.fixture
def guest(events, runner):
    """guest(program, *arguments): its Events, having ended and complained as it does alone."""
    def run(*command, **options):
        alone = runner.run(*command)
        watched = events(*command, check=False, **options)
        assert (watched.status, watched.stderr) == (shell_status(alone), alone.stderr)
        watched.alone = alone.stdout
        return watched
    return run


# --- what it is -------------------------------------------------------------------------------


def test_every_test_in_the_table_of_the_guest_exists():
    tests = Path(__file__).resolve().parent.parent
    table = (tests / "README.md").read_text().split("| failure | here |")[1].split("\n## ")[0]
    sources = [*(tests / "e2e").glob("test_*.py"), *(tests / "unit").glob("test_*.c")]
    text = "".join(source.read_text() for source in sources)
    names = [name for name in re.findall(r"`([a-z][a-z0-9_A-Z]*_[a-zA-Z0-9_]*)[`\[]", table)]
    assert len(names) > 40
    assert [name for name in names if not re.search(rf"(test_|, ){name}\b", text)] == []


def test_the_shim_needs_no_newer_libc_than_of_2012(runner, shim, need):
    need.tool("readelf")
    symbols = runner.run("readelf", "-W", "--dyn-syms", shim).stdout
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"@GLIBC_([\d.]+)", symbols)}
    assert versions and max(versions) <= (2, 17)


# --- before and after main() ------------------------------------------------------------------


def test_blocks_from_indirect_functions_and_from_before_any_constructor_count(guest, programs):
    run = guest(programs / "guest_early")
    assert run.stdout == run.alone == "4\n"
    sound(run.image)
    assert run.image["frees"] == 4
    assert run.image["freed_bytes"] == 100 + 200 + 400 + 800


RESOLVES = """
    #include <stdlib.h>
    static int *block;
    static int answer(void) { return *block; }
    static int (*resolve(void))(void) { block = calloc(1, 100); *block = 42; return answer; }
    int indirect(void) __attribute__((ifunc("resolve")));
    int ask(void) { return indirect(); }
    void forget(void) { free(block); }
"""


def test_a_block_from_the_resolver_of_an_indirect_function_of_a_library_counts(guest, tmp_path, need):
    """It is called when the function is.  (Of a library that is bound at once it is called before anything that is
    preloaded can be, and an allocator there crashes.)"""
    need.tool("gcc")
    library = build(tmp_path, "libresolves.so", RESOLVES, "-shared", "-fPIC", "-Wl,-z,lazy")
    asks = build(tmp_path, "asks", "int ask(void); void forget(void);\nint main(void) { int n = ask(); forget(); "
                                   "return n; }", library)
    run = guest(asks)
    sound(run.image)
    assert run.status == 42
    assert run.image["frees"] == 1 and run.image["freed_bytes"] == 100


@pytest.mark.parametrize("way, live", [
    ("return", 1060), ("exit", 1060), ("_exit", 1000), ("quick_exit", 1010),
    ("abort", 1000), ("kill", 1000), ("segv", 1000), ("trap", 1000),
])
def test_blocks_of_exit_handlers_and_destructors_count_however_the_program_ends(guest, programs, way, live):
    run = guest(programs / "guest_ends", way)
    sound(run.image)
    assert run.image["live_bytes"] == live


# --- threads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way, number, threads", [("small", 50, 50), ("alt", 50, 0), ("keys", 50, 50),
                                                  ("main", 5, 5), ("many", 1000, 1000)],
                         ids=["on_stacks_of_16_KiB", "on_a_signal_stack_of_8_KiB", "in_destructors_of_their_data",
                              "after_the_first_one_has_ended", "by_the_thousand"])
def test_threads_allocate(guest, programs, way, number, threads):
    run = guest(programs / "guest_threads", way, number)
    assert run.stdout == run.alone
    sound(run.image)
    allocations, frees = run.numbers()
    # libc allocates for each thread, a buffer for the output, and to load libgcc_s.
    assert allocations < run.image["allocations"] <= allocations + 20 + 2 * threads
    assert frees <= run.image["frees"] <= frees + 2 * threads


# Bytes of stack, beyond what the function itself needs.  On x86-64 they are 1,560 and 1,608 for blocks, 304 for
# free(), 512 for waitpid(); 7,752 and 10,016 for execve() and execl(), which may have to make an environment.
STACK_LIMITS = {"malloc": 2048, "malloc, deep": 2048, "realloc": 2048, "calloc": 2048, "posix_memalign": 2048,
                "free": 512, "fork": 512, "waitpid": 768, "execve": 1536, "execl": 1536}


def test_the_shim_needs_little_of_a_stack(record, runner, programs):
    env = {"LD_BIND_NOW": "1"}  # or it is the loader that gets furthest down
    alone = json.loads(runner.run(programs / "guest_stack", env=env).stdout)
    profile = record(programs / "guest_stack", options=["--cpu=off"], env=env)
    watched = json.loads(profile.stdout)
    more = {name: watched[name] - alone[name] for name in alone}
    assert profile.report()["heap"]["tracked"] and more.keys() == STACK_LIMITS.keys()
    assert all(128 <= more[name] <= limit for name, limit in STACK_LIMITS.items()), more


EXECUTES_IN_A_HANDLER = """
    #include <signal.h>
    #include <stdio.h>
    #include <sys/mman.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static int status;
    static void on_signal(int number)
    {
        if (!fork()) {
            execl("/bin/true", "true", NULL);
            _exit(9);
        }
        wait(&status);
        (void)number;
    }
    int main(void)
    {
        char *memory = mmap(NULL, 4096 + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack_t stack = { .ss_sp = memory + 4096, .ss_size = 8192 };
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
        mprotect(memory, 4096, PROT_NONE);
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
        printf("%x\\n", (unsigned int)status);
        return 0;
    }
"""


def test_a_signal_stack_of_8_KiB_is_enough_to_execute_a_program(record, runner, tmp_path, need):
    """As crash handlers do."""
    need.tool("gcc")
    program = build(tmp_path, "executes", EXECUTES_IN_A_HANDLER)
    assert record(program, options=["--cpu=off"]).stdout == runner.run(program).stdout == "0\n"


def test_a_thread_is_not_cancelled_inside_the_shim(guest, programs):
    """It waits for room in rings of 256 events that are read each 5 ms."""
    run = guest(programs / "guest_threads", "cancel", 60, options=["-r", 8, "-d", 5])
    sound(run.image)
    allocations, frees = run.numbers()
    assert allocations == frees > 1000
    assert run.image["stalled_ns"] > 0
    assert allocations < run.image["allocations"] <= allocations + 2 + 60


def test_threads_are_cancelled_where_they_wait_for_a_child(record, runner, programs):
    alone = runner.run(programs / "guest_waits")
    profile = record(programs / "guest_waits", options=["--cpu=off"])
    assert profile.stdout == alone.stdout == "6 6 1\n"
    sites = [site for site in profile.report()["heap"]["sites"] if site["stack"][-2] == "clean_up"]
    assert sum(site["allocations"] for site in sites) == sum(site["temporary"] for site in sites) == 6
    # The child of system() may be killed before the shim is in it.
    assert profile.sql("SELECT * FROM quality WHERE kind IN ('lost', 'bounded')") == []


def test_more_threads_than_there_are_rings_are_no_reason_to_fail(guest, programs):
    run = guest(programs / "guest_threads", "many", 2500)
    assert run.stdout == run.alone
    assert (run.image["state"], run.image["reason"]) == (STATE_OFF, REASON_NO_RINGS)


def accounted_up_to_then(report, reason):
    """What the quality says was lost of the heap since."""
    heap = report["heap"]
    assert heap["tracked"] and report["processes"][0]["tracked"] and heap["peak_exact"] is False
    rows = {kind: [row for row in report["quality"] if row["kind"] == kind and "heap of" in row["detail"]]
            for kind in ("untracked", "bounded", "lost")}
    assert [len(rows[kind]) for kind in rows] == [0, 1, 1], report["quality"]
    assert re.search(r"accounted up to [0-9.]+ m?s only: .*" + re.escape(reason), rows["bounded"][0]["detail"])
    assert rows["lost"][0]["count"] == heap["lost_events"] > 0
    return heap["lost_events"]


MANY = """
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void *work(void *unused)
{
	free(malloc(10));
	pthread_barrier_wait(&all);
	return unused;
}
int main(int argc, char **argv)
{
	enum { NR = 2100 };
	static pthread_t threads[NR];
	pthread_attr_t small;
	char *volatile big = malloc(50 << 20);

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	pthread_barrier_init(&all, NULL, NR + 1);
	for (int i = 0; i < NR; i++)
		if (pthread_create(&threads[i], &small, work, NULL))
			return 2;
	pthread_barrier_wait(&all);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	free(big);
	return argc > 1 ? argv[1][0] != '-' : 0;
}
"""


@pytest.mark.parametrize("mode", ["exact", "sample", "counts"])
def test_up_to_more_threads_than_there_are_rings_the_heap_is_accounted(record, tmp_path, mode):
    """From there on it is counted, also what threads without a ring do."""
    profile = record(build(tmp_path, "many", MANY, "-pthread", "-w"), options=["--cpu=off", f"--heap={mode}"])
    report = profile.report()
    heap, counted = report["heap"], report["heap"]["counted"]
    # libc allocates for each thread that is new, and for some that it keeps the stack of.
    assert 2101 + 2000 <= counted["allocations"] <= 2101 + 2200 and 2101 <= counted["frees"] <= 2101 + 2200
    assert counted["allocated_bytes"] >= (50 << 20) + 21000
    if mode == "counts":
        assert heap["tracked"] and [row for row in report["quality"] if row["kind"] in ("lost", "bounded", "untracked")] == []
        return
    lost = accounted_up_to_then(report, "more threads at once")
    assert heap["sites"][0]["stack"] == ["main", "malloc"] and heap["peak_bytes"] >= 50 << 20
    if mode == "exact":
        assert heap["allocations"] >= 2048 and 100 <= lost
        assert heap["peak_most_bytes"] == heap["peak_bytes"] + counted["allocated_bytes"] - heap["allocated_bytes"]
        all_counted = sum(counted[name] for name in ("allocations", "reallocations", "frees"))
        assert lost == all_counted - heap["allocations"] - heap["reallocations"] - heap["frees"]
        assert "at most" in profile.text("heap")


# --- limits that a program gives itself --------------------------------------------------------


@pytest.mark.parametrize("how", ["prctl", "syscall"])
@pytest.mark.parametrize("rings", [[], ["-r", 8, "-d", 5]])
def test_with_a_filter_that_kills_on_other_system_calls_than_an_allocators(guest, record, programs, how, rings):
    """The shim leaves out what the filter would refuse."""
    run = guest(programs / "guest_seccomp", how, options=rings)
    sound(run.image)
    assert run.stdout == run.alone != ""
    assert run.image["frees"] >= run.numbers()[1] == 3001
    check_filtered(record(programs / "guest_seccomp", how, options=["--cpu=off"]))


@pytest.mark.parametrize("how", ["prctl", "syscall"])
def test_with_such_a_filter_of_an_ordinary_user(nobody, programs, how):
    program = shutil.copy(programs / "guest_seccomp", nobody.folder)
    check_filtered(nobody.record(program, how, options=["--cpu=off"]))


def check_filtered(profile):
    heap = profile.report()["heap"]
    assert heap["tracked"] and heap["frees"] >= 3001
    assert max(len(site["stack"]) for site in heap["sites"]) >= 60
    assert profile.spoiled_heap() == []


@pytest.mark.parametrize("how", ["writes", "twice", "strict"])
def test_a_filter_that_kills_on_what_the_shim_cannot_do_without(guest, record, programs, how):
    run = guest(programs / "guest_seccomp", how)
    assert run.stdout == run.alone != ""
    assert (run.image["state"], run.image["reason"]) == (STATE_OFF, REASON_SECCOMP)
    report = record(programs / "guest_seccomp", how, options=["--cpu=off"]).report()
    heap, lost = report["heap"], accounted_up_to_then(report, "seccomp")
    assert heap["allocations"] >= 1
    # Mode "strict" even takes the means to count.
    if how == "strict":
        assert lost == 1 and heap["peak_most_bytes"] is None
    else:
        assert lost >= 6000 and heap["counted"]["frees"] >= 3001


def test_who_only_tries_whether_a_filter_could_be_set_is_tracked_on(guest, programs):
    """As libseccomp does to find out what the kernel knows."""
    run = guest(programs / "guest_seccomp", "try")
    sound(run.image)
    assert run.image["frees"] >= run.numbers()[1] == 3001


WAYS = ["path", "lookup", "spawn", "list"]


def sandboxed(runner, programs, sandbox, action, way, options=("--cpu=off",)):
    """echo, which writes what it does alone: its row, and what the quality says of it."""
    echo = "echo" if way == "lookup" else shutil.which("echo")
    command = [programs / sandbox, action, way, echo, "under", "filters"]
    alone = runner.run(*command)
    assert (alone.returncode, alone.stdout) == (0, "under filters\n"), alone.stderr
    profile = runner.record(*command, options=[*options])
    assert profile.stdout == alone.stdout
    report = profile.report()
    untracked = [row["detail"] for row in report["quality"] if row["kind"] == "untracked" and "echo" in row["detail"]]
    return report["processes"][-1], untracked


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("action", ["kill", "trap", "errno"])
@pytest.mark.parametrize("sandbox", ["guest_sandbox", "guest_sandbox_static"])
def test_filters_from_before_an_exec_meet_no_call_of_the_shims(runner, programs, sandbox, action, way):
    row, untracked = sandboxed(runner, programs, sandbox, action, way)
    # Who is static does not tell of a child.
    if sandbox == "guest_sandbox" or way != "spawn" and row["command"][0].endswith("echo"):
        assert row["command"][0].endswith("echo") and row["tracked"] is False
        assert len(untracked) == 1 and "seccomp" in untracked[0]


def test_filters_from_before_an_exec_are_named_beside_the_cpu_side_too(runner, programs):
    """However soon what is executed is over."""
    for _ in range(5):
        row, untracked = sandboxed(runner, programs, "guest_sandbox", "kill", "path", [])
        assert row["tracked"] is False and len(untracked) == 1 and "seccomp) that was set" in untracked[0]


@pytest.mark.parametrize("way", WAYS)
def test_under_a_filter_that_lets_the_shims_calls_through_tracking_goes_on(runner, programs, way):
    """Who set it was tracked; where it is not, nobody knows what it lets through."""
    row, untracked = sandboxed(runner, programs, "guest_sandbox", "most", way)
    assert row["command"][0].endswith("echo") and row["tracked"] and untracked == []
    assert row["heap"]["allocations"] > 0
    row, untracked = sandboxed(runner, programs, "guest_sandbox_static", "most", way)
    assert row["tracked"] is False


def test_filters_of_two_of_which_one_is_not_seen(record, programs):
    """The number tells: the second one is set by a static program."""
    command = [shutil.which("echo"), "both"]
    for second, tracked in ("guest_sandbox", True), ("guest_sandbox_static", False):
        profile = record(programs / "guest_sandbox", "most", "path", programs / second, "most", "path", *command,
                         options=["--cpu=off"])
        assert profile.stdout == "both\n"
        assert profile.report()["processes"][-1]["tracked"] is tracked


def test_filters_that_cprof_itself_is_under_are_no_obstacle(runner, programs):
    """As in a container.  One more is one."""
    for action, tracked in ("most", True), ("kill", False):
        result = runner.run(programs / "guest_sandbox", "most", "path", runner.cprof, "record", "--cpu=off", "-q", "-o",
                            "p", "--", "sh", "-c", f"'{programs}/guest_sandbox' {action} path /bin/echo hi; true")
        assert (result.returncode, result.stdout) == (0, "hi\n"), result.stderr
        report = json.loads(runner.cprof_run("report", "--json", "p").stdout)
        assert report["heap"]["tracked"] is True
        echo = [row for row in report["processes"] if row["command"][0].endswith("echo")]
        assert [row["tracked"] for row in echo] == [tracked]


# --- descriptors ------------------------------------------------------------------------------


def test_no_descriptor_stays_and_closing_all_changes_nothing(record, runner, programs):
    """It prints which are open, closes them, and allocates in a new thread and a child."""
    alone = runner.run(programs / "guest_descriptors", close_fds=True)
    profile = record(programs / "guest_descriptors", options=["--cpu=off"], close_fds=True)
    assert profile.stdout == alone.stdout == "next 3\n"
    parent, child = profile.report()["processes"]
    assert parent["heap"]["frees"] >= 2000 and child["heap"]["frees"] == 1000
    assert child["tracked"]


# --- other allocators -------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"])
def test_a_preloaded_allocator_stays_in_use(record, runner, need, programs, library):
    theirs = str(need.file(LIBRARIES / library, "the package that has it is not installed"))
    sizes = runner.run(programs / "guest_sizes").stdout
    alone = runner.run(programs / "guest_sizes", env={"LD_PRELOAD": theirs})
    profile = record(programs / "guest_sizes", options=["--cpu=off"], env={"LD_PRELOAD": theirs})
    assert profile.stdout == alone.stdout != sizes
    heap = profile.report()["heap"]
    assert heap["tracked"] and heap["frees"] == int(profile.stdout.split()[-1])


@pytest.mark.parametrize("way", ["deep", "apart"])
def test_blocks_that_pass_to_and_from_a_malloc_out_of_reach(guest, programs, way):
    """Frees of unknown blocks and blocks never freed are counted, not believed."""
    run = guest(programs / "guest_scopes", way, programs / "guest_plugin", 200)
    image = run.image
    assert run.stdout == run.alone == "200\n"
    assert image["lost"] == image["missed"] == image["bad_nodes"] == image["out_of_order"] == 0
    assert image["unknown_frees"] == (200 if way == "deep" else 0)


def test_a_heap_with_blocks_out_of_reach_is_called_bounded(record, programs):
    profile = record(programs / "guest_scopes", "deep", programs / "guest_plugin", 200, options=["--cpu=off"])
    bounded = [row["detail"] for row in profile.report()["quality"] if row["kind"] == "bounded"]
    assert any("never seen allocated" in detail for detail in bounded)
    assert profile.report()["heap"]["peak_exact"] is False


def test_a_program_of_another_libc_is_tracked(record, runner, need):
    """musl: no dladdr1, no _dl_find_object, calloc and realloc that call malloc."""
    need.tool("musl-gcc")
    (runner.folder / "musl.c").write_text("""
        #include <stdlib.h>
        #include <stdio.h>
        #include <pthread.h>
        static void *volatile kept;
        static void *work(void *unused) { free(calloc(10, 30)); return unused; }
        static void __attribute__((noinline)) deep(int n) { if (n) deep(n - 1); else kept = malloc(77);
                                                            __asm__ volatile(""); }
        int main(void) {
            pthread_t thread;
            free(realloc(malloc(1000), 200000));
            kept = aligned_alloc(64, 640);
            if (pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0)) return 1;
            deep(5);
            puts("done");
            return 3; }""")
    made = runner.run("musl-gcc", "-O1", "-g", "-fno-builtin", "-Wl,--eh-frame-hdr", "-o", "musl", "musl.c")
    assert made.returncode == 0, made.stderr
    profile = record("./musl", options=["--cpu=off"], status=3)
    assert profile.stdout == "done\n" and "Error" not in profile.stderr
    heap = profile.report()["heap"]
    assert heap["tracked"]
    assert (heap["allocations"], heap["reallocations"], heap["frees"]) == (4, 1, 2)
    assert (heap["allocated_bytes"], heap["live_bytes"]) == (1000 + 200000 + 640 + 300 + 77, 640 + 77)
    stacks = [site["stack"] for site in heap["sites"] if site["live_bytes"] == 77]
    assert stacks == [["main"] + ["deep"] * 6 + ["malloc"]]


# --- the shared memory ------------------------------------------------------------------------


def scribble(runner, programs, seed, rounds=3000):
    """The program may die of it or be out of its rings; cprof lives, ends and has a file."""
    result = runner.cprof_run("record", "--cpu=off", "-o", "p", "--", programs / "guest_scribbles", seed, rounds,
                              timeout=60)
    assert result.returncode in (0, 128 + signal.SIGSEGV, 128 + signal.SIGBUS), result.stderr
    assert int(result.stdout) >= 3, "it found the shared memory"
    report = runner.cprof_run("report", "--json", "p")
    assert report.returncode == 0, report.stderr


@pytest.mark.slow
def test_a_program_that_scribbles_over_the_shared_memory_does_no_harm(runner, programs):
    for seed in range(2):
        scribble(runner, programs, seed)


@pytest.mark.long
def test_programs_that_scribble_over_the_shared_memory_do_no_harm(runner, programs):
    for seed in range(100, 125):
        scribble(runner, programs, seed)


# --- sudden ends ------------------------------------------------------------------------------


def start(runner, folder, script):
    """A recording of a shell, which writes down its pid first."""
    folder.mkdir()
    return runner.start(runner.cprof, "record", "--cpu=off", "-o", "p", "--", "sh", "-c",
                        "echo $$ >pid; " + script, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def contents(path):
    return path.read_text().strip() if path.exists() else ""


def report_of(runner, folder):
    """That of its profile, whose sums must agree."""
    result = runner.cprof_run("report", "--json", folder / "p")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    heap = report["heap"]
    if heap["tracked"]:
        assert heap["allocated_bytes"] - heap["freed_bytes"] == heap["live_bytes"]
    return report


def has_a_commit(folder):
    """The journal of a first commit says that the database had 0 pages before (sqlite.org, fileformat2)."""
    profile, journal = folder / "p", folder / "p-journal"
    if not profile.exists() or not profile.stat().st_size:
        return False
    return not journal.exists() or journal.read_bytes()[16:20] != bytes(4)


def counted_by_heap_killed(path):
    """What it has done and what it has begun, over all of its threads."""
    words = struct.unpack("=32Q", path.read_bytes())
    begun, done = ([sum(words[i::8]) for i in range(first, first + 4)] for first in (0, 4))
    return done, begun


def is_working(path):
    return path.exists() and path.stat().st_size and min(counted_by_heap_killed(path)[0]) > 0


def kill_program(runner, programs, folder, pause_s):
    """What it did up to then is in the file, but for what was under way, and the file is finished."""
    process = start(runner, folder, f"exec '{programs}/heap_killed' counts")
    assert wait_for(lambda: is_working(folder / "counts"))
    time.sleep(pause_s)
    os.kill(int(contents(folder / "pid")), signal.SIGKILL)
    assert process.wait(60) == 128 + signal.SIGKILL
    report = report_of(runner, folder)
    assert report["complete"] is True and report["heap"]["lost_events"] == 0
    sites = [site for site in report["heap"]["sites"] if site["stack"][-2] in ("allocate", "enlarge")]
    recorded = [sum(site[key] for site in sites)
                for key in ("allocations", "reallocations", "frees", "allocated_bytes")]
    done, begun = counted_by_heap_killed(folder / "counts")
    assert all(low <= number <= high for low, number, high in zip(done, recorded, begun)), (done, recorded, begun)


def kill_cprof(runner, programs, folder, pause_s):
    """The program goes on to its end; what cprof had written can be read."""
    process = start(runner, folder, f"'{programs}/heap_threads' 2 100000 >out; echo $? >status")
    time.sleep(pause_s)
    process.kill()
    process.wait()
    if wait_for(lambda: (folder / "pid").exists(), 0.5):  # otherwise it had not started the program
        assert wait_for(lambda: contents(folder / "status"), 30) == "0"
    if has_a_commit(folder):
        report_of(runner, folder)


def at_random_moments(number, kill, runner, programs, folder):
    moment = random.Random(number)
    for i in range(number):
        kill(runner, programs, folder / str(i), moment.random() * 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("kill", [kill_program, kill_cprof])
def test_killed_at_a_random_moment_nothing_hangs_and_the_file_can_be_read(runner, programs, tmp_path, kill):
    at_random_moments(8, kill, runner, programs, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kill", [kill_program, kill_cprof])
def test_killed_at_many_random_moments_nothing_hangs_and_the_file_can_be_read(runner, programs, tmp_path, kill):
    at_random_moments(50, kill, runner, programs, tmp_path)


@pytest.mark.slow
def test_with_cprof_stopped_the_program_goes_on_and_the_loss_is_said(runner, programs, tmp_path):
    folder = tmp_path / "stopped"
    process = start(runner, folder, f"'{programs}/heap_threads' 2 5000000 >out; echo $? >status")
    wait_for(lambda: contents(folder / "pid"))
    process.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: contents(folder / "status"), 60) == "0"
    process.send_signal(signal.SIGCONT)
    assert process.wait(60) == 0
    report = report_of(runner, folder)
    heap, counted = report["heap"], report["heap"]["counted"]
    allocations, frees = map(int, (folder / "out").read_text().split())
    lost = sum(row["count"] for row in report["quality"] if row["kind"] == "lost" and "did not keep up" in row["detail"])
    assert lost == heap["lost_events"] and counted["difference"] > 0
    # That a thread started is an event, too, but no operation.
    assert 0 <= lost - counted["difference"] <= 3
    assert allocations <= counted["allocations"] <= allocations + 1000 and frees <= counted["frees"] <= frees + 1000
    assert heap["peak_exact"] is False
    assert heap["peak_most_bytes"] == heap["peak_bytes"] + counted["allocated_bytes"] - heap["allocated_bytes"]
    assert heap["live_exact"] is False
    for view in "heap", "leaks":
        text = runner.cprof_run("report", view, folder / "p").stdout
        assert "at most" in text and "not seen freed" in text and f"{lost:,} events lost" in text
