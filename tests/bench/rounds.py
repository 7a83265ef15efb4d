# SPDX-License-Identifier: MIT
"""rounds - runs variants in turn, A B C A B C, and leaves out what fails.

    in_turn(group, 3, ["alone", "perf"], run_one)      # run_one(name) adds to the group, or refuses
    run = try_run(meter, group, name, command)         # None: it failed, and the group knows why
"""

import os
import re
import shutil
import sys


def in_turn(group, rounds, names, run_one):
    for number in range(rounds):
        for name in names:
            if name not in group.notes:
                progress(f"{group.name}, run {number + 1} of {rounds}: {name}")
                run_one(name)


def try_run(meter, group, name, command):
    run = meter.run(command)
    if run.status == 0:
        return run
    group.refuse(name, f"status {run.status}: {last_line(run.stderr)}")
    return None


def refuse_missing(group, profilers):
    for profiler in profilers:
        if profiler.missing():
            group.refuse(profiler.name, profiler.missing())


def fresh_folder(parent, name):
    """Empty.  Its name has no comma, which would end a path in jemalloc's options."""
    folder = os.path.join(parent, re.sub(r"\W+", "-", name))
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return folder


def data_bytes(folder):
    """What a profiler has left there."""
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file() and entry.name != "stderr")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:100] if lines else "no message"


def progress(text=""):
    """A line on a terminal that says what is running; without text it is gone."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
