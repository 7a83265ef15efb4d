# SPDX-License-Identifier: MIT
"""Process trees: forks, execs and ends, and the heap of all processes together."""

import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from sums import ALL_COUNTED, SUMS, check_stored_sums, check_sums

def by_command(report, word):
    """The images whose first argument is that program."""
    return [p for p in report["processes"] if p["command"][0].rsplit("/")[-1] == word]


# --- one after the other ---

@pytest.mark.parametrize("options", [[], ["--cpu=off"]], ids=["both", "heap alone"])
def test_what_ended_is_not_live_together_with_what_came_after_it(runner, programs, options):
    profile = runner.record(programs / "heap_succession", 800, options=["--no-symbols", *options])
    heap = profile.report()["heap"]
    assert (heap["peak_bytes"], heap["peak_exact"]) == (1005000, True)
    assert profile.sql("SELECT max(max_live_bytes) FROM slice WHERE process = -1") == [(1005000,)]
    # In the tree's timeline each is where it is in its own.
    assert profile.sql("SELECT * FROM heap WHERE process > 0 AND NOT EXISTS (SELECT 1 FROM slice WHERE slice.process = -1 AND "
                       "peak_time_us - time_us BETWEEN 0 AND duration_us AND max_live_bytes >= peak_bytes)") == []


# --- brute force ------------------------------------------------------------------------------


def check_family(runner, programs, seed, options):
    """Every figure of every image of a random family, and the peak of the sum."""
    profile = runner.record(programs / "heap_family", 3000, seed, options=options)
    truth, report = json.loads(profile.stdout), profile.report()
    images = {(p["pid"], p["image"]): p["heap"] for p in report["processes"]}
    expected = {(i["pid"], i["image"]): i for i in truth["images"]}
    total = {key: sum(image[key] for image in truth["images"]) for key in SUMS}

    assert {who: {key: heap[key] for key in ALL_COUNTED} for who, heap in images.items()} == \
           {who: {key: image[key] for key in ALL_COUNTED} for who, image in expected.items()}
    assert {key: report["heap"][key] for key in SUMS} == total
    assert report["heap"]["peak_bytes"] == truth["peak_bytes"]
    assert report["heap"]["peak_blocks"] == truth["peak_blocks"]
    assert report["heap"]["peak_exact"] and not profile.spoiled_heap()
    assert sum(site["at_peak_bytes"] for site in report["heap"]["sites"]) == truth["peak_bytes"]
    assert sum(image["inherited_frees"] for image in truth["images"]) > 50, "or it shows nothing"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tree_is_as_brute_force_counts_it(runner, programs, seed):
    check_family(runner, programs, seed, [])


def test_a_tree_is_the_same_without_perf(runner, programs):
    check_family(runner, programs, 3, ["--cpu=off"])


def test_a_tree_is_the_same_for_an_ordinary_user(nobody, programs):
    shutil.copy(programs / "heap_family", nobody.folder)
    check_family(nobody, nobody.folder, 4, [])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_trees_are_as_brute_force_counts_them(runner, programs, seed):
    check_family(runner, programs, seed, ["--cpu=off"] if seed % 2 else [])


# --- how processes end ------------------------------------------------------------------------


def test_each_image_says_how_it_ended(record):
    script = "ls /nonexistent; sh -c 'kill -9 $$'; true | false; sh -c 'exit 7'; exec sh -c 'exit 3'"
    report = record("sh", "-c", script, status=3).report()
    ends = {}
    for process in report["processes"]:
        ends[process["pid"]] = (process["command"][-1], process["exit_status"], process["signal"])
    assert ("/nonexistent", 2, None) in ends.values()
    assert ("kill -9 $$", None, signal.SIGKILL) in ends.values()
    assert ("exit 7", 7, None) in ends.values()
    assert (script, 0, None) in ends.values() and (script, 1, None) in ends.values(), "true and false"
    assert report["processes"][0]["exit_status"] is None, "that one ended by an exec"
    assert report["processes"][-1]["exit_status"] == 3


