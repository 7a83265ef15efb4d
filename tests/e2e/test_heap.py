# SPDX-License-Identifier: MIT
"""The heap side end to end: against programs that know what they did, and against valgrind.

valgrind counts a realloc as an allocation and a free, and counts what libc frees at exit unless
told not to; so allocations + reallocations = its allocs, frees + reallocations = its frees.
"""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

FIGURES = ["allocations", "frees", "reallocations", "allocated_bytes", "freed_bytes", "temporary",
           "live_bytes", "live_blocks", "at_peak_bytes", "at_peak_blocks"]


@pytest.fixture
def heap_of(record):
    """heap_of(program, *arguments): the heap object of a recording without the CPU side."""
    def run(*command, status=0, **options):
        return record(*command, options=["--cpu=off"], status=status, **options).report()["heap"]
    return run


def by_function(heap, names):
    """The figures of the functions that called the allocator, over all their stacks."""
    sums = {name: dict.fromkeys(FIGURES, 0) for name in names}
    for site in heap["sites"]:
        name = site["stack"][-2]
        if name in sums:
            for key in FIGURES:
                sums[name][key] += site[key]
    return sums


def sums_agree(heap):
    """What holds for every recording of one image."""
    sites = {key: sum(site[key] for site in heap["sites"]) for key in FIGURES}
    assert sites["at_peak_bytes"] == heap["peak_bytes"]
    assert sites["at_peak_blocks"] == heap["peak_blocks"]
    for key in FIGURES[:8]:
        assert sites[key] == heap[key], key
    assert heap["allocated_bytes"] - heap["freed_bytes"] == heap["live_bytes"]
    assert heap["allocations"] - heap["frees"] == heap["live_blocks"]
    assert heap["churn"]["bytes"] == heap["freed_bytes"]
    assert sum(c["bytes"] for c in heap["churn"]["by_lifetime"]) == heap["freed_bytes"]
    assert sum(c["blocks"] for c in heap["churn"]["by_lifetime"]) == heap["frees"]
    assert heap["peak_exact"]


# --- programs that know -----------------------------------------------------------------------


@pytest.mark.parametrize("turns", [4000, 40000])
def test_four_threads_and_eight_sites_are_as_the_program_counted(record, programs, tmp_path, turns):
    truth_file = tmp_path / "truth.json"
    profile = record(programs / "heap_sites", truth_file, turns)
    heap = profile.report()["heap"]
    truth = json.loads(truth_file.read_text())
    total = truth.pop("total")

    assert by_function(heap, truth) == truth
    # All else in the process is there before the turns begin and stays until they are over.
    others = heap["peak_bytes"] - total["at_peak_bytes"]
    assert 0 <= others < 100000
    assert heap["temporary"] == sum(site["temporary"] for site in truth.values())
    sums_agree(heap)
    assert not profile.spoiled_heap()


@pytest.mark.parametrize("seed", range(1, 7))
def test_threads_at_the_same_time_are_as_the_program_counted(record, programs, seed):
    """They take each other's blocks as chance has it; all of them only allocate until the peak, and only free after."""
    profile = record(programs / "heap_parallel", seed, options=["--cpu=off"] if seed % 2 else [])
    heap = profile.report()["heap"]
    truth = json.loads(profile.stdout)

    assert by_function(heap, truth) == truth
    others = heap["peak_bytes"] - sum(site["at_peak_bytes"] for site in truth.values())
    assert 0 <= others < 100000
    assert heap["temporary"] == sum(site["temporary"] for site in truth.values()) > 100
    sums_agree(heap)
    assert not profile.spoiled_heap()


@pytest.mark.parametrize("options", [[], ["--cpu=off"]], ids=["beside_samples", "alone"])
def test_what_each_thread_did_is_as_the_program_counted(record, programs, options):
    keys = ["tid", "allocations", "frees", "reallocations", "allocated_bytes", "freed_bytes", "temporary"]
    profile = record(programs / "heap_handover", options=options)
    counted = [line.split() for line in profile.stdout.splitlines()]
    threads = profile.report("threads")["threads"]
    rows = {row["tid"]: row for row in threads}
    heap = profile.report()["heap"]

    assert len(counted) == 2 and len(threads) == len(rows) == 3
    for name, tid, *figures in counted:
        row = rows[int(tid)]
        assert [row[key] for key in keys] == [int(tid), *map(int, figures)]
        assert row["comm"] == (None if options else name)
    for key in keys[1:]:
        assert sum(row[key] for row in threads) == heap[key], key
    assert profile.sql("SELECT tid, allocations, frees FROM v_thread ORDER BY tid") == [
        (row["tid"], row["allocations"], row["frees"]) for row in sorted(threads, key=lambda t: t["tid"])]


