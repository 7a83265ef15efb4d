# SPDX-License-Identifier: MIT
"""counting - what it costs to run a program many times and count, as `cprof stat -r` does: /bin/true, each time."""

import shutil

from measure import Command
from profilers import cprof_path
from results import Column, Group
from rounds import in_turn, try_run

PROGRAM = "/bin/true"
LOOP = "a shell's loop"

COLUMNS = (Column("wall_s", "wall", "s", ratio=True), Column("cpu_s", "CPU", "s", ratio=True))


def counters(times):
    return {
        LOOP: ["sh", "-c", f"for i in $(seq {times}); do {PROGRAM}; done"],
        "cprof stat": [cprof_path(), "stat", "-r", str(times), PROGRAM],
        "perf stat": ["perf", "stat", "-r", str(times), PROGRAM],
        "hyperfine": ["hyperfine", "-N", "--style", "basic", "--runs", str(times), PROGRAM],
    }


def measure(bench):
    times = 5 if bench.quick else 50
    commands = counters(times)
    group = Group(PROGRAM, f"{times} times, for one", base=LOOP)
    for name, command in commands.items():
        if not shutil.which(command[0]):
            group.refuse(name, f"not installed: {command[0]}")

    def run_one(name):
        run = try_run(bench.meter, group, name, Command(commands[name], PROGRAM, bench.folder))
        if run:
            group.add(name, {"wall_s": run.wall_s / times, "cpu_s": run.cpu_s / times,
                             "foreign_cores": run.foreign_cores})

    in_turn(group, bench.runs, commands, run_one)
    return [group]