# --- real trees -------------------------------------------------------------------------------


def test_a_pipeline(anybody):
    profile = anybody.record("sh", "-c", "seq 1000 | sort -n | tail -n 1; exit 4", status=4)
    report = profile.report()
    assert profile.stdout == "1000\n" and profile.spoiled_heap() == []
    for word in ("seq", "sort", "tail"):
        (process,) = by_command(report, word)
        assert process["exit_status"] == 0 and process["executed"] and process["tracked"]
        assert process["parent"] == report["processes"][0]["pid"]
        assert process["heap"]["allocations"] > 0
        assert 0 <= process["start_s"] < process["end_s"]
    check_sums(report)


MULTIPROCESSING = """
import multiprocessing, sys, threading
def work(n):
    return sum(len(bytearray(1000)) for i in range(n))
if __name__ == "__main__":
    threads = [threading.Thread(target=work, args=(100,)) for i in range(3)]
    [t.start() for t in threads]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(work, [10, 20, 30])))
        pool.close()
        pool.join()
    [t.join() for t in threads]
"""


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_python_multiprocessing(anybody, way):
    """As SQL: the document with all of python's stacks is large."""
    (anybody.folder / "pool.py").write_text(MULTIPROCESSING)
    profile = anybody.record("/usr/bin/python3", "pool.py", way)
    assert profile.stdout == "60000\n"
    assert profile.spoiled_heap() == []
    workers = profile.sql("SELECT allocations, exit_status, inherited_bytes, inherited_frees FROM v_process "
                          "WHERE parent = 0 AND NOT replaced")
    assert len(workers) >= 2
    # For spawn's resource tracker nobody waits: how it ended is not known.
    assert sum(allocations > 0 and status == 0 for allocations, status, _, _ in workers) == 2, workers
    if way == "fork":
        assert sum(size > 500000 and frees > 0 for _, _, size, frees in workers) == 2
    check_stored_sums(profile)


MAKEFILE = """
objects := $(patsubst %.c,%.o,$(wildcard *.c))
program: $(objects)
	$(CC) -o $@ $^
%.o: %.c
	$(CC) -O1 -c -o $@ $<
"""


def test_make_builds_the_same_thing(runner, need):
    need.tool("make")
    need.file("/usr/bin/cc", "the compiler itself, not a cache of it")
    builds = []
    for name in ("plain", "recorded"):
        folder = runner.folder / name
        folder.mkdir()
        (folder / "Makefile").write_text(MAKEFILE)
        for i in range(3):
            (folder / f"f{i}.c").write_text(f"int f{i}(int x) {{ return x + {i}; }}\n")
        (folder / "main.c").write_text("int f0(int), f1(int), f2(int);\n"
                                       "int main(void) { return f0(f1(f2(0))); }\n")
        builds.append(folder)
    assert runner.run("make", "-j2", "CC=/usr/bin/cc", cwd=builds[0]).returncode == 0
    profile = runner.record("make", "-j2", "-C", builds[1], "CC=/usr/bin/cc")
    report = profile.report()
    for path in builds[0].glob("*.o"):
        assert path.read_bytes() == (builds[1] / path.name).read_bytes()
    assert profile.spoiled_heap() == []
    assert len(by_command(report, "cc1")) == len(by_command(report, "as")) == 4
    assert all(p["exit_status"] == 0 for p in report["processes"] if not p["replaced"])
    check_sums(report)