def test_each_of_two_thousand_threads_at_once_has_a_ring(heap_of, programs):
    """12 blocks each.  The rings of the first are larger than would be room for of all."""
    heap = heap_of(programs / "guest_threads", "many", 2000)
    assert 24001 <= heap["allocations"] <= 24001 + 4020
    assert heap["lost_events"] == 0
    sums_agree(heap)


def test_threads_have_no_heap_figures_where_the_heap_is_off(record, programs):
    profile = record(programs / "heap_handover", options=["--heap=off"])
    for row in profile.report("threads")["threads"]:
        assert row["allocations"] is row["freed_bytes"] is None
        assert row["reason"]


def test_live_blocks_of_a_killed_program_are_there(heap_of, programs):
    heap = heap_of(programs / "heap_chain", "keep=1000", "pass=500", "keep=30", "kill",
                   status=128 + signal.SIGKILL)
    assert heap["tracked"]
    assert (heap["allocations"], heap["frees"]) == (3, 1)
    assert heap["allocated_bytes"] == 1530
    assert heap["live_bytes"] == 1030
    assert heap["peak_bytes"] == 1500
    assert heap["temporary"] == 1
    sums_agree(heap)


def test_bytes_are_in_the_class_of_their_lifetime(heap_of, programs):
    heap = heap_of(programs / "heap_chain", "hold=4000", "keep=70", "pass=300")
    classes = heap["churn"]["by_lifetime"]

    assert [c["below_s"] for c in classes] == [1e-5, 1e-3, 0.1, None]
    assert classes[3] == {"below_s": None, "bytes": 4000, "blocks": 1}
    assert sum(c["bytes"] for c in classes[:3]) == 300
    held = [s for s in heap["sites"] if s["stack"][-2] == "hold"]
    assert len(held) == 1 and held[0]["mean_lifetime_s"] >= 0.15
    assert heap["churn"]["bytes"] == 4300
    assert heap["churn"]["share"] == pytest.approx(4300 / 4370)


def test_an_exec_starts_a_new_image_with_an_empty_heap(record, programs):
    report = record(programs / "heap_chain", "keep=1000", "exec", "pass=300", "keep=7",
                    options=["--cpu=off"]).report()
    images = [p["heap"] for p in report["processes"]]

    assert [h["live_bytes"] for h in images] == [1000, 7]
    assert [h["peak_bytes"] for h in images] == [1000, 300]
    assert [h["allocations"] for h in images] == [1, 2]
    assert report["heap"]["allocations"] == 3
    assert report["heap"]["peak_bytes"] == 1000, "the first image is gone when the second begins"
    assert report["heap"]["live_bytes"] == 1007
    assert report["heap"]["live_at_exec_bytes"] == 1000
    assert [p["replaced"] for p in report["processes"]] == [True, False]
    assert [p["executed"] for p in report["processes"]] == [True, True]


def test_what_was_live_at_an_exec_is_no_leak(record, programs):
    profile = record(programs / "heap_chain", "keep=1000", "exec", "pass=300", "keep=7",
                     options=["--cpu=off"])
    leaks = profile.report("leaks")["leaks"]
    assert [(site["leaked_bytes"], site["leaked_blocks"]) for site in leaks] == [(7, 1)]
    assert "1000 B of these went at an exec" in profile.text("heap")


def test_the_peak_of_the_tree_is_that_of_the_sum(record, programs):
    """A parent of 1000 and a child of 500 at the same time; then another child of 200."""
    report = record(programs / "heap_chain", "keep=1000", "spawn=500", "spawn=200", "keep=100",
                    options=["--cpu=off"]).report()
    heap = report["heap"]
    images = [p["heap"]["live_bytes"] for p in report["processes"] if p["tracked"]]

    assert sorted(images) == [0, 0, 200, 500, 1100], "the children forked, and executed something"
    assert heap["peak_bytes"] == 1500
    assert sum(site["at_peak_bytes"] for site in heap["sites"]) == 1500


def test_the_heap_side_works_without_any_perf(runner, programs, tmp_path):
    """What the seccomp filter of an old container leaves."""
    result = runner.run(programs / "noperf", "-p", 1, runner.cprof, "record", "-o", "p", "--",
                        programs / "heap_chain", "keep=10")
    assert result.returncode == 0, result.stderr
    report = json.loads(runner.cprof_run("report", "--json", "p").stdout)
    assert report["cpu"]["event"] is None and report["cpu"]["reason"]
    assert report["heap"]["live_bytes"] == 10


# --- valgrind ---------------------------------------------------------------------------------


