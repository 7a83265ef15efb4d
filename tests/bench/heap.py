# SPDX-License-Identifier: MIT
"""heap - what one malloc or free more costs under each heap profiler, and what else it costs.

Each round takes a short and a long run of a program; the difference, less that of the program alone, is the cost
of the events between: what starting, ending and looking up names cost is in neither.  How many events these were
is taken from cprof's own profiles of both.  A preload that only forwards and one that counts with three atomics
show where the floor is.  Profilers that slow a program down ten times and more get less work, on some of the programs,
in groups of their own and in a third of the rounds; gperftools', which takes 40 microseconds, is in `overhead` only.
"""

import json
import subprocess
from dataclasses import dataclass

from measure import Command
from profilers import ALONE, ALONE_PROFILER, FULL, HEAP, PROFILERS, TENTH, TINY, Profiler, cprof_path, environment
from results import Column, Group
from rounds import data_bytes, fresh_folder, in_turn, refuse_missing, try_run
from workloads import Workload, built, compiler, python, redis, sizes, sqlite

COLUMNS = (Column("all_ns", "an event costs", "ns"), Column("program_ns", "in the program", "ns"),
           Column("program_wall_s", "program's wall", "s", ratio=True), Column("cpu_s", "CPU", "s", ratio=True),
           Column("program_rss", "program", "B"), Column("profiler_rss", "profiler", "B"),
           Column("disk_bytes", "on disk", "B"), Column("after_exit_s", "exit to prompt", "s"))

COUNTING = "cprof --cpu=off"    # its profiles have the number of events
PATIENT = "15 deep", "60 deep", "15 deep, 2 threads", "C++ map", "python3"    # programs for slow profilers


@dataclass
class Scale:
    """Which two runs of a program are compared, and by how many of the rounds."""

    short: str
    long: str
    name: str
    share: int


QUICK, FAST, SLOW = Scale(TINY, TENTH, "", 1), Scale(TENTH, FULL, "", 1), Scale(TINY, TENTH, ", a tenth", 3)


def preload(name):
    return Profiler(name.replace("bench_", "preload: "), None, (built(name),), environment(LD_PRELOAD=built(name)))


def loop(name, description, depth, live, threads=1):
    """bench_alloc: pairs of malloc and free, of all threads together."""
    def arguments(pairs):
        return [str(n) for n in (pairs // threads, depth, live, threads)]
    return Workload(name, description, built("bench_alloc"),
                    sizes(arguments(1_100_000), arguments(100_000), arguments(10_000)))


def programs(bench):
    shapes = [loop("15 deep", "a hot loop: 1,000 blocks live", 15, 1_000)]
    if bench.quick:
        return shapes
    return [*shapes,
            loop("60 deep", "a hot loop: 1,000 blocks live", 60, 1_000),
            loop("15 deep, 100,000 live", "out of the caches", 15, 100_000),
            loop("15 deep, 2 threads", "1,000 blocks live in each", 15, 1_000, threads=2),
            loop("15 deep, 4 threads", "1,000 blocks live in each", 15, 1_000, threads=4),
            Workload("passed on", "15 deep; another thread frees", built("bench_pass"),
                     sizes(["1100000"], ["100000"], ["10000"])),
            Workload("C++ map", "of strings to vectors of strings, built and destroyed", built("bench_map"),
                     sizes(["11"], ["2"], ["1"])),
            python(), compiler(bench.folder), redis(bench.folder), sqlite()]


def profilers(bench, scale):
    heap = [p for p in PROFILERS if p.side == HEAP]
    if bench.quick:
        return [ALONE_PROFILER, preload("bench_forward"), *(p for p in heap if p.name == COUNTING)]
    if scale is SLOW:
        return [ALONE_PROFILER, *(p for p in heap if p.name == COUNTING or p.size == TENTH)]
    return [ALONE_PROFILER, preload("bench_forward"), preload("bench_count"), *(p for p in heap if p.size == FULL)]


def measure(bench):
    if bench.quick:
        return [measure_program(bench, workload, QUICK) for workload in programs(bench)]
    fast = [measure_program(bench, workload, FAST) for workload in programs(bench)]
    return fast + [measure_program(bench, workload, SLOW) for workload in programs(bench) if workload.name in PATIENT]


def measure_program(bench, workload, scale):
    group = Group(workload.name + scale.name, workload.description, base=ALONE)
    rows = {profiler.name: profiler for profiler in profilers(bench, scale)}
    if workload.missing():
        for name in rows:
            group.refuse(name, workload.missing())
    refuse_missing(group, rows.values())
    pairs = {}        # profiler's name -> a (short, long) pair of runs for each round

    def run_one(name):
        runs = run_both(bench, group, workload, scale, rows[name])
        if runs:
            pairs.setdefault(name, []).append(runs)

    in_turn(group, max(1, bench.runs // scale.share), rows, run_one)
    add_figures(group, pairs)
    return group


def run_both(bench, group, workload, scale, profiler):
    """A short and a long run; none if either fails."""
    runs = []
    for size in (scale.short, scale.long):
        folder = fresh_folder(bench.folder, "heap")
        before, variables = profiler.wrap(workload.program, folder)
        run = try_run(bench.meter, group, profiler.name,
                      Command([*before, workload.program, *workload.arguments[size]],
                              profiler.image or workload.program, folder,
                              {**workload.environment, **variables}, workload.drive.get(size)))
        if not run:
            return None
        run.disk_bytes = data_bytes(folder) if profiler.side else None
        run.nr_events = nr_events(folder) if profiler.name == COUNTING else None
        runs.append(run)
    return tuple(runs)


def nr_events(folder):
    """Calls of the malloc family and frees, as cprof counted them."""
    report = subprocess.run([cprof_path(), "report", "--json", f"{folder}/cprof.data"], capture_output=True, check=True)
    heap = json.loads(report.stdout)["heap"]
    return heap["allocations"] + heap["reallocations"] + heap["frees"]


def add_figures(group, pairs):
    """A pair of runs against that of the program alone in the same round."""
    nr = [long.nr_events - short.nr_events for short, long in pairs.get(COUNTING, [])]
    for name, runs in pairs.items():
        if name in group.notes:
            continue
        for pair, alone in zip(runs, pairs.get(ALONE, [])):
            figures = dict(vars(pair[1]))
            if nr and name != ALONE:
                figures["all_ns"] = added_ns("cpu_s", pair, alone, nr[0])
                figures["program_ns"] = added_ns("program_cpu_s", pair, alone, nr[0])
            group.add(name, figures)


def added_ns(metric, pair, alone, nr):
    values = [getattr(run, metric) for run in (*pair, *alone)]
    if None in values:
        return None
    return ((values[1] - values[0]) - (values[3] - values[2])) * 1e9 / nr