@pytest.mark.long
def test_make_builds_a_whole_project(runner, need):
    """A good part of this one, as it is in the working tree."""
    need.tool("make")
    need.file("/usr/bin/cc", "the compiler itself, not a cache of it")
    tree = Path(__file__).resolve().parents[2]
    objects = [Path("build/release") / source.relative_to(tree).with_suffix(".o")
               for part in ("report", "stat", "store") for source in (tree / "lib" / part).rglob("*.c")]
    built = []
    for name in ("plain", "recorded"):
        folder = runner.folder / "project"
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("cmd", "lib", "man", "scripts"):
            shutil.copytree(tree / part, folder / part)
        shutil.copy(tree / "Makefile", folder)
        build = ["make", "-j2", "-C", folder, "CC=/usr/bin/cc", *objects]
        if name == "plain":
            assert runner.run(*build).returncode == 0
        else:
            profile = runner.record(*build, options=["--no-symbols"])
        built.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.o")})
    assert built[0] == built[1] and len(built[0]) > 50
    assert profile.spoiled_heap() == []
    assert profile.sql("SELECT count(*), sum(tracked), sum(exit_status = 0) FROM v_process "
                       "WHERE executable LIKE '%/cc1' AND executed") == [(len(built[0]),) * 3]
    check_stored_sums(profile)


CONFIGURE = """
i=0
while [ $i -lt 30 ]; do
	i=$((i + 1))
	case $((i % 3)) in
	0) echo "int main(void) { return nosuch_$i(); }" ;;
	1) echo "#include <nosuch_$i.h>" ;;
	2) echo "#include <stddef.h>
		int main(void) { return sizeof(size_t) == 0; }" ;;
	esac >conftest.c
	if ${CC} -o conftest conftest.c >>config.log 2>&1 && ./conftest
	then echo "#define HAVE_$i 1"
	else echo "/* #undef HAVE_$i */"
	fi
	rm -f conftest conftest.c
done >config.h
cat config.h
"""


def test_a_configure_script(anybody, need):
    """Like autoconf's: thirty probes, of which a third compiles, and runs what came out."""
    need.file("/usr/bin/cc", "the compiler itself, not a cache of it")
    (anybody.folder / "configure").write_text(CONFIGURE)
    plain = anybody.run("sh", "configure", env={"CC": "/usr/bin/cc"})
    profile = anybody.record("sh", "configure", options=["--no-symbols"], env={"CC": "/usr/bin/cc"})
    assert profile.stdout == plain.stdout and plain.stdout.count("#define") == 10
    assert profile.spoiled_heap() == []

    def images(name):
        return profile.sql("SELECT count(*), sum(tracked), sum(exit_status = 0) FROM v_process "
                           f"WHERE executed AND executable LIKE '%/{name}'")
    assert images("conftest") == [(10, 10, 10)]
    assert images("cc1") == [(30, 30, 20)], "10 do not compile"
    assert images("%as") == [(20, 20, 20)]
    check_stored_sums(profile)


DAEMON = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	int done[2];
	char c;
	if (pipe(done) < 0 || !malloc(1000))
		return 1;
	if (!fork()) {
		setsid();
		if (fork())
			_exit(7);
		for (int i = 0; i < 100; i++)
			if (!malloc(100))
				return 2;
		return write(done[1], "x", 1) != 1;
	}
	return read(done[0], &c, 1) != 1; /* nobody waits for either child */
}
"""


def test_a_daemon_that_forks_twice(runner, need):
    need.tool("cc")
    (runner.folder / "daemon.c").write_text(DAEMON)
    assert runner.run("cc", "-fno-builtin", "-o", "daemon", "daemon.c").returncode == 0
    report = runner.record("./daemon").report()
    program, between, daemon = report["processes"]
    assert [p["heap"]["allocations"] for p in report["processes"]] == [1, 0, 100]
    assert [p["heap"]["inherited_bytes"] for p in report["processes"]] == [0, 1000, 1000]
    assert between["exit_status"] == 7, "as it said itself"
    assert daemon["executed"] is False and daemon["parent"] in (between["pid"], program["pid"])
    check_sums(report)


def test_what_runs_on_is_counted_up_to_the_end_of_the_recording(runner):
    """Its own counters go on: they say nothing against what was collected."""
    (runner.folder / "on.py").write_text("""