def valgrind(runner, need, *command, env=None, stdin=None):
    """(program, allocs, frees, bytes) of each image."""
    need.tool("valgrind")
    for log in runner.folder.glob("vg.*"):
        log.unlink()
    runner.run("valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--trace-children=yes",
               "--log-file=vg.%p", *command, env=env, stdin=stdin)
    images = []
    for log in sorted(runner.folder.glob("vg.*")):
        text = log.read_text(errors="replace")
        usage = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", text)
        command = re.search(r"Command: (\S+)", text)
        if usage:
            numbers = [int(n.replace(",", "")) for n in usage.groups()]
            images.append((command[1].split("/")[-1], *numbers))
    return sorted(images)


def as_valgrind(report):
    """Of a forked child valgrind counts what it inherited too."""
    return sorted((process["command"][0].split("/")[-1],
                   process["heap"]["allocations"] + process["heap"]["reallocations"],
                   process["heap"]["frees"] + process["heap"]["reallocations"],
                   process["heap"]["allocated_bytes"])
                  for process in report["processes"] if process["tracked"] and process["executed"])


# What libc allocates for each thread has an entry more for the thread-local words of the shim.
DTV_ENTRY = 16


@pytest.mark.parametrize("command, threads", [
    (["heap_sites", "/dev/null", "6000", "polite"], 4),
    (["heap_chain", "keep=10", "pass=20", "spawn=30", "child", "pass=40"], 0),
    (["threads", "2"], 2),
], ids=["sites", "chain", "threads"])
def test_totals_of_our_programs_equal_valgrinds(runner, record, need, programs, command, threads):
    command = [programs / command[0], *command[1:]]
    truth = valgrind(runner, need, *command)
    ours = as_valgrind(record(*command, options=["--cpu=off"], status=None).report())
    assert [(*o[:3], o[3] - threads * DTV_ENTRY) for o in ours] == truth


def close(ours, theirs, calls, share):
    """Which of the four figures are further apart than that."""
    apart = []
    assert [o[0] for o in ours] == [t[0] for t in theirs]
    for o, t in zip(ours, theirs):
        if abs(o[1] - t[1]) > calls or abs(o[2] - t[2]) > calls or abs(o[3] - t[3]) > share * t[3]:
            apart.append((o, t))
    return apart


def nearly_equal(real, *command, **options):
    """What hashes addresses differs from run to run, valgrind's too, by a table of 32 KiB at times:
    one of three pairs of runs must be within 5 calls and 0.1 % of the bytes.  Our images."""
    for _ in range(3):
        ours, theirs = real(*command, **options)
        apart = close(ours, theirs, calls=5, share=0.001)
        if not apart:
            break
    assert not apart
    return [image[0] for image in ours]


@pytest.fixture
def real(runner, record, need):
    """What valgrind and we say of the images of a command that both ran."""
    def run(*command, env=None, stdin=None):
        def source():
            return open(stdin) if stdin else subprocess.DEVNULL
        theirs = valgrind(runner, need, *command, env=env, stdin=source())
        profile = record(*command, options=["--cpu=off"], env=env, stdin=source())
        report = profile.report()
        for process in report["processes"]:
            if process["tracked"]:
                assert process["heap"]["peak_exact"]
        assert sum(s["at_peak_bytes"] for s in report["heap"]["sites"]) == report["heap"]["peak_bytes"]
        assert not profile.spoiled_heap()
        return as_valgrind(report), theirs
    return run


@pytest.mark.slow
def test_totals_of_xz(real, runner):
    data = runner.folder / "data"
    data.write_bytes(bytes(i * i % 251 for i in range(300000)))
    ours, theirs = real("xz", "-k", "-f", "-T1", data)
    assert ours == theirs


@pytest.mark.slow
def test_totals_of_sqlite3(real, runner, need):
    need.tool("sqlite3")
    script = runner.folder / "script.sql"
    script.write_text("""
        create table t(a integer primary key, b text, c real);
        with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)
            insert into t select x, 'row ' || x, x * 1.5 from n;
        create index i on t(b);
        select count(*), sum(c) from t where b like 'row 1%';
        select t1.b from t t1 join t t2 on t1.a = t2.a + 1 where t1.a % 1000 = 0 order by t1.b;
    """)
    ours, theirs = real("sqlite3", ":memory:", f".read {script}")
    assert ours == theirs


@pytest.mark.slow
def test_totals_of_the_compiler_and_its_children(real, runner):
    """The driver counts its environment, which valgrind changes; cc1 hashes addresses."""
    source = runner.folder / "x.c"
    source.write_text("#include <stdio.h>\n" + "".join(
        f"int f{i}(int a, char *b) {{ return a * {i} + printf(b, a) % {i + 1}; }}\n" for i in range(50)))
    images = nearly_equal(real, "/usr/bin/gcc", "-O2", "-c", source, "-o", runner.folder / "x.o")
    assert images == ["as", "cc1", "gcc"]


