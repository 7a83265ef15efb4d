# SPDX-License-Identifier: MIT
"""processes - the cost of each process: a script that runs many short programs, under the profilers that follow it."""

from fixed import PERF_AS_IS
from measure import Command
from profilers import ALONE, ALONE_PROFILER, PROFILERS
from results import Column, Group
from rounds import fresh_folder, in_turn, refuse_missing, try_run

NR, NR_QUICK = 2000, 20
SHELL = "/bin/sh"
SCRIPT = "i=0; while [ $i -lt {} ]; do /bin/true; i=$((i + 1)); done"

COLUMNS = (Column("each_wall_s", "wall, each", "s"), Column("each_cpu_s", "CPU, each", "s"),
           Column("added_cpu_s", "added", "s"), Column("profiler_rss", "profiler", "B"))


def follows(profiler):
    """The others look at the shell only."""
    return profiler.name.split()[0] in (ALONE, "cprof", "perf")


def measure(bench):
    nr = NR_QUICK if bench.quick else NR
    group = Group("processes", f"{nr} times /bin/true", base=ALONE)
    profilers = {p.name: p for p in (ALONE_PROFILER, PERF_AS_IS, *PROFILERS)
                 if follows(p) and (p.quick or not bench.quick)}
    alone_s = {}      # CPU time, in this round
    refuse_missing(group, profilers.values())

    def run_one(name):
        folder = fresh_folder(bench.folder, "processes")
        before, variables = profilers[name].wrap(SHELL, folder)
        command = Command([*before, SHELL, "-c", SCRIPT.format(nr)], SHELL, folder, variables)
        run = try_run(bench.meter, group, name, command)
        if not run:
            return
        alone_s.update({ALONE: run.cpu_s} if name == ALONE else {})
        group.add(name, {"each_wall_s": run.wall_s / nr, "each_cpu_s": run.cpu_s / nr,
                         "added_cpu_s": (run.cpu_s - alone_s[ALONE]) / nr, "profiler_rss": run.profiler_rss})

    in_turn(group, 1 if bench.quick else bench.runs, profilers, run_one)
    return [group]
