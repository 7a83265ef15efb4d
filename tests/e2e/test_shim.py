# SPDX-License-Identifier: MIT
"""The shim in difficult programs: what it puts into the rings is checked event by event.

tests/programs/heap_events runs a program under the shim and applies every event in order, with no
code of the recorder: no free of an unknown block, no block handed out twice, no number missing,
no stack whose nodes do not lead to the root.
"""

import os
import re
import subprocess

import pytest

from shim_events import REASON_FOREIGN_MALLOC, REASON_RECORDER_GONE, STATE_LIVE, STATE_OFF, STOP, build


# --- counts -----------------------------------------------------------------------------------


def test_every_allocation_function_counts_as_the_definitions_say(events, programs):
    run = events(programs / "heap_every")
    image = run.image
    allocations, reallocations, frees, size = run.numbers()
    assert image["allocations"] == allocations
    assert image["reallocations"] == reallocations
    assert image["frees"] == frees
    assert image["allocated_bytes"] == size == image["freed_bytes"]
    assert image["live_blocks"] == 0
    assert image["failed_reallocs"] == 6


def valgrind_totals(runner, *command):
    """allocs, frees, bytes as memcheck counts them."""
    result = runner.run("valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", *command)
    found = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", result.stderr)
    return [int(number.replace(",", "")) for number in found.groups()]


@pytest.mark.parametrize("command", [["ls", "-lR", "/usr/include"], ["sort", "--parallel=2", "/etc/services"],
                                     ["sed", "-n", "s/tcp/&/p", "/etc/services"]])
def test_totals_are_those_of_valgrind(events, runner, need, command):
    need.tool("valgrind")
    image = events(*command).images[0]
    allocs, frees, size = valgrind_totals(runner, *command)
    assert image["allocations"] + image["reallocations"] == allocs
    assert image["frees"] + image["reallocations"] == frees
    assert image["allocated_bytes"] == size


NEW = r"""
    #include <cstdio>
    #include <new>
    struct alignas(64) Wide { char bytes[192]; };
    static void *volatile kept;
    template <class T> static T *seen(T *block) { kept = block; return block; }
    int main()
    {
        for (int i = 0; i < 10; i++) {
            delete seen(new int(i));
            delete[] seen(new char[100]);
            delete seen(new (std::nothrow) double(1));
            delete[] seen(new (std::nothrow) char[300]);
            delete seen(new Wide);
            delete[] seen(new Wide[3]);
            delete seen(new (std::nothrow) Wide);
            operator delete(seen(operator new(77)), 77ul);
            operator delete(seen(operator new(640, std::align_val_t(128))), 640ul, std::align_val_t(128));
        }
        seen(new char[1000]);
        return 0;
    }"""


def test_every_new_and_delete_counts_once(events, runner, need, tmp_path):
    need.tool("valgrind")
    (tmp_path / "new.cc").write_text(NEW)
    subprocess.run([need.tool("g++"), "-std=c++17", "-fsized-deallocation", "-O1", "-o", tmp_path / "new",
                    tmp_path / "new.cc"], check=True)
    image = events(tmp_path / "new").image
    allocs, frees, size = valgrind_totals(runner, tmp_path / "new")
    assert allocs >= 91 and frees >= 90
    assert (image["allocations"], image["frees"], image["allocated_bytes"]) == (allocs, frees, size)


