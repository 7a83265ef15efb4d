# SPDX-License-Identifier: MIT
"""fixed - the cost that does not depend on the program: /bin/true under each profiler."""

from measure import Command
from profilers import ALONE, ALONE_PROFILER, PROFILERS, Profiler
from results import Column, Group
from rounds import fresh_folder, in_turn, refuse_missing, try_run

PROGRAM = "/bin/true"
# As it is by default: it waits up to a second for its side-band thread.
PERF_AS_IS = Profiler("perf record, plain", None, ("perf",),
                      lambda program, folder: (["perf", "record", "-q", "--"], {}))
PROBES = 3      # for each run that was asked for: one is short

COLUMNS = (Column("wall_s", "wall", "s"), Column("cpu_s", "CPU", "s"), Column("after_exit_s", "exit to prompt", "s"),
           Column("program_rss", "program", "B"), Column("profiler_rss", "profiler", "B"))


def measure(bench):
    group = Group(PROGRAM, "start-up and end", base=ALONE)
    profilers = {p.name: p for p in (ALONE_PROFILER, PERF_AS_IS, *PROFILERS) if p.quick or not bench.quick}
    refuse_missing(group, profilers.values())

    def run_one(name):
        folder = fresh_folder(bench.folder, "fixed")
        before, variables = profilers[name].wrap(PROGRAM, folder)
        run = try_run(bench.meter, group, name, Command([*before, PROGRAM], PROGRAM, folder, variables))
        if run:
            group.add(name, vars(run))

    in_turn(group, 1 if bench.quick else bench.runs * PROBES, profilers, run_one)
    return [group]
