# SPDX-License-Identifier: MIT
"""counting - what it costs to run a program many times and count, as `cprof stat -r` does: /bin/true, each time."""

import shutil

from measure import Command
from profilers import cprof_path
from progress import progress
from recording import last_line
from results import Group

PROGRAM = "/bin/true"
ALONE = "a shell's loop"


def counters(times):
    """Variant -> command and the program that it needs."""
    cprof = cprof_path()
    return {
        ALONE: (["sh", "-c", f"for i in $(seq {times}); do {PROGRAM}; done"], "sh"),
        "cprof stat": ([cprof, "stat", "-r", str(times), PROGRAM], cprof),
        "perf stat": (["perf", "stat", "-r", str(times), PROGRAM], "perf"),
        "hyperfine": (["hyperfine", "-N", "--style", "basic", "--runs", str(times), PROGRAM], "hyperfine"),
    }


def measure(bench):
    times = 5 if bench.quick else 50
    commands = counters(times)
    group = Group(PROGRAM, f"{times} times, for one", base=ALONE)
    for variant, (_, needs) in commands.items():
        if not shutil.which(needs):
            group.refuse(variant, f"not installed: {needs}")
    for _ in range(bench.runs):
        for variant, (command, _) in commands.items():
            if variant not in group.notes:
                progress(f"{PROGRAM}: {variant}")
                run_once(bench, group, variant, command, times)
    return [group]


def run_once(bench, group, variant, command, times):
    run = bench.meter.run(Command(command, PROGRAM, bench.folder))
    if run.status:
        group.refuse(variant, f"status {run.status}: {last_line(run.stderr)}")
    else:
        group.add(variant, {"wall_s": run.wall_s / times, "cpu_s": run.cpu_s / times,
                            "foreign_cores": run.foreign_cores})
