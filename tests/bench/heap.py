# SPDX-License-Identifier: MIT
"""heap - what one malloc or free more costs under each exact heap profiler.

Each round takes a short and a long run of bench_alloc; the difference, less that of the program alone, is the cost
of the events between: what starting, ending and looking up names cost is in neither.  A preload that only forwards
and one that counts with three atomics show where the floor is.
"""

from dataclasses import dataclass

from measure import Command
from profilers import ALONE, ALONE_PROFILER, PROFILERS, Profiler, environment
from results import Column, Group
from rounds import data_bytes, fresh_folder, in_turn, refuse_missing, try_run
from workloads import built

SHORT, LONG = 100_000, 1_100_000     # pairs of malloc and free, of all threads
QUICK = 1_000, 20_000


@dataclass
class Shape:
    name: str
    description: str
    depth: int
    live: int
    threads: int = 1


SHAPES = (
    Shape("15 deep", "a hot loop: 1,000 blocks live", 15, 1_000),
    Shape("60 deep", "a hot loop: 1,000 blocks live", 60, 1_000),
    Shape("15 deep, 100,000 live", "out of the caches", 15, 100_000),
    Shape("15 deep, 2 threads", "1,000 blocks live in each", 15, 1_000, threads=2),
    Shape("15 deep, 4 threads", "1,000 blocks live in each", 15, 1_000, threads=4),
)

COLUMNS = (Column("all_ns", "an event costs", "ns"), Column("program_ns", "in the program", "ns"),
           Column("program_wall_s", "program's wall", "s", ratio=True), Column("cpu_s", "CPU", "s", ratio=True),
           Column("program_rss", "program", "B"), Column("profiler_rss", "profiler", "B"),
           Column("disk_bytes", "on disk", "B"))


def preload(name):
    return Profiler(name.replace("bench_", "preload: "), None, (built(name),), environment(LD_PRELOAD=built(name)))


def profilers(quick):
    exact = [p for p in PROFILERS if p.name in ("cprof --cpu=off", "heaptrack --raw", "heaptrack")]
    return [ALONE_PROFILER, preload("bench_forward"), preload("bench_count"), *(exact[:1] if quick else exact)]


def measure(bench):
    return [measure_shape(bench, shape) for shape in (SHAPES[:1] if bench.quick else SHAPES)]


def measure_shape(bench, shape):
    group = Group(shape.name, shape.description, base=ALONE)
    rows = {profiler.name: profiler for profiler in profilers(bench.quick)}
    refuse_missing(group, rows.values())
    alone = []

    def run_one(name):
        runs = run_both(bench, group, shape, rows[name])
        if name == ALONE:
            alone[:] = runs
        if runs and alone:
            group.add(name, figures_of(bench, runs, alone))

    in_turn(group, bench.runs, rows, run_one)
    return group


def run_both(bench, group, shape, profiler):
    """A short and a long run; none if either fails."""
    program = built("bench_alloc")
    runs = []
    for pairs in QUICK if bench.quick else (SHORT, LONG):
        folder = fresh_folder(bench.folder, "heap")
        before, variables = profiler.wrap(program, folder)
        arguments = [str(n) for n in (pairs // shape.threads, shape.depth, shape.live, shape.threads)]
        run = try_run(bench.meter, group, profiler.name,
                      Command([*before, program, *arguments], program, folder, variables))
        if not run:
            return []
        run.disk_bytes = data_bytes(folder) if profiler.side else None
        runs.append(run)
    return runs


def figures_of(bench, runs, alone):
    short, long = QUICK if bench.quick else (SHORT, LONG)
    nr_events = 2 * (long - short)

    def added_ns(metric):
        values = [getattr(run, metric) for run in (*runs, *alone)]
        if None in values:
            return None
        return ((values[1] - values[0]) - (values[3] - values[2])) * 1e9 / nr_events

    added = {} if runs[0] is alone[0] else {"all_ns": added_ns("cpu_s"), "program_ns": added_ns("program_cpu_s")}
    return {**vars(runs[1]), **added}