import time
end = time.monotonic() + 3
while time.monotonic() < end:
    bytearray(5000)
""")
    profile = runner.record("sh", "-c", "for i in 1 2 3 4; do /usr/bin/python3 on.py & done; sleep 1",
                            options=["--no-symbols"])
    on = by_command(profile.report(), "python3")
    assert len(on) == 4 and all(p["tracked"] and p["exit_status"] is None for p in on)
    assert profile.spoiled_heap() == []


def test_a_rust_program_that_spawns(runner, need):
    need.tool("rustc")
    (runner.folder / "spawn.rs").write_text("""
use std::process::Command;
fn main() {
    let children: Vec<_> = (0..3).map(|i| Command::new("sh").args(["-c", &format!("exit {}", i)]).spawn().unwrap()).collect();
    for mut child in children { println!("{}", child.wait().unwrap().code().unwrap()); }
}""")
    assert runner.run("rustc", "spawn.rs").returncode == 0
    profile = runner.record("./spawn")
    report = profile.report()
    assert profile.stdout == "0\n1\n2\n" and profile.spoiled_heap() == []
    assert sorted(p["exit_status"] for p in by_command(report, "sh") if p["executed"]) == [0, 1, 2]
    check_sums(report)


FORKS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *leaf[] = { "/proc/self/exe", "leaf", NULL };
static void *inherited;

static void use_heap(int nr, size_t size)
{
	while (nr--)
		if (!malloc(size))
			_exit(3);
}

/* The child frees what it inherited, and holds blocks of its own. */
static int child(void)
{
	free(inherited);
	use_heap(30, 50);
	free(malloc(70));
	return 0;
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

static int by_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(child());
	return wait_for(pid);
}

static int by_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);

	if (!pid)
		_exit(child());
	return wait_for(pid);
}

static volatile int status = 8;

static void on_signal(int number)
{
	(void)number;
	status = by_fork();
}

static int in_handler(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	return status;
}

static void *fork_in_thread(void *unused)
{
	status = by_fork();
	return unused;
}

static int in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fork_in_thread, NULL) || pthread_join(thread, NULL))
		return 7;
	return status;
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execve(leaf[0], leaf, environ);
		_exit(6);
	}
	return wait_for(pid);
}

static int by_spawn(void)
{
	pid_t pid;

	return posix_spawn(&pid, leaf[0], NULL, NULL, leaf, environ) ? 5 : wait_for(pid);
}

int main(int argc, char **argv)
{
	static const struct way {
		const char *name;
		int (*run)(void);
	} ways[] = { { "fork", by_fork },     { "clone", by_clone }, { "handler", in_handler },
		     { "thread", in_thread }, { "vfork", by_vfork }, { "spawn", by_spawn } };

	if (argc < 2)
		return 4;
	if (!strcmp(argv[1], "leaf")) {
		use_heap(30, 50);
		free(malloc(70));
		return 0;
	}
	inherited = malloc(1000);
	use_heap(5, 10);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return 4;
}
"""

# As FORKS counts them: what a child does, whether it was forked or executed.
OF_CHILD = {"allocations": 31, "allocated_bytes": 30 * 50 + 70, "live_bytes": 30 * 50, "live_blocks": 30,
            "freed_bytes": 70}


def own(heap, key):
    """Of a process without what the thread library allocates for itself (calloc)."""
    return heap[key] - sum(site[key] for site in heap["sites"] if site["stack"][-1] == "calloc")