def test_the_functions_that_free_by_other_names_count(events, need, tmp_path):
    """Of C23, and one that libc keeps for old programs only: under the shim all are there."""
    need.tool("gcc")
    program = build(tmp_path, "others", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdlib.h>
        #define OTHER(name, ...) void (*name)(__VA_ARGS__) = (void (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name)
        int main(void) {
            OTHER(cfree, void *); OTHER(free_sized, void *, size_t); OTHER(free_aligned_sized, void *, size_t, size_t);
            cfree(malloc(10)); cfree(NULL); free_sized(malloc(20), 20); free_sized(NULL, 0);
            free_aligned_sized(aligned_alloc(64, 128), 64, 128); free_aligned_sized(NULL, 8, 8);
            return 0; }""")
    image = events(program).image
    assert (image["allocations"], image["frees"], image["freed_bytes"]) == (3, 3, 158)


def test_blocks_of_another_preload_from_before_our_constructor_count(events, need, programs, tmp_path):
    """The one behind us is made first, and ended last."""
    need.tool("gcc")
    other = build(tmp_path, "other", """
        #include <stdlib.h>
        static void *block[2];
        __attribute__((constructor)) static void begin(void) { block[0] = malloc(50); block[1] = calloc(1, 60); }
        __attribute__((destructor)) static void end(void) { free(block[0]); block[1] = realloc(block[1], 70); }
        """, "-shared", "-fPIC")
    run = events(programs / "guest_early", behind=other)
    assert run.stdout == "4\n"
    assert run.image["freed_bytes"] == 100 + 200 + 400 + 800 + 50 + 60
    assert run.image["live_bytes"] == run.image["allocated_bytes"] - run.image["freed_bytes"] >= 70


# --- order ------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads, rounds, again", [(2, 60000, 1), (4, 30000, 1), (4, 300, 100), (300, 200, 1)])
def test_no_event_is_out_of_order_whatever_the_threads_do(events, programs, threads, rounds, again):
    run = events(programs / "heap_threads", threads, rounds, again)
    image = run.image
    allocations, frees = run.numbers()
    assert image["frees"] == frees
    # Beside ours, what libc keeps for threads that are there at the same time.
    assert allocations + 1 <= image["allocations"] <= allocations + threads * again
    assert image["threads"] == threads * again + 1


def test_rings_of_dead_threads_are_used_again(events, programs):
    image = events(programs / "heap_threads", 4, 100, 200).image
    assert image["threads"] == 801
    assert image["rings"] < 40


def test_tiny_rings_and_a_slow_reader_stall_but_lose_nothing(events, programs):
    run = events(programs / "heap_threads", 4, 5000, options=["-r", 8, "-d", 20])
    assert run.image["frees"] == run.numbers()[1]
    assert run.image["stalled_ns"] > 0


# --- what is not a simple call ----------------------------------------------------------------


def test_calls_inside_an_allocator_count_once(events, programs):
    run = events(programs / "heap_every", behind=programs / "heap_bump", check=False)
    # It frees nothing, and its realloc calls its own malloc and free by their public names.
    assert run.image["unknown_frees"] == run.image["duplicates"] == 0
    assert run.image["allocations"] == 36 and run.image["nested"] == 0


@pytest.mark.parametrize("mode", ["return", "alt"])
def test_calls_in_signal_handlers_count_wherever_they_interrupt(events, programs, mode):
    run = events(programs / "heap_signals", mode, behind=programs / "heap_bump", env={"BUMP_SIGNAL": "1"})
    allocations, frees, handled, _ = run.numbers()
    assert handled > 100
    assert (run.image["allocations"], run.image["frees"]) == (allocations, frees)
    assert run.image["nested"] >= 1


def test_handlers_that_jump_away_cost_at_most_the_call_they_left(events, programs):
    run = events(programs / "heap_signals", "jump", behind=programs / "heap_bump", check=False,
                 env={"BUMP_SIGNAL": "1"})
    allocations, frees, _, jumped = run.numbers()
    image = run.image
    assert run.status == 0 and jumped > 30
    assert abs(image["allocations"] - allocations) <= jumped
    assert abs(image["frees"] - frees) <= jumped
    assert run.gaps <= jumped
    assert image["bad_nodes"] == image["out_of_order"] == image["lost"] == 0
    assert image["state"] == STATE_LIVE


# --- processes --------------------------------------------------------------------------------


def leaves(run):
    return [image for image in run.images if image["argv"].split("\0")[1] == "leaf"]


@pytest.mark.parametrize("way", ["fork", "vfork", "bare", "execle", "fexecve", "spawn", "spawnp",
                                 "system", "exec", "forkonly", "_Fork", "clone", "execveat"])
def test_what_a_program_executes_is_tracked(events, programs, way):
    run = events(programs / "heap_processes", way)
    parent, (leaf,) = run.images[0], leaves(run)
    assert parent["allocations"] == 6 and parent["live_bytes"] > 5000
    assert leaf["allocations"] == 8 and leaf["live_bytes"] > 7000
    assert (leaf["pid"] == parent["pid"]) == (way == "exec")
    assert parent["forks"] == (way in ("fork", "_Fork", "bare", "execle", "execveat", "fexecve", "forkonly"))


def test_forks_of_a_program_whose_threads_allocate(events, programs):
    run = events(programs / "heap_processes", "threads")
    assert len(leaves(run)) == run.images[0]["forks"] == 50
    assert all(leaf["allocations"] == 8 for leaf in leaves(run))


def test_python_with_subprocesses_behaves(events, need):
    script = ("import subprocess, os; print(subprocess.run(['echo', 'a'], capture_output=True, env={}).stdout);"
              "pid = os.fork(); x = [bytearray(1000) for i in range(1000)]; pid or os._exit(3);"
              "print(os.waitpid(pid, 0)[1] >> 8)")
    run = events("/usr/bin/python3", "-c", script, env={"PYTHONMALLOC": "malloc"})
    assert run.stdout == "b'a\\n'\n3\n"
    assert run.images[0]["allocations"] > 10000
    assert ["echo" in image["argv"] for image in run.images].count(True) >= 1


# --- stacks -----------------------------------------------------------------------------------


def stack_of(image, node):
    while node:
        address, parent, module = image["nodes"][node]
        yield address, module
        node = parent


def test_stacks_are_those_of_backtrace(events, programs):
    run = events(programs / "heap_stacks", 300, options=["-s"])
    live = {address: node for address, _, node in run.image["live"][1:]}
    lines = run.stdout.splitlines()
    assert len(lines) > 1000
    for line in lines:
        address, _, *expected = (int(word) for word in line.split())
        _, *got = (address for address, module in stack_of(run.image, live[address]) if module != STOP)
        assert got == expected


def test_a_library_in_the_place_of_another_is_told_from_it(events, programs):
    run = events(programs / "heap_plugins", programs / "heap_plugin_a", programs / "heap_plugin_b", 20,
                 options=["-s"])
    if run.stdout != "0\n":
        pytest.skip("the libraries were not loaded at the same addresses")
    paths = {101: [], 202: []}
    for _, size, node in run.image["live"][1:]:
        if size in paths:
            module = next(stack_of(run.image, node))[1]
            paths[size].append(os.path.basename(run.image["modules"][module]["path"]))
    assert paths == {101: ["heap_plugin_a"] * 20, 202: ["heap_plugin_b"] * 20}
    assert len(run.image["modules"]) < 10


def test_modules_have_their_build_id(events, programs, need):
    need.tool("readelf")
    image = events(programs / "heap_every").image
    paths = [module["path"] for module in image["modules"][1:]]
    assert os.path.realpath(programs / "heap_every") in map(os.path.realpath, paths)
    for module in image["modules"][1:]:
        notes = subprocess.run(["readelf", "-n", module["path"]], capture_output=True, text=True).stdout
        assert f"Build ID: {module['build_id']}\n" in notes


# --- deaths -----------------------------------------------------------------------------------


def test_a_killed_program_loses_nothing_published(events, programs):
    run = events(programs / "heap_threads", 4, 1000000000, options=["-k", 300], check=False)
    image = run.image
    assert run.status == 128 + 9
    assert image["allocations"] > 1000
    # At most one event a thread was taken a number for and not published, or not counted.
    assert run.gaps <= 5
    assert abs(image["counted_allocations"] - image["allocations"]) <= 5
    assert image["duplicates"] == 0 and image["unknown_frees"] <= 5


def test_a_program_goes_on_without_its_recorder(events, programs):
    run = events(programs / "heap_threads", 4, 300000, options=["-x", 100, "-r", 10], check=False)
    assert run.status == 0
    assert len(run.numbers()) == 2
    assert (run.image["state"], run.image["reason"]) == (STATE_OFF, REASON_RECORDER_GONE)


# --- programs that cannot be tracked ----------------------------------------------------------


def test_a_program_with_its_own_malloc_is_named(events, tmp_path, need):
    need.tool("gcc")
    program = build(tmp_path, "own", """
        #include <stddef.h>
        static _Alignas(16) char memory[1 << 20]; static size_t used;
        void *malloc(size_t n) { void *p = memory + used; used += (n + 15) & ~15ul; return p; }
        void free(void *p) { (void)p; }
        int main(void) { return malloc(10) == 0; }""", "-rdynamic")
    run = events(program, check=False)
    assert (run.status, run.image["state"], run.image["reason"]) == (0, STATE_OFF, REASON_FOREIGN_MALLOC)


def test_a_program_that_takes_the_address_of_malloc_is_tracked(events, tmp_path, need):
    need.tool("gcc")
    program = build(tmp_path, "address", """
        #include <stdlib.h>
        void *(*volatile function)(size_t) = malloc;
        int main(void) { return function == malloc && function(10) ? 0 : 1; }""", "-no-pie")
    assert events(program).image["allocations"] == 1


def test_nothing_happens_without_a_launcher(runner, shim):
    for env in ({}, {"CPROF_HEAP": "/nonexistent"}, {"CPROF_HEAP": "/etc/passwd"}, {"CPROF_HEAP": ""},
                {"CPROF_HEAP": "x" * 5000}):
        result = runner.run("echo", "hello", env={"LD_PRELOAD": str(shim), **env})
        assert (result.stdout, result.stderr, result.returncode) == ("hello\n", "", 0)


def test_an_address_space_limit_does_not_stop_the_program(events, programs):
    run = events("sh", "-c", f"ulimit -v 60000; exec {programs}/heap_every", check=False)
    assert run.status == 0
    assert run.images[-1]["state"] == STATE_LIVE or run.images[-1]["reason"] != 0
