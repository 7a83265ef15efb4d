# SPDX-License-Identifier: MIT
"""fixed - the cost that does not depend on the program: /bin/true under each profiler."""

import os
import shutil

from measure import Command
from profilers import ALONE, PROFILERS, Profiler
from progress import progress
from recording import ALONE_PROFILER, last_line
from results import Group

PROGRAM = "/bin/true"
# As it is by default: it waits up to a second for its side-band thread.
PERF_AS_IS = Profiler("perf record, plain", None, ("perf",),
                      lambda program, folder: (["perf", "record", "-q", "--"], {}))
PROBES = 3      # for each run that was asked for: one is short


def measure(bench):
    group = Group("/bin/true", "start-up and end", base=ALONE)
    profilers = [ALONE_PROFILER, PERF_AS_IS, *PROFILERS]
    if bench.quick:
        profilers = [profiler for profiler in profilers if profiler.quick]
    for profiler in profilers:
        if profiler.missing():
            group.refuse(profiler.name, profiler.missing())
    for _ in range(1 if bench.quick else bench.runs * PROBES):
        for profiler in profilers:
            if profiler.name not in group.notes:
                progress(f"{PROGRAM}: {profiler.name}")
                run_once(bench, group, profiler)
    return [group]


def run_once(bench, group, profiler):
    folder = os.path.join(bench.folder, "fixed")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    before, variables = profiler.wrap(PROGRAM, folder)
    run = bench.meter.run(Command([*before, PROGRAM], PROGRAM, folder, variables))
    if run.status:
        group.refuse(profiler.name, f"status {run.status}: {last_line(run.stderr)}")
    else:
        group.add(profiler.name, vars(run))