@pytest.mark.slow
def test_totals_of_python(real, runner):
    """Its dictionaries and sets hash addresses, so that two runs differ, with valgrind too."""
    script = runner.folder / "script.py"
    script.write_text("""
d = {}
for i in range(5000):
    d[f"key {i}"] = [str(i)] * 3 + [{"a": i}]
t = "".join(sorted(k + v[0] for k, v in d.items()))
print(len(t))
""")
    nearly_equal(real, "/usr/bin/python3", "-I", script,
                 env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


@pytest.mark.parametrize("layout", [["-no-pie"], ["-fuse-ld=lld"], ["-fuse-ld=gold"], ["-Wl,-z,noseparate-code"],
                                    # Leaves holes between the segments: the loader then tells one of them only.
                                    ["-Wl,-z,max-page-size=0x10000"]], ids=" ".join)
def test_heap_stacks_are_whole_however_the_program_is_laid_out(record, runner, layout):
    source = Path(__file__).parent.parent / "programs/heap_chain.c"
    built = runner.run("gcc", "-O2", "-fomit-frame-pointer", "-fno-inline", "-o", "chain", source, *layout)
    if built.returncode:
        pytest.skip(f"gcc cannot link so here: {built.stderr.splitlines()[-1]}")
    report = record("./chain", "keep=1000", "pass=2000", options=["--cpu=off"]).report()
    stacks = sorted(site["stack"] for site in report["heap"]["sites"])
    assert stacks == [["main", "keep", "malloc"], ["main", "pass", "malloc"]]


@pytest.mark.parametrize("flags", [["-O2", "-fomit-frame-pointer"], ["-O2", "-fno-omit-frame-pointer"], ["-O0"]], ids=" ".join)
def test_a_coroutine_has_no_callers_of_another_stack(flags, record, runner, need):
    """Its first return address is the start of a function, to which no call leads."""
    need.tool("gcc")
    (runner.folder / "coroutine.c").write_text("""
        #include <stdlib.h>
        #include <ucontext.h>
        static ucontext_t main_context, context;
        __attribute__((noinline)) static void work(void) { free(malloc(1234)); }
        static void entry(void) { for (;;) { work(); swapcontext(&context, &main_context); } }
        __attribute__((noinline)) static void resume(volatile char *use) {
            volatile char room[200];
            for (int i = 0; i < 200; i++) room[i] = use[i % 3] + 1;
            swapcontext(&main_context, &context);
            use[0] = room[5]; }
        __attribute__((noinline)) static void make(void) {
            getcontext(&context);
            context.uc_stack.ss_sp = malloc(65536);
            context.uc_stack.ss_size = 65536;
            makecontext(&context, entry, 0); }
        int main(void) {
            volatile char use[3] = { 1, 2, 3 };
            make();
            for (int i = 0; i < 10; i++) resume(use);
            return 0; }""")
    runner.run("gcc", "-g", "-fno-builtin", *flags, "-o", "coroutine", "coroutine.c")
    sites = record("./coroutine", options=["--cpu=off"]).report()["heap"]["sites"]
    [stack] = [site["stack"] for site in sites if site["allocated_bytes"] == 12340]
    assert stack[-3:] == ["entry", "work", "malloc"] and "main" not in stack


def test_libraries_that_are_loaded_in_turn_at_one_address_are_told_apart(record, runner, need):
    """The other one may be there when the recorder looks at what is mapped."""
    need.tool("gcc")
    for name in "ab":
        (runner.folder / f"{name}.c").write_text(f"""
            #include <stdlib.h>
            __attribute__((noinline)) static void inner_{name}(void) {{ free(malloc({100 + ord(name)})); }}
            void plug(void) {{ inner_{name}(); __asm__ volatile(""); }}""")
        built = runner.run("gcc", "-O1", "-g", "-fno-builtin", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c")
        assert built.returncode == 0, built.stderr
    (runner.folder / "turns.c").write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void) {
            void *before = 0, *now; int same = 0;
            for (int i = 0; i < 200; i++, before = now) {
                void *library = dlopen(i % 2 ? "./a.so" : "./b.so", RTLD_NOW);
                now = dlsym(library, "plug");
                same += now == before;
                ((void (*)(void))now)();
                dlclose(library);
            }
            printf("%d\\n", same);
            return 0; }""")
    runner.run("gcc", "-O1", "-g", "-o", "turns", "turns.c")
    for _ in range(6):
        profile = record("./turns", options=["--cpu=off"])
        assert int(profile.stdout) > 150
        sites = {tuple(site["stack"][-3:]): site["allocations"] for site in profile.report()["heap"]["sites"]
                 if site["stack"][-2].startswith("inner")}
        assert sites == {("plug", "inner_a", "malloc"): 100, ("plug", "inner_b", "malloc"): 100}
