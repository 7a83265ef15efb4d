# SPDX-License-Identifier: MIT
"""On another CPU, with a PMU: an arm64 guest in QEMU (scripts/arm64-vm), beside Debian's perf for arm64.

The emulated PMU has 6 counters and one for cycles.  Cycles are virtual nanoseconds and each instruction
takes two: IPC is 0.5 whatever runs.  With the patched kernel branch-misses count instructions and
cache-misses cycles.  All that a kernel is asked for is one boot.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from test_heap import by_function, sums_agree

pytestmark = pytest.mark.long

TREE = Path(__file__).resolve().parents[2]
SCRIPTS = TREE / "scripts/arm64-vm"
VM = TREE / "build/arm64-vm"
BUILT = TREE / "build/aarch64-linux-gnu-release"

# More events than counters: other spellings of the codes of instructions (8) and cycles (11).
MANY = [f"r{'0' * i}8:u" for i in range(6)] + [f"r{'0' * i}11:u" for i in range(6)]
TOO_LARGE = [f"r{'0' * i}8" for i in range(9)]

PATCHED = {
    "stat": "./cprof stat --json -o stat -- programs/pages 3000",
    "perf": "perf stat -x ';' -o perf -e instructions:u,cycles:u,page-faults,context-switches programs/pages 3000",
    "user": "./cprof stat --json -o user -e instructions:u,cycles:u,faults programs/pages 3000",
    "named": "./cprof stat --json -o named -e r8,armv8_pmuv3/inst_retired/,armv8_pmuv3/event=8/u programs/burn 20",
    "many": f"./cprof stat --json -o many -e {','.join(MANY)} programs/burn 400",
    "large": f"./cprof stat --json -o large -e '{{{','.join(TOO_LARGE)}}}' programs/burn 5",
    "intervals": "./cprof stat -I 20 --json -o intervals -e cycles,instructions programs/burn 100",
    "list": "./cprof list --json >list",
    "nobody": "echo 2 >/proc/sys/kernel/perf_event_paranoid; chmod 777 . /tmp; "
              "su nobody -s /bin/sh -c './cprof stat --json -o nobody programs/burn 20'; "
              "echo -1 >/proc/sys/kernel/perf_event_paranoid",
    "report": "./cprof record -q --heap=off -o /tmp/profile programs/burn 2000; ./cprof report --json /tmp/profile >report",
    "seldom": "./cprof record -q -F 100 --heap=off -o /tmp/profile programs/burn 2000; ./cprof report --json /tmp/profile >seldom",
    "perf_burn": "perf stat -x ';' -o perf_burn -e instructions,cycles programs/burn 2000",
    "frames": "./cprof record -q -o f.cprof programs/frames 60; ./cprof report --json f.cprof >frames",
    "sites": "./cprof record -q -o h.cprof programs/heap_sites truth 1500; ./cprof report --json h.cprof >sites",
    "truth": "true",
    "stacks": "./cprof record -q --heap=off -o s.cprof programs/handler 400; ./cprof report --json s.cprof >stacks",
}
PROGRAMS = ("burn", "pages", "handler", "frames", "heap_sites")
STOCK = {
    "stat": "./cprof stat --json -o stat programs/burn 20",
    "list": "./cprof list --json >list",
}


def boot(folder, commands, *options):
    """The files that the commands wrote, by name, from one run of the guest."""
    if not (VM / "kernel").exists():
        pytest.skip("no arm64 guest: run scripts/arm64-vm/setup --perf (as scripts/check --long does)")
    needed = [BUILT / "cprof"] + [BUILT / "programs" / name for name in PROGRAMS]
    if not all(file.exists() for file in needed):
        pytest.skip("not built for arm64: make CROSS=aarch64-linux-gnu- SYSROOT=build/arm64-vm/sysroot all programs")
    overlay = folder / "overlay"
    subprocess.run([SCRIPTS / "libraries", VM / "sysroot", overlay, *needed], check=True)
    (folder / "programs").mkdir()
    for name in PROGRAMS:
        shutil.copy(BUILT / "programs" / name, folder / "programs")
    shutil.copy(BUILT / "libcprof-heap.so", folder)
    gets = [word for name in commands for word in ("-g", f"/t/{name}:{folder}/{name}")]
    if (VM / "perf").exists():
        options += ("-r", VM / "perf")
    result = subprocess.run([SCRIPTS / "run", *options, "-m", "512", "-t", "280", "-r", overlay, "-a", folder / "programs",
                             "-a", folder / "libcprof-heap.so", *gets, "-s", BUILT / "cprof", "PAGER=cat; export PAGER; " + "\n".join(commands.values())],
                            capture_output=True, text=True)
    files = {name: (folder / name).read_text() for name in commands if (folder / name).exists()}
    assert files, result.stdout + result.stderr
    return files


@pytest.fixture(scope="module")
def patched(tmp_path_factory):
    return boot(tmp_path_factory.mktemp("patched"), PATCHED, "-p", "-T", "100000")


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    return boot(tmp_path_factory.mktemp("stock"), STOCK)


def command_of(text):
    return json.loads(text)["commands"][0]


def events_of(text):
    return {event["name"]: event for event in command_of(text)["events"]}


def perf_counts(files, name):
    if name not in files:
        pytest.skip("no perf in the guest: scripts/arm64-vm/setup --perf")
    lines = [line.split(";") for line in files[name].splitlines() if ";" in line]
    return {line[2]: float(line[0]) for line in lines}


def test_all_four_count_and_ipc_is_half(patched):
    events = events_of(patched["stat"])
    for name in ("cycles", "instructions", "branch-misses", "cache-misses"):
        assert events[name]["status"] == "counted" and events[name]["coverage"] == 1, events[name]
    assert command_of(patched["stat"])["ipc"] == pytest.approx(0.5, rel=1e-3)
    assert events["branch-misses"]["mean"] == pytest.approx(events["instructions"]["mean"], rel=1e-3)
    assert events["cache-misses"]["mean"] == pytest.approx(events["cycles"]["mean"], rel=1e-3)


def test_counts_are_those_of_perf(patched):
    """But for what the loader does with the variables that perf adds: 800 instructions."""
    ours, theirs = events_of(patched["user"]), perf_counts(patched, "perf")
    assert ours["instructions:u"]["mean"] == pytest.approx(theirs["instructions:u"], abs=1500)
    assert ours["cycles:u"]["mean"] == pytest.approx(theirs["cycles:u"], abs=3000)
    assert ours["page-faults"]["mean"] == pytest.approx(theirs["page-faults"], abs=5)


def test_events_by_code_and_by_sysfs_are_the_same_events(patched):
    events = events_of(patched["named"])
    assert events["r8"]["mean"] == events["armv8_pmuv3/inst_retired/"]["mean"] > 1e6
    assert 0 < events["armv8_pmuv3/event=8/u"]["mean"] < events["r8"]["mean"]


def test_events_that_take_turns_are_scaled_right(patched):
    events = events_of(patched["many"])
    instructions, cycles = [events[name] for name in MANY[:6]], [events[name] for name in MANY[6:]]
    for event in instructions + cycles:
        assert event["status"] == "scaled" and 0.2 < event["coverage"] < 0.9, event
    for event in instructions:
        assert event["mean"] == pytest.approx(400e6 / 2, rel=0.15)  # 400 ms at 1 GHz
    for event in cycles:
        assert event["mean"] == pytest.approx(400e6, rel=0.15)


def test_a_group_that_does_not_fit_is_not_counted(patched):
    events = events_of(patched["large"])
    for name in TOO_LARGE:
        assert events[name]["status"] == "not-counted" and events[name]["mean"] is None
        assert "do not fit on the counters together" in events[name]["reason"]


def test_intervals_add_up(patched):
    command = command_of(patched["intervals"])
    assert len(command["intervals"]) >= 4
    for k, event in enumerate(command["events"][:2]):
        assert sum(i["events"][k]["value"] for i in command["intervals"]) == pytest.approx(event["mean"], rel=1e-9)


def test_list_tells_what_this_pmu_has(patched, stock):
    listed = {event["name"]: event for event in json.loads(patched["list"])["events"]}
    assert listed["cycles"]["status"] == listed["branch-misses"]["status"] == "counted"
    assert listed["armv8_pmuv3/inst_retired/"]["status"] == "counted"
    listed = {event["name"]: event for event in json.loads(stock["list"])["events"]}
    assert listed["cycles"]["status"] == "counted"
    for name in ("branch-misses", "LLC-loads"):
        assert listed[name]["status"] == "not-supported"
        assert listed[name]["reason"] == "the PMU of this CPU has no such event"


def test_events_that_the_pmu_lacks_cost_the_others_nothing(stock):
    events = events_of(stock["stat"])
    assert command_of(stock["stat"])["ipc"] == pytest.approx(0.5, rel=1e-3)
    for name in ("branch-misses", "cache-misses"):
        assert events[name]["status"] == "not-supported"
        assert events[name]["reason"] == "the PMU of this CPU has no such event"


def test_an_ordinary_user_counts_user_code(patched):
    events = events_of(patched["nobody"])
    assert events["cycles"]["status"] == "counted"
    assert events["cycles"]["mean"] == pytest.approx(20e6, rel=0.15)
    assert events["task-clock"]["mean"] > events["cycles"]["mean"]
    assert "by getrusage" in events["page-faults"]["reason"]


def test_a_recording_has_the_ipc_of_every_function(patched):
    cpu = json.loads(patched["report"])["cpu"]
    assert (cpu["event"], cpu["substituted_for"]) == ("cycles", None)
    assert cpu["ipc"] == pytest.approx(0.5, rel=0.02)
    functions = {function["name"]: function for function in cpu["functions"]}
    for name, share in (("seventy", 0.7), ("thirty", 0.3)):
        assert functions[name]["self"] == pytest.approx(share, abs=2 * functions[name]["error"] + 0.01)
        assert functions[name]["ipc"] == pytest.approx(0.5, rel=0.1)
        assert functions[name]["branch_mpki"] == pytest.approx(1000, rel=0.2)
        assert functions[name]["cache_mpki"] == pytest.approx(2000, rel=0.2)


def test_totals_of_a_recording_are_those_of_perf(patched):
    """Of few samples: while the kernel takes one, some 55 us, the PMU stands still."""
    counters = json.loads(patched["seldom"])["cpu"]["counters"]
    for name, value in perf_counts(patched, "perf_burn").items():
        assert counters[name]["status"] == "counted"
        assert counters[name]["value"] == pytest.approx(value, rel=0.05), name


def test_stacks_are_complete_through_leaf_functions_and_signal_handlers(patched):
    report = json.loads(patched["stacks"])
    functions = {function["name"]: function for function in report["cpu"]["functions"]}
    assert functions["on_alarm"]["total"] > 0.05
    assert functions["main"]["total"] > 0.9 and functions["_start"]["total"] > 0.9
    assert report["cpu"]["truncated_stacks"] <= 0.02 * report["cpu"]["samples"]


# Of tests/programs/frames: each keeps three blocks of 64 bytes and uses as much time.
WAYS = ("plain", "large", "larger", "huge", "with_alloca", "realigned", "signed_return", "on_alarm", "on_alternate",
        "in_vdso", "catching", "unwinding", "in_thread", "recursive")


def way_of(stack):
    """The innermost function of WAYS."""
    return next((name.split("(")[0] for name in reversed(stack) if name.split("(")[0] in WAYS), None)


def test_heap_stacks_are_whole_through_frames_of_all_shapes(patched):
    sites = [site for site in json.loads(patched["frames"])["heap"]["sites"] if way_of(site["stack"])
             and site["allocated_bytes"] == 192]
    assert {way_of(site["stack"]): site["allocations"] for site in sites} == dict.fromkeys(WAYS, 3)
    for site in sites:
        stack = [name.split("(")[0] for name in site["stack"]]
        assert stack[-2:] == ["work", "malloc"], stack
        assert "main" in stack[:4] or "in_thread" in stack, stack
        assert stack.count("recursive") in (0, 5001), stack[:10]
        assert ("wait_for_alarm" in stack) == ("on_alarm" in stack), stack
        assert ("raising" in stack) == ("on_alternate" in stack), stack
        assert ("throwing" in stack) == ("unwinding" in stack), stack


def test_samples_have_whole_stacks_through_frames_of_all_shapes(patched):
    report = json.loads(patched["frames"])
    cpu = report["cpu"]
    functions = {}
    for function in cpu["functions"]:
        name = function["name"].split("(")[0]
        functions[name] = max(functions.get(name, 0), function["total"])
    print(f"{cpu['samples']} samples, {cpu['truncated_stacks']} cut off;",
          {name: round(functions.get(name, 0), 3) for name in WAYS})
    print([row["detail"] for row in report["quality"] if row["kind"] == "truncated"])
    assert cpu["samples"] > 300
    for name in WAYS:  # unwinding is done below catching
        times = 2 if name == "catching" else 1
        assert functions[name] == pytest.approx(times / len(WAYS), abs=0.05), name
    assert functions["wait_for_alarm"] == pytest.approx(1 / len(WAYS), abs=0.05)
    assert functions["raising"] == pytest.approx(1 / len(WAYS), abs=0.02)
    assert functions["main"] == pytest.approx(1 - 1 / len(WAYS), abs=0.05)  # but for the thread
    assert functions["__kernel_clock_gettime"] > 0.5 / len(WAYS)  # the vDSO's
    # Frames that are larger than what is copied may be gone when they are read.
    reasons = {row["detail"]: row["count"] for row in report["quality"] if row["kind"] == "truncated"}
    assert all("deeper than what was copied" in reason for reason in reasons), reasons
    assert cpu["truncated_stacks"] <= 0.01 * cpu["samples"]


def test_the_heap_is_as_the_program_counted(patched):
    heap, truth = json.loads(patched["sites"])["heap"], json.loads(patched["truth"])
    total = truth.pop("total")
    assert by_function(heap, truth) == truth
    assert 0 <= heap["peak_bytes"] - total["at_peak_bytes"] < 100000
    sums_agree(heap)