@pytest.mark.parametrize("cpu", ["on", "off"])
@pytest.mark.parametrize("way", ["fork", "clone", "handler", "thread", "vfork", "spawn"])
def test_the_heap_of_a_child_however_it_was_made(runner, need, way, cpu):
    need.tool("cc")
    (runner.folder / "forks.c").write_text(FORKS)
    assert runner.run("cc", "-fno-builtin", "-pthread", "-o", "forks", "forks.c").returncode == 0
    profile = runner.record("./forks", way, options=[f"--cpu={cpu}"])
    report = profile.report()
    program, *children = [p for p in report["processes"] if p["tracked"]]
    (child,) = children
    executed = way in ("vfork", "spawn")
    assert {key: child["heap"][key] for key in OF_CHILD} == OF_CHILD
    assert child["heap"]["inherited_frees"] == (0 if executed else 1)
    assert own(program["heap"], "allocations") == 6 and own(program["heap"], "live_bytes") == 1050
    assert child["parent"] == program["pid"] and child["exit_status"] == 0
    assert [p for p in report["processes"] if not p["tracked"] and not p["replaced"]] == []
    assert profile.spoiled_heap() == []
    check_sums(report)


MANY = """
i=0
while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done
kill -USR1 $1
read line
"""


def memory_file(pid):
    """What the recorder shares with the program, as it is in /proc."""
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        if "memfd:" in os.readlink(fd):
            return fd
    raise AssertionError("no memory is shared")


def test_memory_of_processes_that_ended_is_used_again(runner):
    """One process holds on while hundreds come and go."""
    waiting, told = threading.Event(), signal.signal(signal.SIGUSR1, lambda *_: waiting.set())
    try:
        recorder = runner.start(runner.cprof, "record", "--no-symbols", "--cpu=off", "-q", "--", "sh", "-c", MANY,
                                "sh", os.getpid(), stdin=subprocess.PIPE)
        with recorder:
            assert waiting.wait(120)
            file = memory_file(recorder.pid)
            used = file.stat().st_blocks * 512
            for _ in range(200):
                if used < 4 << 20:
                    break
                time.sleep(0.05)  # the last ones are being taken out
                used = file.stat().st_blocks * 512
            recorder.communicate(b"\n", timeout=60)
    finally:
        signal.signal(signal.SIGUSR1, told)
    assert 0 < used < 4 << 20


@pytest.mark.long
@pytest.mark.parametrize("what", ["fork", "exec"])
def test_stress_ng(nobody, need, what):
    """As an ordinary user: root may not run its --exec."""
    need.tool("stress-ng")
    profile = nobody.record("stress-ng", f"--{what}", 2, "--timeout", "10s", options=["--no-symbols"])
    assert profile.sql("SELECT count(*) FROM process")[0][0] > 50
    assert profile.sql("SELECT count(*) FROM process WHERE tracked")[0][0] > 2
    assert profile.sql("SELECT * FROM quality WHERE kind = 'bounded'") == []


def test_a_limit_of_file_sizes_does_not_keep_the_heap_side_out(runner):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50 << 20, resource.RLIM_INFINITY))
    profile = runner.record("sh", "-c", "ulimit -f", preexec_fn=limit)
    assert profile.report()["heap"]["tracked"] is True
    assert profile.stdout == f"{(50 << 20) // 512}\n", "the program's is as it was"


ADOPTING = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	void *blocks[40];
	for (int i = 0; i < 40; i++)
		blocks[i] = malloc(100);
	if (!fork()) {
		for (int i = 0; i < 40; i++)
			blocks[i] = realloc(blocks[i], 200);
		free(blocks[0]);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""


def test_what_a_child_reallocates_of_its_inheritance_is_no_difference(record, runner, need):
    """It is a free and an allocation in the figures, and a reallocation to the shim."""
    need.tool("gcc")
    (runner.folder / "adopting.c").write_text(ADOPTING)
    assert runner.run("gcc", "-fno-builtin", "-w", "-o", "adopting", "adopting.c").returncode == 0
    heap = record(runner.folder / "adopting").report()["heap"]
    assert heap["inherited_frees"] == 40 and heap["allocations"] + heap["reallocations"] >= 80
    assert heap["counted"]["difference"] == 0 and heap["lost_events"] == 0
