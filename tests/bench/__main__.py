# SPDX-License-Identifier: MIT
"""The command line of scripts/bench: chooses parts, measures them, prints tables and CSV."""

import argparse
import csv
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cached_property
from statistics import median

from measure import Meter
from parts import PARTS
from profilers import cprof_path
from recording import Campaign
from results import CSV_HEADER, csv_rows, print_table
from rounds import progress

NOISY_CORES = 0.3     # of other processes: figures are off by more than a few percent
VERSIONS = ([cprof_path(), "--version"], ["perf", "--version"], ["heaptrack", "--version"], ["valgrind", "--version"])


class Bench:
    """What parts share: the meter, a scratch folder, how often to run, and the campaign of recordings."""

    def __init__(self, meter, folder, runs, quick):
        self.meter, self.folder, self.runs, self.quick = meter, folder, runs, quick

    @cached_property
    def campaign(self):
        return Campaign(self.meter, self.folder, self.runs, self.quick)


def arguments():
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Compares cprof with its peers: runs in turn, "
                                     "medians, spreads, ratios.", epilog="parts: " + ", ".join(names))
    parser.add_argument("name", nargs="*", help="parts to measure (all)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each (3)")
    parser.add_argument("--csv", metavar="FILE", help="write the figures to FILE, too")
    parser.add_argument("--quick", action="store_true", help="only try that everything works, in seconds")
    parser.add_argument("--list", action="store_true", help="list the parts")
    options = parser.parse_args()
    unknown = sorted(set(options.name) - set(names))
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(names)}")
    if options.runs < 1:
        parser.error("--runs: at least 1")
    return options


def print_machine(meter):
    pmu = any(name.startswith(("cpu", "armv8")) for name in os.listdir("/sys/bus/event_source/devices"))
    with open("/proc/sys/kernel/perf_event_paranoid") as paranoid:
        level = paranoid.read().strip()
    print(f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs, "
          f"{'a' if pmu else 'no'} PMU, perf_event_paranoid {level}, uid {os.geteuid()}")
    print("; ".join(version for version in map(version_of, VERSIONS) if version))
    print("ratio: to the run alone in the same round; in parentheses the smallest and the largest")
    if meter.blind:
        print(f"program and profiler are not told apart: {meter.blind}")


def version_of(command):
    if not shutil.which(command[0]):
        return None
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return lines[0] if lines else command[0]


def print_noise(groups):
    cores = [run["foreign_cores"] for group in groups for runs in group.runs.values() for run in runs
             if "foreign_cores" in run]
    noisy = sum(core > NOISY_CORES for core in cores)
    if noisy:
        print(f"noise: in {noisy} of {len(cores)} runs other processes used more than {NOISY_CORES} CPUs "
              f"(median {median(cores):.1f}): do not trust small differences")


def measure(bench, parts, writer):
    for part in parts:
        start = time.monotonic()
        groups = part.measure(bench)
        progress()
        print(f"\n{part.name}: {part.summary}")
        print_table(part.columns, groups, sys.stdout)
        print_noise(groups)
        print(f"({time.monotonic() - start:.0f} s)", flush=True)
        writer.writerows(csv_rows(part.name, part.columns, groups))


def end(number, frame):
    """As an exception, so that the scratch folder goes."""
    sys.exit(128 + number)


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, end)
    if options.list:
        for part in PARTS:
            print(f"{part.name:10} {part.summary}")
        return
    parts = [part for part in PARTS if not options.name or part.name in options.name]
    with Meter() as meter, tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder, \
            open(options.csv or os.devnull, "w", newline="") as csv_file:
        print_machine(meter)
        writer = csv.writer(csv_file)
        writer.writerow(CSV_HEADER)
        measure(Bench(meter, folder, 1 if options.quick else options.runs, options.quick), parts, writer)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
